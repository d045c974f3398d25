/**
 * Random plays against a slow model: demands, answers in any order, time. The model keeps a plain list; the contract a linked
 * one with shortcuts. After each step both name the same demand as due first, and the same end of the claim; at the end
 * everybody has what the rules give him.
 */
import { id } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import type { GameNode } from '../dispute-types.js';
import { nodeId } from '../game-client.js';
import {
  A,
  D,
  gamePolicy,
  START_TIMEOUT_MS,
  startGame,
  type GameFixture,
  type Party,
} from '../harness/dispute/game-fixture.js';
import {
  chunksNode,
  countingTensor,
  inputsNode,
  outputsNode,
  tensorNode,
  TestTrace,
  traceRootNode,
} from '../harness/dispute/test-trace.js';

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const tensor = countingTensor(64 * 20);
const trace = new TestTrace([tensor.root, id('slot 1') as Hex], undefined, new Map([[0, tensor]]));
const NODES: readonly GameNode[] = [
  traceRootNode,
  inputsNode,
  outputsNode,
  tensorNode(0),
  ...Array.from({ length: 20 }, (_, i) => chunksNode(0, i)),
];

/** A linear congruential generator: the plays are the same for the same seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

interface Made {
  readonly node: GameNode;
  readonly by: Party;
  readonly answerBy: number;
  answeredBy: Party | null;
}

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);

it.each([0, 1, 2, 3, 4, 5])(`play ${SEED} + %i`, async (play) => {
  const roll = dice(SEED + play);
  await f.apart(async () => {
    const job = await f.job(trace);
    const before = await f.ledger();
    const made: Made[] = [];
    let levels = -1;
    const waiting = (): Made[] => made.filter(({ answeredBy }) => answeredBy === null);
    const due = (): number => Math.min(...waiting().map(({ answerBy }) => answerBy), Infinity);
    for (let step = 0; step < 30; step++) {
      const left = NODES.filter((node) => made.every((other) => nodeId(other.node) !== nodeId(node)));
      const open = waiting();
      const time = (await f.now()) + 1 + roll(4);
      if (time > job.windowEnd || time > due()) break;
      if (left.length > 0 && (open.length === 0 || roll(2) === 0)) {
        const node = left[roll(left.length)]!;
        const by = (['watcher', 'hostile'] as const)[roll(2)]!;
        const { answerBy } = await f.demand(job, node, { by, time });
        made.push({ node, by, answerBy, answeredBy: null });
        levels = Math.max(levels, (await f.demandOf(job, node))!.level);
      } else if (open.length > 0) {
        const one = open[roll(open.length)]!;
        const by = (['account', 'helper'] as const)[roll(2)]!;
        await f.answer(job, one.node, { by, time });
        one.answeredBy = time > one.answerBy - A / 2 ? by : 'account';
      }
      const view = await f.viewOf(job);
      expect(view.nextAnswerBy).toBe(waiting().length === 0 ? null : due());
      if (levels >= 0) expect(view.until).toBe(job.windowEnd + (levels + 1) * D);
    }
    // One half of the plays end with an answer to everything, the other half with what is overdue.
    const stands = roll(2) === 0;
    if (stands)
      for (const one of waiting()) {
        await f.answer(job, one.node);
        one.answeredBy = 'account';
      }
    const first = waiting().sort((a, b) => a.answerBy - b.answerBy)[0];
    await f.passTo(job.windowEnd + 5 * D);
    expect(await f.stateOf(job)).toBe(first === undefined ? 'final' : 'dead');
    if (first !== undefined) {
      const lock = gamePolicy.minLock;
      const bounty = (lock * BigInt(gamePolicy.bountyOpenBps)) / 10_000n;
      const moved = await f.moved(() => f.timeout(job));
      expect(moved[first.by]).toBe(bounty);
    }
    const closing = await f.moved(() => f.close(job));
    expect(closing['deposits'] ?? 0n).toBe(-(await sumOf(job.demanded.length, made)));
    if (first === undefined) {
      const earned = (closing['account'] ?? 0n) + (closing['helper'] ?? 0n);
      expect(earned > 0n).toBe(made.length > 0);
    } else {
      expect(closing['account'] ?? 0n).toBe(0n);
      expect(closing['helper'] ?? 0n).toBe(0n);
      const after = await f.ledger();
      for (const party of ['watcher', 'hostile'] as const)
        if (party !== first.by) expect(after[party]).toBe(before[party]);
    }
    async function sumOf(count: number, list: readonly Made[]): Promise<bigint> {
      expect(list.length).toBe(count);
      let sum = 0n;
      for (const { node } of list) sum += (await f.demandOf(job, node))!.deposit;
      return sum;
    }
  });
});
