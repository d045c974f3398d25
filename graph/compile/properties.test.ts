/** Random networks: the integer graph stays near the float model, in range, and deterministic. Seeds are printed by fast-check. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluateGraph } from '../integer/evaluate.js';
import type { OnnxModel } from '../onnx/model.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import { compare } from './testing/compare.js';
import { buildModel, floats, random, randomFloats, samplesOf, type NodeSpec } from './testing/models.js';

const ACTIVATIONS = ['Relu', 'LeakyRelu', 'Sigmoid', 'Tanh', 'HardSwish', 'Elu', 'Softplus', ''] as const;

interface Layer {
  readonly kind: 'conv' | 'depthwise' | 'batchNorm' | 'average' | 'max' | 'residual' | 'concat';
  readonly activation: (typeof ACTIVATIONS)[number];
  readonly channels: number;
}

const layer: fc.Arbitrary<Layer> = fc.record({
  kind: fc.constantFrom('conv', 'depthwise', 'batchNorm', 'average', 'max', 'residual', 'concat'),
  activation: fc.constantFrom(...ACTIVATIONS),
  channels: fc.integer({ min: 1, max: 5 }),
});

/** A chain of layers over [N, 2, 8, 8], then a classifier. */
function network(layers: readonly Layer[], seed: number): OnnxModel {
  const next = random(seed);
  const nodes: NodeSpec[] = [];
  const constants: Record<string, Tensor> = {};
  let count = 0;
  const fresh = (): string => `t${count++}`;
  const constant = (tensor: Tensor): string => {
    const name = `k${count++}`;
    constants[name] = tensor;
    return name;
  };
  const add = (op: string, inputs: readonly string[], attributes: NodeSpec['attributes'] = {}): string => {
    const output = fresh();
    nodes.push({ op, inputs, outputs: [output], attributes });
    return output;
  };
  const same = { pads: [1, 1, 1, 1], kernel_shape: [3, 3] };
  const conv = (x: string, from: number, to: number, group = 1): string =>
    add(
      'Conv',
      [
        x,
        constant(randomFloats([to, from / group, 3, 3], next, 0.5 / Math.sqrt(from / group))),
        constant(randomFloats([to], next, 0.2)),
      ],
      { ...same, group },
    );
  let x = 'x';
  let channels = 2;
  let side = 8;
  for (const { kind, activation, channels: wanted } of layers) {
    if (kind === 'conv') {
      x = conv(x, channels, wanted);
      channels = wanted;
    } else if (kind === 'depthwise') x = conv(x, channels, channels, channels);
    else if (kind === 'batchNorm') {
      const c = channels;
      const p = [
        randomFloats([c], next, 0.4),
        randomFloats([c], next, 0.2),
        randomFloats([c], next, 0.2),
        floats([c], () => 0.5 + next()),
      ];
      x = add('BatchNormalization', [x, ...p.map(constant)]);
    } else if ((kind === 'average' || kind === 'max') && side > 1) {
      x = add(kind === 'max' ? 'MaxPool' : 'AveragePool', [x], { kernel_shape: [2, 2], strides: [2, 2] });
      side /= 2;
    } else if (kind === 'residual') x = add('Add', [conv(x, channels, channels), x]);
    else if (kind === 'concat' && channels <= 6) {
      x = add('Concat', [x, add('Relu', [conv(x, channels, wanted)])], { axis: 1 });
      channels += wanted;
    }
    if (activation !== '') x = add(activation, [x]);
  }
  const flat = add('Flatten', [x]);
  const width = channels * side * side;
  nodes.push({
    op: 'Gemm',
    inputs: [flat, constant(randomFloats([width, 4], next, 1 / Math.sqrt(width)))],
    outputs: ['y'],
  });
  return buildModel({ inputs: { x: ['N', 2, 8, 8] }, outputs: { y: ['N', 4] }, nodes, constants });
}

describe('random convolutional networks', () => {
  const calibration = samplesOf({ x: [1, 2, 8, 8] }, 6, random(77));

  test('agree with the float model within 20 255ths of the output width', () => {
    fc.assert(
      fc.property(fc.array(layer, { minLength: 1, maxLength: 6 }), fc.integer(), (layers, seed) => {
        const { bundle, worst } = compare(network(layers, seed), { calibration });
        expect(worst).toBeLessThan(20);
        expect(bundle.report.calibration.samples).toBe(6);
      }),
      { numRuns: 40 },
    );
  });

  test('keep every tensor in its proved range at extreme inputs, and compile to the same digest twice', () => {
    fc.assert(
      fc.property(fc.array(layer, { minLength: 1, maxLength: 4 }), fc.integer(), (layers, seed) => {
        const model = network(layers, seed);
        const options = { calibration: calibration.slice(0, 2) };
        const bundle = compileModel(model, options);
        expect(compileModel(model, options).digest).toBe(bundle.digest);
        const { lo, hi } = bundle.graph.tensors[bundle.graph.inputs[0]!]!.range;
        const next = random(seed);
        for (const input of [() => lo, () => hi, () => (next() < 0.5 ? lo : hi)]) {
          const values = evaluateGraph(bundle.graph, [Int32Array.from({ length: 128 }, input)], 1);
          bundle.graph.tensors.forEach(({ name, range }, id) => {
            for (const v of values[id]!)
              if (v < range.lo || v > range.hi) throw new Error(`${name}: ${v} outside ${range.lo}..${range.hi}`);
          });
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('random perceptrons', () => {
  test('agree with the float model', () => {
    const widths = fc.array(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        widths,
        fc.constantFrom(...ACTIVATIONS),
        fc.integer(),
        fc.boolean(),
        (hidden, activation, seed, softmax) => {
          const next = random(seed);
          const constants: Record<string, Tensor> = {};
          const nodes: NodeSpec[] = [];
          let x = 'x';
          let width = 10;
          [...hidden, 3].forEach((to, i, all) => {
            constants[`w${i}`] = randomFloats([width, to], next, 1 / Math.sqrt(width));
            constants[`c${i}`] = randomFloats([to], next, 0.3);
            const last = i === all.length - 1;
            nodes.push({ op: 'MatMul', inputs: [x, `w${i}`], outputs: [`m${i}`] });
            nodes.push({ op: 'Add', inputs: [`m${i}`, `c${i}`], outputs: [last && !softmax ? 'y' : `h${i}`] });
            if (last && softmax) nodes.push({ op: 'Softmax', inputs: [`h${i}`], outputs: ['y'] });
            if (!last && activation !== '') nodes.push({ op: activation, inputs: [`h${i}`], outputs: [`a${i}`] });
            x = !last && activation !== '' ? `a${i}` : `h${i}`;
            width = to;
          });
          const model = buildModel({ inputs: { x: ['N', 10] }, outputs: { y: ['N', 3] }, nodes, constants });
          const { bundle, worst } = compare(model, { calibration: samplesOf({ x: [1, 10] }, 20, random(3)) });
          expect(worst).toBeLessThan(20);
          expect(bundle.graph.nodes.filter((node) => node.kind === 'matmul')).toHaveLength(hidden.length + 1);
        },
      ),
      { numRuns: 40 },
    );
  });
});
