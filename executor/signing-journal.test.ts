import { spawn } from 'node:child_process';
import { appendFile, mkdtemp, open, readFile, rm, truncate, unlink, writeFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { FileJournal } from './signing-journal.js';

const ADDRESS: Hex = '0x00000000000000000000000000000000000000aa';
const hash = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const signature = (n: number): Hex => `0x${n.toString(16).padStart(130, '0')}`;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-journal-'));
  path = join(folder, 'signed.jsonl');
});
afterEach(() => rm(folder, { recursive: true }));

describe('FileJournal', () => {
  it('accepts an order once, beside its receipt: the same signature again, also after a restart', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    let calls = 0;
    const sign = async (): Promise<Hex> => signature(++calls);
    const twice = await Promise.all([journal.acceptOnce(hash(1), sign), journal.acceptOnce(hash(1), sign)]);
    expect(twice).toEqual([signature(1), signature(1)]);
    // An acceptance is no receipt: the order can still be signed for.
    expect(journal.find(hash(1))).toBeNull();
    expect(await journal.signOnce(hash(1), hash(10), sign)).toBe(signature(2));
    await journal.close();
    await expect(journal.acceptOnce(hash(2), sign)).rejects.toMatchObject({ code: 'EXECUTOR_CLOSED' });

    const reopened = await FileJournal.open(path, ADDRESS);
    expect(await reopened.acceptOnce(hash(1), sign)).toBe(signature(1));
    expect(reopened.find(hash(1))?.signature).toBe(signature(2));
    expect(calls).toBe(2);
    await reopened.close();
    const [, acceptance] = (await readFile(path, 'utf8')).split('\n');
    await appendFile(path, `${acceptance}\n`);
    await expect(FileJournal.open(path, ADDRESS)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' });
  });

  it('signs an order once: the same receipt gets the first signature, another is refused', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    let calls = 0;
    const sign = async (): Promise<Hex> => signature(++calls);
    expect(await journal.signOnce(hash(1), hash(10), sign)).toBe(signature(1));
    expect(await journal.signOnce(hash(1), hash(10), sign)).toBe(signature(1));
    await expect(journal.signOnce(hash(1), hash(11), sign)).rejects.toMatchObject({
      code: 'EQUIVOCATION_REFUSED',
      meta: { orderHash: hash(1), signed: hash(10), refused: hash(11) },
    });
    expect(calls).toBe(1);
    await journal.close();

    const reopened = await FileJournal.open(path, ADDRESS);
    expect(await reopened.signOnce(hash(1), hash(10), sign)).toBe(signature(1));
    await expect(reopened.signOnce(hash(1), hash(11), sign)).rejects.toMatchObject({ code: 'EQUIVOCATION_REFUSED' });
    expect(reopened.find(hash(1))).toEqual({ orderHash: hash(1), receiptHash: hash(10), signature: signature(1) });
    expect(reopened.find(hash(2))).toBeNull();
    await reopened.close();
  });

  it('signs one of two different receipts for an order that come at the same time', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    const slow = (n: number) => async (): Promise<Hex> => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return signature(n);
    };
    const outcomes = await Promise.allSettled([
      journal.signOnce(hash(1), hash(10), slow(1)),
      journal.signOnce(hash(1), hash(11), slow(2)),
      journal.signOnce(hash(1), hash(10), slow(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ value: signature(1) });
    await journal.close();
  });

  it('has the line on the disk before the signature leaves', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await journal.signOnce(hash(1), hash(10), async () => signature(1));
    expect(await readFile(path, 'utf8')).toContain(signature(1));
    await journal.close();
  });

  it('records nothing where signing fails, and goes on', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await expect(
      journal.signOnce(hash(1), hash(10), () => Promise.reject(new Error('key service down'))),
    ).rejects.toThrow('key service down');
    expect(await journal.signOnce(hash(1), hash(11), async () => signature(2))).toBe(signature(2));
    await journal.close();
  });

  it('recovers from a crash in the middle of the last write, wherever it stops', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await journal.signOnce(hash(1), hash(10), async () => signature(1));
    const before = (await readFile(path)).length;
    await journal.signOnce(hash(2), hash(20), async () => signature(2));
    await journal.close();
    const whole = await readFile(path);
    for (let length = before; length < whole.length; length += 9) {
      await writeFile(path, whole);
      await truncate(path, length);
      const reopened = await FileJournal.open(path, ADDRESS);
      expect(reopened.size, `cut to ${length}`).toBe(1);
      // Its signature never left, so signing another receipt is no equivocation.
      await reopened.signOnce(hash(2), hash(21), async () => signature(3));
      await reopened.close();
      const again = await FileJournal.open(path, ADDRESS);
      expect(again.find(hash(2))?.receiptHash).toBe(hash(21));
      await again.close();
    }
  });

  it('refuses a damaged line, a foreign journal, another version, a repeated order', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await journal.signOnce(hash(1), hash(10), async () => signature(1));
    await journal.close();
    const whole = await readFile(path, 'utf8');
    const [header, line] = whole.split('\n') as [string, string];
    const bad: Record<string, string> = {
      'no header': '',
      'line cut in the middle of the file': `${header}\n${line.slice(0, 40)}\n${line}\n`,
      'no JSON object': `${header}\n7\n`,
      'hash too short': `${header}\n${line.replace(hash(10), '0x12')}\n`,
      'order twice': `${header}\n${line}\n${line}\n`,
      'another version': `${header.replace('"version":1', '"version":2')}\n${line}\n`,
    };
    for (const [what, text] of Object.entries(bad)) {
      await writeFile(path, text);
      await expect(FileJournal.open(path, ADDRESS), what).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' });
    }
    await writeFile(path, whole);
    const other: Hex = '0x00000000000000000000000000000000000000bb';
    await expect(FileJournal.open(path, other)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' });
    // None of the refusals kept the lock.
    await (await FileJournal.open(path, ADDRESS)).close();
  });

  it('says JOURNAL_MISSING where there is none', async () => {
    await expect(FileJournal.open(path, ADDRESS)).rejects.toMatchObject({ code: 'JOURNAL_MISSING' });
    const nowhere = join(folder, 'absent/signed.jsonl');
    await expect(FileJournal.open(nowhere, ADDRESS)).rejects.toMatchObject({ code: 'JOURNAL_MISSING' });
  });

  it('is held by one at a time', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await expect(FileJournal.open(path, ADDRESS)).rejects.toMatchObject({
      code: 'JOURNAL_LOCKED',
      meta: { pid: process.pid },
    });
    await journal.close();
    await (await FileJournal.open(path, ADDRESS)).close();
  });

  it('takes over the lock of a process that was killed, with what it had signed', async () => {
    const script = `
      const { FileJournal } = await import(process.argv[1]);
      const journal = await FileJournal.create(process.argv[2], '${ADDRESS}');
      await journal.signOnce('${hash(1)}', '${hash(10)}', async () => '${signature(1)}');
      console.log('signed');
      setInterval(() => {}, 1000);
    `;
    const url = new URL('./signing-journal.ts', import.meta.url).href;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, url, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await expect(FileJournal.open(path, ADDRESS)).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' });
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const journal = await FileJournal.open(path, ADDRESS);
    expect(journal.find(hash(1))?.receiptHash).toBe(hash(10));
    await journal.close();
  });

  it('stops signing when its lock is gone', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await unlink(`${path}.lock`);
    const sign = async (): Promise<Hex> => signature(1);
    await expect(journal.signOnce(hash(1), hash(10), sign)).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' });
    const second = await FileJournal.open(path, ADDRESS);
    await expect(journal.signOnce(hash(1), hash(10), sign)).rejects.toMatchObject({ code: 'JOURNAL_LOCKED' });
    // Closing the first leaves the lock of the second alone.
    await journal.close();
    expect(await second.signOnce(hash(1), hash(11), sign)).toBe(signature(1));
    await second.close();
  });

  it('refuses a signature whose line was written short, undoes it, and goes on', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    await journal.signOnce(hash(1), hash(10), async () => signature(1));
    const before = await readFile(path, 'utf8');
    const handle = await open(path);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    // As write(2) may: a part of the bytes, and no error.
    const write = prototype.write as (bytes: Uint8Array, offset: number, length: number, at: number) => unknown;
    const spy = vi.spyOn(prototype, 'write').mockImplementationOnce(function (this: FileHandle, ...[line]: unknown[]) {
      return write.call(this, Buffer.from(line as Uint8Array), 0, 30, before.length);
    } as FileHandle['write']);
    const short = journal.signOnce(hash(2), hash(20), async () => signature(2));
    await expect(short).rejects.toMatchObject({ code: 'STORE_FULL', meta: { written: 30 } });
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();
    expect(await readFile(path, 'utf8')).toBe(before);
    expect(journal.find(hash(2))).toBeNull();
    expect(await journal.signOnce(hash(2), hash(21), async () => signature(3))).toBe(signature(3));
    await journal.close();
    const reopened = await FileJournal.open(path, ADDRESS);
    expect(reopened.find(hash(2))?.receiptHash).toBe(hash(21));
    await reopened.close();
  });

  it('appends behind what is there', async () => {
    const journal = await FileJournal.create(path, ADDRESS);
    for (let n = 1; n <= 20; n++) await journal.signOnce(hash(n), hash(100 + n), async () => signature(n));
    await journal.close();
    await appendFile(path, '{"orderHash":"0x');
    const reopened = await FileJournal.open(path, ADDRESS);
    expect(reopened.size).toBe(20);
    await reopened.close();
  });
});
