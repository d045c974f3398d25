import { describe, expect, it } from 'vitest';
import { commitTable } from '../../graph/commitment/commit-table.js';
import { evaluateGraph, GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import { randomGraph, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { ROOT_HEIGHT, type GameNode } from '../../verifier-contracts/dispute-types.js';
import type { Hex } from '../../receipts/types.js';
import { findFault } from '../step/find-fault.js';
import { tamperTrace } from '../step/inject.js';
import { StepModel } from '../step/step-model.js';
import { play } from '../step/testing/play.js';
import { bundleOf, claimOf, receiptOf } from '../step/testing/test-claims.js';
import { nodeContent, nodePath } from './answer-node.js';
import { FullTrace } from './full-trace.js';
import { KnownClaim } from './known-claim.js';
import { learnAnswer, learnServedTrace } from './learn-answer.js';
import { depthOf, tensorNode, TRACE_ROOT } from './places.js';

const table = { kind: 'clamp', qLo: -1, qHi: 1, lo: -1, hi: 1 } as const;

/** x -> `length` requantisations one behind the other, each of `size` elements. */
function chain(length: number, size: number): IntegerGraph {
  const builder = new GraphBuilder();
  let x = builder.addInput('x', [size], { lo: -1, hi: 1 }, 1, 0);
  for (let i = 0; i < length; i++)
    x = builder.add({
      kind: 'requant',
      name: `r${i}`,
      x,
      multipliers: Int32Array.of(2 ** 24),
      channelAxis: null,
      table,
    });
  return builder.finish('chain', [x]);
}

function lieIn(graph: IntegerGraph, every: number, slot: number, element: number) {
  const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
  const size = graph.tensors[graph.inputs[0]!]!.shape[0]!;
  const input = Int32Array.from({ length: size }, (_, i) => (i % 3) - 1);
  const values = evaluateGraph(graph, [input], 1);
  const own = new FullTrace(
    model,
    model.slots.map((id) => values[id]!),
    1,
  );
  const delta = own.slots[slot]![element]! > 0 ? -1 : 1;
  const { trace } = tamperTrace(model, [input], 1, { at: { slot }, element, delta, downstream: true });
  const receipt = receiptOf(model, trace);
  return { model, own, receipt, executor: trace.asClaim(receipt, 'own') };
}

const names = (asked: readonly GameNode[]): string[] =>
  asked.map(({ kind, height }) => (height === ROOT_HEIGHT ? kind : height > 0 ? `${kind} ${height}` : kind));

describe('depthOf', () => {
  it('counts answers from the root to the leaves', () => {
    expect([0, 1, 512, 513, 512 ** 2, 512 ** 2 + 1].map(depthOf)).toEqual([1, 1, 1, 2, 2, 3]);
  });
});

describe('large trees', () => {
  it('of a tensor: subtrees of 512 chunks between the root and the chunk', () => {
    const { own, receipt, executor } = lieIn(chain(1, 64 * 1100 + 5), 1, 1, 64 * 1100 + 3);
    const { finding, asked, levels } = play(own, receipt, executor);
    expect(names(asked)).toEqual(['trace', 'tensor', 'tensor 9', 'chunks']);
    expect(asked[2]).toMatchObject({ first: 2 });
    expect(levels).toEqual([0, 1, 2, 3]);
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot: 1, element: 64 * 1100 + 3 } });
  });

  it.each([1, 700, 1025])('of a trace: slot %i of 1,026', (slot) => {
    const { own, receipt, executor } = lieIn(chain(1025, 2), 1, slot, 1);
    const { finding, asked, levels } = play(own, receipt, executor);
    expect(names(asked)).toEqual(['trace', 'trace 9', 'tensor', 'chunks']);
    expect(levels).toEqual([0, 1, 2, 3]);
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot, element: 1 } });
  });

  it('with boundaries: the segment, then the slot in it', () => {
    const { own, receipt, executor, model } = lieIn(chain(1025, 2), 100, 351, 0);
    expect(model.committed).toHaveLength(12);
    const { finding, asked, levels } = play(own, receipt, executor);
    expect(names(asked)).toEqual(['trace', 'segment', 'tensor', 'chunks']);
    expect(asked[1]).toMatchObject({ slot: 3, first: 301, count: 99 });
    expect(levels).toEqual([0, 1, 2, 3]);
    expect(finding).toMatchObject({ kind: 'fault', target: { fault: 'step', slot: 351, element: 0 } });
    if (finding.kind === 'fault') expect(finding.relies).toHaveLength(1);
  });
});

describe('a trace that was served', () => {
  it('shows the fault at once; another one is refused', () => {
    const { model, own, receipt, executor } = lieIn(chain(6, 100), 1, 3, 77);
    const claim = new KnownClaim(receipt);
    expect(learnServedTrace(model, claim, own.slots, 1)).toBe(false);
    expect(learnServedTrace(model, claim, own.slots.slice(1), 1)).toBe(false);
    expect(claim.trace).toBeNull();
    const told = model.slots.map((_, slot) =>
      Int32Array.from({ length: 100 }, (__, i) =>
        executor.tensors.get(executor.trace!.leaves[slot]!.root)!.element(i)!,
      ),
    );
    expect(learnServedTrace(model, claim, told, 1)).toBe(true);
    expect(findFault(own, claim)).toMatchObject({ kind: 'fault', target: { fault: 'step', slot: 3, element: 77 } });
  });
});

