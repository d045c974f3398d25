/** The proof that the Solidity tests look: contracts with a mistake fail them. */
import { describe, expect, it } from 'vitest';
import { compileContracts } from '../build.js';
import { forgeBinary, runForge } from './run-forge.js';
import { compileBroken, MISTAKES } from './testing/broken-contracts.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const binary = forgeBinary();

if (binary === null) {
  it.skip(`no forge for ${process.platform}-${process.arch}: its optional package is not installed`);
} else {
  console.log(`forge seed ${seed}`);

  describe('a contract in which', () => {
    it.each(MISTAKES)('$name is found', async (mistake) => {
      const artifacts = { ...(await compileContracts()), ...(await compileBroken(mistake)) };
      const results = await runForge(binary, {
        artifacts,
        profile: 'broken',
        seed,
        matchContract: 'Settlement|Clock',
        timeoutMs: 600_000,
      });
      const failed = results.filter(({ passed }) => !passed);
      console.log(
        [mistake.name, ...failed.map(({ name, reason }) => `  ${name}: ${reason.split('\n')[0]}`)].join('\n'),
      );
      expect(failed).not.toEqual([]);
    });
  });
}
