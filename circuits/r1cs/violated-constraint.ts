/** Does a witness satisfy a circuit? By the definition, term by term. */
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import type { R1cs } from './read-r1cs.js';

/** The first constraint that does not hold, or undefined. @param witness one element of Fr per wire, witness[0] = 1. */
export function violatedConstraint(r1cs: R1cs, witness: readonly bigint[]): number | undefined {
  const value = (part: number): bigint => {
    let sum = 0n;
    for (let i = r1cs.starts[part]!; i < r1cs.starts[part + 1]!; i++)
      sum += r1cs.coefficient(part, i) * witness[r1cs.termWires[i]!]!;
    return sum % FR_MODULUS;
  };
  for (let i = 0; i < r1cs.constraints; i++)
    if ((value(3 * i) * value(3 * i + 1) - value(3 * i + 2)) % FR_MODULUS !== 0n) return i;
  return undefined;
}
