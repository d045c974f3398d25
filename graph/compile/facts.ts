/**
 * What the lowering must know of a model before its first node: who reads what, which linear layers are published as
 * exact accumulators, which values must share a scale, and what is quantised already.
 */
import type { QuantisedConstant } from './fold-constants.js';
import { float64sOf } from '../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../onnx/model.js';

/** Quantisation parameters that stand in the model. */
export interface ModelQuantisation {
  readonly scale: Float64Array;
  readonly zeroPoint: Float64Array;
  /** Element type of the quantised tensor. */
  readonly type: string;
}

export interface ModelFacts {
  /** Reads of a value: node operands and graph outputs. */
  readonly reads: ReadonlyMap<string, number>;
  /** Values whose only way to a graph output is wiring and folding: their layer is published unrequantised. */
  readonly published: ReadonlySet<string>;
  /** The value whose statistics decide the scale of this one: operands of Concat follow its output. */
  readonly scaleOf: ReadonlyMap<string, string>;
  readonly quantisedConstants: ReadonlyMap<string, QuantisedConstant>;
  /** The quantisation that a graph input meets first, through wiring. */
  readonly inputQuantisation: ReadonlyMap<string, ModelQuantisation>;
  /** True where the model brings quantised operators. */
  readonly quantised: boolean;
}

const WIRING = new Set([
  'Reshape',
  'Flatten',
  'Transpose',
  'Squeeze',
  'Unsqueeze',
  'Identity',
  'Dropout',
  'Slice',
  'Cast',
]);
/** Operators that fold into a linear layer before them where their other operand is constant. */
const FOLDING = new Set(['Add', 'Sub', 'Mul', 'Div', 'BatchNormalization', 'Neg']);
/** Operators whose output has the scale of their first operand. */
const SCALE_KEEPING = new Set([...WIRING, 'MaxPool', 'GlobalMaxPool', 'Pad', 'Expand', 'Split']);
const QUANTISED = new Set([
  'QuantizeLinear',
  'DequantizeLinear',
  'QLinearConv',
  'QLinearMatMul',
  'ConvInteger',
  'MatMulInteger',
]);

export function modelFacts(
  model: PreparedModel,
  quantisedConstants: ReadonlyMap<string, QuantisedConstant>,
): ModelFacts {
  const reads = new Map<string, number>();
  const count = (name: string): void => void reads.set(name, (reads.get(name) ?? 0) + 1);
  for (const node of model.nodes) node.inputs.forEach(count);
  for (const output of model.outputs) count(output.name);
  return {
    reads,
    published: publishedValues(model),
    scaleOf: scaleGroups(model, reads),
    quantisedConstants,
    inputQuantisation: inputQuantisation(model),
    quantised: model.nodes.some((node) => QUANTISED.has(node.op)),
  };
}

function publishedValues(model: PreparedModel): Set<string> {
  const published = new Set(model.outputs.map((output) => output.name));
  for (const node of [...model.nodes].reverse()) {
    const operands = node.inputs.filter((name) => name !== '' && !model.initializers.has(name));
    const passes = WIRING.has(node.op) || (FOLDING.has(node.op) && operands.length === 1);
    if (passes && node.outputs.some((name) => published.has(name))) for (const name of operands) published.add(name);
  }
  return published;
}

function scaleGroups(model: PreparedModel, reads: ReadonlyMap<string, number>): Map<string, string> {
  const scaleOf = new Map<string, string>();
  for (const node of [...model.nodes].reverse()) {
    const output = node.outputs[0]!;
    const group = scaleOf.get(output) ?? output;
    if (node.op === 'Concat') {
      for (const name of node.inputs) if (!scaleOf.has(name) && !model.initializers.has(name)) scaleOf.set(name, group);
    } else if (SCALE_KEEPING.has(node.op) && scaleOf.has(output) && reads.get(node.inputs[0]!) === 1) {
      scaleOf.set(node.inputs[0]!, group);
    }
  }
  return scaleOf;
}

/** Quantisation parameters of a node's first operand, where constants give them. */
function operandQuantisation(
  node: OnnxNode,
  model: Pick<PreparedModel, 'initializers' | 'values'>,
): ModelQuantisation | null {
  const positions: Readonly<Record<string, readonly [number, number]>> = {
    QuantizeLinear: [1, 2],
    DequantizeLinear: [1, 2],
    QLinearConv: [1, 2],
    QLinearMatMul: [1, 2],
    ConvInteger: [-1, 2],
    MatMulInteger: [-1, 2],
  };
  const at = positions[node.op];
  if (at === undefined) return null;
  const scale = at[0] < 0 ? undefined : model.initializers.get(node.inputs[at[0]] ?? '');
  if (at[0] >= 0 && scale === undefined) return null;
  const zeroName = node.inputs[at[1]] ?? '';
  const zero = model.initializers.get(zeroName);
  if (zeroName !== '' && zero === undefined) return null;
  const quantisedName = node.op === 'QuantizeLinear' ? node.outputs[0]! : node.inputs[0]!;
  return {
    scale: scale === undefined ? Float64Array.of(1) : float64sOf(scale),
    zeroPoint: zero === undefined ? Float64Array.of(0) : float64sOf(zero),
    type: model.values.get(quantisedName)!.type,
  };
}

function inputQuantisation(model: PreparedModel): Map<string, ModelQuantisation> {
  const found = new Map<string, ModelQuantisation>();
  for (const input of model.inputs) {
    let names = new Set([input.name]);
    for (const node of model.nodes) {
      if (!names.has(node.inputs[0] ?? '')) continue;
      const quantisation = operandQuantisation(node, model);
      if (quantisation !== null && quantisation.scale.length === 1 && quantisation.zeroPoint.length === 1) {
        found.set(input.name, quantisation);
        break;
      }
      if (WIRING.has(node.op)) names = new Set([...names, ...node.outputs]);
    }
  }
  return found;
}
