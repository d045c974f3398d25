/**
 * The money of one order in the sampled lane, from its quote to its end, by the roundings of Escrow.sol.
 *
 *   base      requests * tokens * price per tokens
 *   surcharge base * audit rate: the re-execution of that share, at the same price, paid to whoever checks
 *   lock      max(least lock, base * lock factor)
 *
 * Every division that the contract makes rounds down, the surcharge rounds up: an audit is never short of a unit.
 *
 *   honest    in = base + surcharge + lock = executor (base - protocol fee + lock) + checker + governor
 *   cheat     in = the same = requester (base + surcharge) + bounty + checker + gas refund + burnt
 *
 * A cheat's requester has his surcharge back as well, so the checker's fee comes out of the lock.
 */
import { AssayError } from '../../common/errors.js';
import { checkAmount, checkCount, checkShare } from './incentives.js';
import { ceil, multiply, rational, type Rational } from './rational.js';

export interface Usage {
  readonly requests: number;
  readonly tokensPerRequest: number;
  /** What so many tokens cost. */
  readonly unitPrice: { readonly amount: bigint; readonly tokens: number };
}

/** What the policy of an order says of its money; fields as in verifier-contracts/policy.ts. */
export interface MoneyTerms {
  /** Share of the requests that is re-executed. */
  readonly auditRate: Rational;
  readonly lockFactorBps: number;
  readonly minLock: bigint;
  readonly bountyAuditBps: number;
  readonly protocolFeeBps: number;
  /** gasKill * unitPrice */
  readonly gasRefund: bigint;
}

export interface JobQuote {
  readonly base: bigint;
  readonly surcharge: bigint;
  /** What the requester puts in. */
  readonly escrow: bigint;
  readonly lock: bigint;
}

/** Who has what at the end; the parts are all that was put in. */
export interface JobEnd {
  readonly requester: bigint;
  /** The executor's account. */
  readonly executor: bigint;
  /** Fee and bounty of whoever checked. */
  readonly checkerFee: bigint;
  readonly bounty: bigint;
  readonly governor: bigint;
  readonly gasRefund: bigint;
  readonly burnt: bigint;
}

const BPS = 10_000n;
const shareOf = (amount: bigint, bps: number): bigint => (amount * BigInt(bps)) / BPS;

/** @throws AssayError ECONOMICS_INVALID */
export function quoteJob(usage: Usage, terms: MoneyTerms): JobQuote {
  const { requests, tokensPerRequest, unitPrice } = usage;
  checkCount('requests', requests, 1);
  checkCount('tokensPerRequest', tokensPerRequest, 1);
  checkCount('unitPrice.tokens', unitPrice.tokens, 1);
  checkAmount('unitPrice.amount', unitPrice.amount);
  checkMoney(terms);
  const tokens = BigInt(requests) * BigInt(tokensPerRequest);
  const base = ceil(rational(tokens * unitPrice.amount, BigInt(unitPrice.tokens)));
  const surcharge = ceil(multiply(rational(base), terms.auditRate));
  const lock = shareOf(base, terms.lockFactorBps);
  return { base, surcharge, escrow: base + surcharge, lock: lock > terms.minLock ? lock : terms.minLock };
}

/** Checked and found right: the audit costs what the requester has paid for it. */
export function endHonest({ base, surcharge, lock }: JobQuote, terms: MoneyTerms): JobEnd {
  const governor = shareOf(base, terms.protocolFeeBps);
  const nothing = { requester: 0n, bounty: 0n, gasRefund: 0n, burnt: 0n };
  return { ...nothing, executor: base - governor + lock, checkerFee: surcharge, governor };
}

/** Found wrong: the requester is made whole, and the whole lock goes. @throws AssayError ECONOMICS_INVALID where the lock is too small for what it is to pay */
export function endSlashed({ surcharge, escrow, lock }: JobQuote, terms: MoneyTerms): JobEnd {
  const bounty = shareOf(lock, terms.bountyAuditBps);
  const burnt = lock - bounty - surcharge - terms.gasRefund;
  if (burnt < 0n) {
    throw new AssayError(
      'ECONOMICS_INVALID',
      `lock: expected at least the bounty ${bounty}, the fee ${surcharge} and the gas refund ${terms.gasRefund} together, found ${lock}`,
    );
  }
  return {
    requester: escrow,
    executor: 0n,
    checkerFee: surcharge,
    bounty,
    governor: 0n,
    gasRefund: terms.gasRefund,
    burnt,
  };
}

function checkMoney(terms: MoneyTerms): void {
  checkCount('lockFactorBps', terms.lockFactorBps, 0, 2 ** 32 - 1);
  checkCount('bountyAuditBps', terms.bountyAuditBps, 0, 10_000);
  checkCount('protocolFeeBps', terms.protocolFeeBps, 0, 10_000);
  checkAmount('minLock', terms.minLock);
  checkAmount('gasRefund', terms.gasRefund);
  checkShare('auditRate', terms.auditRate);
}
