import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transaction, Wallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { deployTestSettlement } from '../../test/kill/deploy.js';
import type { Database } from '../database/database.js';
import { openPglite } from '../database/open-pglite.js';
import type { ChainPort } from '../ports.js';
import { settlementChain } from './settlement-chain.js';
import { TransactionJournal } from './transaction-journal.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-stuck-'));
const target: Hex = `0x${'ab'.repeat(20)}`;
const call = (data: string) => ({ to: target, data: `0x${data}` as Hex });
const ROOT: Hex = `0x${'22'.repeat(32)}`;
const refusal = (name: string) => new AssayError('CHAIN_REVERTED', name, { meta: { error: name } });
let anvil: Anvil;
let provider: JsonRpcProvider;
let chain: ChainPort;
let database: Database;
let account = 0;

beforeAll(async () => {
  anvil = await startAnvil();
  const rollup = await deployTestSettlement(anvil.url);
  provider = await connectChain(anvil.url);
  chain = settlementChain(await SettlementClient.connect({ provider, rollup }));
  database = await openPglite(scratch);
});
afterAll(async () => {
  await database?.close();
  provider?.destroy();
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

/** A journal of an account of its own, on a clock that only the test moves. */
function journal() {
  const signer = new Wallet(anvilKey(account++));
  const time = { now: 1_000_000 };
  const on = (parts: Partial<ChainPort> = {}, mayPost = () => true, patienceMs = 300) =>
    new TransactionJournal({
      database,
      chain: { ...chain, ...parts },
      signer,
      clock: () => time.now,
      replaceAfterMs: 1_000,
      patienceMs,
      mayPost,
    });
  const later = () => (time.now += 5_000);
  return { on, later, address: signer.address };
}
const forgetful: Partial<ChainPort> = { sendRaw: () => Promise.resolve() };
const transactions = async (key: string) =>
  (
    await database.query<{ raw: string }>('SELECT raw FROM assay.txs WHERE intent = $1 ORDER BY replaces NULLS FIRST', [
      key,
    ])
  ).map(({ raw }) => Transaction.from(raw));

describe('a nonce whose transaction is not mined', () => {
  it('is used by a dearer one though the call would revert by now, with the gas of the first', async () => {
    const { on, later } = journal();
    expect(await on(forgetful, undefined, 0).perform('a', call('0a'))).toBeNull();
    later();
    const refuses: Partial<ChainPort> = {
      price: () => Promise.reject(refusal('SeedTooEarly')),
      // The node has lost the first, and sees the replacement only.
      sendRaw: async (raw) => ((await transactions('a')).length > 1 ? chain.sendRaw(raw) : undefined),
    };
    await on(refuses).settleOpen();
    const [old, dearer] = await transactions('a');
    expect(dearer).toMatchObject({ nonce: old!.nonce, to: old!.to, data: old!.data, gasLimit: old!.gasLimit });
    expect(dearer!.maxFeePerGas! * 10n).toBeGreaterThanOrEqual(old!.maxFeePerGas! * 11n);
    expect(await on(refuses).perform('a', call('0a'))).toMatchObject({ hash: dearer!.hash, reverted: false });
  });

  it('is filled by a transfer to oneself where the call would revert for good: later ones pass', async () => {
    const { on, later, address } = journal();
    expect(await on(forgetful, undefined, 0).perform('b', call('0b'))).toBeNull();
    later();
    const dead: Partial<ChainPort> = { revertsForGood: () => Promise.resolve(true) };
    const filled = await on(dead).perform('b', call('0b'));
    // As if the call had reverted: the stage tries another intent, and learns the reason there.
    expect(filled).toMatchObject({ reverted: true });
    const filler = (await provider.getTransaction(filled!.hash))!;
    expect(filler).toMatchObject({ nonce: 0, to: address, data: '0x', value: 0n, gasLimit: 21_000n });
    expect(await database.query(`SELECT reverted FROM assay.txs WHERE hash = $1`, [filled!.hash])).toEqual([
      { reverted: true },
    ]);
    expect(await on().perform('b2', call('b2'))).toMatchObject({ reverted: false });
    expect(await provider.getTransactionCount(address)).toBe(2);
  });

  it('is signed again where the node refuses the stored fee after a crash', async () => {
    const { on, later, address } = journal();
    const killed = on({ sendRaw: () => Promise.reject(new Error('killed here')) });
    await expect(killed.perform('c', call('0c'))).rejects.toThrow('killed here');
    for (let i = 0; i < 2; i++) {
      await provider.send('anvil_setNextBlockBaseFeePerGas', ['0x2540be40000']);
      if (i === 0) await anvil.mine(1);
    }
    const [stored] = await transactions('c');
    await expect(chain.sendRaw(stored!.serialized)).rejects.toMatchObject({
      code: 'CHAIN_FEE_TOO_LOW',
      kind: 'infrastructure',
    });
    later();
    await on().settleOpen();
    expect(await on().perform('c', call('0c'))).toMatchObject({ reverted: false });
    expect(await on().perform('c2', call('c2'))).toMatchObject({ reverted: false });
    expect(await provider.getTransactionCount(address)).toBe(2);
  });

  it('holds up no other: all are tried, and then the first failure is told', async () => {
    const { on, address } = journal();
    for (const key of ['d1', 'd2']) await on(forgetful, undefined, 0).perform(key, call(key));
    await database.execute(`UPDATE assay.txs SET sent_at = NULL WHERE intent IN ('d1', 'd2')`);
    const [first] = await transactions('d1');
    const broken: Partial<ChainPort> = {
      minedAs: (hash) => (hash === first!.hash ? Promise.reject(new Error('d1 is broken')) : chain.minedAs(hash)),
    };
    await expect(on(broken).settleOpen()).rejects.toThrow('d1 is broken');
    expect(
      await database.query(
        `SELECT key FROM assay.intents i JOIN assay.txs t ON t.intent = i.key
      WHERE i.signer = $1 AND t.sent_at IS NOT NULL`,
        [address.toLowerCase()],
      ),
    ).toEqual([{ key: 'd2' }]);
  });

  it('is replaced once where two look at the same time', async () => {
    const { on, later } = journal();
    expect(await on(forgetful, undefined, 0).perform('e', call('0e'))).toBeNull();
    later();
    const one = on(forgetful, undefined, 0);
    await Promise.all([one.settleOpen(), one.settleOpen(), one.perform('e', call('0e'))]);
    expect(await transactions('e')).toHaveLength(2);
  });
});

describe('the lock of the posting account', () => {
  it('not held: nothing is signed and nothing sent', async () => {
    const { on } = journal();
    let held = false;
    const never: Partial<ChainPort> = { sendRaw: () => Promise.reject(new Error('must not send')) };
    await expect(on(never, () => held).perform('f', call('0f'))).rejects.toMatchObject({ code: 'POSTER_ELSEWHERE' });
    expect(await transactions('f')).toEqual([]);
    held = true;
    const lost: Partial<ChainPort> = { ...never, nonceOf: async (who) => ((held = false), chain.nonceOf(who)) };
    await expect(on(lost, () => held).perform('f', call('0f'))).rejects.toMatchObject({ code: 'POSTER_ELSEWHERE' });
  });
});

describe('a revert for good', () => {
  it('is none where another block may mend it', async () => {
    const nowhere = {
      lane: 'sampled',
      count: 1,
      poster: target,
      salt: `0x${'00'.repeat(32)}`,
      batchRoot: `0x${'00'.repeat(32)}`,
      policyHash: chain.policyHash,
      unbound: 0n,
      committedAt: 1,
      committedBlock: 1,
    } as const;
    const seed = (await chain.courtOf(chain.policyHash)).fixSeedCall(nowhere);
    // BatchUnknown: the commit may be on its way again after a reorganisation.
    expect(await chain.revertsForGood(seed, target)).toBe(false);
    expect(await chain.revertsForGood(call('00'), target)).toBe(false);
    // NothingBound: whatever the block, a signature by nobody binds nothing.
    const receipt: Receipt = {
      orderHash: ROOT,
      modelDigest: ROOT,
      inputRoot: ROOT,
      outputRoot: ROOT,
      traceRoot: ROOT,
      opCount: 1,
      items: 1,
      amount: 0n,
      lane: 'sampled',
      policyHash: chain.policyHash,
      executor: target,
      issuedAt: 1,
    };
    const unbindable = chain.commitCall(
      'sampled',
      chain.policyHash,
      [{ receipt, signature: `0x${'11'.repeat(65)}` }],
      ROOT,
    );
    await expect(chain.price(unbindable, target)).rejects.toMatchObject({ meta: { error: 'NothingBound' } });
    expect(await chain.revertsForGood(unbindable, target)).toBe(true);
  });
});
