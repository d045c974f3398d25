/**
 * TEST_GAMES longer games by chance (200), as in search.test.ts; games that meet what all of two calls by anybody meet; and,
 * in the model, all games of a wrong claim with answers down to the chunk and two tricks.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { START_TIMEOUT_MS, startGame, type GameFixture } from '../harness/dispute/game-fixture.js';
import { GamePlayer } from '../harness/dispute/game-player.js';
import {
  brokenPromise,
  covering,
  dice,
  fiveLevels,
  HONEST,
  randomGame,
  threeLevels,
} from '../harness/dispute/game-plays.js';
import { exploreFree, exploreHonestWatcher, SMALL } from '../harness/dispute/game-space.js';

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const GAMES = Number(process.env['TEST_GAMES'] ?? 200);

describe('by chance', () => {
  const stage = fiveLevels();
  it.each(Array.from({ length: GAMES }, (_, i) => i))(`game ${SEED} + %i`, async (game) => {
    const honest = HONEST[game % HONEST.length]!;
    const roll = dice(SEED + game);
    const { calls } = randomGame(stage.terms, roll, 20 + roll(41), honest);
    const posted = [{ before: 0 }, { before: 1 }, 'at once' as const][roll(3)];
    const end = await GamePlayer.play(f, stage, calls, posted);
    expect(brokenPromise(stage.terms, end, honest)).toBeNull();
  });
});

describe('of all kinds', () => {
  const stage = threeLevels();
  // Of 20,000 games 184 together leave 6 of their kinds out.
  const { games, missing } = covering(stage.terms, exploreFree(2).labels, dice(1), 20_000);
  it('leave few kinds of calls out', () => {
    expect(missing.length).toBeLessThan(10);
  });
  it.each(games.map((calls, i) => [i, calls] as const))('game %i', async (_, calls) => {
    const end = await GamePlayer.play(f, stage, calls);
    expect(end.time).toBe(calls.at(-1)!.time);
  });
});

it.each([0, SMALL.window])('all games with one watcher who begins at %i', (start) => {
  const { labels } = exploreHonestWatcher(2, start);
  expect(labels).toContain('proof to watcher');
  expect(labels).toContain('proof to hostile');
});
