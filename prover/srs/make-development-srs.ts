/** Makes the development SRS: tau^i G1 by tables of multiples of G1, since its tau is known. */
import { encodeG1, G1_BYTES, G1_GENERATOR } from '../curve/g1.js';
import { pow } from '../field/fr.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { developmentHead, DEVELOPMENT_TAU } from './development-srs.js';
import type { Srs } from './srs.js';

const CHUNK_POINTS = 1 << 14;

/**
 * @param size number of points, at least 2.
 * @param onProgress told the points made so far.
 */
export function makeDevelopmentSrs(
  size: number,
  { memory, fr, g1 }: Arithmetic,
  onProgress?: (donePoints: number) => void,
): Srs {
  const points = new Uint8Array(size * G1_BYTES);
  const generator = encodeG1(G1_GENERATOR);
  for (let from = 0; from < size; from += CHUNK_POINTS) {
    const count = Math.min(CHUNK_POINTS, size - from);
    memory.scoped(() => {
      const powers = fr.scale(pow(DEVELOPMENT_TAU, BigInt(from)), fr.powers(DEVELOPMENT_TAU, count));
      points.set(g1.toBytes(g1.multiplesOf(generator, powers)), from * G1_BYTES);
    });
    onProgress?.(from + count);
  }
  return { ...developmentHead(), points };
}
