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
/** Questions to the node, in between: a life of the watcher asks a good 205, one of the executor a good 140. */
const QUESTIONS = Array.from({ length: 20 }, (_, i) => [
  ['watcher', 10 * (i + 1)] as const,
  ['executor', 7 * (i + 1)] as const,
]);

describe('a process that is killed', () => {
  it.each(POINTS)('%s, %s its n-th transaction', async (role, point) => {
    expect(await playKilled(arena, role, point)).toBe(true);
  });
  it.each(QUESTIONS.flat())('%s, at its question %d', async (role, n) => {
    expect(await playKilled(arena, role, `question:${n}`)).toBe(true);
  });
});
