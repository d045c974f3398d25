/** Random equivalence of the float reference with onnxruntime's CPU kernels, operator by operator. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ElementType, Tensor } from '../tensor.js';
import { evaluateModel } from './evaluate-model.js';
import type { AttributeValue } from './model.js';
import { prepareModel } from './prepare-model.js';
import { inferModel } from './infer-model.js';
import { difference } from './testing/differences.js';
import { constant, input, oneNodeModel, runModel } from './testing/one-node.js';
import type { OneNode } from './testing/one-node.js';
import { generator, int64s, randomTensor } from './testing/random.js';

const TOLERANCE = { relative: 1e-4, absolute: 1e-5 };
const RUNS = 50;

type Case = Omit<OneNode, 'outputs'> & { readonly outputCount?: number };

/** Both evaluate one node on the same data; the reference's own inference says the output's shape. */
async function agree(spec: Case): Promise<void> {
  const guess = { type: 'float32' as const, shape: [] };
  const outputs = Array.from({ length: spec.outputCount ?? 1 }, () => guess);
  const draft = oneNodeModel({ ...spec, outputs });
  const inference = inferModel(draft.model, draft.model.inputs as never);
  if (inference.fault !== null) throw inference.fault;
  const facts = draft.model.outputs.map(({ name }) => inference.values.get(name)!);
  const { model, feeds } = oneNodeModel({ ...spec, outputs: facts });
  const expected = await runModel(model, feeds);
  const found = evaluateModel(prepareModel(model), feeds);
  for (const { name } of model.outputs) {
    const text = difference(found.get(name)!, expected.get(name)!, TOLERANCE);
    if (text !== null) throw new Error(`${spec.op} ${JSON.stringify(spec.attributes)} ${text}`);
  }
}

function holds<T>(
  arbitrary: fc.Arbitrary<T>,
  makeCase: (value: T, next: () => number) => Case,
  numRuns = RUNS,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(arbitrary, fc.integer(), async (value, seed) => agree(makeCase(value, generator(seed)))),
    { numRuns },
  );
}

const smallIntegers = (next: () => number, sides: readonly number[]): Tensor => {
  const { shape: own, data } = randomTensor(next, 'float32', sides, 1000);
  return { type: 'int32', shape: own, data: Int32Array.from(data as Float32Array) };
};

const small = fc.integer({ min: 1, max: 4 });
const shape = (minRank: number, maxRank: number): fc.Arbitrary<number[]> =>
  fc.array(small, { minLength: minRank, maxLength: maxRank });

/** A window over one or two axes that always fits its input. */
const windows = fc.record({
  axes: fc.constantFrom(1, 2),
  batch: fc.integer({ min: 1, max: 2 }),
  sides: fc.tuple(fc.integer({ min: 5, max: 9 }), fc.integer({ min: 5, max: 9 })),
  kernel: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
  strides: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
  dilations: fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 2 })),
  pads: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 4, maxLength: 4 }),
  autoPad: fc.constantFrom('NOTSET', 'NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
  flag: fc.boolean(),
  ceil: fc.boolean(),
  channels: small,
  groups: fc.constantFrom(1, 1, 2, 3),
  perGroup: fc.integer({ min: 1, max: 3 }),
});
type Window = typeof windows extends fc.Arbitrary<infer T> ? T : never;

/** @param kernelPads pooling wants pads smaller than the kernel. */
function windowAttributes(window: Window, kernelPads: boolean): Record<string, AttributeValue> {
  const take = <T>(pair: readonly T[]): T[] => pair.slice(0, window.axes);
  const kernel = take(window.kernel);
  // onnxruntime's SAME padding with dilation differs between versions; the standard's formula is tested by vectors.
  const dilations = window.autoPad.startsWith('SAME') ? kernel.map(() => 1) : take(window.dilations);
  const pad = (start: number): number[] =>
    window.pads
      .slice(start, start + window.axes)
      .map((value, axis) => (kernelPads ? Math.min(value, kernel[axis]! - 1) : value));
  return {
    kernel_shape: kernel,
    // onnxruntime pools with negative SAME padding where a stride exceeds the kernel; the standard's origin clamps it.
    strides: take(window.strides).map((stride, axis) =>
      kernelPads && window.autoPad.startsWith('SAME') ? Math.min(stride, kernel[axis]!) : stride,
    ),
    dilations,
    ...(window.autoPad === 'NOTSET' ? { pads: [...pad(0), ...pad(2)] } : { auto_pad: window.autoPad }),
  };
}

