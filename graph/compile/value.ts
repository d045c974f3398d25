/**
 * What an ONNX value is while the graph is lowered: not yet a tensor of integers, but a recipe that the consumer
 * finishes in the form that it needs.
 *
 *   value = wires( fn( base ) )
 *
 * base: an integer tensor with its scale, or a linear layer not yet emitted (so that a following bias, scale or
 * BatchNormalization can still be folded into its weights). fn: the elementwise function collected since then; a
 * requantisation absorbs it. wires: moves of elements, which commute with fn.
 */
import type { TensorId, Window2d } from '../integer/types.js';
import type { UnaryFunction } from './unary-function.js';

/**
 * `stored`: each element is a stored one (or a constant), perhaps moved. `sum`: a structured sum of stored elements.
 * `product`: an accumulator of products.
 */
export type TensorForm = 'stored' | 'sum' | 'product';

/** An emitted integer tensor; real = scales[channel] * integer. */
export interface TensorBase {
  readonly kind: 'tensor';
  /** ONNX value whose statistics describe it. */
  readonly name: string;
  readonly id: TensorId;
  readonly form: TensorForm;
  readonly shape: readonly number[];
  /** One, or one per channel along channelAxis. */
  readonly scales: Float64Array;
  readonly channelAxis: number | null;
}

/** Integer weights that the model brought along; real weight = scales[row or 0] * integer. */
export interface FixedWeights {
  readonly integers: Int16Array;
  readonly scales: Float64Array;
}

/** A linear layer with constant weights, before quantisation. */
export interface LinearPlan {
  readonly kind: 'plan';
  readonly name: string;
  /** ONNX node, for messages. */
  readonly node: string;
  readonly x: Value;
  readonly geometry:
    { readonly kind: 'matmul' } | { readonly kind: 'conv'; readonly window: Window2d; readonly groups: number };
  /** Row-major [rows][perRow], real; contraction order as in the integer graph. */
  readonly weight: Float64Array;
  readonly fixed: FixedWeights | null;
  readonly rows: number;
  readonly perRow: number;
  /** Real; null where there is none. */
  readonly bias: Float64Array | null;
  readonly shape: readonly number[];
  readonly channelAxis: number;
}

export type Base = TensorBase | LinearPlan;

export interface Elementwise {
  readonly base: Base;
  readonly fn: UnaryFunction;
  /** ONNX value whose statistics give the scale when this is requantised. */
  readonly name: string;
}

export type Wire =
  | { readonly kind: 'reshape'; readonly shape: readonly number[] }
  | { readonly kind: 'transpose'; readonly permutation: readonly number[]; readonly shape: readonly number[] }
  | {
      readonly kind: 'slice';
      readonly starts: readonly number[];
      readonly steps: readonly number[];
      readonly shape: readonly number[];
    }
  | { readonly kind: 'expand'; readonly shape: readonly number[] };

export interface Value {
  readonly elementwise: Elementwise;
  readonly wires: readonly Wire[];
  /** Item shape after the wires. */
  readonly shape: readonly number[];
  /** True where the ONNX shape is [1, ...shape] with the batch in front. */
  readonly batched: boolean;
  /** Axis of `shape` along which a linear layer's channels lie; null where the wires lost it. */
  readonly channelAxis: number | null;
  /** For values of integer type: ONNX integer = stored integer + zeroPoint. 0 for real values. */
  readonly zeroPoint: number;
}

/** Shape in the ONNX model. */
export function wholeShape(value: Value): readonly number[] {
  return value.batched ? [1, ...value.shape] : value.shape;
}

/** True where both are elementwise functions of the same base, element for element. */
export function sameElements(a: Value, b: Value): boolean {
  return (
    a.elementwise.base === b.elementwise.base &&
    a.batched === b.batched &&
    JSON.stringify(a.wires) === JSON.stringify(b.wires)
  );
}

/** The same elements under another function. */
export function withFunction(value: Value, fn: UnaryFunction, name: string): Value {
  return { ...value, elementwise: { base: value.elementwise.base, fn, name } };
}
