import type { SeededRandom } from '../random.js';
import { normalWeights } from './initialise.js';
import { makeParameter, sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import { addProduct, rowMajor, transposed } from './matrix.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

export interface Conv2dOptions {
  /** Side of the square kernel. */
  readonly kernel: number;
  readonly stride?: number;
  /** Zeros on each side. */
  readonly pad?: number;
  /** Groups of channels that do not mix; must divide both channel counts. */
  readonly groups?: number;
  /** False before a BatchNorm, whose shift takes the bias's place. */
  readonly bias?: boolean;
}

/**
 * Cross-correlation of [C, H, W] with weights [O, C / groups, kernel, kernel]; each item is unrolled to columns
 * (im2col) and multiplied. ONNX: Conv.
 */
export class Conv2d implements Layer {
  readonly outputShape: Shape;
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[] = [];
  readonly macs: number;
  private readonly kernel: number;
  private readonly stride: number;
  private readonly pad: number;
  private readonly groups: number;
  /** Products in one output: (C / groups) * kernel^2. */
  private readonly fanIn: number;
  /** Places of the output: OH * OW. */
  private readonly places: number;
  /** [C * kernel^2][places] of one item. */
  private readonly columns: Float64Array;
  private readonly columnGradient: Float64Array;
  private x: Float64Array = new Float64Array(0);
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    private readonly inputShape: Shape,
    outChannels: number,
    options: Conv2dOptions,
    random: SeededRandom,
  ) {
    const [channels, height, width] = inputShape as [number, number, number];
    this.kernel = options.kernel;
    this.stride = options.stride ?? 1;
    this.pad = options.pad ?? 0;
    this.groups = options.groups ?? 1;
    const outHeight = Math.floor((height + 2 * this.pad - this.kernel) / this.stride) + 1;
    const outWidth = Math.floor((width + 2 * this.pad - this.kernel) / this.stride) + 1;
    this.outputShape = [outChannels, outHeight, outWidth];
    this.places = outHeight * outWidth;
    this.fanIn = (channels / this.groups) * this.kernel ** 2;
    this.weight = makeParameter(
      `${name}.weight`,
      [outChannels, channels / this.groups, this.kernel, this.kernel],
      normalWeights(random, outChannels * this.fanIn, this.fanIn, 2),
      true,
    );
    this.bias =
      options.bias === false
        ? null
        : makeParameter(`${name}.bias`, [outChannels], new Float64Array(outChannels), false);
    this.parameters = this.bias === null ? [this.weight] : [this.weight, this.bias];
    this.macs = outChannels * this.places * this.fanIn;
    this.columns = new Float64Array(channels * this.kernel ** 2 * this.places);
    this.columnGradient = new Float64Array(this.columns.length);
  }

  forward(x: Float64Array, items: number): Float64Array {
    const [outChannels] = this.outputShape as [number, number, number];
    const { places, groups, fanIn } = this;
    const perGroup = outChannels / groups;
    const itemSize = x.length / items;
    this.x = x;
    this.y = sized(this.y, items * outChannels * places);
    for (let item = 0; item < items; item++) {
      for (let channel = 0; channel < outChannels; channel++) {
        const first = (item * outChannels + channel) * places;
        this.y.fill(this.bias === null ? 0 : this.bias.value[channel]!, first, first + places);
      }
      this.unroll(x, item * itemSize);
      for (let group = 0; group < groups; group++) {
        addProduct(
          rowMajor(this.weight.value, fanIn, group * perGroup * fanIn),
          rowMajor(this.columns, places, group * fanIn * places),
          rowMajor(this.y, places, (item * outChannels + group * perGroup) * places),
          perGroup,
          fanIn,
          places,
        );
      }
    }
    return this.y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    const [outChannels] = this.outputShape as [number, number, number];
    const { places, groups, fanIn } = this;
    const perGroup = outChannels / groups;
    const itemSize = this.x.length / items;
    this.dx = sized(this.dx, this.x.length).fill(0);
    for (let item = 0; item < items; item++) {
      this.unroll(this.x, item * itemSize);
      this.columnGradient.fill(0);
      for (let group = 0; group < groups; group++) {
        const outputGradient = rowMajor(dy, places, (item * outChannels + group * perGroup) * places);
        // dW += dy columns^T
        addProduct(
          outputGradient,
          transposed(rowMajor(this.columns, places, group * fanIn * places)),
          rowMajor(this.weight.gradient, fanIn, group * perGroup * fanIn),
          perGroup,
          places,
          fanIn,
        );
        // dcolumns = W^T dy
        addProduct(
          transposed(rowMajor(this.weight.value, fanIn, group * perGroup * fanIn)),
          outputGradient,
          rowMajor(this.columnGradient, places, group * fanIn * places),
          fanIn,
          perGroup,
          places,
        );
      }
      this.rollBack(item * itemSize);
    }
    if (this.bias !== null) {
      for (let row = 0; row < items * outChannels; row++) {
        let sum = 0;
        for (let place = row * places; place < (row + 1) * places; place++) sum += dy[place]!;
        this.bias.gradient[row % outChannels]! += sum;
      }
    }
    return this.dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    const inputs = [input, writer.parameter(this.weight)];
    if (this.bias !== null) inputs.push(writer.parameter(this.bias));
    return writer.node('Conv', this.name, inputs, {
      kernel_shape: [this.kernel, this.kernel],
      strides: [this.stride, this.stride],
      pads: [this.pad, this.pad, this.pad, this.pad],
      group: this.groups,
    });
  }

  /** columns[(c * kernel + ky) * kernel + kx][place] = the input cell under the kernel's cell, 0 outside. */
  private unroll(x: Float64Array, itemOffset: number): void {
    const { columns } = this;
    this.eachRow((inputRow, columnRow, from, to, outWidth, shift) => {
      columns.fill(0, columnRow, columnRow + outWidth);
      if (inputRow < 0) return;
      const base = itemOffset + inputRow + shift;
      for (let ox = from; ox < to; ox++) columns[columnRow + ox] = x[base + ox * this.stride]!;
    });
  }

  /** The transposed map of `unroll`: adds the columns' gradient to the input cells they were copied from. */
  private rollBack(itemOffset: number): void {
    const { columnGradient, dx } = this;
    this.eachRow((inputRow, columnRow, from, to, _outWidth, shift) => {
      if (inputRow < 0) return;
      const base = itemOffset + inputRow + shift;
      for (let ox = from; ox < to; ox++) dx[base + ox * this.stride]! += columnGradient[columnRow + ox]!;
    });
  }

  /**
   * Visits the output rows of every row of the columns matrix. The visitor gets: the offset of the input row in the
   * item, or -1 where it lies in the padding; the offset of the output row in the columns; the output columns
   * [from, to) whose input column shift + ox * stride lies inside; the length of an output row; the shift.
   */
  private eachRow(
    visit: (inputRow: number, columnRow: number, from: number, to: number, outWidth: number, shift: number) => void,
  ): void {
    const [channels, height, width] = this.inputShape as [number, number, number];
    const [, outHeight, outWidth] = this.outputShape as [number, number, number];
    const { kernel, stride, pad } = this;
    let columnRow = 0;
    for (let channel = 0; channel < channels; channel++) {
      for (let ky = 0; ky < kernel; ky++) {
        for (let kx = 0; kx < kernel; kx++) {
          const shift = kx - pad;
          const from = Math.max(0, Math.ceil(-shift / stride));
          const to = Math.min(outWidth, Math.floor((width - 1 - shift) / stride) + 1);
          for (let oy = 0; oy < outHeight; oy++) {
            const iy = oy * stride + ky - pad;
            visit(iy < 0 || iy >= height ? -1 : (channel * height + iy) * width, columnRow, from, to, outWidth, shift);
            columnRow += outWidth;
          }
        }
      }
    }
  }
}
