/**
 * A proof and its bytes. Lengths follow from the plan; nothing in the file says how long anything is.
 *
 *   "ASSAYPRF" | uint8 version 1 | uint8 scheme | uint8 n | commitments (64 bytes each) | scalars (32 bytes each) | opening
 *
 * Commitments to columns: those of y, r0, r1, m, then those of gw [, gx], gt (`chunksInOrder`); scalars: rounds of L, values at r*, D, rounds of A, operands,
 * rounds of O. Scalars are canonical, points are on the curve, and there is no byte more.
 */
import { AssayError } from '../../common/errors.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { fromBytes, toBytes } from '../field/fr.js';
import { lookupDegree, lookupValueCount } from '../plan/lookup.js';
import { columnCount, FIRST_FAMILIES, helperFamilies, type Plan } from '../plan/plan.js';

export interface Proof {
  readonly n: number;
  /** Columns of y, r0, r1, m, before the lookup challenges. */
  readonly witness: readonly Uint8Array[];
  /** Columns of gw, gx, gt. */
  readonly helpers: readonly Uint8Array[];
  readonly lookupRounds: readonly (readonly bigint[])[];
  /** In the order of `flattenValues`. */
  readonly values: readonly bigint[];
  /** Sum of the direct functionals. */
  readonly direct: bigint;
  readonly arithmeticRounds: readonly (readonly bigint[])[];
  /** P_k, Q_k. */
  readonly operands: readonly bigint[];
  readonly openingRounds: readonly (readonly bigint[])[];
  readonly opening: Uint8Array;
}

/** The numbers of things in a proof. */
export interface ProofShape {
  readonly n: number;
  readonly lookupRounds: number;
  readonly witness: number;
  readonly helpers: number;
  readonly lookupDegree: number;
  readonly values: number;
  readonly arithmeticRounds: number;
  readonly arithmeticDegree: number;
  readonly operands: number;
  readonly openingBytes: number;
}

/** Degree of phase O in each variable. */
export const OPENING_DEGREE = 2;
export const POINT_BYTES = 64;
export const SCALAR_BYTES = 32;
const MAGIC = new TextEncoder().encode('ASSAYPRF');
const VERSION = 1;
export const HEADER_BYTES = MAGIC.length + 3;

export function proofShape(
  plan: Plan,
  products: { readonly count: number; readonly variables: number; readonly degree: number },
  openingBytes: number,
): ProofShape {
  return {
    n: plan.n,
    lookupRounds: plan.lookupBits,
    witness: columnCount(plan, FIRST_FAMILIES),
    helpers: columnCount(plan, helperFamilies(plan)),
    lookupDegree: lookupDegree(plan),
    values: lookupValueCount(plan),
    arithmeticRounds: products.variables,
    arithmeticDegree: products.degree,
    operands: 2 * products.count,
    openingBytes,
  };
}

export function proofBytes(shape: ProofShape): number {
  const scalars =
    shape.lookupRounds * shape.lookupDegree +
    shape.n * OPENING_DEGREE +
    shape.values +
    1 +
    shape.arithmeticRounds * shape.arithmeticDegree +
    shape.operands;
  return HEADER_BYTES + POINT_BYTES * (shape.witness + shape.helpers) + SCALAR_BYTES * scalars + shape.openingBytes;
}

export function encodeProof(proof: Proof, scheme: number): Uint8Array {
  const parts = [
    MAGIC,
    Uint8Array.of(VERSION, scheme, proof.n),
    ...proof.witness,
    ...proof.helpers,
    ...[
      ...proof.lookupRounds.flat(),
      ...proof.values,
      proof.direct,
      ...proof.arithmeticRounds.flat(),
      ...proof.operands,
      ...proof.openingRounds.flat(),
    ].map(toBytes),
    proof.opening,
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const invalid = (message: string): never => {
  throw new AssayError('PROOF_INVALID', message);
};

/**
 * Reads the header alone: which scheme, which n.
 * @throws AssayError PROOF_INVALID where the bytes are no proof of this version.
 */
export function readProofHeader(bytes: Uint8Array): { scheme: number; n: number } {
  if (bytes.length < HEADER_BYTES || MAGIC.some((byte, i) => bytes[i] !== byte))
    invalid('the bytes are not an Assay proof');
  const [version, scheme, n] = bytes.subarray(MAGIC.length, HEADER_BYTES) as unknown as [number, number, number];
  if (version !== VERSION) invalid(`the proof has version ${version}; this release reads version ${VERSION}`);
  return { scheme, n };
}

/**
 * @throws AssayError PROOF_INVALID for a wrong length or a scalar at or above r. Points are checked where they are used.
 */
export function decodeProof(bytes: Uint8Array, shape: ProofShape): Proof {
  readProofHeader(bytes);
  const expected = proofBytes(shape);
  if (bytes.length !== expected) invalid(`the proof has ${bytes.length} bytes, its statement asks for ${expected}`);
  let at = HEADER_BYTES;
  const take = (length: number): Uint8Array => bytes.slice(at, (at += length));
  const points = (count: number): Uint8Array[] => Array.from({ length: count }, () => take(POINT_BYTES));
  const scalar = (): bigint => {
    const value = fromBytes(take(SCALAR_BYTES));
    if (value >= FR_MODULUS) invalid(`the scalar at byte ${at - SCALAR_BYTES} is not below r`);
    return value;
  };
  const scalars = (count: number): bigint[] => Array.from({ length: count }, scalar);
  const rounds = (count: number, degree: number): bigint[][] => Array.from({ length: count }, () => scalars(degree));
  return {
    n: shape.n,
    witness: points(shape.witness),
    helpers: points(shape.helpers),
    lookupRounds: rounds(shape.lookupRounds, shape.lookupDegree),
    values: scalars(shape.values),
    direct: scalar(),
    arithmeticRounds: rounds(shape.arithmeticRounds, shape.arithmeticDegree),
    operands: scalars(shape.operands),
    openingRounds: rounds(shape.n, OPENING_DEGREE),
    opening: take(shape.openingBytes),
  };
}
