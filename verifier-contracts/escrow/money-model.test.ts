/** Random sequences of calls: contract and model answer alike, and have the same books after each call. */
import { id, Wallet, ZeroAddress } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openOutput } from '../../graph/commitment/open-output.js';
import { outputRoot } from '../../graph/commitment/index.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import {
  addressOf,
  evidenceOf,
  INITIAL_FREE,
  INITIAL_RESERVE,
  LEAF,
  OPEN_FAULTS,
  PARTIES,
  precommitment,
  Refusal,
  settlement,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  wallets,
  type EscrowFixture,
  type Job,
  type Order,
  type Party,
  type Receipt,
} from '../harness/escrow/escrow-fixture.js';
import { EscrowModel } from '../harness/escrow/escrow-model.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`escrow model seed ${seed}`);
/** More with ASSAY_SEQUENCES; forge walks many more (forge/). */
const SEQUENCES = Number(process.env['ASSAY_SEQUENCES'] ?? 1);
const CALLS = 250;

let f: EscrowFixture;
let clean: string;
beforeAll(async () => {
  f = await startEscrow({ policy: { deliveryWindow: 120n, answerTime: 60n, responseTime: 60n } });
}, START_TIMEOUT_MS);
afterAll(() => f.stop());
beforeEach(async () => {
  clean = await f.snapshot();
});
afterEach(() => f.revertTo(clean));

/** mulberry32: small, and the same everywhere. */
function generator(state: number): (below: number) => number {
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const SALT = id('salt');
const graph = {
  name: 'outputs',
  tensors: [{ shape: [300], range: { lo: 0, hi: 255 }, layout: [0] }],
  outputs: [0],
} as unknown as IntegerGraph;
const values = [Int32Array.from({ length: 300 }, (_, i) => i % 256)];
const ROOT = outputRoot(graph, values, 1);

/** The states of an order in which a call can succeed. */
const NEEDS: Readonly<Record<string, readonly number[]>> = {
  cancel: [STATE.open],
  expire: [STATE.open],
  bind: [STATE.open],
  judge: [STATE.bound],
  settle: [STATE.bound],
  demand: [STATE.bound],
  answer: [STATE.bound],
  equivocation: [STATE.open, STATE.bound],
  claim: [STATE.slashed],
};

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.error === 'NothingOpened' ? OPEN_FAULTS[Number(error.args[0])]! : error.error;
  }
}

describe('Escrow and its model', () => {
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    it(
      `sequence ${sequence} of ${CALLS} calls`,
      async () => {
        const seen = await run(generator(seed + sequence));
        // What a sequence is worth depends on how much of the contract it reaches.
        console.log(`escrow model sequence ${sequence}:`, JSON.stringify(Object.fromEntries([...seen].sort())));
      },
      START_TIMEOUT_MS,
    );
  }
});

