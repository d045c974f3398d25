import type { Layer, Parameter, Shape, Statistic } from './layer.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** Layers one after the other; at least one. */
export class Sequential implements Layer {
  readonly outputShape: Shape;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[];
  readonly macs: number;

  constructor(private readonly layers: readonly Layer[]) {
    this.outputShape = layers[layers.length - 1]!.outputShape;
    this.parameters = layers.flatMap((layer) => layer.parameters);
    this.statistics = layers.flatMap((layer) => layer.statistics);
    this.macs = layers.reduce((sum, layer) => sum + layer.macs, 0);
  }

  forward(x: Float64Array, items: number, training: boolean): Float64Array {
    return this.layers.reduce((value, layer) => layer.forward(value, items, training), x);
  }

  backward(dy: Float64Array, items: number): Float64Array {
    return this.layers.reduceRight((gradient, layer) => layer.backward(gradient, items), dy);
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return this.layers.reduce((value, layer) => layer.write(writer, value), input);
  }
}
