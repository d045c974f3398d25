/**
 * The seeded random numbers of the splits and of training: mulberry32, a 32-bit generator by Tommy Ettinger (public
 * domain). Not for secrets. The same seed gives the same sequence on every platform: it uses integer arithmetic only.
 */
export class SeededRandom {
  private state: number;

  /** @param seed an integer; its lowest 32 bits count. */
  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Uniform in [0, 1), a multiple of 2^-32. */
  uniform(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Uniform in [lo, hi). */
  between(lo: number, hi: number): number {
    return lo + (hi - lo) * this.uniform();
  }

  /** Standard normal, by the Box-Muller transform. */
  normal(): number {
    // 1 - uniform() lies in (0, 1], so the logarithm is finite.
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** 0 .. count - 1 in random order (Fisher and Yates, from the end). */
  permutation(count: number): Uint32Array {
    const order = Uint32Array.from({ length: count }, (_, index) => index);
    for (let last = count - 1; last > 0; last--) {
      const chosen = Math.floor(this.uniform() * (last + 1));
      const held = order[last]!;
      order[last] = order[chosen]!;
      order[chosen] = held;
    }
    return order;
  }
}
