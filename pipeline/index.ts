/** The public face of the pipeline. */
export { auditorPort, checkerFromEngine, checkerFromExecutor, executorPort } from './adapters/nodes.js';
export { openBundleFolder, type BundleFolder } from './adapters/bundle-folder.js';
export { batchProver, type BatchProverOptions, type PlacedCircuit } from './adapters/batch-prover.js';
export { ProverNode, type ProverNodeOptions } from './adapters/prover-node.js';
export type { SrsSource } from './adapters/prover-messages.js';
export { settlementChain } from './chain/settlement-chain.js';
export { outputBytesOf } from './order-terms.js';
export { parseSettings, settingsFromEnvironment, type PipelineSettings, type PipelineSettingsInput } from './config.js';
export { Pipeline, type PipelineEvents, type PipelinePorts, type Progress, type Readiness } from './pipeline.js';
export type * from './ports.js';
export type { Offer, Quote, QuoteRequest } from './quote.js';
export type { JobProof, JobSettlement, JobView } from './read-job.js';
export { receiptFileOf } from './receipt-file-of.js';
export { routeJob, type ProofProspect, type RoutingDecision, type RoutingQuestion } from './routing.js';
export type { OrderRequest } from './submit.js';
export { checkOrderProof, type ProofSubject, type ShownOutputs } from './zk/check-proof.js';
export { directEvidenceOf } from './zk/direct-evidence-of.js';
export { readerChecks } from './zk/reader-checks.js';
