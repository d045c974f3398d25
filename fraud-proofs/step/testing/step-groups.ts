/**
 * Very many steps with what is true of them: claims in which up to all elements are wrong, and each element of each slot is
 * a step of its own over what the claim says of its operands.
 *
 * A claim is made slot by slot: operator and claimed operands give the truth (evaluate.ts, one node at a time), and some
 * elements of it are then replaced. Evidence opens all that any element of the slot may read, once for all of them.
 */
import { commitTable } from '../../../graph/commitment/commit-table.js';
import { elementWidth } from '../../../graph/commitment/encoding.js';
import { operandsOf } from '../../../graph/integer/operands.js';
import type { NodeCase, Random } from '../../../graph/integer/testing/random-graph.js';
import { evaluateGraph, slotsOf, type IntegerGraph, type IntRange, type TensorId } from '../../../graph/index.js';
import type { Receipt } from '../../../receipts/types.js';
import type {
  ConstantOpening,
  SegmentOpening,
  SlotOpening,
  StepEvidence,
} from '../../../verifier-contracts/dispute-types.js';
import type { KnownClaim } from '../../nodes/known-claim.js';
import { buildEvidence } from '../build-evidence.js';
import { claimedSlot } from '../claimed-slot.js';
import { NO_SLOT } from '../descriptors.js';
import { StepModel } from '../step-model.js';
import { bundleOf, claimOf } from './test-claims.js';

/** A step of one element. */
export interface Question {
  readonly element: number;
  readonly witness: number;
  /** Is the claim's element another one than the operator gives? Null where the evaluator has no answer, or the witness none. */
  readonly wrong: boolean | null;
}

/** The steps of one slot of one claim. */
export interface StepGroup {
  readonly model: StepModel;
  readonly claim: KnownClaim;
  readonly slot: number;
  readonly receipt: Receipt;
  /** Its element and witness stand for those of the questions. */
  readonly evidence: StepEvidence;
  readonly questions: readonly Question[];
  /** Operators that the step goes through, its own first. */
  readonly kinds: readonly string[];
  /** Elements may lie out of their range, as far as their encoding goes: then the evaluator may have no answer. */
  readonly wild: boolean;
  /** For messages. */
  readonly what: string;
}

export interface GroupOptions {
  /** Commits every n-th slot (commitTable). @default 1 */
  readonly every?: number;
  readonly wild: boolean;
}

const INT32: IntRange = { lo: -(2 ** 31), hi: 2 ** 31 - 1 };

/** All integers of a range's encoding that an Int32Array holds. */
function encodable({ lo, hi }: IntRange): IntRange {
  const bits = 8 * elementWidth({ lo, hi });
  return lo < 0
    ? { lo: -(2 ** (bits - 1)), hi: 2 ** (bits - 1) - 1 }
    : { lo: 0, hi: Math.min(2 ** bits - 1, 2 ** 31 - 1) };
}

/** Another element, mostly by one, which a check that rounds would overlook; the same where there is no other. */
function replaced(value: number, { lo, hi }: IntRange, random: Random): number {
  const draw = random();
  const step = random() < 0.5 ? 1 : -1;
  if (draw < 0.6) return Math.min(hi, Math.max(lo, value + step));
  if (draw < 0.8) return random() < 0.5 ? lo : hi;
  return lo + Math.floor(random() * (hi - lo + 1));
}

/** One claim over a graph: its slots, and what each slot's operator gives over them; null where the evaluator refuses. */
function claimedSlots(
  { graph, inputs, items }: NodeCase,
  random: Random,
  wild: boolean,
): { slots: Int32Array[]; truths: (Int32Array | null)[] } {
  const ids = slotsOf(graph);
  const slotOf = new Map(ids.map((id, slot) => [id, slot]));
  const held = new Map<TensorId, Int32Array | null>();
  const slots: Int32Array[] = [];
  const truths: (Int32Array | null)[] = [];
  const state = (id: TensorId, truth: Int32Array | null, length: number): void => {
    const slot = slotOf.get(id);
    if (slot === undefined) return void held.set(id, truth);
    const { range } = graph.tensors[id]!;
    const allowed = wild && random() < 0.5 ? encodable(range) : range;
    const share = [0, 0.1, 0.5, 1][Math.floor(4 * random())]!;
    const base = truth ?? Int32Array.from({ length }, () => replaced(range.lo, range, random));
    const told = base.map((v) => (random() < share ? replaced(v, allowed, random) : v));
    held.set(id, told);
    slots[slot] = told;
    truths[slot] = truth;
  };
  graph.inputs.forEach((id, i) => state(id, inputs[i]!, inputs[i]!.length));
  for (const node of graph.nodes) {
    const { shape } = graph.tensors[node.output]!;
    state(node.output, evaluated(graph, node, held, items), items * shape.reduce((product, side) => product * side, 1));
  }
  return { slots, truths };
}