describe('windows', () => {
  it('Conv', () =>
    holds(
      windows,
      (window, next) => {
        const channels = window.channels * window.groups;
        const out = window.perGroup * window.groups;
        const x = randomTensor(next, 'float32', [window.batch, channels, ...window.sides.slice(0, window.axes)]);
        const w = randomTensor(next, 'float32', [out, window.channels, ...window.kernel.slice(0, window.axes)]);
        return {
          op: 'Conv',
          opset: 17,
          operands: [input(x), constant(w), window.flag ? constant(randomTensor(next, 'float32', [out])) : null],
          attributes: { ...windowAttributes(window, false), group: window.groups },
        };
      },
      100,
    ));

  it('MaxPool with indices', () =>
    holds(
      windows,
      (window, next) => ({
        op: 'MaxPool',
        opset: 17,
        operands: [
          input(randomTensor(next, 'float32', [window.batch, window.channels, ...window.sides.slice(0, window.axes)])),
        ],
        attributes: {
          ...windowAttributes(window, true),
          ceil_mode: window.ceil ? 1 : 0,
          storage_order: window.axes === 2 && window.flag ? 1 : 0,
        },
        outputCount: 2,
      }),
      100,
    ));

  it('AveragePool', () =>
    holds(
      windows,
      (window, next) => ({
        op: 'AveragePool',
        opset: 19,
        operands: [
          input(randomTensor(next, 'float32', [window.batch, window.channels, ...window.sides.slice(0, window.axes)])),
        ],
        attributes: {
          ...windowAttributes(window, true),
          ceil_mode: window.ceil ? 1 : 0,
          count_include_pad: window.flag ? 1 : 0,
        },
      }),
      100,
    ));

  it.each([
    ['uint8', 'uint8'],
    ['uint8', 'int8'],
    ['int8', 'int8'],
  ] as const)('QLinearConv of %s by %s', (xType, wType) =>
    holds(windows, (window, next) => {
      const channels = window.channels * window.groups;
      const out = window.perGroup * window.groups;
      const scalar = (type: ElementType): Tensor => randomTensor(next, type, []);
      // onnxruntime asks for a weight zero point of 0 where weights are int8.
      const wZero =
        wType === 'int8' ? ({ type: 'int8', shape: [], data: Int8Array.of(0) } satisfies Tensor) : scalar(wType);
      const scale = (shapeOfScale: number[], size: number): Tensor => ({
        type: 'float32',
        shape: shapeOfScale,
        data: Float32Array.from({ length: size }, () => 0.001 + next() * 0.05),
      });
      const bias = {
        type: 'int32',
        shape: [out],
        data: Int32Array.from({ length: out }, () => Math.floor(next() * 4000) - 2000),
      } as const;
      return {
        op: 'QLinearConv',
        opset: 17,
        operands: [
          input(randomTensor(next, xType, [window.batch, channels, ...window.sides.slice(0, window.axes)])),
          constant(scale([], 1)),
          constant(scalar(xType)),
          constant(randomTensor(next, wType, [out, window.channels, ...window.kernel.slice(0, window.axes)])),
          constant(window.ceil && wType === 'int8' ? scale([out], out) : scale([], 1)),
          constant(window.ceil && wType === 'int8' ? { type: 'int8', shape: [out], data: new Int8Array(out) } : wZero),
          constant(scale([], 1)),
          constant(scalar(xType)),
          window.flag ? constant(bias) : null,
        ],
        attributes: { ...windowAttributes(window, false), group: window.groups },
      };
    }),
  );

  it('ConvInteger', () =>
    holds(windows, (window, next) => ({
      op: 'ConvInteger',
      opset: 17,
      operands: [
        input(randomTensor(next, 'uint8', [window.batch, window.channels, ...window.sides.slice(0, window.axes)])),
        constant(
          randomTensor(next, 'uint8', [window.perGroup, window.channels, ...window.kernel.slice(0, window.axes)]),
        ),
        constant(randomTensor(next, 'uint8', [])),
        constant(randomTensor(next, 'uint8', [])),
      ],
      attributes: windowAttributes(window, false),
    })));
});

