/** Models that are quantised already: their integers and scales are kept, and differences are counted. */
import { describe, expect, test } from 'vitest';
import type { OnnxModel } from '../onnx/model.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import { runBundle } from './testing/compare.js';
import { buildModel, floats, random, samplesOf, type ModelSpec } from './testing/models.js';

const next = random(5);
const scalar = (x: number): Tensor => floats([], () => x);
const u8 = (x: number): Tensor => ({ type: 'uint8', shape: [], data: Uint8Array.of(x) });
const i8 = (x: number): Tensor => ({ type: 'int8', shape: [], data: Int8Array.of(x) });
const bytes = (shape: readonly number[]): Tensor => ({
  type: 'uint8',
  shape,
  data: Uint8Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 256 * next()),
});
const signed = (shape: readonly number[]): Tensor => ({
  type: 'int8',
  shape,
  data: Int8Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 255 * next() - 127),
});
const int32s = (values: readonly number[]): Tensor => ({
  type: 'int32',
  shape: [values.length],
  data: Int32Array.from(values),
});
const byteSamples = (shapes: Readonly<Record<string, readonly number[]>>) =>
  Array.from({ length: 20 }, () => new Map(Object.entries(shapes).map(([name, shape]) => [name, bytes(shape)])));

function differences(model: OnnxModel, calibration: readonly ReadonlyMap<string, Tensor>[]) {
  const bundle = compileModel(model, { calibration });
  return { bundle, ...bundle.report.calibration.integerDifferences! };
}

const uint8 = (...shape: (number | string)[]): ModelSpec['inputs'][string] => ({ type: 'uint8', shape });

