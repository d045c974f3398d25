/** Every kind of node: where it stands, that exactly one content answers it, and that no other node can be demanded. */
import { id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outputRoot, traceRoot } from '../../graph/commitment/index.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import type { Hex } from '../../receipts/types.js';
import type { GameNode, NodePath } from '../dispute-types.js';
import { nodeId } from '../game-client.js';
import {
  allowed,
  found,
  notAllowed,
  refusal,
  START_TIMEOUT_MS,
  startGame,
  wallets,
  type GameFixture,
  type Job,
} from '../harness/dispute/game-fixture.js';
import {
  chunksNode,
  countingTensor,
  inputsNode,
  NO_NODE,
  NO_PATH,
  outputsNode,
  ports,
  sumsNode,
  tensorNode,
  TestTrace,
  traceRootNode,
} from '../harness/dispute/test-trace.js';

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const slotRoots = (count: number, real: ReadonlyMap<number, { readonly root: Hex }>): Hex[] =>
  Array.from({ length: count }, (_, i) => real.get(i)?.root ?? (id(`slot ${i}`) as Hex));

/** 200 elements: 4 chunks, the last one short; 40,000: 625 chunks, two answers deep. */
const small = countingTensor(200);
const large = countingTensor(40_000);

const inner = (kind: 'trace' | 'tensor', slot: number, height: number, first: number): GameNode => ({
  ...NO_NODE,
  kind,
  slot,
  height,
  first,
});

const full = (() => {
  const tensors = new Map([
    [1, small],
    [2, large],
  ]);
  return new TestTrace(slotRoots(5, tensors), undefined, tensors);
})();
/** Two answers deep. */
const deep = (() => {
  const tensors = new Map([[599, large]]);
  return new TestTrace(slotRoots(600, tensors), undefined, tensors);
})();
/** Slots 0, 3 and 9 of 10. */
const bounded = (() => {
  const tensors = new Map([
    [3, small],
    [5, large],
  ]);
  return new TestTrace(slotRoots(10, tensors), [0, 3, 9], tensors);
})();
/** 560 committed slots of 1,120. */
const deepBounded = (() => {
  const tensors = new Map([[1118, small]]);
  return new TestTrace(
    slotRoots(1120, tensors),
    Array.from({ length: 560 }, (_, i) => (i === 559 ? 1119 : 2 * i)),
    tensors,
  );
})();

/** Nodes in an order in which each comes behind its parent, with their levels. */
const TREES: Readonly<Record<string, { trace: TestTrace; nodes: readonly (readonly [GameNode, number])[] }>> = {
  'a whole trace': {
    trace: full,
    nodes: [
      [traceRootNode, 0],
      [inputsNode, 0],
      [outputsNode, 0],
      [tensorNode(1), 1],
      [chunksNode(1, 0), 2],
      [chunksNode(1, 3), 2],
      [chunksNode(1, 0, 4), 2],
      [sumsNode(1, 199, 5), 3],
      [tensorNode(2), 1],
      [inner('tensor', 2, 9, 1), 2],
      [chunksNode(2, 624), 3],
      [chunksNode(2, 576, 49), 3],
      [sumsNode(2, 39_999, 512), 4],
    ],
  },
  'a trace two answers deep': {
    trace: deep,
    nodes: [
      [traceRootNode, 0],
      [inner('trace', 0, 9, 0), 1],
      [inner('trace', 0, 9, 1), 1],
      [tensorNode(599), 2],
      [inner('tensor', 599, 9, 0), 3],
      [chunksNode(599, 64, 64), 4],
    ],
  },
  'a trace that leaves slots out': {
    trace: bounded,
    nodes: [
      [traceRootNode, 0],
      [bounded.segment(0), 1],
      [bounded.segment(1), 1],
      [tensorNode(3), 2],
      [chunksNode(3, 1), 3],
      [tensorNode(5), 2],
      [inner('tensor', 5, 9, 0), 3],
      [chunksNode(5, 0, 64), 4],
      [sumsNode(5, 0, 1), 5],
    ],
  },
  'a trace two answers deep that leaves slots out': {
    trace: deepBounded,
    nodes: [
      [traceRootNode, 0],
      [inner('trace', 0, 9, 1), 1],
      [deepBounded.segment(558), 2],
      [tensorNode(1118), 3],
      [chunksNode(1118, 2), 4],
    ],
  },
};

