/** The Solidity tests in their long form. */
import { describe, expect, it } from 'vitest';
import { compileContracts } from '../build.js';
import { forgeBinary, runForge } from './run-forge.js';

const MIN_INVARIANT_CALLS = 50_000;

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const binary = forgeBinary();

if (binary === null) {
  it.skip(`no forge for ${process.platform}-${process.arch}: its optional package is not installed`);
} else {
  console.log(`forge seed ${seed}`);
  const artifacts = await compileContracts();
  const started = performance.now();
  const tests = await runForge(binary, { artifacts, profile: 'slow', seed, timeoutMs: 1_800_000 });
  console.log(`forge, slow profile: ${Math.round((performance.now() - started) / 1000)} s`);

  describe('long run', () => {
    it.each(tests)('$contract $name', ({ passed, reason }) => {
      expect(passed, `seed ${seed}: ${reason}`).toBe(true);
    });

    it(`checks the invariants after at least ${MIN_INVARIANT_CALLS} calls`, () => {
      const invariants = tests.find(({ name }) => name.startsWith('invariant_settlement'));
      expect(invariants?.calls).toBeGreaterThanOrEqual(MIN_INVARIANT_CALLS);
    });
  });
}
