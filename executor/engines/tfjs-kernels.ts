/** What the exact and the float lane of TensorFlow.js share. Image tensors here are [batch, row, column, channel]. */
import type * as tfjs from '@tensorflow/tfjs-core';
import type { EngineName } from '../engine.js';

export type TensorFlow = typeof tfjs;
export type Device = tfjs.Tensor;

export const TO_CHANNELS_LAST = [0, 2, 3, 1];
export const TO_CHANNELS_FIRST = [0, 3, 1, 2];

export interface TensorFlowRunner {
  readonly tf: TensorFlow;
  readonly name: EngineName;
  /** Makes the engine's backend the current one and runs `work`, which must be synchronous, before anything else. */
  readonly exclusively: <T>(work: () => T) => Promise<T>;
}

/** Weights on the device, made on first use and kept until the session closes. */
export class Constants {
  readonly #kept = new Map<string, Device>();

  constructor(readonly tf: TensorFlow) {}

  get(key: string, make: () => Device): Device {
    let tensor = this.#kept.get(key);
    if (tensor === undefined) {
      tensor = this.tf.keep(this.tf.tidy(make));
      this.#kept.set(key, tensor);
    }
    return tensor;
  }

  dispose(): void {
    for (const tensor of this.#kept.values()) tensor.dispose();
    this.#kept.clear();
  }
}

/** Runs `work` and frees every tensor made in it that was not kept; unlike tf.tidy, it may return anything. */
export function tidied<T>(tf: TensorFlow, work: () => T): T {
  tf.engine().startScope();
  try {
    return work();
  } finally {
    tf.engine().endScope();
  }
}

/** A window's movement over an image. */
export interface WindowSteps {
  readonly kernel: readonly [number, number];
  readonly strides: readonly [number, number];
  readonly dilations: readonly [number, number];
}

export interface Filter {
  readonly groups: number;
  readonly groupChannels: number;
  /** [row, column, channel, multiplier]; asked for where a group is one channel. */
  readonly depthwise: () => Device;
  /** [row, column, channel of the group, output of the group]. */
  readonly ofGroup: (group: number) => Device;
}

/** @param pads top, left, bottom, right. */
export function padSides(
  tf: TensorFlow,
  x: Device,
  pads: readonly [number, number, number, number],
  value: number,
): Device {
  const [top, left, bottom, right] = pads;
  if (top === 0 && left === 0 && bottom === 0 && right === 0) return x;
  return tf.pad(
    x,
    [
      [0, 0],
      [top, bottom],
      [left, right],
      [0, 0],
    ],
    value,
  );
}

/** Convolution of a padded image without bias. @param outSides rows and columns of the result. */
export function convolve(
  tf: TensorFlow,
  padded: Device,
  filter: Filter,
  steps: WindowSteps,
  outSides: readonly [number, number],
): Device {
  // TensorFlow convolves with a stride or with a dilation, not with both: then by stride 1, keeping every S-th pixel.
  const dilated = steps.dilations.some((dilation) => dilation > 1);
  const strides: [number, number] = dilated ? [1, 1] : [...steps.strides];
  const dilations: [number, number] = [...steps.dilations];
  const run = (image: Device, weight: Device): Device =>
    tf.conv2d(image as tfjs.Tensor4D, weight as tfjs.Tensor4D, strides, 'valid', 'NHWC', dilations);

  let y: Device;
  if (filter.groups === 1) {
    y = run(padded, filter.ofGroup(0));
  } else if (filter.groupChannels === 1) {
    const weight = filter.depthwise() as tfjs.Tensor4D;
    y = tf.depthwiseConv2d(padded as tfjs.Tensor4D, weight, strides, 'valid', 'NHWC', dilations);
  } else {
    const groups = Array.from({ length: filter.groups }, (_, group) => {
      const own = tf.slice(padded, [0, 0, 0, group * filter.groupChannels], [-1, -1, -1, filter.groupChannels]);
      return run(own, filter.ofGroup(group));
    });
    y = tf.concat(groups, 3);
  }
  return dilated ? everyPixel(tf, y, [0, 0], steps.strides, outSides) : y;
}

/** Folds the cells of a window together; each cell is a strided slice of the padded image. */
export function overWindow(
  tf: TensorFlow,
  padded: Device,
  steps: WindowSteps,
  outSides: readonly [number, number],
  fold: (a: Device, b: Device) => Device,
): Device {
  let folded: Device | null = null;
  for (let row = 0; row < steps.kernel[0]; row++) {
    for (let column = 0; column < steps.kernel[1]; column++) {
      const start = [row * steps.dilations[0], column * steps.dilations[1]] as const;
      const cell = everyPixel(tf, padded, start, steps.strides, outSides);
      folded = folded === null ? cell : fold(folded, cell);
    }
  }
  return folded!;
}

function everyPixel(
  tf: TensorFlow,
  x: Device,
  starts: readonly [number, number],
  steps: readonly [number, number],
  counts: readonly [number, number],
): Device {
  const rows = everyNth(tf, x, 1, starts[0], steps[0], counts[0]);
  return everyNth(tf, rows, 2, starts[1], steps[1], counts[1]);
}

/**
 * Elements start + i * step, 0 <= i < count, along one axis; step may be negative.
 * By gather, because stridedSlice of the wasm backend mistypes int32 tensors.
 */
export function everyNth(tf: TensorFlow, x: Device, axis: number, start: number, step: number, count: number): Device {
  if (step === 1 || count === 1) {
    if (start === 0 && count === x.shape[axis]) return x;
    const begin = x.shape.map((_, other) => (other === axis ? start : 0));
    const size = x.shape.map((side, other) => (other === axis ? count : side));
    return tf.slice(x, begin, size);
  }
  const indices = Int32Array.from({ length: count }, (_, index) => start + index * step);
  return tf.gather(x, tf.tensor1d(indices, 'int32'), axis);
}
