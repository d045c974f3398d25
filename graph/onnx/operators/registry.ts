/** All operators of the standard domain that Assay evaluates. */
import type { OnnxNode } from '../model.js';
import { ACTIVATIONS } from './activations.js';
import { ARITHMETIC } from './arithmetic.js';
import { unknownAttributes } from './attributes.js';
import { CONSTANTS } from './constants.js';
import { CONVOLUTION } from './convolution.js';
import { LINEAR } from './linear.js';
import { LOGIC } from './logic.js';
import { NORMALIZATION } from './normalization.js';
import type { Operator } from './operator.js';
import { POOLING } from './pooling.js';
import { QUANTIZATION } from './quantization.js';
import { REDUCTIONS } from './reductions.js';
import { SELECTION } from './selection.js';
import { SHAPE } from './shape.js';
import { SOFTMAX } from './softmax.js';

export const FAMILIES = [
  ACTIVATIONS,
  ARITHMETIC,
  CONSTANTS,
  CONVOLUTION,
  LINEAR,
  LOGIC,
  NORMALIZATION,
  POOLING,
  QUANTIZATION,
  REDUCTIONS,
  SELECTION,
  SHAPE,
  SOFTMAX,
];

/** By operator name. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map(
  FAMILIES.flat().map((operator) => [operator.op, operator]),
);

/** Why no operator here serves a node, or the operator. */
export function operatorOf(
  node: OnnxNode,
  opset: number,
): Operator | { readonly reason: string; readonly mend: string } {
  if (node.domain !== '') {
    return {
      reason: `the operator domain ${JSON.stringify(node.domain)} is not known`,
      mend: 'Export the model with operators of the standard domain (ai.onnx) only.',
    };
  }
  const operator = OPERATORS.get(node.op);
  if (operator === undefined) {
    return {
      reason: `the operator ${node.op} is not known`,
      mend: 'Express it by other operators before the export; docs list those that are known.',
    };
  }
  if (opset < operator.sinceOpset) {
    return {
      reason: `the operator ${node.op} exists since opset ${operator.sinceOpset}; the model has opset ${opset}`,
      mend: `Export the model with opset ${operator.sinceOpset} or later.`,
    };
  }
  const unknown = unknownAttributes(node.op, node.attributes.keys());
  if (unknown.length > 0) {
    return {
      reason: `it has ${unknown.map((name) => JSON.stringify(name)).join(', ')}, no attribute of ${node.op}`,
      mend: 'Correct the attribute, or export the model with an older opset if it is a new one.',
    };
  }
  return operator;
}
