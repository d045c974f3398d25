/**
 * Who has how much before and after, and whether that is what the terms say.
 *
 * The sums are no bookkeeping of ours: what the escrow says of each account, its reserve, and what lies at the address of
 * burnt tokens, must together be all tokens that exist. Where an account were forgotten, or money made or lost, they
 * would not be.
 */
import { Interface } from 'ethers';
import type { JobView } from '../../pipeline/index.js';
import type { Hex } from '../../receipts/types.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { DEMO_POLICY } from './deployment.js';

const BURNT: Hex = '0x000000000000000000000000000000000000dead';
const supply = new Interface(['function totalSupply() view returns (uint256)']);

export interface Party {
  readonly party: string;
  readonly account: Hex;
}

/** In the token's smallest unit. */
export interface Balances {
  /** Of each party, outside and inside the escrow, without what is in orders. */
  readonly free: readonly bigint[];
  readonly reserve: bigint;
  readonly burnt: bigint;
  /** What the escrow holds. */
  readonly contract: bigint;
  /** All tokens that exist. */
  readonly supply: bigint;
}

export interface MoneyRow {
  readonly party: string;
  readonly account: Hex | null;
  readonly before: bigint;
  /** Price, surcharge and locks that were put into orders in between. */
  readonly inOrders: bigint;
  readonly after: bigint;
  /** What it should have after by the terms; null where nothing is foretold. */
  readonly expected: bigint | null;
}

export interface Money {
  readonly rows: readonly MoneyRow[];
  readonly sum: { readonly before: bigint; readonly after: bigint };
  readonly supply: { readonly before: bigint; readonly after: bigint };
  /** The escrow's own tokens: what is free in it, and the reserve; nothing is left in orders. */
  readonly contract: { readonly before: bigint; readonly after: bigint };
  /** Sums, supply and the contract's tokens agree, before and after. */
  readonly balanced: boolean;
  /** Everybody has what the terms say. */
  readonly asAgreed: boolean;
}

export async function balancesOf(client: SettlementClient, parties: readonly Party[]): Promise<Balances> {
  const { escrow, provider } = client;
  const [free, { available, held }, burnt, contract, answer] = await Promise.all([
    Promise.all(
      parties.map(async ({ account }) => (await escrow.freeOf(account)) + (await escrow.tokenBalanceOf(account))),
    ),
    escrow.reserve(),
    escrow.tokenBalanceOf(BURNT),
    escrow.tokenBalanceOf(escrow.address),
    provider.call({ to: escrow.token, data: supply.encodeFunctionData('totalSupply') }),
  ]);
  return {
    free,
    reserve: available + held,
    burnt,
    contract,
    supply: supply.decodeFunctionResult('totalSupply', answer)[0] as bigint,
  };
}

/** What each account has put into orders since the beginning. */
async function putIntoOrders({ escrow, provider, context }: SettlementClient): Promise<Map<Hex, bigint>> {
  const logs = await provider.getLogs({
    address: escrow.address,
    topics: escrowInterface.encodeFilterTopics('OrderOpened', []),
    fromBlock: context.fromBlock,
    toBlock: 'latest',
  });
  const put = new Map<Hex, bigint>();
  const add = (account: string, amount: bigint): void => {
    const key = account.toLowerCase() as Hex;
    put.set(key, (put.get(key) ?? 0n) + amount);
  };
  for (const log of logs) {
    const { args } = escrowInterface.parseLog(log)!;
    add(args['requester'] as string, args['held'] as bigint);
    const { account } = await escrow.nodeOf((args['executor'] as string).toLowerCase() as Hex);
    add(account!, args['lock'] as bigint);
  }
  return put;
}

/** By the terms alone: what an order that has ended has moved. All together it is nothing. */
interface Moved {
  readonly requester: bigint;
  /** The account behind the executor. */
  readonly account: bigint;
  readonly governor: bigint;
  readonly poster: bigint;
  readonly watcher: bigint;
  readonly auditors: bigint;
  readonly reserve: bigint;
  readonly burnt: bigint;
}