/** What a node gives over operands that may lie outside their range. */
function evaluated(
  graph: IntegerGraph,
  node: IntegerGraph['nodes'][number],
  held: ReadonlyMap<TensorId, Int32Array | null>,
  items: number,
): Int32Array | null {
  const operands = [...new Set(operandsOf(node))];
  const values = operands.map((id) => held.get(id) ?? null);
  if (values.includes(null)) return null;
  // Where an operand is wrong that is its own step's matter.
  const tensors = graph.tensors.map((info, id) => (operands.includes(id) ? { ...info, range: INT32 } : info));
  try {
    const one = { ...graph, tensors, nodes: [node], inputs: operands, outputs: [node.output] };
    return evaluateGraph(one, values as Int32Array[], items)[node.output]!;
  } catch {
    return null;
  }
}

/** Evidence that opens all of what the slot's value is computed from, down to slots and constants. */
function openAll(model: StepModel, claim: KnownClaim, slot: number): { evidence: StepEvidence; kinds: string[] } {
  const top = model.valueOfSlot[slot]!;
  const descriptors = new Set<number>();
  const slots = new Set<number>();
  const constants: ConstantOpening[] = [];
  const kinds: string[] = [];
  const visit = (value: number): void => {
    if (descriptors.has(1 + value)) return;
    descriptors.add(1 + value);
    const d = model.value(value);
    if (d.slot !== NO_SLOT) slots.add(d.slot);
    if (d.slot !== NO_SLOT && value !== top) return;
    kinds.push(d.kind);
    d.constants.forEach((root, ordinal) => {
      if (root === null) return;
      const tensor = model.constant(value, ordinal);
      constants.push({ descriptor: 1 + value, ordinal, tensor: tensor.open(allChunks(tensor.header.chunkCount))! });
    });
    d.operands.forEach(visit);
  };
  visit(top);
  const segments: SegmentOpening[] = [];
  const opened = [...slots]
    .sort((a, b) => a - b)
    .map((number): SlotOpening => {
      const { position, segment, tensor } = claimedSlot(model, claim, number)!;
      const whole = tensor!.open(allChunks(tensor!.header.chunkCount))!;
      if (segment !== null) {
        if (!segments.includes(segment)) segments.push(segment);
        return { slot: number, position, segment: 1 + segments.indexOf(segment), path: [], tensor: whole };
      }
      const path = claim.trace!.tree.opening(0, position, position)!;
      return { slot: number, position, segment: 0, path: path.map(toHex), tensor: whole };
    });
  constants.sort((a, b) => a.descriptor - b.descriptor || a.ordinal - b.ordinal);
  const blank = buildEvidence(model, claim, { fault: 'opCount' })!;
  const evidence = { ...blank, model: model.open(descriptors), value: top, slots: opened, constants, segments };
  return { evidence, kinds };
}

const allChunks = (count: number): number[] => [...Array(count).keys()];
const toHex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`;

/** Each element of each computed slot of one claim. */
export function groupsOf(test: NodeCase, random: Random, { every = 1, wild }: GroupOptions): StepGroup[] {
  const { graph, items } = test;
  const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
  const { slots, truths } = claimedSlots(test, random, wild);
  const claim = claimOf(model, slots, items);
  const groups: StepGroup[] = [];
  for (let slot = graph.inputs.length; slot < slots.length; slot++) {
    const { evidence, kinds } = openAll(model, claim, slot);
    const d = model.value(model.valueOfSlot[slot]!);
    const side = d.kind === 'argMax' ? model.value(d.operands[0]!).shape[d.axis]! : null;
    const questions = Array.from(slots[slot]!, (claimed, element): Question => {
      const truth = truths[slot]?.[element];
      const wrong = truth === undefined ? null : truth !== claimed;
      if (side === null) return { element, witness: 0, wrong };
      // The first maximum shows what any witness can; another shows a wrong claim or does not.
      const witness = truth !== undefined && random() < 0.5 ? truth : Math.floor(random() * side);
      return { element, witness, wrong: witness === truth || wrong === false ? wrong : null };
    });
    const what = `${wild ? 'wild ' : ''}${kinds.join(' < ')}, slot ${slot}`;
    groups.push({ model, claim, slot, receipt: claim.receipt, evidence, questions, kinds, wild, what });
  }
  return groups;
}
