/** How far one tensor is from another, in words; null where they agree. */
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { float64sOf, isFloat } from '../numbers.js';

export interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

/** Floats agree within the tolerance, everything else exactly. */
export function difference(found: Tensor, expected: Tensor, tolerance: Tolerance): string | null {
  const describe = ({ type, shape }: Tensor): string => `${type} [${shape.join(', ')}]`;
  if (describe(found) !== describe(expected)) return `expected ${describe(expected)}, found ${describe(found)}`;
  if (found.data.length !== sizeOf(found.shape)) return `${found.data.length} elements in ${describe(found)}`;
  if (expected.type === 'string') return found.data.toString() === expected.data.toString() ? null : 'other strings';
  const integer = !isFloat(expected.type);
  const [left, right] = integer ? [found.data, expected.data] : [float64sOf(found), float64sOf(expected)];
  for (let i = 0; i < right.length; i++) {
    const a = left[i]!;
    const b = right[i]!;
    if (Object.is(a, b) || a === b) continue;
    const within =
      !integer && Math.abs(Number(a) - Number(b)) <= tolerance.absolute + tolerance.relative * Math.abs(Number(b));
    if (!within) return `element ${i}: expected ${b}, found ${a}`;
  }
  return null;
}