describe('hostile answers', () => {
  const random = seededRandom(17);
  const mutate = (content: Hex): Hex[] => {
    const at = 2 + Math.floor(random() * (content.length - 2));
    const digit = (parseInt(content[at]!, 16) ^ (1 + Math.floor(random() * 15))).toString(16);
    return [
      '0x',
      `${content}00`,
      `${content}${'00'.repeat(32)}`,
      content.slice(0, -2) as Hex,
      content.slice(0, -64) as Hex,
      `${content.slice(0, at)}${digit}${content.slice(at + 1)}` as Hex,
      `0xffffffff${content.slice(10)}`,
      content.toUpperCase() as Hex,
      `0x${'ff'.repeat((content.length - 2) / 2)}`,
    ].filter((other) => other !== content) as Hex[];
  };

  it('are refused, whatever they are, and what is right is still taken in behind them', () => {
    for (const [graph, every, slot, element] of [
      [chain(1025, 2), 1, 700, 1],
      [chain(1025, 2), 100, 300, 1],
      [chain(1, 64 * 600), 1, 1, 64 * 590],
    ] as const) {
      const { model, own, receipt, executor } = lieIn(graph, every, slot, element);
      const { asked, contents } = play(own, receipt, executor);
      const claim = new KnownClaim(receipt);
      asked.forEach((node, i) => {
        for (let round = 0; round < 4; round++)
          for (const content of mutate(contents[i]!)) {
            // Statements have a form and no hash.
            if (node.kind === 'segment' && content.length === contents[i]!.length && content.startsWith('0x')) continue;
            expect(learnAnswer(model, claim, node, content), `${node.kind} ${content.slice(0, 20)}`).toMatchObject({
              learned: false,
            });
          }
        expect(learnAnswer(model, claim, node, contents[i]!)).toEqual({ learned: true });
      });
      expect(findFault(own, claim)).toMatchObject({ kind: 'fault', target: { fault: 'step', slot, element } });
    }
  });

  it('to nodes that there are not, or that nothing leads to', () => {
    const { model, receipt, executor } = lieIn(chain(6, 100), 1, 3, 77);
    const node = (fields: Partial<GameNode>): GameNode => ({ ...TRACE_ROOT, ...fields });
    for (const none of [
      node({ height: 9 }),
      node({ height: 18, first: 3 }),
      node({ kind: 'tensor', slot: 7 }),
      node({ kind: 'tensor', slot: 1, height: 9 }),
      node({ kind: 'chunks', slot: 1, height: 0, first: 2, count: 1 }),
      node({ kind: 'chunks', slot: 1, height: 0, first: 0, count: 3 }),
      node({ kind: 'segment', height: 0, slot: 1, first: 2, count: 1 }),
      node({ kind: 'sums', height: 0, slot: 1, first: 1, count: 1 }),
      node({ kind: 'sums', height: 0, slot: 1, first: 1000, count: 1 }),
    ]) {
      expect(nodeContent(model, executor, none), JSON.stringify(none)).toBeNull();
      if (none.kind !== 'segment' && (none.kind !== 'sums' || none.first > 100))
        expect(nodePath(model, executor, none), JSON.stringify(none)).toBeNull();
      if (none.kind !== 'sums')
        expect(learnAnswer(model, executor, none, `0x${'00'.repeat(100)}`)).toMatchObject({ learned: false });
    }
    const fresh = new KnownClaim(receipt);
    expect(learnAnswer(model, fresh, tensorNode(1), '0x00')).toMatchObject({ learned: false });
    expect(nodePath(model, fresh, tensorNode(1))).toBeNull();
  });
});

describe('groups of chunks', () => {
  it('are answered and taken in together', () => {
    const test = randomGraph(seededRandom(2));
    const model = new StepModel(bundleOf(test.graph));
    const values = evaluateGraph(test.graph, test.inputs, test.items);
    const honest = claimOf(
      model,
      model.slots.map((id) => values[id]!),
      test.items,
    );
    const claim = new KnownClaim(honest.receipt);
    for (const node of [TRACE_ROOT, tensorNode(0)])
      expect(learnAnswer(model, claim, node, nodeContent(model, honest, node)!)).toEqual({ learned: true });
    const [root] = honest.inputs!;
    const { chunkCount } = honest.tensors.get(root!)!.header;
    const node: GameNode = { kind: 'chunks', slot: 0, height: 0, first: 0, count: Math.min(64, chunkCount) };
    expect(learnAnswer(model, claim, node, nodeContent(model, honest, node)!)).toEqual({ learned: true });
    for (let i = 0; i < node.count; i++)
      expect(claim.tensors.get(root!)!.chunk(i)).toEqual(honest.tensors.get(root!)!.chunk(i));
  });
});
