/**
 * Mercury once more, from the text of mercury.ts alone: dense polynomials, Laurent products and long division written
 * out, commitments by means of tau. It is slow and made for two ends:
 *   - an honest proof must equal that of the prover to the last byte;
 *   - a cheat may replace single messages. `checks` then says which of the verifier's equations the messages satisfy,
 *     so that a test can show a forgery that only one check stands against.
 */
import { inverse, add, mul, neg, pow, sub } from '../../field/fr.js';
import type { Transcript } from '../../transcript/transcript.js';
import { absorbClaim } from '../claim.js';
import { ProofWriter } from '../proof-writer.js';
import type { OpeningClaim } from '../types.js';
import { commitWithTau, valueAt } from './random-claim.js';

type Polynomial = readonly bigint[];
/** Coefficients by exponent, which may be negative. */
type Laurent = ReadonlyMap<number, bigint>;

const times = (a: Polynomial, c: Polynomial): bigint[] => {
  const product = new Array<bigint>(Math.max(a.length + c.length - 1, 0)).fill(0n);
  a.forEach((x, i) => c.forEach((y, j) => (product[i + j] = add(product[i + j]!, mul(x, y)))));
  return product;
};

export const plus = (a: Polynomial, c: Polynomial, weight = 1n): bigint[] =>
  Array.from({ length: Math.max(a.length, c.length) }, (_, i) => add(a[i] ?? 0n, mul(weight, c[i] ?? 0n)));

/** Long division by a monic polynomial. */
function divide(dividend: Polynomial, divisor: Polynomial): { quotient: bigint[]; remainder: bigint[] } {
  const remainder = [...dividend];
  const degree = divisor.length - 1;
  const quotient = new Array<bigint>(Math.max(dividend.length - degree, 0)).fill(0n);
  for (let k = quotient.length - 1; k >= 0; k--) {
    quotient[k] = remainder[k + degree]!;
    divisor.forEach((c, i) => (remainder[k + i] = sub(remainder[k + i]!, mul(quotient[k]!, c))));
  }
  return { quotient, remainder: remainder.slice(0, degree) };
}

/** a(X) c(1/X) + a(1/X) c(X). */
function crossProducts(a: Polynomial, c: Polynomial): Map<number, bigint> {
  const sum = new Map<number, bigint>();
  a.forEach((x, i) =>
    c.forEach((y, j) => {
      for (const exponent of [i - j, j - i]) sum.set(exponent, add(sum.get(exponent) ?? 0n, mul(x, y)));
    }),
  );
  return sum;
}

const vanishing = (points: readonly bigint[]): bigint[] =>
  points.reduce<bigint[]>((product, point) => times(product, [neg(point), 1n]), [1n]);

function lagrange(points: readonly bigint[], values: readonly bigint[]): bigint[] {
  return points.reduce<bigint[]>((sum, point, i) => {
    const others = vanishing(points.filter((_, j) => j !== i));
    return plus(sum, others, mul(values[i]!, inverse(valueAt(others, point))));
  }, []);
}

/** eq(w, .) as coefficients, entry by entry. */
export function equalityTable(w: readonly bigint[]): bigint[] {
  return Array.from({ length: 2 ** w.length }, (_, j) =>
    w.reduce((product, u, i) => mul(product, (j >> (w.length - 1 - i)) & 1 ? u : sub(1n, u)), 1n),
  );
}

export interface MercuryCheat {
  h?(h: bigint[]): bigint[];
  division?(parts: { q: bigint[]; g: bigint[]; h: bigint[] }, alpha: bigint): { q: bigint[]; g: bigint[] };
  /** Replaces the six values; `hAtAlpha` is what the honest values give for h(alpha). */
  values?(values: bigint[], facts: { h: bigint[]; alpha: bigint; zeta: bigint; hAtAlpha: bigint }): bigint[];
}

/** Which equations hold: the division at zeta, and each opening that step 6 joins. */
export interface MercuryChecks {
  readonly division: boolean;
  readonly gValues: boolean;
  readonly hValues: boolean;
  readonly hAtAlpha: boolean;
  readonly sValues: boolean;
  readonly degree: boolean;
}

