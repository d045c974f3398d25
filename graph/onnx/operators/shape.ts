/** Operators that rename axes, move, repeat or join elements, and compute nothing. They work on every type. */
import { sizeOf, stridesOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { newArray } from '../tensor-proto.js';
import { commonType } from './elementwise.js';
import { broadcastShapes, broadcastTo, stridedIndices, take } from './indexing.js';
import type { Application, Facts, Operator } from './operator.js';

/** An operator that gives its input another shape. */
function reshaping(op: string, sinceOpset: number, shapeOf: (application: Application) => readonly number[]): Operator {
  return {
    op,
    sinceOpset,
    infer: (application) => [{ type: application.input(0).type, shape: shapeOf(application) }],
    evaluate: (application) => [{ ...application.tensor(0), shape: shapeOf(application) }],
  };
}

/** 0 copies the input's side (or means 0, with allowzero); one -1 takes what is left. */
function reshapeShape(application: Application): readonly number[] {
  const { shape } = application.input(0);
  const wanted = application.integers(1);
  const allowZero = application.number('allowzero', 0) !== 0;
  const sides = wanted.map((side, axis) => {
    if (side !== 0 || allowZero) return side;
    if (axis >= shape.length)
      throw application.mismatch(`copies side ${axis} of an input of ${shape.length} dimensions`);
    return shape[axis]!;
  });
  const open = sides.indexOf(-1);
  if (sides.some((side, axis) => side < 0 && axis !== open)) {
    throw application.mismatch(`asks for the shape [${wanted.join(', ')}]; at most one side may be -1`);
  }
  const size = sizeOf(shape);
  if (open !== -1) {
    const rest = sizeOf(sides.filter((_, axis) => axis !== open));
    if (rest === 0 || size % rest !== 0) {
      throw application.mismatch(`cannot spread ${size} elements over the shape [${wanted.join(', ')}]`);
    }
    sides[open] = size / rest;
  }
  if (sizeOf(sides) !== size)
    throw application.mismatch(`asks for the shape [${wanted.join(', ')}] of ${size} elements`);
  return sides;
}

function flattenShape(application: Application): readonly number[] {
  const { shape } = application.input(0);
  const given = application.number('axis', 1);
  const axis = given === shape.length ? given : application.axis(given, Math.max(1, shape.length));
  return [sizeOf(shape.slice(0, axis)), sizeOf(shape.slice(axis))];
}

/** Axes: an attribute before opset 13, an input since. */
function axesOf(application: Application): readonly number[] | null {
  return application.opset < 13 ? application.numbers('axes') : application.optionalIntegers(1);
}

function squeezeShape(application: Application): readonly number[] {
  const { shape } = application.input(0);
  const given = axesOf(application);
  const axes =
    given === null ? shape.flatMap((side, axis) => (side === 1 ? [axis] : [])) : application.axes(given, shape.length);
  for (const axis of axes) {
    if (shape[axis] !== 1) throw application.mismatch(`squeezes axis ${axis} of side ${shape[axis]}`);
  }
  return shape.filter((_, axis) => !axes.includes(axis));
}

function unsqueezeShape(application: Application): readonly number[] {
  const { shape } = application.input(0);
  const given = axesOf(application);
  if (given === null) throw application.invalid('lacks its axes');
  const rank = shape.length + given.length;
  const axes = new Set(application.axes(given, rank));
  const rest = [...shape];
  return Array.from({ length: rank }, (_, axis) => (axes.has(axis) ? 1 : rest.shift()!));
}

const IDENTITY = reshaping('Identity', 7, (application) => application.input(0).shape);

/** Inference drops nothing. The mask says so: all true. */
const DROPOUT: Operator = {
  op: 'Dropout',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    if (application.opset >= 12 && trains(application)) {
      throw application.unsupported(
        'it is in training mode and drops elements at random',
        'Export the model in evaluation mode (model.eval() in PyTorch).',
      );
    }
    return [
      { type, shape },
      { type: application.opset < 10 ? type : 'bool', shape },
    ];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const type = application.opset < 10 ? x.type : 'bool';
    const mask = newArray(type, sizeOf(x.shape)) as Uint8Array;
    return application.asks(1) ? [x, { type, shape: x.shape, data: mask.fill(1) }] : [x];
  },
};

/** Training mode with a ratio of zero drops nothing either. */
function trains(application: Application): boolean {
  if (application.optional(2) === null || Number(application.constant(2).data[0]) === 0) return false;
  if (application.optional(1) === null) return true; // default ratio 0.5
  return Number(application.constant(1).data[0]) !== 0;
}

const TRANSPOSE: Operator = {
  op: 'Transpose',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    return [{ type, shape: permutation(application, shape).map((axis) => shape[axis]!) }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const axes = permutation(application, x.shape);
    const strides = stridesOf(x.shape);
    const shape = axes.map((axis) => x.shape[axis]!);
    return [
      take(
        x,
        stridedIndices(
          shape,
          axes.map((axis) => strides[axis]!),
          0,
        ),
        shape,
      ),
    ];
  },
};

