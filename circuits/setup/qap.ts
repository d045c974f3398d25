/**
 * The polynomials of a circuit at a known tau: what a Groth16 set-up multiplies points with.
 *
 * Symbols. Constraint i is row i; the constant and the l public wires get one more row each, with A = the wire and
 * B = C = 0, so that the polynomials of public wires are independent. N = 2^k: the least power of two >= rows. omega_k: the
 * root of unity of order 2^k that snarkjs uses, 5^((r - 1) / 2^k).
 *
 *   1. Lagrange: L_i(tau) = (tau^N - 1) / N * omega^i / (tau - omega^i) over the N powers of omega_k.
 *   2. A_w(tau) = sum_i A_{i,w} L_i(tau), and so B_w, C_w: one multiplication per term of the circuit.
 *   3. Quotient. AB - C vanishes on the N-th roots and has degree below 2N, so its value at tau is a combination of its
 *      values at the odd powers of omega_{k+1}: the points of the quotient hold the Lagrange polynomials of those.
 *
 * Source: Groth, On the Size of Pairing-based Non-interactive Arguments, EUROCRYPT 2016, section 3; the basis of step 3 is
 * that of snarkjs's proving key.
 */
import { AssayError } from '../../common/errors.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { inverse, mul, pow, sub } from '../../prover/field/fr.js';
import type { R1cs } from '../r1cs/read-r1cs.js';

/** r - 1 = 2^28 odd. */
const TWO_ADICITY = 28;
/** No square mod r. */
const NON_RESIDUE = 5n;

/** omega_k. */
export const rootOfUnity = (power: number): bigint => pow(NON_RESIDUE, (FR_MODULUS - 1n) >> BigInt(power));

/** k, at least 1. */
export function domainPower({ constraints, publicOutputs, publicInputs }: R1cs): number {
  const rows = constraints + publicOutputs + publicInputs + 1;
  return Math.floor(Math.log2(Math.max(1, rows - 1))) + 1;
}

/** Per wire A_w(tau), B_w(tau), C_w(tau), each in [0, r). */
export interface QapAtTau {
  readonly a: readonly bigint[];
  readonly b: readonly bigint[];
  readonly c: readonly bigint[];
}

/**
 * Steps 1 and 2.
 * @throws AssayError CIRCUIT_KEY_INVALID where the circuit is too large for the field or tau is a root of unity.
 */
export function qapAtTau(r1cs: R1cs, tau: bigint): QapAtTau {
  const power = domainPower(r1cs);
  const lagrange = lagrangeAt(power, tau, 'all');
  const zeros = (): bigint[] => new Array<bigint>(r1cs.wires).fill(0n);
  const parts = [zeros(), zeros(), zeros()] as const;
  for (let part = 0; part < 3 * r1cs.constraints; part++) {
    const [sums, weight] = [parts[(part % 3) as 0 | 1 | 2], lagrange[Math.floor(part / 3)]!];
    for (let i = r1cs.starts[part]!; i < r1cs.starts[part + 1]!; i++) {
      const wire = r1cs.termWires[i]!;
      sums[wire] = (sums[wire]! + r1cs.coefficient(part, i) * weight) % FR_MODULUS;
    }
  }
  const [a, b, c] = parts;
  for (let wire = 0; wire <= r1cs.publicOutputs + r1cs.publicInputs; wire++)
    a[wire] = (a[wire]! + lagrange[r1cs.constraints + wire]!) % FR_MODULUS;
  return { a, b, c };
}

/** Step 3: as many as the domain has elements. */
export const quotientAtTau = (r1cs: R1cs, tau: bigint): bigint[] => lagrangeAt(domainPower(r1cs) + 1, tau, 'odd');

/** Lagrange polynomials of the powers of omega_k at tau, all or those of the odd powers. */
function lagrangeAt(power: number, tau: bigint, which: 'all' | 'odd'): bigint[] {
  if (power > TWO_ADICITY)
    throw new AssayError(
      'CIRCUIT_KEY_INVALID',
      `the circuit needs a domain of 2^${power}, the field has 2^${TWO_ADICITY}`,
    );
  const omega = rootOfUnity(power);
  const [start, step] = which === 'all' ? [1n, omega] : [omega, mul(omega, omega)];
  const count = which === 'all' ? 2 ** power : 2 ** (power - 1);
  const size = 1n << BigInt(power);
  const vanishing = sub(pow(tau, size), 1n);
  if (vanishing === 0n) throw new AssayError('CIRCUIT_KEY_INVALID', 'tau is a root of unity');
  // Montgomery's trick: prefix products of tau - omega^i, one inversion, and back.
  const prefix = new Array<bigint>(count);
  let product = 1n;
  for (let i = 0, root = start; i < count; i++, root = mul(root, step)) {
    prefix[i] = product;
    product = mul(product, sub(tau, root));
  }
  const values = new Array<bigint>(count);
  let inverted = inverse(product);
  const scale = mul(vanishing, inverse(size));
  const backwards = inverse(step);
  for (let i = count - 1, root = mul(start, pow(step, BigInt(count - 1))); i >= 0; i--, root = mul(root, backwards)) {
    values[i] = mul(mul(scale, root), mul(inverted, prefix[i]!));
    inverted = mul(inverted, sub(tau, root));
  }
  return values;
}
