/** What the audit does when things go wrong: odd and silent checkers, windows that close, reorganisations. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NonceManager, Transaction, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHEAT_ON, connectDeployment, orderFor, tinyBundle, type TestDeployment } from '../test/kill/fixture.js';
import { prepareChain, startPrepared, type DeployOptions } from '../test/kill/deploy.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { turns } from '../test/kill/turns.js';
import { AssayError } from '../common/errors.js';
import { inputRoot, outputRoot } from '../graph/index.js';
import { verifyReceipt } from '../receipts/index.js';
import type { Hex, JobOrder, Receipt } from '../receipts/types.js';
import { anvilKey, type Anvil } from '../verifier-contracts/anvil.js';
import { rollupInterface } from '../verifier-contracts/rollup-client.js';
import { SettlementClient } from '../verifier-contracts/settlement-client.js';
import { boundIn } from './chain/bound-in.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';
import type { ChainPort, CheckerPort, CourtPort, ExecutorPort, Roots } from './ports.js';
import { receiptFileOf } from './receipt-file-of.js';
import type { JobView } from './read-job.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-audit-'));
const bundle = tinyBundle();
const QUICK = { openAgeMs: 50, batchAgeMs: 150, pollMs: 40, sweepMs: 100 } as const;
const WRONG: Hex = `0x${'ee'.repeat(32)}`;
const OTHER: Hex = `0x${'dd'.repeat(32)}`;
let nextNonce = 1;
let directories = 0;

beforeAll(() => makeTemplate(join(scratch, 'template')));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface World {
  readonly anvil: Anvil;
  readonly deployment: TestDeployment;
  readonly pipeline: Pipeline;
}

interface WorldOptions {
  readonly deploy?: DeployOptions;
  readonly settings?: Partial<PipelineSettingsInput>;
  /** Changes the ports before the pipeline opens. */
  readonly ports?: (deployment: TestDeployment, anvil: Anvil) => Partial<PipelinePorts>;
  /** Seconds between blocks; null: a block for every transaction. @default 0.1 */
  readonly blockTimeS?: number | null;
}

/** A chain, a rollup and a pipeline of the test's own: reorganisations and closing windows bear no company. */
const inWorld = (options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> =>
  inTurn(() => makeWorld(options, work));
/** Three at a time: they mostly wait for blocks. The time limit counts the waiting for one's turn. */
const inTurn = turns(3);
const LIMIT = { timeout: 300_000 } as const;

async function makeWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const { blockTimeS = 0.1 } = options;
  const directory = join(scratch, `world-${directories++}`);
  if (!existsSync(directory)) freshDirectory(join(scratch, 'template'), directory);
  const prepared = await prepareChain(options.deploy);
  const anvil = await startPrepared(prepared, blockTimeS === null ? {} : { blockTimeS });
  let deployment: TestDeployment | undefined;
  let pipeline: Pipeline | undefined;
  try {
    const { rollup } = prepared;
    deployment = await connectDeployment({ directory, url: anvil.url, rollup, bundle, name: 'one' });
    pipeline = await Pipeline.open(
      { dataDirectory: directory, ...QUICK, ...options.settings },
      { ...deployment.ports, ...options.ports?.(deployment, anvil) },
    );
    await work({ anvil, deployment, pipeline });
  } finally {
    await pipeline?.close();
    await deployment?.close();
    await anvil.stop();
  }
}

async function submit({ deployment, pipeline }: World, change: Partial<JobOrder> = {}, first = 1): Promise<Hex> {
  const { client, honest } = deployment;
  const request = await orderFor(client, bundle, honest.address, first, nextNonce++, 'sampled', change);
  return pipeline.submit(request, `order ${request.order.nonce}`);
}

/** The chain's clock goes on by so much; a block shows it. */
async function pass({ anvil, deployment }: World, seconds: number): Promise<void> {
  await deployment.provider.send('evm_increaseTime', [seconds]);
  await anvil.mine(1);
}

const waitForAll = ({ pipeline }: World, ids: readonly Hex[]): Promise<JobView[]> =>
  Promise.all(ids.map((id) => pipeline.waitFor(id)));

