/**
 * What a checker is paid, and why it should compute.
 *
 *   f  fee of an audit     k  cost of a re-execution     B  bounty for what is found     d  deposit of a checker
 *   m  share of audits that are canaries: jobs with a planted lie, whose answer is known beforehand
 *   s  chance that a copied answer is found out without a canary, by the drawn positions of the trace
 *
 *   computing = f - k + m B
 *   copying   = (1 - m)(1 - s) f - (m + (1 - m) s) d
 *
 * A checker that copies the executor's answer calls a canary's lie right, and loses its deposit; with the positions of the
 * trace (the executor opens them only after the checker has committed) it must guess bytes it never saw. Where lies are
 * rare nothing else pays for looking: hence canaries.
 *
 * Computing is the better one if and only if
 *   u f + m B + u d > k,   u = m + (1 - m) s.
 */
import { checkAmount, checkShare } from './incentives.js';
import {
  above,
  add,
  ceil,
  compare,
  divide,
  multiply,
  ONE,
  rational,
  subtract,
  ZERO,
  type Rational,
} from './rational.js';

export interface CheckerPay {
  readonly fee: bigint;
  readonly checkCost: bigint;
  readonly bounty: bigint;
  readonly deposit: bigint;
  /** m */
  readonly canaryRate: Rational;
  /** s */
  readonly positionsCatch: Rational;
}

function check(pay: CheckerPay): void {
  for (const name of ['fee', 'checkCost', 'bounty', 'deposit'] as const) checkAmount(name, pay[name]);
  checkShare('canaryRate', pay.canaryRate);
  checkShare('positionsCatch', pay.positionsCatch);
}

/** u: the chance that a copied answer is found out. @throws AssayError ECONOMICS_INVALID */
export function copyFoundOut(pay: CheckerPay): Rational {
  check(pay);
  return add(pay.canaryRate, multiply(subtract(ONE, pay.canaryRate), pay.positionsCatch));
}

/** Expected profit of an audit. @throws AssayError ECONOMICS_INVALID */
export function checkerProfit(pay: CheckerPay): { readonly computing: Rational; readonly copying: Rational } {
  const u = copyFoundOut(pay);
  const { fee, checkCost, bounty, deposit, canaryRate } = pay;
  return {
    computing: add(rational(fee - checkCost), multiply(canaryRate, rational(bounty))),
    copying: subtract(multiply(subtract(ONE, u), rational(fee)), multiply(u, rational(deposit))),
  };
}

/**
 * The least share of canaries, in whole millionths, at which computing is the better one and does not lose money.
 * @returns null where not even canaries alone are enough
 * @throws AssayError ECONOMICS_INVALID
 */
export function leastCanaryRatePpm(pay: Omit<CheckerPay, 'canaryRate'>): number | null {
  check({ ...pay, canaryRate: ZERO });
  const { fee, checkCost, bounty, deposit, positionsCatch: s } = pay;
  const stakes = rational(fee + deposit);
  // u = s + m (1 - s): both conditions are linear in m.
  const slope = add(rational(bounty), multiply(subtract(ONE, s), stakes));
  const better = boundOf(subtract(rational(checkCost), multiply(s, stakes)), slope);
  const pays = fee >= checkCost ? ZERO : boundOf(rational(checkCost - fee), rational(bounty));
  if (better === null || pays === null) return null;
  const million = rational(1_000_000n);
  // More than the first, at least the second.
  const strict = compare(better, ZERO) < 0 ? 0n : above(multiply(better, million));
  const enough = ceil(multiply(pays, million));
  const least = strict > enough ? strict : enough;
  return least > 1_000_000n ? null : Number(least);
}

/** needed / slope; null where there is no slope to reach it with. */
function boundOf(needed: Rational, slope: Rational): Rational | null {
  if (slope.numerator === 0n) return compare(needed, ZERO) < 0 ? rational(-1n) : null;
  return divide(needed, slope);
}

/**
 * The least fee at which an audit is worth its cost though nothing is ever found, and with canaries.
 * @throws AssayError ECONOMICS_INVALID
 */
export function leastFee({ checkCost, bounty, canaryRate }: Pick<CheckerPay, 'checkCost' | 'bounty' | 'canaryRate'>): {
  readonly withoutFinding: bigint;
  readonly withCanaries: bigint;
} {
  checkAmount('checkCost', checkCost);
  checkAmount('bounty', bounty);
  checkShare('canaryRate', canaryRate);
  const left = subtract(rational(checkCost), multiply(canaryRate, rational(bounty)));
  return { withoutFinding: checkCost, withCanaries: compare(left, ZERO) <= 0 ? 0n : ceil(left) };
}
