/** The arg-max that a checker computes: smallest index on ties, along any axis, item by item. */
import { expect, test } from 'vitest';
import type { Program } from '../program/types.js';
import { requestedOutputs } from './check-outputs.js';

const program = (axes: number[], argMaxAxis: number | null) =>
  ({
    outputs: [{ range: { lo: 0, hi: 9 }, expression: { axes, linear: [], products: [] }, argMaxAxis }],
  }) as unknown as Program;

test.each([
  { axes: [3], axis: null, values: [5, 1, 5, 0, 2, 2], expected: [5, 1, 5, 0, 2, 2] },
  { axes: [3], axis: 0, values: [5, 1, 5, 0, 2, 2], expected: [0, 1] },
  { axes: [2, 3], axis: 0, values: [1, 5, 3, 2, 4, 3, 9, 0, 0, 9, 0, 1], expected: [1, 0, 0, 0, 0, 1] },
  { axes: [2, 3], axis: 1, values: [1, 5, 3, 2, 4, 3, 9, 0, 0, 9, 0, 1], expected: [1, 1, 0, 0] },
  { axes: [1], axis: 0, values: [7, -7], expected: [0, 0] },
])('axes $axes, arg-max along $axis', ({ axes, axis, values, expected }) => {
  expect(requestedOutputs(program(axes, axis), 2, [Int32Array.from(values)])).toEqual([Int32Array.from(expected)]);
});