describe('quantised operators', () => {
  test('QLinearConv with zero points, padding and one scale per channel', () => {
    const model = buildModel({
      inputs: { x: uint8('N', 3, 6, 6) },
      outputs: { y: uint8('N', 4, 6, 6) },
      nodes: [
        {
          op: 'QLinearConv',
          inputs: ['x', 'xs', 'xz', 'w', 'ws', 'wz', 'ys', 'yz', 'b'],
          outputs: ['y'],
          attributes: { pads: [1, 1, 1, 1], kernel_shape: [3, 3] },
        },
      ],
      constants: {
        xs: scalar(0.02),
        xz: u8(117),
        w: signed([4, 3, 3, 3]),
        ws: floats([4], (i) => 0.001 * (i + 1)),
        wz: { type: 'int8', shape: [4], data: new Int8Array(4) },
        ys: scalar(0.07),
        yz: u8(130),
        b: int32s([1000, -2000, 30, 0]),
      },
    });
    const { bundle, elements, differing, maxUnits } = differences(model, byteSamples({ x: [1, 3, 6, 6] }));
    expect(elements).toBe(20 * 4 * 36);
    expect(maxUnits).toBeLessThanOrEqual(1);
    expect(differing / elements).toBeLessThan(0.005);
    expect(bundle.graph.tensors[0]).toMatchObject({ range: { lo: -117, hi: 138 }, zeroPoint: 117, scale: 1 });
    const conv = bundle.graph.nodes.find((node) => node.kind === 'conv')!;
    const w = model.initializers.get('w')!.data as Int8Array;
    expect([...(conv as { weight: Int8Array }).weight].sort()).toEqual([...w].sort());
    expect((conv as { bias: Int32Array }).bias).toEqual(Int32Array.of(1000, -2000, 30, 0));
    const info = bundle.graph.tensors[bundle.graph.outputs[0]!]!;
    expect(info).toMatchObject({ scale: 1, zeroPoint: 130, range: { lo: -130, hi: 125 } });
  });

  test('QLinearConv with a weight zero point and two in a row', () => {
    const model = buildModel({
      inputs: { x: uint8('N', 2, 5, 5) },
      outputs: { y: uint8('N', 2, 3, 3) },
      nodes: [
        { op: 'QLinearConv', inputs: ['x', 'xs', 'xz', 'w', 'ws', 'wz', 'hs', 'hz'], outputs: ['h'] },
        { op: 'MaxPool', inputs: ['h'], outputs: ['p'], attributes: { kernel_shape: [2, 2], pads: [0, 0, 1, 1] } },
        { op: 'QLinearConv', inputs: ['p', 'hs', 'hz', 'v', 'ws', 'wz', 'ys', 'yz'], outputs: ['y'] },
      ],
      opset: 17,
      constants: {
        xs: scalar(0.05),
        xz: u8(0),
        w: bytes([3, 2, 1, 1]),
        v: bytes([2, 3, 3, 3]),
        ws: scalar(0.003),
        wz: u8(128),
        hs: scalar(0.03),
        hz: u8(128),
        ys: scalar(0.1),
        yz: u8(120),
      },
    });
    const { elements, differing, maxUnits } = differences(model, byteSamples({ x: [1, 2, 5, 5] }));
    expect(maxUnits).toBeLessThanOrEqual(1);
    expect(differing / elements).toBeLessThan(0.02);
  });

  test.each([
    ['constant', true],
    ['activation', false],
  ])('QLinearMatMul with a %s on the right', (_, constant) => {
    const model = buildModel({
      inputs: constant ? { a: uint8('N', 4, 7) } : { a: uint8('N', 4, 7), b: uint8('N', 7, 5) },
      outputs: { y: uint8('N', 4, 5) },
      nodes: [{ op: 'QLinearMatMul', inputs: ['a', 'as', 'az', 'b', 'bs', 'bz', 'ys', 'yz'], outputs: ['y'] }],
      constants: {
        as: scalar(0.01),
        az: u8(100),
        bs: scalar(0.02),
        bz: u8(140),
        ys: scalar(0.02),
        yz: u8(125),
        ...(constant ? { b: bytes([7, 5]) } : {}),
      },
    });
    const { elements, differing, maxUnits } = differences(
      model,
      byteSamples(constant ? { a: [1, 4, 7] } : { a: [1, 4, 7], b: [1, 7, 5] }),
    );
    expect(elements).toBe(400);
    expect(maxUnits).toBeLessThanOrEqual(1);
    expect(differing / elements).toBeLessThan(0.02);
  });

  test('ConvInteger gives exact integers', () => {
    const model = buildModel({
      inputs: { x: uint8('N', 2, 5, 5) },
      outputs: { y: { type: 'int32', shape: ['N', 3, 5, 5] } },
      nodes: [
        { op: 'ConvInteger', inputs: ['x', 'w', 'xz', 'wz'], outputs: ['y'], attributes: { pads: [1, 1, 1, 1] } },
      ],
      constants: { w: bytes([3, 2, 3, 3]), xz: u8(77), wz: u8(120) },
    });
    expect(differences(model, byteSamples({ x: [1, 2, 5, 5] }))).toMatchObject({
      elements: 20 * 75,
      differing: 0,
      maxUnits: 0,
    });
  });

  test('MatMulInteger, Cast, Mul by the scales and Add fold into one layer', () => {
    const model = buildModel({
      inputs: { x: uint8('N', 9) },
      outputs: { y: ['N', 4] },
      nodes: [
        { op: 'MatMulInteger', inputs: ['x', 'w', 'xz'], outputs: ['i'] },
        { op: 'Cast', inputs: ['i'], outputs: ['f'], attributes: { to: 1 } },
        { op: 'Mul', inputs: ['f', 's'], outputs: ['m'] },
        { op: 'Add', inputs: ['m', 'c'], outputs: ['h'] },
        { op: 'Relu', inputs: ['h'], outputs: ['y'] },
      ],
      constants: {
        w: signed([9, 4]),
        xz: u8(128),
        s: floats([4], (i) => 0.0005 * (i + 1)),
        c: floats([4], () => next() - 0.5),
      },
    });
    const { bundle } = differences(model, byteSamples({ x: [1, 9] }));
    expect(bundle.graph.nodes.map((node) => node.kind)).toEqual(['matmul', 'requant']);
    const width = bundle.graph.tensors[bundle.graph.outputs[0]!]!.scale;
    expect(bundle.report.calibration.maxAbsError).toBeLessThan(width);
    const matmul = bundle.graph.nodes[0]! as { weight: Int8Array };
    expect([...matmul.weight].sort()).toEqual([...(model.initializers.get('w')!.data as Int8Array)].sort());
  });

  test('the QDQ form keeps weights, bias and scales', () => {
    const w = signed([4, 2, 3, 3]);
    const model = buildModel({
      inputs: { x: ['N', 2, 6, 6] },
      outputs: { y: ['N', 4, 4, 4] },
      nodes: [
        { op: 'QuantizeLinear', inputs: ['x', 'xs', 'xz'], outputs: ['xq'] },
        { op: 'DequantizeLinear', inputs: ['xq', 'xs', 'xz'], outputs: ['xd'] },
        { op: 'DequantizeLinear', inputs: ['w', 'ws', 'wz'], outputs: ['wd'], attributes: { axis: 0 } },
        { op: 'DequantizeLinear', inputs: ['b', 'bs'], outputs: ['bd'], attributes: { axis: 0 } },
        { op: 'Conv', inputs: ['xd', 'wd', 'bd'], outputs: ['c'] },
        { op: 'Relu', inputs: ['c'], outputs: ['r'] },
        { op: 'QuantizeLinear', inputs: ['r', 'ys', 'yz'], outputs: ['yq'] },
        { op: 'DequantizeLinear', inputs: ['yq', 'ys', 'yz'], outputs: ['y'] },
      ],
      constants: {
        xs: scalar(0.025),
        xz: i8(-3),
        w,
        ws: floats([4], (i) => 0.002 * (i + 1)),
        wz: { type: 'int8', shape: [4], data: new Int8Array(4) },
        b: int32s([400, -100, 7, 0]),
        bs: floats([4], (i) => Math.fround(0.025) * Math.fround(0.002 * (i + 1))),
        ys: scalar(0.05),
        yz: i8(-128),
      },
    });
    const { bundle, elements, differing, maxUnits } = differences(model, samplesOf({ x: [1, 2, 6, 6] }, 20, random(2)));
    expect(elements).toBe(20 * 64);
    expect(maxUnits).toBeLessThanOrEqual(1);
    expect(differing / elements).toBeLessThan(0.02);
    expect(bundle.graph.nodes.map((node) => node.kind)).toEqual(['conv', 'requant']);
    const conv = bundle.graph.nodes[0]! as { weight: Int8Array; bias: Int32Array };
    expect([...conv.weight].sort()).toEqual([...(w.data as Int8Array)].sort());
    expect(conv.bias).toEqual(Int32Array.of(400, -100, 7, 0));
    expect(bundle.graph.tensors[0]).toMatchObject({ range: { lo: -125, hi: 130 }, zeroPoint: 0 });
    expect(bundle.report.tensors.map(({ calibration }) => calibration)).toEqual([
      'fixed by the model',
      'fixed by the model',
    ]);
  });

  test('an oracle is what integers are counted against', () => {
    const model = buildModel({
      inputs: { x: uint8('N', 3) },
      outputs: { y: ['N', 3] },
      nodes: [{ op: 'DequantizeLinear', inputs: ['x', 's', 'z'], outputs: ['y'] }],
      constants: { s: scalar(0.5), z: u8(10) },
    });
    const calibration = byteSamples({ x: [1, 3] });
    const oracle = (sample: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> =>
      new Map([
        ['y', floats([1, 3], (i) => 0.5 * ((sample.get('x')!.data as Uint8Array)[i]! - 10) + (i === 1 ? 1 : 0))],
      ]);
    const { report, ...bundle } = compileModel(model, { calibration, oracle });
    expect(report.calibration.integerDifferences).toEqual({ elements: 60, differing: 20, maxUnits: 2 });
    expect(runBundle({ report, ...bundle }, calibration[0]!).get('y')!.type).toBe('float32');
  });
});
