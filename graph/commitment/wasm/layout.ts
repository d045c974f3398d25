/** Where the kernels of hash-code.ts and their callers find things in memory. */
import { CHUNK_ELEMENTS } from '../chunk-size.js';

/** Chunks of a block: 512, which is also what one answer in a dispute may reveal. */
export const BLOCK_CHUNKS = 512;
/** Most dimensions that an order may have, items included. */
export const MAX_DIMENSIONS = 12;

/** Byte offsets of a job, the description of one tensor: uint32 words, then dimensions, then strides in elements. */
export const JOB = { data: 0, width: 4, signed: 8, lo: 12, hi: 16, elements: 20, dimensions: 24, out: 28, orders: 32 };
export const JOB_BYTES = JOB.orders + 8 * MAX_DIMENSIONS;

/** Scratch of a thread: two states, then encoded elements of a block, then its leaves, each with slack for wide loads. */
export const STATE_BYTES = 25 * 16;
export const ELEMENTS_AT = STATE_BYTES + 112;
export const LEAVES_AT = ELEMENTS_AT + 4 * BLOCK_CHUNKS * CHUNK_ELEMENTS + 64;
export const SCRATCH_BYTES = LEAVES_AT + 32 * BLOCK_CHUNKS + 64;
