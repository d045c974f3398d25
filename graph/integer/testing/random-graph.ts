/** Random integer graphs for equivalence tests: every operator, every attribute, extremes included. */
import { sizeOf } from '../../tensor.js';
import { GraphBuilder } from '../builder.js';
import type { NewNode } from '../shapes.js';
import type {
  BroadcastConstant,
  IntRange,
  IntegerGraph,
  IntegerNodeKind,
  RequantTable,
  TensorId,
  WeightArray,
  Window2d,
} from '../types.js';

/** A number in [0, 1). */
export type Random = () => number;

export interface NodeCase {
  readonly graph: IntegerGraph;
  /** One array per graph input. */
  readonly inputs: Int32Array[];
  readonly items: number;
}

export const NODE_KINDS: readonly IntegerNodeKind[] = [
  'matmul',
  'matmulActivations',
  'conv',
  'combine',
  'scale',
  'mul',
  'sumPool',
  'reduceSum',
  'requant',
  'maxPool',
  'reduceMax',
  'argMax',
  'reshape',
  'transpose',
  'concat',
  'slice',
  'pad',
  'expand',
];

/** Mulberry32: a small generator with a 32-bit seed, so that a failing case is named by its seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws over a generator. */
class Draw {
  constructor(readonly random: Random) {}

  int(lo: number, hi: number): number {
    return lo + Math.floor(this.random() * (hi - lo + 1));
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.int(0, values.length - 1)]!;
  }

  shape(minRank: number, maxRank: number, maxSide: number): number[] {
    return Array.from({ length: this.int(minRank, maxRank) }, () => this.int(1, maxSide));
  }

  shuffled(count: number): number[] {
    const order = [...Array(count).keys()];
    for (let i = count - 1; i > 0; i--) {
      const j = this.int(0, i);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }

  /** Range of an operand of a product. */
  operandRange(): IntRange {
    return this.pick([
      { lo: 0, hi: 255 },
      { lo: -128, hi: 127 },
      { lo: -127, hi: 127 },
      { lo: 0, hi: 1 },
      { lo: -2048, hi: 2048 },
      { lo: 3, hi: 200 },
      { lo: -90, hi: -7 },
      { lo: 5, hi: 5 },
    ]);
  }

  /** Range of a tensor that is only compared, moved or added. */
  freeRange(): IntRange {
    return this.chance(0.5)
      ? this.operandRange()
      : this.pick([
          { lo: -(2 ** 24) + 1, hi: 2 ** 24 - 1 },
          { lo: -70000, hi: 3 },
          { lo: 0, hi: 65535 },
        ]);
  }

  /** All low, all high, alternating, or random elements. */
  values(length: number, { lo, hi }: IntRange): Int32Array {
    const fill = this.pick(['lo', 'hi', 'ends', 'random', 'random', 'few']);
    return Int32Array.from({ length }, () => {
      if (fill === 'lo') return lo;
      if (fill === 'hi') return hi;
      if (fill === 'ends') return this.chance(0.5) ? lo : hi;
      // Few distinct values: ties of maxima.
      if (fill === 'few') return this.int(lo, Math.min(hi, lo + 1));
      return this.int(lo, hi);
    });
  }

  weight(length: number): WeightArray {
    const wide = this.chance(0.2);
    const values = this.values(length, wide ? { lo: -2048, hi: 2048 } : { lo: -128, hi: 127 });
    return wide ? Int16Array.from(values) : Int8Array.from(values);
  }

  bias(length: number): Int32Array | null {
    return this.chance(0.3)
      ? null
      : this.values(length, this.chance(0.2) ? { lo: -(2 ** 30), hi: 2 ** 30 } : { lo: -5000, hi: 5000 });
  }

  /** A constant broadcast against the shape: some axes of side 1, some leading axes missing. */
  constant(shape: readonly number[], range: IntRange): BroadcastConstant {
    const own = shape
      .slice(this.chance(0.5) ? this.int(0, shape.length) : 0)
      .map((side) => (this.chance(0.4) ? 1 : side));
    return { shape: own, data: this.values(sizeOf(own), range) };
  }

  /** A window over a plane that has at least one output position; with `inner`, no window lies in padding altogether. */
  window(height: number, width: number, inner: boolean): Window2d {
    for (;;) {
      const pair = (hi: number): [number, number] => [this.int(1, hi), this.int(1, hi)];
      const window: Window2d = {
        kernel: this.chance(0.15) ? [height, width] : pair(3),
        strides: pair(this.pick([1, 2, 3])),
        dilations: pair(this.pick([1, 1, 2])),
        pads: [this.int(0, 2), this.int(0, 2), this.int(0, 2), this.int(0, 2)].map((pad) =>
          this.chance(0.4) ? 0 : pad,
        ) as [number, number, number, number],
      };
      const fits = ([0, 1] as const).every((axis) => {
        const side = axis === 0 ? height : width;
        const extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
        if (side + window.pads[axis] + window.pads[axis + 2]! < extent) return false;
        if (!inner) return true;
        const count =
          Math.floor((side + window.pads[axis] + window.pads[axis + 2]! - extent) / window.strides[axis]) + 1;
        return Array.from({ length: count }, (_, o) => o * window.strides[axis] - window.pads[axis]).every((first) =>
          Array.from({ length: window.kernel[axis] }, (_, k) => first + k * window.dilations[axis]).some(
            (i) => i >= 0 && i < side,
          ),
        );
      });
      if (fits) return window;
    }
  }
}

