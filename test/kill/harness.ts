/** Starts, kills and starts again the process of child.ts, and looks afterwards whether anything was lost or done twice. */
import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Wallet, type Interface, type JsonRpcProvider } from 'ethers';
import { expect } from 'vitest';
import { settlementChain } from '../../pipeline/chain/settlement-chain.js';
import type { Database } from '../../pipeline/database/database.js';
import { openPglite } from '../../pipeline/database/open-pglite.js';
import { openPostgres } from '../../pipeline/database/open-postgres.js';
import { openBlobStore } from '../../pipeline/store/blob-store.js';
import { openStepQueue } from '../../pipeline/queue/step-queue.js';
import { ACTIVE_STEPS } from '../../pipeline/work/steps.js';
import type { Hex } from '../../receipts/types.js';
import { anvilKey } from '../../verifier-contracts/anvil.js';
import { courtInterface } from '../../verifier-contracts/court-client.js';
import { escrowInterface, type OrderState } from '../../verifier-contracts/escrow-client.js';
import { rollupInterface } from '../../verifier-contracts/rollup-client.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import type { ChildTask } from './child.js';
import { compileChild } from './compile-child.js';

let compiled: ReturnType<typeof compileChild> | undefined;

/** Removes what `startChild` has compiled. */
export function removeCompiledChild(): void {
  if (compiled !== undefined) rmSync(compiled.folder, { recursive: true, force: true });
  compiled = undefined;
}

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly errors: string;
}

export interface RunningChild {
  readonly process: ChildProcess;
  readonly ended: Promise<ChildEnd>;
}

export function startChild(task: ChildTask, killAt?: string): RunningChild {
  const environment = {
    ...process.env,
    ASSAY_CHILD_TASK: JSON.stringify(task),
    ...(killAt === undefined ? {} : { ASSAY_KILL_AT: killAt }),
  };
  compiled ??= compileChild();
  // Half of a short life would go into optimising the WebAssembly of the embedded database.
  const child = spawn(process.execPath, ['--liftoff-only', compiled.file], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<ChildEnd>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal, errors })),
  );
  return { process: child, ended };
}

/** Runs the task to its end. */
export async function finish(task: ChildTask): Promise<void> {
  const end = await startChild(task).ended;
  expect(end, end.errors).toMatchObject({ code: 0, signal: null });
}

/** A copy of a data directory whose database is made and migrated: making one takes a second, copying it a tenth. */
export function freshDirectory(template: string, directory: string): void {
  cpSync(template, directory, { recursive: true });
}

/** Makes such a directory. */
export async function makeTemplate(directory: string): Promise<void> {
  const database = await openPglite(directory);
  await (await openStepQueue({ kind: 'postgres', pool: database.pool }, ACTIVE_STEPS)).close();
  await database.close();
}

