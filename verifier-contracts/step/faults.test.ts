/**
 * IntegerStep.sol, fault by fault: a right claim has none, a cheat's is found, and of the evidence every bit counts: each
 * small change of it is refused, but for the fields that the fault does not read, which are listed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkStep } from '../../fraud-proofs/step/check-step.js';
import { buildEvidence, segmentEvidence, sumsEvidence } from '../../fraud-proofs/step/build-evidence.js';
import { encodeEvidence } from '../../fraud-proofs/step/encode-evidence.js';
import { ownSums } from '../../fraud-proofs/step/sums.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import { bundleOf, claimOf } from '../../fraud-proofs/step/testing/test-claims.js';
import { contentHash, nodeIdOf, packRoots, packSums } from '../../fraud-proofs/nodes/ids.js';
import { committedPosition } from '../../fraud-proofs/nodes/known-tensor.js';
import { FLOAT_RANGE, encodeElements, Preimage, toHex } from '../../graph/commitment/encoding.js';
import { merkleOpening, merkleValue } from '../../graph/commitment/merkle.js';
import { TAG } from '../../graph/commitment/tags.js';
import { CHUNK_ELEMENTS, encodeHeader, inLayout, tensorHeader } from '../../graph/commitment/tensor-root.js';
import { committed } from '../../fraud-proofs/float/commit-tensor.js';
import { evaluateGraph, slotsOf, type IntegerGraph } from '../../graph/index.js';
import { GraphBuilder } from '../../graph/integer/builder.js';
import { withLayouts } from '../../graph/integer/layout.js';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { NODE_KINDS, type Fault, type GameNode, type StepEvidence } from '../dispute-types.js';
import { mutationsOf } from '../harness/step/mutations.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepAnswer, type StepChain } from '../harness/step/step-fixture.js';

/** Small, so that contractions of a hundred products have parts, the last of them shorter. */
const MAX_CONTRACTION = 25;
const ITEMS = 2;
/** Of the changes of a right claim's evidence, how many are tried. */
const RIGHT_SHARE = 0.25;

let chain: StepChain;
beforeAll(async () => {
  chain = await deployStep(MAX_CONTRACTION);
}, COMPILE_TIMEOUT_MS);
afterAll(() => chain.stop());

const random = seededRandom(6);
const int = (lo: number, hi: number): number => lo + Math.floor(random() * (hi - lo + 1));
const weights = (length: number): Int8Array => Int8Array.from({ length }, () => int(-20, 20));

/** conv of 4 * 9 products, requantised; pooled; a wide product; argMax; two inputs, of which the second is added. */
function network(): IntegerGraph {
  const b = new GraphBuilder();
  const x = b.addInput('x', [4, 6, 6], { lo: -100, hi: 100 }, 1, 0);
  const z = b.addInput('z', [3, 6, 6], { lo: 0, hi: 200 }, 1, 0);
  const requant = (of: number, name: string): number => {
    const shape = b.tensor(of).shape;
    const multipliers = Int32Array.from({ length: shape[0]! }, () => int(1 << 17, 1 << 18));
    const q = b.quotientRange(of, multipliers, 0);
    const table = { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: -128, hi: 127 } as const;
    return b.add({ kind: 'requant', name, x: of, multipliers, channelAxis: 0, table });
  };
  const window = { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1] } as const;
  const bias = Int32Array.of(500, -500, 7);
  const conv = b.add({ kind: 'conv', name: 'conv', x, window, groups: 1, outChannels: 3, weight: weights(108), bias });
  const terms = [conv, z].map((id) => ({ x: id, coefficient: 1 }));
  const first = requant(b.add({ kind: 'combine', name: 'sum', terms, bias: null }), 'first');
  const most = b.add({
    kind: 'maxPool',
    name: 'most',
    x: first,
    window: { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] },
  });
  const flat = b.add({ kind: 'reshape', name: 'flat', x: most }, { shape: [75] });
  const wide = b.add({
    kind: 'matmul',
    name: 'wide',
    x: flat,
    inFeatures: 75,
    outFeatures: 4,
    weight: weights(300),
    bias: Int32Array.of(1, 2, 3, 4),
  });
  const scores = requant(wide, 'scores');
  const label = b.add({ kind: 'argMax', name: 'label', x: scores, axis: 0 });
  const shown = b.add({ kind: 'reshape', name: 'shown', x: scores }, { shape: [2, 2] });
  return withLayouts(b.finish('network', [label, shown]));
}

