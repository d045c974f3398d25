/** Every deadline of Escrow at T - 1, T and T + 1, as vectors/time-rules.json says. */
import { readFileSync } from 'node:fs';
import { id } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openOutput } from '../../graph/commitment/open-output.js';
import { outputRoot } from '../../graph/commitment/index.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import {
  addressOf,
  evidenceOf,
  LEAF,
  OPEN_FAULTS,
  policyHashOf,
  precommitment,
  Refusal,
  settlement,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  wallets,
  type Called,
  type EscrowFixture,
  type Job,
  type Order,
  type Receipt,
} from '../harness/escrow/escrow-fixture.js';

interface Vectors {
  readonly offsets: readonly number[];
  readonly rules: readonly { readonly name: string; readonly deadline: string; readonly outcomes: readonly string[] }[];
}
const vectors = JSON.parse(readFileSync(new URL('../vectors/time-rules.json', import.meta.url), 'utf8')) as Vectors;

let f: EscrowFixture;
let clean: string;
beforeAll(async () => {
  f = await startEscrow();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());
beforeEach(async () => {
  clean = await f.snapshot();
});
afterEach(() => f.revertTo(clean));

const SALT = id('salt');
const RANGE = { tensor: 0, firstChunk: 0, chunkCount: 1 };
const graph = {
  name: 'outputs',
  tensors: [{ shape: [10], range: { lo: 0, hi: 255 }, layout: [0] }],
  outputs: [0],
} as unknown as IntegerGraph;
const values = [Int32Array.from({ length: 10 }, (_, i) => i)];

/** Where the call goes through: `good`, else the error's name, that of the fault where it carries one. */
async function outcome(call: Promise<Called>, good: string): Promise<string> {
  try {
    await call;
    return good;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.error === 'NothingOpened' ? OPEN_FAULTS[Number(error.args[0])]! : error.error;
  }
}

const boundJob = (): Promise<Job> => f.bound({}, { outputRoot: outputRoot(graph, values, 1) });
const demand = async (job: Job): Promise<number> =>
  (await f.send('requester', 'demandOutput', [settlement(job), RANGE])).time;
const answer = (job: Job, time: number): Promise<Called> =>
  f.send('watcher', 'answerOutput', [settlement(job), RANGE, openOutput(graph, values, 1, RANGE)], time);
const settle = (job: Job, time: number): Promise<Called> => f.send('stranger', 'settle', [[settlement(job)]], time);
const open = async (change: Partial<Order>, time: number): Promise<string> =>
  outcome(f.send('stranger', 'open', [[await f.signed(await f.order(change))]], time), 'opened');
const otherOf = (job: Job): Receipt => ({ ...job.receipt, amount: 1n });
const announcement = (job: Job): string =>
  precommitment(job.orderHash, evidenceOf(job.receipt, otherOf(job)), addressOf('watcher'), SALT);
const precommit = async (job: Job): Promise<number> => (await f.send('watcher', 'precommit', [announcement(job)])).time;
async function accuse(method: string, job: Job, time?: number): Promise<Called> {
  const other = otherOf(job);
  const signatures = [
    await f.sign(wallets.signer, 'Receipt', job.receipt),
    await f.sign(wallets.signer, 'Receipt', other),
  ];
  return f.send('stranger', method, [settlement(job), other, ...signatures, addressOf('watcher'), SALT], time);
}
const slash = (job: Job, time?: number): Promise<Called> => accuse('slashEquivocation', job, time);
const claim = (job: Job, time: number): Promise<Called> => accuse('claimBounty', job, time);
const eventOf = ({ events }: Called, names: Readonly<Record<string, string>>): string =>
  names[events.map(({ name }) => name).find((name) => names[name] !== undefined)!]!;

/** What happens that many units of the clock after the deadline. */
const RULES: Readonly<Record<string, (offset: number) => Promise<string>>> = {
  'open until validUntil': async (offset) => {
    const T = (await f.now()) + 100;
    return open({ validUntil: BigInt(T), deliverBy: BigInt(T + 1_000) }, T + offset);
  },
  'open while there is time to deliver': async (offset) => {
    const T = (await f.now()) + 100;
    return open({ validUntil: BigInt(T + 1_000), deliverBy: BigInt(T) + f.policy.minDeliver }, T + offset);
  },
  'open under a policy from its start': async (offset) => {
    const policy = { ...f.policy, minLock: 3_000_000n };
    await f.send('governor', 'addPolicy', [policy]);
    const T = Number(await f.read('policyOpenFrom', [policyHashOf(policy)]));
    const late = BigInt(T + 1_000);
    return open({ policyHash: policyHashOf(policy), validUntil: late, deliverBy: late }, T + offset);
  },
  'bind until deliverBy': async (offset) => {
    const order = await f.open();
    const job = await f.bind(order, {}, Number(order.deliverBy) + offset);
    if ((await f.stateOf(job.orderHash)) === STATE.bound) return 'bound';
    return Number(await f.read('bindFaultOf', [f.binding(job)])) === 6 ? 'Late' : 'another fault';
  },
  'expire after deliverBy': async (offset) => {
    const order = await f.open();
    return outcome(f.send('stranger', 'expire', [order], Number(order.deliverBy) + offset), 'refunded');
  },
  'demand output until the end of the delivery window': async (offset) => {
    const job = await boundJob();
    const T = job.header.committedAt + Number(f.policy.deliveryWindow);
    return outcome(f.send('requester', 'demandOutput', [settlement(job), RANGE], T + offset), 'demanded');
  },
  'settle a final leaf after the delivery window': async (offset) => {
    const job = await boundJob();
    await f.judge(job, LEAF.final);
    return outcome(settle(job, job.header.committedAt + Number(f.policy.deliveryWindow) + offset), 'paid');
  },
  'answer a demand': async (offset) => {
    const job = await boundJob();
    const T = (await demand(job)) + Number(f.policy.answerTime);
    return outcome(answer(job, T + offset), 'answered');
  },
  'an answer earns for the executor in the first half': async (offset) => {
    const job = await boundJob();
    const T = (await demand(job)) + Number(f.policy.answerTime) / 2;
    await answer(job, T + offset);
    const [made] = (await f.read('demandsOf', [job.orderHash])) as { payee: string }[];
    return { [addressOf('account')]: 'executor', [addressOf('watcher')]: 'sender' }[made!.payee]!;
  },
  'settle a final leaf with an unanswered demand': async (offset) => {
    const job = await boundJob();
    await f.judge(job, LEAF.final);
    const T = (await demand(job)) + Number(f.policy.answerTime);
    return outcome(settle(job, T + offset), 'refunded');
  },
  'a precommit counts in a kill': async (offset) => {
    const job = await boundJob();
    const T = (await precommit(job)) + Number(f.policy.precommitDelay);
    return eventOf(await slash(job, T + offset), { BountyPaid: 'paid', BountyLeft: 'left' });
  },
  'a precommit counts in a claim': async (offset) => {
    // A long delay, so that the kill lies well inside it.
    const policy = { ...f.policy, precommitDelay: 50n };
    await f.send('governor', 'addPolicy', [policy]);
    await f.passTo((await f.now()) + 301);
    const job = await f.bound({ policyHash: policyHashOf(policy) });
    const T = (await precommit(job)) + 50;
    await slash(job);
    return outcome(claim(job, T + offset), 'paid');
  },
  'claim a bounty': async (offset) => {
    const job = await boundJob();
    await precommit(job);
    const T = (await slash(job)).time + Number(f.policy.responseTime);
    return eventOf(await claim(job, T + offset), { BountyPaid: 'paid', BountyBurnt: 'burnt' });
  },
  'a freeze ends by itself': async (offset) => {
    const T = (await f.send('guardian', 'freeze', [])).time + 1_000;
    return outcome(f.send('requester', 'fundReserve', [1n], T + offset), 'live');
  },
  'freeze again': async (offset) => {
    const T = (await f.send('guardian', 'freeze', [])).time + 1_000 + 5_000;
    return outcome(f.send('guardian', 'freeze', [], T + offset), 'frozen');
  },
};

describe('time rules', () => {
  it('has a test for each rule of the file', () => {
    expect(Object.keys(RULES).sort()).toEqual(vectors.rules.map(({ name }) => name).sort());
  });

  for (const { name, deadline, outcomes } of vectors.rules) {
    it(`${name}: T = ${deadline}`, async () => {
      const start = await f.snapshot();
      const seen: string[] = [];
      let snapshot = start;
      for (const offset of vectors.offsets) {
        seen.push(await RULES[name]!(offset));
        await f.revertTo(snapshot);
        snapshot = await f.snapshot();
      }
      expect(seen).toEqual(outcomes);
    });
  }
});
