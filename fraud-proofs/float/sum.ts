/**
 * Sums of products of float32 numbers, and what an honest machine can make of them. Numbers are given by their bits.
 *
 * Two ways to the same question, "can an honest machine have got y?":
 *   - `allowsExactly` is the definition: the inequality in exact rationals, written as integers. Bits s | e | f stand
 *     for (-1)^s m 2^(max(e,1) - 150), so that every number is a whole multiple of 2^-149 and every product of 2^-298.
 *   - `allows` is what the contract computes (verifier-contracts/src/dispute/float/FloatSum.sol, with the proof): the
 *     same in 256 bits, cut off 190 bits below the largest product and wider by more than what is cut off. It allows
 *     all that the definition allows. A verdict is always its verdict.
 * Symbols: n terms, r roundings, S = sum x w, A = sum |x w|, c the divisor, p = max |x|, q = max |w|,
 *   F = 4n 2^-126 (1 + p + q): what flushing to zero can lose.
 *   finite y:  |y - S/c| <= r / (2^24 - r) M/c + F, M = A; or |S| for an addition of two numbers (`single`; F without
 *   p, q) else:      (1 + r / (2^24 - r)) M + F >= 2^128 - 2^103, the least sum that rounds to infinity
 * An operand that is infinite or NaN: y is finite only where each such operand meets a weight below 2^-126.
 */

export interface SumCase {
  /** Bits of the factors. */
  readonly x: Uint32Array;
  readonly w: Uint32Array;
  /** r: how many roundings one term passes through at most. */
  readonly roundings: number;
  /** c */
  readonly divisor: number;
  /** One addition of two numbers. */
  readonly single: boolean;
}

export const ONE = 0x3f800000;
export const SIGN = 0x80000000;
const MAX_FINITE = 0x7f7fffff;
const MAX_SUBNORMAL = 0x007fffff;
const KEPT = 190;
const MIN_TOP = 255;

export const magnitudeBits = (bits: number): number => bits & 0x7fffffff;
export const isNan = (bits: number): boolean => magnitudeBits(bits) > 0x7f800000;
/** Zero or subnormal. */
export const isSmall = (bits: number): boolean => magnitudeBits(bits) <= MAX_SUBNORMAL;
const isFinite_ = (bits: number): boolean => magnitudeBits(bits) <= MAX_FINITE;
const exponentOf = (bits: number): number => Math.max(1, (bits >>> 23) & 0xff);
const mantissaOf = (bits: number): number => (bits & 0x7fffff) + (((bits >>> 23) & 0xff) > 0 ? 2 ** 23 : 0);
const abs = (value: bigint): bigint => (value < 0n ? -value : value);

/** The rule for operands that are infinite or NaN; null where there are none. */
function specialVerdict({ x, w }: SumCase, y: number): boolean | null {
  let special = false;
  let firm = false;
  x.forEach((bits, i) => {
    if (isFinite_(bits) && isFinite_(w[i]!)) return;
    special = true;
    firm ||= !isSmall(bits) && !isSmall(w[i]!);
  });
  return special ? !(isFinite_(y) && firm) : null;
}

const largest = (values: Uint32Array): number => values.reduce((most, bits) => Math.max(most, magnitudeBits(bits)), 0);

/** The definition. Slow: numbers of some 600 bits. */
export function allowsExactly(sum: SumCase, y: number): boolean {
  const special = specialVerdict(sum, y);
  if (special !== null) return special;
  // Every quantity in units of 2^-298.
  const integer = (bits: number): bigint =>
    (bits >= SIGN ? -1n : 1n) * (BigInt(mantissaOf(bits)) << BigInt(exponentOf(bits) - 1)); // of 2^-149
  let signed = 0n;
  let absolute = 0n;
  sum.x.forEach((bits, i) => {
    const product = integer(bits) * integer(sum.w[i]!);
    signed += product;
    absolute += abs(product);
  });
  const reach = sum.single ? abs(signed) : absolute;
  const p = sum.single ? 0n : integer(largest(sum.x));
  const q = sum.single ? 0n : integer(largest(sum.w));
  // 2^-126 is 2^172 units; times a multiple of 2^-149: 2^23 units.
  const flushed = BigInt(4 * sum.x.length) * ((1n << 172n) + ((p + q) << 23n));
  const r = BigInt(sum.roundings);
  const d = (1n << 24n) - r;
  const c = BigInt(sum.divisor);
  if (!isFinite_(y)) return (d + r) * reach + d * flushed >= (d * ((1n << 128n) - (1n << 103n))) << 298n;
  const claimed = integer(y) << 149n;
  return d * abs(c * claimed - signed) <= r * reach + c * d * flushed;
}

/** What the contract computes. */
export function allows(sum: SumCase, y: number): boolean {
  const special = specialVerdict(sum, y);
  if (special !== null) return special;
  const exponentField = (bits: number): number => magnitudeBits(bits) >>> 23;
  const top = sum.x.reduce((most, bits, i) => Math.max(most, exponentField(bits) + exponentField(sum.w[i]!)), MIN_TOP);
  // floor(m 2^shift)
  const scaled = (mantissa: bigint, shift: number): bigint =>
    shift >= 0 ? mantissa << BigInt(shift) : mantissa >> BigInt(-shift);
  const units = (bits: number, offset: number): bigint =>
    scaled(BigInt(mantissaOf(bits)), exponentOf(bits) + offset - top);
  let signed = 0n;
  let absolute = 0n;
  sum.x.forEach((bits, i) => {
    const other = sum.w[i]!;
    const exact = BigInt(mantissaOf(bits)) * BigInt(mantissaOf(other));
    const product = scaled(exact, KEPT + exponentOf(bits) + exponentOf(other) - top);
    absolute += product;
    signed += bits >= SIGN !== other >= SIGN ? -product : product;
  });
  const reach = sum.single ? abs(signed) : absolute;
  const n = BigInt(sum.x.length);
  const r = BigInt(sum.roundings);
  const c = BigInt(sum.divisor);
  const relative = (value: bigint): bigint => r * (value / ((1n << 24n) - r) + 1n);
  let flushed = units(ONE, 214) + 1n;
  if (!sum.single) flushed += units(largest(sum.x), 214) + units(largest(sum.w), 214) + 2n;
  const losses = 4n * n * flushed + 4n * (n + 1n);
  if (!isFinite_(y)) return top >= 365 && reach + relative(reach) + losses >= ((1n << 25n) - 1n) << BigInt(593 - top);
  const exact = (signed < 0n ? -1n : 1n) * (abs(signed) / c);
  const claimed = (y >= SIGN ? -1n : 1n) * units(magnitudeBits(y), 340);
  return abs(claimed - exact) <= relative((reach + c - 1n) / c) + losses;
}