const errorsOf = async ({ pipeline }: World, step: string): Promise<string[]> =>
  (
    await pipeline.database.query<{ code: string }>(
      `SELECT DISTINCT error->>'code' AS code FROM assay.attempts WHERE step = $1 AND outcome = 'failed'`,
      [step],
    )
  ).map(({ code }) => code);

const suspended = async ({ pipeline }: World): Promise<Hex[]> =>
  (
    await pipeline.database.query<{ address: Hex }>('SELECT address FROM assay.nodes WHERE suspended_at IS NOT NULL')
  ).map(({ address }) => address);

/** Looks until it is so; the test's own time limit is the end of patience. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}

type Check = (honest: () => Promise<Roots>) => Promise<Roots>;

/** The checkers, of which the n-th to be asked about a receipt answers as the n-th of `plan` says; later ones honestly. */
function planned(checkers: readonly CheckerPort[], plan: readonly Check[]): CheckerPort[] {
  const asked = new Map<Hex, number>();
  return checkers.map((checker) => ({
    ...checker,
    check: (wanted, inputs, items, posted) => {
      const turn = asked.get(posted.orderHash) ?? 0;
      asked.set(posted.orderHash, turn + 1);
      const honest = () => checker.check(wanted, inputs, items, posted);
      return plan[turn]?.(honest) ?? honest();
    },
  }));
}
const answers =
  (outputRoot: Hex): Check =>
  async (honest) => ({ ...(await honest()), outputRoot });
const vanishes: Check = () => new Promise<never>(() => undefined);
const throws: Check = () => Promise.reject(new Error('no device'));
const withChecks = (...plan: Check[]): Pick<WorldOptions, 'ports'> => ({
  ports: ({ ports }) => ({ checkers: planned(ports.checkers, plan) }),
});

describe.concurrent('what a check can find', LIMIT, () => {
  it('match, and fraud: the job shows it', () =>
    inWorld({}, async (world) => {
      const { honest, cheat } = world.deployment;
      const [good, bad] = await waitForAll(world, [
        await submit(world, { executor: honest.address }),
        await submit(world, { executor: cheat.address }, CHEAT_ON),
      ]);
      expect(good).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(bad).toMatchObject({ outcome: 'rejected', audit: { finding: 'fraud' } });
      expect(bad!.audit!.reason).toMatch(/has another outputRoot, traceRoot, and .* agrees with it/);
      expect(await suspended(world)).toEqual([cheat.address]);
    }));

  it('checker-odd: the first check differs, the second agrees with the receipt, which is accepted', () =>
    inWorld(withChecks(answers(WRONG)), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'checker-odd', reason: null } });
      const opinions = await world.pipeline.database.query<{ round: number; output_root: Hex }>(
        'SELECT round, output_root FROM assay.audits ORDER BY round',
      );
      expect(opinions).toEqual([
        { round: 1, output_root: WRONG },
        { round: 2, output_root: view.receipt!.receipt.outputRoot },
      ]);
      expect(await suspended(world)).toEqual([]);
    }));

  it('undecided: three results; nobody vouches for the receipt, nobody is condemned', () =>
    inWorld(withChecks(answers(WRONG), answers(OTHER)), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'undecided' } });
      expect(view.audit!.reason).toContain('a third one');
      expect(await suspended(world)).toEqual([]);
    }));

  it('a checker that vanishes and one that fails: the next in the drawn order checks', () =>
    inWorld({ ...withChecks(vanishes, throws), settings: { executeTimeoutMs: 300 } }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(await world.pipeline.database.query('SELECT 1 FROM assay.audits')).toHaveLength(1);
      expect(await errorsOf(world, 'audit')).toEqual([]);
    }));

  it('all of them fail: a silence is never a finding, and the audit is tried again', () =>
    inWorld(withChecks(throws, throws, throws), async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match', reason: null } });
      expect(await errorsOf(world, 'audit')).toEqual(['CHECKER_FAILED']);
    }));
});

