/** All games of three levels within bounds, in the model; harness/dispute/game-space.ts says what holds in each. */
import { describe, expect, it } from 'vitest';
import { clockOf, play } from '../harness/dispute/game-model.js';
import {
  exploreFree,
  exploreHonestExecutor,
  exploreHonestWatcher,
  SMALL,
  Violation,
  type Rules,
} from '../harness/dispute/game-space.js';

describe('all games', () => {
  it('of two calls by anybody: money has its owner, what ended stays so, everything comes out', () => {
    expect(exploreFree(2).states).toBeGreaterThan(10_000);
  });
  it.each([0, 1])('an honest executor who waits %i is never slashed, and is paid', (wait) => {
    expect([...exploreHonestExecutor(3, wait).labels]).toEqual(['paid']);
  });
  it.each([0, SMALL.window])('a wrong claim dies of one watcher who begins at %i, and he loses nothing', (start) => {
    // Answers down to the chunk and one trick; search.slow.test.ts plays two tricks.
    expect(exploreHonestWatcher(1, start).labels).toContain('proof to watcher');
    // One answer and two tricks: enough for another one to prove it first.
    expect(exploreHonestWatcher(2, start, [0]).labels).toContain('proof to hostile');
  });
});

describe('a rule taken away breaks them', () => {
  it('an executor who answers in the second half can lose his cost to a copier', () => {
    expect(() => exploreHonestExecutor(2, SMALL.answerTime)).toThrow(Violation);
  });
  it('and so can one who answers in the first half where every answer pays its sender', () => {
    const rules: Rules = (terms, state, call) => {
      const played = play(terms, state, call);
      if (played.refused !== null || call.do !== 'answer') return played;
      const answer = { sender: call.by, payee: call.by };
      const made = played.state.made.map((one) => (one.node === call.node ? { ...one, answer } : one));
      return { ...played, state: { ...played.state, made } };
    };
    expect(() => exploreHonestExecutor(2, 1, SMALL, rules)).toThrow(/he has \d+, not \d+/);
  });
  it('no time is left to announce and prove where R is too short', () => {
    expect(() => exploreHonestWatcher(2, SMALL.window, [0], { ...SMALL, responseTime: 0 })).toThrow(Violation);
  });
  it('late answers keep a watcher off the chunk where levels have no time of their own', () => {
    const rules: Rules = (terms, state, call) =>
      call.do === 'demand' && clockOf(state) > terms.window ? { refused: ['TooLate'] } : play(terms, state, call);
    expect(() => exploreHonestWatcher(0, SMALL.window, undefined, SMALL, rules)).toThrow(/refused .* TooLate/);
  });
  it('who copies a proof gets the bounty where it is the sender’s', () => {
    const rules: Rules = (terms, state, call) => {
      if (call.do !== 'prove') return play(terms, state, call);
      const { precommits } = state;
      const own = { fault: call.fault, beneficiary: call.beneficiary, at: -terms.precommitDelay };
      const played = play(terms, { ...state, precommits: [own, ...precommits] }, call);
      return played.refused === null ? { ...played, state: { ...played.state, precommits } } : played;
    };
    expect(() => exploreHonestWatcher(1, 0, undefined, SMALL, rules)).toThrow('his bounty went elsewhere');
  });
});