describe('matrix products', () => {
  const sides = fc.record({
    m: small,
    k: small,
    n: small,
    transA: fc.boolean(),
    transB: fc.boolean(),
    c: fc.constantFrom('none', 'row', 'full', 'scalar', 'column'),
    alpha: fc.constantFrom(1, 0.5, -2),
    beta: fc.constantFrom(1, 0.25),
  });

  it('Gemm', () =>
    holds(sides, ({ m, k, n, transA, transB, c, alpha, beta }, next) => {
      const cShape = { none: null, row: [n], full: [m, n], scalar: [], column: [m, 1] }[c];
      return {
        op: 'Gemm',
        opset: 13,
        operands: [
          input(randomTensor(next, 'float32', transA ? [k, m] : [m, k])),
          constant(randomTensor(next, 'float32', transB ? [n, k] : [k, n])),
          cShape === null ? null : constant(randomTensor(next, 'float32', cShape)),
        ],
        attributes: { transA: transA ? 1 : 0, transB: transB ? 1 : 0, alpha, beta },
      };
    }));

  const products = fc
    .record({
      batch: shape(0, 2),
      cutA: fc.integer({ min: 0, max: 2 }),
      cutB: fc.integer({ min: 0, max: 2 }),
      m: small,
      k: small,
      n: small,
      vectorA: fc.boolean(),
      vectorB: fc.boolean(),
    })
    .map(({ batch, cutA, cutB, m, k, n, vectorA, vectorB }) => ({
      a: vectorA ? [k] : [...batch.slice(cutA), m, k],
      b: vectorB ? [k] : [...batch.slice(cutB), k, n],
    }));

  it('MatMul', () =>
    holds(products, ({ a, b }, next) => ({
      op: 'MatMul',
      opset: 13,
      operands: [input(randomTensor(next, 'float32', a)), input(randomTensor(next, 'float32', b))],
    })));

  it('MatMulInteger', () =>
    holds(fc.record({ m: small, k: small, n: small, perColumn: fc.boolean() }), ({ m, k, n, perColumn }, next) => ({
      op: 'MatMulInteger',
      opset: 13,
      operands: [
        input(randomTensor(next, 'uint8', [m, k])),
        constant(randomTensor(next, 'int8', [k, n])),
        constant(randomTensor(next, 'uint8', [])),
        constant(randomTensor(next, 'int8', perColumn ? [n] : [])),
      ],
    })));

  it.each(['uint8', 'int8'] as const)('QLinearMatMul of %s', (type) =>
    holds(
      fc.record({ m: small, k: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(3000)), n: small }),
      ({ m, k, n }, next) => {
        const scale = (): Tensor => ({ type: 'float32', shape: [], data: Float32Array.of(0.001 + next() * 0.05) });
        return {
          op: 'QLinearMatMul',
          opset: 13,
          operands: [
            input(randomTensor(next, type, [m, k])),
            constant(scale()),
            constant(randomTensor(next, type, [])),
            constant(randomTensor(next, type, [k, n])),
            constant(scale()),
            constant(randomTensor(next, type, [])),
            constant(scale()),
            constant(randomTensor(next, type, [])),
          ],
        };
      },
    ),
  );
});

