/** BatchNormalization at inference: a gain and a bias per channel. */
import type { OnnxNode, PreparedModel } from '../../onnx/model.js';
import { numberAttribute } from '../attributes.js';
import { affine } from '../affine.js';
import { settled } from '../batch-axis.js';
import type { Lowering } from '../lowering.js';
import type { Problem } from '../refusal.js';
import { wholeShape } from '../value.js';
import { constantOperands, type OperatorTable } from './operator.js';

function check(node: OnnxNode, model: PreparedModel): Problem {
  if (numberAttribute(node, 'training_mode', 0) !== 0 || node.outputs.slice(1).some((name) => name !== ''))
    return { reason: 'it is in training mode', mend: 'Export the model for inference.' };
  return constantOperands(node, model, [1, 2, 3, 4]);
}

function lower(node: OnnxNode, lowering: Lowering): string {
  const [x, scaleName, biasName, meanName, varianceName] = node.inputs as [string, string, string, string, string];
  const [scale, bias, mean, variance] = [scaleName, biasName, meanName, varianceName].map(
    (n) => lowering.constant(n).data,
  ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const epsilon = numberAttribute(node, 'epsilon', 1e-5);
  const gains = scale.map((s, c) => s / Math.sqrt(variance[c]! + epsilon));
  const biases = bias.map((b, c) => b - gains[c]! * mean[c]!);
  const value = lowering.real(x);
  const rank = wholeShape(value).length;
  // Channels lie on axis 1, or on the only axis.
  const shape = rank === 1 ? [gains.length] : [gains.length, ...new Array<number>(rank - 2).fill(1)];
  const name = node.outputs[0]!;
  const result = affine(lowering, value, { gain: { shape, data: gains }, bias: { shape, data: biases } }, name);
  lowering.values.set(name, settled(result.value, lowering.hasBatch));
  return result.how;
}

export const NORMALISATION: OperatorTable = { BatchNormalization: { check, lower } };
