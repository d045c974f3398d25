/**
 * A float model by TensorFlow.js operators, node by node in the order of the prepared model.
 *
 * The prepared model gives every shape, so shape-computing nodes are constants by now and reshaping nodes take the
 * inferred shape of their output. Images go to channels-last for convolution and pooling and come back; 1-D ones are
 * seen as images of height 1. float64 is computed in float32, the widest type that TensorFlow.js has.
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../../graph/index.js';
import type { KnownValue, OnnxModel, OnnxNode, PreparedModel, Tensor } from '../../graph/index.js';
import type { FloatSession } from '../engine.js';
import { predictFloatBytes } from '../session-size.js';
import { prepareFor } from './prepare-for.js';
import {
  Constants,
  convolve,
  everyNth,
  overWindow,
  padSides,
  tidied,
  TO_CHANNELS_FIRST,
  TO_CHANNELS_LAST,
} from './tfjs-kernels.js';
import type { Device, TensorFlow, TensorFlowRunner, WindowSteps } from './tfjs-kernels.js';

type Apply = (node: OnnxNode, run: FloatRun) => Device | Device[];

export async function loadFloatTfjs(
  runner: TensorFlowRunner,
  bytes: Uint8Array,
  model: OnnxModel,
): Promise<FloatSession> {
  refuseUnsupported(model);
  const prepared = prepareFor(model);
  const constants = new Map<PreparedModel, Constants>();
  return {
    sizeBytes: predictFloatBytes(bytes),
    run: async (inputs) => {
      const bound = prepared(inputs);
      let kept = constants.get(bound);
      if (kept === undefined) constants.set(bound, (kept = new Constants(runner.tf)));
      const own = kept;
      return runner.exclusively(() => tidied(runner.tf, () => new FloatRun(runner.tf, bound, own).all(inputs)));
    },
    close: () =>
      runner.exclusively(() => {
        for (const kept of constants.values()) kept.dispose();
        constants.clear();
      }),
  };
}

/** @throws AssayError ONNX_NODE_UNSUPPORTED naming every such node at once. */
function refuseUnsupported(model: OnnxModel): void {
  const refused = model.nodes.filter((node) => node.domain !== '' || !(OPERATORS.has(node.op) || FOLDED.has(node.op)));
  if (refused.length === 0) return;
  const list = refused.map(({ name, op }) => `${name} (${op})`).join(', ');
  throw new AssayError('ONNX_NODE_UNSUPPORTED', `TensorFlow.js cannot run these nodes of ${model.name}: ${list}`, {
    mend: 'Run the model on an onnxruntime engine.',
    meta: { nodes: refused.map(({ name, op }) => ({ node: name, op })) },
  });
}

class FloatRun {
  readonly #values = new Map<string, Device>();

  constructor(
    readonly tf: TensorFlow,
    readonly model: PreparedModel,
    readonly constants: Constants,
  ) {}

