/** Writes the messages of a proof in order and absorbs each: the mirror of proof-reader.ts. */
import { toBytes } from '../field/fr.js';
import type { Transcript } from '../transcript/transcript.js';

export class ProofWriter {
  private readonly parts: Uint8Array[] = [];

  constructor(private readonly transcript: Transcript) {}

  /** @param points 64 bytes each. */
  points(label: string, points: readonly Uint8Array[]): void {
    this.transcript.absorbPoints(label, points);
    this.parts.push(...points);
  }

  scalars(label: string, scalars: readonly bigint[]): void {
    this.transcript.absorbScalars(label, scalars);
    this.parts.push(...scalars.map(toBytes));
  }

  proof(): Uint8Array {
    const proof = new Uint8Array(this.parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.parts) {
      proof.set(part, at);
      at += part.length;
    }
    return proof;
  }
}
