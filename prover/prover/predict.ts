/** What a proof will cost, before any work: columns, bytes, memory. */
import { columnsOf, makePlan, MAX_CHUNKS, type JobGroup, type Plan } from '../plan/plan.js';
import { AssayError } from '../../common/errors.js';
import { MAX_COLUMN_BITS } from '../program/model-bits.js';
import { proofBytes, proofShape } from '../verifier/proof.js';
import { productShape } from '../verifier/product-shape.js';
import { ELEMENT_BYTES } from '../wasm/fr-vectors.js';

/** Columns of one family up to which smaller columns pay: the verifier reads each commitment. */
const MAX_WITNESS_COLUMNS = 16;

/**
 * log2 of the cells of a column for a batch: the smallest n that its models admit and at which the witness takes at
 * most `MAX_WITNESS_COLUMNS` columns.
 * @throws AssayError PROOF_LIMITS where no n does.
 */
export function chooseColumnBits(groups: readonly JobGroup[], maxColumns = MAX_WITNESS_COLUMNS): number {
  const least = Math.max(...groups.map(({ program }) => program.modelBits));
  const limit = Math.min(maxColumns, MAX_CHUNKS);
  for (let n = least; n <= MAX_COLUMN_BITS; n++) {
    const plan = planOrNull(groups, n);
    if (plan && plan.witnessChunks <= limit && plan.tableChunks <= limit) return n;
  }
  throw new AssayError(
    'PROOF_LIMITS',
    `the witness of this batch fits no ${limit} columns of 2^${MAX_COLUMN_BITS} cells`,
  );
}

function planOrNull(groups: readonly JobGroup[], n: number): Plan | null {
  try {
    return makePlan(groups, n);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'PROOF_LIMITS' && error.message.includes('columns of 2^'))
      return null;
    throw error;
  }
}

export interface ProofPrediction {
  readonly n: number;
  /** Sumcheck rounds: those of L, A and O. */
  readonly rounds: number;
  readonly proofBytes: number;
  /** Points of the SRS that are needed. */
  readonly srsPoints: number;
  /** What the arithmetic's memory will hold at its peak, in bytes. */
  readonly memoryBytes: number;
}

/** Vectors that live at once per cell of a witness column, of a table column, of any column, in phases L and O. */
const WITNESS_VECTORS = 12;
const MAXIMUM_VECTORS = 8;
const TABLE_VECTORS = 10;
const OPENING_VECTORS = 3;

/** @param openingBytes length of the opening proof for a given n. */
export function predictProof(
  groups: readonly JobGroup[],
  n: number,
  openingBytes: (n: number, columns: number) => number,
): ProofPrediction {
  const plan = makePlan(groups, n);
  const products = productShape(plan);
  const columns = columnsOf(plan).length;
  const witness = plan.witnessChunks * (WITNESS_VECTORS + (plan.hasMaxima ? MAXIMUM_VECTORS : 0));
  const vectors = witness + plan.tableChunks * TABLE_VECTORS + OPENING_VECTORS * columns;
  return {
    n,
    rounds: 2 * n + products.variables,
    proofBytes: proofBytes(proofShape(plan, products, openingBytes(n, columns))),
    srsPoints: 2 ** n,
    memoryBytes: vectors * ELEMENT_BYTES * 2 ** n,
  };
}
