/** What the clients of all contracts of a deployment share: building calls, asking, sending, and reading failures. */
import { Interface, type Provider, type Signer, type TransactionReceipt } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex, ReceiptDomain } from '../receipts/types.js';
import { batchVerifierAbi } from './bindings/BatchVerifier.js';
import { beaconAbi } from './bindings/Beacon.js';
import { directVerifierAbi } from './bindings/DirectVerifier.js';
import { disputeGameAbi } from './bindings/DisputeGame.js';
import { escrowAbi } from './bindings/Escrow.js';
import { integerStepAbi } from './bindings/IntegerStep.js';
import { programStoreAbi } from './bindings/ProgramStore.js';
import { quorumCourtAbi } from './bindings/QuorumCourt.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { tapeMakerAbi } from './bindings/TapeMaker.js';
import { zkVerifierAbi } from './bindings/ZkVerifier.js';
import { chainError } from './chain-error.js';

/** A transaction that no block takes up (fee too low, gap in the nonces) must not hold its sender for ever. */
const MINING_TIMEOUT_MS = 120_000;

/** The bytes of a transaction that is not sent yet. */
export interface Call {
  readonly to: Hex;
  readonly data: Hex;
  /** Native currency to go along, in wei. @default 0n */
  readonly value?: bigint;
}

export interface SentTransaction {
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
}

/** 'latest', 'safe', 'finalized' or a number. */
export type BlockTag = string | number;

/** One deployment on one chain. */
export interface ChainContext {
  readonly provider: Provider;
  /** What everything signed is signed for: chain id and rollup. */
  readonly domain: ReceiptDomain;
  /** Needed to send. Its provider is the same chain's. */
  readonly signer?: Signer;
  /** First block to search for events: the deployment's. */
  readonly fromBlock: number;
}

/**
 * The errors of every contract of a deployment: they call one another, so that a call to one is refused in the words of
 * another.
 */
export const settlementErrors = new Interface(
  [
    receiptRollupAbi,
    escrowAbi,
    quorumCourtAbi,
    disputeGameAbi,
    integerStepAbi,
    directVerifierAbi,
    programStoreAbi,
    tapeMakerAbi,
    batchVerifierAbi,
    beaconAbi,
    zkVerifierAbi,
  ].flatMap((abi) => abi.filter((entry) => entry.startsWith('error '))),
);

export abstract class ContractClient {
  constructor(
    protected readonly context: ChainContext,
    readonly address: Hex,
    protected readonly abi: Interface,
  ) {}

  get provider(): Provider {
    return this.context.provider;
  }

  get domain(): ReceiptDomain {
    return this.context.domain;
  }

  protected callOf(name: string, args: readonly unknown[]): Call {
    return { to: this.address, data: this.abi.encodeFunctionData(name, args) as Hex };
  }

  /** All results of a view, by position and name. @throws AssayError CHAIN_REVERTED, CHAIN_UNAVAILABLE, CHAIN_MISMATCH */
  protected async viewAll(
    name: string,
    args: readonly unknown[],
    blockTag: BlockTag = 'latest',
  ): Promise<Record<string | number, unknown>> {
    return this.guard(name, async () => {
      const data = await this.provider.call({ ...this.callOf(name, args), blockTag });
      return this.abi.decodeFunctionResult(name, data);
    });
  }

  /** The first result of a view. */
  protected async view(name: string, args: readonly unknown[], blockTag: BlockTag = 'latest'): Promise<unknown> {
    return (await this.viewAll(name, args, blockTag))[0];
  }

  /**
   * Sends through the client's signer and waits until it is mined.
   * @throws AssayError CHAIN_REVERTED, CHAIN_UNAVAILABLE
   */
  async send(call: Call, what: string): Promise<TransactionReceipt> {
    const { signer } = this.context;
    if (signer === undefined) throw new AssayError('INTERNAL', `${what}: the client was made without a signer`);
    return this.guard(what, async () => {
      const mined = await (await signer.sendTransaction(call)).wait(1, MINING_TIMEOUT_MS);
      return mined!;
    });
  }

  protected async guard<T>(what: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, settlementErrors, what);
    }
  }
}

export function sentTransaction(mined: TransactionReceipt): SentTransaction {
  return { transactionHash: mined.hash as Hex, blockNumber: mined.blockNumber, gasUsed: mined.gasUsed };
}

/** Null for the word that stands for "there is none". */
export function orNull(word: unknown): Hex | null {
  return /^0x0*$/.test(word as string) ? null : ((word as string).toLowerCase() as Hex);
}
