import { describe, expect, it } from 'vitest';
import { commitTable } from '../../graph/commitment/commit-table.js';
import { elementWidth } from '../../graph/commitment/encoding.js';
import { evaluateGraph } from '../../graph/index.js';
import {
  NODE_KINDS,
  randomGraph,
  randomNodeCase,
  seededRandom,
  type NodeCase,
} from '../../graph/integer/testing/random-graph.js';
import { buildEvidence, faultProof } from './build-evidence.js';
import { checkStep } from './check-step.js';
import { StepModel } from './step-model.js';
import { bundleOf, claimOf } from './testing/test-claims.js';

/** Every element, or `most` of them. */
const spread = (length: number, most: number): number[] =>
  Array.from({ length: Math.min(length, most) }, (_, i) => Math.floor((i * length) / Math.min(length, most)));

/** Honest elements have no fault; an element that is changed by any amount has one, exactly there. */
function checkCase(test: NodeCase, most: number, draw: () => number, every = 1): void {
  const model = new StepModel(bundleOf(test.graph, commitTable(test.graph, every)));
  const values = evaluateGraph(test.graph, test.inputs, test.items);
  const right = model.slots.map((id) => values[id]!);
  const honest = claimOf(model, right, test.items);
  for (let slot = test.graph.inputs.length; slot < right.length; slot++) {
    const { kind } = model.value(model.valueOfSlot[slot]!);
    const { range } = model.infoOfSlot(slot);
    const bits = 8 * elementWidth(range);
    const least = range.lo < 0 ? -(2 ** (bits - 1)) : 0;
    for (const element of spread(right[slot]!.length, most)) {
      const target = { fault: 'step', slot, element } as const;
      expect(checkStep(honest.receipt, 'step', buildEvidence(model, honest, target)!), kind).toEqual({
        verdict: 'right',
      });
      const told = right.map((data) => data.slice());
      // Anything that the encoding holds, in the range or not.
      while (told[slot]![element] === right[slot]![element])
        told[slot]![element] = least + Math.floor(draw() * 2 ** Math.min(bits, 31));
      const cheat = claimOf(model, told, test.items);
      const evidence = buildEvidence(model, cheat, target)!;
      const { faultId } = faultProof(model, target, evidence);
      const what = `${kind}, element ${element}, ${told[slot]![element]} for ${right[slot]![element]}`;
      expect(checkStep(cheat.receipt, 'step', evidence), what).toMatchObject({ verdict: 'fault', faultId });
      // Its neighbour is as right as it was.
      const other = { ...target, element: (element + 1) % right[slot]!.length };
      if (other.element !== element)
        expect(checkStep(cheat.receipt, 'step', buildEvidence(model, cheat, other)!), kind).toEqual({
          verdict: 'right',
        });
    }
  }
}

describe('a step of every kind', () => {
  const seed = 7;
  const random = seededRandom(seed);
  it.each(NODE_KINDS)(`%s: right where it is, a fault where it is changed, seed ${seed}`, (kind) => {
    for (let i = 0; i < 4; i++) checkCase(randomNodeCase(kind, random), 5, random);
  });

  it(`random networks, with boundaries and without, seed ${seed}`, () => {
    for (let i = 0; i < 6; i++) checkCase(randomGraph(random), 2, random, 1 + (i % 4));
  });
});