const graph = network();
const inputs = graph.inputs.map((id) => {
  const { shape, range } = graph.tensors[id]!;
  return Int32Array.from({ length: ITEMS * shape.reduce((p, s) => p * s, 1) }, () => int(range.lo, range.hi));
});
const model = new StepModel(bundleOf(graph));
/** Leaves out the slots of conv and maxima. */
const SOME = [0, 1, 4, 5, 6];
const some = new StepModel(bundleOf(graph, SOME));
const values = evaluateGraph(graph, inputs, ITEMS);
const right = slotsOf(graph).map((id) => values[id]!);
const [INPUT, SECOND_INPUT, FIRST, MOST, SCORES, LABEL, SHOWN] = [0, 1, 2, 3, 4, 5, 6];

const changed = (slot: number, element: number, value: (was: number) => number): Int32Array[] =>
  right.map((data, i) => (i === slot ? data.map((v, e) => (e === element ? value(v) : v)) : data));
const one = (v: number): number => (v === 127 ? 126 : v + 1);

interface Accusation {
  readonly receipt: Receipt;
  readonly fault: Fault;
  readonly evidence: StepEvidence;
}

const judge = async (all: readonly Accusation[]): Promise<StepAnswer[]> => {
  const answers: StepAnswer[] = [];
  for (let i = 0; i < all.length; i += 64)
    answers.push(
      ...(await chain.judge(
        all.slice(i, i + 64).map(({ evidence, ...rest }) => ({ ...rest, evidence: encodeEvidence(evidence) })),
      )),
    );
  return answers;
};

/** A claim with stated sums for an element of a slot, right ones but for what `change` does. */
function claimWithSums(
  of: StepModel,
  slots: readonly Int32Array[],
  slot: number,
  element: number,
  change: (part: bigint, i: number) => bigint = (part) => part,
): ReturnType<typeof claimOf> {
  const claim = claimOf(of, slots, ITEMS);
  const first = committedPosition(of.infoOfSlot(slot), element);
  const parts = ownSums(of, claim, slot, first, MAX_CONTRACTION)!.map(change);
  claim.learnSums({ node: { kind: 'sums', slot, height: 0, first, count: parts.length }, parts });
  return claim;
}

type Target = Parameters<typeof buildEvidence>[2];
const accuse = (of: StepModel, claim: ReturnType<typeof claimOf>, target: Target): Accusation => ({
  receipt: claim.receipt,
  fault: target.fault,
  evidence: buildEvidence(of, claim, target, MAX_CONTRACTION)!,
});

/** A trace over any leaves. */
function traceOf(leaves: readonly { slot: number; root: Hex }[]): {
  root: Hex;
  tree: Hex;
  path(position: number): Hex[];
} {
  const hashes = leaves.map(({ slot, root }) =>
    new Preimage()
      .u8(TAG.slot)
      .u32(slot)
      .raw(Buffer.from(root.slice(2), 'hex'))
      .hash(),
  );
  const tree = merkleValue(TAG.traceNode, hashes);
  return {
    root: toHex(new Preimage().u8(TAG.traceRoot).u32(leaves.length).raw(tree).hash()) as Hex,
    tree: toHex(tree) as Hex,
    path: (position) => merkleOpening(TAG.traceNode, hashes, position, position).map((hash) => toHex(hash) as Hex),
  };
}

/** Roots of the right slots, in a model that commits them all. */
const honest = claimOf(model, right, ITEMS);
const leaves = honest.trace!.leaves.map((leaf) => leaf!);

/** As `evidence`, but the slot's opening stands in another trace. */
function inTrace(accusation: Accusation, all: typeof leaves, position: number, change: object = {}): Accusation {
  const trace = traceOf(all);
  const { receipt, evidence } = accusation;
  const slots = evidence.slots.map((slot) => ({ ...slot, position, path: trace.path(position), ...change }));
  return {
    ...accusation,
    receipt: { ...receipt, traceRoot: trace.root },
    evidence: { ...evidence, slotCount: all.length, slots },
  };
}

