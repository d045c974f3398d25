/** What a game's step contract was made with. */
import { Interface, type Provider } from 'ethers';
import type { ClaimSeen } from '../../fraud-proofs/watch/world.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';

const stepAbi = new Interface(['function maxContraction() view returns (uint256)']);

/** Longest contraction of one step. @throws AssayError CHAIN_REVERTED, CHAIN_MISMATCH, CHAIN_UNAVAILABLE */
export async function stepLimit(provider: Provider, step: Hex): Promise<number> {
  try {
    const answer = await provider.call({ to: step, data: stepAbi.encodeFunctionData('maxContraction') });
    return Number(stepAbi.decodeFunctionResult('maxContraction', answer)[0]);
  } catch (error) {
    throw chainError(error, stepAbi, `step contract ${step}`);
  }
}

/** The same for claims; asked once for each step contract, which never changes. */
export function stepLimits(provider: Provider): (seen: Pick<ClaimSeen, 'game'>) => Promise<number> {
  const known = new Map<Hex, number>();
  return async ({ game: { client } }) => {
    const limit = known.get(client.step) ?? (await stepLimit(provider, client.step));
    known.set(client.step, limit);
    return limit;
  };
}
