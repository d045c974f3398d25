/** `assay answer` and `assay watch --act defend` as the processes that a user starts; needs the build. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Arena, ArenaClaim, ArenaParty } from '../../cli/disputes/scenarios/arena.js';
import { servedBy } from '../../cli/disputes/scenarios/players.js';
import { startWatchProcess } from '../../cli/disputes/scenarios/watch-process.js';
import { packageRoot } from '../../common/package-root.js';
import { TraceStore } from '../../executor/index.js';
import { serveTraces } from '../../fraud-proofs/answer/serve-traces.js';
import { nodePath } from '../../fraud-proofs/nodes/answer-node.js';
import { tensorNode, TRACE_ROOT } from '../../fraud-proofs/nodes/places.js';
import { segmentEvidence } from '../../fraud-proofs/step/build-evidence.js';
import { encodeEvidence } from '../../fraud-proofs/step/encode-evidence.js';
import { traceServer } from '../../fraud-proofs/watch/sources.js';
import { encodeBundle } from '../../graph/index.js';
import type { GameNode } from '../../verifier-contracts/dispute-types.js';
import { claimId, type GameEvent } from '../../verifier-contracts/game-client.js';
import { assay } from '../run-command.js';
import { shortClaim, startShortArena } from './short-arena.js';

const ANSWER_TIME = 20;
const PATIENCE_MS = 40_000;

let arena: Arena;
let accuser: ArenaParty;
const folder = mkdtempSync(join(tmpdir(), 'assay-processes-'));
beforeAll(async () => {
  arena = await startShortArena({ answerTime: ANSWER_TIME });
  accuser = await arena.party('accuser');
});
afterAll(async () => {
  await arena.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function demand({ claim, trace }: ArenaClaim, ...nodes: readonly GameNode[]): Promise<void> {
  const { model } = trace;
  const known = trace.asClaim(claim.receipt, 'own');
  for (const node of nodes) {
    const evidence = node.kind === 'segment' ? encodeEvidence(segmentEvidence(model, known, node.slot)) : '0x';
    await arena.send(accuser, arena.game.demandCall(claim, node, nodePath(model, known, node)!, evidence));
  }
}

async function events(claim: ArenaClaim, kind: GameEvent['kind']): Promise<number> {
  const id = claimId(claim.batchHash, claim.claim.index);
  const all = await arena.game.eventsBetween(claim.claim.header.committedBlock, await arena.provider.getBlockNumber());
  return all.filter((event) => event.kind === kind && 'claim' in event && event.claim === id).length;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not come true');
    await sleep(100);
  }
}

async function toTheEnd(claim: ArenaClaim): Promise<void> {
  const { until: end } = await arena.game.claimOf(claim.batchHash, claim.claim.header, claim.claim.index);
  await arena.advance(end + 1 - (await arena.clock()));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it('assay answer answers, serves, goes on after it was killed, and has its answers paid out', async () => {
  const claim = await shortClaim(arena, 'answering executor', false, true);
  const { bundle, executor, trace } = claim;
  const { receipt } = claim.claim;
  const home = join(folder, 'executor');
  mkdirSync(home);
  writeFileSync(join(home, 'executor.key'), executor.signer.privateKey);
  const key = join(folder, 'account.key');
  writeFileSync(key, executor.wallet.privateKey);
  const model = join(folder, 'model.assay');
  writeFileSync(model, encodeBundle(bundle));
  const store = new TraceStore(join(home, 'traces'));
  const committed = trace.model.committed.map((slot) => trace.slots[slot]!);
  await store.put('trace', receipt.traceRoot, committed, trace.items);

  const deployment = ['--rpc', arena.anvil.url, '--rollup', arena.rollup];
  const flags = [...deployment, '--home', home, '--bundles', model, '--key-file', key];
  const port = await freePort();
  let errors = '';
  const start = (): ChildProcess => {
    const bin = fileURLToPath(new URL('bin/assay.mjs', packageRoot()));
    const args = [bin, '--json', 'answer', ...flags, '--poll', '0.1', '--serve', String(port)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    return child;
  };
  const killed = async (child: ChildProcess): Promise<void> => {
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await closed;
  };
  const doctor = async (part: RegExp): Promise<string | undefined> => {
    const findings = Object.values(await assay('watch', 'doctor', ...deployment, '--home', home, '--bundles', model));
    return (findings as { part?: string; state: string }[]).find((one) => part.test(one?.part ?? ''))?.state;
  };

  // What is between the boundaries only the executor can say, with its signature.
  const between = trace.model.committed.findIndex((_, k) => trace.model.segment(k).count > 0);
  await demand(claim, TRACE_ROOT, trace.segment(between).node);
  let child = start();
  try {
    await until(async () => (await events(claim, 'answered')) === 2);
    expect(readdirSync(join(home, 'openings')).filter((name) => name.endsWith('.json'))).toHaveLength(1);
    const served = traceServer(`http://127.0.0.1:${port}`);
    const source = servedBy([claim], true);
    expect(await served('traces', receipt.traceRoot)).toEqual(
      Buffer.from((await source('traces', receipt.traceRoot))!),
    );
    expect(await served('inputs', receipt.inputRoot)).toEqual(
      Buffer.from((await source('inputs', receipt.inputRoot))!),
    );
    await killed(child);
    await demand(claim, tensorNode(0));
    child = start();
    await until(async () => (await events(claim, 'answered')) === 3);
    await killed(child);
    expect(await doctor(/^traces$/)).toBe('ok');
    expect(await doctor(/^capacity/)).toBe('ok');

    await demand(claim, tensorNode(trace.model.committed.at(-1)!));
    rmSync(store.path('trace', receipt.traceRoot));
    const once = await assay('answer', '--once', ...flags);
    expect([once.exitCode, once['unanswerable']]).toMatchObject([1, [{ reason: 'its trace is not held here' }]]);
    expect(await doctor(/^traces$/)).toBe('broken');
    await store.put('trace', receipt.traceRoot, committed, trace.items);
    expect(await assay('answer', '--once', ...flags)).toMatchObject({ exitCode: 0, moves: [{ kind: 'answer' }] });
    await toTheEnd(claim);
    child = start();
    await until(async () => (await events(claim, 'depositClosed')) === 4);
  } catch (error) {
    throw new Error(`${(error as Error).message}; the process said: ${errors}`, { cause: error });
  } finally {
    await killed(child);
  }
});

it('assay watch --act defend answers for a silent executor in the second half of the time, and not before', async () => {
  const claim = await shortClaim(arena, 'silent executor', false);
  const lie = await shortClaim(arena, 'silent cheat', true);
  const server: Server = await serveTraces(servedBy([claim, lie], false), { port: 0 });
  const tracesUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const party = await arena.party('defender');
  await demand(claim, TRACE_ROOT);
  await demand(lie, TRACE_ROOT);
  const before = await arena.balances();
  const defender = startWatchProcess(arena, party, { bundles: [claim.bundle], tracesUrl, act: 'defend' });
  try {
    await defender.turn();
    expect(await events(claim, 'answered')).toBe(0);
    await arena.advance(ANSWER_TIME / 2);
    await defender.turn();
    expect([await events(claim, 'answered'), await events(lie, 'answered')]).toEqual([1, 0]);
    await toTheEnd(claim);
    await defender.turn();
    expect(await events(claim, 'depositClosed')).toBe(1);
    const after = await arena.balances();
    expect(after.parties['defender']!).toBeGreaterThan(before.parties['defender']!);
  } finally {
    await defender.stop();
    server.close();
  }
});
