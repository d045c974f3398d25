/** IntegerStep.sol against the evaluator and its mirror in TypeScript: a sample; differential.slow.test.ts has the million. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { compareNarrow, compareSums, compareWhole } from '../../fraud-proofs/step/testing/differential.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../harness/step/step-fixture.js';

const LIMIT = 16_384;
const SHORT_LIMIT = 8;
const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);

let chain: StepChain;
let short: StepChain;
beforeAll(async () => {
  [chain, short] = await Promise.all([deployStep(LIMIT), deployStep(SHORT_LIMIT)]);
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([chain.stop(), short.stop()]);
});

const random = seededRandom(SEED);

it(`whole evidence of every kind, seed ${SEED}`, async () => {
  const { verdicts } = await compareWhole(chain, random, 3_600, LIMIT);
  expect(verdicts['fault']).toBeGreaterThan(500);
  expect(verdicts['right']).toBeGreaterThan(500);
});

it(`narrow evidence and changes of it, seed ${SEED}`, async () => {
  const { verdicts } = await compareNarrow(chain, random, 400, LIMIT);
  expect(verdicts['invalid']).toBeGreaterThan(50);
});

it(`sums, seed ${SEED}`, async () => {
  const { verdicts } = await compareSums(short, random, 300, SHORT_LIMIT);
  expect(verdicts['fault']).toBeGreaterThan(20);
});
