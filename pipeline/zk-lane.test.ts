/** The zk lane from order to proved receipt, with a real prover in its thread; and what it refuses. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHEAT_ON,
  connectDeployment,
  deployTestRollup,
  orderFor,
  requester,
  TINY_SRS_POINTS,
  tinyBundle,
  withKey,
  type TestDeployment,
} from '../test/kill/fixture.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { evaluateGraph, type Bundle } from '../graph/index.js';
import { formatReceiptFile, parseReceiptFile, signOrder, verifyReceipt, type ReceiptFile } from '../receipts/index.js';
import type { Hex, Lane } from '../receipts/types.js';
import { startAnvil, type Anvil } from '../verifier-contracts/anvil.js';
import { ProverNode } from './adapters/prover-node.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';
import type { ExecutorPort, ProvedJob, ProverPort } from './ports.js';
import type { JobView } from './read-job.js';
import { receiptFileOf } from './receipt-file-of.js';
import { readerChecks } from './zk/reader-checks.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-zk-lane-'));
const QUICK: Partial<PipelineSettingsInput> = {
  batchAgeMs: 150,
  pollMs: 40,
  sweepMs: 100,
  openLanes: ['sampled', 'zk'],
};
let anvil: Anvil;
let rollup: Hex;
let prover: ProverNode;
let bundle: Bundle;
let nextNonce = 1;
let worlds = 0;

beforeAll(async () => {
  anvil = await startAnvil({ blockTimeS: 0.1 });
  rollup = await deployTestRollup(anvil.url);
  await makeTemplate(join(scratch, 'template'));
  prover = await ProverNode.start({ srs: { kind: 'development', points: TINY_SRS_POINTS }, threads: 1 });
  bundle = await withKey(tinyBundle(), prover);
}, 120_000);
afterAll(async () => {
  await prover?.close();
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

interface World {
  readonly deployment: TestDeployment;
  readonly pipeline: Pipeline;
  readonly directory: string;
}

interface WorldOptions {
  readonly settings?: Partial<PipelineSettingsInput>;
  readonly ports?: (deployment: TestDeployment) => Partial<PipelinePorts>;
  readonly bundle?: Bundle;
}

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const directory = join(scratch, `world-${worlds}`);
  if (!existsSync(directory)) freshDirectory(join(scratch, 'template'), directory);
  const deployment = await connectDeployment({
    directory,
    url: anvil.url,
    rollup,
    bundle: options.bundle ?? bundle,
    posterAccount: worlds++ % 9,
  });
  let pipeline: Pipeline | undefined;
  try {
    pipeline = await Pipeline.open(
      { dataDirectory: directory, ...QUICK, ...options.settings },
      { ...deployment.ports, provers: [prover], ...options.ports?.(deployment) },
    );
    await work({ deployment, pipeline, directory });
  } finally {
    await pipeline?.close();
    await deployment.close();
  }
}

async function submit({ pipeline, deployment }: World, lane: Lane = 'zk', first = 1, executor?: Hex): Promise<Hex> {
  const request = await orderFor(deployment.client, bundle, first, nextNonce++, lane);
  return pipeline.submit(
    { ...request, ...(executor === undefined ? {} : { executor }) },
    `order ${request.order.nonce}`,
  );
}

const fileOf = (view: JobView, { deployment }: World): ReceiptFile =>
  parseReceiptFile(formatReceiptFile(receiptFileOf(view, deployment.client.domain)!));

/** A stranger with the key alone: no chain, no bundle. */
const asStranger = async (file: ReceiptFile) =>
  verifyReceipt(file, readerChecks({ key: await prover.keyOf(bundle), srs: prover.srs }));

const refusals = async ({ pipeline }: World, id: Hex) =>
  pipeline.database.query<{ step: string; outcome: string; code: string }>(
    `SELECT step, outcome, error->>'code' AS code FROM assay.attempts WHERE subject = $1 AND error IS NOT NULL ORDER BY attempt`,
    [id],
  );

