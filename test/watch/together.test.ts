/** Watchers at once, an RPC that fails, bytes that only Solidity reads, commands: against the real contracts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arena, ArenaClaim } from '../../cli/disputes/scenarios/arena.js';
import { answererIn, servedBy, watcherIn, type ArenaWatcher } from '../../cli/disputes/scenarios/players.js';
import { serveTraces } from '../../fraud-proofs/answer/serve-traces.js';
import { ChainScan } from '../../fraud-proofs/watch/chain-scan.js';
import { Sender } from '../../fraud-proofs/watch/sender.js';
import { encodeBundle } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import { claimId } from '../../verifier-contracts/game-client.js';
import { nodeContent, nodePath } from '../../fraud-proofs/nodes/answer-node.js';
import { TRACE_ROOT } from '../../fraud-proofs/nodes/places.js';
import { assay } from '../run-command.js';
import { shortClaim, startShortArena } from './short-arena.js';
import { playTwoWatchers } from './two-watchers.js';

/** Long enough for slots: a quarter of A has eight of two blocks. */
const ANSWER_TIME = 64;

let arena: Arena;
beforeAll(async () => {
  arena = await startShortArena({ answerTime: ANSWER_TIME, responseTime: 40 });
});
afterAll(() => arena.stop());

async function watching(claim: ArenaClaim, name: string, traces: boolean): Promise<ArenaWatcher> {
  return watcherIn(arena, await arena.party(name), { bundles: [claim.bundle], sources: [servedBy([claim], traces)] });
}

describe('two honest watchers at once', () => {
  it('waste at most one transaction', async () => {
    const { refused, announcements } = await playTwoWatchers(arena, 'a pair', true);
    expect(refused + announcements).toBeLessThanOrEqual(1);
  });
});

describe('a node that fails', () => {
  it('fails the poll, and changes no opinion; the next poll goes on', async () => {
    const claim = await shortClaim(arena, 'honest behind an outage', false);
    const watcher = await watching(claim, 'behind an outage', false);
    const { provider } = arena;
    const send = provider.send.bind(provider);
    const id = claimId(claim.batchHash, claim.claim.index);
    const verdicts: string[] = [];
    for (let failing = 1; failing <= 60; failing += 7) {
      let asked = 0;
      provider.send = (method: string, params: never) =>
        ++asked === failing ? Promise.reject(new Error('connection reset')) : send(method, params);
      try {
        const { claims } = await watcher.turn();
        verdicts.push(claims.find(({ seen }) => seen.id === id)!.verdict);
      } catch (error) {
        expect(error).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
      } finally {
        provider.send = send;
      }
    }
    const { claims } = await watcher.turn();
    expect(claims.find(({ seen }) => seen.id === id)!.verdict).toBe('valid');
    expect(verdicts.filter((verdict) => verdict === 'invalid')).toEqual([]);
  });
});

describe('hostile bytes', () => {
  it('an answer in an encoding that only Solidity reads is read all the same', async () => {
    const claim = await shortClaim(arena, 'strange encoder', true);
    const accuser = await arena.party('accuser of the strange encoder');
    const known = claim.trace.asClaim(claim.claim.receipt, 'own');
    const { game } = arena;
    await arena.send(
      accuser,
      game.demandCall(claim.claim, TRACE_ROOT, nodePath(claim.trace.model, known, TRACE_ROOT)!),
    );
    const content = nodeContent(claim.trace.model, known, TRACE_ROOT)!;
    const usual = game.answerCall(claim.claim, TRACE_ROOT, content);
    // Without the padding behind the last bytes, which an ordinary decoder asks for.
    const cut = usual.data.slice(0, usual.data.lastIndexOf(content.slice(2)) + content.length - 2) as Hex;
    expect(cut.length).toBeLessThan(usual.data.length);
    await arena.send(claim.executor, { ...usual, data: cut });
    const { client } = arena;
    const { context, rollup, escrow } = client;
    const scan = new ChainScan({ context, rollup, escrow, fromBlock: 0, mine: () => true });
    const world = await scan.read();
    const seen = world.claims.find(({ id }) => id === claimId(claim.batchHash, claim.claim.index))!;
    expect(seen.demands[0]!.answer).toMatchObject({ content, sender: claim.executor.address });
  });
});

describe('a helper', () => {
  it('answers for a silent executor in the second half of the time, and is paid for it', async () => {
    const claim = await shortClaim(arena, 'silent executor', false);
    const accuser = await arena.party('accuser of the silent');
    const party = await arena.party('helper');
    const helper = answererIn(arena, party, null, [claim]);
    const known = claim.trace.asClaim(claim.claim.receipt, 'own');
    const { game } = arena;
    await arena.send(
      accuser,
      game.demandCall(claim.claim, TRACE_ROOT, nodePath(claim.trace.model, known, TRACE_ROOT)!),
    );
    const before = await arena.balances();
    const own = (moves: readonly { claim: Hex | null }[]): unknown[] =>
      moves.filter((move) => move.claim === claimId(claim.batchHash, claim.claim.index));
    expect(own((await helper.turn()).moves)).toEqual([]);
    await arena.advance(ANSWER_TIME / 2 + 1);
    expect(own((await helper.turn()).moves)).toMatchObject([{ kind: 'answer', sent: { end: 'mined' } }]);
    const { until } = await game.claimOf(claim.batchHash, claim.claim.header, claim.claim.index);
    await arena.advance(until + 1 - (await arena.clock()));
    expect(own((await helper.turn()).moves)).toMatchObject([{ kind: 'close', sent: { end: 'mined' } }]);
    const after = await arena.balances();
    expect(after.parties['helper']! - before.parties['helper']!).toBeGreaterThan(0n);
  });
});

