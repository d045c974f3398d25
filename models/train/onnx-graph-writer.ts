import { writeOnnx } from '../../graph/onnx/write-onnx.js';
import type { AttributeValue, OnnxNode } from '../../graph/onnx/model.js';
import type { Tensor } from '../../graph/tensor.js';
import type { Parameter, Shape } from './layer.js';

/** Version of the standard domain that the models are written for. */
const OPSET = 17;

/** Collects the nodes and constants of a model while its layers write themselves. */
export class OnnxGraphWriter {
  private readonly nodes: OnnxNode[] = [];
  private readonly initializers = new Map<string, Tensor>();

  /** Appends a node; returns the name of its only output. */
  node(op: string, name: string, inputs: readonly string[], attributes: Record<string, AttributeValue> = {}): string {
    const output = `${name}.out`;
    this.nodes.push({
      name,
      op,
      domain: '',
      inputs,
      outputs: [output],
      attributes: new Map(Object.entries(attributes)),
    });
    return output;
  }

  /** Adds a trained array as a float32 initializer; returns its name. */
  parameter({ name, shape, value }: Parameter): string {
    return this.constant(name, shape, value);
  }

  /** Adds an array as a float32 initializer; returns its name. */
  constant(name: string, shape: Shape, value: Float64Array): string {
    this.initializers.set(name, { type: 'float32', shape, data: Float32Array.from(value) });
    return name;
  }

  /**
   * The file: one input and one output, both float32 with the free batch dimension `N` in front of the item shape.
   * The last node's output gets the name of the model's output.
   */
  finish(
    modelName: string,
    input: { readonly name: string; readonly shape: Shape },
    output: { readonly name: string; readonly shape: Shape },
  ): Uint8Array {
    const last = this.nodes[this.nodes.length - 1]!;
    return writeOnnx({
      name: modelName,
      opset: OPSET,
      inputs: [{ name: input.name, type: 'float32', shape: ['N', ...input.shape] }],
      outputs: [{ name: output.name, type: 'float32', shape: ['N', ...output.shape] }],
      nodes: [...this.nodes.slice(0, -1), { ...last, outputs: [output.name] }],
      initializers: this.initializers,
    });
  }
}