async function run(random: (below: number) => number): Promise<Map<string, number>> {
  const names = new Map<string, string>(PARTIES.map((party) => [party, addressOf(party)]));
  const model = new EscrowModel(f.policy, addressOf('governor'), 1_000, 5_000);
  for (const party of ['requester', 'account'] as const) model.credit(addressOf(party), INITIAL_FREE);
  model.credit(addressOf('governor'), INITIAL_FREE - INITIAL_RESERVE);
  model.reserve = INITIAL_RESERVE;
  model.register(0, addressOf('signer'), addressOf('account'));

  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;
  const party = (): Party => pick(['requester', 'account', 'checker', 'reporter', 'watcher', 'stranger'] as const);
  const orders: Order[] = [];
  const jobs = new Map<string, Job>();
  let signer: Wallet = wallets.signer;
  const inState = (...states: number[]): Order[] =>
    orders.filter((one) => states.length === 0 || states.includes(model.orders.get(hashOf(one))!.state));
  /** Mostly an order on which the call can do something. */
  const order = (...states: number[]): Order => {
    const fit = inState(...states);
    return pick(fit.length === 0 || random(8) === 0 ? orders : fit);
  };
  const hashOf = (given: Order): string => f.hash('JobOrder', given);
  /** The job that the order is bound to, or one that it might have been. */
  const jobOf = (given: Order, raw: number): Job =>
    jobs.get(hashOf(given)) ?? f.job(given, { outputRoot: ROOT }, model.clock(raw));
  const otherOf = ({ receipt }: Job): Receipt => ({ ...receipt, outputRoot: id('another output') });
  /** The jobs for which a second receipt was told. */
  const told = new Map<string, Job>();
  const nodes = new Map<string, Wallet>([[wallets.signer.address, wallets.signer]]);
  const accusation = async (job: Job, node: Wallet, beneficiary: string): Promise<unknown[]> => {
    const receipts = [job.receipt, otherOf(job)];
    const signatures = await Promise.all(receipts.map((receipt) => f.sign(node, 'Receipt', receipt)));
    return [settlement(job), receipts[1], ...signatures, beneficiary, SALT];
  };
  const range = (): { tensor: number; firstChunk: number; chunkCount: number } => ({
    tensor: random(2),
    firstChunk: random(5),
    chunkCount: 1 + random(2),
  });

  /** One call to both; returns what each answered. */
  type Step = (raw: number) => Promise<[string, string]>;
  const steps: Record<string, Step> = {
    deposit: async (raw) => {
      const [from, to] = [pick(['requester', 'account'] as const), party()];
      const amount = BigInt(random(2_000_000));
      return [
        model.deposit(raw, addressOf(to), amount),
        await outcome(f.send(from, 'deposit', [addressOf(to), amount], raw)),
      ];
    },
    withdraw: async (raw) => {
      const from = party();
      const amount = BigInt(random(3_000_000));
      return [
        model.withdraw(addressOf(from), amount),
        await outcome(f.send(from, 'withdraw', [amount, addressOf(from)], raw)),
      ];
    },
    fundReserve: async (raw) => {
      const from = party();
      const amount = BigInt(random(100_000));
      return [
        model.fundReserve(raw, addressOf(from), amount),
        await outcome(f.send(from, 'fundReserve', [amount], raw)),
      ];
    },
    register: async (raw) => {
      const fresh = new Wallet(id(`node ${seed} ${random(2 ** 30)}`));
      const value = { account: addressOf('account'), signer: fresh.address };
      const signature = await f.sign(fresh, 'NodeRegistration', value);
      const expected = model.register(raw, fresh.address, addressOf('account'));
      const found = await outcome(f.send('account', 'registerNode', [fresh.address, signature], raw));
      if (found === 'ok') signer = fresh;
      nodes.set(fresh.address, fresh);
      return [expected, found];
    },
    open: async (raw) => {
      const clock = BigInt(model.clock(raw));
      const requester = pick(['requester', 'requester', 'requester', 'requester', 'watcher', 'account'] as const);
      const given =
        random(10) === 0 && orders.length > 0
          ? pick(orders)
          : await f.order({
              requester: addressOf(requester),
              executor: signer.address,
              lane: 1 + random(3),
              price: BigInt(random(12) === 0 ? random(900_000_000) : random(3_000_000)),
              surcharge: BigInt(random(200_000)),
              deliverBy: clock + BigInt(40 + random(800)),
              validUntil: clock + BigInt(random(60)) - 2n,
            });
      const requesterWallet = wallets[PARTIES.find((name) => addressOf(name) === given.requester)!];
      const executor = given.executor === signer.address ? signer : wallets.signer;
      const signed = await f.signed(given, requesterWallet, executor);
      const expected = model.open(raw, hashOf(given), given);
      const found = await outcome(f.send('stranger', 'open', [[signed]], raw));
      if (found === 'ok') orders.push(f.opened(given));
      return [expected, found];
    },
    cancel: async (raw) => {
      const given = order(...NEEDS['bind']!);
      if (given.executor !== signer.address) return ['ok', 'ok'];
      const value = { orderHash: hashOf(given) };
      const requesterWallet = wallets[PARTIES.find((name) => addressOf(name) === given.requester)!];
      const signatures = [
        await f.sign(requesterWallet, 'Cancellation', value),
        await f.sign(signer, 'Cancellation', value),
      ];
      return [
        model.cancel(raw, hashOf(given)),
        await outcome(f.send('stranger', 'cancel', [given, ...signatures], raw)),
      ];
    },
    expire: async (raw) => {
      const given = order(...NEEDS['bind']!);
      return [model.expire(raw, hashOf(given)), await outcome(f.send('stranger', 'expire', [given], raw))];
    },
    bind: async (raw) => {
      const given = order(...NEEDS['bind']!);
      const amount = (given.price * BigInt(random(11))) / 10n + BigInt(random(40) === 0 ? 1 : 0);
      const before = model.orders.get(hashOf(given))!.state;
      const job = f.job(given, { amount, outputRoot: ROOT }, model.clock(raw));
      const expected = model.bind(raw, hashOf(given), amount);
      const found = await outcome(f.sendTo('rollup', 'stranger', 'bind', [[f.binding(job)]], raw));
      const after = model.orders.get(hashOf(given))!.state;
      if (before === STATE.open && after === STATE.bound) jobs.set(job.orderHash, job);
      expect(await f.stateOf(job.orderHash)).toBe(after);
      return [expected, found];
    },
    judge: async (raw) => {
      const given = order(...NEEDS['settle']!);
      const held = model.orders.get(hashOf(given))!;
      const job = jobs.get(hashOf(given));
      // Dead and final stay: courts do not change their minds.
      if (job === undefined || held.state !== STATE.bound || held.leaf === LEAF.dead || held.leaf === LEAF.final) {
        return ['ok', 'ok'];
      }
      const state = pick([LEAF.pending, LEAF.challengeable, LEAF.final, LEAF.final, LEAF.final, LEAF.void, LEAF.dead]);
      const checker = pick(['checker', null] as const);
      const reporter = pick(['reporter', null] as const);
      const address = (name: Party | null): string => (name === null ? ZeroAddress : addressOf(name));
      held.leaf = state;
      held.checker = checker === null ? null : addressOf(checker);
      held.reporter = reporter === null ? null : addressOf(reporter);
      const args = [job.batchHash, job.index, state, address(checker), address(reporter)];
      return ['ok', await outcome(f.sendTo('court', 'deployer', 'set', args, raw))];
    },
    settle: async (raw) => {
      const given = order(...NEEDS['settle']!);
      const from = party();
      return [
        model.settle(raw, hashOf(given), addressOf(from)),
        await outcome(f.send(from, 'settle', [[settlement(jobOf(given, raw))]], raw)),
      ];
    },
    demand: async (raw) => {
      const given = order(...NEEDS['settle']!);
      const asked = range();
      const from = PARTIES.find((name) => addressOf(name) === given.requester)!;
      return [
        model.demand(raw, hashOf(given), asked),
        await outcome(f.send(from, 'demandOutput', [settlement(jobOf(given, raw)), asked], raw)),
      ];
    },
    answer: async (raw) => {
      const given = order(...NEEDS['settle']!);
      const made = model.orders.get(hashOf(given))!.demands.filter(({ payee }) => payee === null);
      const { tensor, firstChunk, chunkCount } = random(5) === 0 || made.length === 0 ? range() : pick(made);
      const asked = { tensor, firstChunk, chunkCount };
      const from = party();
      const args = [settlement(jobOf(given, raw)), asked, openOutput(graph, values, 1, asked)];
      return [
        model.answer(raw, hashOf(given), asked, addressOf(from)),
        await outcome(f.send(from, 'answerOutput', args, raw)),
      ];
    },
    precommit: async (raw) => {
      const given = order(...NEEDS['equivocation']!);
      const hash = hashOf(given);
      const evidence = evidenceOf(jobOf(given, raw).receipt, otherOf(jobOf(given, raw)));
      const beneficiary = addressOf(pick(['watcher', 'account'] as const));
      return [
        model.precommit(raw, hash, evidence, beneficiary),
        await outcome(f.send('watcher', 'precommit', [precommitment(hash, evidence, beneficiary, SALT)], raw)),
      ];
    },
    equivocation: async (raw) => {
      const given = order(...NEEDS['equivocation']!);
      if (given.executor !== signer.address) return ['ok', 'ok'];
      const job = jobOf(given, raw);
      const beneficiary = addressOf(pick(['watcher', 'account'] as const));
      told.set(hashOf(given), job);
      return [
        model.slashEquivocation(raw, hashOf(given), evidenceOf(job.receipt, otherOf(job)), beneficiary),
        await outcome(f.send(party(), 'slashEquivocation', await accusation(job, signer, beneficiary), raw)),
      ];
    },
    claim: async (raw) => {
      const given = order(...NEEDS['claim']!);
      const node = nodes.get(given.executor)!;
      const job = told.get(hashOf(given)) ?? jobOf(given, raw);
      const beneficiary = addressOf(pick(['watcher', 'account'] as const));
      return [
        model.claim(raw, hashOf(given), evidenceOf(job.receipt, otherOf(job)), beneficiary),
        await outcome(f.send('stranger', 'claimBounty', await accusation(job, node, beneficiary), raw)),
      ];
    },
    freeze: async (raw) => [model.freeze(raw), await outcome(f.send('guardian', 'freeze', [], raw))],
    unfreeze: async (raw) => [model.unfreeze(raw), await outcome(f.send('guardian', 'unfreeze', [], raw))],
  };
  const weights: Record<string, number> = {
    deposit: 2,
    withdraw: 2,
    fundReserve: 1,
    register: 3,
    open: 10,
    cancel: 1,
    expire: 3,
    bind: 14,
    judge: 16,
    settle: 26,
    demand: 14,
    answer: 12,
    precommit: 6,
    equivocation: 3,
    claim: 6,
    freeze: 1,
    unfreeze: 6,
  };
  const deck = Object.entries(weights).flatMap(([name, weight]) => Array.from({ length: weight }, () => name));

  const seen = new Map<string, number>();
  let raw = await f.now();
  for (let call = 0; call < CALLS; call++) {
    raw += random(15) === 0 ? 50 + random(200) : 1 + random(10);
    let name = pick(deck);
    // Most calls shall do something: an order is brought into the state for this one, by a node that may.
    if (orders.length === 0) name = 'open';
    if (inState(...(NEEDS[name] ?? [])).length === 0 && random(6) > 0) {
      name = inState(STATE.open).length > 0 ? 'bind' : 'open';
    }
    if (name === 'open' && !model.isActive(signer.address) && random(6) > 0) name = 'register';
    const [expected, found] = await steps[name]!(raw);
    const what = `seed ${seed}, call ${call}: ${name}`;
    expect(found, what).toBe(expected);
    expect(await f.ledger(), what).toEqual(model.ledger(names));
    expect(Number(await f.read('clock')), what).toBe(model.clock(await f.now()));
    const key = `${name} ${found}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  for (const given of orders) {
    expect(await f.stateOf(hashOf(given))).toBe(model.orders.get(hashOf(given))!.state);
  }
  return seen;
}
