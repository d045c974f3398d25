import { expect, it } from 'vitest';
import { evaluateGraph } from '../../graph/index.js';
import { randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { convolutionsAsMatMul } from './convolutions-as-matmul.js';

const FIRST_SEED = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);

it('computes the same integers as the convolution, on 300 random cases', () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + 300; seed++) {
    const { graph, inputs, items } = randomNodeCase('conv', seededRandom(seed));
    const rewritten = convolutionsAsMatMul(graph);
    expect(rewritten.nodes.some(({ kind }) => kind === 'conv')).toBe(false);
    const expected = evaluateGraph(graph, inputs, items);
    const found = evaluateGraph(rewritten, inputs, items);
    expect(found.slice(0, expected.length), `ASSAY_SEED=${seed}`).toEqual(expected);
  }
});

it('leaves alone what it is told to', () => {
  const { graph } = randomNodeCase('conv', seededRandom(1));
  expect(convolutionsAsMatMul(graph, () => false)).toEqual(graph);
});
