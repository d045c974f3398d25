/** The public face of the executor room. */
export * from './engine.js';
export { availableEngines, ENGINE_NAMES, openEngine } from './engines.js';
export type { AvailableEngines, EngineOptions, MissingEngine } from './engines.js';
export { chooseEngine, type ChosenEngine } from './choose-engine.js';
export { selfTest, type SelfTestCase, type SelfTestReport } from './self-test.js';
export { testModel, type ModelTest } from './model-test.js';
export { predictExactBytes, predictFloatBytes } from './session-size.js';
export { SessionCache, type Lease, type SessionKey, type SessionKind } from './session-cache.js';
export { commit, executeJob, outputsFrom, type Execution, type ExecutionRoots } from './execute.js';
export { TraceStore, type StoredKind, type StoredTensors } from './trace-store.js';
export { Executions, type ExecutedFacts } from './executions.js';
export { FileJournal, type AcceptedEntry, type Journal, type SignedEntry } from './signing-journal.js';
export { openIdentity, openSigner, type Identity } from './identity.js';
export { type ExecutorTerms } from './check-acceptable.js';
export { ExecutorNode, type ExecutionResult, type Executor, type ExecutorNodeOptions } from './node.js';
export { AlteredTrace, FlippedOutput, SmallerModel, StaleAnswer } from './adversaries.js';
