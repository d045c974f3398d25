import { describe, expect, it } from 'vitest';
import { evaluateGraph } from '../../graph/index.js';
import {
  NODE_KINDS,
  randomGraph,
  randomNodeCase,
  seededRandom,
  type NodeCase,
} from '../../graph/integer/testing/random-graph.js';
import { contractionLength, computeElement, sumOfTerms } from './evaluate-element.js';
import { ClaimReader } from './sums.js';
import { StepModel } from './step-model.js';
import { bundleOf, claimOf } from './testing/test-claims.js';

/** Every element of every computed value, from the slots below it, is what evaluate.ts gives. @returns how many */
function checkAll({ graph, inputs, items }: NodeCase): number {
  const model = new StepModel(bundleOf(graph));
  const values = evaluateGraph(graph, inputs, items);
  const claim = claimOf(
    model,
    model.slots.map((id) => values[id]!),
    items,
  );
  const reader = new ClaimReader(model, claim, 2 ** 14);
  let count = 0;
  graph.nodes.forEach((node, i) => {
    const value = graph.inputs.length + i;
    const expected = values[node.output]!;
    const found = Int32Array.from(expected, (_, element) => computeElement(reader, value, element));
    expect(found, `${node.kind} '${node.name}'`).toEqual(expected);
    count += expected.length;
    const d = model.value(value);
    if (d.kind !== 'matmul' && d.kind !== 'conv' && d.kind !== 'matmulActivations') return;
    // Parts of any length add up to the whole.
    const length = contractionLength(reader, d);
    const cuts = [0, Math.floor(length / 3), Math.floor(length / 3), Math.ceil(length / 2), length];
    const element = expected.length - 1;
    const parts = cuts.slice(1).map((end, n) => sumOfTerms(reader, value, element, cuts[n]!, end));
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(sumOfTerms(reader, value, element, 0, length));
  });
  return count;
}

describe('computeElement', () => {
  const seed = 19;
  const random = seededRandom(seed);
  it.each(NODE_KINDS)(`%s: every element, seed ${seed}`, (kind) => {
    for (let i = 0; i < 12; i++) checkAll(randomNodeCase(kind, random));
  });

  it(`random networks, seed ${seed}`, () => {
    let count = 0;
    for (let i = 0; i < 6; i++) count += checkAll(randomGraph(random));
    expect(count).toBeGreaterThan(1000);
  });
});
