/** The zk lane from order to proved receipt, with a real prover in its thread; and what it refuses. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CHEAT_ON,
  connectDeployment,
  orderFor,
  requester,
  TINY_SRS_POINTS,
  tinyBundle,
  withKey,
  type TestDeployment,
} from '../test/kill/fixture.js';
import { prepareChain, startPrepared } from '../test/kill/deploy.js';
import { freshDirectory, makeTemplate } from '../test/kill/harness.js';
import { AssayError } from '../common/errors.js';
import { evaluateGraph, makeBundle, type Bundle } from '../graph/index.js';
import type { TensorId } from '../graph/integer/types.js';
import { encodeG1, G1_GENERATOR } from '../prover/curve/g1.js';
import { mercuryProver } from '../prover/opening/mercury-prover.js';
import { wasmBackend } from '../prover/opening/wasm-backend.js';
import { buildProgram } from '../prover/program/build-program.js';
import { chooseColumnBits } from '../prover/prover/predict.js';
import { proveStatement } from '../prover/prover/prove.js';
import { developmentSrs } from '../prover/srs/development-cache.js';
import { SCHEME_CODE } from '../prover/verifier/kzg-scheme.js';
import { modelKeyHash } from '../prover/verifier/model-key.js';
import { openArithmetic } from '../prover/wasm/node-arithmetic.js';
import { formatReceiptFile, parseReceiptFile, signOrder, verifyReceipt, type ReceiptFile } from '../receipts/index.js';
import type { Hex, Lane } from '../receipts/types.js';
import type { Anvil } from '../verifier-contracts/anvil.js';
import { NOBODY } from '../verifier-contracts/policy.js';
import { ProverNode } from './adapters/prover-node.js';
import type { PipelineSettingsInput } from './config.js';
import { Pipeline, type PipelinePorts } from './pipeline.js';
import type { ExecutorPort, ProvedJob, ProverPort } from './ports.js';
import type { JobView } from './read-job.js';
import { receiptFileOf } from './receipt-file-of.js';
import { onStageFailure } from './stages/on-failure.js';
import { orderBytes } from './zk/check-proof.js';
import { readerChecks } from './zk/reader-checks.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-zk-lane-'));
const QUICK: Partial<PipelineSettingsInput> = {
  openAgeMs: 50,
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
  const prepared = await prepareChain();
  rollup = prepared.rollup;
  anvil = await startPrepared(prepared, { blockTimeS: 0.1 });
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

const openPipeline = (deployment: TestDeployment, directory: string, { settings, ports }: WorldOptions) =>
  Pipeline.open(
    { dataDirectory: directory, ...QUICK, ...settings },
    { ...deployment.ports, provers: [prover], ...ports?.(deployment) },
  );

/** Ends the world's pipeline; then another process opens its data. */
async function inNextProcess(world: World, options: WorldOptions, work: (pipeline: Pipeline) => Promise<void>) {
  await world.pipeline.close();
  const pipeline = await openPipeline(world.deployment, world.directory, options);
  try {
    await work(pipeline);
  } finally {
    await pipeline.close();
  }
}

async function inWorld(options: WorldOptions, work: (world: World) => Promise<void>): Promise<void> {
  const directory = join(scratch, `world-${worlds}`);
  if (!existsSync(directory)) freshDirectory(join(scratch, 'template'), directory);
  const deployment = await connectDeployment({
    directory,
    url: anvil.url,
    rollup,
    bundle: options.bundle ?? bundle,
    name: 'one',
    posterAccount: worlds++ % 9,
  });
  let pipeline: Pipeline | undefined;
  try {
    pipeline = await openPipeline(deployment, directory, options);
    await work({ deployment, pipeline, directory });
  } finally {
    await pipeline?.close();
    await deployment.close();
  }
}

