import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { playKilled } from './killed-processes.js';
import { startShortArena } from './short-arena.js';

let arena: Arena;
beforeAll(async () => {
  arena = await startShortArena();
});
afterAll(() => arena.stop());

describe('a process that is killed', () => {
  it('as a challenger behind its announcement still proves, and has its bounty', async () => {
    expect(await playKilled(arena, 'watcher', 'behind:5')).toBe(true);
  });
});
