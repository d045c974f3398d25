import { sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** An elementwise function whose derivative is a function of its value. */
abstract class Activation implements Layer {
  readonly parameters: readonly Parameter[] = [];
  readonly statistics: readonly Statistic[] = [];
  readonly macs = 0;
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    readonly outputShape: Shape,
    private readonly op: string,
  ) {}

  protected abstract value(x: number): number;
  protected abstract slope(y: number): number;

  forward(x: Float64Array): Float64Array {
    const y = sized(this.y, x.length);
    for (let i = 0; i < x.length; i++) y[i] = this.value(x[i]!);
    this.y = y;
    return y;
  }

  backward(dy: Float64Array): Float64Array {
    const { y } = this;
    const dx = sized(this.dx, dy.length);
    for (let i = 0; i < dy.length; i++) dx[i] = dy[i]! * this.slope(y[i]!);
    this.dx = dx;
    return dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node(this.op, this.name, [input]);
  }
}

export class Relu extends Activation {
  constructor(name: string, shape: Shape) {
    super(name, shape, 'Relu');
  }

  protected value(x: number): number {
    return x > 0 ? x : 0;
  }

  protected slope(y: number): number {
    return y > 0 ? 1 : 0;
  }
}

export class Tanh extends Activation {
  constructor(name: string, shape: Shape) {
    super(name, shape, 'Tanh');
  }

  protected value(x: number): number {
    return Math.tanh(x);
  }

  protected slope(y: number): number {
    return 1 - y * y;
  }
}
