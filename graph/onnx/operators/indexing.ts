/** Index arithmetic that the operators share: broadcasting, and moving elements by a map of indices. */
import { sizeOf, stridesOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { newArray } from '../tensor-proto.js';
import type { Application } from './operator.js';

/**
 * The common shape under numpy's broadcasting (right-aligned; side 1 repeats).
 * @throws ONNX_SHAPE_MISMATCH naming the node.
 */
export function broadcastShapes(application: Application, shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  const result = new Array<number>(rank).fill(1);
  for (const shape of shapes) {
    shape.forEach((side, index) => {
      const axis = rank - shape.length + index;
      if (side === 1 || side === result[axis]) return;
      if (result[axis] !== 1)
        throw application.mismatch(`cannot broadcast ${side} against ${result[axis]} in axis ${axis}`);
      result[axis] = side;
    });
  }
  return result;
}

/** For every element of `target`, the index of the element of `shape` that stands there; null where that is itself. */
export function broadcastIndices(shape: readonly number[], target: readonly number[]): Int32Array | null {
  const size = sizeOf(target);
  if (sizeOf(shape) === size) return null;
  const strides = stridesOf(shape);
  const lead = target.length - shape.length;
  const steps = target.map((_, axis) => (axis < lead || shape[axis - lead] === 1 ? 0 : strides[axis - lead]!));
  return stridedIndices(target, steps, 0);
}

/** The indices offset + sum(coordinate * step), in row-major order of `shape`. */
export function stridedIndices(shape: readonly number[], steps: readonly number[], offset: number): Int32Array {
  const indices = new Int32Array(sizeOf(shape));
  if (indices.length === 0) return indices;
  const rank = shape.length;
  const coordinate = new Array<number>(rank).fill(0);
  let index = offset;
  for (let i = 0; i < indices.length; i++) {
    indices[i] = index;
    for (let axis = rank - 1; axis >= 0; axis--) {
      index += steps[axis]!;
      if (++coordinate[axis]! < shape[axis]!) break;
      index -= steps[axis]! * shape[axis]!;
      coordinate[axis] = 0;
    }
  }
  return indices;
}

/** The tensor of `shape` whose element i is element indices[i] of the given one. */
export function take(tensor: Tensor, indices: Int32Array, shape: readonly number[]): Tensor {
  const data = newArray(tensor.type, indices.length) as Uint8Array;
  const source = tensor.data as Uint8Array;
  for (let i = 0; i < indices.length; i++) data[i] = source[indices[i]!]!;
  return { type: tensor.type, shape, data };
}

/** The tensor spread to a shape that it broadcasts to. */
export function broadcastTo(tensor: Tensor, shape: readonly number[]): Tensor {
  const indices = broadcastIndices(tensor.shape, shape);
  return indices === null ? { ...tensor, shape } : take(tensor, indices, shape);
}

/** A shape seen as [outer, axis, inner]. */
export function around(shape: readonly number[], axis: number): { outer: number; side: number; inner: number } {
  return { outer: sizeOf(shape.slice(0, axis)), side: shape[axis]!, inner: sizeOf(shape.slice(axis + 1)) };
}
