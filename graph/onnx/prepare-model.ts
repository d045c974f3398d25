import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { assumedDimensions, bindDimensions } from './bind-dimensions.js';
import { inferModel } from './infer-model.js';
import type { Inference, UnsupportedNode } from './infer-model.js';
import type { KnownValue, OnnxModel, OnnxNode, PreparedModel } from './model.js';
import { UNKNOWN_SHAPE } from './read-onnx.js';

export interface PrepareOptions {
  /** Sizes of symbolic dimensions; an unbound batch is 1 (see `bindDimensions`). */
  readonly dims?: Readonly<Record<string, number>>;
}

/**
 * Binds every dimension, infers every type and shape, folds constants, and drops what computes nothing.
 *
 * - Nodes whose operands are all constants become initializers, also those that read a shape. DequantizeLinear
 *   stays, so that a quantised weight keeps its integers and scale.
 * - Identity, Dropout and Cast to the same type disappear; where such a node gives a graph output, its producer
 *   takes over the output's name (an Identity stays where the producer is a graph input or output itself).
 * - Nodes and initializers that no output needs disappear; outputs of a node that nobody reads become '' (but those of Split).
 *
 * @throws ONNX_NODE_UNSUPPORTED once, listing every unsupported node; ONNX_SHAPE_MISMATCH or ONNX_INVALID naming
 * the first node at fault; ONNX_DIMENSION_UNBOUND, ONNX_DIMENSION_INVALID.
 */
export function prepareModel(model: OnnxModel, options: PrepareOptions = {}): PreparedModel {
  const inputs = bindDimensions(model, options.dims ?? {});
  const inference = inferModel(model, inputs);
  if (inference.unsupported.length > 0) throw unsupportedError(inference.unsupported);
  if (inference.fault !== null) throw withAssumedSizes(inference.fault, model, options.dims ?? {});
  checkOutputs(model, inference.values);

  const { nodes, renamed } = dropIdle(model, inference);
  const live = prune(model, nodes);
  const initializers = usedConstants(model, live, inference.constants);
  const values = new Map<string, KnownValue>();
  const known = (name: string, original: string): KnownValue => ({ ...inference.values.get(original)!, name });
  for (const input of inputs) values.set(input.name, input);
  for (const name of initializers.keys()) values.set(name, known(name, name));
  for (const node of live) {
    for (const name of node.outputs) if (name !== '') values.set(name, known(name, renamed.get(name) ?? name));
  }
  const outputs = model.outputs.map(({ name }) => known(name, name));
  return { ...model, inputs, outputs, nodes: live, initializers, values };
}

/** Adds to a contradiction of shapes the dimensions that were taken as 1: one of them may be its cause. */
function withAssumedSizes(fault: AssayError, model: OnnxModel, dims: Readonly<Record<string, number>>): AssayError {
  const assumed = assumedDimensions(model, dims);
  if (fault.code !== 'ONNX_SHAPE_MISMATCH' || assumed.length === 0) return fault;
  const named = assumed.map((symbol) => JSON.stringify(symbol)).join(', ');
  return new AssayError(fault.code, `${fault.message} The open dimension ${named} was taken as 1.`, {
    mend: `Bind it to its real size: ${assumed.map((symbol) => `--dim ${symbol}=value`).join(' ')}; or export the model again.`,
    meta: { ...fault.meta, assumed },
    cause: fault,
  });
}

function unsupportedError(unsupported: readonly UnsupportedNode[]): AssayError {
  const lines = unsupported.map(
    ({ node, op, reason, mend }) => `- ${JSON.stringify(node)} (${op}): ${reason}. ${mend}`,
  );
  return new AssayError(
    'ONNX_NODE_UNSUPPORTED',
    `${unsupported.length === 1 ? 'A node is' : `${unsupported.length} nodes are`} not supported:\n${lines.join('\n')}`,
    { meta: { nodes: unsupported } },
  );
}

