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
  it('of 3 blocks takes the watcher nothing but time', () => playUnderReorganisations(arena, 3, 'watcher'));
});
