/** One pass over the nodes in topological order: types, shapes, and the values that are constants. */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../tensor.js';
import type { Tensor } from '../tensor.js';
import type { KnownValue, OnnxModel, OnnxNode } from './model.js';
import { Application } from './operators/operator.js';
import type { Operand } from './operators/operator.js';
import { operatorOf } from './operators/registry.js';
import { MAX_ELEMENTS } from './tensor-proto.js';

/** A node that Assay cannot evaluate. */
export interface UnsupportedNode {
  /** Name of the node. */
  readonly node: string;
  readonly op: string;
  readonly reason: string;
  readonly mend: string;
}

export interface Inference {
  /** Inputs, initializers and every node output that could be inferred. */
  readonly values: ReadonlyMap<string, KnownValue>;
  /** Initializers and every node output that is a constant. */
  readonly constants: ReadonlyMap<string, Tensor>;
  readonly unsupported: readonly UnsupportedNode[];
  /** The first other fault; what depends on it has no facts. */
  readonly fault: AssayError | null;
}

/** @param inputs the model's inputs, all dimensions bound. */
export function inferModel(model: OnnxModel, inputs: readonly KnownValue[]): Inference {
  const values = new Map<string, KnownValue>();
  const constants = new Map<string, Tensor>(model.initializers);
  const unsupported: UnsupportedNode[] = [];
  let fault: AssayError | null = null;
  for (const input of inputs) values.set(input.name, input);
  for (const [name, { type, shape }] of model.initializers) values.set(name, { name, type, shape });

  for (const node of model.nodes) {
    const operator = operatorOf(node, model.opset);
    if ('reason' in operator) {
      unsupported.push({ node: node.name, op: node.op, reason: operator.reason, mend: operator.mend });
      continue;
    }
    if (node.inputs.some((name) => name !== '' && !values.has(name))) continue; // hangs on a node that failed
    try {
      const application = new Application(node, model.opset, operandsOf(node, values, constants));
      const facts = operator.infer(application);
      node.outputs.forEach((name, index) => {
        if (name === '') return;
        const fact = facts[index];
        if (fact === undefined)
          throw application.invalid(`has ${node.outputs.length} outputs; the operator gives ${facts.length}`);
        if (!(sizeOf(fact.shape) <= MAX_ELEMENTS)) {
          throw application.mismatch(`gives [${fact.shape.join(', ')}]; at most ${MAX_ELEMENTS} elements are computed`);
        }
        values.set(name, { name, type: fact.type, shape: fact.shape });
      });
      const constant = node.inputs.every((name) => name === '' || constants.has(name));
      if ((constant && operator.keepsConstants !== true) || operator.shapeOnly === true) {
        const results = operator.evaluate(application);
        node.outputs.forEach((name, index) => {
          if (name !== '') constants.set(name, results[index]!);
        });
      }
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      if (error.code === 'ONNX_NODE_UNSUPPORTED') {
        unsupported.push({ node: node.name, op: node.op, reason: String(error.meta['reason']), mend: error.mend });
      } else {
        fault ??= error;
      }
      for (const name of node.outputs) values.delete(name);
    }
  }
  return { values, constants, unsupported, fault };
}

function operandsOf(
  node: OnnxNode,
  values: ReadonlyMap<string, KnownValue>,
  constants: ReadonlyMap<string, Tensor>,
): (Operand | null)[] {
  return node.inputs.map((name) => {
    if (name === '') return null;
    const { type, shape } = values.get(name)!;
    return { name, type, shape, value: constants.get(name) ?? null };
  });
}
