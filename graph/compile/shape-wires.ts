/** Moves of elements on values that are not emitted yet. */
import { sizeOf } from '../tensor.js';
import { wholeShape, type Value, type Wire } from './value.js';

const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((side, axis) => side === b[axis]);

/** The axis of `to` that runs over the same elements as `axis` of `from`, both row-major; null where none does. */
export function axisAfterReshape(from: readonly number[], to: readonly number[], axis: number): number | null {
  const prefix = sizeOf(from.slice(0, axis));
  const side = from[axis]!;
  let product = 1;
  for (let i = 0; i < to.length; i++) {
    if (product === prefix && to[i] === side) return i;
    product *= to[i]!;
  }
  return null;
}

/** The same elements in another item shape. */
export function reshaped(value: Value, shape: readonly number[], batched = value.batched): Value {
  if (sameShape(value.shape, shape)) return { ...value, batched };
  const before = value.wires.at(-1)?.kind === 'reshape' ? value.wires.slice(0, -1) : value.wires;
  const channelAxis = value.channelAxis === null ? null : axisAfterReshape(value.shape, shape, value.channelAxis);
  const inner = before.length === 0 ? value.elementwise.base.shape : before.at(-1)!.shape;
  const wires: readonly Wire[] = sameShape(inner, shape) ? before : [...before, { kind: 'reshape', shape: [...shape] }];
  return { ...value, wires, shape: [...shape], batched, channelAxis };
}

/** The value with its whole ONNX shape as item shape. */
export function toWhole(value: Value): Value {
  return value.batched ? reshaped(value, wholeShape(value), false) : value;
}

export function transposed(value: Value, permutation: readonly number[]): Value {
  if (permutation.every((axis, i) => axis === i)) return value;
  const shape = permutation.map((axis) => value.shape[axis]!);
  const moved = value.channelAxis === null ? null : permutation.indexOf(value.channelAxis);
  return {
    ...value,
    wires: [...value.wires, { kind: 'transpose', permutation: [...permutation], shape }],
    shape,
    channelAxis: moved,
  };
}

export function sliced(
  value: Value,
  starts: readonly number[],
  steps: readonly number[],
  shape: readonly number[],
): Value {
  if (sameShape(value.shape, shape) && steps.every((step) => step === 1)) return value;
  return {
    ...value,
    wires: [...value.wires, { kind: 'slice', starts: [...starts], steps: [...steps], shape: [...shape] }],
    shape: [...shape],
    channelAxis: null,
  };
}

/** Broadcast to an item shape of the same or a higher rank, ONNX rules. */
export function expanded(value: Value, shape: readonly number[]): Value {
  const padded = [...new Array<number>(shape.length - value.shape.length).fill(1), ...value.shape];
  const aligned = reshaped(value, padded);
  if (sameShape(padded, shape)) return aligned;
  return {
    ...aligned,
    wires: [...aligned.wires, { kind: 'expand', shape: [...shape] }],
    shape: [...shape],
    channelAxis: null,
  };
}
