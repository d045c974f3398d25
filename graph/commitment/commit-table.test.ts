/** Tables keep their three rules on random graphs, by a second writing of the rules; each rule broken is refused. */
import { describe, expect, it } from 'vitest';
import { GraphBuilder } from '../integer/builder.js';
import { operandsOf, slotsOf } from '../integer/operands.js';
import { randomGraph, seededRandom } from '../integer/testing/random-graph.js';
import { sizeOf } from '../tensor.js';
import type { IntegerGraph, TensorId } from '../integer/types.js';
import { checkCommitTable, commitTable, committedTensors, SEGMENT_LIMIT, slotReads } from './commit-table.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`commit-table seed ${seed}`);

/** Slots that a tensor's operator reads, by the definition: through all that is no slot. */
function readsOf(graph: IntegerGraph, id: TensorId): Set<number> {
  const node = graph.nodes.find(({ output }) => output === id);
  const slots = slotsOf(graph);
  return new Set(
    (node === undefined ? [] : operandsOf(node)).flatMap((operand) =>
      slots.includes(operand) ? [slots.indexOf(operand)] : [...readsOf(graph, operand)],
    ),
  );
}

/** The rules once more, as sentences. */
function keepsRules(graph: IntegerGraph, table: readonly number[]): boolean {
  const slots = slotsOf(graph);
  const ends = [...graph.inputs, ...graph.outputs].every((id) => table.includes(slots.indexOf(id)));
  const near = slots.every((id, slot) => {
    const before = Math.max(-1, ...table.filter((entry) => entry < slot));
    return [...readsOf(graph, id)].every((read) => read > before || table.includes(read));
  });
  const short = table.slice(1).every((entry, k) => entry - table[k]! <= SEGMENT_LIMIT + 1);
  return ends && near && short;
}

const BYTE = { lo: 0, hi: 100 };

