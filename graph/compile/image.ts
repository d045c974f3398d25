/** Values as the [channel, row, column] items that windows read. */
import type { Lowering } from './lowering.js';
import { inShape } from './batch-axis.js';
import { reshaped, toWhole } from './shape-wires.js';
import { wholeShape, type Value } from './value.js';

/** The value as an item [C, H, W]; a 1-D signal [C, L] becomes [C, 1, L]. Its ONNX shape begins with 1. */
export function asImage(value: Value): Value {
  const [, channels, ...sides] = wholeShape(value) as [number, number, ...number[]];
  return reshaped(value, sides.length === 1 ? [channels, 1, ...sides] : [channels, ...sides], true);
}

/** An item [C, H, W] back in the ONNX shape of the node's output, batched where the operand was. */
export function fromImage(image: Value, operand: Value, shape: readonly number[], lowering: Lowering): Value {
  const item = reshaped(image, shape.slice(1), true);
  return operand.batched ? item : inShape(toWhole(item), shape, lowering.hasBatch);
}