/** The prover, but for what `change` says of the n-th proof. */
function proving(change: (n: number, proved: () => Promise<ProvedJob>) => Promise<ProvedJob>): ProverPort {
  let n = 0;
  return { ...portOf(), prove: (job) => change(n++, () => prover.prove(job)) };
}
const portOf = (): ProverPort => ({
  name: prover.name,
  srs: prover.srs,
  limits: prover.limits,
  predict: (...args) => prover.predict(...args),
  keyOf: (model) => prover.keyOf(model),
  prove: (job) => prover.prove(job),
  abort: () => prover.abort(),
});
const flipped = ({ proof, ...rest }: ProvedJob): ProvedJob => {
  const bytes = proof.slice();
  bytes[bytes.length - 100]! ^= 1;
  return { proof: bytes, ...rest };
};

describe('an order to the zk lane', () => {
  it('is run, signed, proved, verified and accepted, beside orders to the sampled lane', () =>
    inWorld({}, async (world) => {
      const { honest } = world.deployment;
      const [id, sampled] = [await submit(world, 'zk', 1, honest.address), await submit(world, 'sampled', 1)];
      const view = await world.pipeline.waitFor(id);
      expect(view).toMatchObject({
        outcome: 'accepted',
        step: 'done',
        lane: { lane: 'zk' },
        // Not posted: nothing of it is on chain.
        batchHash: null,
        position: null,
        chainStatus: null,
        proof: { scheme: 'mercury', finding: 'match' },
        receipt: { receipt: { lane: 'zk', traceRoot: `0x${'00'.repeat(32)}`, modelDigest: bundle.digest } },
      });
      expect(view.outputs![0]).toEqual(evaluateGraph(bundle.graph, view.inputs, 1)[bundle.graph.outputs[0]!]);
      expect(await world.pipeline.waitFor(sampled)).toMatchObject({ outcome: 'accepted', proof: null });

      const check = await asStranger(fileOf(view, world));
      expect(check).toEqual({
        verdict: { verdict: 'valid' },
        status: null,
        checks: Object.fromEntries(
          ['signature', 'terms', 'inputs', 'outputs', 'proof'].map((name) => [name, { verdict: 'valid' }]),
        ),
      });
      // With the chain: that it is the right contract's, too.
      const withChain = await verifyReceipt(fileOf(view, world), {
        ...readerChecks({ key: await prover.keyOf(bundle), srs: prover.srs }, bundle),
        provider: world.deployment.provider,
        rollup,
      });
      expect(withChain).toMatchObject({ verdict: { verdict: 'valid' }, checks: { settlement: { verdict: 'valid' } } });
    }));

  it('with a wrong answer: the proof shows it, the executor is suspended, and the receipt is evidence against it', () =>
    inWorld({}, async (world) => {
      const { cheat, honest } = world.deployment;
      const view = await world.pipeline.waitFor(await submit(world, 'zk', CHEAT_ON, cheat.address));
      expect(view).toMatchObject({
        outcome: 'rejected',
        executor: cheat.address,
        proof: { finding: 'executor-wrong' },
        error: { code: 'EXECUTOR_WRONG', meta: { executor: cheat.address, difference: { tensor: 0, element: 0 } } },
      });
      const nodes = await world.pipeline.database.query<{ address: Hex; reason: string }>(
        'SELECT address, reason FROM assay.nodes WHERE suspended_at IS NOT NULL',
      );
      expect(nodes).toEqual([{ address: cheat.address, reason: expect.stringContaining(view.jobId) as string }]);
      const file = fileOf(view, world);
      expect(file.evidence!.published).toBeDefined();
      const check = await asStranger(file);
      expect(check.checks).toMatchObject({ signature: { verdict: 'valid' }, proof: { verdict: 'invalid' } });
      expect(check.verdict).toMatchObject({ reason: expect.stringContaining('gives another output') as string });
      const later = await world.pipeline.waitFor(await submit(world, 'zk', CHEAT_ON));
      expect(later).toMatchObject({ outcome: 'accepted', executor: honest.address });
    }));
});

