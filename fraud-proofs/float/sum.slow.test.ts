import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generator } from '../../graph/onnx/testing/random.js';
import { deployFloat, type FloatChain } from '../../verifier-contracts/harness/float/deploy-float.js';
import { allows, allowsExactly } from './sum.js';
import { contractAllows } from './testing/contract-sums.js';
import { bitsOfNumber, honestResult, randomClaim } from './testing/random-sums.js';

const CASES = 200_000;
const BATCH = 4_000;
const seed = Date.now() >>> 0;
let chain: FloatChain;

beforeAll(async () => {
  chain = await deployFloat();
}, 300_000);
afterAll(() => chain?.stop());

describe(`${CASES} sums of float32 products, seed ${seed}`, () => {
  it('contract, mirror and definition: no difference, no honest machine refused', async () => {
    const next = generator(seed);
    for (let done = 0; done < CASES; done += BATCH) {
      const claims = Array.from({ length: BATCH }, () => {
        const claim = randomClaim(next);
        // Every fourth claim is what some honest machine gets.
        if (next() > 0.25) return { ...claim, honest: false };
        const machine = { flushes: next() < 0.5, readsZero: next() < 0.5, fuses: next() < 0.5 };
        return { sum: claim.sum, y: bitsOfNumber(honestResult(next, claim.sum, machine)), honest: true };
      });
      const contract = await contractAllows(chain.harness, claims);
      claims.forEach(({ sum, y, honest }, i) => {
        const mirror = allows(sum, y);
        const definition = allowsExactly(sum, y);
        const wrong = contract[i] !== mirror || (definition && !mirror) || (honest && !definition);
        if (wrong)
          expect.fail(
            JSON.stringify({ contract: contract[i], mirror, definition, honest, y, x: [...sum.x], w: [...sum.w], sum }),
          );
      });
    }
  });
});
