/**
 * A deployment as a stranger finds it who knows a chain and the rollup's address, and nothing else:
 *   rollup -> escrow -> settlement token; policy (by its hash) -> court, game.
 */
import type { Provider, Signer } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex, ReceiptDomain } from '../receipts/types.js';
import { chainError } from './chain-error.js';
import { type ChainContext, settlementErrors } from './contract-client.js';
import { CourtClient } from './court-client.js';
import { EscrowClient, escrowInterface } from './escrow-client.js';
import { GameClient } from './game-client.js';
import { NOBODY, policyHash as hashPolicy, type Policy } from './policy.js';
import { refuseDevelopmentKeys } from './refuse-development-keys.js';
import { RollupClient, rollupInterface } from './rollup-client.js';

export interface SettlementClientOptions {
  readonly provider: Provider;
  /** The rollup's address. */
  readonly rollup: Hex;
  /** Needed to send. Its provider is the same chain's. */
  readonly signer?: Signer;
  /** The policy to work under. @default the one added last that takes new orders now */
  readonly policyHash?: Hex;
  /** First block to search for events: the deployment's. @default 0 */
  readonly fromBlock?: number;
}

/** A policy, and who judges under it. */
export interface PolicyTerms {
  readonly policyHash: Hex;
  readonly policy: Policy;
  /** Judge of the sampled lane; null where that lane is closed. */
  readonly court: CourtClient | null;
  /** Judge of the optimistic lane; null where that lane is closed. */
  readonly game: GameClient | null;
}

export class SettlementClient implements PolicyTerms {
  private constructor(
    readonly context: ChainContext,
    readonly rollup: RollupClient,
    readonly escrow: EscrowClient,
    readonly policyHash: Hex,
    readonly policy: Policy,
    readonly court: CourtClient | null,
    readonly game: GameClient | null,
  ) {}

  /**
   * @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH (no rollup at that address, or a policy that is not what its
   *   hash says), CHAIN_REVERTED (PolicyUnknown), POLICY_CLOSED (none takes new orders), DEV_KEY_REFUSED (the signer,
   *   governor, guardian or an auditor is an anvil account, on a real chain: anybody could act in their name)
   */
  static async connect(options: SettlementClientOptions): Promise<SettlementClient> {
    const { provider, rollup: address, signer } = options;
    const what = `rollup ${address}`;
    const { chainId } = await guard(what, () => provider.getNetwork());
    if ((await guard(what, () => provider.getCode(address))) === '0x') {
      throw new AssayError('CHAIN_MISMATCH', `${what}: no contract at that address on chain ${chainId}`);
    }
    const escrowAddress = await addressAt(provider, address, 'escrow', what);
    const back = await addressAt(provider, escrowAddress, 'rollup', what);
    if (back !== address) {
      throw new AssayError('CHAIN_MISMATCH', `${what}: its escrow ${escrowAddress} belongs to rollup ${back}`);
    }
    const token = await addressAt(provider, escrowAddress, 'token', what);
    const officers = [
      await addressAt(provider, escrowAddress, 'governor', what),
      await addressAt(provider, escrowAddress, 'guardian', what),
    ];
    refuseDevelopmentKeys(chainId, [...(signer === undefined ? [] : [await signer.getAddress()]), ...officers]);
    const context: ChainContext = {
      provider,
      domain: { chainId, verifyingContract: address },
      ...(signer === undefined ? {} : { signer }),
      fromBlock: options.fromBlock ?? 0,
    };
    const escrow = new EscrowClient(context, escrowAddress, token);
    const hash = options.policyHash ?? (await newestOpenPolicy(context, escrow));
    const terms = await termsOf(context, escrow, hash);
    const { policy, court, game } = terms;
    return new SettlementClient(context, new RollupClient(context), escrow, hash, policy, court, game);
  }

  get provider(): Provider {
    return this.context.provider;
  }

  get domain(): ReceiptDomain {
    return this.context.domain;
  }

  /** Policy and judges of a job under another policy. @throws AssayError as `connect` */
  async termsOf(policyHash: Hex): Promise<PolicyTerms> {
    return policyHash === this.policyHash ? this : termsOf(this.context, this.escrow, policyHash);
  }
}

async function termsOf(context: ChainContext, escrow: EscrowClient, policyHash: Hex): Promise<PolicyTerms> {
  const policy = await escrow.policyOf(policyHash);
  if (hashPolicy(policy) !== policyHash) {
    throw new AssayError('CHAIN_MISMATCH', `escrow ${escrow.address}: policy ${policyHash} is not what its hash says`);
  }
  const court = policy.court === NOBODY ? null : await CourtClient.at(context, policy.court);
  if (court !== null) refuseDevelopmentKeys(context.domain.chainId, court.terms.auditors);
  const game = policy.game === NOBODY ? null : await GameClient.at(context, policy.game);
  return { policyHash, policy, court, game };
}

async function newestOpenPolicy(context: ChainContext, escrow: EscrowClient): Promise<Hex> {
  const topics = escrowInterface.encodeFilterTopics('PolicyAdded', []);
  const logs = await guard('policies', () =>
    context.provider.getLogs({ address: escrow.address, topics, fromBlock: context.fromBlock, toBlock: 'latest' }),
  );
  const now = await escrow.clock();
  for (const log of logs.reverse()) {
    const hash = log.topics[1] as Hex;
    const from = await escrow.policyOpenFrom(hash);
    if (from !== null && from <= now) return hash;
  }
  throw new AssayError('POLICY_CLOSED', `escrow ${escrow.address}: no policy takes new orders`);
}

/** An address that a contract names; one that cannot say is none of a deployment. */
async function addressAt(provider: Provider, contract: Hex, name: string, what: string): Promise<Hex> {
  const abi = name === 'escrow' ? rollupInterface : escrowInterface;
  try {
    const data = await provider.call({ to: contract, data: abi.encodeFunctionData(name) });
    return (abi.decodeFunctionResult(name, data)[0] as string).toLowerCase() as Hex;
  } catch (error) {
    const failure = chainError(error, settlementErrors, what);
    if (failure.code !== 'CHAIN_REVERTED') throw failure;
    throw new AssayError('CHAIN_MISMATCH', `${what}: contract ${contract} does not say its ${name}`, { cause: error });
  }
}

async function guard<T>(what: string, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw chainError(error, settlementErrors, what);
  }
}