describe('a proof that is not what it should be', () => {
  it('damaged in the store between proving and verifying: refused, made again, accepted', () => {
    let damaged = 0;
    const world: { current?: World } = {};
    const tampering: ProverPort = {
      ...proving((_n, proved) => proved()),
      // The step `verify` asks for the key before it reads the proof.
      keyOf: async (model) => {
        const { pipeline, directory } = world.current!;
        const [row] = await pipeline.database.query<{ proof_file: string }>('SELECT proof_file FROM assay.proofs');
        if (row !== undefined && damaged++ === 0) {
          const path = join(directory, 'blobs', row.proof_file.slice(0, 2), row.proof_file);
          const bytes = readFileSync(path);
          bytes[200]! ^= 1;
          writeFileSync(path, bytes);
        }
        return prover.keyOf(model);
      },
    };
    return inWorld({ ports: () => ({ provers: [tampering] }) }, async (current) => {
      world.current = current;
      const id = await submit(current);
      expect(await current.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted', proof: { finding: 'match' } });
      expect(await refusals(current, id)).toEqual([{ step: 'verify', outcome: 'done', code: 'STORE_CORRUPT' }]);
    });
  });

  it('once with a bit flipped, once made for another order: each is refused, the third is accepted', () => {
    const port = proving(async (n, proved) => (n === 0 ? flipped(await proved()) : proved()));
    const wrongOrder: ProverPort = {
      ...port,
      prove: (
        (n) => (job) =>
          port.prove(n++ === 1 ? { ...job, orderHash: `0x${'77'.repeat(32)}` } : job)
      )(0),
    };
    return inWorld({ ports: () => ({ provers: [wrongOrder] }) }, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      expect((await refusals(world, id)).map(({ step, code }) => `${step} ${code}`)).toEqual([
        'verify PROOF_INVALID',
        'verify PROOF_INVALID',
      ]);
    });
  });

  it('never any that holds: the order fails, and nothing is called proved', () =>
    inWorld({ ports: () => ({ provers: [proving(async (_n, proved) => flipped(await proved()))] }) }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'PROOF_INVALID' }, proof: { finding: null } });
      const file = fileOf(view, world);
      expect(file.evidence).toBeUndefined();
      expect((await asStranger(file)).verdict).toMatchObject({ verdict: 'undetermined' });
    }));

  it('of another answer, published by a prover that lies: no executor is condemned', () => {
    const lying = proving(async (_n, proved) => {
      const { published, ...rest } = await proved();
      return { ...rest, published: published.map((values) => values.map((v, i) => (i === 0 ? v - 1 : v))) };
    });
    return inWorld({ ports: () => ({ provers: [lying] }) }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'PROOF_INVALID' } });
      expect(await world.pipeline.database.query('SELECT 1 FROM assay.nodes WHERE suspended_at IS NOT NULL')).toEqual(
        [],
      );
    });
  });
});

describe('a prover', () => {
  it('that dies in the middle of a proof is started again, and the job is done', () => {
    const mortal: ProverPort = {
      ...portOf(),
      prove: ((n) => async (job) => {
        const proof = prover.prove(job);
        if (n++ === 0) await prover.abort();
        return proof;
      })(0),
    };
    return inWorld({ ports: () => ({ provers: [mortal] }) }, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      expect(await refusals(world, id)).toEqual([{ step: 'prove', outcome: 'failed', code: 'PROVER_FAILED' }]);
    });
  });

  it('that hangs is stopped after its time', () => {
    let aborted = 0;
    const hanging: ProverPort = {
      ...portOf(),
      prove: ((n) => (job) => (n++ === 0 ? new Promise<never>(() => undefined) : prover.prove(job)))(0),
      abort: async () => void aborted++,
    };
    return inWorld({ settings: { proveTimeoutMs: 2_500 }, ports: () => ({ provers: [hanging] }) }, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      expect(aborted).toBe(1);
      expect(await refusals(world, id)).toEqual([{ step: 'prove', outcome: 'failed', code: 'NODE_TIMEOUT' }]);
    });
  });

  it('that always fails: the order fails with the reason', () => {
    const broken = proving(() => Promise.reject(new Error('no memory')));
    return inWorld({ ports: () => ({ provers: [broken] }) }, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'PROVER_FAILED' }, proof: null });
      expect(view.error!.message).toContain('no memory');
    });
  });
});

