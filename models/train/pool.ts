import { sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** Pooling of [C, H, W] by windows that tile it: side 2, stride 2; H and W even. */
const SIDE = 2;

/** Visits each output cell with the offset of the window's first input cell. */
function eachWindow(inputShape: Shape, items: number, visit: (output: number, input: number) => void): void {
  const [channels, height, width] = inputShape as [number, number, number];
  let output = 0;
  for (let plane = 0; plane < items * channels; plane++) {
    for (let row = 0; row < height; row += SIDE) {
      for (let column = 0; column < width; column += SIDE) visit(output++, (plane * height + row) * width + column);
    }
  }
}

abstract class Pool2x2 implements Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[] = [];
  readonly statistics: readonly Statistic[] = [];
  readonly macs = 0;
  protected y: Float64Array = new Float64Array(0);
  protected dx: Float64Array = new Float64Array(0);
  /** Offsets of a window's four cells from its first. */
  protected readonly cells: readonly number[];

  constructor(
    private readonly name: string,
    protected readonly inputShape: Shape,
    private readonly op: string,
  ) {
    const [channels, height, width] = inputShape as [number, number, number];
    this.outputShape = [channels, height / SIDE, width / SIDE];
    this.cells = [0, 1, width, width + 1];
  }

  abstract forward(x: Float64Array, items: number): Float64Array;
  abstract backward(dy: Float64Array, items: number): Float64Array;

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node(this.op, this.name, [input], { kernel_shape: [SIDE, SIDE], strides: [SIDE, SIDE] });
  }
}

export class AveragePool2x2 extends Pool2x2 {
  constructor(name: string, inputShape: Shape) {
    super(name, inputShape, 'AveragePool');
  }

  forward(x: Float64Array, items: number): Float64Array {
    this.y = sized(this.y, x.length / SIDE ** 2);
    eachWindow(this.inputShape, items, (output, first) => {
      let sum = 0;
      for (const cell of this.cells) sum += x[first + cell]!;
      this.y[output] = sum / SIDE ** 2;
    });
    return this.y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    this.dx = sized(this.dx, dy.length * SIDE ** 2);
    eachWindow(this.inputShape, items, (output, first) => {
      for (const cell of this.cells) this.dx[first + cell] = dy[output]! / SIDE ** 2;
    });
    return this.dx;
  }
}

export class MaxPool2x2 extends Pool2x2 {
  /** Input offset of the first largest cell of each window. */
  private chosen: Float64Array = new Float64Array(0);

  constructor(name: string, inputShape: Shape) {
    super(name, inputShape, 'MaxPool');
  }

  forward(x: Float64Array, items: number): Float64Array {
    this.y = sized(this.y, x.length / SIDE ** 2);
    this.chosen = sized(this.chosen, this.y.length);
    eachWindow(this.inputShape, items, (output, first) => {
      let best = first;
      for (const cell of this.cells) if (x[first + cell]! > x[best]!) best = first + cell;
      this.chosen[output] = best;
      this.y[output] = x[best]!;
    });
    return this.y;
  }

  backward(dy: Float64Array): Float64Array {
    this.dx = sized(this.dx, dy.length * SIDE ** 2).fill(0);
    for (let output = 0; output < dy.length; output++) this.dx[this.chosen[output]!] = dy[output]!;
    return this.dx;
  }
}

/** Mean of each channel: [C, H, W] -> [C, 1, 1]. */
export class GlobalAveragePool implements Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[] = [];
  readonly statistics: readonly Statistic[] = [];
  readonly macs = 0;
  private readonly places: number;
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    inputShape: Shape,
  ) {
    const [channels, height, width] = inputShape as [number, number, number];
    this.outputShape = [channels, 1, 1];
    this.places = height * width;
  }

  forward(x: Float64Array): Float64Array {
    this.y = sized(this.y, x.length / this.places).fill(0);
    for (let i = 0; i < x.length; i++) this.y[Math.floor(i / this.places)]! += x[i]! / this.places;
    return this.y;
  }

  backward(dy: Float64Array): Float64Array {
    this.dx = sized(this.dx, dy.length * this.places);
    for (let i = 0; i < this.dx.length; i++) this.dx[i] = dy[Math.floor(i / this.places)]! / this.places;
    return this.dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node('GlobalAveragePool', this.name, [input]);
  }
}
