/** Operators that pick elements by position: Slice, Gather, GatherElements. */
import { stridesOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { AssayError } from '../../../common/errors.js';
import { integersOf } from '../numbers.js';
import { around, stridedIndices, take } from './indexing.js';
import type { Application, Operator } from './operator.js';

interface SlicePlan {
  readonly starts: readonly number[];
  readonly steps: readonly number[];
  readonly shape: readonly number[];
}

/** starts, ends, axes: attributes before opset 10, inputs (with steps) since. Bounds are clamped, negative ones count from the end. */
function slicePlan(application: Application): SlicePlan {
  const { shape } = application.input(0);
  const attributes = application.opset < 10;
  const starts = attributes ? application.numbers('starts') : application.integers(1);
  const ends = attributes ? application.numbers('ends') : application.integers(2);
  if (starts === null || ends === null) throw application.invalid('lacks its starts or ends');
  const axes =
    (attributes ? application.numbers('axes') : application.optionalIntegers(3)) ?? starts.map((_, axis) => axis);
  const steps = (attributes ? null : application.optionalIntegers(4)) ?? starts.map(() => 1);
  if (ends.length !== starts.length || axes.length !== starts.length || steps.length !== starts.length) {
    throw application.mismatch('has starts, ends, axes and steps of different lengths');
  }
  application.axes(axes, shape.length);
  const plan = { starts: shape.map(() => 0), steps: shape.map(() => 1), shape: [...shape] };
  axes.forEach((given, index) => {
    const axis = application.axis(given, shape.length);
    const side = shape[axis]!;
    const step = steps[index]!;
    if (step === 0) throw application.invalid('has a step of 0');
    const bound = (value: number, least: number, most: number): number => {
      const counted = value < 0 ? value + side : value;
      return Math.max(least, Math.min(most, counted));
    };
    const start = step > 0 ? bound(starts[index]!, 0, side) : bound(starts[index]!, 0, side - 1);
    const end = step > 0 ? bound(ends[index]!, 0, side) : bound(ends[index]!, -1, side - 1);
    plan.starts[axis] = start;
    plan.steps[axis] = step;
    plan.shape[axis] = Math.max(0, Math.ceil((end - start) / step));
  });
  return plan;
}

const SLICE: Operator = {
  op: 'Slice',
  sinceOpset: 7,
  infer: (application) => [{ type: application.input(0).type, shape: slicePlan(application).shape }],
  evaluate: (application) => {
    const x = application.tensor(0);
    const { starts, steps, shape } = slicePlan(application);
    const strides = stridesOf(x.shape);
    const offset = starts.reduce((sum, start, axis) => sum + start * strides[axis]!, 0);
    return [
      take(
        x,
        stridedIndices(
          shape,
          strides.map((stride, axis) => stride * steps[axis]!),
          offset,
        ),
        shape,
      ),
    ];
  },
};

const GATHER: Operator = {
  op: 'Gather',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    const axis = application.axis(application.number('axis', 0), shape.length);
    requireIndices(application, application.input(1).type);
    return [{ type, shape: [...shape.slice(0, axis), ...application.input(1).shape, ...shape.slice(axis + 1)] }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const chosen = application.tensor(1);
    const axis = application.axis(application.number('axis', 0), x.shape.length);
    const { outer, side, inner } = around(x.shape, axis);
    const positions = resolved(application, chosen, side);
    const map = new Int32Array(outer * positions.length * inner);
    let to = 0;
    for (let o = 0; o < outer; o++) {
      for (const position of positions) {
        for (let i = 0; i < inner; i++) map[to++] = (o * side + position) * inner + i;
      }
    }
    return [take(x, map, [...x.shape.slice(0, axis), ...chosen.shape, ...x.shape.slice(axis + 1)])];
  },
};

const GATHER_ELEMENTS: Operator = {
  op: 'GatherElements',
  sinceOpset: 11,
  infer: (application) => {
    const x = application.input(0);
    const indices = application.input(1);
    const axis = application.axis(application.number('axis', 0), x.shape.length);
    requireIndices(application, indices.type);
    if (
      indices.shape.length !== x.shape.length ||
      indices.shape.some((side, index) => index !== axis && side > x.shape[index]!)
    ) {
      throw application.mismatch('has indices that reach beyond its input');
    }
    return [{ type: x.type, shape: indices.shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    const chosen = application.tensor(1);
    const axis = application.axis(application.number('axis', 0), x.shape.length);
    const strides = stridesOf(x.shape);
    const positions = resolved(application, chosen, x.shape[axis]!);
    const map = stridedIndices(
      chosen.shape,
      strides.map((stride, index) => (index === axis ? 0 : stride)),
      0,
    );
    for (let i = 0; i < map.length; i++) map[i]! += positions[i]! * strides[axis]!;
    return [take(x, map, chosen.shape)];
  },
};

function requireIndices(application: Application, type: Tensor['type']): void {
  if (type !== 'int64' && type !== 'int32')
    throw application.invalid(`has indices of ${type}; expected int64 or int32`);
}

/** Indices in 0..side-1, negative ones counted from the end. */
function resolved(application: Application, indices: Tensor, side: number): number[] {
  return integersOf(indices).map((index) => {
    if (index < -side || index >= side) {
      throw new AssayError(
        'ONNX_INPUT_INVALID',
        `Node ${JSON.stringify(application.node.name)} (${application.node.op}) is given the index ${index}; its axis has ${side} elements.`,
        { mend: 'Check the input that carries indices.', meta: { node: application.node.name, found: index, side } },
      );
    }
    return index < 0 ? index + side : index;
  });
}

export const SELECTION: readonly Operator[] = [SLICE, GATHER, GATHER_ELEMENTS];
