import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Server } from 'node:http';
import type { Hex } from '../../receipts/types.js';
import { traceServer } from '../watch/sources.js';
import { serveTraces, type ServedFiles } from './serve-traces.js';

const ROOT: Hex = `0x${'ab'.repeat(32)}`;
let server: Server | undefined;
afterEach(() => server?.close());

async function start(files: ServedFiles, atOnce?: number): Promise<string> {
  server = await serveTraces(files, { port: 0, ...(atOnce === undefined ? {} : { atOnce }) });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a server of traces', () => {
  it('gives what there is to whoever asks for it by its root', async () => {
    const url = await start(async (kind, root) => (kind === 'traces' && root === ROOT ? Uint8Array.of(1, 2, 3) : null));
    expect(await traceServer(`${url}/`)('traces', ROOT)).toEqual(Buffer.of(1, 2, 3));
    expect(await traceServer(url)('inputs', ROOT)).toBeNull();
  });

  it.each([
    '/',
    '/traces/',
    `/traces/${ROOT}/..`,
    `/traces/${ROOT.toUpperCase()}`,
    `/inputs/../traces/${ROOT}`,
    `/other/${ROOT}`,
  ])('has nothing at %s', async (path) => {
    const asked: string[] = [];
    const url = await start(async (kind) => (asked.push(kind), null));
    expect((await fetch(url + path)).status).toBe(404);
    expect(asked.filter((kind) => kind === 'inputs')).toEqual([]);
  });

  it('takes no writes, tells nothing of its failures, and answers so many at once', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const url = await start(async (kind) => {
      if (kind === 'inputs') throw new Error('a secret path');
      await gate;
      return Uint8Array.of(7);
    }, 1);
    expect((await fetch(`${url}/traces/${ROOT}`, { method: 'POST' })).status).toBe(404);
    const failed = await fetch(`${url}/inputs/${ROOT}`);
    expect([failed.status, await failed.text()]).toEqual([500, '']);
    const first = fetch(`${url}/traces/${ROOT}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await fetch(`${url}/traces/${ROOT}`)).status).toBe(503);
    open();
    expect((await first).status).toBe(200);
    await expect(traceServer(url)('inputs', ROOT)).rejects.toMatchObject({ code: 'TRACE_SERVER_FAILED' });
  });
});
