/**
 * Fiat-Shamir over keccak256: prover and verifier feed it the same messages and draw the same challenges.
 *
 *   state_0 = keccak256("assay/transcript/1")
 *   absorb:    state = keccak256(state | 'A' | uint32 length | message)      and the counter restarts at 0
 *   challenge: c = keccak256(state | 'S' | uint32 counter) mod r, counter + 1
 *
 * `A` and `S` keep absorbs and squeezes apart; the length keeps messages apart. A challenge is biased by a factor below
 * 1.14 against uniform in Fr, which the soundness statement of docs/protocol.md counts. Labels enter no hash: the order
 * of messages is fixed by the protocol. They name the steps in the committed inventory (inventory.test.ts), so that a
 * dropped absorb shows as a diff.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { fromBytes, toBytes } from '../field/fr.js';

/** What a sumcheck needs of a transcript, over any field of `prover/field/field.ts`. */
export interface Messages<E> {
  /** Canonical field elements, 32 bytes each. */
  absorbScalars(label: string, scalars: readonly E[]): void;
  /** One element of Fr. */
  challenge(label: string): E;
  /** `count` elements of Fr. */
  challenges(label: string, count: number): E[];
}

export interface Transcript extends Messages<bigint> {
  absorbBytes(label: string, message: Uint8Array): void;
  /** Encoded G1 points, 64 bytes each. */
  absorbPoints(label: string, points: readonly Uint8Array[]): void;
}

/** One line of the inventory: what was absorbed (bytes) or drawn (elements). */
export interface TranscriptStep {
  readonly kind: 'absorb' | 'challenge';
  readonly label: string;
  readonly size: number;
}

const ABSORB = 'A'.charCodeAt(0);
const SQUEEZE = 'S'.charCodeAt(0);

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

export class KeccakTranscript implements Transcript {
  private state = keccak_256(new TextEncoder().encode('assay/transcript/1'));
  private counter = 0;

  /** @param onStep told of every step, for the inventory. */
  constructor(private readonly onStep?: (step: TranscriptStep) => void) {}

  absorbBytes(label: string, message: Uint8Array): void {
    this.state = keccak_256(concatenate([this.state, Uint8Array.of(ABSORB), uint32(message.length), message]));
    this.counter = 0;
    this.onStep?.({ kind: 'absorb', label, size: message.length });
  }

  absorbScalars(label: string, scalars: readonly bigint[]): void {
    this.absorbBytes(label, concatenate(scalars.map(toBytes)));
  }

  absorbPoints(label: string, points: readonly Uint8Array[]): void {
    this.absorbBytes(label, concatenate(points));
  }

  challenge(label: string): bigint {
    return this.challenges(label, 1)[0]!;
  }

  challenges(label: string, count: number): bigint[] {
    const drawn = Array.from({ length: count }, () => {
      const digest = keccak_256(concatenate([this.state, Uint8Array.of(SQUEEZE), uint32(this.counter++)]));
      return fromBytes(digest) % FR_MODULUS;
    });
    this.onStep?.({ kind: 'challenge', label, size: count });
    return drawn;
  }
}
