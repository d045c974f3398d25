/**
 * Constants that are left in a prepared model because they are quantised (DequantizeLinear of an initializer), and
 * what is computed from them alone. They become initializers; the integers and scales behind them are kept aside.
 */
import { evaluateModel } from '../onnx/evaluate-model.js';
import { float64sOf } from '../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../onnx/model.js';
import { numberAttribute } from './attributes.js';
import { positiveAxis } from './batch-axis.js';

/** A constant that the model gives as integers with a scale. */
export interface QuantisedConstant {
  readonly scale: Float64Array;
  /** Integers minus their zero point. */
  readonly integers: Float64Array;
  /** Axis of the scales where there are several. */
  readonly axis: number;
}

export interface FoldedModel {
  readonly model: PreparedModel;
  readonly quantisedConstants: ReadonlyMap<string, QuantisedConstant>;
}

export function foldConstants(model: PreparedModel): FoldedModel {
  const known = new Set(model.initializers.keys());
  const foldable: OnnxNode[] = [];
  for (const node of model.nodes) {
    if (!node.inputs.every((name) => name === '' || known.has(name))) continue;
    foldable.push(node);
    for (const name of node.outputs) known.add(name);
  }
  if (foldable.length === 0) return { model, quantisedConstants: new Map() };
  const computed = evaluateModel({ ...model, inputs: [], nodes: foldable }, new Map());
  const quantisedConstants = new Map<string, QuantisedConstant>();
  for (const node of foldable)
    if (node.op === 'DequantizeLinear') quantisedConstants.set(node.outputs[0]!, quantisedConstant(node, model));
  const nodes = model.nodes.filter((node) => !foldable.includes(node));
  const read = new Set(nodes.flatMap((node) => node.inputs));
  const initializers = new Map([...computed].filter(([name]) => read.has(name) && known.has(name)));
  return { model: { ...model, nodes, initializers }, quantisedConstants };
}

function quantisedConstant(node: OnnxNode, model: PreparedModel): QuantisedConstant {
  const [tensor, scale, zero] = node.inputs.map((name) => model.initializers.get(name));
  const { shape } = tensor!;
  const scales = float64sOf(scale!);
  const zeros = zero === undefined ? Float64Array.of(0) : float64sOf(zero);
  const axis = scales.length === 1 ? 0 : positiveAxis(numberAttribute(node, 'axis', 1), shape.length);
  const inner = shape.slice(axis + 1).reduce((product, side) => product * side, 1);
  const channel = (i: number): number => Math.floor(i / inner) % (shape[axis] ?? 1);
  const integers = float64sOf(tensor!).map((v, i) => v - zeros[zeros.length === 1 ? 0 : channel(i)]!);
  return { scale: scales, integers, axis };
}
