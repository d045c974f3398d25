/** Graph outputs that share their elements, and operands that other operators must bring into form. */
import { describe, expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import { compareSpec, runBundle } from './testing/compare.js';
import { buildModel, floats, int64s, samplesOf, random, type NodeSpec } from './testing/models.js';

describe('a linear output that is an output in other forms too', () => {
  const w = floats([4, 6], (i) => Math.sin(i + 1));
  const matmul: NodeSpec = { op: 'MatMul', inputs: ['x', 'w'], outputs: ['h'] };
  const reshape: NodeSpec = { op: 'Reshape', inputs: ['h', 's'], outputs: ['y'] };
  const double: NodeSpec = { op: 'Mul', inputs: ['h', 'two'], outputs: ['d'] };
  const constants = { w, s: int64s([1, 2, 3]), two: floats([], () => 2) };
  test.each([
    [{ h: [1, 6], y: [1, 2, 3] }],
    [{ y: [1, 2, 3], h: [1, 6] }],
    [{ h: [1, 6], d: [1, 6] }],
    [{ d: [1, 6], y: [1, 2, 3], h: [1, 6] }],
  ])('outputs %j', (outputs) => {
    const nodes = [matmul, ...('y' in outputs ? [reshape] : []), ...('d' in outputs ? [double] : [])];
    expect(compareSpec({ inputs: { x: [1, 4] }, outputs, nodes, constants }, { x: [1, 4] }).worst).toBeLessThan(4);
  });
});

describe('padded AveragePool', () => {
  const image = [1, 2, 6, 6];
  const pool: NodeSpec = {
    op: 'AveragePool',
    inputs: ['s'],
    outputs: ['y'],
    attributes: { kernel_shape: [3, 3], pads: [1, 1, 1, 1] },
  };
  const after = (nodes: readonly NodeSpec[], constants: Record<string, Tensor>): number =>
    compareSpec(
      { inputs: { x: image, z: image }, outputs: { y: image }, nodes: [...nodes, pool], constants },
      { x: image, z: image },
    ).worst;

  test('after a residual Add of different scales', () => {
    const nodes: NodeSpec[] = [
      { op: 'Mul', inputs: ['z', 'k'], outputs: ['kz'] },
      { op: 'Add', inputs: ['x', 'kz'], outputs: ['s'] },
    ];
    expect(after(nodes, { k: floats([], () => 0.013) })).toBeLessThan(4);
  });

  test.each([[[]], [[1, 2, 1, 1]]])('after a Sub of a constant of shape %j', (shape) => {
    expect(
      after([{ op: 'Sub', inputs: ['x', 'k'], outputs: ['s'] }], { k: floats(shape, (i) => 0.013 + i) }),
    ).toBeLessThan(4);
  });
});

describe('Pad', () => {
  const pad: NodeSpec = { op: 'Pad', inputs: ['x', 'p', 'v'], outputs: ['a'] };
  const maxPool: NodeSpec = {
    op: 'MaxPool',
    inputs: ['a'],
    outputs: ['y'],
    attributes: { kernel_shape: [2, 2], strides: [2, 2] },
  };
  const p = int64s([0, 0, 1, 1, 0, 0, 1, 1]);

  test('with the least float before MaxPool', () => {
    const spec = {
      inputs: { x: [1, 1, 4, 4] },
      outputs: { y: [1, 1, 3, 3] },
      nodes: [pad, maxPool],
      constants: { p, v: floats([], () => -3.4e38) },
    };
    expect(compareSpec(spec, { x: [1, 1, 4, 4] }).worst).toBeLessThan(3);
  });

  test('of a value that was always 0', () => {
    const spec = {
      inputs: { z: [1, 1, 2, 2] },
      outputs: { a: [1, 1, 4, 4] },
      nodes: [{ op: 'Sub', inputs: ['z', 'z'], outputs: ['x'] }, pad],
      constants: { p, v: floats([], () => 0.4) },
    };
    expect(compareSpec(spec, { z: [1, 1, 2, 2] }).worst).toBeLessThan(1);
  });
});

describe('integer inputs', () => {
  const model = buildModel({
    inputs: { x: { type: 'int64', shape: [1, 4] } },
    outputs: { y: { type: 'int64', shape: [1, 4] } },
    nodes: [{ op: 'Mul', inputs: ['x', 'k'], outputs: ['y'] }],
    constants: { k: int64s([3]) },
  });
  const sample = (...values: number[]) => new Map([['x', int64s(values, [1, 4])]]);

  test('within 2^11 are taken as they are', () => {
    const bundle = compileModel(model, { calibration: [sample(1, 200, 1700, -7)] });
    const seen = runBundle(bundle, sample(3, -2001, 999, 0)).get('y')!;
    expect(Array.from(seen.data as BigInt64Array)).toEqual([9n, -6003n, 2997n, 0n]);
    expect(bundle.report.warnings.filter((warning) => warning.includes('integers reach'))).toEqual([]);
  });

  test('beyond are rounded, with a warning', () => {
    const { report } = compileModel(model, { calibration: [sample(1, 200, 40000, -7)] });
    expect(report.warnings.some((warning) => warning.includes('integers reach 40000'))).toBe(true);
  });
});

test('ports of float16 are refused together with the nodes that are', () => {
  const model = buildModel({
    inputs: { x: { type: 'float16', shape: [1, 4] }, z: [1, 4] },
    outputs: { y: { type: 'float16', shape: [1, 4] }, v: [1, 4] },
    nodes: [
      { op: 'Relu', inputs: ['x'], outputs: ['y'] },
      { op: 'Pow', inputs: ['z', 'z'], outputs: ['v'] },
    ],
  });
  let found: unknown = null;
  try {
    compileModel(model, { calibration: samplesOf({ z: [1, 4] }, 1, random(1)) });
  } catch (error) {
    found = error;
  }
  expect(found).toBeInstanceOf(AssayError);
  expect(found).toMatchObject({
    code: 'UNSUPPORTED_NODES',
    meta: { nodes: [{ node: 'x' }, { node: 'y' }, { op: 'Pow' }] },
  });
});
