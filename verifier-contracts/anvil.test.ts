import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractFactory, id, Wallet, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isDevelopmentAccount } from '../common/development-keys.js';
import { drawSeed } from '../receipts/batch.js';
import type { Hex } from '../receipts/types.js';
import { anvilKey, startAnvil } from './anvil.js';
import { compileContracts } from './build.js';
import { connectChain } from './connect-chain.js';
import { deployRollup } from './deploy.js';
import { freshSalt, pathOf, startRollup, testPolicy } from './harness/rollup-fixture.js';
import { RollupClient } from './rollup-client.js';

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
    const before = await startRollup(testPolicy, { stateDir });
    const receipts = await before.receipts(3);
    const { header, batchHash } = await before.client.commit('sampled', receipts, freshSalt());
    await before.anvil.mine(testPolicy.beaconDelay + 1);
    const drawBlock = before.client.drawBlockOf(header);
    const { hash } = (await before.provider.getBlock(drawBlock))!;
    await before.stop();

    const anvil = await startAnvil({ stateDir });
    expect(anvil.adopted).toBe(false);
    const provider = await connectChain(anvil.url);
    const signer = new Wallet(anvilKey(0), provider);
    const client = await RollupClient.connect({ provider, address: before.client.address, signer });
    expect((await client.readBatch(batchHash)).receipts).toEqual(receipts);
    expect(await client.statusOf(receipts[0]!.receipt, 0, pathOf(receipts, 0), header, 'finalized')).toBe('pending');
    expect((await client.fixSeed(header)).seed).toBe(drawSeed(hash as Hex, batchHash));
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
  it('are known, and refused on a real chain as signer and as auditor', async () => {
    for (let i = 0; i < 10; i++) expect(isDevelopmentAccount(new Wallet(anvilKey(i)).address)).toBe(true);
    expect(new Wallet(anvilKey(9)).address).toBe('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720');
    expect(isDevelopmentAccount(new Wallet(id('own')).address)).toBe(false);
    const anvil = await startAnvil({ chainId: 4242n });
    const provider = await connectChain(anvil.url, 4242n);
    try {
      const refused = { code: 'DEV_KEY_REFUSED' };
      await expect(deployRollup(new Wallet(anvilKey(0), provider), testPolicy)).rejects.toMatchObject(refused);
      const auditor = new Wallet(anvilKey(1)).address.toLowerCase() as Hex;
      const policy = { ...testPolicy, auditors: [auditor], quorum: 1 };
      await expect(deployRollup(new Wallet(id('own'), provider), policy)).rejects.toMatchObject(refused);
      await expect(connectChain(anvil.url, 1n)).rejects.toMatchObject({ code: 'CHAIN_MISMATCH' });

      // Whoever deployed it some other way: the client refuses too, even to read.
      const own = new Wallet(id('own'), provider);
      await provider.send('anvil_setBalance', [own.address, '0xffffffffffffffffffff']);
      const { abi, bytecode } = (await compileContracts())['ReceiptRollup']!;
      const deployed = await new ContractFactory(abi as InterfaceAbi, bytecode, own).deploy(policy);
      const captured = (await (await deployed.waitForDeployment()).getAddress()).toLowerCase() as Hex;
      await expect(RollupClient.connect({ provider, address: captured })).rejects.toMatchObject({
        ...refused,
        message: expect.stringContaining(auditor),
      });
      const { address } = await deployRollup(own, testPolicy);
      const signer = new Wallet(anvilKey(0), provider);
      await expect(RollupClient.connect({ provider, address, signer })).rejects.toMatchObject(refused);
      expect((await RollupClient.connect({ provider, address, signer: own })).policy).toEqual(testPolicy);
    } finally {
      provider.destroy();
      await anvil.stop();
    }
  });
});