describe('quantisation', () => {
  const perAxis = fc.record({
    sides: shape(2, 4),
    perAxis: fc.boolean(),
    type: fc.constantFrom('uint8', 'int8', 'uint16', 'int16'),
  });
  const parameters = (next: () => number, type: ElementType, count: number | null): [Tensor, Tensor] => [
    {
      type: 'float32',
      shape: count === null ? [] : [count],
      data: Float32Array.from({ length: count ?? 1 }, () => 0.001 + next() * 0.05),
    },
    randomTensor(next, type, count === null ? [] : [count]),
  ];

  it('QuantizeLinear', () =>
    holds(perAxis, ({ sides, perAxis: own, type }, next) => ({
      op: 'QuantizeLinear',
      opset: 21,
      operands: [
        input(randomTensor(next, 'float32', sides)),
        ...parameters(next, type as ElementType, own ? sides[1]! : null).map(constant),
      ],
    })));

  it('DequantizeLinear', () =>
    holds(perAxis, ({ sides, perAxis: own, type }, next) => ({
      op: 'DequantizeLinear',
      opset: 21,
      operands: [
        input(randomTensor(next, type as ElementType, sides)),
        ...parameters(next, type as ElementType, own ? sides[1]! : null).map(constant),
      ],
    })));

  it('DynamicQuantizeLinear', () =>
    holds(fc.record({ sides: shape(1, 3), scale: fc.constantFrom(0, 0.01, 3, 1000) }), ({ sides, scale }, next) => ({
      op: 'DynamicQuantizeLinear',
      opset: 13,
      operands: [input(randomTensor(next, 'float32', sides, scale))],
      outputCount: 3,
    })));
});

describe('shapes', () => {
  it('Slice', () =>
    holds(
      shape(1, 3).chain((sides) =>
        fc.record({
          sides: fc.constant(sides),
          axes: fc.subarray(
            sides.map((_, axis) => axis),
            { minLength: 1 },
          ),
          starts: fc.array(fc.integer({ min: -6, max: 6 }), { minLength: 3, maxLength: 3 }),
          ends: fc.array(fc.oneof(fc.integer({ min: -6, max: 6 }), fc.constantFrom(2 ** 40, -(2 ** 40))), {
            minLength: 3,
            maxLength: 3,
          }),
          steps: fc.array(fc.constantFrom(1, 2, -1, -2), { minLength: 3, maxLength: 3 }),
          negative: fc.boolean(),
        }),
      ),
      ({ sides, axes, starts, ends, steps, negative }, next) => ({
        op: 'Slice',
        opset: 13,
        operands: [
          input(randomTensor(next, 'float32', sides)),
          ...[starts, ends].map((list) => constant(int64s(list.slice(0, axes.length)))),
          constant(int64s(axes.map((axis) => (negative ? axis - sides.length : axis)))),
          constant(int64s(steps.slice(0, axes.length))),
        ],
      }),
      150,
    ));

  it('Pad', () =>
    holds(
      fc.record({
        sides: fc.array(fc.integer({ min: 3, max: 5 }), { minLength: 1, maxLength: 3 }),
        pads: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 6, maxLength: 6 }),
        crop: fc.boolean(),
        mode: fc.constantFrom('constant', 'reflect', 'edge', 'wrap'),
      }),
      ({ sides, pads, crop, mode }, next) => ({
        op: 'Pad',
        opset: 19,
        operands: [
          input(randomTensor(next, 'float32', sides)),
          constant(
            int64s(pads.slice(0, 2 * sides.length).map((pad) => (crop && mode === 'constant' && pad === 1 ? -1 : pad))),
          ),
          mode === 'constant' ? constant(randomTensor(next, 'float32', [])) : null,
        ],
        attributes: { mode },
      }),
      100,
    ));

  it('Transpose, Concat, Split, Gather, Tile, Expand', () =>
    holds(
      fc.record({
        sides: fc.array(fc.integer({ min: 2, max: 4 }), { minLength: 2, maxLength: 4 }),
        axis: fc.integer({ min: -2, max: 1 }),
        which: fc.integer({ min: 0, max: 5 }),
        turn: fc.nat(),
      }),
      ({ sides, axis, which, turn }, next): Case => {
        const x = randomTensor(next, 'float32', sides);
        const at = axis < 0 ? axis + sides.length : axis;
        switch (which) {
          case 0: {
            const perm = sides.map((_, index) => (index + turn) % sides.length);
            return { op: 'Transpose', opset: 13, operands: [input(x)], attributes: { perm } };
          }
          case 1: {
            const other = sides.map((side, index) => (index === at ? side + 1 : side));
            return {
              op: 'Concat',
              opset: 13,
              operands: [input(x), input(randomTensor(next, 'float32', other))],
              attributes: { axis },
            };
          }
          case 2:
            return {
              op: 'Split',
              opset: 18,
              operands: [input(x)],
              attributes: { axis, num_outputs: 2 },
              outputCount: 2,
            };
          case 3:
            return {
              op: 'Gather',
              opset: 13,
              operands: [input(x), constant(int64s([0, -1, 1]))],
              attributes: { axis },
            };
          case 4:
            return {
              op: 'Tile',
              opset: 13,
              operands: [input(x), constant(int64s(sides.map((_, index) => 1 + ((index + turn) % 3))))],
            };
          default: {
            const thin = sides.map((side, index) => (index === at ? 1 : side));
            return {
              op: 'Expand',
              opset: 13,
              operands: [input(randomTensor(next, 'float32', thin)), constant(int64s([2, ...sides]))],
            };
          }
        }
      },
      120,
    ));
});