it.concurrent('who is caught once has all of his receipts in the batch checked, and nobody else', LIMIT, () =>
  // One receipt of each executor is drawn: ceil(1e-6 * n).
  inWorld(
    { deploy: { drawRatePpm: 1 }, settings: { batchSize: 8, batchAgeMs: 600_000, concurrency: 1 } },
    async (world) => {
      const { honest, cheat } = world.deployment;
      const ids: Hex[] = [];
      for (let i = 0; i < 4; i++) {
        ids.push(await submit(world, { executor: honest.address }));
        ids.push(await submit(world, { executor: cheat.address }, CHEAT_ON));
      }
      const views = await waitForAll(world, ids);
      expect(new Set(views.map(({ batchHash }) => batchHash)).size).toBe(1);
      const lies = views.filter(({ order }) => order.executor === cheat.address);
      const truths = views.filter(({ order }) => order.executor === honest.address);
      expect(lies.map(({ outcome, audit }) => [outcome, audit?.finding])).toEqual(Array(4).fill(['rejected', 'fraud']));
      expect(truths.map(({ outcome }) => outcome)).toEqual(Array(4).fill('accepted'));
      expect(truths.map(({ audit }) => audit?.finding ?? null).sort()).toEqual(['match', null, null, null]);
    },
  ),
);

describe.concurrent('the executor that an order names', LIMIT, () => {
  it('is the one that runs it, or nobody', () =>
    inWorld({}, async (world) => {
      const { pipeline, deployment } = world;
      const { honest, cheat } = deployment;
      const named = await waitForAll(world, await Promise.all([1, 2, 3].map(() => submit(world))));
      expect(named.map(({ outcome }) => outcome)).toEqual(Array(3).fill('accepted'));
      const ran = await pipeline.database.query('SELECT DISTINCT executor FROM assay.executions');
      expect(ran).toEqual([{ executor: honest.address }]);

      // Suspended between its acceptance and its work: the order fails.
      await pipeline.database.execute('UPDATE assay.nodes SET suspended_at = 1 WHERE address = $1', [cheat.address]);
      await expect(submit(world, { executor: cheat.address })).rejects.toMatchObject({ code: 'ORDER_INVALID' });
    }));

  it('suspended after it was taken in: the order fails, before or after its opening', () =>
    inWorld(
      {
        ports: ({ ports }) => ({
          executors: ports.executors.map((executor) => ({
            ...executor,
            // The first of its orders is already accepted when it is suspended.
            acceptOrder: async (...args) => {
              const acceptance = await executor.acceptOrder(...args);
              if (args[0].nonce % 2n === 0n) throw new Error('asked again later');
              return acceptance;
            },
          })),
        }),
        settings: { openAgeMs: 700 },
      },
      async (world) => {
        const { pipeline, deployment } = world;
        const executor = deployment.cheat.address;
        if (nextNonce % 2 === 0) nextNonce++;
        const [opened, unopened] = [await submit(world, { executor }), await submit(world, { executor })];
        await until(async () => (await pipeline.job(opened))!.acceptance !== null);
        await until(async () => (await errorsOf(world, 'accept')).length > 0);
        await pipeline.database.execute('UPDATE assay.nodes SET suspended_at = 1 WHERE address = $1', [executor]);
        const [after, before] = await waitForAll(world, [opened, unopened]);
        for (const view of [after, before]) {
          expect(view).toMatchObject({ outcome: 'failed', receipt: null, error: { code: 'ORDER_UNDELIVERED' } });
          expect(view!.error!.message).toContain('suspended');
        }
        expect(after).toMatchObject({ step: 'expire', settlement: { state: 'open' } });
        expect(before).toMatchObject({ step: 'done', settlement: { state: 'unopened' } });
      },
    ));

  it('not connected: the order waits until its time is over', () =>
    inWorld({}, async (world) => {
      const { pipeline, deployment } = world;
      // Registered here by an earlier process, and connected to none now.
      const absent = deployment.honest.address;
      await pipeline.close();
      const alone = await Pipeline.open(
        { dataDirectory: join(scratch, `world-${directories++}`), ...QUICK },
        { ...deployment.ports, executors: deployment.ports.executors.slice(0, 1) },
      );
      try {
        await alone.database.execute(
          `INSERT INTO assay.nodes (address, engine, operator, executes) VALUES ($1, 'a', 'b', true)`,
          [absent],
        );
        const there = { ...world, pipeline: alone };
        const { escrow } = deployment.client;
        const deliverBy = (await escrow.clock()) + 3_600;
        const id = await submit(there, { deliverBy, validUntil: deliverBy });
        await until(async () => (await errorsOf(there, 'accept')).includes('EXECUTOR_NONE'));
        expect(await alone.job(id)).toMatchObject({ outcome: null, step: 'accept', settlement: { state: 'unopened' } });
        await pass(there, 3_700);
        const late = await alone.waitFor(id);
        expect(late).toMatchObject({ outcome: 'failed', step: 'done', error: { code: 'ORDER_UNOPENABLE' } });
        expect(late.error!.message).toContain('valid until a time that has passed');
      } finally {
        await alone.close();
      }
    }));

  it('is part of the request: another one is another request', () =>
    inWorld({}, async (world) => {
      const { pipeline, deployment } = world;
      const { honest, cheat, client } = deployment;
      const nonce = nextNonce++;
      const asked = (executor: Hex) => orderFor(client, bundle, executor, 1, nonce);
      const id = await pipeline.submit(await asked(honest.address), 'key');
      expect(await pipeline.submit(await asked(honest.address), 'key')).toBe(id);
      expect(await pipeline.submit(await asked(honest.address), 'another key')).toBe(id);
      await expect(pipeline.submit(await asked(cheat.address), 'key')).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
    }));
});

