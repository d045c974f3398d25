import { sizeOf } from '../../graph/tensor.js';
import type { Layer, Parameter, Shape, Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** Any item shape as one axis; moves nothing. */
export class Flatten implements Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[] = [];
  readonly statistics: readonly Statistic[] = [];
  readonly macs = 0;

  constructor(
    private readonly name: string,
    inputShape: Shape,
  ) {
    this.outputShape = [sizeOf(inputShape)];
  }

  forward(x: Float64Array): Float64Array {
    return x;
  }

  backward(dy: Float64Array): Float64Array {
    return dy;
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node('Flatten', this.name, [input], { axis: 1 });
  }
}