/** Wrong header of a slot: each field in turn. */
function wrongHeaders(slot: number): Accusation[] {
  const info = model.infoOfSlot(slot);
  const base = rightHeader(slot);
  return [
    { info: { ...info, range: { ...info.range, lo: info.range.lo + 1 } }, items: ITEMS },
    { info: { ...info, range: { ...info.range, hi: info.range.hi - 1 } }, items: ITEMS },
    { info: { ...info, range: FLOAT_RANGE }, items: ITEMS },
    { info: { ...info, shape: [...info.shape].reverse() }, items: ITEMS },
    { info: { ...info, layout: [0, 1, 2] }, items: ITEMS },
    { info, items: ITEMS + 1 },
  ].map(({ info: other, items }) => {
    const header = toHex(encodeHeader(tensorHeader(other, items))) as Hex;
    const treeValue = toHex(new Uint8Array(32).fill(7)) as Hex;
    const hash = new Preimage().u8(TAG.tensorRoot).raw(encodeHeader(tensorHeader(other, items)));
    const root = toHex(hash.raw(new Uint8Array(32).fill(7)).hash()) as Hex;
    const all = leaves.map((leaf) => (leaf.slot === slot ? { slot, root } : leaf));
    return inTrace(base, all, slot, { tensor: { header, runs: [], treeValue } });
  });
}

/** A header that is right, as evidence that it is not. */
function rightHeader(slot: number): Accusation {
  const opened = honest.tensors.get(leaves[slot]!.root)!.open([])!;
  const base = accuse(model, honest, { fault: 'commitIndex', position: slot });
  const slots = [{ ...base.evidence.slots[0]!, tensor: opened }];
  const descriptors = model.open([1 + model.valueOfSlot[slot]!]);
  return {
    ...base,
    fault: 'header',
    evidence: { ...base.evidence, model: descriptors, value: model.valueOfSlot[slot]!, slots },
  };
}

const otherInputs = claimOf(model, changed(INPUT!, 3, one), ITEMS);
const otherOutputs = claimOf(model, changed(SHOWN!, 3, one), ITEMS);
/** The trace of one claim under the ports of another. */
function bound(fault: 'inputBinding' | 'outputBinding', trace: typeof honest, ports: typeof honest): Accusation {
  const own = accuse(model, trace, { fault, port: fault === 'inputBinding' ? 0 : 1 });
  const { portCount, portTensor, portPath } = accuse(model, ports, {
    fault,
    port: fault === 'inputBinding' ? 0 : 1,
  }).evidence;
  const receipt =
    fault === 'inputBinding'
      ? { ...trace.receipt, inputRoot: ports.receipt.inputRoot }
      : { ...trace.receipt, outputRoot: ports.receipt.outputRoot };
  return { receipt, fault, evidence: { ...own.evidence, portCount, portTensor, portPath } };
}

const slotCount = accuse(model, honest, { fault: 'slotCount' });
const short = traceOf(leaves.slice(0, -1));
const port = accuse(model, honest, { fault: 'portCount', side: 'outputs' });
const ports = (count: number): Hex =>
  toHex(
    new Preimage()
      .u8(TAG.portRoot)
      .u8(1)
      .u32(count)
      .raw(Buffer.from(port.evidence.portPath[0]!.slice(2), 'hex'))
      .hash(),
  ) as Hex;
const someLeaves = claimOf(some, right, ITEMS).trace!.leaves.map((leaf) => leaf!);
const wrongIndex = (of: StepModel, all: typeof leaves, position: number): Accusation => {
  const base = accuse(of, claimOf(of, right, ITEMS), { fault: 'commitIndex', position });
  const wrong = all.map((leaf, i) => (i === position ? { ...leaf, slot: leaf.slot + 1 } : leaf));
  return inTrace(base, wrong, position, { slot: wrong[position]!.slot });
};

const lastLabel = 1;
const wrongLabel = changed(LABEL!, lastLabel, (v) => (v === 3 ? 2 : v + 1));
const firstWrong = changed(FIRST!, 100, one);

