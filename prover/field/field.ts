/**
 * The field as the verifier needs it. Its formulas are written once over this interface: with numbers they verify a proof
 * (FR below), with wires they write the circuit that verifies one (circuits/verifier/).
 */
import { add, mul, sub, toField } from './fr.js';

export interface Field<E> {
  readonly zero: E;
  readonly one: E;
  /** A constant: any integer mod r. */
  readonly of: (value: bigint | number) => E;
  readonly add: (a: E, b: E) => E;
  readonly sub: (a: E, b: E) => E;
  readonly mul: (a: E, b: E) => E;
  /** True only where an element is known to be 0 before anything is computed with it: its terms may be left out. */
  readonly isZero: (a: E) => boolean;
}

export const FR: Field<bigint> = { zero: 0n, one: 1n, of: toField, add, sub, mul, isZero: (a) => a === 0n };

/** [1, base, base^2, ...], `count` of them. */
export function powersOver<E>({ one, mul: times }: Field<E>, base: E, count: number): E[] {
  const result: E[] = [];
  for (let i = 0, p = one; i < count; i++, p = times(p, base)) result.push(p);
  return result;
}
