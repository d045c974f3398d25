/**
 * A recursive batch: many receipts, one joint proof, wrapped once in Groth16 (docs/protocol.md, "Recursive batches").
 *
 * A circuit is made for one list of groups: a program, how many receipts it has room for, how many items each receipt has;
 * and for one n. It knows no weights: a retrained model needs no new key. Room that is not needed is filled with repeated
 * work, and the contract is told how many receipts of each group count.
 */
import type { Program } from '../../prover/program/types.js';

export interface BatchGroupShape {
  readonly program: Program;
  /** Receipts that the circuit has room for. */
  readonly receipts: number;
  /** Items of one receipt, as its order says. */
  readonly itemsPerReceipt: number;
}

/** What a circuit, and the contract's record of its key, are made for. */
export interface BatchShape {
  /** log2 of the cells of a committed column. */
  readonly n: number;
  readonly groups: readonly BatchGroupShape[];
}

/** One receipt's share of x. */
export interface JoinedReceipt {
  /** Poseidon commitment to the packed words of the inputs: what the order and the receipt name as their inputRoot. */
  readonly inputCommitment: bigint;
  /** The published integers, 7 to a word (`packOutputs`). */
  readonly outputWords: readonly bigint[];
}

/**
 * x: everything that the contract uses of the joint proof and that is neither a constant of the key's record nor computed
 * from x. The order is that of the fields, group by group, receipt by receipt.
 */
export interface Joined {
  readonly groups: readonly {
    /** The model's digest as a 256-bit integer: x holds its high 128 bits, then its low 128 bits. */
    readonly modelDigest: bigint;
    readonly receipts: readonly JoinedReceipt[];
  }[];
  /**
   * Commitments of the proof's own columns, 64 bytes each: those before the lookup challenges, then those after. Four limbs
   * each: x low, x high, y low, y high, of 128 bits.
   */
  readonly commitments: readonly Uint8Array[];
  /** e_c for every committed column, of the proof and then of each group's model. */
  readonly coefficients: readonly bigint[];
  /** u: where the combination of all columns is opened, n coordinates. */
  readonly point: readonly bigint[];
  /** v*: what it is there. */
  readonly value: bigint;
}
