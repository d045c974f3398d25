import { ContractFactory, id, Wallet, type TransactionResponse } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { connectChain } from './connect-chain.js';
import { evidenceFor, freshSalt, startSettlement, type SettlementFixture } from './harness/settlement-fixture.js';
import { RollupClient } from './rollup-client.js';
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

  it('bytes that an ordinary decoder refuses: cut padding, and a signature that is found backwards', async () => {
    const receipts = await f.receipts(3);
    const { data } = f.rollup.commitCall('sampled', f.client.policyHash, receipts, freshSalt());
    // The last signature ends with 31 bytes of padding.
    const cut = await batchOf(data.slice(0, -62));
    expect((await f.rollup.readBatch(cut)).receipts).toEqual(receipts);

    const [moved] = await f.receipts(1);
    const own = f.rollup.commitCall('sampled', f.client.policyHash, [moved!], freshSalt()).data;
    // Arguments, then the signature, then the receipts and the heads of the signatures.
    const [head, rest] = [own.slice(10, 10 + 64 * 5), own.slice(10 + 64 * 5)];
    const [list, tail] = [rest.slice(0, 64 * 13), rest.slice(64 * 15)];
    const word = (value: number) => BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, '0');
    const length = tail.length / 2;
    const offsets = head.slice(0, 128) + word(160 + length) + word(160 + length + 13 * 32) + head.slice(256);
    // From the first head back over the number of heads and the receipts.
    const back = word(-(length + 13 * 32 + 32));
    const backwards = await batchOf(`${own.slice(0, 10)}${offsets}${tail}${list}${word(1)}${back}`);
    expect((await f.rollup.readBatch(backwards)).receipts).toEqual([moved]);
  });

  it.each<[string, (data: string) => Partial<TransactionResponse> | null, RegExp]>([
    ['is unknown to the node', () => null, /reached the contract through another one/],
    ['went to another contract', () => ({ to: `0x${'12'.repeat(20)}` }), /reached the contract through another one/],
    ['created one', () => ({ to: null }), /reached the contract through another one/],
    ['calls something else', () => ({ data: '0x12345678' }), /calls neither commit nor commitProved/],
    ['is cut off', (data) => ({ data: data.slice(0, 300) }), /cannot be read: (arguments|receipts|signatures): /],
    ['holds a lane that there is none of', (data) => ({ data: poked(data, 8, '09') }), /lane 9, which does not exist/],
    ['holds a time beyond all numbers', (data) => ({ data: poked(data, 11, 'ff'.repeat(8)) }), /issuedAt/],
    ['holds another receipt', (data) => ({ data: poked(data, 3, '77') }), /is of another batch/],
  ])('a transaction that %s: one error, with its reason', async (_what, change, reason) => {
    const { batchHash } = await f.commit(await f.receipts(1));
    const provider = new Proxy(f.provider, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target) as unknown;
        if (name !== 'getTransaction') return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        return async (hash: string) => {
          const real = (await target.getTransaction(hash))!;
          const changed = change(real.data);
          return changed === null ? null : { to: real.to, data: real.data, ...changed };
        };
      },
    });
    const reader = new RollupClient({ ...f.client.context, provider });
    const message = expect.stringMatching(reason) as string;
    await expect(reader.readBatch(batchHash)).rejects.toMatchObject({
      code: 'CHAIN_BATCH_UNKNOWN',
      message,
      meta: { batchHash },
    });
  });
});

/** Sends these bytes. @returns the name of the batch that they commit */
async function batchOf(data: string): Promise<Hex> {
  const sent = await f.signer.sendTransaction({ to: f.rollup.address, data });
  const log = (await sent.wait())!.logs.find(({ address }) => address.toLowerCase() === f.rollup.address);
  return log!.topics[1] as Hex;
}

/** The calldata of a commit of one, with other last bytes in this field of its receipt. */
function poked(data: string, field: number, bytes: string): string {
  const end = 10 + 64 * (5 + 1 + field + 1);
  return `${data.slice(0, end - bytes.length)}${bytes}${data.slice(end)}`;
}

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
