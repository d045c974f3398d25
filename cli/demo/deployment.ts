/**
 * The demo's settlement: contracts on a development chain, and money in them. Everything here is a value for development:
 * windows of seconds and minutes where a real deployment has hours and days, anvil's keys, a reference string whose secret
 * is public.
 */
import { Wallet, type JsonRpcProvider, type Signer } from 'ethers';
import type { SrsHead } from '../../prover/index.js';
import { signNodeRegistration, type Hex } from '../../receipts/index.js';
import { anvilKey } from '../../verifier-contracts/anvil.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { CourtTerms } from '../../verifier-contracts/court-terms.js';
import { deploySettlement, type PolicyParameters } from '../../verifier-contracts/deploy.js';
import { NOBODY } from '../../verifier-contracts/policy.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';

/** Of the token, which wraps the chain's coin. */
const TOKEN = 10n ** 18n;

export const DEMO_PRICE = TOKEN / 1_000n;

/** Times in seconds, amounts in the token's smallest unit. */
export const DEMO_POLICY: PolicyParameters = {
  deliveryWindow: 60,
  answerTime: 20,
  responseTime: 30,
  precommitDelay: 2,
  minDeliver: 10,
  bountyOpenBps: 1_000,
  bountyAuditBps: 5_000,
  protocolFeeBps: 100,
  // A quarter is drawn: twenty prices are five times what a lie can gain.
  lockFactorBps: 200_000,
  minLock: TOKEN / 100n,
  noShowFee: TOKEN / 1_000n,
  auditFee: TOKEN / 10_000n,
  unitPrice: 10n ** 9n,
  // A proved fault of LeNet-5 takes about so much.
  gasKill: 500_000,
  gasAnswer: 150_000,
  gasAnswerByte: 100,
};

/** A quarter of every executor's receipts in a batch is audited, at least one; who is caught has all of them audited. */
export const DEMO_COURT: Omit<CourtTerms, 'auditors'> = {
  beaconDelay: 1,
  auditWindow: 120,
  drawRatePpm: 250_000,
  quorum: 2,
};

/** Seconds from the commit in which a receipt of the optimistic lane may be challenged. */
export const DEMO_WINDOW = 60;

/** From a change of the terms until it counts, longest freeze, time between two. */
const DEMO_DELAYS = { policyDelay: 60, maxFreeze: 60, coolDown: 60 };

/** What the executor of an order stakes. */
export const DEMO_LOCK = (DEMO_PRICE * BigInt(DEMO_POLICY.lockFactorBps)) / 10_000n;

/** Who has money in the escrow. */
export interface Accounts {
  /** Sends the transactions of the service. */
  readonly poster: Wallet;
  readonly governor: Wallet;
  readonly requester: Wallet;
  /** In ascending order of their addresses. */
  readonly auditors: readonly Wallet[];
  /** Challenges false claims of the optimistic lane. */
  readonly watcher: Wallet;
}

export const lower = (address: string): Hex => address.toLowerCase() as Hex;

export function demoAccounts(provider: JsonRpcProvider): Accounts {
  const wallet = (account: number): Wallet => new Wallet(anvilKey(account), provider);
  return {
    poster: wallet(0),
    auditors: [1, 2, 3].map(wallet).sort((a, b) => (lower(a.address) < lower(b.address) ? -1 : 1)),
    requester: wallet(4),
    watcher: wallet(8),
    governor: wallet(7),
  };
}

/**
 * @param srs the reference string of the proofs that the verifier takes
 * @param batchRecords of the circuits of recursive batches
 */
export async function deployDemo(
  provider: JsonRpcProvider,
  { poster, governor, auditors }: Accounts,
  srs: SrsHead,
  batchRecords: readonly Uint8Array[],
): Promise<SettlementClient> {
  const { rollup, policyHashes, fromBlock } = await deploySettlement(poster, {
    token: 'wrapped-native',
    verifier: srs,
    batchRecords,
    game: { terms: { window: DEMO_WINDOW }, step: 'integer' },
    court: { ...DEMO_COURT, auditors: auditors.map(({ address }) => lower(address)) },
    policies: [DEMO_POLICY],
    governor: lower(governor.address),
    guardian: NOBODY,
    ...DEMO_DELAYS,
  });
  return SettlementClient.connect({ provider, rollup, policyHash: policyHashes[0]!, fromBlock });
}

/** A node and the account behind it. */
export interface NodeOwner {
  /** Connected. */
  readonly owner: Wallet;
  readonly signer: Signer;
  /** Orders that it is to have at most. */
  readonly orders: number;
}

/** Wraps coins, deposits them, registers the nodes, funds the reserve of audits, and lets the game take the watcher's deposits. */
export async function fundDemo(
  { escrow, domain, game }: SettlementClient,
  { requester, watcher }: Pick<Accounts, 'requester' | 'watcher'>,
  nodes: readonly NodeOwner[],
): Promise<void> {
  const orders = BigInt(nodes.reduce((sum, node) => sum + node.orders, 0));
  const reserve = wholeTokens(orders * DEMO_POLICY.auditFee);
  await Promise.all([
    sendAll(requester, [...deposit(wholeTokens(2n * orders * DEMO_PRICE) + reserve), escrow.fundReserveCall(reserve)]),
    sendAll(watcher, [...deposit(TOKEN, lower(watcher.address)), escrow.allowCall(game!.address, TOKEN)]),
    ...nodes.map(async ({ owner, signer, orders: own }) => {
      const registration = { account: lower(owner.address), signer: lower(await signer.getAddress()) };
      await sendAll(owner, [
        ...deposit(wholeTokens(BigInt(own) * DEMO_LOCK), registration.account),
        escrow.registerNodeCall(registration.signer, await signNodeRegistration(registration, domain, signer)),
      ]);
    }),
  ]);

  function deposit(amount: bigint, account = lower(requester.address)): Call[] {
    return [escrow.wrapCall(amount), escrow.approveCall(amount), escrow.depositCall(account, amount)];
  }
}

const wholeTokens = (amount: bigint): bigint => ((amount + TOKEN - 1n) / TOKEN) * TOKEN;

/** One after the other: each is estimated when those before it are mined. */
async function sendAll(sender: Wallet, calls: readonly Call[]): Promise<void> {
  for (const call of calls) await (await sender.sendTransaction(call)).wait();
}
