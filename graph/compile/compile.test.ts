import { describe, expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { evaluateGraph } from '../integer/evaluate.js';
import type { OnnxModel } from '../onnx/model.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import type { CompileOptions, CompileProgress } from './options.js';
import { compare, runBundle } from './testing/compare.js';
import {
  buildModel,
  floats,
  gridSamples,
  int64s,
  random,
  randomFloats,
  samplesOf,
  type NodeSpec,
} from './testing/models.js';

const next = random(99);
const weights = (...shape: number[]): Tensor => randomFloats(shape, next, 0.4);

function refusal(action: () => unknown): AssayError {
  try {
    action();
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** A residual block between two convolutions, BatchNormalization everywhere, a classifier behind. */
function residualModel(): OnnxModel {
  const norm = (x: string, y: string): NodeSpec => ({
    op: 'BatchNormalization',
    inputs: [x, 'g', 'b', 'm', 'v'],
    outputs: [y],
  });
  const pads = { pads: [1, 1, 1, 1] };
  return buildModel({
    inputs: { x: ['N', 2, 8, 8] },
    outputs: { y: ['N', 5] },
    nodes: [
      { op: 'Conv', inputs: ['x', 'w0'], outputs: ['c0'], attributes: pads },
      norm('c0', 'n0'),
      { op: 'Relu', inputs: ['n0'], outputs: ['r0'] },
      { op: 'Conv', inputs: ['r0', 'w1'], outputs: ['c1'], attributes: { ...pads, group: 4 } },
      norm('c1', 'n1'),
      { op: 'Add', inputs: ['n1', 'r0'], outputs: ['a'] },
      { op: 'Relu', inputs: ['a'], outputs: ['r1'] },
      { op: 'GlobalAveragePool', inputs: ['r1'], outputs: ['p'] },
      { op: 'Flatten', inputs: ['p'], outputs: ['f'] },
      { op: 'Gemm', inputs: ['f', 'w2', 'b2'], outputs: ['y'], attributes: { transB: 1 } },
    ],
    constants: {
      w0: weights(4, 2, 3, 3),
      w1: weights(4, 1, 3, 3),
      w2: weights(5, 4),
      b2: weights(5),
      g: floats([4], () => 0.5 + next()),
      b: weights(4),
      m: weights(4),
      v: floats([4], () => 0.5 + next()),
    },
  });
}

describe('a residual network', () => {
  const options: CompileOptions = {
    calibration: samplesOf({ x: [1, 2, 8, 8] }, 30, random(1)),
    heldOut: samplesOf({ x: [1, 2, 8, 8] }, 30, random(2)),
  };
  const model = residualModel();
  const bundle = compileModel(model, options);

  test('BatchNormalization is folded, Add and Relu are one requantisation, the last layer publishes accumulators', () => {
    expect(bundle.graph.nodes.map((node) => node.kind)).toEqual([
      'conv',
      'requant',
      'conv',
      'requant',
      'combine',
      'requant',
      'reduceSum',
      'requant',
      'reshape',
      'matmul',
    ]);
    const lowered = new Map(bundle.report.nodes.map(({ node, loweredTo }) => [node, loweredTo]));
    expect(lowered.get('BatchNormalization_1')).toBe('folded into the layer before it');
    expect(lowered.size).toBe(10);
  });

  test('agrees with the float model', () => {
    const { calibration, heldOut } = bundle.report;
    expect(calibration.samples).toBe(30);
    expect(calibration.labelAgreement).toBeGreaterThanOrEqual(0.9);
    expect(heldOut!.labelAgreement).toBeGreaterThanOrEqual(0.9);
    expect(heldOut!.meanAbsError).toBeLessThan(0.02);
  });

  test('the report counts parameters, work, tables and accumulators', () => {
    const { parameters, macs, tableRows, largestAccumulator, tensors } = bundle.report;
    expect(parameters).toBe(4 * 18 + 4 + 4 * 9 + 4 + 5 * 4 + 5);
    expect(macs).toBe(64 * 4 * 18 + 64 * 4 * 9 + 5 * 4);
    expect(tableRows.map(({ tensor }) => tensor)).toEqual(
      bundle.graph.nodes.filter((n) => n.kind === 'requant').map((n) => bundle.graph.tensors[n.output]!.name),
    );
    expect(largestAccumulator.magnitude).toBeGreaterThan(1000);
    expect(tensors[0]).toMatchObject({ tensor: 'x', lo: -128, hi: 127 });
    expect(tensors.every(({ saturationShare }) => saturationShare >= 0 && saturationShare < 0.05)).toBe(true);
  });

  test('is deterministic and changes nothing that it was given', () => {
    const before = JSON.stringify(
      [...model.initializers].map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
    );
    const again = compileModel(model, options);
    expect(again.digest).toBe(bundle.digest);
    expect(again.report).toEqual(bundle.report);
    expect(
      JSON.stringify([...model.initializers].map(([name, { data }]) => [name, Array.from(data as Float32Array)])),
    ).toBe(before);
  });

  test('ports are batched, and several items give what each gives alone', () => {
    expect(bundle.inputs).toEqual([{ name: 'x', type: 'float32', shape: [1, 2, 8, 8], batched: true }]);
    expect(bundle.outputs).toEqual([{ name: 'y', type: 'float32', shape: [1, 5], batched: true }]);
    const samples = options.calibration.slice(0, 3);
    const joined = Float32Array.from(samples.flatMap((sample) => Array.from(sample.get('x')!.data as Float32Array)));
    const together = runBundle(bundle, new Map([['x', { type: 'float32', shape: [3, 2, 8, 8], data: joined }]])).get(
      'y',
    )!;
    const alone = samples.flatMap((sample) => Array.from(runBundle(bundle, sample).get('y')!.data as Float32Array));
    expect(Array.from(together.data as Float32Array)).toEqual(alone);
  });

  test('inputs far outside the calibrated range saturate, and every tensor keeps its proved range', () => {
    for (const extreme of [1e30, -1e30]) {
      const sample = new Map([['x', floats([1, 2, 8, 8], (i) => (i % 3 === 0 ? -extreme : extreme))]]);
      expect((runBundle(bundle, sample).get('y')!.data as Float32Array).every(Number.isFinite)).toBe(true);
    }
    for (const pattern of [() => 127, () => -128, (i: number) => (i % 2 === 0 ? 127 : -128)]) {
      const values = evaluateGraph(bundle.graph, [Int32Array.from({ length: 128 }, (_, i) => pattern(i))], 1);
      bundle.graph.tensors.forEach(({ range }, id) => {
        for (const v of values[id]!)
          if (v < range.lo || v > range.hi) throw new Error(`tensor ${id}: ${v} outside ${range.lo}..${range.hi}`);
      });
    }
  });

  test('every step reports its progress', () => {
    const seen: CompileProgress[] = [];
    compileModel(model, { ...options, onProgress: (progress) => seen.push(progress) });
    expect([...new Set(seen.map(({ step }) => step))]).toEqual(['prepare', 'calibrate', 'lower', 'compare']);
    for (const step of ['prepare', 'calibrate', 'lower', 'compare'] as const) {
      const last = seen.filter((progress) => progress.step === step).at(-1)!;
      expect(last.done).toBe(last.total);
    }
  });

  test('fewer bits cost accuracy', () => {
    const coarse = compileModel(model, { ...options, weightBits: 4, activationBits: 4 });
    expect(coarse.report.calibration.meanAbsError).toBeGreaterThan(2 * bundle.report.calibration.meanAbsError);
  });

  test.each(['max', 'percentile', 'mse'] as const)(
    "calibration method '%s' is what the report says",
    (calibrationMethod) => {
      const { report } = compileModel(model, { ...options, calibrationMethod });
      for (const { calibration } of report.tensors) expect(calibration).toContain(calibrationMethod);
      expect(report.calibration.meanAbsError).toBeLessThan(0.1);
    },
  );
});

describe('accumulators', () => {
  /** Weights are 127 and inputs reach 255: every term may be 32,385. */
  const dense = (k: number): [OnnxModel, CompileOptions] => [
    buildModel({
      inputs: { x: ['N', k] },
      outputs: { y: ['N', 2] },
      nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'], name: 'dense' }],
      constants: { w: floats([k, 2], () => 1) },
    }),
    { calibration: [new Map([['x', floats([1, k], (i) => i / k)]])], calibrationMethod: 'max' },
  ];
  const most = Math.floor((2 ** 24 - 1) / (127 * 255));

  test('the largest K that float32 bears compiles, one more is refused', () => {
    const [fits, options] = dense(most);
    const bundle = compileModel(fits, { ...options, accumulator: 'float32' });
    expect(bundle.report.largestAccumulator.magnitude).toBe(most * 127 * 255);
    const [tooLarge, more] = dense(most + 1);
    const error = refusal(() => compileModel(tooLarge, { ...more, accumulator: 'float32' }));
    expect(error.code).toBe('BOUND_EXCEEDED');
    expect(error.message).toContain("node 'dense'");
    expect(error.meta).toMatchObject({ node: 'dense', bound: (most + 1) * 127 * 255, limit: 2 ** 24, k: most + 1 });
  });

  test('split accumulators may pass 2^24', () => {
    const [model, options] = dense(most + 1);
    expect(compileModel(model, options).report.largestAccumulator.magnitude).toBeGreaterThan(2 ** 24);
  });

  test('a sum that would overflow the next layer is requantised, a smaller one is not', () => {
    const pooled = (channels: number): OnnxModel =>
      buildModel({
        inputs: { x: ['N', channels, 2, 2] },
        outputs: { y: ['N', 1, 1, 1] },
        nodes: [
          { op: 'AveragePool', inputs: ['x'], outputs: ['p'], attributes: { kernel_shape: [2, 2] } },
          { op: 'Conv', inputs: ['p', 'w'], outputs: ['y'] },
        ],
        constants: { w: floats([1, channels, 1, 1], () => 1) },
      });
    const kinds = (channels: number): string[] =>
      compileModel(pooled(channels), {
        calibration: [new Map([['x', floats([1, channels, 2, 2], () => next())]])],
        accumulator: 'float32',
      }).graph.nodes.map((n) => n.kind);
    expect(kinds(100)).toEqual(['sumPool', 'conv']);
    expect(kinds(200)).toEqual(['sumPool', 'requant', 'conv']);
  });

  test('an accumulator that is an output and is read keeps both', () => {
    const model = buildModel({
      inputs: { x: ['N', 8] },
      outputs: { z: ['N', 4], y: ['N', 4], t: ['N', 4] },
      nodes: [
        { op: 'Gemm', inputs: ['x', 'w'], outputs: ['z'] },
        { op: 'Softmax', inputs: ['z'], outputs: ['y'] },
        { op: 'Mul', inputs: ['z', 'two'], outputs: ['t'] },
      ],
      constants: { w: weights(8, 4), two: floats([], () => 2) },
    });
    const { worst, bundle } = compare(model, {
      calibration: gridSamples({ x: [1, 8] }, 10, random(4)),
      calibrationMethod: 'max',
    });
    expect(worst).toBeLessThan(3);
    expect(bundle.outputs.map(({ name }) => name)).toEqual(['z', 'y', 't']);
  });

  test('channels with very small weights and a large bias keep precise multipliers', () => {
    const model = buildModel({
      inputs: { x: ['N', 6] },
      outputs: { y: ['N', 3] },
      nodes: [
        { op: 'Gemm', inputs: ['x', 'w', 'c'], outputs: ['h'], attributes: { transB: 1 } },
        { op: 'Relu', inputs: ['h'], outputs: ['r'] },
        { op: 'Gemm', inputs: ['r', 'v'], outputs: ['y'] },
      ],
      constants: {
        w: floats([3, 6], (i) => (i < 6 ? 1e-9 * next() : i < 12 ? 0 : next())),
        c: floats([3], (i) => [2, 0.5, 0.1][i]!),
        v: weights(3, 3),
      },
    });
    const { bundle, worst } = compare(model, { calibration: gridSamples({ x: [1, 6] }, 10, random(5)) });
    expect(worst).toBeLessThan(3);
    for (const node of bundle.graph.nodes)
      if (node.kind === 'requant') expect(Math.min(...node.multipliers)).toBeGreaterThanOrEqual(2 ** 9);
    expect(bundle.report.warnings).toEqual([]);
  });
});

describe('refusals', () => {
  const one = (constants: Record<string, Tensor>, nodes: readonly NodeSpec[]): OnnxModel =>
    buildModel({ inputs: { x: ['N', 2, 4, 4] }, outputs: { y: ['N', 2, 4, 4] }, nodes, constants });
  const samples = samplesOf({ x: [1, 2, 4, 4] }, 2, random(6));
  const relu = one({}, [{ op: 'Relu', inputs: ['x'], outputs: ['y'] }]);

  test('every node that cannot be lowered stands in one error', () => {
    const model = one(
      {
        unit: floats([4], () => 1),
        slope: weights(2, 1, 1),
        p: int64s([0, 0, 1, 1, 0, 0, 1, 1]),
        q: int64s([0, 0, -1, -1, 0, 0, -1, -1]),
      },
      [
        { op: 'PRelu', inputs: ['x', 'slope'], outputs: ['a'], name: 'prelu' },
        { op: 'Pad', inputs: ['a', 'p'], outputs: ['b'], attributes: { mode: 'reflect' }, name: 'reflection' },
        { op: 'Relu', inputs: ['b'], outputs: ['c'], name: 'fine' },
        { op: 'Pad', inputs: ['c', 'q'], outputs: ['d'], name: 'crop' },
        { op: 'LayerNormalization', inputs: ['d', 'unit'], outputs: ['y'], name: 'norm' },
      ],
    );
    const error = refusal(() => compileModel(model, { calibration: samples }));
    expect(error.code).toBe('UNSUPPORTED_NODES');
    const nodes = error.meta['nodes'] as { node: string; reason: string; mend: string }[];
    expect(nodes.map(({ node }) => node)).toEqual(['prelu', 'reflection', 'crop', 'norm']);
    for (const { node, reason, mend } of nodes) {
      expect(error.message).toContain(`'${node}'`);
      expect(reason.length * mend.length).toBeGreaterThan(0);
    }
  });

  test('unknown operators and DynamicQuantizeLinear stand in the same list, with the reason', () => {
    const model = buildModel({
      inputs: { x: ['N', 4] },
      outputs: { y: ['N', 4] },
      nodes: [
        { op: 'DynamicQuantizeLinear', inputs: ['x'], outputs: ['q', 's', 'z'], name: 'dynamic' },
        { op: 'Frobnicate', inputs: ['q'], outputs: ['f'], name: 'unknown' },
        { op: 'DequantizeLinear', inputs: ['f', 's', 'z'], outputs: ['y'], name: 'back' },
      ],
    });
    const error = refusal(() => compileModel(model, { calibration: samplesOf({ x: [1, 4] }, 1, random(1)) }));
    expect(error.code).toBe('UNSUPPORTED_NODES');
    const nodes = error.meta['nodes'] as { node: string; reason: string }[];
    expect(nodes.map(({ node }) => node).sort()).toEqual(['dynamic', 'unknown']);
    expect(nodes.find(({ node }) => node === 'dynamic')!.reason).toContain('computed from each input');
  });

  test.each([NaN, Infinity, -Infinity])('a weight of %s is refused by name', (bad) => {
    const w = weights(2, 2, 1, 1) as Tensor<'float32'>;
    w.data[3] = bad;
    const model = one({ w }, [{ op: 'Conv', inputs: ['x', 'w'], outputs: ['y'], name: 'layer' }]);
    const error = refusal(() => compileModel(model, { calibration: samples }));
    expect(error.code).toBe('CONSTANT_NOT_FINITE');
    expect(error.meta).toEqual({ tensor: 'w', node: 'layer', element: 3 });
  });

  test('an infinite bound of Clip is not a fault', () => {
    const model = one({ lo: floats([], () => 0), hi: floats([], () => Infinity) }, [
      { op: 'Clip', inputs: ['x', 'lo', 'hi'], outputs: ['y'] },
    ]);
    expect(compileModel(model, { calibration: samples }).graph.nodes.map((n) => n.kind)).toEqual(['requant']);
  });

  test.each<[string, CompileOptions['calibration'], string]>([
    ['no samples', [], 'none were given'],
    ['a missing input', [new Map()], "input 'x': missing"],
    ['a surplus input', [new Map([...samples[0]!, ['z', floats([1], () => 0)]])], "no input 'z'"],
    [
      'a wrong shape',
      [new Map([['x', floats([1, 2, 4, 5], () => 0)]])],
      'found float32 [1, 2, 4, 5], expected float32 [1, 2, 4, 4]',
    ],
    ['a batch of two', [new Map([['x', floats([2, 2, 4, 4], () => 0)]])], 'expected float32 [1, 2, 4, 4]'],
    [
      'a wrong type',
      [new Map([['x', { type: 'float64', shape: [1, 2, 4, 4], data: new Float64Array(32) }]])],
      'found float64',
    ],
    ['NaN', [new Map([['x', floats([1, 2, 4, 4], (i) => (i === 7 ? NaN : 0))]])], 'element 7 is NaN'],
    ['infinity', [samples[0]!, new Map([['x', floats([1, 2, 4, 4], () => -Infinity)]])], 'sample 1'],
  ])('calibration with %s is refused', (_, calibration, part) => {
    const error = refusal(() => compileModel(relu, { calibration }));
    expect(error.code).toBe('CALIBRATION_INVALID');
    expect(error.message).toContain(part);
  });

  test('held-out samples are checked too', () => {
    const error = refusal(() => compileModel(relu, { calibration: samples, heldOut: [new Map()] }));
    expect(error.code).toBe('CALIBRATION_INVALID');
    expect(error.message).toContain('held-out sample 0');
  });

  test('a value that becomes infinite during calibration is named', () => {
    const model = one({}, [{ op: 'Log', inputs: ['x'], outputs: ['y'] }]);
    const error = refusal(() => compileModel(model, { calibration: samples }));
    expect(error.code).toBe('CALIBRATION_INVALID');
    expect(error.meta).toMatchObject({ tensor: 'y', sample: 0 });
  });

  test.each([{ weightBits: 1 }, { weightBits: 9 }, { activationBits: 2.5 }])('%o is refused', (bits) => {
    expect(refusal(() => compileModel(relu, { calibration: samples, ...bits })).code).toBe('COMPILE_OPTION_INVALID');
  });
});

describe('ports', () => {
  test('a model without a batch has whole-shape items', () => {
    const model = buildModel({
      inputs: { x: [3, 4] },
      outputs: { y: [3, 4] },
      nodes: [{ op: 'Relu', inputs: ['x'], outputs: ['y'] }],
    });
    const bundle = compileModel(model, { calibration: samplesOf({ x: [3, 4] }, 3, random(8)) });
    expect([...bundle.inputs, ...bundle.outputs].map(({ batched, shape }) => [batched, shape])).toEqual([
      [false, [3, 4]],
      [false, [3, 4]],
    ]);
  });

  test('bytes keep their values', () => {
    const model = buildModel({
      inputs: { x: { type: 'uint8', shape: ['N', 6] } },
      outputs: { y: ['N', 3] },
      nodes: [
        { op: 'Cast', inputs: ['x'], outputs: ['f'], attributes: { to: 1 } },
        { op: 'Gemm', inputs: ['f', 'w'], outputs: ['y'] },
      ],
      constants: { w: weights(6, 3) },
    });
    const calibration = Array.from(
      { length: 5 },
      () =>
        new Map<string, Tensor>([
          ['x', { type: 'uint8', shape: [1, 6], data: Uint8Array.from({ length: 6 }, () => 256 * next()) }],
        ]),
    );
    const { bundle, worst } = compare(model, { calibration });
    expect(bundle.graph.tensors[0]).toMatchObject({ scale: 1, zeroPoint: 0, range: { lo: 0, hi: 255 } });
    expect(worst).toBeLessThan(2);
  });

  test('an output that is an input, and an output given twice, become wiring', () => {
    const model = buildModel({
      inputs: { x: ['N', 4] },
      outputs: { y: ['N', 4], z: ['N', 2, 2] },
      nodes: [
        { op: 'Identity', inputs: ['x'], outputs: ['y'] },
        { op: 'Reshape', inputs: ['x', 's'], outputs: ['z'] },
      ],
      constants: { s: int64s([0, 2, 2]) },
    });
    const { bundle, worst } = compare(model, {
      calibration: gridSamples({ x: [1, 4] }, 5, random(3)),
      calibrationMethod: 'max',
    });
    expect(worst).toBeLessThan(0.51);
    expect(bundle.graph.nodes.every((node) => node.kind === 'reshape')).toBe(true);
  });
});

describe('ArgMax', () => {
  const model = (op: string, keepdims: number): OnnxModel =>
    buildModel({
      inputs: { x: ['N', 8] },
      outputs: { y: { type: 'int64', shape: keepdims === 1 ? ['N', 1] : ['N'] } },
      nodes: [
        { op: 'Gemm', inputs: ['x', 'w'], outputs: ['h'] },
        { op, inputs: ['h'], outputs: ['y'], attributes: { axis: 1, keepdims } },
      ],
      constants: { w: weights(8, 6) },
    });

  test.each([
    ['ArgMax', 0],
    ['ArgMax', 1],
    ['ArgMin', 1],
  ] as const)('%s with keepdims %i gives the label', (op, keepdims) => {
    const calibration = gridSamples({ x: [1, 8] }, 40, random(21));
    const bundle = compileModel(model(op, keepdims), { calibration, calibrationMethod: 'max' });
    expect(bundle.outputs[0]).toMatchObject({ type: 'int64', shape: keepdims === 1 ? [1, 1] : [1] });
    expect(bundle.report.calibration.maxAbsError).toBeLessThanOrEqual(5);
    expect(bundle.report.calibration.meanAbsError).toBeLessThan(0.15);
    if (op === 'ArgMax')
      expect(bundle.report.warnings.some((warning) => warning.includes('ties go to the first index'))).toBe(true);
  });

  test('ties go to the smallest index', () => {
    const tie = buildModel({
      inputs: { x: ['N', 4] },
      outputs: { y: { type: 'int64', shape: ['N', 1] } },
      nodes: [{ op: 'ArgMax', inputs: ['x'], outputs: ['y'], attributes: { axis: -1 } }],
    });
    const sample = new Map([['x', floats([1, 4], (i) => [0, 1, 1, 0.5][i]!)]]);
    const bundle = compileModel(tie, { calibration: [sample] });
    expect(Array.from(runBundle(bundle, sample).get('y')!.data as BigInt64Array)).toEqual([1n]);
  });
});