describe('refused before any work', () => {
  const refusal = async (world: World, change: Partial<Parameters<Pipeline['quote']>[0]> = {}) => {
    const { order } = await orderFor(world.deployment.client, bundle, 1, nextNonce++, 'zk');
    return world.pipeline.quote({ ...order, ...change }).then(
      ({ lane, reasons }) => ({ lane, text: reasons.join('\n') }),
      (error: unknown) => ({ lane: null, text: String(error) }),
    );
  };

  it('a bundle without a key, naming `assay key`', () =>
    inWorld({ bundle: tinyBundle() }, async (world) => {
      expect(await refusal(world)).toMatchObject({
        lane: null,
        text: expect.stringContaining('`assay key`') as string,
      });
      const { order, inputs } = await orderFor(world.deployment.client, tinyBundle(), 1, nextNonce++, 'zk');
      const signature = await signOrder(order, world.deployment.client.domain, requester);
      await expect(world.pipeline.submit({ order, inputs, signature }, 'no key')).rejects.toMatchObject({
        code: 'LANE_CLOSED',
      });
    }));

  it.each([
    [{ memoryBytes: 1e6 }, /a memory of \d+ bytes, at most 1000000/],
    [{ srsPoints: 2_048 }, /a reference string of 4096 points, at most 2048/],
  ])('a job beyond the limits of the prover: %o', (limits, found) =>
    inWorld({ ports: () => ({ provers: [{ ...portOf(), limits: { ...prover.limits, ...limits } }] }) }, async (world) =>
      expect((await refusal(world)).text).toMatch(found),
    ),
  );

  it('a job that does not fit: time, number of items; and `auto` says which lane it would take', () =>
    inWorld({}, async (world) => {
      expect(await refusal(world)).toMatchObject({ lane: 'zk', text: expect.stringContaining('4427 bytes') as string });
      expect((await refusal(world, { deliverBy: Math.floor(Date.now() / 1_000) })).text).toMatch(/ms, at most 0 are/);
      expect((await refusal(world, { items: 4_097 })).text).toContain('expected 1 to 4096');
      expect((await refusal(world, { lane: 'auto', price: 10n ** 18n })).lane).toBe('zk');
      expect((await refusal(world, { lane: 'auto', price: 1n })).lane).toBe('sampled');
    }));

  it('a key that is not made from the model', () => {
    const other = { ...portOf(), keyOf: prover.keyOf.bind(prover) };
    return withKey(tinyBundle(), {
      keyOf: async (model) => ({ ...(await other.keyOf(model)), commitments: [] }),
    }).then((wrong) =>
      inWorld({ bundle: wrong }, async (world) => {
        expect((await refusal(world)).text).toContain(`names the model key ${wrong.modelKeyHash}`);
      }),
    );
  });

  it('the lane without a prover, and the development reference string on any chain but the local one', async () => {
    await expect(inWorld({ ports: () => ({ provers: [] }) }, async () => undefined)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const onMainnet = ({ ports }: TestDeployment): Partial<PipelinePorts> => ({
      chain: { ...ports.chain, domain: { ...ports.chain.domain, chainId: 1n } },
      poster: new Wallet(`0x${'5a'.repeat(32)}`),
    });
    await expect(inWorld({ ports: onMainnet }, async () => undefined)).rejects.toMatchObject({
      code: 'SRS_DEVELOPMENT',
    });
  });

  it('executors are asked as in the other lanes: one that fails is replaced', () => {
    const broken = (honest: ExecutorPort): ExecutorPort => ({
      ...honest,
      address: `0x${'0b'.repeat(20)}`,
      operator: 'operator broken',
      execute: () => Promise.reject(new Error('no device')),
    });
    const ports = ({ ports: { executors } }: TestDeployment) => ({ executors: [broken(executors[1]!), executors[1]!] });
    return inWorld({ ports }, async (world) => {
      expect(await world.pipeline.waitFor(await submit(world))).toMatchObject({ outcome: 'accepted' });
    });
  });
});
