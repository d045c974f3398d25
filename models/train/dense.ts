import { sizeOf } from '../../graph/tensor.js';
import type { SeededRandom } from '../random.js';
import { normalWeights } from './initialise.js';
import { makeParameter, sized, type Layer, type Parameter, type Shape, type Statistic } from './layer.js';
import { addProduct, rowMajor, transposed } from './matrix.js';
import type { OnnxGraphWriter } from './onnx-graph-writer.js';

/** y = W x + b, with W of shape [outFeatures, inFeatures]. ONNX: Gemm with transB. */
export class Dense implements Layer {
  readonly outputShape: Shape;
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly parameters: readonly Parameter[];
  readonly statistics: readonly Statistic[] = [];
  readonly macs: number;
  private readonly inFeatures: number;
  private x: Float64Array = new Float64Array(0);
  private y: Float64Array = new Float64Array(0);
  private dx: Float64Array = new Float64Array(0);

  /** @param gain of the initial weights' variance, see `normalWeights`. */
  constructor(
    private readonly name: string,
    inputShape: Shape,
    private readonly outFeatures: number,
    random: SeededRandom,
    gain = 2,
  ) {
    const inFeatures = sizeOf(inputShape);
    this.inFeatures = inFeatures;
    this.outputShape = [outFeatures];
    const weights = normalWeights(random, outFeatures * inFeatures, inFeatures, gain);
    this.weight = makeParameter(`${name}.weight`, [outFeatures, inFeatures], weights, true);
    this.bias = makeParameter(`${name}.bias`, [outFeatures], new Float64Array(outFeatures), false);
    this.parameters = [this.weight, this.bias];
    this.macs = outFeatures * inFeatures;
  }

  forward(x: Float64Array, items: number): Float64Array {
    this.x = x;
    this.y = sized(this.y, items * this.outFeatures);
    for (let item = 0; item < items; item++) this.y.set(this.bias.value, item * this.outFeatures);
    addProduct(
      rowMajor(x, this.inFeatures),
      transposed(rowMajor(this.weight.value, this.inFeatures)),
      rowMajor(this.y, this.outFeatures),
      items,
      this.inFeatures,
      this.outFeatures,
    );
    return this.y;
  }

  backward(dy: Float64Array, items: number): Float64Array {
    const { inFeatures, outFeatures } = this;
    const outputGradient = rowMajor(dy, outFeatures);
    // dW += dy^T x
    addProduct(
      transposed(outputGradient),
      rowMajor(this.x, inFeatures),
      rowMajor(this.weight.gradient, inFeatures),
      outFeatures,
      items,
      inFeatures,
    );
    for (let i = 0; i < dy.length; i++) this.bias.gradient[i % outFeatures]! += dy[i]!;
    // dx = dy W
    this.dx = sized(this.dx, items * inFeatures).fill(0);
    addProduct(
      outputGradient,
      rowMajor(this.weight.value, inFeatures),
      rowMajor(this.dx, inFeatures),
      items,
      outFeatures,
      inFeatures,
    );
    return this.dx;
  }

  /** Makes a layer that was trained on (x - mean) / deviation compute the same from x. */
  foldStandardisation({ mean, deviation }: { readonly mean: Float64Array; readonly deviation: Float64Array }): void {
    const weight = this.weight.value;
    for (let i = 0; i < weight.length; i++) {
      const feature = i % this.inFeatures;
      weight[i]! /= deviation[feature]!;
      this.bias.value[Math.floor(i / this.inFeatures)]! -= weight[i]! * mean[feature]!;
    }
  }

  write(writer: OnnxGraphWriter, input: string): string {
    return writer.node('Gemm', this.name, [input, writer.parameter(this.weight), writer.parameter(this.bias)], {
      transB: 1,
    });
  }
}