/** x, then `length` tensors one after another, each a slot; `skip` reads the first of them beside the last. */
function chain(length: number, skip: boolean): IntegerGraph {
  const builder = new GraphBuilder();
  let x = builder.addInput('x', [1], BYTE, 1, 0);
  let first = x;
  for (let i = 0; i < length; i++) {
    x = builder.add({ kind: 'reduceMax', name: `max ${i}`, x, axes: [0] });
    if (i === 0) first = x;
  }
  const terms = [x, ...(skip ? [first] : [])].map((id) => ({ x: id, coefficient: 1 }));
  return builder.finish('chain', [builder.add({ kind: 'combine', name: 'sum', terms, bias: null })]);
}

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`;
  }
  return 'nothing was thrown';
};

describe('tables of committed slots', () => {
  it('keep their rules on random graphs, and are refused without any of the entries that a rule asks for', () => {
    let left = 0;
    for (let i = 0; i < 150; i++) {
      const random = seededRandom(seed + i);
      const { graph } = randomGraph(random);
      const slots = slotsOf(graph);
      expect(slotReads(graph).map((reads) => new Set(reads))).toEqual(slots.map((id) => readsOf(graph, id)));
      const every = 1 + Math.floor(random() * 8);
      const table = commitTable(graph, every);
      if (table === undefined) continue;
      left += slots.length - table.length;
      expect(keepsRules(graph, table), `seed ${seed + i}`).toBe(true);
      expect(table).toEqual([...table].sort((a, b) => a - b));
      expect(Math.max(...table.slice(1).map((entry, k) => entry - table[k]!))).toBeLessThanOrEqual(every);
      checkCommitTable(graph, table);
      expect(committedTensors(graph, table)).toEqual(table.map((slot) => slots[slot]!));
      for (const entry of table) {
        const without = table.filter((other) => other !== entry);
        const refused = codeOf(() => checkCommitTable(graph, without)) !== 'nothing was thrown';
        expect(refused, `seed ${seed + i}, without ${entry}`).toBe(!keepsRules(graph, without));
      }
    }
    expect(left).toBeGreaterThan(0);
  });

  it('commit what is read across a committed slot, and split a segment for it once more', () => {
    // Slots: x 0, max 0..5 = 1..6, sum 7. The sum reads slots 6 and 1.
    expect(commitTable(chain(6, false), 4)).toEqual([0, 4, 7]);
    expect(commitTable(chain(6, true), 4)).toEqual([0, 1, 4, 7]);
    expect(commitTable(chain(6, true), 512)).toEqual([0, 7]);
  });

  it('commit the least tensors that their rules and steps allow', () => {
    const builder = new GraphBuilder();
    let x = builder.addInput('x', [4], BYTE, 1, 0);
    // Slots 0..8 of 4, 8, 16, 2, 16, 16, 1, 16 and 32 elements: joined twice and cut.
    for (const size of [8, 16, 2, 16, 16, 1, 16, 32]) {
      const wide = builder.add({ kind: 'concat', name: 'wide', xs: new Array<number>(size).fill(x), axis: 0 });
      const cut = builder.add({ kind: 'slice', name: 'cut', x: wide, starts: [0], steps: [1] }, { shape: [size] });
      x = builder.add({
        kind: 'maxPool',
        name: `slot ${size}`,
        x: builder.add({ kind: 'reshape', name: 'image', x: cut }, { shape: [1, 1, size] }),
        window: { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] },
      });
      x = builder.add({ kind: 'reshape', name: 'row', x }, { shape: [size] });
    }
    const out = builder.add({ kind: 'reduceMax', name: 'max', x, axes: [0] });
    const graph = builder.finish('sizes', [out]);
    expect(slotsOf(graph).map((id) => sizeOf(graph.tensors[id]!.shape))).toEqual([4, 8, 16, 2, 16, 16, 1, 16, 32, 1]);
    expect(commitTable(graph, 6)).toEqual([0, 6, 9]);
    expect(commitTable(graph, 4)).toEqual([0, 3, 6, 9]);
    expect(commitTable(graph, 2)).toEqual([0, 1, 3, 5, 7, 9]);
  });

  it('are none where nothing is left out', () => {
    expect(commitTable(chain(6, false), 1)).toBeUndefined();
    expect(committedTensors(chain(2, false), undefined)).toEqual(slotsOf(chain(2, false)));
  });

  it.each([0, -1, 0.5, 513, Number.NaN])('are made for every 1st to 512th slot, not every %dth', (every) => {
    expect(codeOf(() => commitTable(chain(2, false), every))).toContain('GRAPH_INVALID: a trace commits every');
  });

  it.each<[string, IntegerGraph, number[], string]>([
    ['without an input', chain(6, false), [4, 7], 'slot 0 is an input or output'],
    ['without an output', chain(6, false), [0, 4], 'slot 7 is an input or output'],
    ['with a read across a committed slot', chain(6, true), [0, 4, 7], 'slot 7 reads slot 1 across committed slot 4'],
    ['with an entry twice', chain(6, false), [0, 4, 4, 7], 'entry 2 does not ascend'],
    ['out of order', chain(6, false), [4, 0, 7], 'entry 1 does not ascend'],
    ['with a slot that there is not', chain(6, false), [0, 7, 8], 'entry 2 is 8, and there are 8 slots'],
    ['with what is no slot', chain(6, false), [0, 0.5, 7], 'entry 1 is 0.5'],
    ['of nothing', chain(6, false), [], 'slot 0 is an input or output'],
    ['of everything', chain(2, false), [0, 1, 2, 3], 'leaves nothing out'],
    ['with too long a segment', chain(513, false), [0, 514], 'more than 512 slots before 514'],
  ])('are refused %s', (_, graph, table, message) => {
    const found = codeOf(() => checkCommitTable(graph, table));
    expect(found).toContain('GRAPH_INVALID: table of committed slots: ');
    expect(found).toContain(message);
  });

  it('may leave 512 slots in a row out', () => {
    checkCommitTable(chain(512, false), [0, 513]);
    expect(commitTable(chain(600, false), 512)).toEqual([0, 512, 601]);
  });

  it('see through a chain of views as long as a file can hold', () => {
    const side = { name: 'v', shape: [1], range: BYTE, scale: 1, zeroPoint: 0, layout: [0] };
    const length = 50_000;
    const graph: IntegerGraph = {
      name: 'views',
      tensors: new Array<typeof side>(length + 1).fill(side),
      nodes: Array.from({ length }, (_, i) => ({ kind: 'reshape', name: 'r', x: i, output: i + 1 })),
      inputs: [0],
      outputs: [length],
    };
    expect(slotReads(graph)).toEqual([[], [0]]);
  });
});
