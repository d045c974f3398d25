/** Repeatable random integers for the tests of the arithmetic, and the values that break limb arithmetic. */
import { FR_MODULUS } from '../../field/bn254.params.js';

/** The generator mulberry32: 32 random bits a call. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  bits32(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** An integer in [low, high]. */
  integer(low: number, high: number): number {
    return low + Math.floor((this.bits32() / 2 ** 32) * (high - low + 1));
  }

  scalar(modulus = FR_MODULUS): bigint {
    let value = 0n;
    for (let i = 0; i < 10; i++) value = (value << 32n) | BigInt(this.bits32());
    return value % modulus;
  }

  /** `count` scalars that begin with the edge cases. */
  scalars(count: number, modulus = FR_MODULUS): bigint[] {
    const edges = edgeScalars(modulus);
    return Array.from({ length: count }, (_, i) => (i < edges.length ? edges[i]! : this.scalar(modulus)));
  }
}

/** 0, 1, p-1 and their neighbours; limbs at their bounds are in corners.ts. */
const edgeScalars = (modulus: bigint): bigint[] => [0n, 1n, modulus - 1n, 2n, modulus - 2n, modulus >> 1n, 1n << 29n];
