/** Elements of a full chunk, the leaf of a tensor's tree (tensor-root.ts). */
export const CHUNK_ELEMENTS = 64;