/** The chain, whose courts differ in what `change` says. */
const withCourt = (chain: ChainPort, change: (court: CourtPort) => Partial<CourtPort>): ChainPort => ({
  ...chain,
  courtOf: async (policyHash) => {
    const court = await chain.courtOf(policyHash);
    const bound: CourtPort = {
      terms: court.terms,
      fixSeedCall: (header) => court.fixSeedCall(header),
      reportAuditCall: (...args) => court.reportAuditCall(...args),
      seedOf: (batchHash) => court.seedOf(batchHash),
      verdictOf: (batchHash) => court.verdictOf(batchHash),
      drawBlockOf: (header) => court.drawBlockOf(header),
      auditDeadlineOf: (header) => court.auditDeadlineOf(header),
    };
    return { ...bound, ...change(bound) };
  },
});

describe.concurrent('the audit window closes', LIMIT, () => {
  it('without a seed: the receipts are void', () => {
    let early = true;
    return inWorld(
      {
        deploy: { auditWindow: 1_000 },
        ports: ({ ports: { chain } }) => ({
          chain: withCourt(chain, (court) => ({
            drawBlockOf: (header) => (early ? Number.MAX_SAFE_INTEGER : court.drawBlockOf(header)),
          })),
        }),
      },
      async (world) => {
        const id = await submit(world);
        await until(async () => (await world.pipeline.job(id))!.position !== null);
        await pass(world, 1_010);
        early = false;
        const view = await world.pipeline.waitFor(id);
        expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: null });
        expect(await world.deployment.client.court!.seedOf(view.batchHash!)).toBeNull();
        // Nobody vouches for the receipt, nobody is paid for it: everything goes back.
        await world.pipeline.drain();
        expect(await world.pipeline.job(id)).toMatchObject({ settlement: { state: 'refunded' } });
      },
    );
  });

  it('half, and one receipt cannot be checked: that one alone is void, the others are final', () =>
    inWorld(
      {
        deploy: { auditWindow: 1_000 },
        settings: { batchSize: 2, batchAgeMs: 60_000 },
        ports: ({ ports }) => ({
          checkers: ports.checkers.map((checker) => ({
            ...checker,
            check: (...args) =>
              args[1][0]![0] === -3 ? Promise.reject(new Error('no device')) : checker.check(...args),
          })),
        }),
      },
      async (world) => {
        const ids = [await submit(world, {}, -3), await submit(world, {}, 2)];
        await until(async () => (await errorsOf(world, 'audit')).includes('CHECKER_FAILED'));
        await pass(world, 600);
        const [unchecked, checked] = await waitForAll(world, ids);
        expect(unchecked).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'undecided' } });
        expect(checked).toMatchObject({ outcome: 'accepted', chainStatus: 'final-sampled' });
        expect(checked!.batchHash).toBe(unchecked!.batchHash);
      },
    ));

  it('while the auditors are away: void, and the cheat is suspended all the same', () =>
    inWorld({ deploy: { auditWindow: 1_000 }, ports: () => ({ auditors: [] }) }, async (world) => {
      const { cheat } = world.deployment;
      const id = await submit(world, { executor: cheat.address }, CHEAT_ON);
      await until(async () => (await errorsOf(world, 'settle')).includes('AUDITORS_MISSING'));
      await pass(world, 1_010);
      const view = await world.pipeline.waitFor(id);
      expect(view).toMatchObject({ outcome: 'void', chainStatus: 'void', audit: { finding: 'fraud' } });
      expect(await suspended(world)).toEqual([cheat.address]);
    }));
});

