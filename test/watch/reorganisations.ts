/** A dispute in which every move is made at its last moment, and is taken out by a reorganisation right after. */
import { expect } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { answererIn, servedBy, watcherIn } from '../../cli/disputes/scenarios/players.js';
import { orderState } from '../../cli/disputes/scenarios/scenario.js';
import { claimId } from '../../verifier-contracts/game-client.js';
import { shortClaim } from './short-arena.js';

const MOST_TURNS = 40;

/**
 * @param depth blocks that each reorganisation takes out
 * @param side whose moves are made late and taken out; the claim is a lie that must die, or is right and must stand
 */
export async function playUnderReorganisations(
  arena: Arena,
  depth: number,
  side: 'watcher' | 'executor',
): Promise<void> {
  const name = `${side} ${depth}`;
  const claim = await shortClaim(arena, `cheat ${name}`, true);
  const party = await arena.party(`watching ${name}`);
  const watcher = watcherIn(arena, party, { bundles: [claim.bundle], sources: [servedBy([claim], false)] });
  const executor = answererIn(arena, claim.executor, claim.executor, [claim]);
  const { game, anvil, provider } = arena;
  const id = claimId(claim.batchHash, claim.claim.index);
  await anvil.mine(depth);
  let reorganised = 0;
  /** A turn in the block before the deadline; its transactions are mined at the deadline, and taken out `depth` blocks deep. */
  const late = async (turn: () => Promise<unknown>, deadline: number): Promise<void> => {
    await anvil.mine(Math.max(0, deadline - 1 - (await arena.clock())));
    const before = await provider.getBlockNumber();
    await turn();
    if ((await provider.getBlockNumber()) === before) return;
    await provider.send('anvil_rollback', [depth]);
    reorganised++;
    await turn();
  };
  for (let i = 0; i < MOST_TURNS && (await orderState(arena, claim)) !== 'slashed'; i++) {
    const { nextAnswerBy, until } = await game.claimOf(claim.batchHash, claim.claim.header, claim.claim.index);
    const clock = await arena.clock();
    const before = await provider.getBlockNumber();
    if (nextAnswerBy !== null)
      await (side === 'executor' ? late(() => executor.turn(), nextAnswerBy) : executor.turn());
    else if (side === 'watcher' && until - clock > depth) await late(() => watcher.turn(), until);
    else await watcher.turn();
    // Whoever waits for an announcement to count waits for time.
    if (side === 'executor' || (await provider.getBlockNumber()) <= before) await anvil.mine(1);
  }
  expect(await orderState(arena, claim), `${name}, claim ${id}`).toBe('slashed');
  expect(reorganised).toBeGreaterThan(1);
  await watcher.turn();
  const events = await game.eventsBetween(claim.claim.header.committedBlock, await provider.getBlockNumber());
  const own = events.filter((event) => 'claim' in event && event.claim === id);
  expect(own.filter(({ kind }) => kind === 'faultProved')).toHaveLength(1);
  expect(own.filter(({ kind }) => kind === 'demanded')).toHaveLength(
    own.filter(({ kind }) => kind === 'depositClosed').length,
  );
}
