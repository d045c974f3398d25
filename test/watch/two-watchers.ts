/** Two honest watchers who look at the same blocks and know nothing of each other. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { answererIn, servedBy, watcherIn } from '../../cli/disputes/scenarios/players.js';
import { orderState } from '../../cli/disputes/scenarios/scenario.js';
import { shortClaim } from './short-arena.js';

const QUIET_MS = 150;
const MOST_ROUNDS = 300;

/** Transactions that one watcher alone would not have sent. */
export interface Wasted {
  /** Mined and refused: somebody was first in the block. */
  readonly refused: number;
  /** Announcements beyond the one that the proof needs. */
  readonly announcements: number;
}

/** @param traces is the cheat's trace served; else he answers every demand */
export async function playTwoWatchers(arena: Arena, name: string, traces: boolean): Promise<Wasted> {
  const claim = await shortClaim(arena, `cheat of ${name}`, true);
  const names = [`first of ${name}`, `second of ${name}`];
  const parties = await Promise.all(names.map((one) => arena.party(one)));
  const options = { bundles: [claim.bundle], sources: [servedBy([claim], traces)] };
  const watchers = parties.map((party) => watcherIn(arena, party, options));
  const executor = answererIn(arena, claim.executor, claim.executor, [claim]);
  const players = traces ? watchers : [...watchers, executor];
  const from = await arena.provider.getBlockNumber();
  // All look at the same block, and send before any of it is mined.
  await arena.provider.send('evm_setAutomine', [false]);
  try {
    for (let i = 0; i < MOST_ROUNDS && (await orderState(arena, claim)) !== 'slashed'; i++) {
      await mineUntil(arena, Promise.all(players.map((player) => player.turn())));
      await arena.anvil.mine(1);
    }
  } finally {
    await arena.provider.send('evm_setAutomine', [true]);
  }
  expect(await orderState(arena, claim), name).toBe('slashed');
  const own = (await arena.transactionsFrom(from + 1)).filter(({ who }) => names.includes(who));
  const announced = own.filter(({ what, reverted }) => !reverted && what === 'precommit').length;
  return { refused: own.filter(({ reverted }) => reverted).length, announcements: Math.max(0, announced - 1) };
}

/** Mines a block whenever transactions wait and no more have come for a while: their senders wait for it. */
async function mineUntil(arena: Arena, round: Promise<unknown>): Promise<void> {
  let over = false;
  const ended = round.finally(() => (over = true));
  let waiting = 0;
  while (!over) {
    await Promise.race([ended, sleep(QUIET_MS)]);
    const { pending } = (await arena.provider.send('txpool_status', [])) as { pending: string };
    if (Number(pending) > 0 && Number(pending) === waiting) await arena.anvil.mine(1);
    waiting = Number(pending);
  }
  await ended;
}