/** Somebody else, who sends on what he sees. */
const rivalOf = async ({ client }: TestDeployment): Promise<SettlementClient> =>
  SettlementClient.connect({
    provider: client.provider,
    rollup: client.rollup.address,
    signer: new NonceManager(new Wallet(anvilKey(8), client.provider)),
  });

describe.concurrent('receipts that somebody else commits first', LIMIT, () => {
  /** An executor whose receipts somebody else posts first, where `taken` says so. */
  const frontRun = (
    deployment: TestDeployment,
    taken: (receipt: Receipt) => boolean,
  ): { executors: ExecutorPort[] } => {
    const rival = rivalOf(deployment);
    return {
      executors: deployment.ports.executors.map((executor) => ({
        ...executor,
        signReceipt: async (receipt) => {
          const signature = await executor.signReceipt(receipt);
          const { rollup, policyHash } = await rival;
          if (taken(receipt)) await rollup.commit('sampled', policyHash, [{ receipt, signature }], receipt.orderHash);
          return signature;
        },
      })),
    };
  };
  const expectPaid = async (world: World, ids: readonly Hex[]): Promise<void> => {
    await world.pipeline.drain();
    for (const id of ids) {
      const view = (await world.pipeline.job(id))!;
      expect(view).toMatchObject({ step: 'done', outcome: 'accepted', settlement: { state: 'paid' } });
      await expectValid(world, view);
    }
  };

  it('one of two: it is followed into the other batch, audited and paid there', () => {
    let first: Hex | undefined;
    return inWorld(
      {
        settings: { batchSize: 2, batchAgeMs: 600_000, concurrency: 1 },
        ports: (deployment) => frontRun(deployment, ({ orderHash }) => (first ??= orderHash) === orderHash),
      },
      async (world) => {
        const views = await waitForAll(world, [await submit(world), await submit(world)]);
        const [taken, other] = views.sort(({ jobId }) => (jobId === first ? -1 : 1));
        expect(taken!.batchHash).not.toBe(other!.batchHash);
        const rival = new Wallet(anvilKey(8)).address.toLowerCase();
        expect(taken).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        expect(taken!.position!.header.poster).toBe(rival);
        // In ours it has a leaf that does not stand.
        expect(other!.position!.header).toMatchObject({ count: 2 });
        expect(other!.position!.header.unbound).not.toBe(0n);
        expect(other).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        await expectPaid(world, [taken!.jobId, other!.jobId]);
      },
    );
  });

  it('all of them: nothing is posted here, and the cheat among them is caught all the same', () =>
    inWorld({ ports: (deployment) => frontRun(deployment, () => true) }, async (world) => {
      const { cheat, provider, client } = world.deployment;
      const ids = [await submit(world), await submit(world, { executor: cheat.address }, CHEAT_ON)];
      const [good, bad] = await waitForAll(world, ids);
      expect(good).toMatchObject({ outcome: 'accepted' });
      expect(bad).toMatchObject({ outcome: 'rejected', audit: { finding: 'fraud' } });
      await world.pipeline.drain();
      expect(await world.pipeline.job(bad!.jobId)).toMatchObject({ settlement: { state: 'slashed' } });
      const logs = await provider.getLogs({
        address: client.rollup.address,
        fromBlock: 0,
        topics: rollupInterface.encodeFilterTopics('BatchCommitted', []),
      });
      const posters = logs.map((log) => (rollupInterface.parseLog(log)!.args['header'] as { poster: string }).poster);
      expect(new Set(posters)).toEqual(new Set([new Wallet(anvilKey(8)).address]));
      await expectPaid(world, [good!.jobId]);
    }));

  it('in a batch that nobody can read: the job says which, and the order is followed by its state', () => {
    let batch: Hex | undefined;
    return inWorld(
      {
        settings: { pollMs: 10 },
        ports: (deployment) => ({
          ...frontRun(deployment, () => true),
          chain: {
            ...deployment.ports.chain,
            boundIn: (orderHash) => {
              const { client } = deployment;
              const readBatch = (batchHash: Hex) => {
                batch = batchHash;
                return Promise.reject(
                  new AssayError('CHAIN_BATCH_UNKNOWN', `batch ${batchHash}: staged`, { meta: { batchHash } }),
                );
              };
              const rollup = Object.assign(Object.create(client.rollup) as typeof client.rollup, { readBatch });
              return boundIn(Object.assign(Object.create(client) as typeof client, { rollup }), orderHash);
            },
          },
        }),
      },
      async (world) => {
        const { pipeline, deployment } = world;
        const id = await submit(world);
        await until(async () => (await pipeline.job(id))!.step === 'expire');
        const view = (await pipeline.job(id))!;
        const error = { code: 'CHAIN_BATCH_UNKNOWN', message: expect.stringContaining(batch!) as string };
        expect(view).toMatchObject({ outcome: null, batchHash: null, error, settlement: { state: 'bound' } });
        // It stays so, without a failure, until the money has gone somewhere.
        const attempts = () => pipeline.database.query(`SELECT attempt FROM assay.work WHERE subject = $1`, [id]);
        const first = await attempts();
        await until(async () => JSON.stringify(await attempts()) !== JSON.stringify(first));
        expect(await pipeline.job(id)).toMatchObject({ outcome: null, error });
        expect(await errorsOf(world, 'expire')).toEqual([]);
        const { rollup, escrow } = await rivalOf(deployment);
        const { header } = await rollup.readBatch(batch!);
        await pass(world, 100_000);
        const order = view.order;
        await escrow.send(escrow.settleCall([{ order, receipt: view.receipt!.receipt, header, index: 0 }]), 'settle');
        expect(await pipeline.waitFor(id)).toMatchObject({
          step: 'done',
          outcome: 'failed',
          error,
          settlement: { state: 'refunded' },
        });
      },
    );
  });

  it('by copying our commit on its way: the whole batch is followed to his', () => {
    let copied: Promise<unknown> | undefined;
    return inWorld(
      {
        settings: { batchSize: 2, batchAgeMs: 600_000 },
        ports: (deployment) => ({
          chain: {
            ...deployment.ports.chain,
            sendRaw: async (raw) => {
              const { data } = Transaction.from(raw);
              if (rollupInterface.parseTransaction({ data })?.name === 'commit') {
                // Ours is held up until his is mined.
                copied ??= rivalOf(deployment).then(({ rollup }) =>
                  rollup.send({ to: rollup.address, data: data as Hex }, 'copy'),
                );
                await copied;
              }
              return deployment.ports.chain.sendRaw(raw);
            },
          },
        }),
      },
      async (world) => {
        const ids = [await submit(world), await submit(world)];
        const views = await waitForAll(world, ids);
        expect(copied).toBeDefined();
        for (const { position } of views)
          expect(position!.header).toMatchObject({
            poster: new Wallet(anvilKey(8)).address.toLowerCase(),
            count: 2,
            unbound: 0n,
          });
        await expectPaid(world, ids);
      },
    );
  });
});

