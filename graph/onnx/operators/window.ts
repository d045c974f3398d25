/** Geometry of a spatial window: what convolution and pooling share. One spatial axis is seen as one row of many columns. */
import type { Application } from './operator.js';

/** All pairs are [row, column]. */
export interface WindowPlan {
  readonly batch: number;
  readonly channels: number;
  readonly input: readonly [number, number];
  readonly output: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly strides: readonly [number, number];
  readonly dilations: readonly [number, number];
  /** Padding before the first row and column. */
  readonly begin: readonly [number, number];
  readonly end: readonly [number, number];
  /** Spatial part of the output's shape, with the node's own number of axes. */
  readonly outputSides: readonly number[];
}

export interface WindowOptions {
  /** Sides of the window, one per spatial axis. */
  readonly kernel: readonly number[];
  readonly ceilMode: boolean;
}

/**
 * Reads strides, dilations, pads and auto_pad of a node on an input [N, C, L] or [N, C, H, W].
 * @throws ONNX_SHAPE_MISMATCH, ONNX_INVALID; ONNX_NODE_UNSUPPORTED for three and more spatial axes.
 */
export function planWindow(application: Application, shape: readonly number[], options: WindowOptions): WindowPlan {
  const axes = shape.length - 2;
  if (axes < 1) throw application.mismatch('has an input without spatial axes; expected [N, C, L] or [N, C, H, W]');
  if (axes > 2) {
    throw application.unsupported(
      `it works on ${axes} spatial axes`,
      'Assay computes windows over one or two spatial axes.',
    );
  }
  const { kernel, ceilMode } = options;
  const list = (name: string, fallback: number, count: number, least: number): readonly number[] => {
    const values = application.numbers(name) ?? new Array<number>(count).fill(fallback);
    if (values.length !== count) throw application.invalid(`has ${values.length} ${name}; expected ${count}`);
    if (values.some((value) => value < least))
      throw application.invalid(`has ${name} [${values.join(', ')}]; expected at least ${least}`);
    return values;
  };
  if (kernel.length !== axes) throw application.mismatch(`has a window of ${kernel.length} axes`);
  if (kernel.some((side) => side < 1)) throw application.invalid(`has a window of [${kernel.join(', ')}]`);
  const strides = list('strides', 1, axes, 1);
  const dilations = list('dilations', 1, axes, 1);
  const explicit = list('pads', 0, 2 * axes, 0);
  const autoPad = application.text('auto_pad', 'NOTSET');

  const begin: number[] = [];
  const end: number[] = [];
  const output: number[] = [];
  for (let axis = 0; axis < axes; axis++) {
    const side = shape[axis + 2]!;
    const stride = strides[axis]!;
    const extent = (kernel[axis]! - 1) * dilations[axis]! + 1;
    let before = 0;
    let after = 0;
    let count: number;
    switch (autoPad) {
      case 'SAME_UPPER':
      case 'SAME_LOWER': {
        count = Math.ceil(side / stride);
        const total = Math.max(0, (count - 1) * stride + extent - side);
        before = autoPad === 'SAME_UPPER' ? Math.floor(total / 2) : Math.ceil(total / 2);
        after = total - before;
        break;
      }
      case 'NOTSET':
      case '':
      case 'VALID': {
        if (autoPad !== 'VALID') {
          before = explicit[axis]!;
          after = explicit[axis + axes]!;
        }
        const room = side + before + after - extent;
        count = (ceilMode ? Math.ceil(room / stride) : Math.floor(room / stride)) + 1;
        // A window that would begin beyond the input and the padding before it is dropped.
        if (ceilMode && (count - 1) * stride >= side + before) count--;
        break;
      }
      default:
        throw application.invalid(`has auto_pad = ${JSON.stringify(autoPad)}`);
    }
    if (count < 1)
      throw application.mismatch(
        `has a window of ${extent} over ${side + before + after} padded elements in spatial axis ${axis}`,
      );
    begin.push(before);
    end.push(after);
    output.push(count);
  }
  const pair = (values: readonly number[], missing: number): readonly [number, number] =>
    values.length === 1 ? [missing, values[0]!] : (values as unknown as readonly [number, number]);
  return {
    batch: shape[0]!,
    channels: shape[1]!,
    input: pair(shape.slice(2), 1),
    output: pair(output, 1),
    kernel: pair(kernel, 1),
    strides: pair(strides, 1),
    dilations: pair(dilations, 1),
    begin: pair(begin, 0),
    end: pair(end, 0),
    outputSides: output,
  };
}

/** The output positions at which window element `tap` lies inside the input: first, and one past the last. */
export function insideRange(plan: WindowPlan, axis: 0 | 1, tap: number): [number, number] {
  const shift = tap * plan.dilations[axis] - plan.begin[axis]; // input position = output position * stride + shift
  const stride = plan.strides[axis];
  const first = shift >= 0 ? 0 : Math.ceil(-shift / stride);
  const last = Math.floor((plan.input[axis] - 1 - shift) / stride);
  return [first, Math.min(plan.output[axis], last + 1)];
}