async function submit(
  { pipeline, deployment }: World,
  lane: Lane = 'zk',
  first = 1,
  executor = deployment.honest.address,
): Promise<Hex> {
  const request = await orderFor(deployment.client, bundle, executor, first, nextNonce++, lane);
  return pipeline.submit(request, `order ${request.order.nonce}`);
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
const suspended = ({ pipeline }: World) =>
  pipeline.database.query('SELECT address FROM assay.nodes WHERE suspended_at IS NOT NULL');

/** A bundle that names a key made from other weights, and a prover that proves under that key. */
async function misledProver(): Promise<{ port: ProverPort; misled: Bundle; close: () => Promise<void> }> {
  const tiny = tinyBundle();
  const swapped = (values: Int8Array | Int32Array, row: number) =>
    values.map((_, i) => values[i < row ? i + row : i < 2 * row ? i - row : i]!);
  const nodes = tiny.graph.nodes.map((node) =>
    node.kind === 'matmul'
      ? ({ ...node, weight: swapped(node.weight as Int8Array, 4), bias: swapped(node.bias!, 1) } as typeof node)
      : node,
  );
  const other = makeBundle({ ...tiny, graph: { ...tiny.graph, nodes } });
  const otherKey = await prover.keyOf(other);
  const misled = makeBundle({ ...tiny, modelKeyHash: modelKeyHash(otherKey) });
  const key = { ...otherKey, roots: (await prover.keyOf(tiny)).roots };

  const arithmetic = await openArithmetic({ threads: 1 });
  const backend = wasmBackend(arithmetic, developmentSrs(TINY_SRS_POINTS, { arithmetic }));
  const scheme = { name: 'mercury', code: SCHEME_CODE.mercury, prover: mercuryProver } as const;
  const built = buildProgram(other.graph);
  const prove: ProverPort['prove'] = async ({ orderHash, items, inputs }) => {
    const trace = evaluateGraph(other.graph, inputs, items);
    const published = built.published.map((id) => trace[id]!);
    const statement = { groups: [{ key, items, inputs, outputs: published }] };
    const columnBits = chooseColumnBits([{ program: built.program, items }]);
    const witness = [{ built, tensor: (id: TensorId) => trace[id]! }];
    const { proof } = proveStatement(
      statement,
      witness,
      columnBits,
      { arithmetic, backend, scheme },
      orderBytes(orderHash),
    );
    return { key, proof, published };
  };
  const port = { ...portOf(), predict: (_: Bundle, items: number) => prover.predict(other, items), prove };
  return { misled, port: { ...port, keyOf: () => Promise.resolve(key) }, close: () => arithmetic.close() };
}
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
        lane: { lane: 'zk' },
        // It stands by its proof, before anything of it but the order is on chain.
        position: null,
        chainStatus: null,
        settlement: { state: 'open' },
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
          ['signature', 'terms', 'acceptance', 'model', 'inputs', 'outputs', 'proof'].map((name) => [
            name,
            { verdict: 'valid' },
          ]),
        ),
      });
      // With the chain: that it is the right contract's, too; and soon, that it is final there, and paid for.
      const withChain = async (jobId: Hex) =>
        verifyReceipt(fileOf((await world.pipeline.job(jobId))!, world), {
          ...readerChecks({ key: await prover.keyOf(bundle), srs: prover.srs }, bundle),
          provider: world.deployment.provider,
          rollup,
          settlement: 'soft',
        });
      expect(await withChain(id)).toMatchObject({
        verdict: { verdict: 'valid' },
        checks: { settlement: { verdict: 'valid' } },
      });
      await world.pipeline.drain();
      const after = (await world.pipeline.job(id))!;
      expect(after).toMatchObject({ step: 'done', outcome: 'accepted', settlement: { state: 'paid' } });
      expect(after.position!.header).toMatchObject({ lane: 'zk', count: 1, unbound: 0n });
      expect(await withChain(id)).toMatchObject({ verdict: { verdict: 'valid' }, status: 'final-zk' });
      const posted = await world.deployment.client.rollup.readBatch(after.batchHash!);
      expect(posted.evidence).toBeDefined();
    }));

  it('with a wrong answer: the proof shows it, the executor is suspended, and the receipt is evidence against it', () =>
    inWorld({}, async (world) => {
      const { cheat, honest } = world.deployment;
      const view = await world.pipeline.waitFor(await submit(world, 'zk', CHEAT_ON, cheat.address));
      expect(view).toMatchObject({
        outcome: 'rejected',
        // Nothing is posted: the order is left to expire.
        step: 'expire',
        settlement: { state: 'open' },
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
      expect(later).toMatchObject({ outcome: 'accepted', order: { executor: honest.address } });
    }));
});