  all(inputs: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    for (const { name } of this.model.inputs) this.#values.set(name, this.#upload(name, inputs.get(name)!));
    for (const node of this.model.nodes) {
      const apply = OPERATORS.get(node.op);
      if (apply === undefined) throw this.unsupported(node, 'its operands are not constant');
      const results = [apply(node, this)].flat();
      node.outputs.forEach((name, index) => {
        if (name === '') return;
        if (results[index] === undefined) throw this.unsupported(node, `its output ${index} (${name})`);
        this.#values.set(name, results[index]);
      });
    }
    return new Map(this.model.outputs.map((output): [string, Tensor] => [output.name, this.#download(output)]));
  }

  /** The operand at `index` on the device. @throws AssayError ONNX_INVALID where it is omitted. */
  operand(node: OnnxNode, index: number): Device {
    const name = node.inputs[index] ?? '';
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    const constant = this.model.initializers.get(name);
    if (constant === undefined) {
      throw new AssayError('ONNX_INVALID', `node ${node.name} (${node.op}): operand ${index} is missing`);
    }
    return this.constants.get(name, () => this.#upload(name, constant));
  }

  has(node: OnnxNode, index: number): boolean {
    return (node.inputs[index] ?? '') !== '';
  }

  /** A constant operand as numbers; null where it is omitted. @throws AssayError where it is computed at run time. */
  numbers(node: OnnxNode, index: number): number[] | null {
    if (!this.has(node, index)) return null;
    const constant = this.model.initializers.get(node.inputs[index]!);
    if (constant === undefined) throw this.unsupported(node, `its operand ${index}, which is not constant,`);
    return Array.from(constant.data as ArrayLike<number | bigint>, Number);
  }

  shape(node: OnnxNode, output = 0): number[] {
    return [...this.model.values.get(node.outputs[output]!)!.shape];
  }

  /** A weight derived from a constant or computed operand, kept on the device where it is constant. */
  derived(node: OnnxNode, index: number, key: string, make: (weight: Device) => Device): Device {
    const name = node.inputs[index]!;
    if (!this.model.initializers.has(name)) return make(this.operand(node, index));
    const weight = this.operand(node, index);
    return this.constants.get(`${name}/${key}`, () => make(weight));
  }

  unsupported(node: OnnxNode, what: string): AssayError {
    return new AssayError('ONNX_NODE_UNSUPPORTED', `TensorFlow.js cannot run node ${node.name} (${node.op}): ${what}`, {
      mend: 'Run the model on an onnxruntime engine.',
      meta: { node: node.name, op: node.op },
    });
  }

  #upload(name: string, tensor: Tensor): Device {
    const shape = [...tensor.shape];
    switch (tensor.type) {
      case 'float32':
        return this.tf.tensor(tensor.data as Float32Array, shape, 'float32');
      case 'float64':
        return this.tf.tensor(Float32Array.from(tensor.data as Float64Array), shape, 'float32');
      case 'bool':
        return this.tf.tensor(tensor.data as Uint8Array, shape, 'bool');
      case 'int8':
      case 'uint8':
      case 'int16':
      case 'uint16':
      case 'int32':
        return this.tf.tensor(Int32Array.from(tensor.data as ArrayLike<number>), shape, 'int32');
      case 'int64':
        return this.tf.tensor(Int32Array.from(tensor.data as BigInt64Array, Number), shape, 'int32');
      default:
        throw new AssayError('ENGINE_FAILED', `tensor ${name}: TensorFlow.js has no element type ${tensor.type}`);
    }
  }

  #download({ name, type, shape }: KnownValue): Tensor {
    const constant = this.model.initializers.get(name);
    if (constant !== undefined && !this.#values.has(name)) return constant;
    const data = this.#values.get(name)!.dataSync();
    switch (type) {
      case 'float32':
        return { type, shape, data: Float32Array.from(data) };
      case 'float64':
        return { type, shape, data: Float64Array.from(data) };
      case 'int32':
        return { type, shape, data: Int32Array.from(data) };
      case 'int64':
        return { type, shape, data: BigInt64Array.from(data as ArrayLike<number>, BigInt) };
      case 'bool':
        return { type, shape, data: Uint8Array.from(data) };
      default:
        throw new AssayError('ENGINE_FAILED', `output ${name}: TensorFlow.js cannot give element type ${type}`);
    }
  }
}

function numberAttribute(node: OnnxNode, name: string, fallback: number): number {
  return (node.attributes.get(name) as number | undefined) ?? fallback;
}

function textAttribute(node: OnnxNode, name: string, fallback: string): string {
  return (node.attributes.get(name) as string | undefined) ?? fallback;
}

function listAttribute(node: OnnxNode, name: string): readonly number[] | null {
  return (node.attributes.get(name) as readonly number[] | undefined) ?? null;
}

function positiveAxis(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

const unary =
  (apply: (tf: TensorFlow, x: Device, node: OnnxNode) => Device): Apply =>
  (node, run) =>
    apply(run.tf, run.operand(node, 0), node);

const fold =
  (apply: (tf: TensorFlow, a: Device, b: Device) => Device): Apply =>
  (node, run) =>
    node.inputs
      .map((_, index) => run.operand(node, index))
      .reduce((a, b) => {
        // Element types meet before the operator, as ONNX has them equal and TensorFlow.js may not after a cast.
        const [x, y] = a.dtype === b.dtype ? [a, b] : [run.tf.cast(a, 'float32'), run.tf.cast(b, 'float32')];
        return apply(run.tf, x, y);
      });

const reshaped: Apply = (node, run) => run.tf.reshape(run.operand(node, 0), run.shape(node));

const reduce =
  (apply: (tf: TensorFlow, x: Device, axes: number[], keep: boolean) => Device): Apply =>
  (node, run) => {
    const x = run.operand(node, 0);
    const given = run.numbers(node, 1) ?? listAttribute(node, 'axes');
    if ((given === null || given.length === 0) && numberAttribute(node, 'noop_with_empty_axes', 0) === 1) return x;
    const axes =
      given === null || given.length === 0
        ? x.shape.map((_, axis) => axis)
        : given.map((axis) => positiveAxis(axis, x.rank));
    // Of nothing TensorFlow.js gives what its memory holds.
    if (x.size === 0) throw run.unsupported(node, 'an operand without elements');
    return run.tf.reshape(apply(run.tf, x, axes, true), run.shape(node));
  };

/** A window's sides for an operand [N, C, ...spatial] with one or two spatial axes, seen as two. */
interface Geometry extends WindowSteps {
  readonly pads: readonly [number, number, number, number];
  readonly outSides: readonly [number, number];
  /** Input sides. */
  readonly sides: readonly [number, number];
}

function geometry(node: OnnxNode, run: FloatRun, x: Device, kernel: readonly number[]): Geometry {
  const spatial = x.rank - 2;
  if (spatial !== 1 && spatial !== 2) throw run.unsupported(node, `an operand of rank ${x.rank} (expected 3 or 4)`);
  const two = <T>(values: readonly T[], leading: T): [T, T] =>
    spatial === 1 ? [leading, values[0]!] : [values[0]!, values[1]!];
  const strides = two(listAttribute(node, 'strides') ?? [1, 1], 1);
  const dilations = two(listAttribute(node, 'dilations') ?? [1, 1], 1);
  const sides = two(x.shape.slice(2), 1);
  const outSides = two(run.shape(node).slice(2), 1);
  const kernelSides = two(kernel, 1);
  const before: number[] = [];
  const after: number[] = [];
  const given = listAttribute(node, 'pads') ?? new Array<number>(2 * spatial).fill(0);
  const autoPad = textAttribute(node, 'auto_pad', 'NOTSET');
  for (let axis = 0; axis < 2; axis++) {
    const reach = (outSides[axis]! - 1) * strides[axis]! + (kernelSides[axis]! - 1) * dilations[axis]! + 1;
    const needed = Math.max(0, reach - sides[axis]!);
    if (autoPad === 'SAME_UPPER' || autoPad === 'SAME_LOWER') {
      before.push(autoPad === 'SAME_UPPER' ? Math.floor(needed / 2) : Math.ceil(needed / 2));
      after.push(needed - before[axis]!);
    } else {
      const begin = autoPad === 'VALID' ? 0 : two(given.slice(0, spatial), 0)[axis]!;
      const end = autoPad === 'VALID' ? 0 : two(given.slice(spatial), 0)[axis]!;
      before.push(begin);
      // With ceil_mode the last window may reach beyond the padding.
      after.push(Math.max(end, reach - sides[axis]! - begin));
    }
  }
  return {
    kernel: kernelSides,
    strides,
    dilations,
    sides,
    outSides,
    pads: [before[0]!, before[1]!, after[0]!, after[1]!],
  };
}

function toImage(tf: TensorFlow, x: Device): Device {
  const image = x.rank === 3 ? tf.reshape(x, [x.shape[0]!, x.shape[1]!, 1, x.shape[2]!]) : x;
  return tf.transpose(image, TO_CHANNELS_LAST);
}

function fromImage(node: OnnxNode, run: FloatRun, image: Device): Device {
  return run.tf.reshape(run.tf.transpose(image, TO_CHANNELS_FIRST), run.shape(node));
}

const conv: Apply = (node, run) => {
  const { tf } = run;
  const x = run.operand(node, 0);
  const weightShape = run.operand(node, 1).shape;
  const groups = numberAttribute(node, 'group', 1);
  const [outChannels, groupChannels] = weightShape as [number, number];
  const at = geometry(node, run, x, weightShape.slice(2));
  const [height, width] = at.kernel;
  const groupOutputs = outChannels / groups;
  const image = padSides(tf, toImage(tf, x), at.pads, 0);
  const y = convolve(
    tf,
    image,
    {
      groups,
      groupChannels,
      depthwise: () =>
        run.derived(node, 1, 'depthwise', (weight) =>
          tf.transpose(tf.reshape(weight, [groups, groupOutputs, height, width]), [2, 3, 0, 1]),
        ),
      ofGroup: (group) =>
        run.derived(node, 1, `group${group}`, (weight) => {
          const all = tf.reshape(weight, [outChannels, groupChannels, height, width]);
          return tf.transpose(tf.slice(all, [group * groupOutputs, 0, 0, 0], [groupOutputs, -1, -1, -1]), [2, 3, 1, 0]);
        }),
    },
    at,
    at.outSides,
  );
  return fromImage(node, run, run.has(node, 2) ? tf.add(y, run.operand(node, 2)) : y);
};

const maxPool: Apply = (node, run) => {
  const { tf } = run;
  const x = run.operand(node, 0);
  const at = geometry(node, run, x, listAttribute(node, 'kernel_shape') ?? []);
  const image = padSides(tf, toImage(tf, x), at.pads, -Infinity);
  return fromImage(
    node,
    run,
    overWindow(tf, image, at, at.outSides, (a, b) => tf.maximum(a, b)),
  );
};

const averagePool: Apply = (node, run) => {
  const { tf } = run;
  const x = run.operand(node, 0);
  const at = geometry(node, run, x, listAttribute(node, 'kernel_shape') ?? []);
  const sum = overWindow(tf, padSides(tf, toImage(tf, x), at.pads, 0), at, at.outSides, (a, b) => tf.add(a, b));

  // Cells that count: those over the operand, and over the file's padding if it says so; never those that only
  // ceil_mode reaches.
  const includePad = numberAttribute(node, 'count_include_pad', 0) === 1;
  const given = listAttribute(node, 'pads');
  const spatial = x.rank - 2;
  const counts = ([0, 1] as const).map((axis) => {
    const end = given === null ? at.pads[axis + 2]! : (given.slice(spatial).at(axis - 2 + spatial) ?? 0);
    const [lo, hi] = includePad ? [-at.pads[axis]!, at.sides[axis]! + end] : [0, at.sides[axis]!];
    return Array.from({ length: at.outSides[axis] }, (_, out) => {
      let count = 0;
      for (let k = 0; k < at.kernel[axis]; k++) {
        const position = out * at.strides[axis] - at.pads[axis]! + k * at.dilations[axis];
        if (position >= lo && position < hi) count++;
      }
      return count;
    });
  });
  const cells = Float32Array.from(counts[0]!.flatMap((rows) => counts[1]!.map((columns) => rows * columns)));
  return fromImage(node, run, tf.div(sum, tf.tensor(cells, [1, ...at.outSides, 1])));
};

const overSpatialAxes =
  (apply: (tf: TensorFlow, x: Device, axes: number[]) => Device): Apply =>
  (node, run) => {
    const x = run.operand(node, 0);
    return run.tf.reshape(
      apply(
        run.tf,
        x,
        x.shape.map((_, axis) => axis).filter((axis) => axis >= 2),
      ),
      run.shape(node),
    );
  };

const gemm: Apply = (node, run) => {
  const { tf } = run;
  const [alpha, beta] = [numberAttribute(node, 'alpha', 1), numberAttribute(node, 'beta', 1)];
  const transposeA = numberAttribute(node, 'transA', 0) === 1;
  const transposeB = numberAttribute(node, 'transB', 0) === 1;
  let y: Device = tf.matMul(run.operand(node, 0), run.operand(node, 1), transposeA, transposeB);
  if (alpha !== 1) y = tf.mul(y, alpha);
  if (!run.has(node, 2)) return y;
  const c = run.operand(node, 2);
  return tf.add(y, beta === 1 ? c : tf.mul(c, beta));
};

const matMul: Apply = (node, run) => {
  const { tf } = run;
  let [a, b] = [run.operand(node, 0), run.operand(node, 1)];
  if (a.rank === 1) a = tf.reshape(a, [1, a.shape[0]!]);
  if (b.rank === 1) b = tf.reshape(b, [b.shape[0]!, 1]);
  return tf.reshape(tf.matMul(a, b), run.shape(node));
};

const batchNormalization: Apply = (node, run) => {
  const { tf } = run;
  const x = run.operand(node, 0);
  const perChannel = (index: number): Device =>
    tf.reshape(run.operand(node, index), [1, x.shape[1] ?? 1, ...new Array<number>(Math.max(0, x.rank - 2)).fill(1)]);
  const deviation = tf.sqrt(tf.add(perChannel(4), numberAttribute(node, 'epsilon', 1e-5)));
  const normal = tf.div(tf.sub(x, perChannel(3)), deviation);
  return tf.add(tf.mul(normal, perChannel(1)), perChannel(2));
};

const clip: Apply = (node, run) => {
  const { tf } = run;
  let x = run.operand(node, 0);
  const lo = run.has(node, 1) ? run.operand(node, 1) : ((node.attributes.get('min') as number | undefined) ?? null);
  const hi = run.has(node, 2) ? run.operand(node, 2) : ((node.attributes.get('max') as number | undefined) ?? null);
  if (lo !== null) x = tf.maximum(x, lo);
  if (hi !== null) x = tf.minimum(x, hi);
  return x;
};

const softmax =
  (apply: (tf: TensorFlow, x: Device) => Device): Apply =>
  (node, run) => {
    const { tf } = run;
    const x = run.operand(node, 0);
    const old = run.model.opset < 13;
    const axis = positiveAxis(numberAttribute(node, 'axis', old ? 1 : -1), x.rank);
    if (old) {
      const rows = sizeOf(x.shape.slice(0, axis));
      return tf.reshape(apply(tf, tf.reshape(x, [rows, -1])), x.shape);
    }
    // TensorFlow.js works along the last axis: swap it there and back.
    const order = x.shape.map((_, index) => (index === axis ? x.rank - 1 : index === x.rank - 1 ? axis : index));
    return tf.transpose(apply(tf, tf.transpose(x, order)), order);
  };

const slice: Apply = (node, run) => {
  const x = run.operand(node, 0);
  const starts = run.numbers(node, 1) ?? listAttribute(node, 'starts') ?? [];
  const axes = run.numbers(node, 3) ?? listAttribute(node, 'axes') ?? starts.map((_, i) => i);
  const steps = run.numbers(node, 4) ?? starts.map(() => 1);
  const outShape = run.shape(node);
  return axes.reduce((value, given, index) => {
    const axis = positiveAxis(given, x.rank);
    const side = x.shape[axis]!;
    const step = steps[index]!;
    const start = positiveAxis(starts[index]!, side);
    const first = step > 0 ? Math.min(Math.max(start, 0), side) : Math.min(Math.max(start, 0), side - 1);
    return everyNth(run.tf, value, axis, first, step, outShape[axis]!);
  }, x);
};

const split: Apply = (node, run) => {
  const x = run.operand(node, 0);
  const axis = positiveAxis(numberAttribute(node, 'axis', 0), x.rank);
  let start = 0;
  return node.outputs.map((_, output) => {
    const size = run.shape(node, output)[axis]!;
    const part = everyNth(run.tf, x, axis, start, 1, size);
    start += size;
    return part;
  });
};

const pad: Apply = (node, run) => {
  const { tf } = run;
  const x = run.operand(node, 0);
  const mode = textAttribute(node, 'mode', 'constant');
  if (mode !== 'constant') throw run.unsupported(node, `padding of mode ${mode}`);
  const given = run.numbers(node, 1) ?? listAttribute(node, 'pads') ?? [];
  const value = run.numbers(node, 2)?.[0] ?? numberAttribute(node, 'value', 0);
  const axes = run.numbers(node, 3)?.map((axis) => positiveAxis(axis, x.rank)) ?? x.shape.map((_, axis) => axis);
  const widths = x.shape.map((): [number, number] => [0, 0]);
  axes.forEach((axis, index) => (widths[axis] = [given[index]!, given[index + axes.length]!]));
  // Negative padding crops.
  const grown = tf.pad(
    x,
    widths.map(([before, after]): [number, number] => [Math.max(0, before), Math.max(0, after)]),
    value,
  );
  const begin = widths.map(([before]) => Math.max(0, -before));
  return tf.slice(grown, begin, run.shape(node));
};

const argMax: Apply = (node, run) => {
  if (numberAttribute(node, 'select_last_index', 0) === 1) throw run.unsupported(node, 'select_last_index');
  const x = run.operand(node, 0);
  return run.tf.reshape(run.tf.argMax(x, positiveAxis(numberAttribute(node, 'axis', 0), x.rank)), run.shape(node));
};

const cast: Apply = (node, run) => {
  const { type } = run.model.values.get(node.outputs[0]!)!;
  const x = run.operand(node, 0);
  if (type === 'float32' || type === 'float64') return run.tf.cast(x, 'float32');
  if (type === 'int32' || type === 'int64') return run.tf.cast(x, 'int32');
  if (type === 'bool') return run.tf.cast(x, 'bool');
  throw run.unsupported(node, `a cast to ${type}`);
};

const hardSigmoid = (tf: TensorFlow, x: Device, alpha: number, beta: number): Device =>
  tf.clipByValue(tf.add(tf.mul(x, alpha), beta), 0, 1);

const OPERATORS: ReadonlyMap<string, Apply> = new Map<string, Apply>([
  ['Abs', unary((tf, x) => tf.abs(x))],
  ['Add', fold((tf, a, b) => tf.add(a, b))],
  ['ArgMax', argMax],
  ['AveragePool', averagePool],
  ['BatchNormalization', batchNormalization],
  ['Cast', cast],
  ['Ceil', unary((tf, x) => tf.ceil(x))],
  ['Clip', clip],
  [
    'Concat',
    (node, run) => {
      const xs = node.inputs.map((_, index) => run.operand(node, index));
      return xs.length === 1 ? xs[0]! : run.tf.concat(xs, positiveAxis(numberAttribute(node, 'axis', 0), xs[0]!.rank));
    },
  ],
  ['Conv', conv],
  ['Div', fold((tf, a, b) => tf.div(a, b))],
  ['Dropout', unary((_, x) => x)],
  [
    'Elu',
    unary((tf, x, node) => {
      const below = tf.mul(tf.expm1(tf.minimum(x, 0)), numberAttribute(node, 'alpha', 1));
      return tf.where(tf.greater(x, 0), x, below);
    }),
  ],
  ['Erf', unary((tf, x) => tf.erf(x))],
  ['Exp', unary((tf, x) => tf.exp(x))],
  ['Expand', (node, run) => run.tf.broadcastTo(run.operand(node, 0), run.shape(node))],
  ['Flatten', reshaped],
  ['Floor', unary((tf, x) => tf.floor(x))],
  ['Gemm', gemm],
  ['GlobalAveragePool', overSpatialAxes((tf, x, axes) => tf.mean(x, axes))],
  ['GlobalMaxPool', overSpatialAxes((tf, x, axes) => tf.max(x, axes))],
  [
    'HardSigmoid',
    unary((tf, x, node) => hardSigmoid(tf, x, numberAttribute(node, 'alpha', 0.2), numberAttribute(node, 'beta', 0.5))),
  ],
  ['HardSwish', unary((tf, x) => tf.mul(x, hardSigmoid(tf, x, 1 / 6, 0.5)))],
  ['Identity', unary((_, x) => x)],
  ['LeakyRelu', unary((tf, x, node) => tf.leakyRelu(x, numberAttribute(node, 'alpha', 0.01)))],
  ['Log', unary((tf, x) => tf.log(x))],
  ['LogSoftmax', softmax((tf, x) => tf.logSoftmax(x))],
  ['MatMul', matMul],
  ['Max', fold((tf, a, b) => tf.maximum(a, b))],
  ['MaxPool', maxPool],
  ['Min', fold((tf, a, b) => tf.minimum(a, b))],
  ['Mul', fold((tf, a, b) => tf.mul(a, b))],
  ['Neg', unary((tf, x) => tf.neg(x))],
  ['Pad', pad],
  ['Pow', fold((tf, a, b) => tf.pow(a, b))],
  ['ReduceMax', reduce((tf, x, axes, keep) => tf.max(x, axes, keep))],
  ['ReduceMean', reduce((tf, x, axes, keep) => tf.mean(x, axes, keep))],
  ['ReduceMin', reduce((tf, x, axes, keep) => tf.min(x, axes, keep))],
  ['ReduceSum', reduce((tf, x, axes, keep) => tf.sum(x, axes, keep))],
  ['Relu', unary((tf, x) => tf.relu(x))],
  ['Reshape', reshaped],
  ['Sigmoid', unary((tf, x) => tf.sigmoid(x))],
  ['Slice', slice],
  ['Softmax', softmax((tf, x) => tf.softmax(x))],
  ['Softplus', unary((tf, x) => tf.softplus(x))],
  ['Split', split],
  ['Sqrt', unary((tf, x) => tf.sqrt(x))],
  ['Squeeze', reshaped],
  ['Sub', fold((tf, a, b) => tf.sub(a, b))],
  ['Sum', fold((tf, a, b) => tf.add(a, b))],
  ['Tanh', unary((tf, x) => tf.tanh(x))],
  [
    'Transpose',
    (node, run) => {
      const x = run.operand(node, 0);
      const reversed = x.shape.map((_, axis) => x.rank - 1 - axis);
      return run.tf.transpose(x, [...(listAttribute(node, 'perm') ?? reversed)]);
    },
  ],
  ['Unsqueeze', reshaped],
]);

/** Operators that preparation turns into constants in every model that TensorFlow.js can run. */
const FOLDED: ReadonlySet<string> = new Set(['Constant', 'ConstantOfShape', 'Gather', 'Range', 'Shape', 'Size']);
