import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { startShortArena } from './short-arena.js';
import { playTwoWatchers } from './two-watchers.js';

let arena: Arena;
beforeAll(async () => {
  // A quarter of it has eight slots of two blocks.
  arena = await startShortArena({ answerTime: 64, responseTime: 40 });
});
afterAll(() => arena.stop());

describe('two honest watchers at once waste at most one transaction', () => {
  it.each(Array.from({ length: 16 }, (_, i) => i))('pair %d, trace served', async (i) => {
    const { refused, announcements } = await playTwoWatchers(arena, `pair ${i}`, true);
    expect(refused + announcements).toBeLessThanOrEqual(1);
  });
  it.each(Array.from({ length: 8 }, (_, i) => i))('pair %d, everything demanded', async (i) => {
    const { refused, announcements } = await playTwoWatchers(arena, `asking pair ${i}`, false);
    expect(refused + announcements).toBeLessThanOrEqual(1);
  });
});
