import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleOfGraph } from '../../executor/graph-bundle.js';
import { executeJob, ExecutorNode, openIdentity } from '../../executor/index.js';
import { referenceEngine } from '../../executor/engines/reference.js';
import { smallClassifier } from '../../executor/testing/digits.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { GraphBuilder } from '../../graph/index.js';
import { modelRoots } from '../../graph/commitment/model-digest.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { encodeSrs } from '../../prover/srs/srs-file.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import { TINY_SRS_POINTS, tinyBundle } from '../../test/kill/fixture.js';
import { openBundleFolder } from './bundle-folder.js';
import { checkerFromEngine, checkerFromExecutor } from './nodes.js';
import { ProverNode } from './prover-node.js';
import { ProverThread } from './prover-thread.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-adapters-'));
const bundle = tinyBundle();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('checkers', () => {
  const inputs = [Int32Array.of(1, -2, 3, 4, 5, 6, -7, -8)];
  const wrong: Hex = `0x${'ee'.repeat(32)}`;
  /** A receipt whose every root is a lie: a check must not believe any of them. */
  const posted = {
    inputRoot: wrong,
    outputRoot: wrong,
    traceRoot: wrong,
    policyHash: `0x${'11'.repeat(32)}`,
  } as unknown as Receipt;
  let node: ExecutorNode;
  beforeAll(async () => {
    node = await ExecutorNode.start({
      identity: await openIdentity(join(scratch, 'node')),
      domain: { chainId: 31_337n, verifyingContract: `0x${'22'.repeat(20)}` },
      traceFolder: join(scratch, 'node', 'traces'),
      engine: 'onnxruntime-cpu',
      threads: 1,
    });
  });
  afterAll(() => node?.close());
  const truth = async () => {
    const session = await referenceEngine().loadExact(bundle);
    const { inputRoot, outputRoot, traceRoot } = await executeJob(session, bundle, inputs, 2);
    return { inputRoot, outputRoot, traceRoot };
  };

  it('an executor node as a checker: the roots of model and input, whatever the receipt says, and no signature', async () => {
    const checker = checkerFromExecutor(node, { engineName: node.engine, operator: 'operator' });
    expect(checker).toMatchObject({ address: node.address, engineName: 'onnxruntime-cpu', operator: 'operator' });
    expect(await checker.check(bundle, inputs, 2, posted)).toEqual(await truth());
    const journal = readFileSync(join(scratch, 'node', `signed-${node.address}.jsonl`), 'utf8');
    expect(journal).not.toContain('orderHash');
  });

  it('an engine in this thread as a checker: the same', async () => {
    const address = Wallet.createRandom().address.toLowerCase() as Hex;
    const checker = checkerFromEngine(referenceEngine(), { address, operator: 'operator' });
    expect(await checker.check(bundle, inputs, 2, posted)).toEqual(await truth());
    expect(await checker.check(bundle, inputs, 2, posted)).toEqual(await truth());
  });
});

describe('a prover node', () => {
  const development = { kind: 'development', points: TINY_SRS_POINTS } as const;
  const budget = 2 ** 28;

  it('whose thread is not ready in time has failed', async () => {
    const settings = { srs: development, threads: 1, memoryBudgetBytes: budget };
    await expect(ProverThread.start(settings, 1)).rejects.toMatchObject({
      code: 'PROVER_FAILED',
      message: expect.stringContaining('not ready within 1 ms') as string,
    });
  });

  it('that has run and cannot be started again has failed, whatever the reason; it is tried again', async () => {
    const path = join(scratch, 'small.srs');
    const arithmetic = await openArithmetic({ threads: 1 });
    const bytes = encodeSrs(developmentSrs(TINY_SRS_POINTS, { arithmetic }));
    await arithmetic.close();
    writeFileSync(path, bytes);
    const prover = await ProverNode.start({ srs: { kind: 'file', path }, threads: 1, memoryBudgetBytes: budget });
    writeFileSync(path, 'no reference string');
    await prover.abort();
    await expect(prover.keyOf(bundle)).rejects.toMatchObject({
      code: 'PROVER_FAILED',
      kind: 'infrastructure',
      meta: { code: 'SRS_INVALID' },
    });
    writeFileSync(path, bytes);
    expect((await prover.keyOf(bundle)).commitments.length).toBeGreaterThan(0);
    await prover.close();
  });

  it('keeps the bundles that were used lately, and is sent the others again', async () => {
    const prover = await ProverNode.start({ srs: development, threads: 1, memoryBudgetBytes: budget });
    const variants = Array.from({ length: 36 }, (_, n) => {
      const builder = new GraphBuilder();
      const x = builder.addInput('x', [1], { lo: -8, hi: 7 }, 1, 0);
      const weight = Int8Array.of(n + 1);
      const y = builder.add({ kind: 'matmul', name: 'y', x, outFeatures: 1, inFeatures: 1, weight, bias: null });
      return bundleOfGraph(builder.finish('product', [y]));
    });
    for (const variant of variants) await prover.predict(variant, 1);
    for (const variant of [variants[35]!, variants[0]!]) {
      const { roots } = await prover.keyOf(variant);
      expect(roots.weightsRoot).toEqual(modelRoots(variant).weightsRoot);
    }
    await prover.close();
  });
});

describe('bundle folder', () => {
  const other = smallClassifier(1, 6);

  it('keeps what was added for the next process, also when two add the same at once', async () => {
    const folder = join(scratch, 'bundles');
    const writer = await openBundleFolder(folder);
    await Promise.all([writer.add(bundle), writer.add(bundle)]);
    expect(readdirSync(folder)).toEqual([`${bundle.digest}.assay`]);
    const reader = await openBundleFolder(folder);
    const found = await reader.get(bundle.digest);
    expect(found).toEqual(bundle);
    expect(await reader.get(bundle.digest)).toBe(found);
  });

  it('finds a bundle that was added after it was asked for in vain', async () => {
    const folder = await openBundleFolder(join(scratch, 'late'));
    await expect(folder.get(bundle.digest)).rejects.toMatchObject({ code: 'BUNDLE_MISSING', kind: 'usage' });
    await folder.add(bundle);
    expect((await folder.get(bundle.digest)).digest).toBe(bundle.digest);
  });

  it('refuses what is no digest, another bundle under the name, and bytes that are none', async () => {
    const folder = join(scratch, 'wrong');
    mkdirSync(folder);
    const bundles = await openBundleFolder(folder);
    await expect(bundles.get('../../etc/passwd')).rejects.toMatchObject({ code: 'BUNDLE_MISSING' });
    await bundles.add(other);
    copyFileSync(join(folder, `${other.digest}.assay`), join(folder, `${bundle.digest}.assay`));
    await expect(bundles.get(bundle.digest)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    const garbage = `0x${'77'.repeat(32)}`;
    writeFileSync(join(folder, `${garbage}.assay`), 'garbage');
    await expect(bundles.get(garbage)).rejects.toMatchObject({ name: 'AssayError' });
  });
});