describe('reductions', () => {
  it('Softmax and LogSoftmax, before and since opset 13', () =>
    holds(
      fc.record({
        sides: shape(1, 4),
        axis: fc.nat({ max: 3 }),
        op: fc.constantFrom('Softmax', 'LogSoftmax'),
        opset: fc.constantFrom(11, 13),
      }),
      ({ sides, axis, op, opset }, next) => ({
        op,
        opset,
        operands: [input(randomTensor(next, 'float32', sides, 20))],
        attributes: { axis: axis % sides.length },
      }),
    ));

  it('reductions over axes', () =>
    holds(
      fc.record({
        sides: shape(1, 4),
        mask: fc.nat({ max: 15 }),
        keepdims: fc.constantFrom(0, 1),
        op: fc.constantFrom(
          'ReduceSum',
          'ReduceMean',
          'ReduceMax',
          'ReduceMin',
          'ReduceProd',
          'ReduceL1',
          'ReduceL2',
          'ReduceSumSquare',
          'ReduceLogSumExp',
        ),
        noop: fc.constantFrom(0, 1),
        integer: fc.boolean(),
      }),
      ({ sides, mask, keepdims, op, noop, integer }, next) => ({
        op,
        opset: 18,
        operands: [
          // Small integers: a sum that overflows int32 has no meaning in onnxruntime.
          input(/Sum$|Max|Min/.test(op) && integer ? smallIntegers(next, sides) : randomTensor(next, 'float32', sides)),
          constant(int64s(sides.flatMap((_, axis) => ((mask >> axis) & 1 ? [axis - sides.length] : [])))),
        ],
        attributes: { keepdims, noop_with_empty_axes: noop },
      }),
      150,
    ));

  it('ArgMax and ArgMin with ties', () =>
    holds(
      fc.record({
        sides: shape(1, 3),
        axis: fc.nat({ max: 2 }),
        op: fc.constantFrom('ArgMax', 'ArgMin'),
        last: fc.constantFrom(0, 1),
        keepdims: fc.constantFrom(0, 1),
      }),
      ({ sides, axis, op, last, keepdims }, next) => {
        const x = randomTensor(next, 'float32', sides);
        return {
          op,
          opset: 13,
          operands: [input({ ...x, data: (x.data as Float32Array).map(Math.round) } as Tensor)],
          attributes: { axis: axis % sides.length, select_last_index: last, keepdims },
        };
      },
    ));
});

