/** What a batch's proof is about: absorbed before any commitment, by the prover and in the circuit. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import type { JobGroup, Plan } from '../../prover/plan/plan.js';
import { makePlan } from '../../prover/plan/plan.js';
import { wordsOfItem } from '../../prover/plan/inputs.js';
import { programHash } from '../../prover/program/encode-program.js';
import { sizeOf } from '../../graph/tensor.js';
import type { BatchGroupShape, BatchShape } from './types.js';
import { INTEGERS_PER_WORD } from './commitments.js';

const TAG = new TextEncoder().encode('assay/batch/proof/1');

const uint32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
};

export const itemsOf = ({ receipts, itemsPerReceipt }: BatchGroupShape): number => receipts * itemsPerReceipt;

const jobGroups = ({ groups }: BatchShape): JobGroup[] =>
  groups.map((group) => ({ program: group.program, items: itemsOf(group) }));

export const batchPlan = (shape: BatchShape): Plan => makePlan(jobGroups(shape), shape.n);

/** Names everything that is a constant of the circuit: n and the groups. */
export function shapeHash({ n, groups }: BatchShape): Uint8Array {
  return keccak_256(
    concatBytes(
      TAG,
      Uint8Array.of(n, groups.length),
      ...groups.flatMap(({ program, receipts, itemsPerReceipt }) => [
        programHash(program),
        uint32(receipts),
        uint32(itemsPerReceipt),
      ]),
    ),
  );
}

/** How a receipt's public values lie in the vectors of its group. */
export interface ReceiptLayout {
  /** By input: index within an item of every published word. */
  readonly wordIndices: readonly (readonly number[])[];
  /** By output: elements of an item. */
  readonly outputSizes: readonly number[];
  /** Published words of a receipt, over all inputs and items. */
  readonly words: number;
  /** Published integers of a receipt, over all outputs and items. */
  readonly integers: number;
  readonly outputWords: number;
}

export function receiptLayout({ program, itemsPerReceipt }: BatchGroupShape): ReceiptLayout {
  const wordIndices = program.inputs.map((input) => {
    const { lo } = program.tables[input.table] as { lo: number };
    const item = new Int32Array(sizeOf(program.witness[input.slot]!.axes)).fill(lo);
    return wordsOfItem(program, input, item).map(([index]) => index);
  });
  const outputSizes = program.outputs.map(({ expression }) => sizeOf(expression.axes));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const integers = itemsPerReceipt * sum(outputSizes);
  return {
    wordIndices,
    outputSizes,
    words: itemsPerReceipt * sum(wordIndices.map(({ length }) => length)),
    integers,
    outputWords: Math.ceil(integers / INTEGERS_PER_WORD),
  };
}

/** By receipt, what it takes of a group's vectors over all items: input by input or output by output, item by item. */
export function splitReceipts<T>(
  { receipts, itemsPerReceipt }: BatchGroupShape,
  perItem: readonly number[],
  vectors: readonly (readonly T[])[],
): T[][] {
  return Array.from({ length: receipts }, (_, r) =>
    vectors.flatMap((vector, i) =>
      vector.slice(r * itemsPerReceipt * perItem[i]!, (r + 1) * itemsPerReceipt * perItem[i]!),
    ),
  );
}
