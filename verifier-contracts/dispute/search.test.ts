/**
 * Games by chance against the real contracts, with several calls in a block and posters who commit at the last moment: after
 * each block they agree with the model about errors, money and time. Where a
 * side is honest it has at the end what it was promised: the executor of a right claim is not slashed and paid, a wrong claim
 * with one watcher is neither paid nor final, and he is no poorer, gas apart.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gamePolicy, refusal, START_TIMEOUT_MS, startGame, type GameFixture } from '../harness/dispute/game-fixture.js';
import { GamePlayer } from '../harness/dispute/game-player.js';
import { brokenPromise, dice, fiveLevels, HONEST, randomGame, type Honest } from '../harness/dispute/game-plays.js';

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const stage = fiveLevels();

describe('against the contracts', () => {
  let f: GameFixture;
  beforeAll(async () => {
    f = await startGame();
  }, START_TIMEOUT_MS);
  afterAll(() => f.stop());

  it.each([0, 1, 2, 3, 4, 5])(`game ${SEED} + %i`, async (game) => {
    const honest = HONEST[game % HONEST.length]!;
    const { calls } = randomGame(stage.terms, dice(SEED + game), 20, honest);
    const end = await GamePlayer.play(f, stage, calls, [{ before: 0 }, { before: 1 }, 'at once' as const][game % 4]);
    expect(brokenPromise(stage.terms, end, honest)).toBeNull();
  });

  it('a receipt that a lazy poster commits too late binds nothing, and its order ends as never delivered', () =>
    f.apart(async () => {
      const before = await f.ledger();
      const order = await f.shortOrder();
      expect(await refusal(f.lateJob(stage.trace, order, 1))).toBe('NothingBound');
      await f.send('stranger', f.client.escrow.expireCall(order));
      const after = await f.ledger();
      const { noShowFee } = gamePolicy;
      expect(after).toEqual({
        ...before,
        requester: before['requester']! + noShowFee,
        account: before['account']! - noShowFee,
      });
    }));
});

describe(`in the model, 200 games from ${SEED} on`, () => {
  /** What is broken of the promises to `promised` where `honest` keeps to the rules. */
  const broken = (honest: Honest, promised: Honest): readonly string[] =>
    Array.from({ length: 200 }, (_, i) => {
      const roll = dice(SEED + i);
      const { end } = randomGame(stage.terms, roll, 20 + roll(41), honest);
      return brokenPromise(stage.terms, end, promised);
    }).filter((one) => one !== null);

  it.each(['executor', 'watcher'] as const)('an honest %s has what was promised', (honest) => {
    expect(broken(honest, honest)).toEqual([]);
  });
  it('who does not play has not', () => {
    expect(broken('nobody', 'executor')).toContain('an honest executor is not paid');
    expect(broken('nobody', 'watcher')).toContain('a wrong claim lives');
  });
});
