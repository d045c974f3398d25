/** IntegerStep.sol against the evaluator and against its mirror in TypeScript, over random graphs of every operator. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { checkStep } from '../../fraud-proofs/step/check-step.js';
import { encodeEvidence } from '../../fraud-proofs/step/encode-evidence.js';
import { stepsOf, type KnownStep } from '../../fraud-proofs/step/testing/step-cases.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../harness/step/step-fixture.js';

const MAX_CONTRACTION = 16_384;
const SEED = 20_261_130;

let chain: StepChain;
beforeAll(async () => {
  chain = await deployStep(MAX_CONTRACTION);
}, COMPILE_TIMEOUT_MS);
afterAll(() => chain.stop());

/** @returns how many there were */
async function compare(steps: readonly KnownStep[]): Promise<number> {
  const cases = steps.map(({ receipt, fault, evidence }) => ({ receipt, fault, evidence: encodeEvidence(evidence) }));
  const answers = await chain.judge(cases);
  answers.forEach((answer, i) => {
    const { receipt, fault, evidence, wrong, what } = steps[i]!;
    expect(answer.verdict, `${what}: ${JSON.stringify(answer)}, seed ${SEED}`).toBe(wrong ? 'fault' : 'right');
    expect(answer, what).toEqual(checkStep(receipt, fault, evidence, MAX_CONTRACTION));
  });
  return steps.length;
}

it.each(NODE_KINDS)('%s', async (kind) => {
  const random = seededRandom(SEED + NODE_KINDS.indexOf(kind));
  for (let i = 0; i < 5; i++) await compare(stepsOf(randomNodeCase(kind, random), random, { elements: 4 }));
});

it('networks, with every slot committed or some left out', async () => {
  const random = seededRandom(SEED);
  for (let i = 0; i < 4; i++) await compare(stepsOf(randomGraph(random), random, { elements: 2, every: 1 + (i % 4) }));
});
