/** `ChainPort` over the rollup's client: its calls and reads, and raw transactions through the same provider. */
import type { Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { rollupInterface, type RollupClient } from '../../verifier-contracts/rollup-client.js';
import type { ChainPort, Fees } from '../ports.js';

/** Room above the estimate: another transaction mined in between may change what a call costs. */
const GAS_ROOM_PERCENT = 25n;

/** Refusals of the contract that no later block takes back. BatchUnknown is none: a commit may be on its way again. */
const FOR_GOOD = new Set([
  'BatchKnown',
  'NothingBound',
  'SeedKnown',
  'AuditKnown',
  'AuditClosed',
  'VerdictContradicts',
]);

/** What nodes answer to a fee below the base fee or below their own least (geth, anvil, reth, nethermind, besu). */
const FEE_TOO_LOW =
  /max fee per gas less than block base fee|transaction underpriced|fee ?cap (is )?(less|lower|too low)|FeeTooLow|gas price (is )?(too low|below)/i;

export function rollupChain(client: RollupClient): ChainPort {
  const provider: Provider = client.provider;
  const ask = async <T>(what: string, question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, rollupInterface, what);
    }
  };
  const fees = async (): Promise<Fees> => {
    const { maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData();
    if (maxFeePerGas === null || maxPriorityFeePerGas === null)
      throw new AssayError('CHAIN_MISMATCH', 'The chain has no base fee: a chain with EIP-1559 is needed.');
    return { maxFeePerGas, maxPriorityFeePerGas };
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
    auditDeadlineOf: (header) => client.auditDeadlineOf(header),
    statusOf: (receipt, index, path, header, block) => client.statusOf(receipt, index, path, header, block),

    blockNumber: () => ask('block number', () => provider.getBlockNumber()),
    nonceOf: (address) => ask('nonce', () => provider.getTransactionCount(address, 'latest')),
    price: (call, from) =>
      ask('gas estimate', async () => {
        const [gas, now] = await Promise.all([provider.estimateGas({ ...call, from }), fees()]);
        return { gasLimit: gas + (gas * GAS_ROOM_PERCENT) / 100n, ...now };
      }),
    fees: () => ask('fees', fees),
    revertsForGood: async (call, from) => {
      try {
        await ask('call', () => provider.call({ ...call, from }));
        return false;
      } catch (error) {
        if (!(error instanceof AssayError) || error.code !== 'CHAIN_REVERTED') throw error;
        return FOR_GOOD.has(String(error.meta['error']));
      }
    },
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
        if (FEE_TOO_LOW.test(text)) {
          throw new AssayError(
            'CHAIN_FEE_TOO_LOW',
            `The node refuses a transaction for its fee: ${text.slice(0, 200)}`,
            {
              cause: error,
            },
          );
        }
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
