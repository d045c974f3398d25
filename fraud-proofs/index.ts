/** The public face of the room: what is wrong with a claim, how it is shown, and what must be asked first. */
export { nodeContent, nodePath } from './nodes/answer-node.js';
export { FullTrace, type ClaimRoots } from './nodes/full-trace.js';
export { contentHash, faultIdOf, nodeIdOf } from './nodes/ids.js';
export { KnownClaim } from './nodes/known-claim.js';
export { learnAnswer, learnServedTrace, type Learned } from './nodes/learn-answer.js';
export { placeOf, type NodePlace } from './nodes/places.js';
export { buildEvidence, faultProof, segmentEvidence, sumsEvidence, type FaultTarget } from './step/build-evidence.js';
export { checkStep, type Reliance, type StepVerdict } from './step/check-step.js';
export { encodeEvidence, STEP_EVIDENCE_TYPE } from './step/encode-evidence.js';
export { findFault, type FaultFinding, type FaultPlace } from './step/find-fault.js';
export { tamperTrace, type Tamper, type TamperedTrace } from './step/inject.js';
export { StepModel } from './step/step-model.js';
export { MAX_CONTRACTION } from './step/sums.js';
export { requireSupported, stepCosts, supports, type StepCost } from './step/supports.js';
