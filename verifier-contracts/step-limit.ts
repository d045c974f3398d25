/** What the step contract of a game was made with. */
import { Interface, type Provider } from 'ethers';
import type { Hex } from '../receipts/types.js';
import { chainError } from './chain-error.js';

const stepAbi = new Interface(['function maxContraction() view returns (uint32)']);

/**
 * Products that one step of the contract may have; longer contractions are judged by stated sums.
 * @throws AssayError CHAIN_REVERTED, CHAIN_MISMATCH, CHAIN_UNAVAILABLE
 */
export async function stepLimit(provider: Provider, step: Hex): Promise<number> {
  try {
    const answer = await provider.call({ to: step, data: stepAbi.encodeFunctionData('maxContraction') });
    return Number(stepAbi.decodeFunctionResult('maxContraction', answer)[0]);
  } catch (error) {
    throw chainError(error, stepAbi, `step contract ${step}`);
  }
}
