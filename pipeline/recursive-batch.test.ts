/** Orders that are proved together: from submit to a receipt that is final on chain by one proof for all. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openBatchCircuit, type BatchCircuit } from '../circuits/batch/batch-circuit.js';
import { batchInputRoot, programOf } from '../circuits/batch/input-root.js';
import { encodeRecord, recordHash } from '../circuits/batch/record.js';
import type { Bundle } from '../graph/index.js';
import { developmentSrs } from '../prover/srs/development-cache.js';
import { openArithmetic } from '../prover/wasm/node-arithmetic.js';
import { openingKey, srsIdOf } from '../prover/srs/srs.js';
import { signOrder } from '../receipts/index.js';
import type { Hex } from '../receipts/types.js';
import { deployTestSettlement, enrol } from '../test/kill/deploy.js';
import {
  CHEAT_ON,
  connectDeployment,
  orderFor,
  requester,
  tinyBundle,
  withKey,
  type TestDeployment,
} from '../test/kill/fixture.js';
import { startAnvil, type Anvil } from '../verifier-contracts/anvil.js';
import { batchProver } from './adapters/batch-prover.js';
import { ProverNode } from './adapters/prover-node.js';
import { Pipeline } from './pipeline.js';
import type { BatchProverPort } from './ports.js';
import { directEvidenceOf } from './zk/direct-evidence-of.js';
import { batchVerifierOf } from '../verifier-contracts/zk-verifier.js';

const BITS = 13;
const ROOM = 3;
const scratch = mkdtempSync(join(tmpdir(), 'assay-recursive-'));

let anvil: Anvil;
let prover: ProverNode;
let bundle: Bundle;
let circuit: BatchCircuit;
let deployment: TestDeployment;
let pipeline: Pipeline;
let batches: BatchProverPort;
let proved = 0;

beforeAll(async () => {
  const srsSource = { kind: 'development', points: 2 ** BITS } as const;
  prover = await ProverNode.start({ srs: srsSource, threads: 1 });
  bundle = await withKey(tinyBundle(), prover);
  const shape = { n: BITS, groups: [{ program: programOf(bundle.graph), receipts: ROOM, itemsPerReceipt: 1 }] };
  circuit = await openBatchCircuit(shape);
  const ports = [bundle.graph.outputs.map((id) => bundle.graph.tensors[id]!)];
  const record = encodeRecord(shape, circuit.verificationKey, ports);
  const arithmetic = await openArithmetic({ threads: 1 });
  const srs = developmentSrs(2 ** BITS, { arithmetic });
  const key = openingKey(srs);
  await arithmetic.close();
  anvil = await startAnvil({ blockTimeS: 0.1 });
  const rollup = await deployTestSettlement(anvil.url, { verifier: srs, batchRecords: [record] });
  await enrol(anvil.url, rollup, 'one');
  deployment = await connectDeployment({ directory: scratch, url: anvil.url, rollup, bundle, name: 'one' });
  const { client } = deployment;
  const contract = (await batchVerifierOf(client.context, client.policy.verifier))!;
  const place = { chainId: 31337, contract, keyHash: recordHash(record), srsId: srsIdOf(srs) };
  batches = batchProver({ srs: srsSource, openingKey: key, circuits: [{ circuit, place }], threads: 1 });
  pipeline = await Pipeline.open(
    {
      dataDirectory: scratch,
      openAgeMs: 50,
      batchAgeMs: 60_000,
      pollMs: 40,
      sweepMs: 100,
      openLanes: ['sampled', 'zk'],
    },
    {
      ...deployment.ports,
      provers: [prover],
      batchProver: { ...batches, prove: (...args) => (proved++, batches.prove(...args)) },
      encodeEvidence: directEvidenceOf,
    },
  );
}, 300_000);
afterAll(async () => {
  await pipeline?.close();
  await deployment?.close();
  await prover?.close();
  await anvil?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

let nonce = 0;
async function submit(first: number, executor: Hex, batch = true): Promise<Hex> {
  const { client } = deployment;
  const request = await orderFor(client, bundle, executor, first, nonce++, 'zk');
  if (!batch) return pipeline.submit(request, `order ${nonce}`);
  const order = { ...request.order, inputRoot: batchInputRoot(bundle.graph, request.inputs, 1) };
  const signature = await signOrder(order, client.domain, requester);
  return pipeline.submit({ ...request, order, signature }, `order ${nonce}`);
}

it('a full batch is final by one proof; a wrong answer never gets into it; a proof by itself goes its own way', async () => {
  const { honest, cheat, client } = deployment;
  const wrong = await submit(CHEAT_ON, cheat.address);
  const alone = await submit(2, honest.address, false);
  const together = [await submit(1, honest.address), await submit(3, honest.address), await submit(-2, honest.address)];

  const refused = await pipeline.waitFor(wrong);
  expect(refused).toMatchObject({ outcome: 'rejected', error: { code: 'EXECUTOR_WRONG' } });
  const views = await Promise.all([...together, alone].map((id) => pipeline.waitFor(id)));
  expect(views.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
  void pipeline.drain();
  const statuses = await Promise.all(
    [...together, alone].map(async (id) => {
      for (;;) {
        const view = (await pipeline.job(id))!;
        if (view.position === null) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          continue;
        }
        const { header, index, path } = view.position;
        return {
          batch: view.batchHash,
          status: await client.rollup.statusOf(view.receipt!.receipt, index, path, header, header.committedBlock),
        };
      }
    }),
  );
  expect(statuses.map(({ status }) => status)).toEqual(['final-zk', 'final-zk', 'final-zk', 'final-zk']);
  expect(new Set(statuses.map(({ batch }) => batch)).size).toBe(2);
  expect(proved).toBe(1);
}, 180_000);

it('what does not fill a circuit is sealed when it is drained, and an order names one of the two commitments', async () => {
  const { honest, client } = deployment;
  const id = await submit(4, honest.address);
  await pipeline.drain();
  expect(await pipeline.job(id)).toMatchObject({ outcome: 'accepted', settlement: { state: 'paid' } });

  const request = await orderFor(client, bundle, honest.address, 1, nonce++, 'zk');
  const order = { ...request.order, inputRoot: `0x${'12'.repeat(32)}` as Hex };
  const signature = await signOrder(order, client.domain, requester);
  await expect(pipeline.submit({ ...request, order, signature }, 'another root')).rejects.toThrow(
    'the input hashes to',
  );
}, 180_000);