/** What the file says about its outputs must agree with what the nodes give. */
function checkOutputs(model: OnnxModel, values: ReadonlyMap<string, KnownValue>): void {
  for (const { name, type, shape } of model.outputs) {
    const found = values.get(name)!;
    if (found.type !== type) {
      throw new AssayError(
        'ONNX_INVALID',
        `The output ${JSON.stringify(name)} is declared ${type}; the nodes give ${found.type}.`,
        {
          meta: { value: name, expected: type, found: found.type },
        },
      );
    }
    if (shape === UNKNOWN_SHAPE) continue;
    const agrees =
      shape.length === found.shape.length &&
      shape.every((side, axis) => typeof side !== 'number' || side === found.shape[axis]);
    if (!agrees) {
      throw new AssayError(
        'ONNX_SHAPE_MISMATCH',
        `The output ${JSON.stringify(name)} is declared [${shape.map((side) => side ?? '?').join(', ')}]; the nodes give [${found.shape.join(', ')}].`,
        { meta: { value: name, expected: shape, found: found.shape } },
      );
    }
  }
}

/** Nodes that are neither constants nor idle; `renamed` gives the inferred name of a producer that took an output's name. */
function dropIdle(model: OnnxModel, inference: Inference): { nodes: OnnxNode[]; renamed: ReadonlyMap<string, string> } {
  const alias = new Map<string, string>();
  const origin = (name: string): string => alias.get(name) ?? name;
  const kept: OnnxNode[] = [];
  for (const node of model.nodes) {
    if (node.outputs.every((name) => name === '' || inference.constants.has(name))) continue;
    if (isIdle(node, model, inference)) alias.set(node.outputs[0]!, origin(node.inputs[0]!));
    else kept.push({ ...node, inputs: node.inputs.map(origin) });
  }
  const fixed = new Set([...model.inputs, ...model.outputs].map(({ name }) => name));
  const newName = new Map<string, string>();
  const copies: OnnxNode[] = [];
  for (const { name } of model.outputs) {
    const source = alias.get(name);
    if (source === undefined) continue;
    if (fixed.has(source) || newName.has(source)) {
      const idle = model.nodes.find((node) => node.outputs[0] === name)!;
      copies.push({ ...idle, op: 'Identity', inputs: [source], outputs: [name], attributes: new Map() });
    } else {
      newName.set(source, name);
    }
  }
  const rename = (name: string): string => newName.get(name) ?? name;
  const nodes = [...kept, ...copies].map((node) => ({
    ...node,
    inputs: node.inputs.map(rename),
    outputs: node.outputs.map(rename),
  }));
  return { nodes, renamed: new Map([...newName].map(([source, name]) => [name, source])) };
}

function isIdle(node: OnnxNode, model: OnnxModel, inference: Inference): boolean {
  if (node.op === 'Identity') return true;
  if (node.op === 'Cast' || node.op === 'CastLike') {
    return inference.values.get(node.inputs[0]!)!.type === inference.values.get(node.outputs[0]!)!.type;
  }
  return node.op === 'Dropout' && !isRead(node.outputs[1] ?? '', model);
}

function isRead(name: string, model: OnnxModel): boolean {
  if (name === '') return false;
  return model.outputs.some((output) => output.name === name) || model.nodes.some((node) => node.inputs.includes(name));
}

/** The nodes that some output needs, with unread outputs blanked. */
function prune(model: OnnxModel, nodes: readonly OnnxNode[]): OnnxNode[] {
  const needed = new Set(model.outputs.map(({ name }) => name));
  const live: OnnxNode[] = [];
  for (const node of [...nodes].reverse()) {
    if (!node.outputs.some((name) => needed.has(name))) continue;
    for (const name of node.inputs) needed.add(name);
    live.push(node);
  }
  return live.reverse().map((node) => {
    // The number of its outputs says how Split splits.
    if (node.op === 'Split') return node;
    const outputs = node.outputs.map((name) => (needed.has(name) ? name : ''));
    while (outputs[outputs.length - 1] === '') outputs.pop();
    return { ...node, outputs };
  });
}

/** Constants in the order of their first use; those that are graph outputs last. */
function usedConstants(
  model: OnnxModel,
  nodes: readonly OnnxNode[],
  constants: ReadonlyMap<string, Tensor>,
): Map<string, Tensor> {
  const used = new Map<string, Tensor>();
  const use = (name: string): void => {
    const tensor = constants.get(name);
    if (tensor !== undefined) used.set(name, tensor);
  };
  for (const node of nodes) node.inputs.forEach(use);
  for (const { name } of model.outputs) use(name);
  return used;
}
