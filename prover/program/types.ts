/**
 * The shape program: what a proof about one integer graph must show, without its weights. Prover and verifier derive
 * everything from it (slots, masks, tags, claims); neither reads any of that from a proof.
 *
 * All tensors that the proof commits to are *slots*. Witness slots hold one block of cells per item of the batch;
 * model slots hold what the model key commits to (scaled weights, biases, tables of activation functions).
 */
import type { IntRange } from '../../graph/integer/types.js';
import type { Block } from './blocks.js';

/** A committed tensor of every item: index space `axes`, row-major; in a column each axis takes ceil(log2 side) bits. */
export interface WitnessSlot {
  readonly name: string;
  readonly axes: readonly number[];
}

export interface ModelSlot {
  readonly name: string;
  readonly axes: readonly number[];
}

export type Source =
  | { readonly kind: 'witness'; readonly slot: number }
  | { readonly kind: 'model'; readonly slot: number }
  /** The constant 1, for terms that everybody knows. */
  | { readonly kind: 'one' };

/** coefficient * (source seen through blocks): target space -> axes of the source. */
export interface LinearTerm {
  readonly coefficient: bigint;
  readonly source: Source;
  readonly blocks: readonly Block[];
}

/**
 * An einsum of two operands over labelled axes: out[o] = sum over the labels that are no output of p[.] q[.].
 * A label in both operands and in the output is *shared* (groups of a convolution, heads, elementwise axes): its
 * weight stays inside the sumcheck.
 */
export interface Product {
  readonly coefficient: bigint;
  /** Side of each label. */
  readonly labels: readonly number[];
  readonly p: Operand;
  readonly q: Operand;
  readonly outputLabels: readonly number[];
  /** From the space of the expression to the space of the labels (output labels only). */
  readonly blocks: readonly Block[];
}

export interface Operand {
  /** Sorted. */
  readonly labels: readonly number[];
  /** Blocks lead from the label space to the source. */
  readonly terms: readonly LinearTerm[];
  /** True where the values differ from item to item. */
  readonly batched: boolean;
}

/** Sum of linear terms and products over one target space, per item. */
export interface Expression {
  readonly axes: readonly number[];
  readonly linear: readonly LinearTerm[];
  readonly products: readonly Product[];
}

/** A table of rows (a, b): the pairs that a lookup admits. */
export type Table =
  /** (q, clamp(q, lo, hi)) for q in qLo..qHi. */
  | { readonly kind: 'clamp'; readonly lo: number; readonly hi: number; readonly qLo: number; readonly qHi: number }
  /** (qLo + i, value i), the values being a model slot with one axis. */
  | { readonly kind: 'values'; readonly qLo: number; readonly rows: number; readonly slot: number }
  /** (0, v) for v in lo..hi: the cells of an input. */
  | { readonly kind: 'input'; readonly lo: number; readonly hi: number };

export interface InputSlot {
  readonly slot: number;
  /** Index into `tables`, of kind input. */
  readonly table: number;
  /** Bits of a cell inside a public word: 8 or 16. */
  readonly cellBits: 8 | 16;
}

/** y = table((L - r) / 2^24) on the cells of the slot, L the expression over the slot's axes. */
export interface RequantSlot {
  readonly slot: number;
  readonly table: number;
  readonly expression: Expression;
}

/** y = max of the taps, elementwise over the slot's axes: 2 to 4 taps, each a view. */
export interface MaxSlot {
  readonly slot: number;
  readonly taps: readonly (readonly LinearTerm[])[];
}

/** Integers that the statement publishes. */
export interface PublicOutput {
  readonly range: IntRange;
  readonly expression: Expression;
  /** The requester's output is the index of the maximum along this axis of the published tensor; null: itself. */
  readonly argMaxAxis: number | null;
}

export interface Program {
  readonly witness: readonly WitnessSlot[];
  readonly model: readonly ModelSlot[];
  readonly tables: readonly Table[];
  readonly inputs: readonly InputSlot[];
  readonly requants: readonly RequantSlot[];
  readonly maxima: readonly MaxSlot[];
  readonly outputs: readonly PublicOutput[];
  /** log2 of the cells in one committed column of the model. */
  readonly modelBits: number;
}

/** Limbs of a requantisation's remainder: r = r0 + 2^12 r1 in [0, 2^24). */
export const LIMB_BITS = 12;

/** Views under one maximum; a maximum of fewer repeats the first. */
export const MAX_TAPS = 4;
