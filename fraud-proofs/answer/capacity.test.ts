import { describe, expect, it } from 'vitest';
import { images, smallClassifier } from '../../executor/testing/digits.js';
import { evaluateGraph } from '../../graph/index.js';
import type { Receipt } from '../../receipts/types.js';
import { nodeContent } from '../nodes/answer-node.js';
import { FullTrace } from '../nodes/full-trace.js';
import { chunksNode, INPUTS, OUTPUTS, tensorNode, TRACE_ROOT } from '../nodes/places.js';
import { StepModel } from '../step/step-model.js';
import { disputeCapacity, largestAnswerBytes } from './capacity.js';

const bundle = smallClassifier(1);
const POLICY = { answerTime: 1_800, gasAnswer: 50_000, gasAnswerByte: 48 };

describe('the capacity of an executor', () => {
  it('is the most claims whose free demands fit into a twentieth of the chain', () => {
    for (const gasPerTick of [1_000, 60_000, 1_234_567, 30_000_000]) {
      const { answerGas, most } = disputeCapacity(POLICY, bundle.graph, 1, gasPerTick);
      let open = 0;
      while ((open + 1) * 8 * answerGas <= 0.05 * POLICY.answerTime * gasPerTick) open++;
      expect(most).toBe(open);
    }
  });

  it.each([1, 3])('reckons with the longest answer that can be asked for, of %d items', (items) => {
    const model = new StepModel(bundle);
    const values = evaluateGraph(bundle.graph, images(items, 1), items);
    const trace = new FullTrace(
      model,
      model.slots.map((id) => values[id]!),
      items,
    );
    const { inputRoot, ...roots } = trace.claimRoots();
    const known = trace.asClaim({ inputRoot, ...roots, items } as Receipt, 'own');
    const nodes = [
      ...[TRACE_ROOT, INPUTS, OUTPUTS],
      ...model.committed.map((slot) => tensorNode(slot)),
      // One chunk, and as many as may be asked for at once.
      ...model.committed.flatMap((slot) => {
        const { chunkCount } = trace.tensor(slot).header;
        return [chunksNode(slot, chunkCount - 1), chunksNode(slot, 0, Math.min(64, chunkCount))];
      }),
    ];
    const lengths = nodes.map((node) => (nodeContent(model, known, node)!.length - 2) / 2);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(largestAnswerBytes(bundle.graph, items));
  });
});