/** A graph under construction with the inputs drawn for it. */
class CaseBuilder {
  readonly builder = new GraphBuilder();
  readonly ids: TensorId[] = [];

  constructor(readonly draw: Draw) {}

  input(shape: readonly number[], range: IntRange): TensorId {
    const id = this.builder.addInput(`x${this.ids.length}`, shape, range, 1, 0);
    this.ids.push(id);
    return id;
  }

  add(node: NewNode, shape?: readonly number[]): TensorId {
    return this.builder.add(node, shape === undefined ? {} : { shape });
  }

  /** Requantises x with a multiplier per tensor or channel and a clamp or a table of values. */
  requant(x: TensorId): TensorId {
    const { draw, builder } = this;
    const { shape } = builder.tensor(x);
    const channelAxis = shape.length > 0 && draw.chance(0.6) ? draw.int(0, shape.length - 1) : null;
    const { lo, hi } = builder.channelRanges(x);
    const bound = Math.max(1, ...[...lo, ...hi].map(Math.abs));
    // The largest multiplier that keeps q within +-target.
    const target = draw.pick([3, 300, 5000, 32000]);
    const most = Math.max(1, Math.min(2 ** 28 - 1, Math.floor((target * 2 ** 24) / bound)));
    const count = channelAxis === null ? 1 : shape[channelAxis]!;
    const multipliers = draw.values(
      count,
      draw.chance(0.5) ? { lo: Math.ceil(most / 2), hi: most } : { lo: 1, hi: most },
    );
    const q = builder.quotientRange(x, multipliers, channelAxis);
    return this.add({ kind: 'requant', name: 'requant', x, multipliers, channelAxis, table: this.table(q) });
  }

  private table({ lo: qLo, hi: qHi }: IntRange): RequantTable {
    const { draw } = this;
    if (draw.chance(0.5)) {
      const { lo, hi } = draw.pick([
        { lo: -128, hi: 127 },
        { lo: 0, hi: 255 },
        { lo: -(2 ** 15), hi: 2 ** 16 - 1 },
        { lo: 7, hi: 7 },
        { lo: -1, hi: 20000 },
      ]);
      return { kind: 'clamp', qLo, qHi, lo, hi };
    }
    const values = Int16Array.from(
      draw.values(
        qHi - qLo + 1,
        draw.pick([
          { lo: -(2 ** 15), hi: 2 ** 15 - 1 },
          { lo: 0, hi: 255 },
        ]),
      ),
    );
    return { kind: 'values', qLo, qHi, values, label: 'random' };
  }

