/** Fuzz and invariant tests in Solidity, in a size that fits the fast suite; each is reported as a test of its own. */
import { describe, expect, it } from 'vitest';
import { compileContracts } from '../build.js';
import { forgeBinary, runForge } from './run-forge.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const binary = forgeBinary();

if (binary === null) {
  it.skip(`no forge for ${process.platform}-${process.arch}: its optional package is not installed`);
} else {
  console.log(`forge seed ${seed}`);
  const artifacts = await compileContracts();
  const tests = await runForge(binary, { artifacts, profile: 'default', seed, timeoutMs: 300_000 });

  for (const contract of new Set(tests.map((test) => test.contract))) {
    describe(contract, () => {
      for (const { name, passed, reason } of tests.filter((test) => test.contract === contract)) {
        it(name.replace(/\(.*/, ''), () => {
          expect(passed, `seed ${seed}: ${reason}`).toBe(true);
        });
      }
    });
  }
}
