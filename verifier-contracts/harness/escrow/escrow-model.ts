/**
 * The money of Escrow as a plain program: what the contract must do, written for reading and without storage, hashes or
 * signatures. Calls answer 'ok' or the name of the contract's error, and change nothing where they are refused.
 *
 * Symbols. An order holds price + surcharge of its requester and `lock` of its executor's account; demands hold deposits;
 * a kill without announcement leaves a bounty. Sum of all and of free, reserve and reserved = the contract's tokens.
 */
import {
  depositOf,
  LANE,
  LEAF,
  lockOf,
  STATE,
  tableCost,
  type Ledger,
  type Order,
  type Policy,
} from './escrow-fixture.js';

interface Range {
  readonly tensor: number;
  readonly firstChunk: number;
  readonly chunkCount: number;
}

interface ModelDemand extends Range {
  readonly answerBy: number;
  payee: string | null;
}

export interface ModelOrder {
  readonly order: Order;
  readonly account: string;
  readonly lock: bigint;
  readonly demands: ModelDemand[];
  state: number;
  amount: bigint;
  committedAt: number;
  leaf: number;
  checker: string | null;
  reporter: string | null;
}

interface Bounty {
  readonly amount: bigint;
  readonly killedAt: number;
}

export class EscrowModel {
  readonly free = new Map<string, bigint>();
  readonly orders = new Map<string, ModelOrder>();
  private readonly nodes = new Map<string, { readonly account: string; active: boolean }>();
  private readonly bounties = new Map<string, Bounty>();
  private readonly announced = new Map<string, number>();
  private readonly freezes: { readonly start: number; end: number }[] = [];
  reserve = 0n;
  reserved = 0n;
  burnt = 0n;

  /** @param governor gets the deployment's share */
  constructor(
    private readonly policy: Policy,
    private readonly governor: string,
    private readonly maxFreeze: number,
    private readonly coolDown: number,
  ) {}

  // --- Time

  /** Time that passed outside freezes. */
  clock(raw: number): number {
    return this.freezes.reduce((time, { start, end }) => time - (Math.min(raw, end) - Math.min(raw, start)), raw);
  }

  frozen(raw: number): boolean {
    return this.freezes.some(({ start, end }) => start <= raw && raw < end);
  }

  freeze(raw: number): string {
    const last = this.freezes.at(-1);
    if (last !== undefined && raw <= last.start + this.maxFreeze + this.coolDown) return 'FreezeUnavailable';
    this.freezes.push({ start: raw, end: raw + this.maxFreeze });
    return 'ok';
  }

  unfreeze(raw: number): string {
    if (!this.frozen(raw)) return 'FreezeUnavailable';
    this.freezes.at(-1)!.end = raw;
    return 'ok';
  }

  // --- Accounts

  freeOf(account: string): bigint {
    return this.free.get(account) ?? 0n;
  }

  credit(account: string, amount: bigint): void {
    this.free.set(account, this.freeOf(account) + amount);
  }

  isActive(signer: string): boolean {
    return this.nodes.get(signer)?.active === true;
  }

  register(raw: number, signer: string, account: string): string {
    if (this.frozen(raw)) return 'Frozen';
    this.nodes.set(signer, { account, active: true });
    return 'ok';
  }

  deposit(raw: number, account: string, amount: bigint): string {
    if (this.frozen(raw)) return 'Frozen';
    this.credit(account, amount);
    return 'ok';
  }

  withdraw(account: string, amount: bigint): string {
    if (this.freeOf(account) < amount) return 'InsufficientFree';
    this.credit(account, -amount);
    return 'ok';
  }

  fundReserve(raw: number, account: string, amount: bigint): string {
    if (this.frozen(raw)) return 'Frozen';
    if (this.freeOf(account) < amount) return 'InsufficientFree';
    this.credit(account, -amount);
    this.reserve += amount;
    return 'ok';
  }

  // --- Orders

  /** The fault's name in place of the error's, since the error carries it. */
  open(raw: number, hash: string, order: Order): string {
    if (this.frozen(raw)) return 'Frozen';
    const time = BigInt(this.clock(raw));
    const node = this.nodes.get(order.executor);
    const held = order.price + order.surcharge;
    const lock = lockOf(this.policy, order.price);
    const same = node?.account === order.requester;
    if (this.orders.has(hash)) return 'Known';
    if (time > order.validUntil) return 'Expired';
    if (order.deliverBy < time + this.policy.minDeliver) return 'DeliverTooSoon';
    if (node?.active !== true) return 'Node';
    if (this.freeOf(order.requester) < held) return 'RequesterFunds';
    if (this.freeOf(node.account) < lock + (same ? held : 0n)) return 'ExecutorFunds';
    const sampled = order.lane === LANE.sampled;
    if (sampled && this.reserve < this.policy.auditFee) return 'Reserve';
    this.credit(order.requester, -held);
    this.credit(node.account, -lock);
    if (sampled) this.moveEarmark(-1n);
    this.orders.set(hash, {
      order,
      account: node.account,
      lock,
      demands: [],
      state: STATE.open,
      amount: 0n,
      committedAt: 0,
      leaf: order.lane === LANE.zk ? LEAF.final : LEAF.pending,
      checker: null,
      reporter: null,
    });
    return 'ok';
  }

