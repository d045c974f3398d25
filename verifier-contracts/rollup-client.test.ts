import { ContractFactory, id, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { connectChain } from './connect-chain.js';
import { evidenceFor, freshSalt, startSettlement, type SettlementFixture } from './harness/settlement-fixture.js';
import { SettlementClient } from './settlement-client.js';

let f: SettlementFixture;
beforeAll(async () => {
  f = await startSettlement();
});
afterAll(() => f.stop());

describe('reading back', () => {
  it('a stranger rebuilds a batch from the chain alone', async () => {
    const receipts = await f.receipts(5, (receipt, i) => ({
      ...receipt,
      // The first one charges more than it may, and stays in the batch without standing.
      amount: i === 0 ? 2n ** 256n - 1n : receipt.amount - BigInt(i),
      opCount: 2 ** 32 - 1,
    }));
    const { header, batchHash, transactionHash } = await f.commit(receipts);
    expect(header.unbound).toBe(1n);
    await f.commit(await f.receipts(1));
    const { rollup: stranger } = await SettlementClient.connect({ provider: f.provider, rollup: f.rollup.address });
    expect(await stranger.readBatch(batchHash)).toEqual({ batchHash, header, receipts, transactionHash });
    expect(await stranger.headerOf(batchHash)).toEqual(header);
    expect(await stranger.headerIn(transactionHash, batchHash)).toEqual(header);
    expect(await stranger.headerIn(transactionHash, id('other') as Hex)).toBeNull();
    expect(await stranger.headerIn(id('no such transaction') as Hex, batchHash)).toBeNull();
  });

  it('a batch of the zk lane too, with its proof', async () => {
    const receipts = await f.receipts(2, (receipt) => receipt, { lane: 'zk' });
    const { header, batchHash, transactionHash } = await f.commitProved(receipts);
    expect(await f.rollup.readBatch(batchHash)).toEqual({
      batchHash,
      header,
      receipts,
      transactionHash,
      evidence: evidenceFor(receipts),
    });
  });

  it('an unknown batch', async () => {
    expect(await f.rollup.headerOf(id('none') as Hex)).toBeNull();
    await expect(f.rollup.readBatch(id('none') as Hex)).rejects.toMatchObject({ code: 'CHAIN_BATCH_UNKNOWN' });
  });

  it('a batch that went through another contract is reported as unreadable, though it stands', async () => {
    const receipts = await f.receipts(1);
    const { data } = f.rollup.commitCall('sampled', f.client.policyHash, receipts, freshSalt());
    // Creation code that calls the rollup with the bytes that follow it:
    // CODECOPY(0, 37, n); CALL(gas, rollup, 0, 0, n, 0, 0); STOP
    const size = ((data.length - 2) / 2).toString(16).padStart(4, '0');
    const code = `0x61${size}602b5f395f5f61${size}5f5f73${f.rollup.address.slice(2)}5af15f5ff3`;
    const padded = `${code}${'00'.repeat(43 - (code.length - 2) / 2)}${data.slice(2)}`;
    const sent = await f.signer.sendTransaction({ data: padded, gasLimit: 2_000_000 });
    const mined = (await sent.wait())!;
    const log = mined.logs.find(({ address }) => address.toLowerCase() === f.rollup.address);
    const batchHash = log!.topics[1] as Hex;
    expect((await f.rollup.headerOf(batchHash))?.count).toBe(1);
    await expect(f.rollup.readBatch(batchHash)).rejects.toMatchObject({
      code: 'CHAIN_BATCH_UNKNOWN',
      message: expect.stringContaining('through another one'),
    });
  });
});

describe('typed failures', () => {
  it('no contract, another contract, no chain', async () => {
    const nobody = `0x${'12'.repeat(20)}` as Hex;
    await expect(SettlementClient.connect({ provider: f.provider, rollup: nobody })).rejects.toMatchObject({
      code: 'CHAIN_MISMATCH',
    });
    // One that refuses every call, and one that answers it with nothing.
    for (const code of ['0x60fe60005360016000f3', '0x600060005360016000f3']) {
      const other = await new ContractFactory([], code, f.signer).deploy();
      await other.waitForDeployment();
      const rollup = (await other.getAddress()).toLowerCase() as Hex;
      await expect(SettlementClient.connect({ provider: f.provider, rollup })).rejects.toMatchObject({
        code: 'CHAIN_MISMATCH',
      });
    }
    await expect(connectChain('http://127.0.0.1:1')).rejects.toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
    await expect(connectChain('no address')).rejects.toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
  });

  it('a chain that goes away is CHAIN_UNAVAILABLE for every question, at once', async () => {
    const doomed = await startSettlement();
    const receipts = await doomed.receipts(1);
    const { header } = await doomed.commit(receipts);
    await doomed.anvil.stop();
    const down = { code: 'CHAIN_UNAVAILABLE', kind: 'infrastructure' };
    const started = Date.now();
    await expect(doomed.escrow.orderOf(id('x') as Hex)).rejects.toMatchObject(down);
    await expect(doomed.escrow.tokenBalanceOf(f.rollup.address)).rejects.toMatchObject(down);
    await expect(doomed.client.termsOf(id('x') as Hex)).rejects.toMatchObject(down);
    await expect(doomed.court.seedOf(id('x') as Hex)).rejects.toMatchObject(down);
    await expect(doomed.rollup.readBatch(id('x') as Hex)).rejects.toMatchObject(down);
    await expect(doomed.court.fixSeed(header)).rejects.toMatchObject(down);
    await expect(doomed.rollup.statusOf(receipts[0]!.receipt, 0, [], header)).rejects.toMatchObject(down);
    expect(Date.now() - started).toBeLessThan(20_000);
    doomed.provider.destroy();
  });

  it('a poster without money is told so', async () => {
    const poor = new Wallet(id('poor'), f.provider);
    const { rollup } = await SettlementClient.connect({ provider: f.provider, rollup: f.rollup.address, signer: poor });
    const receipts = await f.receipts(1);
    await expect(rollup.commit('sampled', f.client.policyHash, receipts, freshSalt())).rejects.toMatchObject({
      code: 'CHAIN_UNAVAILABLE',
      message: expect.stringMatching(/insufficient funds/i),
    });
  });

  it('too many receipts are refused before anything is sent', async () => {
    const [one] = await f.receipts(1);
    const many = Array.from({ length: 257 }, () => one!);
    await expect(f.commit(many)).rejects.toMatchObject({ code: 'BATCH_INVALID' });
  });
});
