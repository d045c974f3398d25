/**
 * A float32 graph as the ONNX model that its executor runs: every value but the inputs is a graph output. An output
 * pins its tensor: a runtime that fuses nodes (Conv and Relu, say) has to compute it all the same, as what its readers
 * read. Names: `slot` and the number of the value. The batch is the symbol N.
 */
import { writeOnnx, type AttributeValue, type OnnxNode } from '../../graph/onnx/index.js';
import { sizeOf, type Tensor } from '../../graph/tensor.js';
import type { Window2d } from '../../graph/integer/types.js';
import { isConstant, type FloatConstant, type FloatGraph, type FloatOperand } from './types.js';

/** Has every operator below in its last form. */
const OPSET = 17;

export const slotName = (value: number): string => `slot${value}`;

/** Bytes of the model; feeds and outputs are named by `slotName`. */
export function exportFloat(graph: FloatGraph): Uint8Array {
  const initializers = new Map<string, Tensor>();
  const nodes = graph.nodes.map((node, j): OnnxNode => {
    const value = graph.inputs.length + j;
    const constant = (part: string, { shape, data }: FloatConstant): string => {
      const name = `${slotName(value)}.${part}`;
      initializers.set(name, { type: 'float32', shape, data });
      return name;
    };
    const operand = (part: string, given: FloatOperand): string =>
      isConstant(given) ? constant(part, given) : slotName(given);
    const made = (op: string, inputs: string[], attributes: Record<string, AttributeValue> = {}): OnnxNode => ({
      name: `${op}_${value}`,
      op,
      domain: '',
      inputs,
      outputs: [slotName(value)],
      attributes: new Map(Object.entries(attributes)),
    });
    const shape = graph.values[value]!.shape;
    switch (node.kind) {
      case 'conv': {
        const inputs = [slotName(node.x), constant('weight', channelsFirst(node.weight))];
        if (node.bias !== null) inputs.push(constant('bias', node.bias));
        return made('Conv', inputs, { ...windowOf(node.window), dilations: node.window.dilations, group: node.groups });
      }
      case 'dense': {
        if (graph.values[node.x]!.shape.length !== 1)
          return made('MatMul', [slotName(node.x), constant('weight', transposed(node.weight))]);
        const inputs = [slotName(node.x), constant('weight', node.weight)];
        if (node.bias !== null) inputs.push(constant('bias', node.bias));
        return made('Gemm', inputs, { transB: 1 });
      }
      case 'averagePool': {
        const count = node.countsPadding ? 1 : 0;
        return made('AveragePool', [slotName(node.x)], { ...windowOf(node.window), count_include_pad: count });
      }
      case 'maxPool': {
        const attributes = { ...windowOf(node.window), dilations: node.window.dilations };
        return made('MaxPool', [slotName(node.x)], attributes);
      }
      case 'add':
      case 'sub':
      case 'mul':
        return made(BINARY[node.kind], [operand('a', node.a), operand('b', node.b)]);
      case 'relu':
        return made('Relu', [slotName(node.x)]);
      case 'reshape': {
        const name = `${slotName(value)}.shape`;
        // 0 keeps the batch.
        const sides = BigInt64Array.from([0, ...shape], BigInt);
        initializers.set(name, { type: 'int64', shape: [sides.length], data: sides });
        return made('Reshape', [slotName(node.x), name]);
      }
    }
  });
  const info = (value: number) =>
    ({ name: slotName(value), type: 'float32', shape: ['N', ...graph.values[value]!.shape] }) as const;
  return writeOnnx({
    name: graph.name,
    opset: OPSET,
    inputs: graph.inputs.map(({ value }) => info(value)),
    outputs: graph.nodes.map((_, j) => info(graph.inputs.length + j)),
    nodes,
    initializers,
  });
}

const BINARY: Readonly<Record<'add' | 'sub' | 'mul', string>> = { add: 'Add', sub: 'Sub', mul: 'Mul' };

function windowOf({ kernel, strides, pads }: Window2d): Record<string, AttributeValue> {
  return { kernel_shape: kernel, strides, pads };
}

/** [O, H, W, C] as [O, C, H, W]. */
function channelsFirst({ shape, data }: FloatConstant): FloatConstant {
  const [out, rows, columns, channels] = shape as [number, number, number, number];
  const plane = rows * columns;
  const made = new Float32Array(sizeOf(shape));
  for (let o = 0; o < out; o++)
    for (let i = 0; i < plane; i++)
      for (let c = 0; c < channels; c++) made[(o * channels + c) * plane + i] = data[(o * plane + i) * channels + c]!;
  return { shape: [out, channels, rows, columns], data: made };
}

function transposed({ shape, data }: FloatConstant): FloatConstant {
  const [rows, columns] = shape as [number, number];
  const made = data.map((_, i) => data[(i % rows) * columns + Math.floor(i / rows)]!);
  return { shape: [columns, rows], data: made };
}
