/** The public face of the pipeline. */
export { auditorPort, checkerFromEngine, checkerFromExecutor, executorPort } from './adapters/nodes.js';
export { openBundleFolder, type BundleFolder } from './adapters/bundle-folder.js';
export { rollupChain } from './chain/rollup-chain.js';
export { parseSettings, settingsFromEnvironment, type PipelineSettings, type PipelineSettingsInput } from './config.js';
export { Pipeline, type PipelineEvents, type PipelinePorts, type Progress, type Readiness } from './pipeline.js';
export type * from './ports.js';
export type { JobView } from './read-job.js';
export { receiptFileOf } from './receipt-file-of.js';
export { routeJob, type RoutingDecision, type RoutingQuestion } from './routing.js';
export type { OrderRequest } from './submit.js';
