import { mkdtempSync, rmSync, writeFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compileContracts } from './build.js';
import { renderBinding } from './render-binding.js';

const cacheDir = mkdtempSync(join(tmpdir(), 'assay-contracts-'));
afterAll(() => rmSync(cacheDir, { recursive: true }));

describe('contract build', () => {
  it('compiles once, then serves the cache, and mends a damaged cache', async () => {
    let compilations = 0;
    const options = { cacheDir, onCompile: () => void compilations++ };
    const listeners = process.listenerCount('unhandledRejection');
    const fresh = await compileContracts(options);
    expect(process.listenerCount('unhandledRejection')).toBe(listeners);
    expect(await compileContracts(options)).toEqual(fresh);
    expect(compilations).toBe(1);
    const [file] = readdirSync(cacheDir);
    writeFileSync(join(cacheDir, file!), '{"ReceiptRo');
    expect(await compileContracts(options)).toEqual(fresh);
    expect(compilations).toBe(2);
  });

  it('refuses an unknown source folder', async () => {
    await expect(compileContracts({ folders: ['nowhere'], cacheDir })).rejects.toMatchObject({
      code: 'CONTRACT_BUILD_FAILED',
    });
  });

  // A difference fails here; `npx vitest run verifier-contracts/bindings.test.ts -u` writes the bindings anew.
  it('bindings are those of the sources', async () => {
    const artifacts = await compileContracts();
    await expect(renderBinding('ReceiptRollup', artifacts['ReceiptRollup']!.abi)).toMatchFileSnapshot(
      'bindings/ReceiptRollup.ts',
    );
  });
});
