import type { SeededRandom } from '../random.js';
import { normalWeights } from './initialise.js';
import { makeParameter, sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/**
 * Cross-correlation of [C, H, W] with one square kernel per channel, weights [C, 1, kernel, kernel], no bias, zeros
 * around so that stride 1 keeps the sides (kernel odd). The same as a `Conv2d` of C groups, whose products are too thin
 * for a matrix product: here each weight scales and adds rows. ONNX: Conv with group C.
 */
export class DepthwiseConv2d implements Layer {
  readonly outputShape: Shape;
  readonly weight: Parameter;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[] = [];
  readonly macs: number;
  private readonly pad: number;
  private x: Float64Array = new Float64Array(0);
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    private readonly inputShape: Shape,
    private readonly kernel: number,
    private readonly stride: number,
    random: SeededRandom,
  ) {
    const [channels, height, width] = inputShape as [number, number, number];
    this.pad = (kernel - 1) / 2;
    this.outputShape = [channels, Math.floor((height - 1) / stride) + 1, Math.floor((width - 1) / stride) + 1];
    const weights = normalWeights(random, channels * kernel ** 2, kernel ** 2, 2);
    this.weight = makeParameter(`${name}.weight`, [channels, 1, kernel, kernel], weights, true);
    this.parameters = [this.weight];
    this.macs = channels * this.outputShape[1]! * this.outputShape[2]! * kernel ** 2;
  }

  forward(x: Float64Array, items: number): Float64Array {
    const [channels, outHeight, outWidth] = this.outputShape as [number, number, number];
    const { stride } = this;
    const weight = this.weight.value;
    const y = sized(this.y, items * channels * outHeight * outWidth).fill(0);
    this.eachRow(items, (cell, xStart, yStart, from, to) => {
      const factor = weight[cell]!;
      for (let ox = from; ox < to; ox++) y[yStart + ox]! += factor * x[xStart + ox * stride]!;
    });
    this.x = x;
    this.y = y;
    return y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    const { x, stride } = this;
    const weight = this.weight.value;
    const weightGradient = this.weight.gradient;
    const dx = sized(this.dx, x.length).fill(0);
    this.eachRow(items, (cell, xStart, yStart, from, to) => {
      const factor = weight[cell]!;
      let sum = 0;
      for (let ox = from; ox < to; ox++) {
        const gradient = dy[yStart + ox]!;
        sum += gradient * x[xStart + ox * stride]!;
        dx[xStart + ox * stride]! += gradient * factor;
      }
      weightGradient[cell]! += sum;
    });
    this.dx = dx;
    return dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node('Conv', this.name, [input, writer.parameter(this.weight)], {
      kernel_shape: [this.kernel, this.kernel],
      strides: [this.stride, this.stride],
      pads: [this.pad, this.pad, this.pad, this.pad],
      group: this.inputShape[0]!,
    });
  }

  /**
   * Visits every pair of kernel cell and output row whose input row lies inside. For output columns ox in [from, to)
   * the input lies inside too: output at yStart + ox, input at xStart + ox * stride. `cell` indexes the weights.
   */
  private eachRow(
    items: number,
    visit: (cell: number, xStart: number, yStart: number, from: number, to: number) => void,
  ): void {
    const [channels, height, width] = this.inputShape as [number, number, number];
    const [, outHeight, outWidth] = this.outputShape as [number, number, number];
    const { kernel, stride, pad } = this;
    for (let plane = 0; plane < items * channels; plane++) {
      for (let ky = 0; ky < kernel; ky++) {
        for (let kx = 0; kx < kernel; kx++) {
          const cell = ((plane % channels) * kernel + ky) * kernel + kx;
          const shift = kx - pad;
          const from = Math.max(0, Math.ceil(-shift / stride));
          const to = Math.min(outWidth, Math.floor((width - 1 - shift) / stride) + 1);
          for (let oy = 0; oy < outHeight; oy++) {
            const iy = oy * stride + ky - pad;
            if (iy < 0 || iy >= height) continue;
            visit(cell, (plane * height + iy) * width + shift, (plane * outHeight + oy) * outWidth, from, to);
          }
        }
      }
    }
  }
}
