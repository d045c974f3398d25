/** A million steps: IntegerStep.sol against the evaluator and its mirror in TypeScript. ASSAY_STEP_CASES sets another number. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkStep } from '../../fraud-proofs/step/check-step.js';
import { encodeEvidence } from '../../fraud-proofs/step/encode-evidence.js';
import { stepsOf } from '../../fraud-proofs/step/testing/step-cases.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../harness/step/step-fixture.js';

const CASES = Number(process.env['ASSAY_STEP_CASES'] ?? 1_000_000);
const MAX_CONTRACTION = 16_384;
const BATCH = 64;
/** Of the answers, how many are held against the mirror's reasons too; the evaluator's truth is held against all. */
const MIRRORED = 0.1;

let chain: StepChain;
beforeAll(async () => {
  chain = await deployStep(MAX_CONTRACTION);
}, COMPILE_TIMEOUT_MS);
afterAll(() => chain.stop());

it(`${CASES} steps`, { timeout: 12 * 3_600_000 }, async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const random = seededRandom(seed);
  for (let done = 0, round = 0; done < CASES; round++) {
    const kind = NODE_KINDS[round % (NODE_KINDS.length + 1)];
    const steps = stepsOf(kind === undefined ? randomGraph(random) : randomNodeCase(kind, random), random, {
      elements: 8,
      every: kind === undefined ? 1 + (round % 5) : 1,
    });
    for (let i = 0; i < steps.length; i += BATCH) {
      const batch = steps.slice(i, i + BATCH);
      const answers = await chain.judge(
        batch.map(({ receipt, fault, evidence }) => ({ receipt, fault, evidence: encodeEvidence(evidence) })),
      );
      answers.forEach((answer, k) => {
        const { receipt, fault, evidence, wrong, what } = batch[k]!;
        const verdict = wrong ? 'fault' : 'right';
        if (answer.verdict !== verdict) expect.fail(`${what}: ${JSON.stringify(answer)}, round ${round}, seed ${seed}`);
        if (random() < MIRRORED) expect(answer, what).toEqual(checkStep(receipt, fault, evidence, MAX_CONTRACTION));
      });
    }
    done += steps.length;
  }
});