export function naiveMercury(
  transcript: Transcript,
  claim: OpeningClaim,
  f: Polynomial,
  tau: bigint,
  srsId: Uint8Array,
  cheat: MercuryCheat = {},
): { proof: Uint8Array; checks: MercuryChecks } {
  absorbClaim('assay/opening/mercury/1', transcript, claim, srsId);
  const writer = new ProofWriter(transcript);
  const commit = (p: Polynomial) => commitWithTau(p, tau);
  const rowBits = Math.ceil(claim.n / 2);
  const b = 2 ** (claim.n - rowBits);
  const pRow = equalityTable(claim.point.slice(0, rowBits));
  const pColumn = equalityTable(claim.point.slice(rowBits));

  // As many rows as f has: an f of more than 2^n entries has more than P_row has coefficients.
  const rowValues = Array.from({ length: f.length / b }, (_, i) =>
    pColumn.reduce((sum, p, j) => add(sum, mul(p, f[b * i + j]!)), 0n),
  );
  const h = cheat.h?.(rowValues) ?? rowValues;
  writer.points('h', [commit(h)]);
  const alpha = transcript.challenge('alpha');

  const binomial = (at: bigint) => [neg(at), ...new Array<bigint>(b - 1).fill(0n), 1n];
  const honest = divide(f, binomial(alpha));
  const parts = { q: honest.quotient, g: honest.remainder, h };
  const { q, g } = cheat.division?.(parts, alpha) ?? parts;
  writer.points('q, g', [commit(q), commit(g)]);
  const gamma = transcript.challenge('gamma');

  const left: Laurent = crossProducts(g, pColumn);
  const right: Laurent = crossProducts(h, pRow);
  const top = Math.max(...left.keys(), ...right.keys());
  const s = Array.from({ length: top }, (_, k) => add(left.get(k + 1) ?? 0n, mul(gamma, right.get(k + 1) ?? 0n)));
  const d = g.slice(0, b).reverse();
  writer.points('s, d', [commit(s), commit(d)]);
  const zeta = transcript.challenge('zeta');
  const zetaInverse = inverse(zeta);

  const pair = (p: Polynomial) => [valueAt(p, zeta), valueAt(p, zetaInverse)];
  const derive = ([g1, g2, h1, h2, s1, s2]: readonly bigint[]) => {
    const [row1, row2] = pair(pRow) as [bigint, bigint];
    const [column1, column2] = pair(pColumn) as [bigint, bigint];
    const products = add(mul(g1!, column2), mul(g2!, column1));
    const rows = add(mul(h1!, row2), mul(h2!, row1));
    const shifted = add(mul(zeta, s1!), mul(zetaInverse, s2!));
    return sub(mul(sub(add(products, mul(gamma, rows)), shifted), inverse(2n)), mul(gamma, claim.value));
  };
  const trueValues = [g, h, s].flatMap(pair);
  const values = cheat.values?.(trueValues, { h, alpha, zeta, hAtAlpha: derive(trueValues) }) ?? trueValues;
  const hAtAlpha = derive(values);
  const dAtZeta = mul(pow(zeta, BigInt(b - 1)), values[1]!);
  writer.scalars('values', values);

  const difference = plus(f, q, sub(alpha, pow(zeta, BigInt(b))));
  writer.points('t', [commit(divide(difference, [neg(zeta), 1n]).quotient)]);
  const beta = transcript.challenge('beta');

  const all = [zeta, zetaInverse, alpha];
  const opened = [
    { p: g, points: [zeta, zetaInverse], values: values.slice(0, 2) },
    { p: h, points: all, values: [...values.slice(2, 4), hAtAlpha] },
    { p: s, points: [zeta, zetaInverse], values: values.slice(4) },
    { p: d, points: [zeta], values: [dAtZeta] },
  ];
  const missing = opened.map(({ points }) => vanishing(all.filter((point) => !points.includes(point))));
  const numerator = opened.reduce<bigint[]>((sum, { p, points, values: claimed }, i) => {
    const excess = plus(p, lagrange(points, claimed), neg(1n));
    return plus(sum, times(missing[i]!, excess), pow(beta, BigInt(i)));
  }, []);
  const w = divide(numerator, vanishing(all)).quotient;
  writer.points('W', [commit(w)]);
  const z = transcript.challenge('z');
  const atZ = opened.reduce<bigint[]>(
    (sum, { p, points, values: claimed }, i) => {
      const excess = plus(p, [valueAt(lagrange(points, claimed), z)], neg(1n));
      return plus(sum, excess, mul(pow(beta, BigInt(i)), valueAt(missing[i]!, z)));
    },
    plus([], w, neg(valueAt(vanishing(all), z))),
  );
  writer.points("W'", [commit(divide(atZ, [neg(z), 1n]).quotient)]);

  const agree = (p: Polynomial, claimed: readonly bigint[]) => pair(p).every((value, i) => value === claimed[i]);
  return {
    proof: writer.proof(),
    checks: {
      division: valueAt(difference, zeta) === values[0],
      gValues: agree(g, values.slice(0, 2)),
      hValues: agree(h, values.slice(2, 4)),
      hAtAlpha: valueAt(h, alpha) === hAtAlpha,
      sValues: agree(s, values.slice(4)),
      degree: valueAt(d, zeta) === dAtZeta,
    },
  };
}
