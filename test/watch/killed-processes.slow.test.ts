import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { playKilled } from './killed-processes.js';
import { startShortArena } from './short-arena.js';

let arena: Arena;
beforeAll(async () => {
  arena = await startShortArena();
});
afterAll(() => arena.stop());

/** Transactions of a challenger: four demands, announcement, proof, deposits. Of an executor: four answers. */
const POINTS = [
  ...[1, 2, 3, 4, 5, 6, 7].flatMap((n) => [['watcher', `before:${n}`] as const, ['watcher', `behind:${n}`] as const]),
  ...[1, 2, 3, 4].flatMap((n) => [['executor', `before:${n}`] as const, ['executor', `behind:${n}`] as const]),
];
/** Questions to the node, in between: 1 lies in the start. */
const QUESTIONS = Array.from({ length: 20 }, (_, i) => 25 + 23 * i);

describe('a process that is killed', () => {
  it.each(POINTS)('%s, %s its n-th transaction', async (role, point) => {
    expect(await playKilled(arena, role, point)).toBe(true);
  });
  it.each(QUESTIONS)('at question %d, as either', async (n) => {
    await playKilled(arena, 'watcher', `question:${n}`);
    await playKilled(arena, 'executor', `question:${n}`);
  });
});
