/** ArgMax and ArgMin: the smallest index among equal extremes. */
import type { OnnxNode } from '../../onnx/model.js';
import { numberAttribute } from '../attributes.js';
import { negated } from '../affine.js';
import { inShape, onItemAxes } from '../batch-axis.js';
import { tensorValue, type Lowering, type Operand } from '../lowering.js';
import type { Problem } from '../refusal.js';
import type { Value } from '../value.js';
import { shapeOf, type OperatorTable } from './operator.js';

/** What calibration saw is stored in 14 bits, with room for twice that. */
const SEEN_LIMIT = 2 ** 13 - 1;
const STORED_LIMIT = 2 ** 14 - 1;

function check(node: OnnxNode): Problem {
  if (numberAttribute(node, 'select_last_index', 0) === 0) return null;
  return { reason: 'select_last_index = 1 is not supported', mend: 'Let ties go to the first index.' };
}

/** The operand of a comparison: an accumulator is requantised finely first, since it may not be read as it stands. */
function comparable(lowering: Lowering, node: OnnxNode, value: Value): Operand {
  const { base } = value.elementwise;
  if (base.kind === 'tensor' && base.form !== 'product') return lowering.operand(value, 'linear');
  const statistics = lowering.requireStatistics(value.elementwise.name);
  const scale = Math.max(Math.abs(statistics.min), Math.abs(statistics.max)) / SEEN_LIMIT || 1;
  const target = { scale, lo: -STORED_LIMIT - 1, hi: STORED_LIMIT, calibration: 'max, 14 bits', fixed: false };
  const operand = lowering.storedAs(value, `${node.outputs[0]!}:operand`, target);
  lowering.warn(
    node,
    `elements closer than ${operand.scale.toPrecision(3)} count as equal, and ties go to the first index`,
  );
  return operand;
}

function lower(node: OnnxNode, lowering: Lowering): string {
  const name = node.outputs[0]!;
  const input = lowering.real(node.inputs[0]!);
  const x = node.op === 'ArgMin' ? negated(lowering, input, null, `${name}:negative`) : input;
  const at = onItemAxes(x, [numberAttribute(node, 'axis', 0)]);
  const operand = comparable(lowering, node, at.value);
  const id = lowering.emit({ kind: 'argMax', name, x: operand.id, axis: at.axes[0]! }, name, 1);
  const value = tensorValue(lowering.tensorBase(id, name, 1, 'stored'), at.value.batched);
  lowering.values.set(name, inShape(value, shapeOf(lowering.model, name), lowering.hasBatch));
  return 'argMax';
}

export const ARGMAX: OperatorTable = { ArgMax: { check, lower }, ArgMin: { check, lower } };