const NOTHING: Moved = {
  requester: 0n,
  account: 0n,
  governor: 0n,
  poster: 0n,
  watcher: 0n,
  auditors: 0n,
  reserve: 0n,
  burnt: 0n,
};

function movedBy({ order, receipt, settlement, audit }: JobView, lock: bigint): Moved {
  const { protocolFeeBps, auditFee, bountyAuditBps, bountyOpenBps, gasKill, unitPrice } = DEMO_POLICY;
  const share = (amount: bigint, bps: number): bigint => (amount * BigInt(bps)) / 10_000n;
  const refund = BigInt(gasKill) * unitPrice;
  if (settlement.state === 'slashed' && order.lane === 'optimistic') {
    const watcher = share(lock, bountyOpenBps) + refund;
    return { ...NOTHING, account: -lock, watcher, burnt: lock - watcher };
  }
  if (settlement.state === 'slashed') {
    const auditors = auditFee + share(lock, bountyAuditBps);
    // Whoever brought the verdict gets its gas back.
    return { ...NOTHING, account: -lock, auditors, poster: refund, burnt: lock - auditors - refund };
  }
  if (settlement.state !== 'paid') return NOTHING;
  const { amount } = receipt!.receipt;
  const governor = share(amount, protocolFeeBps);
  const auditors = audit === null ? 0n : auditFee;
  return {
    ...NOTHING,
    requester: -(amount + order.surcharge),
    account: amount - governor,
    governor,
    auditors,
    reserve: order.surcharge - auditors,
  };
}

/** Whose rows of the table the terms foretell; what the auditors get together follows from the sum. */
export interface Roles {
  readonly requester: Hex;
  readonly governor: Hex;
  readonly poster: Hex;
  readonly watcher: Hex;
  /** By executor. */
  readonly accountOf: ReadonlyMap<Hex, Hex>;
}

/** @param parties in the order of the balances; @param lock of every order */
export async function moneyOf(
  client: SettlementClient,
  parties: readonly Party[],
  [before, after]: readonly [Balances, Balances],
  roles: Roles,
  views: readonly JobView[],
  lock: bigint,
): Promise<Money> {
  const put = await putIntoOrders(client);
  const changes = new Map<Hex, bigint>();
  let [reserve, burnt] = [0n, 0n];
  for (const view of views) {
    const moved = movedBy(view, lock);
    const { requester, governor, poster, watcher, accountOf } = roles;
    for (const [who, amount] of [
      [requester, moved.requester],
      [governor, moved.governor],
      [poster, moved.poster],
      [watcher, moved.watcher],
      [accountOf.get(view.order.executor)!, moved.account],
    ] as const)
      changes.set(who, (changes.get(who) ?? 0n) + amount);
    reserve += moved.reserve;
    burnt += moved.burnt;
  }
  const row = (party: string, account: Hex | null, from: bigint, to: bigint, change: bigint | undefined): MoneyRow => ({
    party,
    account,
    before: from,
    inOrders: (account === null ? undefined : put.get(account)) ?? 0n,
    after: to,
    expected: change === undefined ? null : from + change,
  });
  const rows = [
    ...parties.map(({ party, account }, i) =>
      row(party, account, before.free[i]!, after.free[i]!, changes.get(account)),
    ),
    row('reserve for audits', null, before.reserve, after.reserve, reserve),
    row('burnt', BURNT, before.burnt, after.burnt, burnt),
  ];
  const sumOf = (column: 'before' | 'after'): bigint => rows.reduce((sum, row) => sum + row[column], 0n);
  const sum = { before: sumOf('before'), after: sumOf('after') };
  return {
    rows,
    sum,
    supply: { before: before.supply, after: after.supply },
    contract: { before: before.contract, after: after.contract },
    balanced:
      sum.before === sum.after &&
      sum.before === before.supply &&
      sum.after === after.supply &&
      before.contract === sum.before - before.burnt &&
      after.contract === sum.after - after.burnt,
    asAgreed: rows.every(({ after: found, expected }) => expected === null || expected === found),
  };
}