/** Another content of a node, by what is wrong with it. */
function spoiled(content: Hex): Record<string, Hex> {
  const flip = (at: number): Hex =>
    `${content.slice(0, at)}${(Number.parseInt(content[at]!, 16) ^ 1).toString(16)}${content.slice(at + 1)}` as Hex;
  return {
    'first byte': flip(3),
    'last byte': flip(content.length - 1),
    'a byte less': content.slice(0, -2) as Hex,
    'a byte more': `${content}00`,
    'a hash more': `${content}${'00'.repeat(32)}`,
    'a hash less': content.length > 66 ? (content.slice(0, -64) as Hex) : '0x',
    nothing: '0x',
  };
}

describe('nodes', () => {
  for (const [name, { trace, nodes }] of Object.entries(TREES)) {
    it(`${name}: each node has its level, and one content`, () =>
      f.apart(async () => {
        const job = await f.job(trace);
        for (const [node, level] of nodes) {
          await f.demand(job, node);
          expect((await f.demandOf(job, node))!.level, nodeIdText(node)).toBe(level);
          if (node.kind !== 'sums')
            for (const [why, content] of Object.entries(spoiled(f.contentOf(job, node))))
              expect(await refusal(f.answer(job, node, { content, ...(await unsigned(job, node)) })), why).toMatch(
                /AnswerInvalid|NodeInvalid|OpeningUnsigned|^0x/,
              );
          await f.answer(job, node);
          expect((await f.demandOf(job, node))!.answered).toBe(true);
          expect(await refusal(f.answer(job, node))).toBe('DemandAnswered');
          expect(await refusal(f.demand(job, node))).toBe('DemandKnown');
        }
        const { until } = await f.viewOf(job);
        const deepest = Math.max(...nodes.map(([, level]) => level));
        expect(until).toBe(job.windowEnd + (deepest + 1) * 300);
      }));
  }

  /** Each node the child of the one before. */
  const CHAINS: Readonly<Record<string, { trace: TestTrace; chain: readonly GameNode[] }>> = {
    'a whole trace': {
      trace: full,
      chain: [tensorNode(2), inner('tensor', 2, 9, 1), chunksNode(2, 624), sumsNode(2, 39_999, 3)],
    },
    'a trace two answers deep': {
      trace: deep,
      chain: [
        inner('trace', 0, 9, 1),
        tensorNode(599),
        inner('tensor', 599, 9, 0),
        chunksNode(599, 64, 64),
        sumsNode(599, 64 * 70, 3),
      ],
    },
    'a trace that leaves slots out': {
      trace: bounded,
      chain: [bounded.segment(1), tensorNode(5), inner('tensor', 5, 9, 0), chunksNode(5, 7)],
    },
    'a committed slot of a trace that leaves slots out': { trace: bounded, chain: [tensorNode(3), chunksNode(3, 1)] },
  };

  for (const [name, { trace, chain }] of Object.entries(CHAINS)) {
    it(`${name}: behind the window a node is demanded below its answered parent, in the time of its level`, () =>
      f.apart(async () => {
        const job = await f.job(trace);
        await f.demand(job, traceRootNode, { time: job.windowEnd });
        let above = traceRootNode;
        for (const node of chain) {
          const path = trace.path(node, above.count > 1);
          // A committed slot's level is one more where slots are left out; the claim is open for the level above it no longer.
          const last = job.windowEnd + ((await f.demandOf(job, above))!.level + 1) * 300;
          expect(await refusal(f.demand(job, node, { path })), nodeIdText(above)).toBe(
            above.kind === 'segment' ? 'NodeInvalid' : 'ParentUnanswered',
          );
          await f.answer(job, above);
          expect(await f.apart(() => refusal(f.demand(job, node, { path, time: last + 1 })))).toMatch(
            /TooLate|ClaimFinal/,
          );
          await f.demand(job, node, { path, time: last });
          above = node;
        }
      }));
  }

  it('is the trace of graph/commitment', () => {
    const graph = {
      name: 'one input',
      tensors: [{ shape: [200], range: { lo: -128, hi: 127 }, layout: [0] }],
      inputs: [0],
      nodes: [],
      outputs: [0],
    } as unknown as IntegerGraph;
    const values = [Int32Array.from({ length: 200 }, (_, i) => (i % 256) - 128)];
    expect(new TestTrace([small.root]).traceRoot).toBe(traceRoot(graph, values, 1));
    expect(ports(1, [small.root]).root).toBe(outputRoot(graph, values, 1));
  });

  it('elements of two and of four bytes are answered as they are', () =>
    f.apart(async () => {
      const tensors = new Map([
        [0, countingTensor(100, 2)],
        [1, countingTensor(100, 4)],
      ]);
      const job = await f.job(new TestTrace(slotRoots(2, tensors), undefined, tensors));
      for (const node of [
        chunksNode(0, 0),
        chunksNode(0, 1),
        chunksNode(0, 0, 2),
        chunksNode(1, 0),
        chunksNode(1, 1),
      ]) {
        await f.demand(job, node);
        for (const [why, content] of Object.entries(spoiled(f.contentOf(job, node))))
          expect(await refusal(f.answer(job, node, { content })), why).toBe('AnswerInvalid');
        await f.answer(job, node);
      }
    }));

  it('has no answer in another form: numbers of slots where none is left out', () =>
    f.apart(async () => {
      const job = await f.job(full);
      await f.demand(job, traceRootNode);
      const numbered = full.roots.map((root, i) => i.toString(16).padStart(8, '0') + root.slice(2)).join('');
      expect(await refusal(f.answer(job, traceRootNode, { content: `0x00000005${numbered}` }))).toBe('AnswerInvalid');
    }));

  it('an inner node is not answered with fewer children that hash to the same', () =>
    f.apart(async () => {
      const job = await f.job(full);
      const node = inner('tensor', 2, 9, 0);
      await f.demand(job, node);
      expect(await refusal(f.answer(job, node, { content: full.path(node).values[0]! }))).toBe('AnswerInvalid');
    }));

  it('E3: what is no node of the claim cannot be demanded', () =>
    f.apart(async () => {
      const whole = await f.job(full);
      const partly = await f.job(bounded);
      const cases: readonly (readonly [string, Job, GameNode, Partial<NodePath>])[] = [
        ['trace with a slot', whole, { ...traceRootNode, slot: 1 }, {}],
        ['trace of height 0', whole, { ...traceRootNode, height: 0 }, {}],
        ['trace of height 8', whole, { ...traceRootNode, height: 8 }, {}],
        ['trace above its root', whole, inner('trace', 0, 9, 0), { slotCount: 5, values: [whole.receipt.traceRoot] }],
        ['root with an index', whole, { ...traceRootNode, first: 1 }, {}],
        ['root with a count', whole, { ...traceRootNode, count: 1 }, {}],
        ['inputs with a height', whole, { ...inputsNode, height: 255 }, {}],
        ['inputs with a slot', whole, { ...inputsNode, slot: 1 }, {}],
        ['outputs with an index', whole, { ...outputsNode, first: 1 }, {}],
        ['slot that there is not', whole, tensorNode(5), { ...full.path(tensorNode(4)), position: 5 }],
        ['slot with the path of another', whole, tensorNode(0), full.path(tensorNode(1))],
        ['slot at the position of another', whole, tensorNode(1), { ...full.path(tensorNode(1)), position: 2 }],
        ['chunk behind the end', whole, chunksNode(1, 4), full.path(chunksNode(1, 3))],
        ['chunks beyond the end', whole, chunksNode(1, 0, 5), full.path(chunksNode(1, 0, 4))],
        ['no chunk', whole, chunksNode(1, 0, 0), full.path(chunksNode(1, 0))],
        ['65 chunks', whole, chunksNode(2, 0, 65), full.path(chunksNode(2, 0, 65))],
        ['chunks from no multiple of 64', whole, chunksNode(2, 1, 2), full.path(chunksNode(2, 1, 2))],
        ['chunk with a height', whole, { ...chunksNode(1, 0), height: 9 }, full.path(chunksNode(1, 0))],
        ['a million chunks away', whole, chunksNode(1, 10 ** 9), full.path(chunksNode(1, 3))],
        ['tensor node behind the end', whole, inner('tensor', 2, 9, 2), full.path(inner('tensor', 2, 9, 1))],
        ['tensor node above its root', whole, inner('tensor', 2, 18, 0), full.path(inner('tensor', 2, 9, 1))],
        ['tensor node of height 10', whole, inner('tensor', 2, 10, 0), full.path(inner('tensor', 2, 9, 0))],
        ['sums behind the end', whole, sumsNode(1, 200, 2), full.path(sumsNode(1, 199, 2))],
        ['sums of another chunk', whole, sumsNode(1, 10, 2), full.path(sumsNode(1, 199, 2))],
        ['sums of 513 parts', whole, sumsNode(1, 0, 513), full.path(sumsNode(1, 0, 1))],
        [
          'segment of a whole trace',
          whole,
          { ...NO_NODE, kind: 'segment', first: 1, count: 1 },
          full.path(tensorNode(0)),
        ],
        [
          'segment behind the last slot',
          partly,
          { ...NO_NODE, kind: 'segment', slot: 2, first: 10, count: 1 },
          bounded.path(tensorNode(9)),
        ],
        ['segment of another slot', partly, { ...bounded.segment(1), first: 5 }, bounded.path(bounded.segment(1))],
        ['segment before slot 0', partly, { ...bounded.segment(0), first: 0 }, bounded.path(bounded.segment(0))],
        ['slot of a list that nobody stated', partly, tensorNode(5), bounded.path(tensorNode(5))],
        [
          'slot of a list as if committed',
          partly,
          tensorNode(5),
          { ...bounded.path(tensorNode(3)), tensorRoot: bounded.roots[5]! },
        ],
        ['sums in a whole trace without a tensor', whole, sumsNode(3, 0, 1), full.path(tensorNode(3))],
      ];
      for (const [why, job, node, path] of cases)
        expect(await refusal(f.demand(job, node, { path: { ...NO_PATH, ...path }, evidence: allowed })), why).toBe(
          'NodeInvalid',
        );
    }));

  it('a path shows its node whole: any part of it changed is refused', () =>
    f.apart(async () => {
      const job = await f.job(deep);
      for (const node of [
        inner('trace', 0, 9, 1),
        tensorNode(599),
        inner('tensor', 599, 9, 1),
        chunksNode(599, 64, 64),
      ]) {
        const path = deep.path(node);
        const other = id('other') as Hex;
        const lists = (['tracePath', 'values', 'chunkPath'] as const).flatMap((name) => {
          const list = path[name];
          if (list.length === 0) return [];
          return [
            { [name]: [other, ...list.slice(1)] },
            { [name]: [...list.slice(0, -1), other] },
            { [name]: list.slice(1) },
            { [name]: [...list, other] },
          ];
        });
        const changes: Partial<NodePath>[] = [
          ...lists,
          { slotCount: path.slotCount + 1 },
          { slotCount: path.slotCount - 1 },
          ...(node.kind === 'trace' ? [] : [{ position: path.position - 1 }, { tensorRoot: other }]),
          ...(path.tensorHeader === '0x'
            ? []
            : [
                { tensorHeader: `${path.tensorHeader}00` as Hex },
                { tensorHeader: path.tensorHeader.replace('ffffff80', 'ffffff81') as Hex },
              ]),
        ];
        for (const change of changes)
          expect(
            await refusal(f.demand(job, node, { path: { ...path, ...change } })),
            JSON.stringify([node, Object.keys(change)]),
          ).toBe('NodeInvalid');
        expect(await refusal(f.demand(job, node))).toBe('accepted');
      }
    }));

  it('U1: what no hash binds counts with the signature of the executor over exactly this opening', () =>
    f.apart(async () => {
      const job = await f.job(bounded);
      const node = bounded.segment(1);
      await f.demand(job, node);
      const content = f.contentOf(job, node);
      const other = `0x${'01'.repeat(32 * node.count)}` as Hex;
      const cases: Record<string, Hex> = {
        none: '0x',
        'another signer': await f.opening(job, node, content, wallets.account),
        'another content': await f.opening(job, node, other),
        'another node': await f.opening(job, bounded.segment(0), content),
        'another index': await f.opening(job, node, content, wallets.signer, 1),
        'another order': await f.opening(
          { ...job, receipt: { ...job.receipt, orderHash: id('order') as Hex } },
          node,
          content,
        ),
        'another batch': await f.opening({ ...job, batchHash: id('batch') as Hex }, node, content),
      };
      for (const [why, signature] of Object.entries(cases))
        expect(await refusal(f.answer(job, node, { content, signature })), why).toBe('OpeningUnsigned');
      // Whoever relays it.
      await f.answer(job, node, { by: 'stranger' });
      expect((await f.demandOf(job, node))!.contentHash).not.toBeNull();
      // U2: the first one stands.
      expect(await refusal(f.answer(job, node, { content: other }))).toBe('DemandAnswered');
    }));

  it('U6: nothing is stated that was not demanded; and each kind has its call', () =>
    f.apart(async () => {
      const job = await f.job(bounded);
      const node = bounded.segment(1);
      expect(await refusal(f.answer(job, node))).toBe('DemandUnknown');
      await f.demand(job, node);
      await f.demand(job, traceRootNode);
      const content = f.contentOf(job, node);
      expect(await refusal(f.send('account', f.game.answerCall(job.claim, node, content)))).toBe('NodeInvalid');
      const signature = await f.opening(job, traceRootNode, f.contentOf(job, traceRootNode));
      const call = f.game.stateCall(job.claim, traceRootNode, f.contentOf(job, traceRootNode), signature);
      expect(await refusal(f.send('account', call))).toBe('NodeInvalid');
    }));

  it('what only the executor can say is asked for where the step contract allows it', () =>
    f.apart(async () => {
      const job = await f.job(bounded);
      expect(await refusal(f.demand(job, bounded.segment(0), { evidence: notAllowed }))).toBe('NoStatement');
    }));

  it('the junk segment by a hostile helper: nobody can put words into the mouth of the executor', () =>
    f.apart(async () => {
      const job = await f.job(bounded);
      const node = bounded.segment(1);
      await f.demand(job, node, { by: 'hostile' });
      const junk = `0x${'99'.repeat(32 * node.count)}` as Hex;
      const signature = await f.opening(job, node, junk, wallets.hostile);
      expect(await refusal(f.answer(job, node, { by: 'hostile', content: junk, signature }))).toBe('OpeningUnsigned');
      await f.answer(job, node);
      // A fault in a list that he never stated is none of this claim.
      const { contentHash } = (await f.demandOf(job, node))!;
      const relies = (hash: Hex): ReturnType<typeof found> =>
        found(id('fault') as Hex, [{ nodeId: nodeId(node), contentHash: hash }]);
      expect(await refusal(f.prove(job, relies(id('junk') as Hex), { by: 'hostile' }))).toBe('RelianceUnknown');
      expect(await refusal(f.prove(job, relies(contentHash!), { by: 'hostile' }))).toBe('accepted');
    }));

  it('a finding cannot rest on what a hash binds, or on nothing', () =>
    f.apart(async () => {
      const job = await f.job(bounded);
      await f.demand(job, traceRootNode);
      await f.answer(job, traceRootNode);
      const zero = `0x${'00'.repeat(32)}` as Hex;
      for (const [node, contentHash] of [
        [traceRootNode, job.receipt.traceRoot],
        [bounded.segment(0), zero],
      ] as const) {
        const proof = found(id('fault') as Hex, [{ nodeId: nodeId(node), contentHash }]);
        expect(await refusal(f.prove(job, proof))).toBe('RelianceUnknown');
      }
    }));
});

const nodeIdText = (node: GameNode): string => JSON.stringify(node);

/** A statement that is spoiled is signed as it is, so that its form is what is refused; one of the right form is unsigned. */
async function unsigned(job: Job, node: GameNode): Promise<{ signature?: Hex }> {
  if (node.kind !== 'segment') return {};
  return { signature: await f.opening(job, node, f.contentOf(job, node)) };
}