/** What a cheat's claim is accused of, and the same of a right claim. */
const CASES: readonly (readonly [string, Accusation, Accusation])[] = [
  [
    'step of a conv, requantised, whose sums are stated',
    accuse(model, claimWithSums(model, firstWrong, FIRST!, 100), { fault: 'step', slot: FIRST!, element: 100 }),
    accuse(model, claimWithSums(model, right, FIRST!, 100), { fault: 'step', slot: FIRST!, element: 100 }),
  ],
  [
    'step of a maxPool',
    accuse(model, claimOf(model, changed(MOST!, 90, one), ITEMS), { fault: 'step', slot: MOST!, element: 90 }),
    accuse(model, honest, { fault: 'step', slot: MOST!, element: 90 }),
  ],
  [
    'step of an argMax',
    accuse(model, claimOf(model, wrongLabel, ITEMS), { fault: 'step', slot: LABEL!, element: lastLabel }),
    accuse(model, honest, { fault: 'step', slot: LABEL!, element: lastLabel, witness: 2 }),
  ],
  [
    'step in a segment',
    accuse(some, claimOf(some, changed(MOST!, 90, one), ITEMS), { fault: 'step', slot: MOST!, element: 90 }),
    accuse(some, claimOf(some, right, ITEMS), { fault: 'step', slot: MOST!, element: 90 }),
  ],
  [
    'part of a conv',
    accuse(
      model,
      claimWithSums(model, right, FIRST!, 100, (p, i) => (i === 1 ? p + 1n : p)),
      { fault: 'part', slot: FIRST!, element: 100, part: 1 },
    ),
    accuse(model, claimWithSums(model, right, FIRST!, 100), { fault: 'part', slot: FIRST!, element: 100, part: 1 }),
  ],
  [
    'part of a matmul',
    accuse(
      model,
      claimWithSums(model, right, SCORES!, 5, (p, i) => (i === 2 ? p - 1n : p)),
      { fault: 'part', slot: SCORES!, element: 5, part: 2 },
    ),
    accuse(model, claimWithSums(model, right, SCORES!, 5), { fault: 'part', slot: SCORES!, element: 5, part: 2 }),
  ],
  [
    'input range',
    accuse(
      model,
      claimOf(
        model,
        changed(SECOND_INPUT!, 150, () => 201),
        ITEMS,
      ),
      { fault: 'inputRange', input: SECOND_INPUT!, element: 150 },
    ),
    accuse(
      model,
      claimOf(
        model,
        changed(SECOND_INPUT!, 150, () => 200),
        ITEMS,
      ),
      { fault: 'inputRange', input: SECOND_INPUT!, element: 150 },
    ),
  ],
  ['input binding', bound('inputBinding', honest, otherInputs), bound('inputBinding', honest, honest)],
  ['output binding', bound('outputBinding', honest, otherOutputs), bound('outputBinding', honest, honest)],
  ['header', wrongHeaders(FIRST!)[0]!, rightHeader(FIRST!)],
  [
    'slot count',
    {
      ...slotCount,
      receipt: { ...honest.receipt, traceRoot: short.root },
      evidence: { ...slotCount.evidence, slotCount: leaves.length - 1, portPath: [short.tree] },
    },
    slotCount,
  ],
  ['commit index', wrongIndex(model, leaves, 4), accuse(model, honest, { fault: 'commitIndex', position: 4 })],
  [
    'commit index under a table',
    wrongIndex(some, someLeaves, 2),
    accuse(some, claimOf(some, right, ITEMS), { fault: 'commitIndex', position: 2 }),
  ],
  [
    'number of slots',
    {
      receipt: { ...honest.receipt, opCount: leaves.length + 1 },
      fault: 'opCount',
      evidence: accuse(model, honest, { fault: 'opCount' }).evidence,
    },
    accuse(model, honest, { fault: 'opCount' }),
  ],
  [
    'number of outputs',
    { ...port, receipt: { ...honest.receipt, outputRoot: ports(3) }, evidence: { ...port.evidence, portCount: 3 } },
    port,
  ],
];