  cancel(raw: number, hash: string): string {
    if (this.frozen(raw)) return 'Frozen';
    if (this.orders.get(hash)?.state !== STATE.open) return 'OrderStateIs';
    this.refund(this.orders.get(hash)!, 0n, null);
    return 'ok';
  }

  expire(raw: number, hash: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    if (held?.state !== STATE.open) return 'OrderStateIs';
    if (BigInt(this.clock(raw)) <= held.order.deliverBy) return 'NotExpired';
    this.refund(held, this.policy.noShowFee, null);
    return 'ok';
  }

  /** A binding that cannot be made is passed over. */
  bind(raw: number, hash: string, amount: bigint): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    const time = this.clock(raw);
    if (held?.state !== STATE.open || amount > held.order.price || BigInt(time) > held.order.deliverBy) return 'ok';
    Object.assign(held, { state: STATE.bound, amount, committedAt: time });
    return 'ok';
  }

  settle(raw: number, hash: string, caller: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    if (held !== undefined && held.state > STATE.bound) return 'NothingSettled';
    if (held?.state !== STATE.bound) return 'OrderStateIs';
    const time = this.clock(raw);
    if (held.leaf === LEAF.dead) {
      this.slashByCourt(held, caller);
      return 'ok';
    }
    if (held.leaf !== LEAF.final && held.leaf !== LEAF.void) return 'NotFinal';
    const unanswered = held.demands.filter(({ payee }) => payee === null);
    if (unanswered.some(({ answerBy }) => time <= answerBy)) return 'DeliveryOpen';
    const { deliveryWindow, noShowFee, protocolFeeBps } = this.policy;
    const checker = held.leaf === LEAF.final ? held.checker : null;
    if (unanswered.length > 0 || held.leaf === LEAF.void) {
      this.endDemands(held, true);
      this.refund(held, unanswered.length > 0 ? noShowFee : 0n, checker);
      return 'ok';
    }
    if (time <= held.committedAt + Number(deliveryWindow)) return 'DeliveryOpen';
    this.endDemands(held, true);
    const share = (held.amount * protocolFeeBps) / 10_000n;
    this.credit(this.governor, share);
    this.credit(held.account, held.amount - share + held.lock);
    this.credit(held.order.requester, held.order.price - held.amount);
    this.reserve += held.order.surcharge;
    this.endEarmark(held, checker);
    held.state = STATE.paid;
    return 'ok';
  }

  // --- Delivery

  demand(raw: number, hash: string, range: Range): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    if (held?.state !== STATE.bound) return 'OrderStateIs';
    const time = this.clock(raw);
    if (held.leaf === LEAF.dead) return 'LeafDead';
    if (held.leaf === LEAF.void || time > held.committedAt + Number(this.policy.deliveryWindow)) return 'DemandClosed';
    if (held.demands.some(({ payee, answerBy }) => payee === null && time > answerBy)) return 'DemandClosed';
    const chunks = new Set(held.demands.flatMap(chunksOf));
    if (chunksOf(range).some((chunk) => chunks.has(chunk))) return 'DemandInvalid';
    const deposit = depositOf(this.policy, BigInt(range.chunkCount));
    if (this.freeOf(held.order.requester) < deposit) return 'InsufficientFree';
    this.credit(held.order.requester, -deposit);
    held.demands.push({ ...range, answerBy: time + Number(this.policy.answerTime), payee: null });
    return 'ok';
  }

  answer(raw: number, hash: string, range: Range, sender: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    if (held?.state !== STATE.bound) return 'OrderStateIs';
    const made = held.demands.find((demand) => chunksOf(demand).join() === chunksOf(range).join());
    if (made === undefined) return 'DemandUnknown';
    if (made.payee !== null) return 'DemandAnswered';
    const time = this.clock(raw);
    if (time > made.answerBy) return 'DemandClosed';
    made.payee = made.answerBy - time >= Number(this.policy.answerTime) / 2 ? held.account : sender;
    return 'ok';
  }

  // --- Equivocation

  /** @param evidence the pair of receipts, by any name */
  precommit(raw: number, hash: string, evidence: string, beneficiary: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const key = `${hash} ${evidence} ${beneficiary}`;
    if (!this.announced.has(key)) this.announced.set(key, this.clock(raw));
    return 'ok';
  }

  slashEquivocation(raw: number, hash: string, evidence: string, beneficiary: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const held = this.orders.get(hash);
    if (held?.state !== STATE.open && held?.state !== STATE.bound) return 'OrderStateIs';
    if (held.state === STATE.bound && held.leaf === LEAF.dead) return 'LeafDead';
    const alive = held.state === STATE.bound && (held.leaf === LEAF.final || held.leaf === LEAF.void);
    const reward = this.gasRefund() + (held.lock * this.policy.bountyOpenBps) / 10_000n;
    const time = this.clock(raw);
    const announced = this.announced.get(`${hash} ${evidence} ${beneficiary}`);
    if (announced !== undefined && time - announced >= Number(this.policy.precommitDelay)) {
      this.credit(beneficiary, reward);
    } else {
      this.bounties.set(hash, { amount: reward, killedAt: time });
    }
    this.slash(held, held.lock - reward, alive);
    return 'ok';
  }

  claim(raw: number, hash: string, evidence: string, beneficiary: string): string {
    if (this.frozen(raw)) return 'Frozen';
    const bounty = this.bounties.get(hash);
    if (bounty === undefined) return 'BountyUnavailable';
    const time = this.clock(raw);
    if (time > bounty.killedAt + Number(this.policy.responseTime)) {
      this.burnt += bounty.amount;
    } else {
      const announced = this.announced.get(`${hash} ${evidence} ${beneficiary}`);
      const old = announced !== undefined && time - announced >= Number(this.policy.precommitDelay);
      if (!old || announced >= bounty.killedAt) return 'BountyUnavailable';
      this.credit(beneficiary, bounty.amount);
    }
    this.bounties.delete(hash);
    return 'ok';
  }

  // --- The books

  /** @param names of the accounts that are to be listed */
  ledger(names: ReadonlyMap<string, string>): Ledger {
    const live = [...this.orders.values()].filter(({ state }) => state === STATE.open || state === STATE.bound);
    const sum = (values: Iterable<bigint>): bigint => [...values].reduce((a, b) => a + b, 0n);
    return {
      ...Object.fromEntries([...names].map(([name, address]) => [name, this.freeOf(address)])),
      held: sum(live.map(({ order }) => order.price + order.surcharge)),
      locks: sum(live.map(({ lock }) => lock)),
      deposits: sum(
        live.flatMap(({ demands }) => demands.map(({ chunkCount }) => depositOf(this.policy, BigInt(chunkCount)))),
      ),
      bounties: sum([...this.bounties.values()].map(({ amount }) => amount)),
      reserve: this.reserve,
      reserved: this.reserved,
      burnt: this.burnt,
    };
  }

  private gasRefund(): bigint {
    return this.policy.gasKill * this.policy.unitPrice;
  }

  /** @param direction 1n: back into the reserve */
  private moveEarmark(direction: 1n | -1n): void {
    this.reserve += direction * this.policy.auditFee;
    this.reserved -= direction * this.policy.auditFee;
  }

  /** @param checker gets it, for an audit that is done; null: it goes back */
  private endEarmark(held: ModelOrder, checker: string | null): void {
    if (held.order.lane !== LANE.sampled) return;
    this.moveEarmark(1n);
    if (checker === null) return;
    this.reserve -= this.policy.auditFee;
    this.credit(checker, this.policy.auditFee);
  }

  private refund(held: ModelOrder, noShowFee: bigint, checker: string | null): void {
    this.credit(held.order.requester, held.order.price + held.order.surcharge + noShowFee);
    this.credit(held.account, held.lock - noShowFee);
    this.endEarmark(held, checker);
    held.state = STATE.refunded;
  }

  private slashByCourt(held: ModelOrder, caller: string): void {
    const sampled = held.order.lane === LANE.sampled;
    let left = held.lock - this.gasRefund();
    this.credit(held.reporter ?? caller, this.gasRefund());
    if (held.checker !== null) {
      const share = sampled ? this.policy.bountyAuditBps : this.policy.bountyOpenBps;
      const paid = (held.lock * share) / 10_000n + (sampled ? this.policy.auditFee : 0n);
      this.credit(held.checker, paid);
      left -= paid;
    }
    this.slash(held, left, false);
  }

  private slash(held: ModelOrder, burnt: bigint, alive: boolean): void {
    this.endDemands(held, alive);
    this.credit(held.order.requester, held.order.price + held.order.surcharge);
    this.endEarmark(held, null);
    this.nodes.get(held.order.executor)!.active = false;
    this.burnt += burnt;
    held.state = STATE.slashed;
  }

  private endDemands(held: ModelOrder, alive: boolean): void {
    for (const { chunkCount, payee } of held.demands) {
      const cost = alive && payee !== null ? tableCost(this.policy, BigInt(chunkCount)) : 0n;
      if (payee !== null) this.credit(payee, cost);
      this.credit(held.order.requester, depositOf(this.policy, BigInt(chunkCount)) - cost);
    }
  }
}

const chunksOf = ({ tensor, firstChunk, chunkCount }: Range): string[] =>
  Array.from({ length: chunkCount }, (_, i) => `${tensor}/${firstChunk + i}`);
