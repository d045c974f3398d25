/** Test helper: a random model with several readers per value, constants of several shapes, and one or two outputs. */
import type { Tensor } from '../../tensor.js';
import { floats, int64s, normal, random, type ModelSpec, type NodeSpec } from './models.js';

interface Made {
  readonly name: string;
  readonly shape: readonly number[];
}

export interface RandomModel {
  readonly spec: ModelSpec;
  readonly inputs: Readonly<Record<string, readonly number[]>>;
}

const FUNCTIONS = [
  'Sigmoid',
  'Tanh',
  'HardSwish',
  'Elu',
  'LeakyRelu',
  'HardSigmoid',
  'Abs',
  'Neg',
  'Softplus',
] as const;

/** 2 to 8 nodes on images and vectors; the same seed gives the same model. */
export function randomModel(seed: number): RandomModel {
  const next = random(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  const among = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const constants: Record<string, Tensor> = {};
  const nodes: NodeSpec[] = [];
  let count = 0;
  const keep = (tensor: Tensor): string => {
    const name = `c${count++}`;
    constants[name] = tensor;
    return name;
  };
  const constant = (shape: readonly number[], scale = 1, middle = 0): string =>
    keep(floats(shape, () => middle + scale * normal(next)));
  const [channels, height, width] = [1 + below(4), 4 + below(4), 4 + below(4)];
  const inputs: Record<string, readonly number[]> = { x: [1, channels, height, width] };
  if (below(2) === 1) inputs['z'] = [1, channels, height, width];
  const values: Made[] = Object.entries(inputs).map(([name, shape]) => ({ name, shape }));
  const put = (
    op: string,
    operands: readonly string[],
    shape: readonly number[],
    attributes: NodeSpec['attributes'] = {},
  ): void => {
    const name = `v${count++}`;
    nodes.push({ op, inputs: operands, outputs: [name], attributes });
    values.push({ name, shape });
  };
  const alike = (shape: readonly number[]): string =>
    among(values.filter((other) => other.shape.join() === shape.join())).name;

  const onImage = ({ name, shape }: Made): void => {
    const [, c, h, w] = shape as [number, number, number, number];
    const bounds = (): string[] => [keep(floats([], () => -0.5)), keep(floats([], () => 1.5))];
    const convolution = (): void => {
      const [kh, kw] = [Math.min(1 + below(3), h), Math.min(1 + below(3), w)];
      const pads = [below(kh), below(kw), below(kh), below(kw)];
      const strides = [1 + below(2), 1 + below(2)];
      const group = below(3) === 0 ? c : 1;
      const to = group > 1 ? c * (1 + below(2)) : 1 + below(4);
      const operands = [name, constant([to, c / group, kh, kw], 0.5), ...(below(2) === 1 ? [constant([to])] : [])];
      const side = (from: number, axis: number, kernel: number): number =>
        Math.floor((from + pads[axis]! + pads[axis + 2]! - kernel) / strides[axis]!) + 1;
      put('Conv', operands, [1, to, side(h, 0, kh), side(w, 1, kw)], { pads, strides, kernel_shape: [kh, kw], group });
    };
    const pool = (): void =>
      put(among(['MaxPool', 'AveragePool']), [name], [1, c, Math.floor((h - 1) / 2) + 1, Math.floor((w - 1) / 2) + 1], {
        kernel_shape: [2, 2],
        strides: [2, 2],
        pads: [1, 0, 0, 1],
      });
    const concat = (): void => {
      const other = among(values.filter((v) => v.shape.length === 4 && v.shape[2] === h && v.shape[3] === w));
      put('Concat', [name, other.name], [1, c + other.shape[1]!, h, w], { axis: 1 });
    };
    const normalise = (): void => {
      const p = [constant([c]), constant([c]), constant([c]), keep(floats([c], () => 0.2 + next()))];
      put('BatchNormalization', [name, ...p], shape);
    };
    const pad = (): void => {
      const value = below(2) / 2;
      put(
        'Pad',
        [name, keep(int64s([0, 0, 1, 1, 0, 1, 0, 1])), keep(floats([], () => value))],
        [1, c + 1, h + 1, w + 2],
      );
    };
    const choices: readonly (() => void)[] = [
      convolution,
      convolution,
      convolution,
      () => put('Relu', [name], shape),
      normalise,
      pool,
      () => put(among(['Add', 'Sub', 'Mul', 'Max', 'Min']), [name, alike(shape)], shape),
      () => put(among(['Sum', 'Mean', 'Max']), [name, alike(shape), alike(shape)], shape),
      concat,
      () => put(among(FUNCTIONS), [name], shape),
      () => put(among(['Add', 'Mul', 'Sub', 'Div']), [name, constant(among([[1, c, 1, 1], []]), 0.3, 1)], shape),
      () => put('Transpose', [name], [1, h, w, c], { perm: [0, 2, 3, 1] }),
      () => put('Flatten', [name], [1, c * h * w], { axis: 1 }),
      () => put('GlobalAveragePool', [name], [1, c, 1, 1]),
      () =>
        put(
          'Slice',
          [name, keep(int64s([h > 1 ? 1 : 0])), keep(int64s([h])), keep(int64s([2]))],
          h > 1 ? [1, c, h - 1, w] : shape,
        ),
      () => put('Clip', [name, ...bounds()], shape),
      pad,
      () => put('Softmax', [name], shape, { axis: 1 + below(3) }),
    ];
    among(choices)();
  };
  const onVector = ({ name, shape }: Made): void => {
    const features = shape[1]!;
    const layer = (): void => {
      const to = 1 + below(6);
      const bias = below(2) === 1 ? [constant([to])] : [];
      put('Gemm', [name, constant([features, to], 1 / Math.sqrt(features)), ...bias], [1, to]);
    };
    among<() => void>([
      layer,
      layer,
      () => put(among(['Relu', 'Sigmoid', 'Tanh']), [name], shape),
      () => put(among(['Add', 'Sub', 'Mul']), [name, alike(shape)], shape),
      () => put('Softmax', [name], shape, { axis: 1 }),
    ])();
  };

  const length = 2 + below(7);
  for (let i = 0; i < length; i++) {
    const value = values[Math.max(0, values.length - 1 - below(3))]!;
    if (value.shape.length === 4) onImage(value);
    else onVector(value);
  }
  const outputs: Record<string, readonly number[]> = {};
  const [before, last] = values.slice(-2) as [Made, Made];
  outputs[last.name] = last.shape;
  if (below(2) === 1 && !(before.name in inputs)) outputs[before.name] = before.shape;
  return { spec: { inputs, outputs, nodes, constants }, inputs };
}
