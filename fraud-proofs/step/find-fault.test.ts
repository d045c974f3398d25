import { describe, expect, it } from 'vitest';
import { commitTable } from '../../graph/commitment/commit-table.js';
import { FLOAT_RANGE } from '../../graph/commitment/encoding.js';
import { evaluateGraph, GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import {
  randomGraph,
  randomNodeCase,
  seededRandom,
  NODE_KINDS,
  type NodeCase,
} from '../../graph/integer/testing/random-graph.js';
import { packSums } from '../nodes/ids.js';
import { FullTrace } from '../nodes/full-trace.js';
import { KnownTensor } from '../nodes/known-tensor.js';
import { findFault } from './find-fault.js';
import { tamperTrace } from './inject.js';
import { StepModel } from './step-model.js';
import { bundleOf, claimOf, deviantClaim, receiptOf, type Deviation } from './testing/test-claims.js';
import { play } from './testing/play.js';

function ownTrace(model: StepModel, { graph, inputs, items }: NodeCase): FullTrace {
  const values = evaluateGraph(graph, inputs, items);
  return new FullTrace(
    model,
    model.slots.map((id) => values[id]!),
    items,
  );
}

function lieAbout(test: NodeCase, every: number, draw: () => number) {
  const committed = commitTable(test.graph, every);
  const model = new StepModel(bundleOf(test.graph, committed));
  const own = ownTrace(model, test);
  const slot = test.graph.inputs.length + Math.floor(draw() * (model.slotCount - test.graph.inputs.length));
  const element = Math.floor(draw() * own.slots[slot]!.length);
  const { lo, hi } = model.infoOfSlot(slot).range;
  if (lo === hi) return null;
  const delta = own.slots[slot]![element]! < hi ? 1 : -1;
  const told = tamperTrace(model, test.inputs, test.items, { at: { slot }, element, delta, downstream: draw() < 0.5 });
  return { model, own, told, slot, element };
}

describe('findFault', () => {
  it('finds a lie in random networks by asking, with boundaries and without', () => {
    const seed = 23;
    const draw = seededRandom(seed);
    for (let i = 0; i < 40; i++) {
      const lie = lieAbout(
        i % 2 ? randomGraph(draw) : randomNodeCase(NODE_KINDS[i % NODE_KINDS.length]!, draw),
        1 + (i % 5),
        draw,
      );
      if (lie === null) continue;
      const { model, own, told, slot, element } = lie;
      const receipt = receiptOf(model, told.trace);
      const { finding } = play(own, receipt, told.trace.asClaim(receipt, 'own'));
      // A lie that the operators behind it forgive leaves the boundaries as they are: then nothing is wrong.
      if (finding.kind === 'right') expect(model.hasBoundaries).toBe(true);
      else
        expect(finding, `seed ${seed}, case ${i}`).toMatchObject({
          kind: 'fault',
          target: { fault: 'step', slot, element },
        });
    }
  });

  it('says right of an honest claim, known or not', () => {
    const draw = seededRandom(3);
    for (let i = 0; i < 10; i++) {
      const test = randomGraph(draw);
      const model = new StepModel(bundleOf(test.graph, commitTable(test.graph, 1 + (i % 3))));
      const own = ownTrace(model, test);
      const honest = claimOf(model, own.slots, test.items);
      expect(play(own, honest.receipt, honest)).toMatchObject({ finding: { kind: 'right' }, asked: [] });
      expect(findFault(own, honest)).toEqual({ kind: 'right' });
    }
  });
});

/** A network with boundaries, and a right execution of it. */
function network(
  seed: number,
  every: number,
): { model: StepModel; own: FullTrace; graph: IntegerGraph; test: NodeCase } {
  const draw = seededRandom(seed);
  for (;;) {
    const test = randomGraph(draw);
    const model = new StepModel(bundleOf(test.graph, commitTable(test.graph, every)));
    if (every === 1 || (model.hasBoundaries && model.committed.length > 2))
      return { model, own: ownTrace(model, test), graph: test.graph, test };
  }
}

describe('structural faults', () => {
  const zero = `0x${'00'.repeat(32)}` as const;

  it.each<[string, number, (own: FullTrace) => Deviation, object, number]>([
    ['another number of slots in the receipt', 1, () => ({ opCount: 4711 }), { fault: 'opCount' }, 0],
    ['a slot too few', 1, () => ({ leaves: (right) => right.slice(0, -1) }), { fault: 'slotCount' }, 1],
    [
      'a slot too many',
      1,
      () => ({ leaves: (right) => [...right, { ...right[0]!, slot: right.length }] }),
      { fault: 'slotCount' },
      1,
    ],
    ['no slots', 1, () => ({ leaves: () => [] }), { fault: 'slotCount' }, 1],
    [
      'a committed slot of another number',
      2,
      () => ({ leaves: (right) => [...right.slice(0, -1), { ...right.at(-1)!, slot: 1 }] }),
      { fault: 'commitIndex' },
      1,
    ],
    [
      'another input in the trace',
      1,
      () => ({ leaves: (right) => right.map((leaf) => (leaf.slot === 0 ? { ...leaf, root: zero } : leaf)) }),
      { fault: 'inputBinding', port: 0 },
      1,
    ],
    ['another output', 1, () => ({ outputs: ([first]) => [first!, zero] }), { fault: 'outputBinding', port: 1 }, 1],
    ['an output too few', 2, () => ({ outputs: ([first]) => [first!] }), { fault: 'portCount', side: 'outputs' }, 1],
    [
      'another header',
      1,
      (own) => {
        const slot = own.model.header.inputs;
        const info = own.model.infoOfSlot(slot);
        const range = { lo: info.range.lo, hi: info.range.hi + 1 };
        const tensor = KnownTensor.of({ ...info, range }, own.slots[slot]!, own.items);
        return {
          tensors: [tensor],
          leaves: (right) => right.map((leaf) => (leaf.slot === slot ? { slot, root: tensor.root()! } : leaf)),
        };
      },
      { fault: 'header' },
      2,
    ],
  ])('%s', (_, every, deviate, target, asked) => {
    const { own } = network(5, every);
    const claim = deviantClaim(own, deviate(own));
    const played = play(own, claim.receipt, claim);
    expect(played.finding).toMatchObject({ kind: 'fault', target });
    expect(played.asked).toHaveLength(asked);
  });

  it('a header of float32, which no tensor of integers has', () => {
    const { own } = network(5, 1);
    const slot = own.model.header.inputs;
    const tensor = KnownTensor.of({ ...own.model.infoOfSlot(slot), range: FLOAT_RANGE }, own.slots[slot]!, own.items);
    const root = tensor.root()!;
    const claim = deviantClaim(own, {
      tensors: [tensor],
      leaves: (right) => right.map((leaf) => (leaf.slot === slot ? { slot, root } : leaf)),
    });
    const played = play(own, claim.receipt, claim);
    expect(played.finding).toMatchObject({ kind: 'fault', target: { fault: 'header', slot } });
    expect(played.asked).toHaveLength(2);
  });

  it('an input out of its range, committed as it was given or not', () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [70], { lo: 0, hi: 100 }, 1, 0);
    const graph = builder.finish('range', [builder.add({ kind: 'transpose', name: 'y', x, permutation: [0] })]);
    const model = new StepModel(bundleOf(graph));
    const bad = new Int32Array(70).fill(7);
    bad[66] = 150;
    const inputs = new FullTrace(model, [bad], 1);
    const told = new FullTrace(model, [bad, bad], 1);
    const receipt = receiptOf(model, told);
    const { finding, asked } = play(inputs, receipt, told.asClaim(receipt, 'own'));
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'inputRange', input: 0, element: 66 } });
    expect(asked).toHaveLength(1);
    const honest = new FullTrace(model, [new Int32Array(70), new Int32Array(70)], 1);
    const evasive = deviantClaim(honest, { inputs: () => inputs.inputRoots });
    expect(play(inputs, evasive.receipt, evasive).finding).toMatchObject({
      kind: 'fault',
      target: { fault: 'inputBinding' },
    });
  });

  it('an input count of another model', () => {
    const { own } = network(5, 1);
    const claim = deviantClaim(own, { inputs: (right) => [...right, zero] });
    expect(findFault(own, claim)).toMatchObject({ kind: 'fault', target: { fault: 'portCount', side: 'inputs' } });
    claim.inputs = null;
    expect(findFault(own, claim)).toMatchObject({ kind: 'unknown' });
  });
});

