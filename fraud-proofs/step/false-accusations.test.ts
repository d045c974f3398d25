/**
 * Tamper tests of the mirror: evidence about an honest claim that was changed in one field is never a fault. Without any of
 * the checks one of these changes passes: what it opens would no longer be what the receipt's roots hold.
 */
import { describe, expect, it } from 'vitest';
import { commitTable } from '../../graph/commitment/commit-table.js';
import { evaluateGraph, GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import { NODE_KINDS, randomNodeCase, seededRandom, type NodeCase } from '../../graph/integer/testing/random-graph.js';
import type { StepEvidence } from '../../verifier-contracts/dispute-types.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import { buildEvidence, type FaultTarget } from './build-evidence.js';
import { checkStep } from './check-step.js';
import { StepModel } from './step-model.js';
import { ownSums } from './sums.js';
import { mutatedEvidence } from './testing/mutate-evidence.js';
import { bundleOf, claimOf } from './testing/test-claims.js';

function honest({ graph, inputs, items }: NodeCase, every = 1): { model: StepModel; claim: KnownClaim } {
  const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
  const values = evaluateGraph(graph, inputs, items);
  return {
    model,
    claim: claimOf(
      model,
      model.slots.map((id) => values[id]!),
      items,
    ),
  };
}

/** @returns how many changes were tried, and how many of them are seen to leave the claim right */
function accuse(
  model: StepModel,
  claim: KnownClaim,
  target: FaultTarget,
  limit?: number,
): { tried: number; right: number } {
  const evidence = buildEvidence(model, claim, target, limit)!;
  const verdict = checkStep(claim.receipt, target.fault, evidence, limit);
  expect(verdict, JSON.stringify(target)).toEqual({ verdict: 'right' });
  let [tried, right] = [0, 0];
  for (const mutant of mutatedEvidence(evidence)) {
    const found = checkStep(claim.receipt, target.fault, mutant, limit);
    tried++;
    if (found.verdict === 'right') right++;
    // A finding may stand on what the executor has not said: then the game does not know the statement.
    const says = (part: keyof StepEvidence): boolean =>
      JSON.stringify(mutant[part], bigText) !== JSON.stringify(evidence[part], bigText);
    if (found.verdict === 'fault' && !says('sums') && !says('segments'))
      expect.fail(`${JSON.stringify(target)}: ${JSON.stringify(mutant, bigText)} passes as a fault`);
  }
  return { tried, right };
}

const bigText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);

/** x -> r0 -> r1 -> r2 -> r3: with boundaries r1 and r2 are left out. */
function chain(): IntegerGraph {
  const builder = new GraphBuilder();
  let x = builder.addInput('x', [70], { lo: -100, hi: 100 }, 1, 0);
  for (let i = 0; i < 5; i++) {
    const values = Int16Array.from({ length: 201 }, (_, q) => 100 - q);
    const table = { kind: 'values', qLo: -100, qHi: 100, values, label: 'minus' } as const;
    x = builder.add({
      kind: 'requant',
      name: `r${i}`,
      x,
      multipliers: Int32Array.of(2 ** 24),
      channelAxis: null,
      table,
    });
  }
  return builder.finish('chain', [x]);
}

describe('false accusations with one field changed', () => {
  it.each(NODE_KINDS)('a step of %s', (kind) => {
    const random = seededRandom(41);
    const { model, claim } = honest(randomNodeCase(kind, random));
    const slot = model.slotCount - 1;
    const { tried } = accuse(model, claim, { fault: 'step', slot, element: 0, witness: 0 });
    expect(tried).toBeGreaterThan(100);
  });

  it('a step with slots of a segment', () => {
    const graph = chain();
    const inputs = [Int32Array.from({ length: 70 }, (_, i) => i - 35)];
    const { model, claim } = honest({ graph, inputs, items: 1 }, 4);
    expect(model.committed).toEqual([0, 4, 5]);
    for (const slot of [1, 2, 4]) accuse(model, claim, { fault: 'step', slot, element: 66 });
  });

  it('counts, bindings, headers, ranges and numbers of committed slots', () => {
    const graph = chain();
    const inputs = [Int32Array.from({ length: 70 }, (_, i) => i - 35)];
    for (const every of [1, 4]) {
      const { model, claim } = honest({ graph, inputs, items: 1 }, every);
      const [root] = claim.inputs!;
      const tensor = claim.tensors.get(root!)!.open([])!;
      claim.foreign.set(root!, { header: tensor.header, treeValue: tensor.treeValue });
      for (const target of [
        { fault: 'opCount' },
        { fault: 'slotCount' },
        { fault: 'portCount', side: 'inputs' },
        { fault: 'portCount', side: 'outputs' },
        { fault: 'inputBinding', port: 0 },
        { fault: 'outputBinding', port: 0 },
        { fault: 'header', slot: 0 },
        { fault: 'inputRange', input: 0, element: 65 },
        { fault: 'commitIndex', position: 1 },
      ] as const)
        accuse(model, claim, target);
    }
  });

  it('parts and totals of stated sums', () => {
    const random = seededRandom(43);
    const { model, claim } = honest(randomNodeCase('matmul', random));
    const slot = model.slotCount - 1;
    const parts = ownSums(model, claim, slot, 0, 4)!;
    claim.learnSums({ node: { kind: 'sums', slot, height: 0, first: 0, count: parts.length }, parts });
    accuse(model, claim, { fault: 'step', slot, element: 0 }, 4);
    accuse(model, claim, { fault: 'part', slot, element: 0, part: parts.length - 1 }, 4);
  });
});
