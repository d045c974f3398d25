/** No forgery of any family is accepted, over many seeds. */
import { describe, expect, it } from 'vitest';
import { runFamily } from './attack.js';
import { FAMILIES } from './families/index.js';
import { plainProver } from './plain-prover.js';

const SEEDS = 12;

describe('refused', () => {
  it.each(FAMILIES.map((family) => [family.name, family] as const))('%s', async (_, family) => {
    const { attempts, accepted, crashed } = await runFamily(family, plainProver, SEEDS);
    expect(accepted).toEqual([]);
    expect(crashed).toEqual([]);
    // A few seeds find no place for some lies, such as maxima below 0.
    expect(attempts).toBeGreaterThanOrEqual(10);
  });
});
