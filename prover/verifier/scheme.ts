/** How a proof commits to columns and opens their combination: the polynomial commitment seen by the verifier. */
import type { OpeningClaim } from '../opening/types.js';
import type { Transcript } from '../transcript/transcript.js';

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
  verify(transcript: Transcript, claim: OpeningClaim, opening: Uint8Array): void;
}
