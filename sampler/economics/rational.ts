/**
 * Exact fractions of bigints. Money is divided by probabilities here, and a stake that is one unit too small is too small:
 * so nothing is rounded before the end, and then in a direction that has a name.
 *
 * A rate is read from decimal text as it stands: "0.05" is 1/20, which no double is.
 */
import { AssayError } from '../../common/errors.js';

export interface Rational {
  readonly numerator: bigint;
  /** Above 0; the fraction is in lowest terms. */
  readonly denominator: bigint;
}

/** @throws AssayError ECONOMICS_INVALID for the denominator 0 */
export function rational(numerator: bigint, denominator = 1n): Rational {
  if (denominator === 0n) throw new AssayError('ECONOMICS_INVALID', 'a fraction: expected a denominator other than 0');
  const sign = denominator < 0n ? -1n : 1n;
  const divisor = sign * gcd(numerator < 0n ? -numerator : numerator, denominator < 0n ? -denominator : denominator);
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}

export const ZERO = rational(0n);
export const ONE = rational(1n);

export const add = (a: Rational, b: Rational): Rational =>
  rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);

export const subtract = (a: Rational, b: Rational): Rational => add(a, { ...b, numerator: -b.numerator });

export const multiply = (a: Rational, b: Rational): Rational =>
  rational(a.numerator * b.numerator, a.denominator * b.denominator);

/** @throws AssayError ECONOMICS_INVALID for b = 0 */
export const divide = (a: Rational, b: Rational): Rational =>
  rational(a.numerator * b.denominator, a.denominator * b.numerator);

/** Below 0, 0 or above 0 as a is below, equal to or above b. */
export const compare = (a: Rational, b: Rational): number => {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

/** Largest whole number that is not above a. */
export function floor({ numerator, denominator }: Rational): bigint {
  const quotient = numerator / denominator;
  return numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient;
}

/** Least whole number that is not below a. */
export const ceil = ({ numerator, denominator }: Rational): bigint => -floor({ numerator: -numerator, denominator });

/** Least whole number above a. */
export const above = (a: Rational): bigint => floor(a) + 1n;

/** Within two units in the last place of the double next to a. */
export function toNumber({ numerator, denominator }: Rational): number {
  if (numerator === 0n) return 0;
  const size = numerator < 0n ? -numerator : numerator;
  // 64 bits of quotient: more than a double keeps, and no part overflows one.
  const shift = bits(denominator) - bits(size) + 64;
  const quotient = shift >= 0 ? (size << BigInt(shift)) / denominator : size / (denominator << BigInt(-shift));
  const value = Number(quotient) * 2 ** -shift;
  return numerator < 0n ? -value : value;
}

/** The exact value of a double. @throws AssayError ECONOMICS_INVALID where it is not finite */
export function fromNumber(value: number): Rational {
  if (!Number.isFinite(value)) throw new AssayError('ECONOMICS_INVALID', `expected a finite number, found ${value}`);
  let denominator = 1n;
  let scaled = value;
  // A double is a whole number after at most 1,074 doublings, and each of them is exact.
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    denominator *= 2n;
  }
  return rational(BigInt(scaled), denominator);
}

/**
 * Decimal text, a percentage or a fraction: "0.05", "5 %", "1/20".
 * @param name what the text states, for the message
 * @throws AssayError ECONOMICS_INVALID
 */
export function parseRational(name: string, text: string): Rational {
  const fraction = /^(\d+)\/(\d+)$/.exec(text.trim());
  if (fraction !== null && BigInt(fraction[2]!) > 0n) return rational(BigInt(fraction[1]!), BigInt(fraction[2]!));
  const decimal = /^(\d+)(?:\.(\d+))?\s*(%?)$/.exec(text.trim());
  if (decimal === null) {
    throw new AssayError('ECONOMICS_INVALID', `${name}: expected a number such as 0.05, 5% or 1/20, found "${text}"`);
  }
  const [, whole, places = '', percent] = decimal;
  return rational(BigInt(whole! + places), 10n ** BigInt(places.length + (percent === '%' ? 2 : 0)));
}

function bits(value: bigint): number {
  const hex = value.toString(16);
  return 4 * (hex.length - 1) + (32 - Math.clz32(Number.parseInt(hex[0]!, 16)));
}

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a === 0n ? 1n : a;
}
