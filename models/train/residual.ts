import { sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** y = x + body(x); the body keeps the shape. ONNX: Add. */
export class Residual implements Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[];
  readonly macs: number;
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  constructor(
    private readonly name: string,
    private readonly body: Layer,
  ) {
    this.outputShape = body.outputShape;
    this.parameters = body.parameters;
    this.statistics = body.statistics;
    this.macs = body.macs;
  }

  forward(x: Float64Array, items: number, training: boolean): Float64Array {
    const inner = this.body.forward(x, items, training);
    this.y = sized(this.y, x.length);
    for (let i = 0; i < x.length; i++) this.y[i] = x[i]! + inner[i]!;
    return this.y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    const inner = this.body.backward(dy, items);
    this.dx = sized(this.dx, dy.length);
    for (let i = 0; i < dy.length; i++) this.dx[i] = dy[i]! + inner[i]!;
    return this.dx;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node('Add', this.name, [this.body.write(writer, input), input]);
  }
}
