/** What a circuit costs, as the committed snapshots hold it. */
import type { R1cs } from './read-r1cs.js';

export interface CircuitSize {
  readonly constraints: number;
  /** Of them those without a product: A or B is a constant or empty. */
  readonly linear: number;
  readonly wires: number;
  /** Terms of all A, B, C: what the prover's first pass and the proving key's size follow. */
  readonly terms: number;
}

export function circuitSize(r1cs: R1cs): CircuitSize {
  const isConstant = (part: number): boolean => {
    for (let i = r1cs.starts[part]!; i < r1cs.starts[part + 1]!; i++) if (r1cs.termWires[i] !== 0) return false;
    return true;
  };
  let linear = 0;
  for (let i = 0; i < r1cs.constraints; i++) if (isConstant(3 * i) || isConstant(3 * i + 1)) linear++;
  return { constraints: r1cs.constraints, linear, wires: r1cs.wires, terms: r1cs.terms };
}
