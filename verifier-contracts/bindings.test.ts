import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compileContracts } from './build.js';
import { renderBinding } from './render-binding.js';

const BOUND = [
  'BatchVerifier',
  'Beacon',
  'DirectVerifier',
  'DisputeGame',
  'Escrow',
  'FloatStep',
  'IntegerStep',
  'ProgramStore',
  'QuorumCourt',
  'ReceiptRollup',
  'TapeMaker',
  'WrappedNative',
  'ZkVerifier',
] as const;

const cacheDir = mkdtempSync(join(tmpdir(), 'assay-contracts-'));
afterAll(() => rmSync(cacheDir, { recursive: true }));

describe('contract build', () => {
  it('compiles each source once, then serves the cache, and mends a damaged cache', async () => {
    let compilations = 0;
    const options = { folders: ['harness'], cacheDir, onCompile: () => void compilations++ };
    const listeners = process.listenerCount('unhandledRejection');
    const fresh = await compileContracts(options);
    expect(Object.keys(fresh)).toContain('HarnessCourt');
    expect(process.listenerCount('unhandledRejection')).toBe(listeners);
    expect(await compileContracts(options)).toEqual(fresh);
    expect(compilations).toBe(1);
    const file = readdirSync(cacheDir).find((name) =>
      readFileSync(join(cacheDir, name), 'utf8').startsWith('{"HarnessCourt"'),
    );
    writeFileSync(join(cacheDir, file!), '{"HarnessCo');
    expect(await compileContracts(options)).toEqual(fresh);
    expect(compilations).toBe(2);
  });

  it('one process compiles, another waits for it, and the lock of a dead one holds up nobody', async () => {
    const own = mkdtempSync(join(tmpdir(), 'assay-contracts-'));
    try {
      let compilations = 0;
      const options = { folders: ['harness'], cacheDir: own, onCompile: () => void compilations++ };
      const [one, two] = await Promise.all([compileContracts(options), compileContracts(options)]);
      expect(one).toEqual(two);
      const files = readdirSync(own);
      expect(files.filter((name) => !/^[0-9a-f]{64}\.json$/.test(name))).toEqual([]);
      const [file] = files;
      rmSync(join(own, file!));
      // No process has this number.
      writeFileSync(join(own, `${file}.lock`), String(2 ** 22 + 1));
      expect(await compileContracts(options)).toEqual(one);
      expect(readdirSync(own).sort()).toEqual(files.sort());
    } finally {
      rmSync(own, { recursive: true });
    }
  });

  it('refuses an unknown source folder', async () => {
    await expect(compileContracts({ folders: ['nowhere'], cacheDir })).rejects.toMatchObject({
      code: 'CONTRACT_BUILD_FAILED',
    });
  });

  it('follows imports into other folders and packages, and reads no more than they reach', async () => {
    const artifacts = await compileContracts({ folders: ['harness'], cacheDir });
    expect(artifacts['HarnessCourt']).toBeDefined();
    expect(artifacts['Escrow']).toBeUndefined();
    const all = await compileContracts();
    expect(all['WrappedNative']!.abi.some(({ name }) => name === 'transferFrom')).toBe(true);
    // Of a package there is code in our contracts, but no contract.
    expect(all['ERC20']).toBeUndefined();
  });

  // A difference fails here; `npx vitest run verifier-contracts/bindings.test.ts -u` writes the bindings anew.
  it.each(BOUND)('the binding of %s is that of its source', async (name) => {
    const { abi } = (await compileContracts())[name]!;
    await expect(renderBinding(name, abi)).toMatchFileSnapshot(`bindings/${name}.ts`);
  });

  it('every binding has a source', () => {
    const files = readdirSync(new URL('bindings', import.meta.url)).map((name) => name.replace(/\.ts$/, ''));
    expect(files.sort()).toEqual([...BOUND].sort());
  });
});
