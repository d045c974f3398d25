import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executeJob, ExecutorNode, openIdentity } from '../../executor/index.js';
import { referenceEngine } from '../../executor/engines/reference.js';
import { smallClassifier } from '../../executor/testing/digits.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import { tinyBundle } from '../../test/kill/fixture.js';
import { openBundleFolder } from './bundle-folder.js';
import { checkerFromEngine, checkerFromExecutor } from './nodes.js';

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
