/** What is predicted of a batch before any work, and the batches that nobody could check. */
import { expect, test } from 'vitest';
import { GraphBuilder } from '../graph/index.js';
import { predictJob } from './predict-job.js';
import { MAX_VERIFIER_STEPS } from './verifier/check-cost.js';

test('a batch that would take its verifier too many steps is refused, though it fits the columns', () => {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [4096], { lo: 0, hi: 15 }, 1, 0);
  const y = builder.add({ kind: 'combine', name: 'negated', terms: [{ x, coefficient: -1 }], bias: null });
  const graph = builder.finish('wide', [y]);
  expect(predictJob(graph, 64).proofBytes).toBeGreaterThan(0);
  expect(() => predictJob(graph, 4096)).toThrow(
    expect.objectContaining({
      code: 'PROOF_LIMITS',
      message: expect.stringContaining(`a verifier admits ${MAX_VERIFIER_STEPS}`) as string,
    }),
  );
});
