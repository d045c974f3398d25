/** `ChainPort` over a deployment's clients: their calls and reads, and raw transactions through the same provider. */
import type { Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors } from '../../verifier-contracts/contract-client.js';
import { evidenceFor } from '../../verifier-contracts/zk-verifier.js';
import { ProgramStoreClient } from '../../verifier-contracts/program-store-client.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { stepLimit } from '../../verifier-contracts/step-limit.js';
import { boundIn } from './bound-in.js';
import type { ChainPort, Fees } from '../ports.js';

/** Room above the estimate: another transaction mined in between may change what a call costs. */
const GAS_ROOM_PERCENT = 25n;

/** Blocks whose distance in time is looked at. */
const PACE_BLOCKS = 16;

/** What a transaction may take (EIP-7825). A dearer one would be signed, and never mined. */
const MOST_GAS = 1n << 24n;

/**
 * Refusals of the contracts that no later block takes back, or after which the step looks anew and makes another call.
 * BatchUnknown is none: a commit may be on its way again.
 */
const FOR_GOOD = new Set([
  'NothingOpened',
  'OrderStateIs',
  'BatchKnown',
  'NothingBound',
  'SeedKnown',
  'AuditKnown',
  'AuditClosed',
  'VerdictContradicts',
  'VerdictUnbound',
  'NothingSettled',
  'LeafMismatch',
]);

/** What nodes answer to a fee below the base fee or below their own least (geth, anvil, reth, nethermind, besu). */
const FEE_TOO_LOW =
  /max fee per gas less than block base fee|transaction underpriced|fee ?cap (is )?(less|lower|too low)|FeeTooLow|gas price (is )?(too low|below)/i;

export function settlementChain(client: SettlementClient): ChainPort {
  const provider: Provider = client.provider;
  const { escrow, rollup } = client;
  /** By contract; they never change. */
  const stepLimits = new Map<Hex, number>();
  const ask = async <T>(what: string, question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, settlementErrors, what);
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
    openCall: (orders) => escrow.openCall(orders),
    expireCall: (order) => escrow.expireCall(order),
    settleCall: (orders) => escrow.settleCall(orders),
    commitCall: (lane, policyHash, receipts, salt) => rollup.commitCall(lane, policyHash, receipts, salt),
    commitProvedCall: async (policyHash, receipts, salt, evidence, kind) => {
      const { policy } = await client.termsOf(policyHash);
      const told = await evidenceFor(client.context, policy.verifier, kind, evidence);
      return rollup.commitProvedCall(policyHash, receipts, salt, told);
    },
    publishCall: async (policyHash, publication) => {
      const { policy } = await client.termsOf(policyHash);
      const store = await ProgramStoreClient.of(client.context, policy.verifier);
      return store === null || (await store.isPublished(publication)) ? null : store.publishCall(publication);
    },
    clock: () => escrow.clock(),
    gasPerTick: async () => {
      const newest = await ask('block', () => provider.getBlock('latest'));
      if (newest === null) throw new AssayError('CHAIN_UNAVAILABLE', 'The chain has no newest block.');
      const gas = Number(newest.gasLimit);
      if (!(await escrow.clockMode()).startsWith('mode=timestamp')) return gas;
      const numbers = Array.from({ length: Math.min(PACE_BLOCKS, newest.number) }, (_, i) => newest.number - 1 - i);
      const blocks = await ask('blocks', () => Promise.all(numbers.map((number) => provider.getBlock(number))));
      const times = [newest, ...blocks].flatMap((block) => (block === null ? [] : [block.timestamp]));
      const gaps = times.slice(1).map((time, i) => times[i]! - time);
      // The median: a clock that was put forward once is no pace.
      const pace = gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 1;
      return gas / Math.max(pace, 1);
    },
    openFaultOf: (order) => escrow.openFaultOf(order),
    orderOf: (orderHash, block) => escrow.orderOf(orderHash, block),
    boundIn: (orderHash) => boundIn(client, orderHash),
    hasCode: async (account) => (await ask('code', () => provider.getCode(account))) !== '0x',
    courtOf: async (policyHash) => {
      const { court } = await client.termsOf(policyHash);
      if (court === null)
        throw new AssayError('LANE_CLOSED', `Policy ${policyHash} has no court: its sampled lane is closed.`);
      return court;
    },
    gameOf: async (policyHash) => {
      const { game } = await client.termsOf(policyHash);
      if (game === null)
        throw new AssayError('LANE_CLOSED', `Policy ${policyHash} has no dispute game: its optimistic lane is closed.`);
      const known = stepLimits.get(game.step) ?? (await stepLimit(provider, game.step));
      stepLimits.set(game.step, known);
      return {
        window: game.terms.window,
        maxContraction: known,
        windowEndOf: (header) => game.windowEndOf(header),
      };
    },
    headerIn: (transaction, batchHash) => rollup.headerIn(transaction, batchHash),
    statusOf: (receipt, index, path, header, block) => rollup.statusOf(receipt, index, path, header, block),
    blockAt: (which) =>
      ask(`block ${which}`, async () => {
        const block = await provider.getBlock(which);
        return block === null || block.hash === null ? null : { number: block.number, hash: block.hash as Hex };
      }),
    blockNumber: () => ask('block number', () => provider.getBlockNumber()),
    nonceOf: (address) => ask('nonce', () => provider.getTransactionCount(address, 'latest')),
    price: (call, from) =>
      ask('gas estimate', async () => {
        const [gas, now] = await Promise.all([provider.estimateGas({ ...call, from }), fees()]);
        if (gas > MOST_GAS)
          throw new AssayError('CHAIN_REVERTED', `The call takes ${gas} gas, and a transaction may take ${MOST_GAS}.`);
        const withRoom = gas + (gas * GAS_ROOM_PERCENT) / 100n;
        return { gasLimit: withRoom < MOST_GAS ? withRoom : MOST_GAS, ...now };
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
        throw chainError(error, settlementErrors, 'sending a transaction');
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
