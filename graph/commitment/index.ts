/** Commitments to tensors, executions and models; every byte under a hash is specified in the files' headers. */
export { elementWidth, encodeElements, decodeElements, type ElementWidth } from './encoding.js';
export {
  digestOfRoots,
  modelDigest,
  modelRoots,
  KIND_CODE,
  type IdentifiedModel,
  type ModelRoots,
} from './model-digest.js';
export { openChunks, verifyChunks, type ChunkOpening, type ChunkVerdict } from './open-chunks.js';
export { CHUNK_ELEMENTS, inLayout, tensorRoot, type CommittedInfo, type TensorHeader } from './tensor-root.js';
export { inputRoot, openSlot, outputRoot, traceRoot, verifySlot, type SlotOpening } from './trace-root.js';