  /** A stored tensor: an input, or sometimes the requantised sum of two. */
  stored(shape: readonly number[], range: IntRange): TensorId {
    if (this.draw.chance(0.85)) return this.input(shape, range);
    const sum = this.add({
      kind: 'combine',
      name: 'sum',
      terms: [
        { x: this.input(shape, range), coefficient: this.draw.pick([1, -1, 3]) },
        { x: this.input(shape, range), coefficient: this.draw.pick([1, -1, -2]) },
      ],
      bias: null,
    });
    const q = this.builder.quotientRange(sum, Int32Array.of(2 ** 19), null);
    const { lo, hi } = q;
    return this.add({
      kind: 'requant',
      name: 'operand',
      x: sum,
      multipliers: Int32Array.of(2 ** 19),
      channelAxis: null,
      table: { kind: 'clamp', qLo: lo, qHi: hi, lo: -2000, hi: 2000 },
    });
  }

  /** What wiring moves: mostly a stored tensor, sometimes an accumulator. */
  anything(shape: readonly number[]): TensorId {
    if (this.draw.chance(0.7)) return this.stored(shape, this.draw.freeRange());
    const x = this.input(shape, this.draw.operandRange());
    const factor = this.draw.constant(shape, { lo: -2048, hi: 2048 });
    const wide = this.draw.chance(0.5);
    return this.add({
      kind: 'scale',
      name: 'accumulator',
      x,
      factor,
      bias: wide ? this.draw.constant(shape, { lo: -(2 ** 29), hi: 2 ** 29 }) : null,
    });
  }

  /** Terms with small coefficients, or with ones that bring the sum close to its limit of 2^31. */
  private terms(operands: readonly TensorId[], bias: BroadcastConstant | null): { x: TensorId; coefficient: number }[] {
    const { draw } = this;
    if (draw.chance(0.7)) return operands.map((x) => ({ x, coefficient: draw.pick([1, 1, -1, 2, -3, 0]) }));
    const room = 2 ** 31 - 1 - (bias?.data.reduce((most, v) => Math.max(most, Math.abs(v)), 0) ?? 0);
    return operands.map((x) => {
      const magnitude = this.builder.channelRanges(x).magnitude.reduce((most, v) => Math.max(most, v), 1);
      const most = Math.floor(room / operands.length / magnitude);
      return { x, coefficient: draw.pick([1, -1]) * draw.int(Math.ceil(most / 2), most) };
    });
  }

  /**
   * c * (x + b) - c * (z + b) with b and c of any size: its range is that of c * (x - z), whatever its terms are. Where
   * those are too large for exact arithmetic the bounds must refuse it.
   */
  private difference(shape: readonly number[], name: string): TensorId {
    const { draw } = this;
    const size = (bits: number): number => draw.int(1, 2 ** (draw.chance(0.5) ? bits : draw.int(1, bits)) - 101);
    const coefficient = Math.max(1, size(27));
    const bias = { shape: [], data: Int32Array.of(Math.max(1, size(31))) };
    const shifted = (): TensorId => {
      const x = this.input(shape, { lo: 0, hi: 15 });
      return this.add({ kind: 'combine', name: 'shifted', terms: [{ x, coefficient: 1 }], bias });
    };
    const terms = [
      { x: shifted(), coefficient },
      { x: shifted(), coefficient: -coefficient },
    ];
    return this.add({ kind: 'combine', name, terms, bias: null });
  }

  private static blank(kind: IntegerNodeKind): { name: string } {
    return { name: `the ${kind}` };
  }