describe.concurrent('receipts that do not bind', LIMIT, () => {
  /** Executors that sign in time, and then the chain's clock passes what `late` says of the order. */
  const lateSigning = ({ ports, provider }: TestDeployment, late: (receipt: Receipt) => boolean) => ({
    executors: ports.executors.map((executor): ExecutorPort => ({
      ...executor,
      signReceipt: async (receipt) => {
        const signature = await executor.signReceipt(receipt);
        if (late(receipt)) await provider.send('evm_increaseTime', [4_000]);
        await provider.send('evm_mine', []);
        return signature;
      },
    })),
  });
  const soon = async ({ deployment }: World): Promise<Partial<JobOrder>> => {
    const deliverBy = (await deployment.client.escrow.clock()) + 3_600;
    return { deliverBy, validUntil: deliverBy };
  };
  const expectExpired = async ({ pipeline, deployment }: World, id: Hex): Promise<void> => {
    await until(async () => (await pipeline.job(id))!.step === 'done');
    expect(await pipeline.job(id)).toMatchObject({ outcome: 'failed', settlement: { state: 'refunded' } });
    expect(await deployment.client.escrow.orderOf(id)).toMatchObject({ state: 'refunded' });
  };

  it('one of two: it fails with the reason and is expired, the other goes its way', () => {
    let last: Hex;
    return inWorld(
      {
        settings: { batchSize: 2, batchAgeMs: 600_000, concurrency: 1 },
        ports: (deployment) => lateSigning(deployment, ({ orderHash }) => orderHash === last),
      },
      async (world) => {
        const good = await submit(world);
        last = await submit(world, await soon(world));
        const [other, taken] = await waitForAll(world, [good, last]);
        expect(taken!.batchHash).toBe(other!.batchHash);
        expect(taken).toMatchObject({
          outcome: 'failed',
          chainStatus: 'unknown',
          error: { code: 'RECEIPT_UNBOUND' },
          audit: null,
        });
        expect(other).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        expect(taken!.position!.header.unbound).not.toBe(0n);
        await expectExpired(world, last);
      },
    );
  });

  it('all of them: nothing is posted, and the orders fail with the reason and are expired', () =>
    inWorld({ ports: (deployment) => lateSigning(deployment, () => true) }, async (world) => {
      const id = await submit(world, await soon(world));
      const view = await world.pipeline.waitFor(id);
      expect(view).toMatchObject({ outcome: 'failed', position: null, error: { code: 'BATCH_COMMIT_REFUSED' } });
      await expectExpired(world, id);
      await world.pipeline.drain();
      // Opened and expired, and nothing else.
      expect(await world.deployment.provider.getTransactionCount(world.deployment.ports.poster.address)).toBe(2);
    }));
});

