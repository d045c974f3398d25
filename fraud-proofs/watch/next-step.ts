/** What can be said of a claim, and what is to be done about it next. */
import type { Hex } from '../../receipts/types.js';
import type { FaultProof, GameNode, NodePath } from '../../verifier-contracts/dispute-types.js';
import type { FaultPlace } from '../step/find-fault.js';

/** One thing to be revealed. */
export interface Demand {
  readonly node: GameNode;
  readonly path: NodePath;
  /** Segment, Sums: for the step contract; else empty. */
  readonly evidence: Hex;
  /** Of the node, and whether the node that reveals it was answered in this claim: they decide the deadline. */
  readonly level: number;
  readonly parentAnswered: boolean;
}

export type NextStep =
  /** Re-executed, and everything is as claimed. */
  | { readonly kind: 'right' }
  /** Wrong, and everything that shows it is known. */
  | { readonly kind: 'prove'; readonly proof: FaultProof; readonly place: FaultPlace }
  /** Something must be revealed first. `wrong`: the claim is known to be wrong already. */
  | { readonly kind: 'demand'; readonly demands: readonly Demand[]; readonly why: string; readonly wrong: boolean }
  /** It was demanded; the answer is awaited. */
  | { readonly kind: 'wait'; readonly why: string; readonly wrong: boolean }
  /** The own work is under way. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Unknown never becomes valid: only a whole re-execution that agrees is. */
export type ClaimVerdict = 'valid' | 'invalid' | 'unknown';

export function verdictOf(step: NextStep): ClaimVerdict {
  if (step.kind === 'right') return 'valid';
  if (step.kind === 'prove') return 'invalid';
  return (step.kind === 'demand' || step.kind === 'wait') && step.wrong ? 'invalid' : 'unknown';
}
