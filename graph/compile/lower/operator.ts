/** What a lowering of an ONNX operator is. */
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import type { Lowering } from '../lowering.js';
import type { Problem } from '../refusal.js';

export interface OperatorLowering {
  /** Whether the node can be lowered, from shapes, attributes and constants alone. */
  readonly check: (node: OnnxNode, model: PreparedModel) => Problem;
  /** Sets the node's outputs in `lowering.values`; returns what it became, for the report. */
  readonly lower: (node: OnnxNode, lowering: Lowering) => string;
}

export type OperatorTable = Readonly<Record<string, OperatorLowering>>;

export const accepted = (): Problem => null;

export function isConstant(model: PreparedModel, name: string | undefined): name is string {
  return name !== undefined && model.initializers.has(name);
}

export function shapeOf(model: PreparedModel, name: string): readonly number[] {
  return model.values.get(name)!.shape;
}

/** The operands at the positions must be constants, where they are given. */
export function constantOperands(node: OnnxNode, model: PreparedModel, positions: readonly number[]): Problem {
  for (const position of positions) {
    const name = node.inputs[position];
    if (name === undefined || name === '' || isConstant(model, name)) continue;
    return {
      reason: `operand ${position} ('${name}') depends on the input, but the integer graph needs it constant`,
      mend: 'Export the model with this operand as an initializer.',
    };
  }
  return null;
}

/** True where only nodes of these operators read the value, and no output is it. */
export function onlyReadBy(model: PreparedModel, name: string, operators: readonly string[]): boolean {
  if (model.outputs.some((output) => output.name === name)) return false;
  return model.nodes.every((node) => !node.inputs.includes(name) || operators.includes(node.op));
}
