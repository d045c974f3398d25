/** What every layer of the trainer is. */
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** Item shape, without the batch. */
export type Shape = readonly number[];

/** A trained array and its gradient. */
export interface Parameter {
  /** Name of the initializer in the ONNX file. */
  readonly name: string;
  readonly shape: Shape;
  readonly value: Float64Array;
  /** Derivative of the mean loss of the batch; `backward` adds to it, the optimiser clears it. */
  readonly gradient: Float64Array;
  /** Weights decay; biases and the scales of normalisation do not. */
  readonly decays: boolean;
}

/** An array that is measured in training, not fitted, and belongs to the model: a running mean or variance. */
export interface Statistic {
  /** Name of the initializer in the ONNX file. */
  readonly name: string;
  readonly value: Float64Array;
}

/**
 * A layer works on batches of items in float64, row-major [items, ...shape]: float64 is as fast as float32 here within
 * a third, and gradients can be checked to eight digits. Weights are rounded to float32 at export.
 *
 * A returned array belongs to the layer and is overwritten by its next call.
 */
export interface Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[];
  /** Multiply-accumulates of one item, counted as the padded sums of its linear part. */
  readonly macs: number;
  /** @param training batch statistics instead of running ones, and everything kept that `backward` needs. */
  forward(x: Float64Array, items: number, training: boolean): Float64Array;
  /**
   * Adds to the gradients of the parameters and returns the gradient of the input, for the batch of the last
   * `forward` call, which must have been made with `training`.
   */
  backward(dy: Float64Array, items: number): Float64Array;
  /** Appends the layer to an ONNX graph; returns the name of its output value. */
  write(writer: OnnxGraphWriter, input: string): string;
}

export function makeParameter(name: string, shape: Shape, value: Float64Array, decays: boolean): Parameter {
  return { name, shape, value, gradient: new Float64Array(value.length), decays };
}

/** The buffer where its length is right, else a new one: layers keep their arrays from batch to batch. */
export function sized(buffer: Float64Array, length: number): Float64Array {
  return buffer.length === length ? buffer : new Float64Array(length);
}
