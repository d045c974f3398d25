/** The terms of a job, as Escrow.sol checks and hashes them; SettlementTypes.sol has the same fields in this order. */
import { AbiCoder, keccak256 } from 'ethers';
import { AssayError } from '../common/errors.js';
import { checkHex, checkUint } from '../receipts/eip712.js';
import type { Hex } from '../receipts/types.js';

/** Times are spans of the contract's clock, amounts in the smallest unit of the settlement token. */
export interface Policy {
  /** After the commit: in which the output may be demanded. The executor is paid after it, however early the leaf is final. */
  readonly deliveryWindow: number;
  /** In which a demand must be answered; even: the first half is the executor's. */
  readonly answerTime: number;
  /** In which a bounty can be claimed after a kill without a precommit. */
  readonly responseTime: number;
  /** From a precommit until it counts; at least the clock span of one block. */
  readonly precommitDelay: number;
  /** Least time between `open` and `deliverBy`. */
  readonly minDeliver: number;
  /** Share of the lock for whoever proves a fault that anybody could prove, in 1/10,000. */
  readonly bountyOpenBps: number;
  /** Share of the lock for the checker whom chance has drawn, in 1/10,000. */
  readonly bountyAuditBps: number;
  /** Share of the amount that the deployment takes, in 1/10,000. */
  readonly protocolFeeBps: number;
  /** lock = max(minLock, price * lockFactorBps / 10,000). */
  readonly lockFactorBps: number;
  readonly minLock: bigint;
  /** From the lock to the requester where the executor does not deliver. */
  readonly noShowFee: bigint;
  /** Paid for the audit of one receipt; earmarked in the reserve while an order of the sampled lane is open. */
  readonly auditFee: bigint;
  /** Settlement token per gas: how calls that the protocol wants are paid back. */
  readonly unitPrice: bigint;
  /** Gas of a call that kills a claim. */
  readonly gasKill: number;
  /** Gas of an answer, and of each of its bytes. */
  readonly gasAnswer: number;
  readonly gasAnswerByte: number;
  /** zk lane: checks proofs. `NOBODY`: the lane is closed. */
  readonly verifier: Hex;
  /** Optimistic lane: judges disputes. `NOBODY`: the lane is closed. */
  readonly game: Hex;
  /** Sampled lane: judges audits. `NOBODY`: the lane is closed. */
  readonly court: Hex;
}

export const NOBODY: Hex = `0x${'00'.repeat(20)}`;

/** Bits of each field, or 'address', in the struct's order. */
const POLICY_FIELDS: { readonly [F in keyof Policy]: number | 'address' } = {
  deliveryWindow: 32,
  answerTime: 32,
  responseTime: 32,
  precommitDelay: 32,
  minDeliver: 32,
  bountyOpenBps: 16,
  bountyAuditBps: 16,
  protocolFeeBps: 16,
  lockFactorBps: 32,
  minLock: 128,
  noShowFee: 128,
  auditFee: 128,
  unitPrice: 64,
  gasKill: 32,
  gasAnswer: 32,
  gasAnswerByte: 16,
  verifier: 'address',
  game: 'address',
  court: 'address',
};
const FIELDS = Object.entries(POLICY_FIELDS) as [keyof Policy, number | 'address'][];
const POLICY_TYPE = `tuple(${FIELDS.map(([name, bits]) => `${bits === 'address' ? bits : `uint${bits}`} ${name}`).join(', ')})`;

/** What `policyHash` of an order and its receipt must be. @throws AssayError RECEIPT_FIELD_INVALID */
export function policyHash(policy: Policy): Hex {
  const value: Record<string, unknown> = {};
  for (const [name, bits] of FIELDS) {
    value[name] =
      bits === 'address' ? checkHex('policy', name, policy[name], 20) : checkUint('policy', name, policy[name], bits);
  }
  return keccak256(AbiCoder.defaultAbiCoder().encode([POLICY_TYPE], [value])) as Hex;
}

const BPS = 10_000n;
/** The least that any transaction costs, and the floor price of one of its bytes (EIP-7623). */
const [BASE_GAS, BYTE_GAS] = [21_000, 40];
/** The largest demand: 64 chunks of at most 256 bytes. */
const MAX_DEMAND_BYTES = 64 * 256;
/** An eighth of the largest transaction (EIP-7825). */
const MAX_ANSWER_GAS = 2 ** 24 / 8;

/**
 * The contract's checks, made before any gas is spent; `field` of the error is the contract's too. What stands in the
 * three addresses only the chain can tell.
 * @throws AssayError POLICY_INVALID, RECEIPT_FIELD_INVALID
 */
export function checkPolicy(policy: Policy): void {
  policyHash(policy);
  const { minLock } = policy;
  const gasRefund = BigInt(policy.gasKill) * policy.unitPrice;
  const share = (bps: number): bigint => (minLock * BigInt(bps)) / BPS;
  check('minLock', minLock > 0n, 'more than 0');
  check('deliveryWindow', policy.deliveryWindow > 0, 'more than 0');
  check('answerTime', policy.answerTime > 0 && policy.answerTime % 2 === 0, 'an even number above 0');
  check('precommitDelay', policy.precommitDelay > 0, 'more than 0');
  check('responseTime', policy.responseTime >= 2 + policy.precommitDelay, 'at least 2 + precommitDelay');
  check('minDeliver', policy.minDeliver > 0, 'more than 0');
  check('protocolFeeBps', BigInt(policy.protocolFeeBps) <= BPS, 'at most 10,000');
  check('noShowFee', policy.noShowFee <= minLock, 'at most minLock');
  check('unitPrice', policy.unitPrice > 0n, 'more than 0');
  check('gasKill', policy.gasKill >= BASE_GAS, `at least ${BASE_GAS}`);
  check('gasAnswer', policy.gasAnswer >= BASE_GAS, `at least ${BASE_GAS}`);
  check(
    'gasAnswerByte',
    policy.gasAnswerByte >= BYTE_GAS && policy.gasAnswer + policy.gasAnswerByte * MAX_DEMAND_BYTES <= MAX_ANSWER_GAS,
    `at least ${BYTE_GAS}, and the largest answer at most ${MAX_ANSWER_GAS} gas`,
  );
  check(
    'bountyOpenBps',
    share(policy.bountyOpenBps) + gasRefund <= minLock / 5n,
    'with gasKill * unitPrice at most a fifth of minLock',
  );
  check(
    'bountyAuditBps',
    share(policy.bountyAuditBps) + gasRefund + 3n * policy.auditFee <= minLock,
    'with gasKill * unitPrice and 3 * auditFee at most minLock',
  );
  const closed = policy.verifier === NOBODY && policy.game === NOBODY && policy.court === NOBODY;
  check('court', !closed, 'a judge for one lane at least: no order could ever be opened');
}

function check(field: keyof Policy, holds: boolean, expected: string): void {
  if (!holds) {
    throw new AssayError('POLICY_INVALID', `policy: ${field}: expected ${expected}`, { meta: { field } });
  }
}

/** A policy as the contract gives it. */
export function policyOfValue(value: Readonly<Record<string, unknown>>): Policy {
  const policy: Record<string, unknown> = {};
  for (const [name, bits] of FIELDS) {
    if (bits === 'address') policy[name] = (value[name] as string).toLowerCase();
    else policy[name] = bits > 32 ? value[name] : Number(value[name]);
  }
  return policy as unknown as Policy;
}
