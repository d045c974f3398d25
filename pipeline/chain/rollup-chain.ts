/** `ChainPort` over the rollup's client: its calls and reads, and raw transactions through the same provider. */
import type { Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { rollupInterface, type RollupClient } from '../../verifier-contracts/rollup-client.js';
import type { ChainPort } from '../ports.js';

/** Room above the estimate: another transaction mined in between may change what a call costs. */
const GAS_ROOM_PERCENT = 25n;

export function rollupChain(client: RollupClient): ChainPort {
  const provider: Provider = client.provider;
  const ask = async <T>(what: string, question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, rollupInterface, what);
    }
  };
  return {
    domain: client.domain,
    policy: client.policy,
    policyHash: client.policyHash,
    commitCall: (lane, receipts, salt) => client.commitCall(lane, receipts, salt),
    fixSeedCall: (header) => client.fixSeedCall(header),
    reportAuditCall: (header, verdict, signatures) => client.reportAuditCall(header, verdict, signatures),
    headerIn: (transaction, batchHash) => client.headerIn(transaction, batchHash),
    seedOf: (batchHash) => client.seedOf(batchHash),
    verdictOf: (batchHash) => client.verdictOf(batchHash),
    drawBlockOf: (header) => client.drawBlockOf(header),
    statusOf: (receipt, index, path, header) => client.statusOf(receipt, index, path, header),

    blockNumber: () => ask('block number', () => provider.getBlockNumber()),
    nonceOf: (address) => ask('nonce', () => provider.getTransactionCount(address, 'latest')),
    price: (call, from) =>
      ask('gas estimate', async () => {
        const [gas, fees] = await Promise.all([provider.estimateGas({ ...call, from }), provider.getFeeData()]);
        if (fees.maxFeePerGas === null || fees.maxPriorityFeePerGas === null) {
          throw new AssayError('CHAIN_MISMATCH', 'The chain has no base fee: a chain with EIP-1559 is needed.');
        }
        return {
          gasLimit: gas + (gas * GAS_ROOM_PERCENT) / 100n,
          maxFeePerGas: fees.maxFeePerGas,
          maxPriorityFeePerGas: fees.maxPriorityFeePerGas,
        };
      }),
    sendRaw: async (raw) => {
      try {
        await provider.broadcastTransaction(raw);
      } catch (error) {
        // The node has it, or has mined it, or has mined another of the same nonce: looking for the block will tell.
        const text =
          error instanceof Error
            ? `${error.message} ${JSON.stringify((error as { info?: unknown }).info ?? '')}`
            : String(error);
        if (
          /already known|already imported|nonce too low|nonce has already been used|replacement transaction underpriced/i.test(
            text,
          )
        )
          return;
        throw chainError(error, rollupInterface, 'sending a transaction');
      }
    },
    minedAs: (hash) =>
      ask('transaction receipt', async () => {
        const mined = await provider.getTransactionReceipt(hash);
        if (mined === null) return null;
        return { blockNumber: mined.blockNumber, blockHash: mined.blockHash as Hex, reverted: mined.status !== 1 };
      }),
  };
}