describe('elementwise', () => {
  it.each(['Add', 'Sub', 'Mul', 'Div'])('%s of every integer type, with broadcasting', (op) =>
    holds(
      fc.record({
        sides: shape(1, 3),
        thin: fc.nat({ max: 7 }),
        type: fc.constantFrom<ElementType>('int8', 'uint8', 'int32', 'int64', 'float32'),
      }),
      ({ sides, thin, type }, next) => {
        const other = sides.map((side, axis) => ((thin >> axis) & 1 ? 1 : side));
        const divisor = randomTensor(next, type, other);
        // A divisor of 0 or -1 (overflow of the lowest value) has no meaning in integers.
        const safe = (divisor.data as Float32Array).map((value) => (value === 0 || value === -1 ? 3 : value));
        const wide =
          type === 'int64'
            ? BigInt64Array.from(divisor.data as BigInt64Array, (value) => (value === 0n ? 3n : value))
            : safe;
        return {
          op,
          opset: 14,
          operands: [input(randomTensor(next, type, sides)), input({ ...divisor, data: wide } as Tensor)],
        };
      },
    ),
  );

  const UNARY: [op: string, opset: number, attributes?: Record<string, AttributeValue>][] = [
    ['Relu', 14],
    ['LeakyRelu', 16, { alpha: 0.125 }],
    ['Sigmoid', 13],
    ['Tanh', 13],
    ['HardSigmoid', 7, { alpha: 0.25, beta: 0.4 }],
    ['HardSwish', 14],
    ['Elu', 7, { alpha: 1.5 }],
    ['Selu', 7],
    ['Celu', 12, { alpha: 0.75 }],
    ['Softplus', 7],
    ['Softsign', 7],
    ['Erf', 13],
    ['Gelu', 20],
    ['Gelu', 20, { approximate: 'tanh' }],
    ['ThresholdedRelu', 10, { alpha: 0.5 }],
    ['Mish', 18],
    ['Abs', 13],
    ['Neg', 13],
    ['Exp', 13],
    ['Floor', 13],
    ['Ceil', 13],
    ['Round', 11],
    ['Sign', 13],
    ['Reciprocal', 13],
    ['Sin', 7],
    ['Cos', 7],
  ];
  it.each(UNARY)('%s (opset %i)', (op, opset, attributes) =>
    holds(
      fc.record({ sides: shape(0, 3), scale: fc.constantFrom(0.1, 3, 30) }),
      ({ sides, scale }, next) => ({
        op,
        opset,
        operands: [input(randomTensor(next, 'float32', sides, scale))],
        ...(attributes === undefined ? {} : { attributes }),
      }),
      15,
    ),
  );

  it.each([
    ['Max', 13],
    ['Min', 13],
    ['Sum', 13],
    ['Mean', 13],
  ] as const)('%s of three', (op, opset) =>
    holds(
      shape(1, 3),
      (sides, next) => ({
        op,
        opset,
        operands: [
          input(randomTensor(next, 'float32', sides)),
          input(
            randomTensor(
              next,
              'float32',
              sides.map(() => 1),
            ),
          ),
          input(randomTensor(next, 'float32', sides)),
        ],
      }),
      15,
    ),
  );

  it('Clip, PRelu, Pow', () =>
    holds(
      fc.record({
        sides: shape(1, 3),
        which: fc.constantFrom('Clip', 'PRelu', 'Pow'),
        low: fc.boolean(),
        high: fc.boolean(),
      }),
      ({ sides, which, low, high }, next): Case => {
        const x = input(randomTensor(next, 'float32', sides));
        const bound = (value: number): Tensor => ({ type: 'float32', shape: [], data: Float32Array.of(value) });
        if (which === 'Clip')
          return {
            op: 'Clip',
            opset: 13,
            operands: [x, low ? constant(bound(-0.5)) : null, high ? constant(bound(0.75)) : null],
          };
        if (which === 'PRelu')
          return {
            op: 'PRelu',
            opset: 16,
            operands: [x, constant(randomTensor(next, 'float32', [sides[sides.length - 1]!]))],
          };
        return { op: 'Pow', opset: 15, operands: [x, constant(bound(low ? 2 : 3))] };
      },
    ));
});

describe('normalisation', () => {
  it('BatchNormalization', () =>
    holds(shape(2, 4), (sides, next) => {
      const channel = (positive: boolean): Tensor => {
        const drawn = randomTensor(next, 'float32', [sides[1]!]);
        return {
          ...drawn,
          data: (drawn.data as Float32Array).map((value) => (positive ? Math.abs(value) + 0.1 : value)),
        } as Tensor;
      };
      return {
        op: 'BatchNormalization',
        opset: 15,
        operands: [
          input(randomTensor(next, 'float32', sides)),
          ...[channel(false), channel(false), channel(false), channel(true)].map(constant),
        ],
        attributes: { epsilon: 0.001 },
      };
    }));

  it('LayerNormalization', () =>
    holds(
      fc.record({
        sides: fc.array(fc.integer({ min: 2, max: 5 }), { minLength: 1, maxLength: 3 }),
        axis: fc.nat({ max: 2 }),
        bias: fc.boolean(),
      }),
      ({ sides, axis, bias }, next) => {
        const at = axis % sides.length;
        const parameter = constant(randomTensor(next, 'float32', sides.slice(at)));
        return {
          op: 'LayerNormalization',
          opset: 17,
          operands: [input(randomTensor(next, 'float32', sides)), parameter, bias ? parameter : null],
          attributes: { axis: at, epsilon: 0.001 },
          outputCount: 3,
        };
      },
    ));
});

