import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { playUnderReorganisations } from './reorganisations.js';
import { startShortArena } from './short-arena.js';

let arena: Arena;
beforeAll(async () => {
  arena = await startShortArena();
});
afterAll(() => arena.stop());

describe('a reorganisation at every deadline', () => {
  for (const side of ['watcher', 'executor'] as const)
    it.each([1, 2, 3, 4, 5, 6, 7])(`of %d blocks takes the ${side} nothing but time`, (depth) =>
      playUnderReorganisations(arena, depth, side),
    );
});
