/** Commitments to tensors, executions and models; every byte under a hash is specified in the files' headers. */
export { elementWidth, encodeElements, decodeElements, type ElementWidth } from './encoding.js';
export { modelDigest, modelRoots, KIND_CODE, type IdentifiedModel, type ModelRoots } from './modelDigest.js';
export {
  openChunk,
  openChunks,
  verifyChunk,
  verifyChunks,
  type ChunkOpening,
  type ChunkVerdict,
} from './openChunks.js';
export { CHUNK_ELEMENTS, inLayout, tensorRoot, type CommittedInfo, type TensorHeader } from './tensorRoot.js';
export { inputRoot, openSlot, outputRoot, traceRoot, verifySlot, type SlotOpening } from './traceRoot.js';
