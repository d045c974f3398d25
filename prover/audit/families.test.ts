/** No forgery of any family is accepted; the wide sweep is in families.slow.test.ts. */
import { describe, expect, it } from 'vitest';
import { runFamily } from './attack.js';
import { FAMILIES } from './families/index.js';
import { plainProver } from './plain-prover.js';

describe('refused', () => {
  it.each(FAMILIES.map((family) => [family.name, family] as const))('%s', async (_, family) => {
    const { attempts, accepted, crashed } = await runFamily(family, plainProver, 1);
    expect(accepted).toEqual([]);
    expect(crashed).toEqual([]);
    expect(attempts).toBeGreaterThan(0);
  });

  it('every family has a name of its own', () => {
    expect(new Set(FAMILIES.map(({ name }) => name)).size).toBe(FAMILIES.length);
  });
});
