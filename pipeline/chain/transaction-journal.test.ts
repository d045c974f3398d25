import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEther, Transaction, Wallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { deployTestSettlement } from '../../test/kill/deploy.js';
import type { Database } from '../database/database.js';
import { openPglite } from '../database/open-pglite.js';
import type { ChainPort } from '../ports.js';
import { settlementChain } from './settlement-chain.js';
import { TransactionJournal } from './transaction-journal.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-journal-'));
const target: Hex = `0x${'ab'.repeat(20)}`;
const ZERO: Hex = `0x${'00'.repeat(32)}`;
const call = (data: string) => ({ to: target, data: `0x${data}` as Hex });
let anvil: Anvil;
let provider: JsonRpcProvider;
let chain: ChainPort;
let database: Database;
let signer: Wallet;
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
beforeEach(() => {
  signer = new Wallet(anvilKey(account++));
});

function journalOn(parts: Partial<ChainPort> = {}, replaceAfterMs = 60_000): TransactionJournal {
  return new TransactionJournal({
    database,
    chain: { ...chain, ...parts },
    signer,
    clock: Date.now,
    replaceAfterMs,
    patienceMs: 2_000,
    mayPost: () => true,
  });
}
const nonces = () =>
  database.query<{ key: string; nonce: string }>(
    'SELECT key, nonce FROM assay.intents WHERE signer = $1 ORDER BY nonce',
    [signer.address.toLowerCase()],
  );

describe('transaction journal', () => {
  it('mines an effect once, however often it is asked for', async () => {
    const journal = journalOn();
    const first = await journal.perform('a1', call('01'));
    expect(first).toMatchObject({ reverted: false });
    expect(await journal.perform('a1', call('01'))).toEqual(first);
    expect(await provider.getTransactionCount(signer.address)).toBe(1);
  });

  it('gives every effect its own nonce, also when many are wanted at once', async () => {
    const journal = journalOn();
    const mined = await Promise.all(Array.from({ length: 8 }, (_, i) => journal.perform(`b${i}`, call(`0${i}`))));
    expect(new Set(mined.map((m) => m!.hash)).size).toBe(8);
    expect((await nonces()).map(({ nonce }) => Number(nonce))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('sends the stored bytes again after a crash between storing and sending', async () => {
    const sent: string[] = [];
    const crashed = journalOn({ sendRaw: () => Promise.reject(new Error('killed here')) });
    await expect(crashed.perform('c', call('0c'))).rejects.toThrow('killed here');
    const [stored] = await database.query<{ raw: string; hash: string }>(
      `SELECT raw, hash FROM assay.txs WHERE intent = 'c'`,
    );
    const restarted = journalOn({ sendRaw: (raw) => (sent.push(raw), chain.sendRaw(raw)) });
    await restarted.settleOpen();
    expect(sent).toEqual([stored!.raw]);
    expect(await restarted.perform('c', call('0c'))).toMatchObject({ hash: stored!.hash });
  });

  it('sends nothing when the crash came after sending', async () => {
    const journal = journalOn();
    const mined = await journal.perform('d', call('0d'));
    // What a crash right after the broadcast leaves.
    await database.execute(
      `UPDATE assay.txs SET sent_at = NULL, block_number = NULL, block_hash = NULL, reverted = NULL WHERE intent = 'd'`,
    );
    await database.execute(`UPDATE assay.intents SET mined_tx = NULL WHERE key = 'd'`);
    const restarted = journalOn({ sendRaw: () => Promise.reject(new Error('must not send')) });
    expect(await restarted.perform('d', call('0d'))).toEqual(mined);
  });

  it('replaces a transaction that is not mined by a dearer one with the same nonce', async () => {
    await provider.send('evm_setAutomine', [false]);
    try {
      const journal = journalOn({}, 1);
      expect(
        await new TransactionJournal({
          database,
          chain,
          signer,
          clock: Date.now,
          replaceAfterMs: 1,
          patienceMs: 0,
          mayPost: () => true,
        }).perform('e', call('0e')),
      ).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 10));
      await journal.settleOpen();
      const txs = await database.query<{ hash: string; raw: string; replaces: string | null }>(
        `SELECT hash, raw, replaces FROM assay.txs WHERE intent = 'e' ORDER BY signed_at`,
      );
      expect(txs).toHaveLength(2);
      expect(txs[1]!.replaces).toBe(txs[0]!.hash);
      const [old, dearer] = txs.map(({ raw }) => Transaction.from(raw));
      expect(dearer!.nonce).toBe(old!.nonce);
      expect(dearer!.maxFeePerGas! * 10n).toBeGreaterThanOrEqual(old!.maxFeePerGas! * 11n);
      await journal.settleOpen();
      await anvil.mine(1);
      expect(await journal.perform('e', call('0e'))).toMatchObject({ reverted: false });
      expect(await provider.getTransactionCount(signer.address)).toBe(1);
    } finally {
      await provider.send('evm_setAutomine', [true]);
    }
  });

  it('stops with a typed error when somebody else has used the nonce', async () => {
    const held = journalOn({ sendRaw: () => Promise.resolve() });
    const blind = new TransactionJournal({
      database,
      chain: { ...chain, sendRaw: () => Promise.resolve() },
      signer,
      clock: Date.now,
      replaceAfterMs: 60_000,
      patienceMs: 0,
      mayPost: () => true,
    });
    expect(await blind.perform('f', call('0f'))).toBeNull();
    await (await signer.connect(provider).sendTransaction({ to: target, value: parseEther('1') })).wait();
    await expect(held.perform('f', call('0f'))).rejects.toMatchObject({
      code: 'CHAIN_NONCE_LOST',
      kind: 'infrastructure',
    });
  });

  it('signs nothing for a call that would revert, and says why', async () => {
    const nowhere = {
      lane: 'sampled',
      count: 1,
      poster: target,
      salt: ZERO,
      batchRoot: ZERO,
      policyHash: ZERO,
      unbound: 0n,
      committedAt: 1,
      committedBlock: 1,
    } as const;
    const court = await chain.courtOf(chain.policyHash);
    await expect(journalOn().perform('g', court.fixSeedCall(nowhere))).rejects.toMatchObject({
      code: 'CHAIN_REVERTED',
      meta: { error: 'BatchUnknown' },
    });
    expect(await nonces()).toEqual([]);
  });

  it('is a typed error while the chain is away, and goes on when it is back', async () => {
    let away = true;
    const gate =
      <A extends unknown[], R>(real: (...args: A) => Promise<R>) =>
      (...args: A) =>
        away ? chainAway() : real(...args);
    const chainAway = async (): Promise<never> => {
      const gone = await connectChain('http://127.0.0.1:1').catch((error: unknown) => error);
      throw gone;
    };
    const journal = journalOn({ price: gate(chain.price), sendRaw: gate(chain.sendRaw) });
    await expect(journal.perform('h', call('08'))).rejects.toMatchObject({
      code: 'CHAIN_UNAVAILABLE',
      kind: 'infrastructure',
    });
    away = false;
    expect(await journal.perform('h', call('08'))).toMatchObject({ reverted: false });
  });
});