/** Numbers from 0 to 1 by Park and Miller's minimal standard generator, from ASSAY_SEED or the clock; the seed is printed. */
export function randomFrom(name: string): () => number {
  const seed = Number(process.env['ASSAY_SEED'] ?? (Date.now() % 1_000_000) + 1);
  console.log(`${name}: ASSAY_SEED=${seed}`);
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

export interface Chain {
  readonly client: SettlementClient;
  readonly provider: JsonRpcProvider;
}

export interface Before {
  readonly block: number;
  readonly poster: Hex;
  readonly posterNonce: number;
}

export async function beforeRun({ provider }: Chain, posterAccount: number): Promise<Before> {
  const poster = new Wallet(anvilKey(posterAccount)).address.toLowerCase() as Hex;
  return { block: await provider.getBlockNumber(), poster, posterNonce: await provider.getTransactionCount(poster) };
}

/** Everything that must hold once a task has run to its end, however often it was killed on the way. */
export async function expectWhole(task: ChildTask, chain: Chain, before: Before): Promise<void> {
  const database =
    task.databaseUrl === undefined ? await openPglite(task.directory) : await openPostgres(task.databaseUrl);
  try {
    const orders = await expectOrders(database, task);
    const journal = readJournals(task.directory);
    // One acceptance and one receipt per order, over the journals of all executors.
    const hashes = (entries: readonly { orderHash: Hex }[]) => entries.map(({ orderHash }) => orderHash).sort();
    expect(hashes(journal.filter(({ acceptance }) => acceptance !== undefined))).toEqual(
      orders.map(({ order_hash }) => order_hash).sort(),
    );
    expect(hashes(journal.filter(({ receiptHash }) => receiptHash !== undefined))).toEqual(
      orders
        .filter(({ executed }) => executed)
        .map(({ order_hash }) => order_hash)
        .sort(),
    );
    await expectChain(database, chain, before, orders);
    await expectMoney(chain, before, orders);
  } finally {
    await database.close();
  }
}

interface OrderRow {
  readonly order_hash: Hex;
  readonly executor: Hex;
  readonly lane: string;
  readonly outcome: string;
  /** False for the one that nobody runs. */
  readonly executed: boolean;
  readonly chain_state: OrderState;
  /** Null where there is no receipt, and for one of the zk lane that its own proof refutes: that is not posted. */
  readonly batch_hash: Hex | null;
  readonly chain_status: string | null;
  readonly finding: string | null;
  readonly proof_file: string | null;
}

async function expectOrders(database: Database, task: ChildTask): Promise<OrderRow[]> {
  const orders = await database.query<OrderRow>(
    `SELECT o.order_hash, o.executor, o.order_json ->> 'lane' AS lane, o.outcome, o.chain_state, r.executor IS NOT NULL AS executed, r.batch_hash, r.chain_status, p.finding, p.proof_file
       FROM assay.orders o LEFT JOIN assay.receipts r USING (order_hash) LEFT JOIN assay.proofs p USING (order_hash)`,
  );
  const store = await openBlobStore(join(task.directory, 'blobs'));
  expect(orders).toHaveLength(task.nonces.length);
  expect(await database.query(`SELECT subject, step, last_error FROM assay.work WHERE step <> 'done'`)).toEqual([]);
  expect(await database.query('SELECT subject FROM assay.attempts WHERE ended_at IS NULL')).toEqual([]);
  const [cheat] = await database.query<{ address: Hex; suspended_at: string | null }>(
    `SELECT address, suspended_at FROM assay.nodes WHERE operator = 'operator cheat'`,
  );
  // Each order has ended, once: what the cheat did is caught, all else is accepted; and the money has followed.
  for (const order of orders) {
    const caught = order.executor === cheat!.address;
    if (!order.executed) {
      expect(order).toMatchObject({ outcome: 'failed', chain_state: 'refunded', batch_hash: null });
      continue;
    }
    const outcome = caught ? 'rejected' : 'accepted';
    if (order.lane === 'zk') {
      const finding = caught ? 'executor-wrong' : 'match';
      expect(order).toMatchObject({ outcome, finding, chain_status: null, chain_state: 'paid' });
      await store.get(order.proof_file!);
    } else {
      const [chain_status, chain_state] = caught ? ['invalid', 'slashed'] : [`final-${order.lane}`, 'paid'];
      expect(order).toMatchObject({ outcome, chain_status, finding: null, chain_state });
    }
  }
  expect(orders.filter(({ executed }) => !executed)).toHaveLength(task.undelivered === undefined ? 0 : 1);
  const odd = task.nonces.filter((nonce) => nonce % 2 === 1).length;
  const ofLane = (name: string) => orders.filter(({ lane }) => lane === name);
  expect(ofLane('zk')).toHaveLength(task.zk === true ? odd : 0);
  expect(ofLane('optimistic')).toHaveLength(task.optimistic === true ? odd : 0);
  expect(orders.some(({ executor }) => executor === cheat!.address)).toBe(true);
  expect(cheat!.suspended_at).not.toBeNull();
  return orders;
}

interface JournalLine {
  readonly orderHash: Hex;
  readonly acceptance?: Hex;
  readonly receiptHash?: Hex;
}

function readJournals(directory: string): JournalLine[] {
  return ['executor honest', 'executor cheat'].flatMap((name) =>
    readdirSync(join(directory, name))
      .filter((file) => /^signed-0x[0-9a-f]+\.jsonl$/.test(file))
      .flatMap((file) =>
        readFileSync(join(directory, name, file), 'utf8')
          .trimEnd()
          .split('\n')
          .slice(1),
      )
      .map((line) => JSON.parse(line) as { orderHash: Hex }),
  );
}

async function expectChain(
  database: Database,
  { client, provider }: Chain,
  before: Before,
  all: readonly OrderRow[],
): Promise<void> {
  const posted = all.filter(({ batch_hash }) => batch_hash !== null);
  const committed = (await chainLogs(provider, before, client.rollup.address, rollupInterface, 'BatchCommitted'))
    .filter(({ args }) => (args['header'] as { poster: string }).poster.toLowerCase() === before.poster)
    .map(({ args }) => args['batchHash'] as Hex);
  const batches = await database.query<{ batch_hash: Hex; lane: string }>('SELECT batch_hash, lane FROM assay.batches');
  expect(committed.sort()).toEqual(batches.map(({ batch_hash }) => batch_hash).sort());
  // Each receipt is in the calldata of exactly one commit.
  const inCalldata = (await Promise.all(batches.map(({ batch_hash }) => client.rollup.readBatch(batch_hash)))).flatMap(
    ({ receipts }) => receipts.map(({ receipt }) => receipt.orderHash),
  );
  expect(inCalldata.sort()).toEqual(posted.map(({ order_hash }) => order_hash).sort());
  for (const { order_hash, batch_hash } of posted)
    expect((await settlementChain(client).boundIn(order_hash))?.batchHash).toBe(batch_hash);
  // One verdict per batch of the sampled lane.
  const judged = (await chainLogs(provider, before, client.court!.address, courtInterface, 'AuditReported'))
    .map(({ args }) => args['batchHash'] as Hex)
    .filter((hash) => committed.includes(hash));
  const sampled = batches.filter(({ lane }) => lane === 'sampled').map(({ batch_hash }) => batch_hash);
  expect(judged.sort()).toEqual(sampled.sort());

  // No nonce used by two intents, none left out, and every one that was used is an intent of ours.
  const intents = await database.query<{ nonce: string; mined_tx: Hex | null; key: string }>(
    'SELECT nonce, mined_tx, key FROM assay.intents ORDER BY nonce',
  );
  const used = (await provider.getTransactionCount(before.poster)) - before.posterNonce;
  expect(intents.map(({ nonce }) => Number(nonce))).toEqual(
    Array.from({ length: used }, (_, i) => before.posterNonce + i),
  );
  for (const { nonce, mined_tx } of intents) {
    const transaction = await provider.getTransaction(mined_tx!);
    expect(transaction).toMatchObject({ nonce: Number(nonce) });
  }
}

/** Each order was opened once and ended once, as the tables say, and nobody got more than was held for it. */
async function expectMoney({ client, provider }: Chain, before: Before, orders: readonly OrderRow[]): Promise<void> {
  const { escrow } = client;
  const ours = new Set(orders.map(({ order_hash }) => order_hash));
  const events = async (name: string) =>
    (await chainLogs(provider, before, escrow.address, escrowInterface, name))
      .map(({ args }) => args)
      .filter((args) => ours.has(args['orderHash'] as Hex));
  const opened = await events('OrderOpened');
  const ended = await events('OrderEnded');
  const hashes = (of: readonly Record<string, unknown>[]) => of.map((args) => args['orderHash'] as Hex).sort();
  expect(hashes(opened)).toEqual([...ours].sort());
  expect(hashes(ended)).toEqual([...ours].sort());
  for (const order of orders) {
    const of = (list: readonly Record<string, unknown>[]) =>
      list.find((args) => args['orderHash'] === order.order_hash)!;
    const [held, end] = [of(opened), of(ended)];
    expect((await escrow.orderOf(order.order_hash)).state).toBe(order.chain_state);
    const out = ['toRequester', 'toAccount', 'burnt'].map((name) => end[name] as bigint);
    const whole = (held['held'] as bigint) + (held['lock'] as bigint);
    expect(out.reduce((a, b) => a + b)).toBeLessThanOrEqual(whole);
    // Where nothing was earned and nothing slashed, all of it goes back.
    if (order.chain_state === 'refunded') expect(out.reduce((a, b) => a + b)).toBe(whole);
  }
}

async function chainLogs(
  provider: JsonRpcProvider,
  before: Before,
  address: Hex,
  abi: Interface,
  event: string,
): Promise<{ readonly args: Record<string, unknown> }[]> {
  const topics = abi.encodeFilterTopics(event, []);
  const logs = await provider.getLogs({ address, fromBlock: before.block + 1, topics });
  return logs.map((log) => ({ args: abi.parseLog(log)!.args as unknown as Record<string, unknown> }));
}
