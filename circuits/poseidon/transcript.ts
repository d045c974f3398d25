/**
 * Fiat-Shamir over Poseidon: what prover/transcript is over keccak, for proofs that are to be checked inside a circuit.
 *
 * P_t: the permutation of t cells, cell 0 being the state (the capacity), cells 1 .. t-1 the block (the rate).
 *
 *   state_0 = "assay/transcript/poseidon/1" as an integer, big endian
 *   block:     (state, d_1, .., d_k) = P_{k+1}(state + tag, v_1, .., v_k); the d are what can be drawn
 *   absorb:    blocks of up to 16 elements, at least 2 (padded with 0); tag = kind 2^64 + block index 2^32 + size
 *   challenge: the next d of the last block; when all are drawn, a block of 8 zeros with the tag of squeezing
 *
 * Kinds: 1 field elements, 2 bytes, 3 squeeze. Every block says the size of its message, so messages cannot run into each
 * other, and no d survives an absorb. Sizes count elements, or bytes: those are absorbed as 16-byte limbs, big endian, the
 * last one filled up with zeros. A point is four elements: x low, x high, y low, y high; infinity is four zeros.
 * The state is one element of 254 bits, so collisions and the indifferentiability bound are at 2^127; challenges are
 * uniform in Fr, without keccak's bias.
 *
 * Source: Bertoni, Daemen, Peeters, Van Assche, Duplexing the sponge, SAC 2011 (overwrite mode, section 6); the order of
 * messages is that of docs/protocol.md.
 */
import { readUint256 } from '../../prover/curve/g1.js';
import { add, fromBytes } from '../../prover/field/fr.js';
import type { Transcript, TranscriptStep } from '../../prover/transcript/transcript.js';
import { permutation } from './poseidon.js';

export const LARGEST_BLOCK = 16;
export const SMALLEST_BLOCK = 2;
export const SQUEEZE_BLOCK = 8;
const KINDS = { scalars: 1n, bytes: 2n, squeeze: 3n };

const LIMB_BYTES = 16;

/** ASCII as a big-endian integer: constants that start a hash. @param text at most 31 characters. */
export const asciiElement = (text: string): bigint => fromBytes(new TextEncoder().encode(text));

export const TRANSCRIPT_START = asciiElement('assay/transcript/poseidon/1');

/** Sizes of the blocks of an absorb of `count` elements: the rule that the circuit follows. */
export function blocksOf(count: number): number[] {
  const blocks: number[] = [];
  for (let rest = count; rest > 0 || blocks.length === 0; rest -= LARGEST_BLOCK)
    blocks.push(Math.max(SMALLEST_BLOCK, Math.min(LARGEST_BLOCK, rest)));
  return blocks;
}

/** What is added to the state before block `index` of a message of `size` elements (or bytes, of kind bytes). */
export const tagOf = (kind: keyof typeof KINDS, index: number, size: number): bigint =>
  (KINDS[kind] << 64n) + (BigInt(index) << 32n) + BigInt(size);

const LIMB_MASK = (1n << 128n) - 1n;

/** x low, x high, y low, y high. @param point 64 bytes, the encoding of prover/curve/g1.ts. */
export const pointLimbs = (point: Uint8Array): bigint[] =>
  [readUint256(point, 0), readUint256(point, 32)].flatMap((c) => [c & LIMB_MASK, c >> 128n]);

/** A message of bytes as limbs of 16, big endian, the last one filled up with zeros. */
export const bytesLimbs = (message: Uint8Array): bigint[] =>
  Array.from({ length: Math.ceil(message.length / LIMB_BYTES) }, (_, i) => {
    const limb = new Uint8Array(LIMB_BYTES);
    limb.set(message.subarray(LIMB_BYTES * i, LIMB_BYTES * (i + 1)));
    return fromBytes(limb);
  });

/** The state and the blocks: what the transcript and other hashes of field elements are made of. */
export class PoseidonHash {
  private drawable: readonly bigint[] = [];

  /** @param state where it starts: an asciiElement that nothing else starts from. */
  constructor(public state: bigint) {}

  /** @param size of the message in elements, or in bytes where the elements are limbs of bytes. */
  absorb(kind: keyof typeof KINDS, elements: readonly bigint[], size: number): void {
    let at = 0;
    blocksOf(elements.length).forEach((length, index) => {
      const values = Array.from({ length }, (_, i) => elements[at + i] ?? 0n);
      this.block(tagOf(kind, index, size), values);
      at += length;
    });
  }

  draw(): bigint {
    if (this.drawable.length === 0) this.block(tagOf('squeeze', 0, 0), new Array<bigint>(SQUEEZE_BLOCK).fill(0n));
    const [next, ...rest] = this.drawable;
    this.drawable = rest;
    return next!;
  }

  private block(tag: bigint, values: readonly bigint[]): void {
    const [state, ...drawable] = permutation([add(this.state, tag), ...values]);
    this.state = state!;
    this.drawable = drawable;
  }
}

export class PoseidonTranscript implements Transcript {
  private readonly hash = new PoseidonHash(TRANSCRIPT_START);

  /** @param onStep told of every step, for the inventory. */
  constructor(private readonly onStep?: (step: TranscriptStep) => void) {}

  absorbBytes(label: string, message: Uint8Array): void {
    this.hash.absorb('bytes', bytesLimbs(message), message.length);
    this.onStep?.({ kind: 'absorb', label, size: message.length });
  }

  absorbScalars(label: string, scalars: readonly bigint[]): void {
    this.hash.absorb('scalars', scalars, scalars.length);
    this.onStep?.({ kind: 'absorb', label, size: 32 * scalars.length });
  }

  /** As field elements: the limbs of all points in one message. */
  absorbPoints(label: string, points: readonly Uint8Array[]): void {
    const limbs = points.flatMap(pointLimbs);
    this.hash.absorb('scalars', limbs, limbs.length);
    this.onStep?.({ kind: 'absorb', label, size: 64 * points.length });
  }

  challenge(label: string): bigint {
    return this.challenges(label, 1)[0]!;
  }

  challenges(label: string, count: number): bigint[] {
    const drawn = Array.from({ length: count }, () => this.hash.draw());
    this.onStep?.({ kind: 'challenge', label, size: count });
    return drawn;
  }
}