describe.each(CASES)('%s', (_, cheat, fair) => {
  it('is found, as the mirror finds it, and a right claim has none', async () => {
    const [found, none] = await judge([cheat, fair]);
    expect(found).toMatchObject({ verdict: 'fault' });
    expect(found).toEqual(checkStep(cheat.receipt, cheat.fault, cheat.evidence, MAX_CONTRACTION));
    expect(none).toMatchObject({ verdict: 'right' });
  });

  it('every small change of the evidence is refused, but of fields that it does not read', async () => {
    const changes = mutationsOf(cheat.evidence);
    const answers = await judge(changes.map(({ changed: evidence }) => ({ ...cheat, evidence })));
    const unread = changes.filter((__, i) => answers[i]!.verdict === 'fault').map(({ what }) => what);
    expect([...new Set(unread)].sort()).toMatchSnapshot();
  });

  it('a small change makes no fault of a right claim, or one that rests on what the executor did not state', async () => {
    const stated = reliancesOf(fair.evidence);
    const changes = mutationsOf(fair.evidence).filter(() => random() < RIGHT_SHARE);
    const answers = await judge(changes.map(({ changed: evidence }) => ({ ...fair, evidence })));
    const bad = changes.filter((__, i) => {
      const answer = answers[i]!;
      return answer.verdict === 'fault' && JSON.stringify(answer.relies) === stated;
    });
    expect(bad.map(({ what }) => what)).toEqual([]);
  });
});

describe('the header of a slot', () => {
  it('each field of it counts', async () => {
    expect((await judge(wrongHeaders(FIRST!))).map(({ verdict }) => verdict)).toEqual(Array(6).fill('fault'));
  });

  it('is not believed where a step reads it', async () => {
    const all = wrongHeaders(FIRST!).map(({ receipt, evidence }) => {
      const base = accuse(model, honest, { fault: 'step', slot: MOST!, element: 90 });
      const foreign = evidence.slots[0]!;
      const trace = { position: foreign.position, path: foreign.path };
      const slots = base.evidence.slots.map((slot) =>
        slot.slot === FIRST ? { ...slot, ...trace, tensor: { ...slot.tensor, header: foreign.tensor.header } } : slot,
      );
      return { ...base, receipt, evidence: { ...base.evidence, slots } };
    });
    for (const { verdict } of await judge(all)) expect(['invalid', 'undetermined']).toContain(verdict);
  });

  it('is not believed where it says float32, though its opening is exact', async () => {
    const info = model.infoOfSlot(MOST!);
    const header = encodeHeader(tensorHeader({ ...info, range: FLOAT_RANGE }, ITEMS));
    const tensor = committed(header, encodeElements(inLayout(info, right[MOST!]!, ITEMS), 4));
    const root = toHex(tensor.root) as Hex;
    const trace = traceOf(leaves.map((leaf) => (leaf.slot === MOST ? { slot: MOST, root } : leaf)));
    const base = accuse(model, honest, { fault: 'step', slot: MOST!, element: 90 });
    const slots = base.evidence.slots.map((slot) => {
      const moved = { ...slot, path: trace.path(slot.position) };
      if (slot.slot !== MOST) return moved;
      const runs = slot.tensor.runs.map(({ firstChunk, elements }) => {
        const [first, end] = [firstChunk, firstChunk + Math.ceil((elements.length - 2) / 2 / CHUNK_ELEMENTS)];
        return {
          firstChunk,
          elements: toHex(tensor.elements.subarray(4 * CHUNK_ELEMENTS * first, 4 * CHUNK_ELEMENTS * end)) as Hex,
          path: merkleOpening(TAG.tensorNode, tensor.leaves, first, end - 1).map((hash) => toHex(hash) as Hex),
        };
      });
      return { ...moved, tensor: { ...slot.tensor, header: toHex(header) as Hex, runs } };
    });
    const receipt = { ...base.receipt, traceRoot: trace.root };
    const [answer] = await judge([{ ...base, receipt, evidence: { ...base.evidence, slots } }]);
    expect(answer).toEqual({ verdict: 'undetermined', reason: 'header' });
  });
});

