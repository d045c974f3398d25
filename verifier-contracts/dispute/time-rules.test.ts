/** Every deadline of DisputeGame at T - 1, T and T + 1, as vectors/time-rules.json says. */
import { readFileSync } from 'node:fs';
import { id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import {
  A,
  addressOf,
  D,
  found,
  gamePolicy,
  R,
  Refusal,
  START_TIMEOUT_MS,
  startGame,
  type Called,
  type GameFixture,
  type Job,
} from '../harness/dispute/game-fixture.js';
import { chunksNode, countingTensor, tensorNode, TestTrace, traceRootNode } from '../harness/dispute/test-trace.js';

interface Vectors {
  readonly offsets: readonly number[];
  readonly gameRules: readonly {
    readonly name: string;
    readonly deadline: string;
    readonly outcomes: readonly string[];
  }[];
}
const vectors = JSON.parse(readFileSync(new URL('../vectors/time-rules.json', import.meta.url), 'utf8')) as Vectors;

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const tensor = countingTensor(200);
const roots = [id('slot 0'), tensor.root, id('slot 2'), id('slot 3')] as Hex[];
const trace = new TestTrace(roots, undefined, new Map([[1, tensor]]));
const partly = new TestTrace(roots, [0, 3]);
const chunk = chunksNode(1, 2);

/** Where the call goes through: `good`, else the error's name. */
async function outcome(call: Promise<unknown>, good: string): Promise<string> {
  try {
    await call;
    return good;
  } catch (error) {
    if (error instanceof Refusal) return error.error;
    throw error;
  }
}

const eventOf = ({ events }: Called, names: Readonly<Record<string, string>>): string =>
  names[events.map(({ name }) => name).find((name) => names[name] !== undefined)!]!;

/** Root, tensor and chunk answered, the last one at the end of its time. */
async function revealed(): Promise<Job> {
  const job = await f.job(trace);
  for (const node of [traceRootNode, tensorNode(1), chunk]) {
    await f.demand(job, node);
    await f.answer(job, node);
  }
  return job;
}

async function rootAnswered(): Promise<Job> {
  const job = await f.job(trace);
  await f.demand(job, traceRootNode);
  await f.answer(job, traceRootNode);
  return job;
}

const stateAt = async (job: Job, time: number): Promise<string> => {
  await f.passTo(time);
  return f.stateOf(job);
};

/** What happens that many units of the clock after the deadline. */
const RULES: Readonly<Record<string, (offset: number) => Promise<string>>> = {
  'demand a root until the end of the window': async (offset) => {
    const job = await f.job(trace);
    return outcome(f.demand(job, traceRootNode, { time: job.windowEnd + offset }), 'demanded');
  },
  'demand a root of a claim with demands': async (offset) => {
    const job = await f.job(trace);
    await f.demand(job, chunk);
    await f.answer(job, chunk);
    return outcome(f.demand(job, traceRootNode, { time: job.windowEnd + offset }), 'demanded');
  },
  'demand below a node that was not answered': async (offset) => {
    const job = await rootAnswered();
    await f.demand(job, chunk, { time: job.windowEnd - 1 - A });
    await f.answer(job, chunk);
    return outcome(f.demand(job, chunksNode(1, 1), { time: job.windowEnd + offset }), 'demanded');
  },
  'demand a chunk below an answered node': async (offset) => {
    const job = await rootAnswered();
    await f.demand(job, tensorNode(1));
    await f.answer(job, tensorNode(1));
    return outcome(f.demand(job, chunk, { time: job.windowEnd + 2 * D + offset }), 'demanded');
  },
  'demand a node of level 1 of a claim with one of level 2': async (offset) => {
    const job = await f.job(trace);
    for (const node of [traceRootNode, chunk]) {
      await f.demand(job, node);
      await f.answer(job, node);
    }
    return outcome(f.demand(job, tensorNode(1), { time: job.windowEnd + D + offset }), 'demanded');
  },
  'answer a node': async (offset) => {
    const job = await f.job(trace);
    const { time } = await f.demand(job, chunk);
    return outcome(f.answer(job, chunk, { time: time + A + offset }), 'answered');
  },
  'state a segment': async (offset) => {
    const job = await f.job(partly);
    const { time } = await f.demand(job, partly.segment(0));
    return outcome(f.answer(job, partly.segment(0), { time: time + A + offset }), 'answered');
  },
  'an answer to a node earns for the executor in the first half': async (offset) => {
    const job = await f.job(trace);
    const { time } = await f.demand(job, chunk);
    await f.answer(job, chunk, { by: 'helper', time: time + A / 2 + offset });
    const { payee } = (await f.demandOf(job, chunk))!;
    return payee === addressOf('helper') ? 'sender' : 'executor';
  },
  'time out a demand': async (offset) => {
    const job = await f.job(trace);
    const { time } = await f.demand(job, chunk);
    return outcome(f.timeout(job, 'stranger', time + A + offset), 'timed out');
  },
  'a leaf with a waiting demand': async (offset) => {
    const job = await f.job(trace);
    const { time } = await f.demand(job, chunk);
    return stateAt(job, time + A + offset);
  },
  'a leaf without demands': async (offset) => {
    const job = await f.job(trace);
    return stateAt(job, job.windowEnd + offset);
  },
  'a leaf with an answered chunk': async (offset) => {
    const job = await revealed();
    return stateAt(job, job.windowEnd + 3 * D + offset);
  },
  'prove a fault of a claim without demands': async (offset) => {
    const job = await f.job(trace);
    return outcome(f.prove(job, found(), { time: job.windowEnd + offset }), 'proved');
  },
  'prove a fault behind an answered chunk': async (offset) => {
    const job = await revealed();
    return outcome(f.prove(job, found(), { time: job.windowEnd + 3 * D + offset }), 'proved');
  },
  'close the demands of a claim that stands': async (offset) => {
    const job = await rootAnswered();
    return outcome(f.close(job, job.demanded, 'stranger', job.windowEnd + D + offset), 'closed');
  },
  'an announcement counts in a proof': async (offset) => {
    const job = await f.job(trace);
    const { time } = await f.precommit(job);
    const proved = await f.prove(job, found(), { time: time + gamePolicy.precommitDelay + offset });
    return eventOf(proved, { BountyPaid: 'paid', BountyLeft: 'left' });
  },
  'an announcement counts in a claim of the bounty': async (offset) => {
    // A long delay, so that the kill lies well inside it.
    const job = await f.job(trace, {}, { policyHash: f.otherPolicyHash });
    const { time } = await f.precommit(job);
    await f.prove(job);
    return outcome(f.claimBounty(job, found(), { time: time + 50 + offset }), 'paid');
  },
  'claim the bounty of a kill': async (offset) => {
    const job = await f.job(trace);
    await f.precommit(job);
    const { time } = await f.prove(job);
    const claimed = await f.claimBounty(job, found(), { time: time + R + offset });
    return eventOf(claimed, { BountyPaid: 'paid', BountyBurnt: 'burnt' });
  },
};

describe('time rules of the game', () => {
  it('has a test for each rule of the file', () => {
    expect(Object.keys(RULES).sort()).toEqual(vectors.gameRules.map(({ name }) => name).sort());
  });

  for (const { name, deadline, outcomes } of vectors.gameRules) {
    it(`${name}: T = ${deadline}`, async () => {
      const seen: string[] = [];
      for (const offset of vectors.offsets) seen.push(await f.apart(() => RULES[name]!(offset)));
      expect(seen).toEqual(outcomes);
    });
  }
});