describe('a sender', () => {
  it('replaces what waits at too low a fee, its own and that of an earlier life', async () => {
    const party = await arena.party('poor sender');
    const to = Wallet.createRandom().address as Hex;
    await arena.provider.send('evm_setAutomine', [false]);
    try {
      const nonce = await party.wallet.getNonce('latest');
      const { maxFeePerGas } = await arena.provider.getFeeData();
      // An earlier life left this, and is gone.
      const fees = { maxFeePerGas: maxFeePerGas! * 2n, maxPriorityFeePerGas: maxFeePerGas! };
      await party.wallet.sendTransaction({ to, value: 1n, nonce, gasLimit: 21_000n, ...fees });
      const sender = new Sender(party.wallet, party.address, { replaceAfterMs: 300 });
      const sending = sender.send([{ to, data: '0x', value: 2n }]);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await arena.anvil.mine(1);
      const [sent] = await sending;
      expect(sent!.end).toBe('mined');
      expect(await arena.provider.getBalance(to)).toBe(2n);
      expect(await party.wallet.getNonce('latest')).toBe(nonce + 1);
    } finally {
      await arena.provider.send('evm_setAutomine', [true]);
    }
  });

  it('sends nothing that would be refused, and offers no more than its limit', async () => {
    const party = await arena.party('careful sender');
    const sender = new Sender(party.wallet, party.address);
    const { escrow } = arena.client;
    const nonce = await party.wallet.getNonce();
    const [refused] = await sender.send([escrow.withdrawCall(10n ** 30n, party.address)]);
    expect(refused).toMatchObject({ end: 'refused', reason: expect.stringContaining('InsufficientFree') });
    expect(await party.wallet.getNonce()).toBe(nonce);
    const stingy = new Sender(party.wallet, party.address, { maxFeeWei: 1n });
    await expect(stingy.send([escrow.withdrawCall(1n, party.address)])).rejects.toMatchObject({
      code: 'FEE_ABOVE_LIMIT',
    });
  });
});

describe('commands', () => {
  let folder: string;
  let server: Server;
  let claim: ArenaClaim;
  let flags: string[];
  const name = (): string => claimId(claim.batchHash, claim.claim.index);
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-watch-'));
    claim = await shortClaim(arena, 'cheat of the commands', true);
    server = await serveTraces(servedBy([claim], true), { port: 0 });
    const bundle = join(folder, 'model.assay');
    writeFileSync(bundle, encodeBundle(claim.bundle));
    const traces = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    flags = [
      '--rpc',
      arena.anvil.url,
      '--rollup',
      arena.rollup,
      '--traces',
      traces,
      '--engine',
      'reference',
      '--bundles',
      bundle,
    ];
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('watch --once says what is wrong; with --dry-run, what it would send', async () => {
    const seen = await assay('watch', '--once', ...flags);
    expect(seen.exitCode).toBe(1);
    const claims = seen['claims'] as Record<string, unknown>[];
    expect(claims.find(({ claim: id }) => id === name())).toMatchObject({
      verdict: 'invalid',
      fault: 'step',
      forecast: 'dies',
    });
    const acting = await arena.party('dry runner');
    const dry = await assay('watch', '--once', '--act', 'challenge', '--dry-run', '--as', acting.address, ...flags);
    const moves = dry['moves'] as Record<string, unknown>[];
    expect(moves.find((move) => move['claim'] === name())).toMatchObject({
      kind: 'precommit',
      calldata: expect.stringMatching(/^0x/),
      sent: null,
    });
  });

  it('explain, export-evidence and check-evidence lead a stranger to the element', async () => {
    const explained = await assay('watch', 'explain', name(), ...flags);
    expect(explained).toMatchObject({ exitCode: 1, place: { slot: 2, element: 2 }, verdict: 'invalid' });
    const out = join(folder, 'evidence.json');
    expect((await assay('watch', 'export-evidence', name(), '--out', out, ...flags)).exitCode).toBe(0);
    expect(await assay('watch', 'check-evidence', out)).toMatchObject({
      exitCode: 0,
      verdict: { verdict: 'valid' },
      fault: 'step',
    });
    expect((await assay('watch', 'explain', `0x${'00'.repeat(32)}`, ...flags)).error.code).toBe('CLAIM_UNKNOWN');
  });

  it('monitor and doctor look on', async () => {
    expect(await assay('watch', 'monitor', ...flags)).toMatchObject({ forecasts: { dies: expect.any(Number) } });
    const doctor = (await assay('watch', 'doctor', ...flags)) as unknown as Record<
      string,
      { part: string; state: string }
    >;
    const findings = Object.values(doctor).filter((finding) => finding?.part !== undefined);
    expect(findings.map(({ part }) => part)).toEqual(
      expect.arrayContaining(['chain', 'engine', 'clock', 'inputs', 'money']),
    );
    expect(findings.find(({ part }) => part === 'engine')).toMatchObject({ state: 'ok' });
  });

  it.each([
    [['--act', 'attack'], /challenge or defend/],
    [['--engine', 'abacus'], /no engine/],
    [['--dry-run'], /without --act/],
    [['--act', 'challenge', '--as', `0x${'11'.repeat(20)}`], /without its key/],
  ])('watch refuses %j', async (more, message) => {
    const base = flags.filter((_, i) => flags[i] !== '--engine' && flags[i - 1] !== '--engine');
    const { error, exitCode } = await assay('watch', '--once', ...more, ...base);
    expect([error.code, exitCode]).toEqual(['CONFIG_INVALID', 2]);
    expect(error.message).toMatch(message);
  });
});
