import { mkdtemp, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openIdentity, openSigner } from './identity.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-identity-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('makes a key and its journal once, and finds them again', async () => {
  const first = await openIdentity(folder);
  await first.journal.close();
  const second = await openIdentity(folder);
  expect(second.address).toBe(first.address);
  expect(second.address).toMatch(/^0x[0-9a-f]{40}$/);
  await second.journal.close();
  expect((await readdir(folder)).sort()).toEqual(['executor.key', `signed-${first.address}.jsonl`]);
  expect((await stat(join(folder, 'executor.key'))).mode & 0o077).toBe(0);
});

it('refuses an existing key without its journal', async () => {
  const first = await openIdentity(folder);
  await first.journal.close();
  await unlink(join(folder, `signed-${first.address}.jsonl`));
  await expect(openIdentity(folder)).rejects.toMatchObject({ code: 'JOURNAL_MISSING' });
});

it('starts again where a crash came between journal and key', async () => {
  const first = await openIdentity(folder);
  await first.journal.close();
  await unlink(join(folder, 'executor.key'));
  const second = await openIdentity(folder);
  expect(second.address).not.toBe(first.address);
  await second.journal.close();
});

it('never shows a damaged key in its message', async () => {
  const secret = 'deadbeef'.repeat(8);
  await writeFile(join(folder, 'executor.key'), secret);
  const refusal = openIdentity(folder);
  await expect(refusal).rejects.toMatchObject({ code: 'KEY_INVALID' });
  await expect(refusal).rejects.not.toThrow(secret);
});

it('starts a journal for a signer kept elsewhere only when told that it is new', async () => {
  const signer = new Wallet(`0x${'01'.repeat(32)}`);
  await expect(openSigner(folder, signer, { firstUse: false })).rejects.toMatchObject({ code: 'JOURNAL_MISSING' });
  const first = await openSigner(folder, signer, { firstUse: true });
  await first.journal.close();
  const second = await openSigner(folder, signer, { firstUse: false });
  expect(second.address).toBe(signer.address.toLowerCase());
  await second.journal.close();
});
