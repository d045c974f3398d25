/**
 * How many claims one executor may have open: as many as it could answer for if all were disputed at once. Otherwise whoever
 * floods it with demands wins claims that are right.
 *
 * Symbols: A the answer time, G the gas that the chain takes in one unit of its clock, a the largest answer of the model in
 * gas, by the policy's table; 8 demands of one claim cost the asker no surcharge. A claim is taken on while
 *   (open + 1) 8 a <= 5 % A G,
 * where every open claim is held to be as large as the new one.
 */
import { CHUNK_ELEMENTS, elementWidth, sizeOf, slotsOf, type IntegerGraph } from '../../graph/index.js';
import type { Policy } from '../../verifier-contracts/policy.js';

/** Demands below the roots of one claim without a surcharge (IDisputeGame.sol). */
export const FREE_DEMANDS = 8;
/** Of the chain, while all of them are answered. */
const SHARE = 0.05;
/** Children that one answer reveals, bytes of each, and of the number before a leaf or a count. */
const [MOST_CHILDREN, HASH_BYTES, NUMBER_BYTES] = [512, 32, 4];
/** Chunks that one demand may ask for. */
const MOST_CHUNKS = 64;
/** Of a tensor's header, and for each axis more (graph/commitment/tensor-root.ts). */
const [HEADER_BYTES, HEADER_AXIS_BYTES] = [17, 5];

export interface DisputeCapacity {
  /** Gas of the largest answer, by the policy's table. */
  readonly answerGas: number;
  /** Claims that may be open at once; 0: not even one could be answered for. */
  readonly most: number;
}

/** @param gasPerTick gas that the chain takes in one unit of the clock that `answerTime` is counted in */
export function disputeCapacity(
  { answerTime, gasAnswer, gasAnswerByte }: Pick<Policy, 'answerTime' | 'gasAnswer' | 'gasAnswerByte'>,
  graph: IntegerGraph,
  items: number,
  gasPerTick: number,
): DisputeCapacity {
  const answerGas = gasAnswer + gasAnswerByte * largestAnswerBytes(graph, items);
  return { answerGas, most: Math.floor((SHARE * answerTime * gasPerTick) / (FREE_DEMANDS * answerGas)) };
}

/**
 * Bytes of the longest answer that a dispute about the model can ask for. Stated sums are at most 512 of eight bytes, no more
 * than the chunks of the slot that they are over.
 */
export function largestAnswerBytes(graph: IntegerGraph, items: number): number {
  const slots = slotsOf(graph);
  const ofSlots = slots.map((id) => {
    const { shape, range } = graph.tensors[id]!;
    const chunks = Math.ceil((items * sizeOf(shape)) / CHUNK_ELEMENTS);
    const list = HEADER_BYTES + HEADER_AXIS_BYTES * shape.length + HASH_BYTES * Math.min(MOST_CHILDREN, chunks);
    return Math.max(list, Math.min(MOST_CHUNKS, chunks) * CHUNK_ELEMENTS * elementWidth(range));
  });
  const leaves = NUMBER_BYTES + (NUMBER_BYTES + HASH_BYTES) * Math.min(MOST_CHILDREN, slots.length);
  return Math.max(leaves, ...ofSlots);
}
