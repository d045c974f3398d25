/** Windows of convolution and pooling from ONNX attributes. */
import type { Window2d } from '../integer/types.js';
import type { OnnxNode } from '../onnx/model.js';
import { numbersAttribute, stringAttribute } from './attributes.js';

/**
 * The window of a node over `input` spatial sides (one or two) that gives `output` sides.
 * A 1-D window becomes one row. Padding at the end is made as large as the output needs (ceil_mode), never smaller.
 */
export function windowOf(
  node: OnnxNode,
  kernel: readonly number[],
  input: readonly number[],
  output: readonly number[],
): Window2d {
  const dims = kernel.length;
  const strides = numbersAttribute(node, 'strides') ?? new Array<number>(dims).fill(1);
  const dilations = numbersAttribute(node, 'dilations') ?? new Array<number>(dims).fill(1);
  const autoPad = stringAttribute(node, 'auto_pad', 'NOTSET');
  const given = numbersAttribute(node, 'pads') ?? new Array<number>(2 * dims).fill(0);
  const begin: number[] = [];
  const end: number[] = [];
  for (let axis = 0; axis < dims; axis++) {
    const extent = (kernel[axis]! - 1) * dilations[axis]! + 1;
    const needed = (output[axis]! - 1) * strides[axis]! + extent - input[axis]!;
    if (autoPad === 'SAME_UPPER' || autoPad === 'SAME_LOWER') {
      const total = Math.max(0, needed);
      const small = Math.floor(total / 2);
      begin.push(autoPad === 'SAME_UPPER' ? small : total - small);
      end.push(total - begin[axis]!);
    } else {
      const pads = autoPad === 'VALID' ? new Array<number>(2 * dims).fill(0) : given;
      begin.push(pads[axis]!);
      end.push(Math.max(pads[axis + dims]!, needed - pads[axis]!));
    }
  }
  const pair = (values: readonly number[], first: number): readonly [number, number] =>
    dims === 1 ? [first, values[0]!] : [values[0]!, values[1]!];
  const [top, left] = pair(begin, 0);
  const [bottom, right] = pair(end, 0);
  return {
    kernel: pair(kernel, 1),
    strides: pair(strides, 1),
    dilations: pair(dilations, 1),
    pads: [top, left, bottom, right],
  };
}

/** How many real (not padded) cells each output position of a window sums, row-major [rows][columns]. */
export function validCells(
  window: Window2d,
  input: readonly [number, number],
  output: readonly [number, number],
): Float64Array {
  const along = (axis: 0 | 1): number[] =>
    Array.from({ length: output[axis] }, (_, o) => {
      let count = 0;
      for (let k = 0; k < window.kernel[axis]; k++) {
        const index = o * window.strides[axis] + k * window.dilations[axis] - window.pads[axis];
        if (index >= 0 && index < input[axis]) count++;
      }
      return count;
    });
  const [rows, columns] = [along(0), along(1)];
  return Float64Array.from(rows.flatMap((r) => columns.map((c) => r * c)));
}
