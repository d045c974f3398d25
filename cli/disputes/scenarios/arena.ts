/**
 * Where disputes are played: an own anvil with the real contracts under given terms, parties with money, and time that is
 * moved on instead of waited for. Claims in it are made as an executor makes them: order, trace, receipt, commit.
 *
 * Keys are made from words, known to everybody: for a development chain only.
 */
import { id, Wallet, type JsonRpcProvider, type TransactionReceipt } from 'ethers';
import type { Bundle } from '../../../graph/index.js';
import { hashOrder, signAcceptance, signNodeRegistration, signOrder, signReceipt } from '../../../receipts/index.js';
import type { Hex, JobOrder, Receipt } from '../../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../../../verifier-contracts/anvil.js';
import { connectChain } from '../../../verifier-contracts/connect-chain.js';
import type { Call } from '../../../verifier-contracts/contract-client.js';
import type { Claim } from '../../../verifier-contracts/dispute-types.js';
import { deploySettlement, type PolicyParameters } from '../../../verifier-contracts/deploy.js';
import { escrowInterface } from '../../../verifier-contracts/escrow-client.js';
import { gameInterface, type GameClient } from '../../../verifier-contracts/game-client.js';
import { rollupInterface } from '../../../verifier-contracts/rollup-client.js';
import { NOBODY } from '../../../verifier-contracts/policy.js';
import { SettlementClient } from '../../../verifier-contracts/settlement-client.js';
import type { FullTrace } from '../../../fraud-proofs/nodes/full-trace.js';
import { balancesOf, type Balances } from './money.js';

export interface ArenaOptions {
  readonly policy: PolicyParameters;
  /** Of the game, in the clock's units. */
  readonly window: number;
  /** Longest contraction of one step. */
  readonly maxContraction: number;
  /** @default 'timestamp' */
  readonly clock?: 'timestamp' | 'blocknumber';
}

/** Somebody with coins for gas, a free balance in Escrow, and the game allowed to take deposits from it. */
export interface ArenaParty {
  readonly name: string;
  readonly wallet: Wallet;
  readonly address: Hex;
}

export interface ArenaExecutor extends ArenaParty {
  /** Signs acceptances, receipts and openings; registered for the party's account. */
  readonly signer: Wallet;
}

export interface ArenaClaim {
  readonly bundle: Bundle;
  readonly order: JobOrder;
  readonly claim: Claim;
  readonly batchHash: Hex;
  /** What the receipt is about; of a cheat, tampered with. */
  readonly trace: FullTrace;
  readonly executor: ArenaExecutor;
}

/** A transaction that somebody in the arena sent. */
export interface ArenaTransaction {
  readonly who: string;
  readonly what: string;
  readonly gasUsed: bigint;
  readonly reverted: boolean;
}

/** What a party begins with, in wei of the wrapped coin and of the coin. */
const FUNDS = 10n ** 21n;
const COINS = `0x${(10n ** 23n).toString(16)}`;
const FAR = 4_000_000_000;
export const ARENA_PRICE = 10n ** 15n;

export class Arena {
  readonly #parties = new Map<string, ArenaParty>();
  #orders = 0;

  private constructor(
    readonly anvil: Anvil,
    readonly provider: JsonRpcProvider,
    readonly client: SettlementClient,
    readonly game: GameClient,
    readonly options: ArenaOptions,
  ) {}

  /** @throws AssayError ANVIL_MISSING, ANVIL_FAILED, CONTRACT_BUILD_FAILED ... */
  static async start(options: ArenaOptions): Promise<Arena> {
    const anvil = await startAnvil();
    const provider = await connectChain(anvil.url);
    provider.pollingInterval = 20;
    const deployer = new Wallet(anvilKey(0), provider);
    const { clock = 'timestamp', policy, window, maxContraction } = options;
    const { rollup, policyHashes } = await deploySettlement(deployer, {
      token: 'wrapped-native',
      game: { terms: { window }, step: 'integer', maxContraction },
      policies: [policy],
      governor: deployer.address.toLowerCase() as Hex,
      guardian: NOBODY,
      clock,
    });
    const client = await SettlementClient.connect({ provider, rollup, policyHash: policyHashes[0]! });
    return new Arena(anvil, provider, client, client.game!, options);
  }

  get rollup(): Hex {
    return this.client.rollup.address;
  }

