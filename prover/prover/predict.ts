/** What a proof will cost, before any work: columns, bytes, memory. */
import { columnsOf, makePlan, witnessCells, type JobGroup } from '../plan/plan.js';
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../../graph/tensor.js';
import { MAX_COLUMN_BITS, MIN_COLUMN_BITS } from '../program/model-bits.js';
import { placeTables } from '../program/tables.js';
import { MAX_VERIFIER_STEPS, verifierSteps } from '../verifier/check-cost.js';
import { proofBytes, proofShape } from '../verifier/proof.js';
import { productShape } from '../verifier/product-shape.js';
import { ELEMENT_BYTES } from '../wasm/fr-vectors.js';

/** Columns of one family up to which smaller columns pay: the verifier reads each commitment. */
const MAX_WITNESS_COLUMNS = 16;

/**
 * log2 of the cells of a column for a batch: the smallest n that its models admit and at which witness and tables take
 * at most `maxColumns` columns each.
 * @throws AssayError PROOF_LIMITS where no n does.
 */
export function chooseColumnBits(groups: readonly JobGroup[], maxColumns = MAX_WITNESS_COLUMNS): number {
  const cells = Math.max(witnessCells(groups), placeTables(groups.map(({ program }) => program.tables)).cells);
  let n = Math.max(MIN_COLUMN_BITS, ...groups.map(({ program }) => program.modelBits));
  while (n <= MAX_COLUMN_BITS && cells > maxColumns * 2 ** n) n++;
  if (n <= MAX_COLUMN_BITS) return n;
  throw new AssayError('PROOF_LIMITS', `this batch fits no ${maxColumns} columns of 2^${MAX_COLUMN_BITS} cells`);
}

export interface ProofPrediction {
  readonly n: number;
  /** Sumcheck rounds: those of L, A and O. */
  readonly rounds: number;
  readonly proofBytes: number;
  /** Points of the SRS that are needed. */
  readonly srsPoints: number;
  /** What the arithmetic's memory will hold at its peak, in bytes; at least what was measured on every shipped model. */
  readonly memoryBytes: number;
  /** What the process will hold at its peak on one thread, Node and its code included, in bytes. */
  readonly processBytes: number;
  /** On one thread of the machine of the measurements in this file, in ms; a rough guess for others. */
  readonly singleThreadMs: number;
}

/**
 * Vectors of field elements that live at once, per column: in phase L those of a witness chunk, of its maxima and of a
 * table chunk, temporary ones included; in phase O weights, bound columns and the model for any column.
 */
const WITNESS_VECTORS = 12;
const MAXIMUM_VECTORS = 9;
const TABLE_VECTORS = 9;
const OPENING_VECTORS = 2.2;
/** Static data, scratch stacks, and what grows with nothing. */
const FIXED_BYTES = 12 * 2 ** 20;
/** A point of the SRS. */
const POINT_BYTES = 72;
/** Digits and buckets of a multi-scalar multiplication, per point. */
const MSM_BYTES = 150;

/** Of a process that proves, beyond the arithmetic's memory: 145 MB for iris, 173 for LeNet-5, and 40 more for each further thread. */
const PROCESS_BYTES = 160e6;

/** Measured, one thread: a term of a full multi-scalar multiplication, of one by small integers, and work per cell. */
const FULL_TERM_US = 5.4;
const SMALL_TERM_US = 0.3;
const WITNESS_CELL_US = 1.7;
const MAXIMUM_CELL_US = 3.2;
const TABLE_CELL_US = 1.1;
const OPENING_CELL_US = 0.15;
const FIXED_MS = 60;

/**
 * @param openingBytes length of the opening proof for a given n.
 * @throws AssayError PROOF_LIMITS where checking the proof would take more steps than a verifier admits.
 */
export function predictProof(
  groups: readonly JobGroup[],
  n: number,
  openingBytes: (n: number, columns: number) => number,
): ProofPrediction {
  const steps = groups.reduce((sum, { program, items }) => sum + verifierSteps(program, items, n), 0);
  if (steps > MAX_VERIFIER_STEPS)
    throw new AssayError(
      'PROOF_LIMITS',
      `checking a proof of this batch would take ${steps} steps; a verifier admits ${MAX_VERIFIER_STEPS}`,
    );
  const plan = makePlan(groups, n);
  const products = productShape(plan);
  const columns = columnsOf(plan).length;
  const size = 2 ** n;
  const chunkCells = 2 ** plan.lookupBits;
  const { witnessChunks, tableChunks, hasMaxima } = plan;
  const lookupVectors =
    witnessChunks * (WITNESS_VECTORS + (hasMaxima ? MAXIMUM_VECTORS : 0)) + tableChunks * TABLE_VECTORS;
  const helperVectors = witnessChunks * (hasMaxima ? 2 : 1) + tableChunks;
  const intBytes = 4 * (3 * witnessChunks + tableChunks);

  const lookups = lookupCount(groups);
  const rows = plan.tables.cells;
  // Rows that are hit if lookups fall evenly: at most as many as there are.
  const distinctRows = rows * (1 - Math.exp(-lookups.terms / rows));
  const us =
    FULL_TERM_US * (lookups.cells + distinctRows + 2 * size) +
    SMALL_TERM_US * (3 * lookups.cells + distinctRows) +
    chunkCells * (witnessChunks * (WITNESS_CELL_US + (hasMaxima ? MAXIMUM_CELL_US : 0)) + tableChunks * TABLE_CELL_US) +
    size * columns * OPENING_CELL_US;
  const memoryBytes = Math.ceil(
    FIXED_BYTES +
      size * (POINT_BYTES + MSM_BYTES) +
      chunkCells * (intBytes + helperVectors * ELEMENT_BYTES) +
      // What chunks leave free in the columns that they share.
      (chunkCells < size ? size * (ELEMENT_BYTES + 4) : 0) +
      ELEMENT_BYTES * Math.max(lookupVectors * chunkCells, OPENING_VECTORS * columns * size),
  );
  return {
    n,
    rounds: plan.lookupBits + n + products.variables,
    proofBytes: proofBytes(proofShape(plan, products, openingBytes(n, columns))),
    srsPoints: size,
    memoryBytes,
    processBytes: memoryBytes + PROCESS_BYTES,
    singleThreadMs: Math.ceil(FIXED_MS + us / 1000),
  };
}

/** Cells that are looked up, and fractions in all: three for a requantisation, four for a maximum, one for an input. */
function lookupCount(groups: readonly JobGroup[]): { cells: number; terms: number } {
  let [cells, terms] = [0, 0];
  for (const { program, items } of groups) {
    const count = (slots: readonly { readonly slot: number }[], each: number): void => {
      const elements = items * slots.reduce((sum, { slot }) => sum + sizeOf(program.witness[slot]!.axes), 0);
      cells += elements;
      terms += each * elements;
    };
    count(program.requants, 3);
    count(program.maxima, 4);
    count(program.inputs, 1);
  }
  return { cells, terms };
}
