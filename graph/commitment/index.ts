/** Commitments to tensors, executions and models; every byte under a hash is specified in the files' headers. */
export { elementWidth, encodeElements, decodeElements, FLOAT_RANGE, type ElementWidth } from './encoding.js';
export { digestOfRoots, type ModelRoots } from './digest-of-roots.js';
export { modelDigest, modelRoots, KIND_CODE, type IdentifiedModel } from './model-digest.js';
export { checkCommitTable, commitTable, committedTensors, slotReads, SEGMENT_LIMIT } from './commit-table.js';
export { openChunks, verifyChunks, type ChunkOpening, type ChunkVerdict } from './open-chunks.js';
export {
  CHUNK_ELEMENTS,
  inLayout,
  tensorRoot,
  tensorRootBytes,
  type CommittedInfo,
  type TensorHeader,
} from './tensor-root.js';
export { directRun, type TraceRun } from './trace-run.js';
export {
  inputRoot,
  inputRootOf,
  openSlot,
  outputRoot,
  outputRootOf,
  traceRoot,
  traceRootOf,
  verifySlot,
  type SlotOpening,
} from './trace-root.js';
