/**
 * Seeded random numbers for the simulator: xoshiro128** 1.1 (Blackman and Vigna, public domain), its state filled by
 * splitmix32 from the seed. 32-bit integer arithmetic only, so a seed gives the same run on every platform. Not for secrets.
 */
export class RandomStream {
  readonly #state = new Uint32Array(4);

  /** @param seed its lowest 32 bits count */
  constructor(seed: number) {
    let mixed = seed >>> 0;
    for (let i = 0; i < 4; i++) {
      mixed = (mixed + 0x9e3779b9) >>> 0;
      let word = mixed;
      word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
      this.#state[i] = word ^ (word >>> 15);
    }
  }

  /** Uniform in 0 to 2^32 - 1. */
  word(): number {
    const s = this.#state;
    const product = Math.imul(s[1]!, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= shifted;
    s[3] = (s[3]! << 11) | (s[3]! >>> 21);
    return result;
  }

  /** Uniform in [0, 1), a multiple of 2^-32. */
  uniform(): number {
    return this.word() / 2 ** 32;
  }

  /** True with that chance, to 2^-32. */
  chance(probability: number): boolean {
    return this.uniform() < probability;
  }

  /** Uniform in 0 to count - 1; the bias is below count / 2^32. */
  below(count: number): number {
    return Math.floor(this.uniform() * count);
  }

  /** k of the numbers 0 to n - 1 without replacement, into the first k places of `pool`, which holds them in any order. */
  draw(pool: Uint32Array, k: number): void {
    for (let i = 0; i < k; i++) {
      const j = i + this.below(pool.length - i);
      const held = pool[i]!;
      pool[i] = pool[j]!;
      pool[j] = held;
    }
  }
}
