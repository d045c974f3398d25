/** Steps of random graphs with what is true of them: for the contract against the evaluator and against the mirror. */
import { commitTable } from '../../../graph/commitment/commit-table.js';
import { elementWidth } from '../../../graph/commitment/encoding.js';
import type { NodeCase, Random } from '../../../graph/integer/testing/random-graph.js';
import { operandsOf } from '../../../graph/integer/operands.js';
import { evaluateGraph, slotsOf, type IntegerGraph, type IntRange, type TensorId } from '../../../graph/index.js';
import type { Receipt } from '../../../receipts/types.js';
import type { Fault, StepEvidence } from '../../../verifier-contracts/dispute-types.js';
import { buildEvidence } from '../build-evidence.js';
import { StepModel } from '../step-model.js';
import { bundleOf, claimOf } from './test-claims.js';

export interface KnownStep {
  readonly receipt: Receipt;
  readonly fault: Fault;
  readonly evidence: StepEvidence;
  /** True where the evaluator gives another element for the claim's own operands. */
  readonly wrong: boolean;
  /** For messages. */
  readonly what: string;
}

/**
 * What each slot's operator gives where its operands are taken from `slots`; null where an element leaves a proved range.
 * The evaluator runs one node at a time.
 */
function recompute(graph: IntegerGraph, slots: readonly Int32Array[], items: number): (Int32Array | null)[] {
  const ids = slotsOf(graph);
  const held = new Map(ids.map((id, slot) => [id, slots[slot]!]));
  const computed = new Map<TensorId, Int32Array | null>();
  for (const node of graph.nodes) {
    const inputs = [...new Set(operandsOf(node))];
    const values = inputs.map((id) => held.get(id) ?? computed.get(id) ?? null);
    let result: Int32Array | null = null;
    // A range that holds every operand: what is wrong with one is its own step's matter.
    const free = { lo: -(2 ** 31), hi: 2 ** 31 - 1 };
    const tensors = graph.tensors.map((info, id) => (inputs.includes(id) ? { ...info, range: free } : info));
    if (values.every((value) => value !== null))
      try {
        result = evaluateGraph(
          { ...graph, tensors, nodes: [node], inputs, outputs: [node.output] },
          values as Int32Array[],
          items,
        )[node.output]!;
      } catch {
        result = null;
      }
    computed.set(node.output, result);
  }
  return ids.map((id) => computed.get(id) ?? null);
}

/** Another integer of the same encoding. */
function other(value: number, { lo, hi }: IntRange, random: Random): number {
  const bits = 8 * elementWidth({ lo, hi });
  const least = lo < 0 ? -(2 ** (bits - 1)) : 0;
  const most = lo < 0 ? 2 ** (bits - 1) - 1 : Math.min(2 ** bits - 1, 2 ** 31 - 1);
  // Mostly by one, which a check that rounds would overlook.
  const changed =
    random() < 0.7 ? value + (random() < 0.5 ? 1 : -1) : least + Math.floor(random() * (most - least + 1));
  return changed < least || changed > most || changed === value ? (value === most ? value - 1 : value + 1) : changed;
}

export interface StepCaseOptions {
  /** Elements of each slot. */
  readonly elements: number;
  /** Commits every n-th slot (commitTable). @default 1 */
  readonly every?: number;
}

/**
 * Steps of a graph: of right claims; with the element changed; with an element of another slot changed within its range,
 * which makes the step wrong or not.
 */
export function stepsOf(test: NodeCase, random: Random, { elements, every = 1 }: StepCaseOptions): KnownStep[] {
  const { graph, inputs, items } = test;
  const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
  const values = evaluateGraph(graph, inputs, items);
  const right = slotsOf(graph).map((id) => values[id]!);
  const steps: KnownStep[] = [];
  const add = (slots: readonly Int32Array[], slot: number, element: number, wrong: boolean, what: string): void => {
    const claim = claimOf(model, slots, items);
    const evidence = buildEvidence(model, claim, { fault: 'step', slot, element })!;
    const kind = model.value(model.valueOfSlot[slot]!).kind;
    steps.push({
      receipt: claim.receipt,
      fault: 'step',
      evidence,
      wrong,
      what: `${what} ${kind}, slot ${slot}, element ${element}`,
    });
  };
  const changed = (slot: number, element: number, value: number): Int32Array[] => {
    const slots = right.map((data, i) => (i === slot ? data.slice() : data));
    slots[slot]![element] = value;
    return slots;
  };
  for (let slot = graph.inputs.length; slot < right.length; slot++) {
    for (let i = 0; i < elements; i++) {
      const element = Math.floor(random() * right[slot]!.length);
      add(right, slot, element, false, 'right');
      const range = model.infoOfSlot(slot).range;
      add(changed(slot, element, other(right[slot]![element]!, range, random)), slot, element, true, 'changed');
      const operand = Math.floor(random() * slot);
      const at = Math.floor(random() * right[operand]!.length);
      const { lo, hi } = model.infoOfSlot(operand).range;
      const value = lo + Math.floor(random() * (hi - lo + 1));
      const slots = changed(operand, at, value);
      const truth = recompute(graph, slots, items)[slot];
      if (truth === null || truth === undefined) continue;
      add(slots, slot, element, truth[element] !== slots[slot]![element], `operand ${operand} changed,`);
    }
  }
  return steps;
}