describe('a contraction that is longer than one step', () => {
  const target = { fault: 'step', slot: FIRST!, element: 100 } as const;
  const wrong = claimWithSums(model, firstWrong, FIRST!, 100);

  it('needs its sums', async () => {
    const { evidence } = accuse(model, wrong, target);
    const [answer] = await judge([{ receipt: wrong.receipt, fault: 'step', evidence: { ...evidence, sums: [] } }]);
    expect(answer).toMatchObject({ verdict: 'needsSums', length: 36 });
  });

  it('every part of every element of both contractions: right ones have no fault, changed ones have', async () => {
    const all: Accusation[] = [];
    const expected: string[] = [];
    for (const slot of [FIRST!, SCORES!])
      for (let element = 0; element < right[slot]!.length; element += slot === FIRST ? 23 : 1) {
        const fair = claimWithSums(model, right, slot, element);
        const parts = fair.statedSums(slot, committedPosition(model.infoOfSlot(slot), element))!.parts.length;
        for (let part = 0; part < parts; part++) {
          const cheat = claimWithSums(model, right, slot, element, (v, i) => (i === part ? v + 1n : v));
          all.push(
            accuse(model, fair, { fault: 'part', slot, element, part }),
            accuse(model, cheat, { fault: 'part', slot, element, part }),
          );
          expected.push('right', 'fault');
        }
      }
    expect((await judge(all)).map(({ verdict }) => verdict)).toEqual(expected);
  });

  it('sums that are right with a right element, or of which one is wrong, leave the total as it says', async () => {
    const fair = claimWithSums(model, right, FIRST!, 100);
    const { receipt, fault, evidence } = accuse(model, fair, target);
    const [sums] = evidence.sums;
    const [a, b] = sums!.parts as [bigint, bigint];
    const stating = (...parts: bigint[]): Accusation => ({
      receipt,
      fault,
      evidence: { ...evidence, sums: [{ ...sums!, parts }] },
    });
    // Whoever states a total that no table holds has stated a wrong part.
    const answers = await judge([stating(a + 1_000_000n, b), stating(a + 7n, b - 7n)]);
    expect(answers.map(({ verdict }) => verdict)).toEqual(['undetermined', 'right']);
  });

  it('sums of another element or slot, or too few, do not count', async () => {
    const { receipt, evidence } = accuse(model, wrong, target);
    const [sums] = evidence.sums;
    const others = [
      { ...sums!, node: { ...sums!.node, first: sums!.node.first + 1 } },
      { ...sums!, node: { ...sums!.node, slot: SCORES! } },
      { ...sums!, node: { ...sums!.node, kind: 'segment' as const } },
      { ...sums!, element: sums!.element + 1 },
      { ...sums!, element: sums!.element + 108 },
      { ...sums!, node: { ...sums!.node, count: 1 }, parts: sums!.parts.slice(1) },
      { ...sums!, node: { ...sums!.node, count: 3 }, parts: [...sums!.parts, 0n] },
    ];
    const answers = await judge([
      ...others.map((other) => ({ receipt, fault: 'step' as const, evidence: { ...evidence, sums: [other] } })),
      { receipt, fault: 'step' as const, evidence: { ...evidence, sums: [sums!, sums!] } },
    ]);
    expect(answers.map(({ verdict }) => verdict)).toEqual(Array(8).fill('invalid'));
  });
});

