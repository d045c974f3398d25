/** A private chain on which gas is measured, in transactions that are mined. */
import { Wallet, type JsonRpcProvider, type TransactionReceipt } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { anvilKey, startAnvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';

/** Longer than any block takes on a chain that mines at once. */
const RECEIPT_POLLS = 400;
const POLL_MS = 25;
/** Of a transaction: below the 2^24 that Osaka admits (EIP-7825). */
const GAS_LIMIT = 16_000_000n;

export interface GasChain {
  readonly provider: JsonRpcProvider;
  /** @param to null to deploy. @throws AssayError INTERNAL where the transaction reverts. */
  send(to: string | null, data: string): Promise<TransactionReceipt>;
}

/** Runs on a chain that ends with it. */
export async function onGasChain<T>(run: (chain: GasChain) => Promise<T>): Promise<T> {
  const anvil = await startAnvil();
  try {
    const provider = await connectChain(anvil.url);
    try {
      const wallet = new Wallet(anvilKey(0), provider);
      return await run({
        provider,
        send: async (to, data) => {
          const { hash } = await wallet.sendTransaction({ ...(to === null ? {} : { to }), data, gasLimit: GAS_LIMIT });
          for (let poll = 0; poll < RECEIPT_POLLS; poll++) {
            const receipt = await provider.getTransactionReceipt(hash);
            if (receipt?.status === 1) return receipt;
            if (receipt)
              throw new AssayError('INTERNAL', `the contract refuses what its own verifier accepts: ${hash}`);
            await new Promise((resolve) => setTimeout(resolve, POLL_MS));
          }
          throw new AssayError('INTERNAL', `transaction ${hash} is not mined`);
        },
      });
    } finally {
      provider.destroy();
    }
  } finally {
    await anvil.stop();
  }
}
