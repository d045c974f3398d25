import { describe, expect, test } from 'vitest';
import { prepareModel } from '../onnx/prepare-model.js';
import { decompose } from './decompose.js';
import { compare, compareSpec } from './testing/compare.js';
import { buildModel, floats, normal, random, type ModelSpec } from './testing/models.js';

const samples = (count: number, scales: Readonly<Record<string, readonly [number, number]>>) => {
  const next = random(8);
  return Array.from(
    { length: count },
    () =>
      new Map(
        Object.entries(scales).map(([name, [width, scale]]) => [name, floats([1, width], () => scale * normal(next))]),
      ),
  );
};

describe('what cancels keeps the range of what it is made of', () => {
  test('Sum(x, x, z) with z near -2x', () => {
    const model = buildModel({
      inputs: { x: [1, 8], e: [1, 8] },
      outputs: { y: [1, 8] },
      nodes: [
        { op: 'Mul', inputs: ['x', 'k'], outputs: ['mx'] },
        { op: 'Add', inputs: ['mx', 'e'], outputs: ['z'] },
        { op: 'Sum', inputs: ['x', 'x', 'z'], outputs: ['y'] },
      ],
      constants: { k: floats([], () => -2) },
    });
    // The result is a 15th of its terms, and so their 8-bit steps are coarse beside it.
    expect(compare(model, { calibration: samples(20, { x: [8, 1], e: [8, 1] }) }).worst).toBeLessThan(12);
  });

  test('a Gemm whose C depends on the input', () => {
    const model = buildModel({
      inputs: { x: [1, 4], e: [1, 3] },
      outputs: { y: [1, 3] },
      nodes: [
        { op: 'Gemm', inputs: ['x', 'w'], outputs: ['h'] },
        { op: 'Sub', inputs: ['e', 'h'], outputs: ['c'] },
        { op: 'Gemm', inputs: ['x', 'w', 'c'], outputs: ['y'] },
      ],
      constants: { w: floats([4, 3], (i) => Math.sin(i + 1)) },
    });
    expect(compare(model, { calibration: samples(20, { x: [4, 1], e: [3, 0.5] }) }).worst).toBeLessThan(20);
  });

  test('Mean of four, a scaled Gemm of two inputs with a constant matrix C', () => {
    const mean: ModelSpec = {
      inputs: { x: [1, 8], z: [1, 8] },
      outputs: { y: [1, 8] },
      nodes: [
        { op: 'Sigmoid', inputs: ['x'], outputs: ['s'] },
        { op: 'Mean', inputs: ['x', 'x', 'z', 's'], outputs: ['y'] },
      ],
    };
    expect(compareSpec(mean, { x: [1, 8], z: [1, 8] }).worst).toBeLessThan(4);
    const gemm: ModelSpec = {
      inputs: { x: [2, 4], z: [4, 3] },
      outputs: { y: [2, 3] },
      nodes: [{ op: 'Gemm', inputs: ['x', 'z', 'c'], outputs: ['y'], attributes: { alpha: 0.5, beta: 2 } }],
      constants: { c: floats([2, 3], (i) => -4 - i * 0.3) },
    };
    expect(compareSpec(gemm, { x: [2, 4], z: [4, 3] }).worst).toBeLessThan(4);
  });
});

test('constants come last, and a Gemm with a bias stays whole', () => {
  const model = prepareModel(
    buildModel({
      inputs: { x: [1, 4] },
      outputs: { y: [1, 4] },
      nodes: [
        { op: 'Gemm', inputs: ['x', 'w', 'b'], outputs: ['g'] },
        { op: 'Max', inputs: ['k', 'x', 'g'], outputs: ['y'] },
      ],
      constants: { w: floats([4, 4], (i) => i), b: floats([4], (i) => i), k: floats([], () => 1) },
    }),
    {},
  );
  expect(decompose(model).nodes.map(({ op, inputs }) => [op, ...inputs])).toEqual([
    ['Gemm', 'x', 'w', 'b'],
    ['Max', 'x', 'g'],
    ['Max', 'y:part1', 'k'],
  ]);
});
