/** Reads the messages of a proof in order, each decoded, checked and absorbed before the next challenge. */
import { AssayError } from '../../common/errors.js';
import { decodeG1, G1_BYTES, readUint256, type G1 } from '../curve/g1.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import type { Transcript } from '../transcript/transcript.js';

export const SCALAR_BYTES = 32;

export class ProofReader {
  private at = 0;

  /** @throws AssayError PROOF_INVALID unless the proof has exactly `expectedBytes`. */
  constructor(
    private readonly scheme: string,
    private readonly proof: Uint8Array,
    expectedBytes: number,
    private readonly transcript: Transcript,
  ) {
    if (proof.length !== expectedBytes) throw this.refuse(`expected ${expectedBytes} bytes, found ${proof.length}`);
  }

  /** One point per name. @throws AssayError PROOF_INVALID naming a point that is malformed. */
  points(label: string, names: readonly string[]): G1[] {
    const encoded = names.map(() => this.take(G1_BYTES));
    const points = encoded.map((bytes, i) => decodeG1(bytes, `${this.scheme} proof: ${names[i]}`));
    this.transcript.absorbPoints(label, encoded);
    return points;
  }

  /** One element of Fr per name. @throws AssayError PROOF_INVALID naming a scalar that is not below r. */
  scalars(label: string, names: readonly string[]): bigint[] {
    const scalars = names.map((name) => {
      const scalar = readUint256(this.take(SCALAR_BYTES), 0);
      if (scalar >= FR_MODULUS) throw this.refuse(`${name} is not below r`);
      return scalar;
    });
    this.transcript.absorbScalars(label, scalars);
    return scalars;
  }

  refuse(what: string): AssayError {
    return new AssayError('PROOF_INVALID', `${this.scheme} proof: ${what}`);
  }

  private take(bytes: number): Uint8Array {
    return this.proof.subarray(this.at, (this.at += bytes));
  }
}
