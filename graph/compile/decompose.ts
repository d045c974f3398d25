/**
 * Operators that are several integer nodes, as the ONNX nodes behind them. Calibration then measures what lies
 * between them, so that no intermediate is stored over the range of another value.
 *
 *   Sum, Min, Max of n operands   n - 1 nodes of two operands, constants last
 *   Mean                          Sum, then Div by n
 *   alpha A B + beta C            Gemm, Mul where both matrices depend on the input, Mul, Add; a Gemm whose C is one
 *                                 constant per output feature stays whole, since its layer takes C as a bias
 */
import type { AttributeValue, KnownValue, OnnxNode, PreparedModel } from '../onnx/model.js';
import { float64sOf, tensorFromNumbers } from '../onnx/numbers.js';
import { sizeOf, type ElementType } from '../tensor.js';
import { numberAttribute } from './attributes.js';

const VARIADIC: Readonly<Record<string, string>> = { Sum: 'Add', Mean: 'Add', Min: 'Min', Max: 'Max' };

/** The shape that both shapes broadcast to. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  const side = (shape: readonly number[], axis: number): number => shape[axis - (rank - shape.length)] ?? 1;
  return Array.from({ length: rank }, (_, axis) => Math.max(side(a, axis), side(b, axis)));
}

export function decompose(model: PreparedModel): PreparedModel {
  const values = new Map(model.values);
  const initializers = new Map(model.initializers);
  const nodes: OnnxNode[] = [];
  const constant = (name: string): boolean => initializers.has(name);
  const shapeOf = (name: string): readonly number[] => values.get(name)!.shape;
  const freeName = (wanted: string): string => {
    let name = wanted;
    for (let n = 2; values.has(name); n++) name = `${wanted}#${n}`;
    return name;
  };
  const define = (name: string, type: ElementType, shape: readonly number[]): string => {
    const info: KnownValue = { name: freeName(name), type, shape };
    values.set(info.name, info);
    return info.name;
  };
  const keep = (name: string, type: ElementType, shape: readonly number[], data: Float64Array): string => {
    const free = define(name, type, shape);
    initializers.set(free, tensorFromNumbers(type, shape, data));
    return free;
  };
  const scalar = (name: string, type: ElementType, value: number): string =>
    keep(name, type, [], Float64Array.of(value));
  const push = (from: OnnxNode, op: string, inputs: readonly string[], output: string): string => {
    const attributes = op === 'Gemm' ? from.attributes : new Map<string, AttributeValue>();
    nodes.push({ name: from.name, op, domain: from.domain, inputs, outputs: [output], attributes });
    return output;
  };

  const variadic = (node: OnnxNode): void => {
    const output = node.outputs[0]!;
    const { type } = values.get(output)!;
    const names = [...node.inputs.filter((name) => !constant(name)), ...node.inputs.filter(constant)];
    const mean = node.op === 'Mean';
    let running = names[0]!;
    names.slice(1).forEach((name, i) => {
      const last = !mean && i === names.length - 2;
      const shape = broadcastShape(shapeOf(running), shapeOf(name));
      const to = last ? output : define(`${output}:part${i + 1}`, type, shape);
      running = push(node, VARIADIC[node.op]!, [running, name], to);
    });
    if (mean) push(node, 'Div', [running, scalar(`${output}:count`, type, names.length)], output);
  };

  const gemm = (node: OnnxNode): void => {
    const [a, b, c] = node.inputs as [string, string, string?];
    const output = node.outputs[0]!;
    const { type, shape } = values.get(output)!;
    const activations = !constant(a) && !constant(b);
    const alpha = activations ? numberAttribute(node, 'alpha', 1) : 1;
    const beta = numberAttribute(node, 'beta', 1);
    const added = c !== undefined && c !== '' && beta !== 0;
    const step = (suffix: string): string => define(`${output}:${suffix}`, type, shape);
    const bare = activations ? new Map([...node.attributes].filter(([name]) => name !== 'alpha')) : node.attributes;
    let product = push({ ...node, attributes: bare }, 'Gemm', [a, b], alpha === 1 && !added ? output : step('product'));
    if (alpha !== 1)
      product = push(node, 'Mul', [product, scalar(`${output}:alpha`, type, alpha)], added ? step('scaled') : output);
    if (!added) return;
    const scaled = (): string => {
      const term = `${output}:term`;
      if (constant(c))
        return keep(
          term,
          type,
          shapeOf(c),
          float64sOf(initializers.get(c)!).map((v) => beta * v),
        );
      return push(node, 'Mul', [c, scalar(`${output}:beta`, type, beta)], define(term, type, shapeOf(c)));
    };
    push(node, 'Add', [product, beta === 1 ? c : scaled()], output);
  };

  /** A bias of the layer, which it takes in whole. */
  const isBias = (node: OnnxNode): boolean => {
    const [a, b, c] = node.inputs as [string, string, string?];
    if (!constant(a) && !constant(b)) return false;
    if (c === undefined || c === '' || numberAttribute(node, 'beta', 1) === 0) return true;
    return constant(b) && constant(c) && sizeOf(shapeOf(c)) === (shapeOf(c).at(-1) ?? 1);
  };

  for (const node of model.nodes) {
    const standard = node.domain === '' || node.domain === 'ai.onnx';
    if (standard && node.op in VARIADIC && node.inputs.length > (node.op === 'Mean' ? 1 : 2)) variadic(node);
    else if (standard && node.op === 'Gemm' && !isBias(node)) gemm(node);
    else nodes.push(node);
  }
  return { ...model, values, initializers, nodes };
}
