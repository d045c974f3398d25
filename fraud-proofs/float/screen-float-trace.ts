/**
 * The watcher's look at a whole float trace, in float64, with the contract's verdict where float64 cannot tell.
 *
 * Tiers of an element, by its distance from the exact result on the executor's own operands:
 *   slashable  beyond the sound bound, r / (2^24 - r) M + F (sum.ts): no order of float32 operations gives it.
 *   escalate   within it, but beyond what rounding errors come to when they are independent and of mean zero,
 *              gamma~ = exp(lambda sqrt(r) u + r u^2 / (1 - u)) - 1, lambda = 6, u = 2^-24 (Higham and Mary, A New
 *              Approach to Probabilistic Rounding Error Analysis, 2019): fails by chance with at most 2 r exp(-18), and
 *              an honest executor with unlucky numbers may fail it. It asks for a second look and never slashes.
 * gamma~ is below the sound bound from r = 37 on. What is no sum (relu, maxPool, reshape) has one tier.
 */
import { AssayError } from '../../common/errors.js';
import { elementReads, roundingsOf, type ElementReads, type Place } from './element-reads.js';
import { isChoiceAllowed, isElementAllowed } from './judge-element.js';
import type { FloatGraph } from './types.js';

export type Tier = 'slashable' | 'escalate';

export interface FloatFinding {
  readonly tier: Tier;
  readonly value: number;
  /** In memory order, item outermost. */
  readonly element: number;
  readonly claimed: number;
  /** In float64; of a choice: NaN. */
  readonly expected: number;
  /** What an honest machine is off by at most; of a choice: 0. */
  readonly bound: number;
}

export interface ScreenedSlot {
  readonly value: number;
  readonly elements: number;
  readonly slashable: number;
  readonly escalate: number;
  /** Of each tier the one that is furthest beyond its bound; null where there is none. */
  readonly worst: Readonly<Record<Tier, FloatFinding | null>>;
}

const UNIT = 2 ** -24;
const LAMBDA = 6;
const SMALLEST_NORMAL = 2 ** -126;
const LARGEST = 2 ** 128 - 2 ** 104;

/** r / (2^24 - r) */
export const soundFactor = (roundings: number): number => roundings / (2 ** 24 - roundings);

/** gamma~ */
export const likelyFactor = (roundings: number): number =>
  Math.expm1(LAMBDA * Math.sqrt(roundings) * UNIT + (roundings * UNIT * UNIT) / (1 - UNIT));

/**
 * Every element of every slot that is computed.
 * @param slots one array per value, memory order, item outermost.
 * @throws AssayError INPUT_RANGE for a wrong number of slots.
 */
export function screenFloatTrace(graph: FloatGraph, slots: readonly Float32Array[]): ScreenedSlot[] {
  if (slots.length !== graph.values.length)
    throw new AssayError(
      'INPUT_RANGE',
      `graph '${graph.name}' has ${graph.values.length} slots, found ${slots.length}`,
    );
  return graph.nodes.map((_, j) => screenSlot(graph, slots, graph.inputs.length + j));
}

function screenSlot(graph: FloatGraph, slots: readonly Float32Array[], value: number): ScreenedSlot {
  const elements = slots[value]!.length;
  const counts: Record<Tier, number> = { slashable: 0, escalate: 0 };
  const worst: Record<Tier, FloatFinding | null> = { slashable: null, escalate: null };
  const excess: Record<Tier, number> = { slashable: -1, escalate: -1 };
  for (let element = 0; element < elements; element++) {
    const finding = screenElement(graph, slots, value, element);
    if (finding === null) continue;
    const { tier, claimed, expected, bound } = finding;
    counts[tier]++;
    const distance = Math.abs(claimed - expected) / bound;
    const beyond = Number.isNaN(distance) ? 0 : distance;
    if (beyond <= excess[tier]) continue;
    excess[tier] = beyond;
    worst[tier] = finding;
  }
  return { value, elements, ...counts, worst };
}

/** Null where an honest machine can have got the element, and likely has. */
export function screenElement(
  graph: FloatGraph,
  slots: readonly Float32Array[],
  value: number,
  element: number,
): FloatFinding | null {
  const claimed = slots[value]![element]!;
  const reads = elementReads(graph, value, element);
  const sum = sum64(reads, slots);
  if (sum === null) {
    const bits = new Uint32Array(Float32Array.of(claimed).buffer)[0]!;
    if (isChoiceAllowed(reads, slots, bits)) return null;
    return { tier: 'slashable', value, element, claimed, expected: NaN, bound: 0 };
  }
  const { expected, reach, flushed, slack } = sum;
  const roundings = roundingsOf(reads);
  const bound = soundFactor(roundings) * reach + flushed;
  const found = (tier: Tier): FloatFinding => ({ tier, value, element, claimed, expected, bound });
  const distance = Math.abs(claimed - expected);
  // Infinities, NaNs, sums near overflow, and what float64 cannot tell from the bound itself.
  const clear = Number.isFinite(distance) && reach < LARGEST / 2 && Math.abs(distance - bound) > slack;
  const allowed = clear ? distance < bound : isElementAllowed(graph, slots, value, element);
  if (!allowed) return found('slashable');
  return distance > likelyFactor(roundings) * reach + flushed + slack ? found('escalate') : null;
}

interface Sum64 {
  readonly expected: number;
  /** M / c */
  readonly reach: number;
  /** F */
  readonly flushed: number;
  /** Above what float64 and the contract's own cut-off change. */
  readonly slack: number;
}

/**
 * Products of two float32 are exact in float64 (48 bits, above 2^-298), so that only n additions round, by 2^-53 of A
 * each. The contract is wider than the definition by less than 2^-90 of A + F.
 */
function sum64(reads: ElementReads, slots: readonly Float32Array[]): Sum64 | null {
  let terms = 0;
  let signed = 0;
  let absolute = 0;
  let p = 0;
  let q = 0;
  const add = (x: number, w: number): void => {
    terms++;
    const product = x * w;
    signed += product;
    absolute += Math.abs(product);
    p = Math.max(p, Math.abs(x));
    q = Math.max(q, Math.abs(w));
  };
  let divisor = 1;
  let single = false;
  switch (reads.rule) {
    case 'contraction': {
      const data = slots[reads.x]!;
      const { at, first, weight } = reads;
      for (let i = 0; i < at.length; i++) add(at[i]! < 0 ? 0 : data[at[i]!]!, weight.data[first + i]!);
      if (reads.bias !== null) add(reads.bias.data[reads.channel]!, 1);
      break;
    }
    case 'mean': {
      const data = slots[reads.x]!;
      for (const index of reads.at) add(data[index]!, 1);
      divisor = reads.divisor;
      break;
    }
    case 'add':
    case 'sub':
      add(numberAt(reads.a, slots), 1);
      add(numberAt(reads.b, slots), reads.rule === 'sub' ? -1 : 1);
      single = true;
      break;
    case 'mul':
      add(numberAt(reads.a, slots), numberAt(reads.b, slots));
      break;
    default:
      return null;
  }
  const flushed = 4 * terms * SMALLEST_NORMAL * (single ? 1 : 1 + p + q);
  const slack = (terms + 8) * 2 ** -51 * (absolute + flushed);
  return {
    expected: signed / divisor,
    reach: (single ? Math.abs(signed) : absolute) / divisor,
    flushed,
    slack,
  };
}

const numberAt = (place: Place, slots: readonly Float32Array[]): number =>
  ('value' in place ? slots[place.value]! : place.constant.data)[place.index]!;
