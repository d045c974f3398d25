import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { id, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isDevelopmentAccount } from '../common/development-keys.js';
import { drawSeed } from '../receipts/batch.js';
import type { Hex } from '../receipts/types.js';
import { anvilKey, startAnvil } from './anvil.js';
import { connectChain } from './connect-chain.js';
import { pathOf, startSettlement, testTerms } from './harness/settlement-fixture.js';
import { SettlementClient } from './settlement-client.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-anvil-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

describe('anvil', () => {
  it('runs privately, and ends', async () => {
    const [a, b] = await Promise.all([startAnvil(), startAnvil()]);
    expect(a.url).not.toBe(b.url);
    expect(a.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const provider = await connectChain(a.url, 31337n);
    await a.mine(3);
    expect(await provider.getBlockNumber()).toBe(3);
    provider.destroy();
    await Promise.all([a.stop(), b.stop()]);
    await a.stop();
    expect(isGone(a.pid) && isGone(b.pid)).toBe(true);
    await expect(a.mine(1)).rejects.toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
  });

  it('a chain stopped in the middle of a round goes on: batches, events, and the seed of a block before the restart', async () => {
    const stateDir = join(folder, 'restart');
    const before = await startSettlement({ stateDir, terms: { ...testTerms, auditWindow: 100_000 } });
    const receipts = await before.receipts(3);
    const { header, batchHash } = await before.commit(receipts);
    await before.anvil.mine(testTerms.beaconDelay + 1);
    const drawBlock = before.court.drawBlockOf(header);
    const { hash } = (await before.provider.getBlock(drawBlock))!;
    await before.stop();

    const anvil = await startAnvil({ stateDir });
    expect(anvil.adopted).toBe(false);
    const provider = await connectChain(anvil.url);
    const signer = new Wallet(anvilKey(0), provider);
    const { rollup, court } = await SettlementClient.connect({ provider, rollup: before.rollup.address, signer });
    expect((await rollup.readBatch(batchHash)).receipts).toEqual(receipts);
    expect(await rollup.statusOf(receipts[0]!.receipt, 0, pathOf(receipts, 0), header, 'finalized')).toBe('pending');
    expect((await court!.fixSeed(header)).seed).toBe(drawSeed(hash as Hex, batchHash));
    provider.destroy();
    await anvil.stop();
  });

  it('an owner killed without warning leaves the chain running, and the next owner takes it over', async () => {
    const stateDir = join(folder, 'killed');
    const script = `
      import { startAnvil } from ${JSON.stringify(new URL('./anvil.ts', import.meta.url).href)};
      const anvil = await startAnvil({ stateDir: ${JSON.stringify(stateDir)} });
      await anvil.mine(7);
      console.log(JSON.stringify({ pid: anvil.pid, url: anvil.url }));
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const first = await new Promise<{ pid: number; url: string }>((resolve) => {
      let text = '';
      owner.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('\n')) resolve(JSON.parse(text) as { pid: number; url: string });
      });
    });
    owner.kill('SIGKILL');
    await new Promise((resolve) => owner.once('exit', resolve));

    const anvil = await startAnvil({ stateDir });
    expect(anvil).toMatchObject({ adopted: true, pid: first.pid, url: first.url });
    const provider = await connectChain(anvil.url);
    expect(await provider.getBlockNumber()).toBe(7);
    provider.destroy();
    await anvil.stop();
    expect(isGone(first.pid)).toBe(true);

    const again = await startAnvil({ stateDir });
    expect(again.adopted).toBe(false);
    const later = await connectChain(again.url);
    expect(await later.getBlockNumber()).toBe(9);
    later.destroy();
    await again.stop();
  });

  it('a note that names a dead process, or another chain, is not followed', async () => {
    const stateDir = join(folder, 'stale');
    const stranger = await startAnvil();
    const port = Number(new URL(stranger.url).port);
    const mine = await startAnvil({ stateDir });
    await mine.stop();
    writeFileSync(join(stateDir, 'anvil.json'), JSON.stringify({ pid: stranger.pid, port, genesis: id('another') }));
    const next = await startAnvil({ stateDir });
    expect(next.adopted).toBe(false);
    await next.stop();
    writeFileSync(join(stateDir, 'anvil.json'), JSON.stringify({ pid: next.pid, port, genesis: id('another') }));
    const last = await startAnvil({ stateDir });
    expect(last.adopted).toBe(false);
    await last.stop();
    expect(isGone(stranger.pid)).toBe(false);
    await stranger.stop();
  });

  it('a damaged state file is named, not ignored', async () => {
    const stateDir = join(folder, 'damaged');
    const anvil = await startAnvil({ stateDir });
    await anvil.stop();
    writeFileSync(join(stateDir, 'state.json'), '{"block":');
    await expect(startAnvil({ stateDir })).rejects.toMatchObject({ code: 'ANVIL_FAILED' });
  });
});

describe('development keys', () => {
  // That they are refused on a real chain: deploy.test.ts.
  it('are known', async () => {
    for (let i = 0; i < 10; i++) expect(isDevelopmentAccount(new Wallet(anvilKey(i)).address)).toBe(true);
    expect(new Wallet(anvilKey(9)).address).toBe('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720');
    expect(isDevelopmentAccount(new Wallet(id('own')).address)).toBe(false);
    const anvil = await startAnvil({ chainId: 4242n });
    try {
      await expect(connectChain(anvil.url, 1n)).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });
    } finally {
      await anvil.stop();
    }
  });
});