const integers = (tensors: readonly (readonly number[])[]) => tensors.map((values) => Int32Array.from(values));

/** The receipt file, checked by somebody who trusts nothing but the contract's address. */
async function expectValid({ deployment }: World, view: JobView): Promise<void> {
  const { provider, client } = deployment;
  const check = await verifyReceipt(receiptFileOf(view, client.domain)!, {
    provider,
    rollup: client.rollup.address,
    settlement: 'soft',
    inputRoot: (tensors, items) => inputRoot(bundle.graph, integers(tensors), items) as Hex,
    outputRoot: (tensors, items) => outputRoot(bundle.graph, integers(tensors), items) as Hex,
  });
  expect(check.verdict).toEqual({ verdict: 'valid' });
  expect(await client.rollup.headerOf(view.batchHash!)).toEqual(view.position!.header);
}

describe.concurrent('reorganisations', LIMIT, () => {
  const snapshot = ({ provider }: TestDeployment): Promise<string> =>
    provider.send('evm_snapshot', []) as Promise<string>;
  const revert = async ({ provider }: TestDeployment, to: string): Promise<void> => {
    expect(await provider.send('evm_revert', [to])).toBe(true);
    // The other branch: its blocks have other times, so other hashes.
    await provider.send('evm_increaseTime', [7]);
  };

  const committed = ({ provider, client }: TestDeployment) =>
    provider.getLogs({
      address: client.rollup.address,
      fromBlock: 0,
      topics: rollupInterface.encodeFilterTopics('BatchCommitted', []),
    });

  it('takes out the openings, the commit, the seed and an earlier batch during the audit: all done anew', () => {
    let before = '';
    let checks = 0;
    let headerBefore: number | undefined;
    return inWorld(
      {
        ports: (deployment) => ({
          checkers: deployment.ports.checkers.map((checker) => ({
            ...checker,
            check: async (...args) => {
              // The check of the second batch; the first is done by then.
              if (++checks === 2) {
                const blocks = (await committed(deployment)).map(({ blockNumber }) => blockNumber);
                headerBefore = blocks.at(-1);
                await revert(deployment, before);
              }
              return checker.check(...args);
            },
          })),
        }),
      },
      async (world) => {
        const { deployment, pipeline } = world;
        before = await snapshot(deployment);
        const first = await pipeline.waitFor(await submit(world));
        const view = await pipeline.waitFor(await submit(world));
        expect(view).toMatchObject({ outcome: 'accepted', audit: { finding: 'match' } });
        expect(view.position!.header.committedBlock).not.toBe(headerBefore);
        await expectValid(world, view);
        await pipeline.drain();
        // The second was broken off and done again; so was the first, which had ended.
        expect(checks).toBe(4);
        for (const { jobId } of [first, view]) {
          const after = (await pipeline.job(jobId))!;
          expect(after).toMatchObject({ outcome: 'accepted', step: 'done', settlement: { state: 'paid' } });
          await expectValid(world, after);
        }
      },
    );
  });

  it('takes out the seed but not the commit: the old draw is void, the new seed draws', () => {
    let before: string | undefined;
    let seen: Hex | null = null;
    return inWorld(
      {
        blockTimeS: null,
        deploy: { drawRatePpm: 250_000 },
        settings: { batchSize: 8, batchAgeMs: 600_000 },
        ports: (deployment, anvil) => ({
          chain: withCourt(deployment.ports.chain, (court) => ({
            seedOf: async (batchHash) => {
              // The commit is in the newest block; no block follows but by this test.
              if (before === undefined) {
                before = await snapshot(deployment);
                await anvil.mine(2);
              }
              return court.seedOf(batchHash);
            },
          })),
          checkers: deployment.ports.checkers.map((checker) => ({
            ...checker,
            check: async (wanted, inputs, items, posted) => {
              if (seen === null) {
                const bound = await deployment.ports.chain.boundIn(posted.orderHash);
                seen = await deployment.client.court!.seedOf(bound!.batchHash);
                await revert(deployment, before!);
                await anvil.mine(2);
              }
              return checker.check(wanted, inputs, items, posted);
            },
          })),
        }),
      },
      async (world) => {
        const { pipeline, deployment } = world;
        const ids: Hex[] = [];
        for (let i = 0; i < 8; i++) ids.push(await submit(world));
        const views = await waitForAll(world, ids);
        expect(views.map(({ outcome }) => outcome)).toEqual(Array(8).fill('accepted'));
        const seed = await deployment.client.court!.seedOf(views[0]!.batchHash!);
        expect(seed).not.toBe(seen);
        expect(await pipeline.database.query('SELECT seed FROM assay.batches')).toEqual([{ seed }]);
        expect(views.filter(({ audit }) => audit !== null)).toHaveLength(2);
        for (const view of views) await expectValid(world, view);
      },
    );
  });

  it('with three confirmations wanted, no outcome is taken from a verdict that has one', () =>
    inWorld({ blockTimeS: null, settings: { confirmations: 3 } }, async (world) => {
      const { pipeline, deployment, anvil } = world;
      const id = await submit(world);
      await until(async () => {
        const view = (await pipeline.job(id))!;
        if (view.batchHash !== null && (await deployment.client.court!.verdictOf(view.batchHash)) !== null) return true;
        await anvil.mine(1);
        return false;
      });
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect(await pipeline.job(id)).toMatchObject({ step: 'batched', outcome: null });
      await anvil.mine(2);
      expect(await pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
    }));
});
