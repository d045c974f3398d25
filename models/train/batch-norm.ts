import { makeParameter, sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** Share of a new batch in the running statistics. */
const UPDATE_SHARE = 0.1;
const EPSILON = 1e-5;

/**
 * y = scale * (x - mean) / sqrt(variance + epsilon) + shift, per channel of [C, H, W]. Training takes mean and
 * variance of the batch and keeps running averages; inference takes those. ONNX: BatchNormalization.
 * Source: Ioffe and Szegedy, Batch Normalization, 2015, section 3 (forward and gradient).
 */
export class BatchNorm implements Layer {
  readonly outputShape: Shape;
  readonly scale: Parameter;
  readonly shift: Parameter;
  readonly parameters: readonly Parameter[];
  readonly mean: Float64Array;
  readonly variance: Float64Array;
  readonly statistics: readonly Statistic[];
  readonly macs = 0;
  private readonly inverseDeviation: Float64Array;
  private normalised: Float64Array = new Float64Array(0);
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    inputShape: Shape,
  ) {
    const channels = inputShape[0]!;
    this.outputShape = inputShape;
    this.scale = makeParameter(`${name}.scale`, [channels], new Float64Array(channels).fill(1), false);
    this.shift = makeParameter(`${name}.shift`, [channels], new Float64Array(channels), false);
    this.parameters = [this.scale, this.shift];
    this.mean = new Float64Array(channels);
    this.variance = new Float64Array(channels).fill(1);
    this.statistics = [
      { name: `${name}.mean`, value: this.mean },
      { name: `${name}.variance`, value: this.variance },
    ];
    this.inverseDeviation = new Float64Array(channels);
  }

  forward(x: Float64Array, items: number, training: boolean): Float64Array {
    const channels = this.mean.length;
    const places = x.length / items / channels;
    const count = items * places;
    const y = sized(this.y, x.length);
    const normalised = training ? sized(this.normalised, x.length) : null;
    for (let channel = 0; channel < channels; channel++) {
      let mean = this.mean[channel]!;
      let variance = this.variance[channel]!;
      if (training) {
        let sum = 0;
        for (let item = 0; item < items; item++) {
          const first = (item * channels + channel) * places;
          for (let cell = first; cell < first + places; cell++) sum += x[cell]!;
        }
        mean = sum / count;
        let squares = 0;
        for (let item = 0; item < items; item++) {
          const first = (item * channels + channel) * places;
          for (let cell = first; cell < first + places; cell++) squares += (x[cell]! - mean) * (x[cell]! - mean);
        }
        variance = squares / count;
        this.mean[channel]! += UPDATE_SHARE * (mean - this.mean[channel]!);
        this.variance[channel]! += UPDATE_SHARE * (variance - this.variance[channel]!);
      }
      const inverseDeviation = 1 / Math.sqrt(variance + EPSILON);
      const scale = this.scale.value[channel]!;
      const shift = this.shift.value[channel]!;
      this.inverseDeviation[channel] = inverseDeviation;
      for (let item = 0; item < items; item++) {
        const first = (item * channels + channel) * places;
        for (let cell = first; cell < first + places; cell++) {
          const normal = (x[cell]! - mean) * inverseDeviation;
          if (normalised !== null) normalised[cell] = normal;
          y[cell] = scale * normal + shift;
        }
      }
    }
    if (normalised !== null) this.normalised = normalised;
    this.y = y;
    return y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    const channels = this.mean.length;
    const places = dy.length / items / channels;
    const count = items * places;
    const { normalised } = this;
    const dx = sized(this.dx, dy.length);
    for (let channel = 0; channel < channels; channel++) {
      let sum = 0;
      let product = 0;
      for (let item = 0; item < items; item++) {
        const first = (item * channels + channel) * places;
        for (let cell = first; cell < first + places; cell++) {
          sum += dy[cell]!;
          product += dy[cell]! * normalised[cell]!;
        }
      }
      this.shift.gradient[channel]! += sum;
      this.scale.gradient[channel]! += product;
      // The batch's mean and variance depend on x too: their part of the gradient is the two subtracted averages.
      const factor = this.scale.value[channel]! * this.inverseDeviation[channel]!;
      const meanGradient = sum / count;
      const meanProduct = product / count;
      for (let item = 0; item < items; item++) {
        const first = (item * channels + channel) * places;
        for (let cell = first; cell < first + places; cell++) {
          dx[cell] = factor * (dy[cell]! - meanGradient - normalised[cell]! * meanProduct);
        }
      }
    }
    this.dx = dx;
    return dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    const channels = [this.mean.length];
    return writer.node(
      'BatchNormalization',
      this.name,
      [
        input,
        writer.parameter(this.scale),
        writer.parameter(this.shift),
        ...this.statistics.map(({ name, value }) => writer.constant(name, channels, value)),
      ],
      { epsilon: EPSILON },
    );
  }
}
