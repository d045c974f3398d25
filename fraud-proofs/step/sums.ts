/** Partial sums of a contraction that is too long for one step, as the executor of a claim states them. */
import { committedPosition } from '../nodes/known-tensor.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import { claimedSlot } from './claimed-slot.js';
import type { ValueDescriptor } from './descriptors.js';
import { longContractions, sumOfTerms, type StepReader } from './evaluate-element.js';
import type { StepModel } from './step-model.js';

/** Products that a step contract sums in one step, unless it was deployed with another number. */
export const MAX_CONTRACTION = 16_384;

/** An element of a claim's tensors is not known. */
export class ElementUnknown extends Error {}

/** Reads a model, and a claim's tensors as far as they are known. */
export class ClaimReader implements StepReader {
  constructor(
    protected readonly model: StepModel,
    protected readonly claim: KnownClaim,
    readonly maxContraction: number,
  ) {}

  descriptor(value: number): ValueDescriptor {
    return this.model.value(value);
  }

  /** @throws ElementUnknown */
  slotElement(value: number, element: number): number {
    const tensor = claimedSlot(this.model, this.claim, this.model.value(value).slot)?.tensor ?? null;
    const found = tensor === null ? null : tensor.at(committedPosition(tensor.info, element));
    if (found === null) throw new ElementUnknown();
    return found;
  }

  constantShape(value: number, ordinal: number): readonly number[] {
    return this.model.constant(value, ordinal).info.shape;
  }

  constant(value: number, ordinal: number, position: number): number {
    return this.model.constant(value, ordinal).at(position)!;
  }

  /** @throws ElementUnknown for value and element, here always */
  statedSums(value: number, element: number): readonly bigint[] {
    throw new ElementUnknown(`sums of value ${value}, element ${element}`);
  }
}

/** Element in memory order, item outermost, of a position in committed order. */
export function memoryElement(
  info: { readonly shape: readonly number[]; readonly layout: readonly number[] },
  position: number,
): number {
  const { shape, layout } = info;
  const size = shape.reduce((product, side) => product * side, 1);
  let rest = position % size;
  const index = new Array<number>(shape.length).fill(0);
  for (const axis of [...layout].reverse()) {
    index[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  const within = shape.reduce((sum, side, axis) => sum * side + index[axis]!, 0);
  return position - (position % size) + within;
}

/**
 * The parts for an element of a slot; null where the slot has no such contraction, or an operand is not known.
 * @param position of the element in committed order, as a Sums node names it.
 */
export function ownSums(
  model: StepModel,
  claim: KnownClaim,
  slot: number,
  position: number,
  maxContraction: number,
): bigint[] | null {
  const reader = new ClaimReader(model, claim, maxContraction);
  const [long] = longContractions(reader, model.valueOfSlot[slot]!, memoryElement(model.infoOfSlot(slot), position));
  if (long === undefined) return null;
  const parts = Math.ceil(long.length / maxContraction);
  try {
    return Array.from({ length: parts }, (_, i) => {
      const first = i * maxContraction;
      return BigInt(sumOfTerms(reader, long.value, long.element, first, Math.min(first + maxContraction, long.length)));
    });
  } catch (error) {
    if (error instanceof ElementUnknown) return null;
    throw error;
  }
}
