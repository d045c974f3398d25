/**
 * Which lane a job takes, and why. A pure function: the same question has the same answer, and the answer's reasons
 * are stored with the job.
 */
import { AssayError } from '../common/errors.js';
import type { Lane } from '../receipts/types.js';
import type { ProofForecast } from './ports.js';

/** What is known of a proof for the job before it is made. */
export type ProofProspect =
  /** There can be none. */
  | { readonly kind: 'impossible'; readonly reason: string }
  | {
      readonly kind: 'predicted';
      readonly forecast: ProofForecast;
      /** What the prover has, and the time that it is given. */
      readonly limits: Pick<ProofForecast, 'memoryBytes' | 'srsPoints' | 'proveMs'>;
    };

/** What is known of disputes about the job. */
export type DisputeProspect =
  /** The contract could not recompute every step of the model. */
  | { readonly kind: 'impossible'; readonly reason: string }
  /** From the commit until it is final where nobody challenges, in ms. */
  | { readonly kind: 'possible'; readonly windowMs: number };

export interface RoutingQuestion {
  /** Multiply-accumulates of one item; 0 where unknown (a float model that was not compiled). */
  readonly macs: number;
  /** Weights of the model. */
  readonly parameters: number;
  /** `exact`: a compiled integer graph, every honest device gives the same bits. `float`: it does not. */
  readonly arithmetic: 'exact' | 'float';
  readonly items: number;
  /** What a wrong answer may cost the requester, in the smallest unit of the settlement token. */
  readonly valueAtRisk: bigint;
  /** Latest time to finality that the requester can wait for, in ms. */
  readonly finalWithinMs: number;
  readonly requested: Lane | 'auto';
  /** Lanes that this deployment has opened. */
  readonly open: readonly Lane[];
  /** Null where nobody was asked, the lane being closed. */
  readonly proof: ProofProspect | null;
  /** Null where nobody was asked, the lane being closed. */
  readonly dispute: DisputeProspect | null;
}

export interface RoutingDecision {
  readonly lane: Lane;
  /** One sentence per fact that decided. */
  readonly reasons: readonly string[];
}

/** Largest model that a proof is made for (design: about a million parameters). */
const ZK_MAX_PARAMETERS = 1_000_000;
/** From this value on a proof is preferred to a sample: a sample lets a share of cheats through, and only fines them. */
const ZK_VALUE = 10n ** 18n;

/** Why a lane cannot serve this job whatever is open; null where it can. */
function unsuited(lane: Lane, q: RoutingQuestion): string | null {
  if (lane === 'zk') {
    if (q.arithmetic === 'float') return 'zk: a float model has no exact arithmetic to prove; compile it first';
    if (q.parameters > ZK_MAX_PARAMETERS) {
      return `zk: the model has ${q.parameters} parameters, proofs are made up to ${ZK_MAX_PARAMETERS}`;
    }
    return unprovable(q);
  }
  if (lane === 'optimistic') {
    if (q.arithmetic === 'float')
      return 'optimistic: a float trace differs between honest devices, so it cannot be disputed step by step';
    return undisputable(q);
  }
  return null;
}

/** Why a wrong answer could not be disputed; null where it can. */
function undisputable({ dispute, finalWithinMs, requested }: RoutingQuestion): string | null {
  if (dispute === null) return 'optimistic: no dispute game was asked';
  if (dispute.kind === 'impossible') return `optimistic: ${dispute.reason}`;
  // Whoever names the lane knows that its answers are final late.
  if (requested === 'auto' && finalWithinMs < dispute.windowMs)
    return `optimistic: final after a challenge window of ${dispute.windowMs} ms, wanted within ${finalWithinMs} ms`;
  return null;
}

/** Why the proof cannot be made; null where it can. */
function unprovable({ proof, finalWithinMs }: RoutingQuestion): string | null {
  if (proof === null) return 'zk: no prover was asked';
  if (proof.kind === 'impossible') return `zk: ${proof.reason}`;
  const { forecast, limits } = proof;
  const over = (what: string, needed: number, unit: string, limit: number): string | null =>
    needed > limit ? `zk: the proof needs ${what} ${needed} ${unit}, at most ${limit} are there` : null;
  return (
    over('a memory of', forecast.memoryBytes, 'bytes', limits.memoryBytes) ??
    over('a reference string of', forecast.srsPoints, 'points', limits.srsPoints) ??
    over('about', forecast.proveMs, 'ms', limits.proveMs) ??
    over('about', forecast.proveMs, 'ms', finalWithinMs)
  );
}

/** What speaks for the lane that was chosen. */
function suits(lane: Lane, { proof }: RoutingQuestion): string {
  if (lane !== 'zk' || proof?.kind !== 'predicted') return 'open and suited';
  const { proofBytes, rounds, memoryBytes, proveMs } = proof.forecast;
  return `open and suited: a proof of ${proofBytes} bytes and ${rounds} rounds, in ${memoryBytes} bytes of memory and about ${proveMs} ms`;
}

/** The order in which `auto` tries the lanes, with the reason for it. */
function preference(q: RoutingQuestion): { readonly lanes: readonly Lane[]; readonly why: string } {
  if (q.valueAtRisk >= ZK_VALUE) {
    return {
      lanes: ['zk', 'optimistic', 'sampled'],
      why: `value at risk ${q.valueAtRisk} is at least ${ZK_VALUE}: proof before dispute before sample`,
    };
  }
  return {
    lanes: ['sampled', 'optimistic', 'zk'],
    why: `value at risk ${q.valueAtRisk} is below ${ZK_VALUE}: the cheapest lane first`,
  };
}

/**
 * @throws AssayError LANE_CLOSED when the requested lane, or with `auto` every lane, is not open here or cannot serve
 * the job; its meta holds the reasons.
 */
export function routeJob(question: RoutingQuestion): RoutingDecision {
  const { requested, open } = question;
  const size = `model: ${question.parameters} parameters, ${question.macs} multiply-accumulates per item, ${question.items} items, ${question.arithmetic} arithmetic`;
  const refusal = (lane: Lane): string | null =>
    open.includes(lane)
      ? unsuited(lane, question)
      : `${lane}: not open at this deployment (open: ${open.join(', ') || 'none'})`;

  if (requested !== 'auto') {
    const why = refusal(requested);
    if (why === null)
      return { lane: requested, reasons: [size, `${requested}: requested, ${suits(requested, question)}`] };
    throw new AssayError('LANE_CLOSED', `Lane ${requested} cannot take this job. ${why}.`, {
      meta: { requested, open, reasons: [size, why] },
    });
  }
  const { lanes, why } = preference(question);
  const reasons = [size, why];
  for (const lane of lanes) {
    const refused = refusal(lane);
    if (refused === null) return { lane, reasons: [...reasons, `${lane}: ${suits(lane, question)}`] };
    reasons.push(refused);
  }
  throw new AssayError('LANE_CLOSED', `No open lane can take this job. ${reasons.slice(2).join('; ')}.`, {
    meta: { requested, open, reasons },
  });
}
