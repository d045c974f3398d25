/** `assay srs` as a user calls it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { main } from '../../cli/main.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { developmentHead } from './development-srs.js';
import { srsIdOf } from './srs.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-srs-command-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

/** Runs one command line; the exit code and the JSON it printed. */
async function assay(...words: string[]): Promise<{ code: number; printed: Record<string, unknown> }> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  const code = await main(['node', 'assay', 'srs', ...words, '--json']);
  vi.restoreAllMocks();
  return { code, printed: JSON.parse(lines.join('')) as Record<string, unknown> };
}

test('dev writes a file that info checks and names as development', async () => {
  const out = join(folder, 'dev.srs');
  const facts = { srsId: `0x${bytesToHex(srsIdOf(developmentHead()))}`, points: 256, development: true };
  expect(await assay('dev', '--size', '256', '--out', out)).toMatchObject({ code: 0, printed: { out, ...facts } });
  expect(await assay('info', out)).toEqual({ code: 0, printed: { file: out, ...facts } });
});

test('import refuses a file without a hash, with another hash, and one that is no ceremony file', async () => {
  const out = join(folder, 'imported.srs');
  const file = join(folder, 'dev.srs');
  const refused = (error: unknown) => ({ code: 2, printed: { error } });
  expect(await assay('import', file, '--out', out)).toMatchObject(
    refused({ code: 'SRS_INVALID', mend: expect.stringContaining('--sha256') as string }),
  );
  expect(await assay('import', file, '--out', out, '--sha256', '00')).toMatchObject(
    refused({ code: 'SRS_INVALID', message: expect.stringContaining('expected sha256 00') as string }),
  );
  expect(await assay('import', join(folder, 'none'), '--out', out, '--sha256', '00')).toMatchObject(
    refused({ code: 'FILE_NOT_FOUND' }),
  );
  expect(await assay('info', join(folder, 'none'))).toMatchObject(refused({ code: 'FILE_NOT_FOUND' }));
});
