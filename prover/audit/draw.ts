/** Random choices of the audit, a pure function of a name and a seed: a finding is reproduced by repeating both. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { fromBytes, toField } from '../field/fr.js';

export class Draw {
  private counter = 0;

  constructor(
    private readonly name: string,
    private readonly seed: number,
  ) {}

  private bytes(): Uint8Array {
    return keccak_256(new TextEncoder().encode(`${this.name} ${this.seed} ${this.counter++}`));
  }

  /** In [0, 1). */
  real(): number {
    const [a, b, c, d] = this.bytes() as unknown as [number, number, number, number];
    return (a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d) / 2 ** 32;
  }

  /** lo..hi, both included. */
  int(lo: number, hi: number): number {
    return lo + Math.floor(this.real() * (hi - lo + 1));
  }

  chance(probability: number): boolean {
    return this.real() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)]!;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.int(0, left.length - 1), 1)[0]!);
  }

  field(): bigint {
    return toField(fromBytes(this.bytes()));
  }

  /** A field element other than 0. */
  nonzero(): bigint {
    return this.field() || 1n;
  }

  /** Elements of a tensor: extremes, few distinct ones (ties of maxima), or anything. */
  values(length: number, lo: number, hi: number): Int32Array {
    const fill = this.pick(['lo', 'hi', 'ends', 'few', 'any', 'any', 'any']);
    return Int32Array.from({ length }, () => {
      if (fill === 'lo') return lo;
      if (fill === 'hi') return hi;
      if (fill === 'ends') return this.chance(0.5) ? lo : hi;
      return this.int(lo, fill === 'few' ? Math.min(hi, lo + 1) : hi);
    });
  }
}