function permutation(application: Application, shape: readonly number[]): readonly number[] {
  const axes = application.numbers('perm') ?? shape.map((_, axis) => shape.length - 1 - axis);
  if (axes.length !== shape.length || shape.some((_, axis) => !axes.includes(axis))) {
    throw application.mismatch(`has perm [${axes.join(', ')}], no permutation of ${shape.length} axes`);
  }
  return axes;
}

const CONCAT: Operator = {
  op: 'Concat',
  sinceOpset: 7,
  infer: (application) => [concatFacts(application)],
  evaluate: (application) => {
    const tensors = application.inputs().map((_, index) => application.tensor(index));
    const { type, shape } = concatFacts(application);
    const axis = application.axis(application.number('axis', 0), shape.length);
    const outer = sizeOf(shape.slice(0, axis));
    const data = newArray(type, sizeOf(shape)) as Uint8Array;
    const row = sizeOf(shape.slice(axis));
    let column = 0;
    for (const tensor of tensors) {
      const width = sizeOf(tensor.shape.slice(axis));
      const source = tensor.data as Uint8Array;
      for (let o = 0; o < outer; o++) {
        for (let i = 0; i < width; i++) data[o * row + column + i] = source[o * width + i]!;
      }
      column += width;
    }
    return [{ type, shape, data }];
  },
};

function concatFacts(application: Application): Facts {
  const inputs = application.inputs();
  const type = commonType(application, inputs);
  const first = inputs[0]!.shape;
  const given = application.optionalNumber('axis');
  if (given === null) throw application.invalid('lacks its axis');
  const axis = application.axis(given, first.length);
  let side = 0;
  for (const { shape } of inputs) {
    if (shape.length !== first.length || shape.some((value, index) => index !== axis && value !== first[index])) {
      throw application.mismatch(`cannot join its inputs along axis ${axis}`);
    }
    side += shape[axis]!;
  }
  return { type, shape: first.map((value, index) => (index === axis ? side : value)) };
}

/** Sides: an attribute before opset 13, an input since; without, equal parts (since 18 the last may be smaller). */
const SPLIT: Operator = {
  op: 'Split',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    const { axis, sides } = splitPlan(application, shape);
    return sides.map((side) => ({ type, shape: shape.map((value, index) => (index === axis ? side : value)) }));
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const { axis, sides } = splitPlan(application, x.shape);
    const strides = stridesOf(x.shape);
    let start = 0;
    return sides.map((side) => {
      const shape = x.shape.map((value, index) => (index === axis ? side : value));
      const part = take(x, stridedIndices(shape, strides, start * strides[axis]!), shape);
      start += side;
      return part;
    });
  },
};

function splitPlan(application: Application, shape: readonly number[]): { axis: number; sides: readonly number[] } {
  const axis = application.axis(application.number('axis', 0), shape.length);
  const side = shape[axis]!;
  const given = application.opset < 13 ? application.numbers('split') : application.optionalIntegers(1);
  if (given !== null) {
    if (given.some((part) => part < 0) || given.reduce((sum, part) => sum + part, 0) !== side) {
      throw application.mismatch(`splits side ${side} of axis ${axis} into [${given.join(', ')}]`);
    }
    return { axis, sides: given };
  }
  const count = application.optionalNumber('num_outputs') ?? application.node.outputs.length;
  const part = Math.ceil(side / count);
  if (count < 1 || part * (count - 1) > side || (application.opset < 18 && side % count !== 0)) {
    throw application.mismatch(`cannot split side ${side} of axis ${axis} into ${count} parts`);
  }
  return { axis, sides: Array.from({ length: count }, (_, index) => Math.min(part, side - index * part)) };
}

