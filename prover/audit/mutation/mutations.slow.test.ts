/** Every slip of the verifier is noticed by a test; the table goes to the output. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { runMutations } from './run-mutations.js';

it('no mutation survives', () => {
  const root = path.resolve(import.meta.dirname, '../../..');
  const outcomes = runMutations(root, ({ name, killedBy }, done, all) =>
    console.log(`${done}/${all} ${name}\n    -> ${killedBy ?? 'SURVIVES'}`),
  );
  expect(outcomes.filter(({ killedBy }) => killedBy === null).map(({ name }) => name)).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(60);
});
