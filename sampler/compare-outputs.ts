import { AssayError } from '../common/errors.js';

/** Where two results first differ, tensor by tensor, row-major. */
export interface Difference {
  /** Index of the tensor. */
  readonly tensor: number;
  /** Index of the element, items included. */
  readonly element: number;
  readonly expected: number;
  readonly found: number;
  /** Number of differing elements in all tensors. */
  readonly differing: number;
}

/**
 * Equality, nothing else: a compiled model has one right result. Null where all integers are equal.
 * @throws AssayError DRAW_INVALID where the results are not of the same form, which is no difference of values
 */
export function compareOutputs(expected: readonly Int32Array[], found: readonly Int32Array[]): Difference | null {
  const form = (tensors: readonly Int32Array[]): string => `[${tensors.map(({ length }) => length).join(', ')}]`;
  if (form(expected) !== form(found)) {
    throw new AssayError(
      'DRAW_INVALID',
      `results: expected tensors of lengths ${form(expected)}, found ${form(found)}`,
    );
  }
  let first: Omit<Difference, 'differing'> | null = null;
  let differing = 0;
  expected.forEach((values, tensor) => {
    const others = found[tensor]!;
    for (let element = 0; element < values.length; element++) {
      if (values[element] === others[element]) continue;
      differing++;
      first ??= { tensor, element, expected: values[element]!, found: others[element]! };
    }
  });
  return first === null ? null : { ...(first as Omit<Difference, 'differing'>), differing };
}