describe('older forms of operators', () => {
  const x = (next: () => number, sides: readonly number[]) => input(randomTensor(next, 'float32', sides));
  const sides = fc.array(fc.integer({ min: 2, max: 4 }), { minLength: 2, maxLength: 4 });
  const FORMS: [
    op: string,
    opset: number,
    makeCase: (sides: number[], next: () => number) => Omit<Case, 'op' | 'opset'>,
  ][] = [
    ['Clip', 7, (own, next) => ({ operands: [x(next, own)], attributes: { min: -0.5, max: 0.5 } })],
    [
      'Slice',
      9,
      (own, next) => ({ operands: [x(next, own)], attributes: { starts: [1, -2], ends: [2 ** 40, 3], axes: [0, 1] } }),
    ],
    [
      'Pad',
      10,
      (own, next) => ({
        operands: [x(next, own)],
        attributes: { pads: [...own, ...own.map((_, axis) => axis)], value: 1.5 },
      }),
    ],
    ['Squeeze', 12, (own, next) => ({ operands: [x(next, [1, ...own, 1])], attributes: { axes: [0, -1] } })],
    ['Unsqueeze', 12, (own, next) => ({ operands: [x(next, own)], attributes: { axes: [0, 2] } })],
    [
      'Split',
      12,
      (own, next) => ({ operands: [x(next, [5, ...own])], attributes: { split: [2, 3], axis: 0 }, outputCount: 2 }),
    ],
    ['Split', 13, (own, next) => ({ operands: [x(next, [6, ...own])], attributes: { axis: 0 }, outputCount: 3 })],
    [
      'Split',
      18,
      (own, next) => ({ operands: [x(next, [7, ...own])], attributes: { axis: 0, num_outputs: 3 }, outputCount: 3 }),
    ],
    ['ReduceSum', 12, (own, next) => ({ operands: [x(next, own)], attributes: { axes: [-1], keepdims: 0 } })],
    ['ReduceMean', 17, (own, next) => ({ operands: [x(next, own)], attributes: { axes: [0, 1] } })],
    ['Dropout', 7, (own, next) => ({ operands: [x(next, own)], attributes: { ratio: 0.5 } })],
    ['Dropout', 13, (own, next) => ({ operands: [x(next, own)] })],
    ['Gemm', 7, (_, next) => ({ operands: [x(next, [2, 3]), x(next, [3, 4]), x(next, [4])] })],
    ['Flatten', 7, (own, next) => ({ operands: [x(next, own)], attributes: { axis: 2 } })],
    ['Flatten', 13, (own, next) => ({ operands: [x(next, own)], attributes: { axis: -1 } })],
  ];
  it.each(FORMS)('%s of opset %i', (op, opset, makeCase) =>
    holds(sides, (own, next) => ({ op, opset, ...makeCase(own, next) }), 20),
  );
});

it('tells a wrong answer from a right one', async () => {
  const spec = {
    op: 'Add',
    opset: 13,
    operands: [input(randomTensor(generator(1), 'float32', [3])), input(randomTensor(generator(2), 'float32', [3]))],
    outputs: [{ type: 'float32' as const, shape: [3] }],
  };
  const { model, feeds } = oneNodeModel(spec);
  const expected = (await runModel(model, feeds)).get('y0')!;
  const wrong = evaluateModel(
    prepareModel({ ...model, nodes: model.nodes.map((node) => ({ ...node, op: 'Sub' })) }),
    feeds,
  );
  expect(difference(wrong.get('y0')!, expected, TOLERANCE)).toMatch(/^element 0: expected/);
});
