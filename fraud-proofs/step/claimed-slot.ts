/** Where a claim commits a slot, and what is known of its tensor. */
import type { Hex } from '../../receipts/types.js';
import type { SegmentOpening } from '../../verifier-contracts/dispute-types.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import type { KnownTensor } from '../nodes/known-tensor.js';
import type { StepModel } from './step-model.js';

export interface ClaimedSlot {
  readonly slot: number;
  readonly root: Hex;
  /** In the trace, or in the segment's list. */
  readonly position: number;
  /** Null: in the trace. */
  readonly segment: SegmentOpening | null;
  /** Null where nothing but the root is known. */
  readonly tensor: KnownTensor | null;
}

/** Null where not even the root is known. */
export function claimedSlot(model: StepModel, claim: KnownClaim, slot: number): ClaimedSlot | null {
  const position = model.positionOf(slot);
  if (position !== null) {
    const leaf = claim.trace?.leaves[position];
    if (leaf === undefined || leaf.slot !== slot) return null;
    return { slot, root: leaf.root, position, segment: null, tensor: claim.tensors.get(leaf.root) ?? null };
  }
  const { k, first } = model.segmentOf(slot);
  const segment = claim.segments.get(k);
  if (segment === undefined) return null;
  const root = segment.roots[slot - first]!;
  return { slot, root, position: slot - first, segment, tensor: claim.tensors.get(root) ?? null };
}
