/** What an adversary does to bytes: anything, but mostly close to something valid. */
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { toBytes } from '../../prover/field/fr.js';

const LENGTHS = [0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff] as const;

function uint256(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * (31 - i))) & 0xffn));
}

const SCALARS = [uint256(FR_MODULUS), uint256((1n << 256n) - 1n), toBytes(FR_MODULUS - 1n), toBytes(0n), toBytes(1n)];

/** A changed copy; now and then something else altogether. @param uniform draws from [0, 1). */
export function mutate(bytes: Uint8Array, uniform: () => number): Uint8Array {
  const random = {
    int: (lo: number, hi: number): number => lo + Math.floor(uniform() * (hi - lo + 1)),
    pick: <T>(items: readonly T[]): T => items[Math.floor(uniform() * items.length)]!,
  };
  const at = (size: number): number => random.int(0, Math.max(0, bytes.length - size));
  const copy = bytes.slice();
  switch (random.int(0, 9)) {
    case 0:
      return bytes.slice(0, at(0));
    case 1:
      return Uint8Array.of(...bytes, ...Array.from({ length: random.int(1, 70) }, () => random.int(0, 255)));
    case 2:
      return Uint8Array.from({ length: random.int(0, 400) }, () => random.int(0, 255));
    case 3: {
      // Behind a valid beginning.
      const start = at(0);
      return copy.map((byte, i) => (i < start ? byte : random.int(0, 255)));
    }
    case 4:
      new DataView(copy.buffer).setUint32(at(4), random.pick(LENGTHS));
      return copy;
    case 5:
      copy.set(random.pick(SCALARS), at(32));
      return copy;
    case 6: {
      const length = random.int(1, 64);
      copy.copyWithin(at(length), at(length), at(length) + length);
      return copy;
    }
    case 7:
      copy.fill(random.pick([0, 255]), at(64), at(64) + random.int(1, 64));
      return copy;
    case 8: {
      const from = at(1);
      return Uint8Array.of(...bytes.subarray(0, from), ...bytes.subarray(from + random.int(1, 40)));
    }
    default:
      for (let i = random.int(1, 4); i > 0; i--) copy[at(1)]! ^= 1 << random.int(0, 7);
      return copy;
  }
}