  /** Adds a node of the kind over fresh operands. */
  node(kind: IntegerNodeKind): TensorId {
    const { draw } = this;
    const base = CaseBuilder.blank(kind);
    switch (kind) {
      case 'matmul': {
        const inFeatures = draw.chance(0.1) ? draw.int(300, 700) : draw.int(1, 40);
        const outFeatures = draw.int(1, 6);
        const x = this.stored([...draw.shape(0, 2, 3), inFeatures], draw.operandRange());
        const weight = draw.weight(inFeatures * outFeatures);
        return this.add({ kind, ...base, x, inFeatures, outFeatures, weight, bias: draw.bias(outFeatures) });
      }
      case 'matmulActivations': {
        const lead = draw.shape(0, 2, 3);
        const K = draw.int(1, 20);
        const a = this.stored([...lead, draw.int(1, 4), K], draw.operandRange());
        const b = this.stored([...lead, draw.int(1, 4), K], draw.operandRange());
        return this.add({ kind, ...base, a, b });
      }
      case 'conv': {
        const groups = draw.pick([1, 1, 2, 3, 4]);
        const perGroup = draw.pick([1, 2, 3, 5]);
        const outChannels = groups * draw.int(1, 3);
        const [H, W] = draw.chance(0.2) ? [1, draw.int(3, 9)] : [draw.int(1, 7), draw.int(1, 7)];
        const window = draw.window(H, W, false);
        const x = this.stored([groups * perGroup, H, W], draw.operandRange());
        const weight = draw.weight(outChannels * window.kernel[0] * window.kernel[1] * perGroup);
        return this.add({ kind, ...base, x, window, groups, outChannels, weight, bias: draw.bias(outChannels) });
      }
      case 'combine': {
        // Accumulators of products under a factor are what a runtime likes to fuse.
        const sum = draw.chance(0.4) ? this.node(draw.pick(['matmul', 'conv'])) : null;
        const shape = sum === null ? draw.shape(0, 3, 5) : this.builder.tensor(sum).shape;
        if (sum === null && draw.chance(0.3)) return this.difference(shape, base.name);
        const xs = Array.from({ length: draw.int(sum === null ? 1 : 0, 2) }, () => this.anything(shape));
        const operands = [...(sum === null ? [] : [sum]), ...xs];
        const bias = draw.chance(0.5) ? draw.constant(shape, { lo: -(2 ** 26), hi: 2 ** 26 }) : null;
        return this.add({ kind, ...base, terms: this.terms(operands, bias), bias });
      }
      case 'scale': {
        const shape = draw.shape(0, 3, 5);
        const x = this.stored(shape, draw.operandRange());
        const bias = draw.chance(0.5)
          ? draw.constant(
              shape,
              draw.pick([
                { lo: -1000, hi: 1000 },
                { lo: -(2 ** 30), hi: 2 ** 30 },
              ]),
            )
          : null;
        return this.add({ kind, ...base, x, factor: draw.constant(shape, { lo: -2048, hi: 2048 }), bias });
      }
      case 'mul': {
        const shape = draw.shape(0, 3, 5);
        const a = this.stored(shape, draw.operandRange());
        return this.add({ kind, ...base, a, b: draw.chance(0.2) ? a : this.stored(shape, draw.operandRange()) });
      }
      case 'sumPool':
      case 'maxPool': {
        const shape = [draw.int(1, 9), draw.int(1, 7), draw.int(1, 7)];
        const x = this.stored(shape, draw.freeRange());
        return this.add({ kind, ...base, x, window: draw.window(shape[1]!, shape[2]!, kind === 'maxPool') });
      }
      case 'reduceSum':
      case 'reduceMax': {
        const shape = draw.shape(1, 4, 4);
        const axes = draw
          .shuffled(shape.length)
          .slice(0, draw.int(1, shape.length))
          .sort((p, q) => p - q);
        const range =
          kind === 'reduceSum' && draw.chance(0.5)
            ? draw.operandRange()
            : draw.pick([
                { lo: -70000, hi: 3 },
                { lo: -(2 ** 22), hi: 2 ** 22 },
              ]);
        return this.add({ kind, ...base, x: this.stored(shape, range), axes });
      }
      case 'argMax': {
        const shape = draw.shape(1, 3, 6);
        return this.add({
          kind,
          ...base,
          x: this.stored(shape, draw.freeRange()),
          axis: draw.int(0, shape.length - 1),
        });
      }
      case 'requant': {
        const shape = draw.shape(0, 3, 6);
        return this.requant(
          draw.chance(0.4) ? this.node(draw.pick(['matmul', 'conv', 'combine', 'mul'])) : this.anything(shape),
        );
      }
      case 'reshape': {
        const shape = draw.shape(1, 4, 4);
        const order = draw.shuffled(shape.length).map((axis) => shape[axis]!);
        const merged = draw.chance(0.5) ? [sizeOf(shape)] : order;
        return this.add({ kind, ...base, x: this.anything(shape) }, draw.chance(0.3) ? [1, ...merged] : merged);
      }
      case 'transpose': {
        const shape = draw.shape(1, 4, 4);
        return this.add({ kind, ...base, x: this.anything(shape), permutation: draw.shuffled(shape.length) });
      }
      case 'concat': {
        const shape = draw.shape(1, 3, 4);
        const axis = draw.int(0, shape.length - 1);
        const xs = Array.from({ length: draw.int(1, 3) }, () =>
          this.anything(shape.map((side, a) => (a === axis ? draw.int(1, 4) : side))),
        );
        return this.add({ kind, ...base, xs, axis });
      }
      case 'slice': {
        const shape = draw.shape(1, 4, 6);
        const x = this.anything(shape);
        const cuts = shape.map((side) => {
          const step = draw.pick([1, 1, 2, 3, -1, -2]);
          const start = draw.int(0, side - 1);
          const room = step > 0 ? Math.floor((side - 1 - start) / step) : Math.floor(start / -step);
          return { start, step, count: 1 + draw.int(0, room) };
        });
        return this.add(
          { kind, ...base, x, starts: cuts.map((cut) => cut.start), steps: cuts.map((cut) => cut.step) },
          cuts.map((cut) => cut.count),
        );
      }
      case 'pad': {
        const shape = draw.shape(1, 4, 4);
        const amounts = (): number[] => shape.map(() => draw.int(0, 2));
        return this.add({
          kind,
          ...base,
          x: this.anything(shape),
          before: amounts(),
          after: amounts(),
          value: draw.pick([0, -1, 77, -(2 ** 25)]),
        });
      }
      case 'expand': {
        const shape = draw.shape(1, 4, 4);
        const narrow = shape.map((side) => (draw.chance(0.5) ? 1 : side));
        return this.add({ kind, ...base, x: this.anything(narrow) }, shape);
      }
    }
  }