/** x [3, 40] -> matmul to [3, 4] -> requant: contractions of 40 products. */
function longModel(): { model: StepModel; own: FullTrace } {
  const draw = seededRandom(8);
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [3, 40], { lo: -128, hi: 127 }, 1, 0);
  const weight = Int8Array.from({ length: 160 }, () => Math.floor(draw() * 255) - 127);
  const sum = builder.add({
    kind: 'matmul',
    name: 'fc',
    x,
    inFeatures: 40,
    outFeatures: 4,
    weight,
    bias: Int32Array.of(5, -6, 7, 0),
  });
  const multipliers = Int32Array.of(2 ** 14);
  const q = builder.quotientRange(sum, multipliers, null);
  const table = { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: -128, hi: 127 } as const;
  const y = builder.add({ kind: 'requant', name: 'clamp', x: sum, multipliers, channelAxis: null, table });
  const model = new StepModel(bundleOf(builder.finish('long', [y])));
  const input = Int32Array.from({ length: 240 }, () => Math.floor(draw() * 256) - 128);
  return { model, own: ownTrace(model, { graph: model.model.graph, inputs: [input], items: 2 }) };
}

describe('a contraction that is too long for one step', () => {
  const limit = 16;
  const { model, own } = longModel();
  const element = 17;
  const told = own.slots.map((data) => data.slice());
  told[1]![element]! += told[1]![element]! > 0 ? -1 : 1;
  const lie = new FullTrace(model, told, 2);
  const receipt = receiptOf(model, lie);
  const claim = lie.asClaim(receipt, 'own');

  it('right sums: the total does not give the element', () => {
    const { finding, asked, levels } = play(own, receipt, claim, limit);
    expect(asked.map(({ kind }) => kind)).toEqual(['trace', 'tensor', 'chunks', 'sums']);
    expect(levels).toEqual([0, 1, 2, 3]);
    expect(asked.at(-1)).toMatchObject({ slot: 1, first: element, count: 3 });
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot: 1, element } });
    if (finding.kind === 'fault') {
      expect(finding.relies).toHaveLength(1);
      expect(finding.evidence.slots).toHaveLength(1);
    }
  });

  it.each([0, 1, 2])('a sum that is made to fit, part %i: that part', (part) => {
    const { finding } = play(own, receipt, claim, limit, (node, honest) => {
      if (node.kind !== 'sums') return honest;
      const parts = [...honest!.slice(2).matchAll(/.{16}/g)].map(([hex]) => BigInt.asIntN(64, BigInt(`0x${hex}`)));
      parts[part]! += 1000n;
      return packSums(parts);
    });
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'part', slot: 1, element, part } });
  });

  it('needs no sums where the limit allows it', () => {
    const { finding, asked } = play(own, receipt, claim, 40);
    expect(asked).toHaveLength(3);
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step' } });
  });
});