const EXPAND: Operator = {
  op: 'Expand',
  sinceOpset: 8,
  infer: (application) => {
    const { type, shape } = application.input(0);
    return [{ type, shape: broadcastShapes(application, [shape, application.integers(1)]) }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    return [broadcastTo(x, broadcastShapes(application, [x.shape, application.integers(1)]))];
  },
};

const TILE: Operator = {
  op: 'Tile',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    return [{ type, shape: tiled(application, shape) }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const shape = tiled(application, x.shape);
    const strides = stridesOf(x.shape);
    // Each axis as [repeat, side]: the repeat has stride 0.
    const repeats = application.integers(1);
    const pairs = x.shape.flatMap((side, axis) => [repeats[axis]!, side]);
    const steps = x.shape.flatMap((_, axis) => [0, strides[axis]!]);
    return [take(x, stridedIndices(pairs, steps, 0), shape)];
  },
};

function tiled(application: Application, shape: readonly number[]): readonly number[] {
  const repeats = application.integers(1);
  if (repeats.length !== shape.length || repeats.some((repeat) => repeat < 0)) {
    throw application.mismatch(`repeats [${repeats.join(', ')}] times, for ${shape.length} axes`);
  }
  return shape.map((side, axis) => side * repeats[axis]!);
}

type PadMode = 'constant' | 'reflect' | 'edge' | 'wrap';

interface PadPlan {
  readonly mode: PadMode;
  readonly before: readonly number[];
  readonly shape: readonly number[];
}

/** pads and value: attributes before opset 11, inputs since; axes as a fourth input since 18. Negative pads crop. */
function padPlan(application: Application): PadPlan {
  const { shape } = application.input(0);
  const rank = shape.length;
  const pads = application.opset < 11 ? application.numbers('pads') : application.integers(1);
  if (pads === null) throw application.invalid('lacks its pads');
  const given = application.opset >= 18 ? application.optionalIntegers(3) : null;
  const axes = given === null ? shape.map((_, axis) => axis) : given.map((axis) => application.axis(axis, rank));
  if (pads.length !== 2 * axes.length) throw application.mismatch(`has ${pads.length} pads for ${axes.length} axes`);
  const before = new Array<number>(rank).fill(0);
  const after = new Array<number>(rank).fill(0);
  axes.forEach((axis, index) => {
    before[axis] = pads[index]!;
    after[axis] = pads[index + axes.length]!;
  });
  const mode = application.text('mode', 'constant');
  if (mode !== 'constant' && mode !== 'reflect' && mode !== 'edge' && mode !== 'wrap') {
    throw application.invalid(`has mode ${JSON.stringify(mode)}`);
  }
  const result = shape.map((side, axis) => side + before[axis]! + after[axis]!);
  result.forEach((side, axis) => {
    const least = mode === 'constant' || (before[axis]! <= 0 && after[axis]! <= 0) ? 0 : mode === 'reflect' ? 2 : 1;
    if (side < 0 || shape[axis]! < least)
      throw application.mismatch(`pads side ${shape[axis]} of axis ${axis} to ${side} (${mode})`);
  });
  return { mode, before, shape: result };
}

/** The position inside 0..side-1 that a padded position shows. */
function padSource(mode: Exclude<PadMode, 'constant'>, position: number, side: number): number {
  if (mode === 'edge') return Math.max(0, Math.min(side - 1, position));
  const modulo = (value: number, period: number): number => ((value % period) + period) % period;
  if (mode === 'wrap') return modulo(position, side);
  if (side === 1) return 0;
  const folded = modulo(position, 2 * (side - 1));
  return folded < side ? folded : 2 * (side - 1) - folded;
}

const PAD: Operator = {
  op: 'Pad',
  sinceOpset: 7,
  infer: (application) => [{ type: application.input(0).type, shape: padPlan(application).shape }],
  evaluate: (application) => {
    const x = application.tensor(0);
    const { mode, before, shape } = padPlan(application);
    const strides = stridesOf(x.shape);
    // For every axis: where each output position reads, -1 for the padding value.
    const sources = shape.map((side, axis) =>
      Array.from({ length: side }, (_, index) => {
        const position = index - before[axis]!;
        if (position >= 0 && position < x.shape[axis]!) return position;
        return mode === 'constant' ? -1 : padSource(mode, position, x.shape[axis]!);
      }),
    );
    const data = newArray(x.type, sizeOf(shape)) as Uint8Array;
    const fill = padValue(application, x);
    if (fill !== null) data.fill(fill);
    const coordinate = shape.map(() => 0);
    for (let i = 0; i < data.length; i++) {
      let from = 0;
      for (let axis = 0; axis < shape.length && from >= 0; axis++) {
        const source = sources[axis]![coordinate[axis]!]!;
        from = source < 0 ? -1 : from + source * strides[axis]!;
      }
      if (from >= 0) data[i] = (x.data as Uint8Array)[from]!;
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        if (++coordinate[axis]! < shape[axis]!) break;
        coordinate[axis] = 0;
      }
    }
    return [{ type: x.type, shape, data }];
  },
};

/** The padding value as the tensor stores it; null for its zero. */
function padValue(application: Application, x: Tensor): number | null {
  if (application.opset < 11) return application.number('value', 0);
  if (application.optional(2) === null) return null;
  const value = application.tensor(2);
  if (value.type !== x.type) throw application.invalid(`pads ${x.type} with a value of ${value.type}`);
  return (value.data as Uint8Array)[0] ?? null;
}

export const SHAPE: readonly Operator[] = [
  reshaping('Reshape', 7, reshapeShape),
  reshaping('Flatten', 7, flattenShape),
  reshaping('Squeeze', 7, squeezeShape),
  reshaping('Unsqueeze', 7, unsqueezeShape),
  IDENTITY,
  DROPOUT,
  TRANSPOSE,
  CONCAT,
  SPLIT,
  EXPAND,
  TILE,
  PAD,
];
