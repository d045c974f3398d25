/** Plays disputes with processes that are killed and started again, and looks whether anything was lost or done twice. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Arena } from '../../cli/disputes/scenarios/arena.js';
import { answererIn, servedBy, watcherIn, type Player } from '../../cli/disputes/scenarios/players.js';
import { gainOf, orderState } from '../../cli/disputes/scenarios/scenario.js';
import type { Hex } from '../../receipts/types.js';
import { claimId } from '../../verifier-contracts/game-client.js';
import type { ChildTask } from './child.js';
import { shortClaim } from './short-arena.js';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
const MOST_ROUNDS = 60;

/** A child that is started again whenever it has died. */
class Survivor implements Player {
  /** Lives that were ended by the kill point. */
  kills = 0;
  #child: ChildProcess | null = null;
  #lines: AsyncIterator<string> | null = null;
  #errors = '';

  constructor(private task: ChildTask) {}

  async turn(): Promise<void> {
    if (this.#child === null) await this.#start();
    if (!(await this.#ask('poll'))) {
      this.kills++;
      // Killed once: the next life ends by itself alone.
      this.task = { ...this.task, killAt: null };
      this.#child = null;
      await this.turn();
    }
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.stdin!.write('end\n');
    await closed;
  }

  async #start(): Promise<void> {
    const child = spawn(process.execPath, ['--import', 'tsx', CHILD], {
      env: { ...process.env, ASSAY_CHILD_TASK: JSON.stringify(this.task) },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stderr!.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    child.stdin!.on('error', () => undefined);
    this.#child = child;
    this.#lines = linesOf(child);
    const first = await this.#lines.next();
    // Killed while it was starting: the point lies in the first questions.
    if (first.done === true && this.task.killAt === null) throw new Error(`the child ended: ${this.#errors}`);
  }

  /** @returns whether it lived to answer */
  async #ask(line: string): Promise<boolean> {
    this.#child!.stdin!.write(`${line}\n`);
    const answer = await this.#lines!.next();
    if (answer.done !== true) return true;
    if (this.task.killAt === null) throw new Error(`the child ended: ${this.#errors}`);
    return false;
  }
}

async function* linesOf(child: ChildProcess): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of child.stdout! as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

let plays = 0;

/**
 * @param role who is killed, and where; the lie must be found and slashed with every deposit and bounty where it belongs, an
 * honest claim must stand though everything is demanded
 * @returns whether the point was reached
 */
export async function playKilled(arena: Arena, role: 'watcher' | 'executor', killAt: string): Promise<boolean> {
  const name = `${role} ${killAt} ${plays++}`;
  const claim = await shortClaim(arena, `cheat ${name}`, true, true);
  const watching = await arena.party(`watching ${name}`);
  const folder = mkdtempSync(join(tmpdir(), 'assay-kill-'));
  const killed = new Survivor({
    role,
    rpc: arena.anvil.url,
    rollup: arena.rollup,
    key: (role === 'watcher' ? watching : claim.executor).wallet.privateKey as Hex,
    signerKey: claim.executor.signer.privateKey as Hex,
    folder,
    fromBlock: claim.claim.header.committedBlock,
    boundaries: true,
    lying: true,
    killAt,
  });
  const before = await arena.balances();
  try {
    const players: Player[] =
      role === 'watcher'
        ? [killed, answererIn(arena, claim.executor, claim.executor, [claim])]
        : [watcherIn(arena, watching, { bundles: [claim.bundle], sources: [servedBy([claim], false)] }), killed];
    for (let i = 0; i < MOST_ROUNDS && (await orderState(arena, claim)) !== 'slashed'; i++) {
      for (const player of players) await player.turn();
      await arena.advance(1);
    }
    // Deposits are paid out behind the end.
    await players[0]!.turn();
  } finally {
    await killed.end();
    rmSync(folder, { recursive: true, force: true });
  }
  const id = claimId(claim.batchHash, claim.claim.index);
  const from = claim.claim.header.committedBlock;
  const events = (await arena.game.eventsBetween(from, await arena.provider.getBlockNumber())).filter(
    (event) => 'claim' in event && event.claim === id,
  );
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length;
  expect(await orderState(arena, claim), name).toBe('slashed');
  // Proved, not run out: the executor answered in time whatever became of its process.
  expect([count('faultProved'), count('timedOut'), count('bountyPaid')], name).toEqual([1, 0, 1]);
  expect(count('answered')).toBe(count('demanded'));
  expect(count('depositClosed')).toBe(count('demanded'));
  const after = await arena.balances();
  const { lock } = await arena.client.escrow.orderOf(claim.claim.receipt.orderHash);
  expect(gainOf({ before, after }, watching.name)).toBeGreaterThanOrEqual(lock / 10n);
  const own = (await arena.transactionsFrom(from)).filter(
    ({ who }) => who === watching.name || who === claim.executor.name,
  );
  // Nothing was done twice: no transaction was refused.
  expect(own.filter(({ reverted }) => reverted)).toEqual([]);
  return killed.kills > 0;
}