/** A world in which a file of the order comes to harm between proving and verifying, `times` times. */
function inFragileWorld(
  column: 'proof_file' | 'output_file',
  harm: (path: string) => void,
  times: number,
  work: (world: World) => Promise<void>,
): Promise<void> {
  let harmed = 0;
  const world: { current?: World } = {};
  const port: ProverPort = {
    ...portOf(),
    // The step `verify` asks for the key before it reads the files.
    keyOf: async (model) => {
      const { pipeline, directory } = world.current!;
      const [row] = await pipeline.database.query<{ name: string }>(
        `SELECT ${column} AS name FROM assay.proofs JOIN assay.executions USING (order_hash)`,
      );
      if (row !== undefined && harmed++ < times) harm(join(directory, 'blobs', row.name.slice(0, 2), row.name));
      return prover.keyOf(model);
    },
  };
  return inWorld({ ports: () => ({ provers: [port] }) }, async (current) => {
    world.current = current;
    await work(current);
  });
}
const damage = (path: string): void => {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
};

describe('an order that was taken in', () => {
  it('is not routed again by a process without a prover, nor by one whose prover has less memory', () =>
    inWorld({ ports: ({ ports }) => ({ executors: asleep(ports.executors) }) }, async (world) => {
      const id = await submit(world);
      await inNextProcess(
        world,
        { settings: { openLanes: ['sampled'] }, ports: () => ({ provers: [] }) },
        async (pipeline) => {
          await pipeline.drain();
          expect(await pipeline.job(id)).toMatchObject({ step: 'prove', outcome: null, lane: { lane: 'zk' } });
        },
      );
      const smaller = { ...portOf(), limits: { ...prover.limits, memoryBytes: 1 } };
      await inNextProcess(world, { ports: () => ({ provers: [smaller] }) }, async (pipeline) => {
        expect(await pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted', lane: { lane: 'zk' } });
      });
    }));
});

/** Executors that take orders on when this process has ended. */
const asleep = (executors: readonly ExecutorPort[]): ExecutorPort[] =>
  executors.map((executor) => ({ ...executor, acceptOrder: () => Promise.reject(new Error('asleep')) }));

describe('a proof that is not what it should be', () => {
  it.each([
    ['damaged', damage, 'STORE_CORRUPT'],
    ['lost', (path: string) => rmSync(path), 'STORE_UNAVAILABLE'],
  ])('%s in the store between proving and verifying: refused, made again, accepted', (_what, harm, code) =>
    inFragileWorld('proof_file', harm, 1, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted', proof: { finding: 'match' } });
      expect(await refusals(world, id)).toEqual([{ step: 'verify', outcome: 'done', code }]);
    }),
  );

  it('damaged in the store each time: the order fails, and can be read', () =>
    inFragileWorld('proof_file', damage, Infinity, async (world) => {
      const view = await world.pipeline.waitFor(await submit(world));
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'PROOF_INVALID' }, proof: null });
    }));

  it('under a key that is not made from the model: the order fails, and no executor is condemned', async () => {
    const { port, misled, close } = await misledProver();
    await inWorld({ bundle: misled, ports: () => ({ provers: [port] }) }, async (world) => {
      const { client, honest } = world.deployment;
      const request = await orderFor(client, misled, honest.address, 1, nextNonce++, 'zk');
      const view = await world.pipeline.waitFor(await world.pipeline.submit(request, 'misled'));
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'MODEL_KEY_MISMATCH' }, proof: null });
      expect(await suspended(world)).toEqual([]);
    });
    await close();
  });

  it('shows a wrong answer although the stored one cannot be read: rejected, and whoever waits is told', () =>
    inFragileWorld('output_file', damage, 1, async (world) => {
      const id = await submit(world, 'zk', CHEAT_ON, world.deployment.cheat.address);
      await expect(world.pipeline.waitFor(id)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      const orders = await world.pipeline.database.query('SELECT outcome, error FROM assay.orders');
      expect(orders).toMatchObject([{ outcome: 'rejected', error: { meta: { difference: null } } }]);
      expect(await suspended(world)).toEqual([{ address: world.deployment.cheat.address }]);
    }));

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
      expect(view).toMatchObject({ outcome: 'failed', error: { code: 'PROOF_INVALID' }, proof: null });
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
      expect(await suspended(world)).toEqual([]);
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
      // Whatever comes of it.
      abort: () => Promise.reject(new Error(`ended ${++aborted} times`)),
    };
    return inWorld({ settings: { proveTimeoutMs: 2_500 }, ports: () => ({ provers: [hanging] }) }, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      expect(aborted).toBe(1);
      expect(await refusals(world, id)).toEqual([{ step: 'prove', outcome: 'failed', code: 'NODE_TIMEOUT' }]);
    });
  });

  it('that has less memory than it said has failed, and is asked again', () => {
    const full = new AssayError('PROVER_MEMORY', 'it does not fit');
    const boastful = proving((n, proved) => (n === 0 ? Promise.reject(full) : proved()));
    return inWorld({ ports: () => ({ provers: [boastful] }) }, async (world) => {
      const id = await submit(world);
      expect(await world.pipeline.waitFor(id)).toMatchObject({ outcome: 'accepted' });
      expect(await refusals(world, id)).toEqual([{ step: 'prove', outcome: 'failed', code: 'PROVER_FAILED' }]);
    });
  });

  it('is not blamed for outages: only its own failures end an order', () =>
    inWorld({}, async (world) => {
      const { database } = world.pipeline;
      const subject = await submit(world);
      await world.pipeline.waitFor(subject);
      const claim = { subject, kind: 'order', step: 'prove', attempt: 200, retries: 5, instance: 'one' } as const;
      const failure = () => onStageFailure(database, claim, new AssayError('PROVER_FAILED', 'it ended'), 0);
      await database.execute(
        `INSERT INTO assay.attempts (subject, attempt, step, instance, started_at, outcome, error)
         SELECT $1, n, 'prove', 'one', 0, 'failed', '{"code": "STORE_UNAVAILABLE"}' FROM generate_series(101, 105) n`,
        [subject],
      );
      expect(await failure()).toBe('retry');
      await database.execute(`UPDATE assay.attempts SET error = '{"code": "PROVER_FAILED"}' WHERE attempt > 100`);
      expect(await failure()).not.toBe('retry');
    }));

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
    const { client, honest } = world.deployment;
    const { order } = await orderFor(client, bundle, honest.address, 1, nextNonce++, 'zk');
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
      const { client, honest } = world.deployment;
      const { order, inputs } = await orderFor(client, tinyBundle(), honest.address, 1, nextNonce++, 'zk');
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
        const text = expect.stringContaining(`names the model key ${wrong.modelKeyHash}`) as string;
        expect(await refusal(world)).toMatchObject({ text });
        expect(await refusal(world)).toMatchObject({ text });
      }),
    );
  });

  it('provers of different reference strings', async () => {
    const srs = { ...prover.srs, tauG1: encodeG1(G1_GENERATOR.multiply(5n)) };
    const provers = [prover, { ...portOf(), srs }];
    await expect(inWorld({ ports: () => ({ provers }) }, async () => undefined)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('one reference string') as string,
    });
  });

  it('the lane without a prover or a verifier, and the development reference string on any chain but the local one', async () => {
    await expect(inWorld({ ports: () => ({ provers: [] }) }, async () => undefined)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const unjudged = ({ ports: { chain } }: TestDeployment): Partial<PipelinePorts> => ({
      chain: { ...chain, policy: { ...chain.policy, verifier: NOBODY } },
    });
    await expect(inWorld({ ports: unjudged }, async () => undefined)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const onMainnet = ({ ports }: TestDeployment): Partial<PipelinePorts> => ({
      chain: { ...ports.chain, domain: { ...ports.chain.domain, chainId: 1n } },
      poster: new Wallet(`0x${'5a'.repeat(32)}`),
    });
    await expect(inWorld({ ports: onMainnet }, async () => undefined)).rejects.toMatchObject({
      code: 'SRS_DEVELOPMENT',
    });
  });

  it('an executor is asked again as in the other lanes, where it fails', () => {
    const flaky = (honest: ExecutorPort): ExecutorPort => {
      let attempts = 0;
      return {
        ...honest,
        execute: (...args) => (attempts++ === 0 ? Promise.reject(new Error('no device')) : honest.execute(...args)),
      };
    };
    return inWorld({ ports: ({ ports: { executors } }) => ({ executors: executors.map(flaky) }) }, async (world) => {
      expect(await world.pipeline.waitFor(await submit(world))).toMatchObject({ outcome: 'accepted' });
    });
  });
});