  get parties(): readonly ArenaParty[] {
    return [...this.#parties.values()];
  }

  /** The party of that name; endowed when it is first asked for. */
  async party(name: string): Promise<ArenaParty> {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    const wallet = new Wallet(id(`arena ${name}`), this.provider);
    const party = { name, wallet, address: wallet.address.toLowerCase() as Hex };
    this.#parties.set(name, party);
    await this.provider.send('anvil_setBalance', [wallet.address, COINS]);
    const { escrow } = this.client;
    for (const call of [escrow.wrapCall(FUNDS), escrow.approveCall(FUNDS), escrow.depositCall(party.address, FUNDS)])
      await this.send(party, call);
    await this.send(party, escrow.allowCall(this.game.address, 2n ** 256n - 1n));
    return party;
  }

  /** A party with a registered node. One that was slashed is suspended: each scenario has its own. */
  async executor(name: string): Promise<ArenaExecutor> {
    const party = await this.party(name);
    const signer = new Wallet(id(`arena ${name} signer`));
    const { escrow, domain } = this.client;
    const registration = { account: party.address, signer: signer.address.toLowerCase() as Hex };
    if ((await escrow.nodeOf(registration.signer)).account === null) {
      const signature = await signNodeRegistration(registration, domain, signer);
      await this.send(party, escrow.registerNodeCall(registration.signer, signature));
    }
    return { ...party, signer };
  }

  /** Has the order opened and the receipt for the trace committed. */
  async claim(executor: ArenaExecutor, bundle: Bundle, trace: FullTrace): Promise<ArenaClaim> {
    const { escrow, rollup, domain, policyHash } = this.client;
    const requester = await this.party('requester');
    const { inputRoot, ...roots } = trace.claimRoots();
    const order: JobOrder = {
      requester: requester.address,
      executor: executor.signer.address.toLowerCase() as Hex,
      modelDigest: bundle.digest as Hex,
      inputRoot,
      items: trace.items,
      lane: 'optimistic',
      policyHash,
      price: ARENA_PRICE,
      surcharge: 0n,
      outputBytes: 1_024,
      deliverBy: FAR,
      validUntil: FAR,
      nonce: BigInt(this.#orders++),
    };
    const signed = {
      order,
      requesterSignature: await signOrder(order, domain, requester.wallet),
      executorSignature: await signAcceptance(order, domain, executor.signer),
    };
    await this.send(requester, escrow.openCall([signed]));
    const receipt: Receipt = {
      orderHash: hashOrder(order, domain),
      modelDigest: order.modelDigest,
      inputRoot: order.inputRoot,
      ...roots,
      items: order.items,
      amount: order.price,
      lane: 'optimistic',
      policyHash,
      executor: order.executor,
      issuedAt: 1_800_000_000,
    };
    const receipts = [{ receipt, signature: await signReceipt(receipt, domain, executor.signer) }];
    const salt = id(`arena batch ${order.nonce}`) as Hex;
    const poster = await this.party('poster');
    const mined = await this.send(poster, rollup.commitCall('optimistic', policyHash, receipts, salt));
    const batchHash = rollup.batchHashOf('optimistic', policyHash, receipts, salt, poster.address);
    const header = (await rollup.headerIn(mined.hash as Hex, batchHash))!;
    return { bundle, order, claim: { receipt, header, index: 0 }, batchHash, trace, executor };
  }

  async send(party: ArenaParty, call: Call): Promise<TransactionReceipt> {
    const sent = await party.wallet.sendTransaction(call);
    return (await sent.wait())!;
  }

  /** By the contracts' clock. */
  clock(): Promise<number> {
    return this.client.escrow.clock();
  }

  /** Lets this much time go by. @param span in units of the clock */
  async advance(span: number): Promise<void> {
    if (span <= 0) return;
    if (this.options.clock === 'blocknumber') await this.anvil.mine(span);
    else {
      await this.provider.send('evm_increaseTime', [span]);
      await this.anvil.mine(1);
    }
  }

  balances(): Promise<Balances> {
    return balancesOf(this.client, this.game.address, this.parties);
  }

  /** Transactions of parties from a block on, told by who sent them. */
  async transactionsFrom(block: number): Promise<ArenaTransaction[]> {
    const names = new Map(this.parties.map(({ address, name }) => [address, name]));
    const latest = await this.provider.getBlockNumber();
    const found: ArenaTransaction[] = [];
    for (let number = block; number <= latest; number++) {
      const hashes = (await this.provider.getBlock(number))?.transactions ?? [];
      for (const hash of hashes) {
        const [transaction, receipt] = await Promise.all([
          this.provider.getTransaction(hash),
          this.provider.getTransactionReceipt(hash),
        ]);
        const who = names.get(transaction!.from.toLowerCase() as Hex) ?? transaction!.from;
        found.push({
          who,
          what: this.#nameOf(transaction!.data),
          gasUsed: receipt!.gasUsed,
          reverted: receipt!.status !== 1,
        });
      }
    }
    return found;
  }

  #nameOf(data: string): string {
    for (const abi of [gameInterface, escrowInterface, rollupInterface]) {
      const name = abi.getFunction(data.slice(0, 10))?.name;
      if (name !== undefined) return name;
    }
    return 'transfer';
  }

  async stop(): Promise<void> {
    this.provider.destroy();
    await this.anvil.stop();
  }
}