  finish(outputs: readonly TensorId[]): NodeCase {
    const graph = this.builder.finish('random', outputs);
    const items = this.draw.int(1, 3);
    const inputs = graph.inputs.map((id) => {
      const { shape, range } = graph.tensors[id]!;
      return this.draw.values(items * sizeOf(shape), range);
    });
    return { graph, inputs, items };
  }
}

/** A graph around one node of the kind, which is its output; inputs of 1 to 3 items. A pure function of the generator's state. */
export function randomNodeCase(kind: IntegerNodeKind, random: Random): NodeCase {
  for (;;) {
    const builder = new CaseBuilder(new Draw(random));
    try {
      return builder.finish([builder.node(kind)]);
    } catch (error) {
      // Random weights and ranges may pass a bound or a random reshape may not fit: draw again. Anything else is a defect.
      if (!isBoundError(error)) throw error;
    }
  }
}

const isBoundError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'BOUND_EXCEEDED';

/**
 * A small network of convolutions, pooling, requantisations, residual sums and wiring that ends in exact accumulators
 * and an ArgMax: operators next to each other, views under products, channels-last layouts.
 */
export function randomGraph(random: Random): NodeCase {
  for (;;) {
    const draw = new Draw(random);
    const c = new CaseBuilder(draw);
    try {
      let x = c.input(
        [draw.int(1, 4), draw.int(4, 9), draw.int(4, 9)],
        draw.pick([
          { lo: 0, hi: 255 },
          { lo: -128, hi: 127 },
        ]),
      );
      for (let layer = draw.int(1, 4); layer > 0; layer--) x = layerOver(c, x);
      const { shape } = c.builder.tensor(x);
      const flat = c.add({ kind: 'reshape', name: 'flatten', x }, [sizeOf(shape)]);
      const inFeatures = sizeOf(shape);
      const outFeatures = draw.int(1, 10);
      const logits = c.add({
        kind: 'matmul',
        name: 'logits',
        x: flat,
        inFeatures,
        outFeatures,
        weight: draw.weight(inFeatures * outFeatures),
        bias: draw.bias(outFeatures),
      });
      const second = c.add({
        kind: 'matmul',
        name: 'scores',
        x: flat,
        inFeatures,
        outFeatures,
        weight: draw.weight(inFeatures * outFeatures),
        bias: null,
      });
      const scores = c.requant(second);
      const label = c.add({ kind: 'argMax', name: 'label', x: scores, axis: 0 });
      return c.finish([logits, label]);
    } catch (error) {
      if (!isBoundError(error)) throw error;
    }
  }
}

