/**
 * Which slots of an execution its trace commits. Committing fewer makes a trace of a deep graph cheap; what lies between
 * two committed slots the executor names when he is asked (a segment), and answers for then.
 *
 * A table c_0 < c_1 < .. < c_n of slot numbers (slotsOf):
 *   1. every graph input and every graph output is in it;
 *   2. a slot that an operator reads across a committed slot is in it: with s the slot that is computed and c_k the largest
 *      entry below s, each slot r that s reads has r > c_k, or is an entry;
 *   3. at most 512 slots lie between two entries: c_(k+1) - c_k - 1 <= 512.
 * So whoever holds the committed slots and the list of one segment holds every operand of every slot of that segment.
 * In a trace leaf k is slot c_k. The table of every slot is c_k = k, and is written as none.
 */
import { AssayError } from '../../common/errors.js';
import { operandsOf, slotsOf } from '../integer/operands.js';
import type { IntegerGraph, TensorId } from '../integer/types.js';
import { sizeOf } from '../tensor.js';
import { tensorRootBytes } from './tensor-root.js';

/** Most slots between two committed ones. */
export const SEGMENT_LIMIT = 512;

const INT32 = { lo: -(2 ** 31), hi: 2 ** 31 - 1 };

/** What of the table the model's descriptor holds. */
export function commitTableRoot(table: readonly number[]): Uint8Array {
  return tensorRootBytes({ shape: [table.length], range: INT32, layout: [0] }, Int32Array.from(table), 1);
}

/** The tensors that a trace of the model commits, in the order of its leaves. */
export function committedTensors(graph: IntegerGraph, committedSlots: readonly number[] | undefined): TensorId[] {
  const slots = slotsOf(graph);
  return committedSlots === undefined ? slots : committedSlots.map((slot) => slots[slot]!);
}

/** For each slot the slots that its operator reads, through whatever is not a slot itself; ascending. */
export function slotReads(graph: IntegerGraph): number[][] {
  const slots = slotsOf(graph);
  const slotOf = new Map(slots.map((id, slot) => [id, slot]));
  const producer = new Map(graph.nodes.map((node) => [node.output, node]));
  return slots.map((id) => {
    const reads = new Set<number>();
    const seen = new Set<TensorId>();
    // A stack instead of recursion: a chain of views may be as long as a file is.
    for (const open = [id]; open.length > 0;) {
      const node = producer.get(open.pop()!);
      for (const operand of node === undefined ? [] : operandsOf(node)) {
        const slot = slotOf.get(operand);
        if (slot !== undefined) reads.add(slot);
        else if (!seen.has(operand)) {
          seen.add(operand);
          open.push(operand);
        }
      }
    }
    return [...reads].sort((a, b) => a - b);
  });
}

/**
 * A table whose entries are at most `every` apart; undefined where that is every slot. It commits few elements:
 *   1. An entry costs its elements, and those of the slots that rule 2 commits because they are read across it.
 *   2. The least sum of costs over all ways from the first slot to the last that take every input and output along and no
 *      step longer than `every`; of equal ways the one with later entries.
 *   3. Rule 2, which may split a segment, so that more is read across: until nothing is added.
 * @param every 1 to 512; 1 commits all.
 * @throws AssayError GRAPH_INVALID where `every` is no whole number from 1 to 512.
 */
export function commitTable(graph: IntegerGraph, every: number): readonly number[] | undefined {
  if (!Number.isInteger(every) || every < 1 || every > SEGMENT_LIMIT)
    throw new AssayError('GRAPH_INVALID', `a trace commits every 1st to ${SEGMENT_LIMIT}th slot, not every ${every}th`);
  const reads = slotReads(graph);
  const entries = new Set(cheapestEntries(graph, reads, every));
  for (let settled = false; !settled;) {
    settled = true;
    let last = -1;
    for (let slot = 0; slot < reads.length; slot++) {
      for (const read of reads[slot]!)
        if (read <= last && !entries.has(read)) {
          entries.add(read);
          settled = false;
        }
      if (entries.has(slot)) last = slot;
    }
  }
  return entries.size === reads.length ? undefined : [...entries].sort((a, b) => a - b);
}

/** Steps 1 and 2. */
function cheapestEntries(graph: IntegerGraph, reads: readonly (readonly number[])[], every: number): number[] {
  const slots = slotsOf(graph);
  const size = slots.map((id) => sizeOf(graph.tensors[id]!.shape));
  const ends = new Set([...graph.inputs, ...graph.outputs]);
  // What is read across a slot: a slot counts from behind itself to before its last reader.
  const changes = new Array<number>(slots.length + 1).fill(0);
  const lastReader = slots.map((_, slot) => slot);
  reads.forEach((own, slot) => own.forEach((read) => (lastReader[read] = slot)));
  lastReader.forEach((reader, slot) => {
    if (reader <= slot + 1) return;
    changes[slot + 1]! += size[slot]!;
    changes[reader]! -= size[slot]!;
  });
  const best: { cost: number; from: number }[] = [];
  let across = 0;
  slots.forEach((_, slot) => {
    across += changes[slot]!;
    let cheapest = { cost: slot === 0 ? 0 : Infinity, from: -1 };
    for (let from = slot - 1; from >= Math.max(0, slot - every); from--) {
      if (best[from]!.cost < cheapest.cost) cheapest = { cost: best[from]!.cost, from };
      if (ends.has(slots[from]!)) break;
    }
    best.push({ cost: cheapest.cost + size[slot]! + across, from: cheapest.from });
  });
  const entries: number[] = [];
  for (let slot = slots.findLastIndex((id) => ends.has(id)); slot >= 0; slot = best[slot]!.from) entries.push(slot);
  return entries;
}

/** @throws AssayError GRAPH_INVALID where the table breaks a rule, or is the one of every slot. */
export function checkCommitTable(graph: IntegerGraph, table: readonly number[]): void {
  const fail = (why: string): AssayError => new AssayError('GRAPH_INVALID', `table of committed slots: ${why}`);
  const slots = slotsOf(graph);
  table.forEach((slot, k) => {
    if (!Number.isInteger(slot) || slot < 0 || slot >= slots.length)
      throw fail(`entry ${k} is ${slot}, and there are ${slots.length} slots`);
    if (k > 0 && slot <= table[k - 1]!) throw fail(`entry ${k} does not ascend`);
    if (k > 0 && slot - table[k - 1]! - 1 > SEGMENT_LIMIT)
      throw fail(`more than ${SEGMENT_LIMIT} slots before ${slot}`);
  });
  if (table.length === slots.length) throw fail('it leaves nothing out; leave the table out instead');
  const entries = new Set(table);
  const ends = new Set([...graph.inputs, ...graph.outputs]);
  slots.forEach((id, slot) => {
    if (ends.has(id) && !entries.has(slot)) throw fail(`slot ${slot} is an input or output and is not in it`);
  });
  let last = -1;
  slotReads(graph).forEach((reads, slot) => {
    const across = reads.find((read) => read <= last && !entries.has(read));
    if (across !== undefined) throw fail(`slot ${slot} reads slot ${across} across committed slot ${last}`);
    if (entries.has(slot)) last = slot;
  });
}