describe('what an executor may be asked to state', () => {
  const claim = claimOf(some, right, ITEMS);
  const node = (given: Partial<GameNode>): unknown[] => {
    const { kind, slot, height, first, count } = {
      kind: 'segment',
      slot: 1,
      height: 0,
      first: 2,
      count: 2,
      ...given,
    } as GameNode;
    return [NODE_KINDS.indexOf(kind), slot, height, first, count];
  };

  it('the segment between two committed slots, exactly', async () => {
    const ask = (k: number, given: Partial<GameNode>, of = some): Promise<string | null> =>
      chain.requireStatement(
        claimOf(of, right, ITEMS).receipt,
        node(given),
        encodeEvidence(segmentEvidence(some, claim, k)),
      );
    expect(await ask(1, {})).toBeNull();
    for (const given of [
      { first: 1 },
      { first: 3 },
      { count: 1 },
      { count: 3 },
      { height: 9 },
      { kind: 'sums' },
      { kind: 'chunks' },
      { slot: 0 },
    ] as const)
      expect(await ask(1, given), JSON.stringify(given)).not.toBeNull();
    // Nothing lies between slots 0 and 1, nor behind the last.
    expect(await ask(0, { slot: 0, first: 1, count: 0 })).toBe('NoStatement');
    expect(await ask(1, { slot: 4, first: 7, count: 1 })).toBe('NoStatement');
    expect(await ask(1, {}, model)).toBe('EvidenceInvalid');
    const unlisted = {
      ...segmentEvidence(some, claim, 1),
      commitTable: { header: '0x', runs: [], treeValue: honest.receipt.traceRoot },
    } as StepEvidence;
    expect(await chain.requireStatement(claim.receipt, node({}), encodeEvidence(unlisted))).toBe('EvidenceInvalid');
    const full = encodeEvidence(accuse(model, honest, { fault: 'opCount' }).evidence);
    expect(await chain.requireStatement(honest.receipt, node({}), full)).toBe('NoStatement');
  });

  it('the sums of an element whose contraction is too long, exactly', async () => {
    const first = committedPosition(model.infoOfSlot(FIRST!), 100);
    const ask = (slot: number, element: number, given: Partial<GameNode>): Promise<string | null> =>
      chain.requireStatement(
        honest.receipt,
        node({ kind: 'sums', slot, first, count: 2, ...given }),
        encodeEvidence(sumsEvidence(model, honest, slot, element, MAX_CONTRACTION)),
      );
    expect(await ask(FIRST!, 100, {})).toBeNull();
    expect(await ask(SCORES!, 5, { first: 5, count: 3 })).toBeNull();
    for (const given of [{ first: first + 1 }, { count: 1 }, { count: 3 }, { height: 9 }])
      expect(await ask(FIRST!, 100, given), JSON.stringify(given)).not.toBeNull();
    expect(await ask(MOST!, 90, { first: committedPosition(model.infoOfSlot(MOST!), 90) })).toBe('NoStatement');
    expect(await ask(LABEL!, 1, { first: 1 })).toBe('NoStatement');
    expect(await ask(INPUT!, 1, { first: committedPosition(model.infoOfSlot(INPUT!), 1) })).not.toBeNull();
    const beyond = right[SCORES!]!.length;
    expect(await ask(SCORES!, beyond, { first: beyond, count: 3 })).not.toBeNull();
  });
});

it('evidence that is cut off, or whose offsets lead elsewhere, is no verdict', async () => {
  const cheat = CASES[0]![1];
  const evidence = encodeEvidence(cheat.evidence);
  const words = (evidence.length - 2) / 64;
  const cut = Array.from({ length: 40 }, () => `0x${evidence.slice(2, 2 + 64 * int(0, words - 1))}` as Hex);
  const bent = Array.from({ length: 120 }, () => {
    const at = 2 + 64 * int(0, words - 1);
    const word = ['0'.repeat(64), 'f'.repeat(64), `${'0'.repeat(60)}ffe0`, `${'f'.repeat(60)}ff00`][int(0, 3)]!;
    return `${evidence.slice(0, at)}${word}${evidence.slice(at + 64)}` as Hex;
  }).filter((bytes) => bytes !== evidence);
  const { receipt, fault } = cheat;
  const fair = CASES[0]![2];
  const answers = await chain.judge(
    [...cut, ...bent].map((bytes) => ({ receipt: fair.receipt, fault, evidence: bytes })),
  );
  for (const { verdict } of answers) expect(verdict).not.toBe('fault');
  const own = await chain.judge(cut.map((bytes) => ({ receipt, fault, evidence: bytes })));
  for (const { verdict } of own) expect(verdict).not.toBe('fault');
});

function reliancesOf({ segments, sums }: StepEvidence): string {
  return JSON.stringify([
    ...segments.map(({ node, roots }) => ({ nodeId: nodeIdOf(node), contentHash: contentHash(packRoots(roots)) })),
    ...sums.map(({ node, parts }) => ({ nodeId: nodeIdOf(node), contentHash: contentHash(packSums(parts)) })),
  ]);
}