/** One layer over a [C, H, W] tensor that may stand under a product; its output again may. */
function layerOver(c: CaseBuilder, x: TensorId): TensorId {
  const { draw, builder } = c;
  const [C, H, W] = builder.tensor(x).shape as [number, number, number];
  const clamped = (sum: TensorId): TensorId => {
    const { lo, hi } = builder.channelRanges(sum);
    const bound = Math.max(1, ...[...lo, ...hi].map(Math.abs));
    const most = Math.max(1, Math.min(2 ** 28 - 1, Math.floor((400 * 2 ** 24) / bound)));
    const multipliers = draw.values(C === lo.length ? lo.length : 1, {
      lo: Math.ceil(most / 2),
      hi: most,
    });
    const channelAxis = multipliers.length === C && C > 1 ? 0 : null;
    const used = channelAxis === null ? multipliers.slice(0, 1) : multipliers;
    const q = builder.quotientRange(sum, used, channelAxis);
    return c.add({
      kind: 'requant',
      name: 'clamp',
      x: sum,
      multipliers: used,
      channelAxis,
      table: { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: draw.pick([0, -128]), hi: 127 },
    });
  };
  switch (draw.pick(['conv', 'depthwise', 'residual', 'sumPool', 'maxPool', 'concat', 'slice', 'pad'] as const)) {
    case 'conv': {
      const outChannels = C;
      const window = { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1] } as const;
      return clamped(
        c.add({
          kind: 'conv',
          name: 'conv',
          x,
          window,
          groups: 1,
          outChannels,
          weight: draw.weight(outChannels * 9 * C),
          bias: null,
        }),
      );
    }
    case 'depthwise': {
      const window = draw.window(H, W, false);
      const weight = draw.weight(C * window.kernel[0] * window.kernel[1]);
      return clamped(
        c.add({ kind: 'conv', name: 'depthwise', x, window, groups: C, outChannels: C, weight, bias: draw.bias(C) }),
      );
    }
    case 'residual': {
      const y = clamped(x);
      return c.add({
        kind: 'combine',
        name: 'residual',
        terms: [
          { x, coefficient: 1 },
          { x: y, coefficient: draw.pick([1, -1]) },
        ],
        bias: null,
      });
    }
    case 'sumPool':
      return clamped(c.add({ kind: 'sumPool', name: 'pool', x, window: draw.window(H, W, false) }));
    case 'maxPool':
      return c.add({ kind: 'maxPool', name: 'pool', x, window: draw.window(H, W, true) });
    case 'concat':
      return c.add({ kind: 'concat', name: 'concat', xs: [x, clamped(x)], axis: draw.int(0, 2) });
    case 'pad': {
      const before = [0, draw.int(0, 2), draw.int(0, 2)];
      return c.add({
        kind: 'pad',
        name: 'pad',
        x,
        before,
        after: [0, 1, draw.int(0, 1)],
        value: draw.pick([0, 0, -9]),
      });
    }
    case 'slice':
      return c.add({ kind: 'slice', name: 'flip', x, starts: [0, H - 1, 0], steps: [1, -1, 1] }, [C, H, W]);
  }
}
