/**
 * A million steps: IntegerStep.sol against the evaluator and its mirror in TypeScript; fraud-proofs/step/testing/differential.ts says of
 * which sorts. Measured: 2.7 ms a case on a busy machine, 45 minutes in all. ASSAY_STEP_CASES sets another number, TEST_SEED a seed.
 */
import { afterAll, beforeAll, it } from 'vitest';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { compareNarrow, compareSums, compareWhole, writeTally } from '../../fraud-proofs/step/testing/differential.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../harness/step/step-fixture.js';

const CASES = Number(process.env['ASSAY_STEP_CASES'] ?? 1_000_000);
const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const LIMIT = 16_384;
const SHORT_LIMIT = 8;
/** Of evidence built for one element, and of sums: ten times as slow as the rest. */
const NARROW = Math.ceil(0.03 * CASES);
const SUMS = Math.ceil(0.03 * CASES);

let chain: StepChain;
let short: StepChain;
beforeAll(async () => {
  [chain, short] = await Promise.all([deployStep(LIMIT), deployStep(SHORT_LIMIT)]);
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([chain.stop(), short.stop()]);
});

const timeout = 4 * 3_600_000;
const random = seededRandom(SEED);

it(`whole evidence, seed ${SEED}`, { timeout }, async () => {
  console.log(writeTally('whole', await compareWhole(chain, random, CASES - NARROW - SUMS, LIMIT)));
});

it(`narrow evidence and changes of it, seed ${SEED}`, { timeout }, async () => {
  console.log(writeTally('narrow', await compareNarrow(chain, random, NARROW, LIMIT)));
});

it(`sums, seed ${SEED}`, { timeout }, async () => {
  console.log(writeTally('sums', await compareSums(short, random, SUMS, SHORT_LIMIT)));
});
