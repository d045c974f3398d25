/** The deployment that a command acts on, found from an endpoint and the address of the rollup that its user trusts. */
import { InvalidArgumentError, type Command } from 'commander';
import type { JsonRpcProvider, Wallet } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex, ReceiptDomain } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import {
  settlementErrors,
  type Call,
  type ChainContext,
  type ContractClient,
} from '../../verifier-contracts/contract-client.js';
import { EscrowClient, escrowInterface } from '../../verifier-contracts/escrow-client.js';
import { refuseDevelopmentKeys } from '../../verifier-contracts/refuse-development-keys.js';
import { RollupClient, rollupInterface } from '../../verifier-contracts/rollup-client.js';
import type { Terminal } from '../terminal.js';
import { tokenUnit, type TokenUnit } from './token-unit.js';

export interface ChainFlags {
  rpc: string;
  rollup: Hex;
}

export interface Deployment {
  readonly provider: JsonRpcProvider;
  readonly domain: ReceiptDomain;
  readonly context: ChainContext;
  readonly rollup: RollupClient;
  readonly escrow: EscrowClient;
  /** Of the settlement token. */
  readonly unit: TokenUnit;
}

export const withChainOptions = (command: Command): Command =>
  command
    .requiredOption('--rpc <url>', 'JSON-RPC endpoint of the chain')
    .requiredOption('--rollup <address>', 'the rollup contract that you trust', address);

/** An address as a flag, in lower case. */
export function address(flag: string): Hex {
  if (!/^0x[0-9a-fA-F]{40}$/.test(flag))
    throw new InvalidArgumentError(`expected 0x and 40 hex digits, found "${flag}"`);
  return flag.toLowerCase() as Hex;
}

/**
 * Connects for as long as `use` takes. Policies are not looked at: money can be taken out whatever has become of them.
 * @param signer who is to send transactions
 * @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH where there is no rollup with its escrow, DEV_KEY_REFUSED, and
 *   what `use` throws
 */
export async function withDeployment<T>(
  { rpc, rollup }: ChainFlags,
  use: (deployment: Deployment) => Promise<T>,
  signer?: Wallet,
): Promise<T> {
  const provider = await connectChain(rpc);
  try {
    const { chainId } = await provider.getNetwork();
    if (signer !== undefined) refuseDevelopmentKeys(chainId, [signer.address]);
    const domain = { chainId, verifyingContract: rollup };
    const escrow = await partOf(provider, rollup, 'escrow', `rollup ${rollup} on chain ${chainId}`);
    const back = await partOf(provider, escrow, 'rollup', `escrow ${escrow}`);
    if (back !== rollup) {
      throw new AssayError('CHAIN_MISMATCH', `rollup ${rollup}: its escrow ${escrow} belongs to rollup ${back}`);
    }
    const token = await partOf(provider, escrow, 'token', `escrow ${escrow}`);
    const context: ChainContext = {
      provider,
      domain,
      fromBlock: 0,
      ...(signer === undefined ? {} : { signer: signer.connect(provider) }),
    };
    return await use({
      provider,
      domain,
      context,
      rollup: new RollupClient(context),
      escrow: new EscrowClient(context, escrow, token),
      unit: await tokenUnit(provider, token),
    });
  } finally {
    provider.destroy();
  }
}

/** The address of another contract that this one names. */
async function partOf(
  provider: JsonRpcProvider,
  contract: Hex,
  name: 'escrow' | 'rollup' | 'token',
  what: string,
): Promise<Hex> {
  const abi = name === 'escrow' ? rollupInterface : escrowInterface;
  try {
    const data = await provider.call({ to: contract, data: abi.encodeFunctionData(name) });
    return (abi.decodeFunctionResult(name, data)[0] as string).toLowerCase() as Hex;
  } catch (error) {
    const failure = chainError(error, settlementErrors, what);
    if (failure.code === 'CHAIN_UNAVAILABLE') throw failure;
    throw new AssayError('CHAIN_MISMATCH', `${what}: no such contract there: it does not say its ${name}`, {
      cause: error,
    });
  }
}

/** What a transaction did, as --json has it. */
export interface Step {
  readonly what: string;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
}

/** Sends one transaction and waits for it, telling what it is. @throws AssayError CHAIN_REVERTED, CHAIN_UNAVAILABLE */
export async function sendStep(terminal: Terminal, client: ContractClient, call: Call, what: string): Promise<Step> {
  const progress = terminal.progress(what, null);
  const mined = await client.send(call, what);
  progress.done(`block ${mined.blockNumber}, ${mined.gasUsed} gas`);
  return { what, transactionHash: mined.hash as Hex, blockNumber: mined.blockNumber, gasUsed: mined.gasUsed };
}
