/** Test helper: sums of float32 products at every edge, with claims around what an honest machine may get. */
import { ONE, SIGN, type SumCase } from '../sum.js';
import { likelyFactor, soundFactor } from '../screen-float-trace.js';

export interface ClaimedSum {
  readonly sum: SumCase;
  /** Bits. */
  readonly y: number;
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

export function bitsOfNumber(value: number): number {
  scratch[0] = value;
  return scratchBits[0]!;
}

export function numberOfBits(bits: number): number {
  scratchBits[0] = bits;
  return scratch[0]!;
}

const EDGES = [
  0,
  SIGN,
  1,
  SIGN + 1,
  0x007fffff,
  0x00800000,
  0x7f7fffff,
  0xff7fffff,
  ONE,
  ONE + SIGN,
  0x34000000,
  0x33ffffff,
];
const SPECIALS = [0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001];

/** @param next numbers in [0, 1) */
export function randomClaim(next: () => number): ClaimedSum {
  const sum = randomSum(next);
  return { sum, y: randomResult(next, sum) };
}

function randomSum(next: () => number): SumCase {
  const kind = Math.floor(next() * 10);
  const whole = (below: number): number => Math.floor(next() * below);
  if (kind < 3) {
    const single = kind < 2;
    const x = Uint32Array.from({ length: single ? 2 : 1 }, () => randomBits(next, 0, 254));
    // Results near zero, for the cancelling pair.
    if (single && next() < 0.3) x[1] = (x[0]! ^ (next() < 0.5 ? SIGN : 0)) + (next() < 0.5 && x[0]! % 2 === 0 ? 1 : 0);
    const w = single ? Uint32Array.of(ONE, next() < 0.5 ? ONE : ONE + SIGN) : Uint32Array.of(randomBits(next, 0, 254));
    return { x, w, roundings: 1, divisor: 1, single };
  }
  const terms = next() < 0.05 ? 1 + whole(400) : 1 + whole(24);
  const low = whole(255);
  const high = low + whole(255 - low);
  const mean = kind === 3;
  const x = Uint32Array.from({ length: terms }, () => randomBits(next, low, high));
  const wLow = next() < 0.7 ? Math.max(0, Math.min(254, 254 - low - whole(20))) : whole(255);
  const w = Uint32Array.from({ length: terms }, () =>
    mean ? ONE : randomBits(next, wLow, Math.min(254, wLow + whole(30))),
  );
  // Pairs that cancel, all but one unit of one.
  if (next() < 0.3)
    for (let i = 0; i + 1 < terms; i += 2) {
      x[i + 1] = (x[i]! ^ SIGN) >>> 0;
      w[i + 1] = w[i]!;
      if (next() < 0.2 && x[i + 1]! % 2 === 0) x[i + 1] = x[i + 1]! + 1;
    }
  if (next() < 0.05) x[whole(terms)] = SPECIALS[whole(SPECIALS.length)]!;
  return { x, w, roundings: terms + (mean ? 1 : whole(2)), divisor: mean ? 1 + whole(terms + 3) : 1, single: false };
}

/** Bits of a number with an exponent from low to high, of either sign; sometimes an edge. */
function randomBits(next: () => number, low: number, high: number): number {
  if (next() < 0.1) return EDGES[Math.floor(next() * EDGES.length)]!;
  const exponent = low + Math.floor(next() * (high - low + 1));
  return (next() < 0.5 ? SIGN : 0) + exponent * 2 ** 23 + Math.floor(next() * 2 ** 23);
}

/** A claim: the rounded sum, one at the bound or a little off it, the sum of a wrong order, or anything. */
function randomResult(next: () => number, { x, w, roundings, divisor, single }: SumCase): number {
  let signed = 0;
  let absolute = 0;
  let largest = 0;
  x.forEach((bits, i) => {
    const [a, b] = [numberOfBits(bits), numberOfBits(w[i]!)];
    signed += a * b;
    absolute += Math.abs(a * b);
    largest = Math.max(largest, Math.abs(a) + Math.abs(b));
  });
  const exact = signed / divisor;
  const flushed = 4 * x.length * 2 ** -126 * (single ? 1 : 1 + largest);
  const bound = (soundFactor(roundings) * (single ? Math.abs(signed) : absolute)) / divisor + flushed;
  const side = next() < 0.5 ? -1 : 1;
  switch (Math.floor(next() * 8)) {
    case 0:
      return bitsOfNumber(exact);
    case 1:
    case 2:
      return bitsOfNumber(exact + side * bound * (1 + (next() - 0.5) * 2 ** -Math.floor(next() * 24)));
    case 3:
      return bitsOfNumber(exact + side * (likelyFactor(roundings) * absolute) * 2 * next());
    case 4: {
      const near = bitsOfNumber(exact) + Math.floor(next() * 9) - 4;
      return near < 0 || near >= 2 ** 32 ? 0 : near;
    }
    case 5:
      return EDGES[Math.floor(next() * EDGES.length)]!;
    case 6:
      return next() < 0.7 ? (exact < 0 ? 0xff800000 : 0x7f800000) : SPECIALS[Math.floor(next() * SPECIALS.length)]!;
    default:
      return Math.floor(next() * 2 ** 32);
  }
}

export interface Machine {
  /** Results below 2^-126 become zero. */
  readonly flushes: boolean;
  /** Operands below 2^-126 are read as zero. */
  readonly readsZero: boolean;
  /** Product and sum round once. */
  readonly fuses: boolean;
}

/** What a machine gets for the sum, adding in a random tree. */
export function honestResult(next: () => number, sum: SumCase, machine: Machine): number {
  const small = (value: number): boolean => Math.abs(value) < 2 ** -126;
  const read = (value: number): number => (machine.readsZero && small(value) ? value * 0 : value);
  const round = (value: number): number => {
    const rounded = Math.fround(value);
    return machine.flushes && small(rounded) ? rounded * 0 : rounded;
  };
  const products = Array.from(sum.x, (bits, i) => [read(numberOfBits(bits)), read(numberOfBits(sum.w[i]!))] as const);
  if (sum.single) return round(products[0]![0] * products[0]![1] + products[1]![0] * products[1]![1]);
  const parts = products.map(([x, w]): { value: number; pending: boolean } => ({
    value: machine.fuses ? x * w : round(x * w),
    pending: machine.fuses,
  }));
  while (parts.length > 1) {
    const [a] = parts.splice(Math.floor(next() * parts.length), 1);
    const [b] = parts.splice(Math.floor(next() * parts.length), 1);
    // One of the two may be a product that has not been rounded; the other is a sum in a register.
    const left = a!.pending && b!.pending ? round(a!.value) : a!.value;
    parts.push({
      value: round((a!.pending ? left : read(left)) + (b!.pending ? b!.value : read(b!.value))),
      pending: false,
    });
  }
  const total = round(parts[0]!.value);
  if (sum.divisor === 1) return total;
  return next() < 0.5 ? round(total / sum.divisor) : round(total * round(1 / sum.divisor));
}
