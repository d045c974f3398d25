/** How a proof commits to columns and opens their combination: the polynomial commitment seen by the verifier. */
import type { Transcript } from '../transcript/transcript.js';

export interface CombinationClaim {
  readonly n: number;
  /** C_c, 64 bytes each. */
  readonly commitments: readonly Uint8Array[];
  /** e_c. */
  readonly coefficients: readonly bigint[];
  readonly point: readonly bigint[];
  /** What sum_c e_c f_c is at the point. */
  readonly value: bigint;
}

export interface CommitmentScheme {
  /** Enters the transcript. */
  readonly name: string;
  /** Byte in the proof's header. */
  readonly code: number;
  /** Names the set-up that commitments were made with, 32 bytes. */
  readonly srsId: Uint8Array;
  /** @param columns number of committed columns, of the model too. */
  openingBytes(n: number, columns: number): number;
  /** @throws AssayError PROOF_INVALID. */
  verify(transcript: Transcript, claim: CombinationClaim, opening: Uint8Array): void;
}
