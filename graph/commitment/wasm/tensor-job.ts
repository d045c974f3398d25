/** How a tensor is described to the kernels: its order and the words of a job (hash-code.ts). */
import { sizeOf, stridesOf } from '../../tensor.js';
import { elementWidth } from '../encoding.js';
import type { CommittedInfo } from '../tensor-root.js';
import { JOB, MAX_DIMENSIONS } from './layout.js';

/** Committed order of all items: dimensions and their strides in elements, outermost first. */
export interface Order {
  readonly dimensions: readonly number[];
  readonly strides: readonly number[];
}

/** Items outermost, then the axes of the layout; sides of 1 are left out, and a dimension that continues the next is merged. */
export function orderOf({ shape, layout }: CommittedInfo, items: number): Order {
  const own = stridesOf(shape);
  const axes = [
    { side: items, stride: sizeOf(shape) },
    ...layout.map((axis) => ({ side: shape[axis]!, stride: own[axis]! })),
  ];
  const merged: { side: number; stride: number }[] = [];
  for (const axis of axes) {
    if (axis.side === 1) continue;
    const last = merged.at(-1);
    if (last !== undefined && last.stride === axis.side * axis.stride) {
      last.side *= axis.side;
      last.stride = axis.stride;
    } else merged.push({ ...axis });
  }
  if (merged.length === 0) merged.push({ side: 1, stride: 1 });
  return { dimensions: merged.map(({ side }) => side), strides: merged.map(({ stride }) => stride) };
}

export const isContiguous = ({ dimensions, strides }: Order): boolean => dimensions.length === 1 && strides[0] === 1;

/** More dimensions than a job has room for are left to JavaScript. */
export const fits = ({ dimensions }: Order): boolean => dimensions.length <= MAX_DIMENSIONS;

/** @param words of the memory. @param at byte offset of the job. @param data byte offset of element 0. */
export function writeJob(
  words: Int32Array,
  at: number,
  { range }: CommittedInfo,
  { dimensions, strides }: Order,
  job: { readonly data: number; readonly elements: number; readonly out: number },
): void {
  const put = (offset: number, value: number): void => {
    words[(at + offset) >> 2] = value;
  };
  put(JOB.data, job.data);
  put(JOB.width, elementWidth(range));
  put(JOB.signed, range.lo < 0 ? 1 : 0);
  put(JOB.lo, range.lo);
  put(JOB.hi, range.hi);
  put(JOB.elements, job.elements);
  put(JOB.dimensions, dimensions.length);
  put(JOB.out, job.out);
  dimensions.forEach((side, i) => put(JOB.orders + 4 * i, side));
  strides.forEach((stride, i) => put(JOB.orders + 4 * (MAX_DIMENSIONS + i), stride));
}
