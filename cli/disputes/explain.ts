/** One claim in full: what is wrong, where, how that is shown, and what showing it costs. */
import type { ClaimReport } from '../../fraud-proofs/watch/watcher.js';
import { baseDeposit } from '../../fraud-proofs/watch/watcher.js';
import type { Hex } from '../../receipts/types.js';
import { timeText } from '../settlement/clock-text.js';
import { amountText } from '../settlement/token-unit.js';
import { claimJson, stepText, type TextContext } from './watch-text.js';

export interface Explanation {
  readonly report: ClaimReport;
  /** What is known of the claim so far, by who said it. */
  readonly answers: readonly { readonly node: string; readonly sender: Hex }[];
  readonly cost: {
    /** Bytes of the evidence; null where nothing can be shown yet. */
    readonly evidenceBytes: number | null;
    /** Least price of its calldata (EIP-7623), in gas. */
    readonly calldataGas: number | null;
    /** Deposit of one full demand, in the smallest unit of the token. */
    readonly demandDeposit: bigint;
    /** Bounty for proving it, with an announcement that counts. */
    readonly bounty: bigint;
    readonly gasRefund: bigint;
  };
}

/** Of a byte of calldata that is not zero, and of one that is: what a transaction pays at least. */
const [FLOOR_BYTE_GAS, FLOOR_ZERO_GAS] = [40, 10];
const BPS = 10_000n;

export function explain(report: ClaimReport): Explanation & Record<string, unknown> {
  const { seen, step } = report;
  const { policy } = seen.game;
  const evidence = step.kind === 'prove' ? Buffer.from(step.proof.evidence.slice(2), 'hex') : null;
  const zeros = evidence?.filter((byte) => byte === 0).length ?? 0;
  return {
    ...claimJson(report),
    report,
    answers: seen.demands.flatMap(({ node, answer }) =>
      answer === null ? [] : [{ node: `${node.kind} ${node.slot}/${node.first}`, sender: answer.sender }],
    ),
    cost: {
      evidenceBytes: evidence?.length ?? null,
      calldataGas: evidence === null ? null : zeros * FLOOR_ZERO_GAS + (evidence.length - zeros) * FLOOR_BYTE_GAS,
      demandDeposit: baseDeposit(policy),
      bounty: (seen.order.lock * BigInt(policy.bountyOpenBps)) / BPS,
      gasRefund: BigInt(policy.gasKill) * policy.unitPrice,
    },
  };
}

export function describeExplanation({ report, answers, cost }: Explanation, { clock, unit }: TextContext): string {
  const { seen, step, verdict, openUntil } = report;
  const lines: [string, string][] = [
    ['claim', seen.id],
    ['verdict', verdict],
    ['why', stepText(step)],
  ];
  if (step.kind === 'prove') {
    const { place, proof } = step;
    lines.push(['fault', proof.fault], ['operator', place.operator]);
    if (place.element !== null) lines.push(['element', String(place.element)]);
    if (place.committed !== null)
      lines.push(['committed', place.committed], ['recomputed', place.recomputed ?? 'unknown']);
    lines.push(['evidence', `${cost.evidenceBytes} bytes, at least ${cost.calldataGas} gas of calldata`]);
  }
  lines.push(
    ['executor', seen.claim.receipt.executor],
    ['lock', amountText(seen.order.lock, unit)],
    ['bounty', `${amountText(cost.bounty, unit)}, and ${amountText(cost.gasRefund, unit)} for the gas`],
    ['a demand', `deposits up to ${amountText(cost.demandDeposit, unit)}`],
    ['state', `${seen.state}, open until ${timeText(openUntil, clock)}`],
    ['answers', answers.length === 0 ? 'none' : answers.map(({ node, sender }) => `${node} by ${sender}`).join('; ')],
  );
  return lines.map(([name, text]) => `${name.padEnd(11)} ${text}`).join('\n');
}
