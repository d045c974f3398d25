/**
 * The batch axis. An item of the integer graph is one inference at batch 1. A value is *batched* while axis 0 of its
 * ONNX shape is the batch: its item shape then lacks that axis. An operator that moves or merges axis 0 works on the
 * whole shape instead, and the result is batched again where a side of 1 stands in front.
 */
import type { OnnxModel, PreparedModel } from '../onnx/model.js';
import { reshaped, toWhole } from './shape-wires.js';
import { wholeShape, type Value } from './value.js';

/** True where axis 0 of a graph input is a batch: of side 1, and either a symbol in the file or followed by more axes. */
export function isBatched(source: OnnxModel, model: PreparedModel, input: string): boolean {
  const shape = model.inputs.find((info) => info.name === input)!.shape;
  const declared = source.inputs.find((info) => info.name === input)!.shape;
  return shape[0] === 1 && (shape.length >= 2 || typeof declared[0] !== 'number');
}

/** An axis of the ONNX shape, counted from the front. */
export function positiveAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** The value with its axes as item axes; the whole shape where one of them is the batch. */
export function onItemAxes(value: Value, axes: readonly number[]): { value: Value; axes: number[] } {
  const rank = wholeShape(value).length;
  const positive = axes.map((axis) => positiveAxis(axis, rank));
  if (!value.batched) return { value, axes: positive };
  if (positive.includes(0)) return { value: toWhole(value), axes: positive };
  return { value, axes: positive.map((axis) => axis - 1) };
}

/** Batched again where the whole shape begins with 1 and the model has a batch. */
export function settled(value: Value, hasBatch: boolean): Value {
  if (value.batched || !hasBatch || value.shape.length < 2 || value.shape[0] !== 1) return value;
  return reshaped(value, value.shape.slice(1), true);
}

/** The value in the ONNX shape that the model gives its result. */
export function inShape(value: Value, shape: readonly number[], hasBatch: boolean): Value {
  if (value.batched && shape[0] === 1) return reshaped(value, shape.slice(1), true);
  return settled(reshaped(toWhole(value), shape, false), hasBatch);
}
