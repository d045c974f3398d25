/** What the step contracts of claims' games were made with. */
import type { Provider } from 'ethers';
import type { ClaimSeen } from '../../fraud-proofs/watch/world.js';
import type { Hex } from '../../receipts/types.js';
import { stepLimit } from '../../verifier-contracts/step-limit.js';

/**
 * Longest contraction of one step; asked once for each step contract, which never changes.
 * @throws AssayError CHAIN_REVERTED, CHAIN_MISMATCH, CHAIN_UNAVAILABLE
 */
export function stepLimits(provider: Provider): (seen: Pick<ClaimSeen, 'game'>) => Promise<number> {
  const known = new Map<Hex, number>();
  return async ({ game: { client } }) => {
    const limit = known.get(client.step) ?? (await stepLimit(provider, client.step));
    known.set(client.step, limit);
    return limit;
  };
}
