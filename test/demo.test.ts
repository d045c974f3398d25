/** The demo as a user runs it, small; then its receipts as a stranger checks them, and as a forger would like them. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { main } from '../cli/main.js';
import type { DemoSummary } from '../cli/demo/run-demo.js';
import { Wallet } from 'ethers';
import { withoutKey } from '../cli/without-key.js';
import { decodeBundle, encodeBundle } from '../graph/index.js';
import { developmentSrs, openArithmetic, predictJob, ZkProver } from '../prover/index.js';
import {
  formatReceiptFile,
  hashOrder,
  parseReceiptFile,
  signAcceptance,
  signOrder,
  signReceipt,
  type Hex,
} from '../receipts/index.js';
import { anvilKey, startAnvil } from '../verifier-contracts/anvil.js';
import { connectChain } from '../verifier-contracts/connect-chain.js';
import { compiled } from './prover/proved-model.js';

const root = mkdtempSync(join(tmpdir(), 'assay-demo-'));
const folder = join(root, 'demo');
let summary: DemoSummary;

/** Runs `assay --json ARGS`. */
async function assay(...args: string[]): Promise<{ exitCode: number; output: unknown }> {
  let out = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  try {
    const exitCode = await main(['node', 'assay', '--json', ...args]);
    return { exitCode, output: JSON.parse(out) as unknown };
  } finally {
    spy.mockRestore();
    process.exitCode = 0;
  }
}

beforeAll(async () => {
  const { exitCode, output } = await assay(
    'demo',
    '--data',
    folder,
    '--jobs',
    '10',
    '--cheat-jobs',
    // A quarter of five, rounded up: two are drawn of each cheat, so at least one lie of each.
    '5',
    '--keep-chain',
  );
  summary = output as DemoSummary;
  expect(exitCode).toBe(0);
}, 300_000);

afterAll(async () => {
  const chain = join(folder, 'chain');
  if (existsSync(chain)) await (await startAnvil({ stateDir: chain })).stop();
  rmSync(root, { recursive: true, force: true });
});

const receiptFiles = (outcome: string) =>
  readdirSync(summary.receipts)
    .filter((name) => name.endsWith(`-${outcome}.json`))
    .map((name) => join(summary.receipts, name));

test('honest receipts are valid, every lie is found', () => {
  const of = (title: string) => summary.players.find(({ executor }) => executor === title)!;
  expect(summary.success).toBe(true);
  expect(of('honest')).toMatchObject({ jobs: 12, lies: 0, valid: 12, invalid: 0, undetermined: 0 });
  expect(of('runs a smaller model')).toMatchObject({ jobs: 5, lies: 5, audited: 5, valid: 0, invalid: 5 });
  expect(of('changes one output by one')).toMatchObject({ jobs: 5, lies: 5, audited: 5, valid: 0, invalid: 5 });
  // Its first answer is true: there is nothing older to repeat.
  expect(of('repeats an old answer')).toMatchObject({ jobs: 5, lies: 4, audited: 5, valid: 1, invalid: 4 });
  // No auditor looked at it.
  expect(of('alters its trace by one')).toMatchObject({
    jobs: 1,
    lies: 1,
    audited: 0,
    valid: 0,
    invalid: 1,
    slashed: 1,
  });
});

test('the watcher found the element that was altered, and nothing else', () => {
  const { lie, transactions } = summary.disputed;
  expect(lie).toMatchObject({ slot: 2, element: 77 });
  expect(lie.is - lie.was).toBe(1);
  expect(transactions.map(({ call }) => call)).toEqual(['precommit', 'proveFault']);
});

test('the money: sums are equal, and everybody has what his orders give, to the unit', () => {
  const { price, surcharge, lock, fee, money, gas } = summary.settlement;
  const [p, s, l, f] = [price, surcharge, lock, fee].map(BigInt) as [bigint, bigint, bigint, bigint];
  expect(p > 0n && s > 0n && f > 0n && l > p).toBe(true);
  const rows = money.rows.map(({ party, before, inOrders, after }) => {
    const [from, to] = [BigInt(before), BigInt(after)];
    return { party, before: from, inOrders: BigInt(inOrders), after: to, change: to - from };
  });
  const of = (party: string) => rows.find((row) => row.party === party)!;
  const sum = (column: 'before' | 'after' | 'change') => rows.reduce((total, row) => total + row[column], 0n);
  expect(sum('before')).toBe(BigInt(money.supply.before));
  expect(sum('after')).toBe(BigInt(money.supply.after));
  expect(sum('change')).toBe(0n);
  expect(BigInt(money.contract.after)).toBe(sum('after') - of('burnt').after);
  expect(money).toMatchObject({ balanced: true, asAgreed: true });

  // Ten digits, two that nobody disputed, one that was proved alone and four that were proved together.
  expect(of('executor: honest')).toMatchObject({ change: 17n * (p - f), inOrders: 17n * l });
  expect(of('executor: runs a smaller model')).toMatchObject({ change: -5n * l, inOrders: 5n * l });
  expect(of('executor: changes one output by one')).toMatchObject({ change: -5n * l });
  expect(of('executor: repeats an old answer')).toMatchObject({ change: p - f - 4n * l });
  expect(of('executor: alters its trace by one')).toMatchObject({ change: -l, inOrders: l });
  // The bounty is a tenth of the lock; the gas of the call comes on top.
  expect(of('watcher').change).toBe(l / 10n + 500_000n * 10n ** 9n);
  // Of 33 orders 18 were true; the money of the other 15 is back. Who is not audited pays towards no audit.
  expect(of('requester')).toMatchObject({ change: -(18n * p + 11n * s), inOrders: 33n * p + 25n * s });
  expect(of('governor')).toMatchObject({ change: 18n * f });
  expect(of('burnt').change > 0n && of('auditor 1').change > 0n && of('poster').change > 0n).toBe(true);
  expect(of('auditor 3').inOrders).toBe(0n);

  expect(gas.map(({ call, units }) => [call, units])).toEqual([
    ['open', 33],
    ['commit', 28],
    ['fixSeed', null],
    ['reportAudit', null],
    ['publish', null],
    ['commitProved', 5],
    ['precommit', 1],
    ['proveFault', 1],
    ['settle', 32],
  ]);
});

test('digits that were proved together are final by one proof, and a stranger finds each so', async () => {
  expect(summary.together).toMatchObject({ digits: 4, success: true });
  expect(summary.together.statuses).toEqual(new Array(4).fill('final-zk'));
  const trust = ['--rpc', summary.chain.rpc!, '--rollup', summary.chain.rollup];
  const bundle = ['--bundle', join(folder, 'lenet5.assay')];
  const file = join(summary.receipts, 'together-3.json');
  expect(await assay('receipt', 'verify', file, ...trust, ...bundle)).toMatchObject({
    exitCode: 0,
    output: { verdict: { verdict: 'valid' }, status: 'final-zk', checks: { inputs: { verdict: 'valid' } } },
  });
});

test('a stranger verifies a receipt with the file, an endpoint and the contract that he trusts', async () => {
  const trust = ['--rpc', summary.chain.rpc!, '--rollup', summary.chain.rollup];
  const bundle = ['--bundle', join(folder, 'lenet5.assay')];
  const good = await assay('receipt', 'verify', receiptFiles('accepted')[0]!, ...trust, ...bundle);
  expect(good).toMatchObject({
    exitCode: 0,
    output: { verdict: { verdict: 'valid' }, status: 'final-sampled', depth: 'finalized' },
  });
  expect((good.output as { checks: Record<string, { verdict: string }> }).checks).toMatchObject({
    signature: { verdict: 'valid' },
    terms: { verdict: 'valid' },
    acceptance: { verdict: 'valid' },
    path: { verdict: 'valid' },
    inputs: { verdict: 'valid' },
    outputs: { verdict: 'valid' },
  });
  // Without the model nobody can tell whether the tensors in the file are those under the roots.
  expect((await assay('receipt', 'verify', receiptFiles('accepted')[0]!, ...trust)).exitCode).toBe(3);
  const bad = await assay('receipt', 'verify', receiptFiles('rejected')[0]!, ...trust, ...bundle);
  expect(bad).toMatchObject({ exitCode: 1, output: { verdict: { verdict: 'invalid' }, status: 'invalid' } });
});

test('one digit is proved: valid for a stranger with the key alone, and no forgery of it is', async () => {
  const { proved } = summary;
  expect(proved).toMatchObject({ verdict: 'valid', success: true, onChain: { status: 'final-zk' } });
  expect(proved.forgeries.map(({ verdict }) => verdict)).toEqual(['invalid', 'invalid', 'invalid']);
  const valid = { verdict: 'valid' };
  const bundle = join(folder, 'lenet5.assay');
  // Nobody asks the chain that the receipt names, so that the reader has to say that the development key will do.
  expect(await assay('receipt', 'verify', proved.receipt, '--key', proved.key)).toMatchObject({
    exitCode: 2,
    output: { error: { code: 'SRS_DEVELOPMENT' } },
  });
  const byKey = await assay('receipt', 'verify', proved.receipt, '--key', proved.key, '--dev-srs');
  expect(byKey).toEqual({
    exitCode: 0,
    output: {
      file: proved.receipt,
      verdict: valid,
      // No chain was asked: the proof stands for itself.
      status: null,
      depth: null,
      checks: {
        signature: valid,
        terms: valid,
        acceptance: valid,
        position: valid,
        path: valid,
        model: valid,
        inputs: valid,
        outputs: valid,
        proof: valid,
      },
      srsId: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      development: true,
    },
  });
  const chain = ['--rpc', summary.chain.rpc!, '--rollup', summary.chain.rollup];
  const byBundle = await assay('receipt', 'verify', proved.receipt, '--bundle', bundle, '--dev-srs', ...chain);
  expect(byBundle).toMatchObject({ exitCode: 0, output: { checks: { settlement: valid, proof: valid } } });
  // The chain has checked the proof: with the model alone a reader has its word, and sees how deep it lies.
  const byChain = await assay('receipt', 'verify', proved.receipt, '--bundle', bundle, ...chain);
  expect(byChain).toMatchObject({
    exitCode: 0,
    output: { status: 'final-zk', depth: 'finalized', checks: { status: valid, path: valid, proof: valid } },
  });
  // Nothing to check the proof with; and a chain that is to be asked, of a contract that is not named.
  expect(await assay('receipt', 'verify', proved.receipt)).toMatchObject({ exitCode: 3 });
  expect(await assay('receipt', 'verify', proved.receipt, ...chain.slice(0, 2), '--key', proved.key)).toMatchObject({
    exitCode: 2,
    output: { error: { code: 'CONFIG_INVALID' } },
  });
  expect(await assay('receipt', 'verify', receiptFiles('accepted')[0]!, '--key', proved.key)).toMatchObject({
    exitCode: 2,
    output: { error: { code: 'CONFIG_INVALID', meta: { flag: '--rpc' } } },
  });
  // The sampled lane promises no proof.
  const sampled = ['receipt', 'verify', receiptFiles('accepted')[0]!, ...chain];
  for (const needless of [['--key', proved.key], ['--srs', proved.key], ['--dev-srs']])
    expect(await assay(...sampled, ...needless)).toMatchObject({
      exitCode: 2,
      output: { error: { code: 'CONFIG_INVALID', meta: { flag: needless[0] } } },
    });
  const plain = join(root, 'plain.assay');
  writeFileSync(plain, encodeBundle(withoutKey(decodeBundle(readFileSync(bundle), bundle))));
  expect(await assay('receipt', 'verify', proved.receipt, '--bundle', plain, '--dev-srs')).toMatchObject({
    exitCode: 0,
  });
  // With another model than the receipt's the reader learns nothing about it.
  const other = join(root, 'iris.assay');
  writeFileSync(other, encodeBundle(compiled('iris')));
  const undetermined = { exitCode: 3, output: { checks: { model: { verdict: 'undetermined' } } } };
  expect(await assay('receipt', 'verify', proved.receipt, '--bundle', other, '--dev-srs')).toMatchObject(undetermined);
  expect(await assay(...sampled, '--bundle', other)).toMatchObject(undetermined);
  expect(
    await assay('receipt', 'verify', proved.receipt, '--bundle', other, '--key', proved.key, '--dev-srs'),
  ).toMatchObject({ exitCode: 2, output: { error: { code: 'CONFIG_INVALID', meta: { flag: '--key' } } } });
  const wrongContract = [...chain.slice(0, 3), `0x${'11'.repeat(20)}`];
  expect(await assay('receipt', 'verify', proved.receipt, '--key', proved.key, ...wrongContract)).toMatchObject({
    exitCode: 1,
  });
});

test('an executor posts a proved receipt by himself; a proof that was made for another order costs no gas', async () => {
  const trust = ['--rpc', summary.chain.rpc!, '--rollup', summary.chain.rollup];
  const model = ['--bundle', join(folder, 'lenet5.assay'), '--dev-srs'];
  const file = parseReceiptFile(readFileSync(summary.proved.receipt, 'utf8'));
  const { domain, order: earlier } = file;
  const provider = await connectChain(summary.chain.rpc!);
  const now = (await provider.getBlock('latest'))!.timestamp;
  provider.destroy();
  const order = { ...earlier!, nonce: 1_000_000n, deliverBy: now + 3_600, validUntil: now + 3_600 };
  const orderHash = hashOrder(order, domain);
  const requester = new Wallet(anvilKey(4));
  const executor = new Wallet(readFileSync(join(folder, 'executors/honest/executor.key'), 'utf8').trim());
  const receipt = { ...file.receipt, orderHash, issuedAt: now };

  const bundle = decodeBundle(readFileSync(model[1]!), 'lenet5');
  const arithmetic = await openArithmetic();
  const { srsPoints } = predictJob(bundle.graph, 1);
  const prover = new ZkProver({ arithmetic, srs: developmentSrs(srsPoints, { arithmetic }) });
  const inputs = file.inputs!.map((values) => Int32Array.from(values));
  const { proof } = prover.prove([{ bundle, items: 1, inputs }], Buffer.from(orderHash.slice(2), 'hex'));
  await arithmetic.close();

  const { version, evidence, inputs: publicInputs, outputs } = file;
  const unplaced = {
    version,
    domain,
    inputs: publicInputs!,
    outputs: outputs!,
    receipt,
    signature: await signReceipt(receipt, domain, executor),
    order,
    orderSignature: await signOrder(order, domain, requester),
    acceptance: await signAcceptance(order, domain, executor),
  };
  const proved = (bytes: string, name: string) => {
    const path = join(root, name);
    writeFileSync(path, formatReceiptFile({ ...unplaced, evidence: { ...evidence!, proof: bytes as Hex } }));
    return path;
  };
  const good = proved(`0x${Buffer.from(proof).toString('hex')}`, 'own.json');
  const other = proved(evidence!.proof, 'other.json');
  // The requester sends: an executor's key need not hold coins, and anybody may.
  const key = join(root, 'requester.key');
  writeFileSync(key, requester.privateKey);
  const sender = [...trust, '--key-file', key];
  expect(await assay('order', 'open', good, ...sender)).toMatchObject({ exitCode: 0, output: { opened: 1 } });
  expect(await assay('receipt', 'post', other, ...model, ...sender)).toMatchObject({
    exitCode: 1,
    output: { error: { code: 'PROOF_INVALID' } },
  });
  expect(await assay('receipt', 'post', good, ...sender)).toMatchObject({
    exitCode: 2,
    output: { error: { code: 'CONFIG_INVALID' } },
  });
  expect(await assay('receipt', 'post', good, ...model, ...sender)).toMatchObject({ exitCode: 0 });
  const verified = await assay('receipt', 'verify', good, ...model.slice(0, 2), ...trust, '--settlement', 'soft');
  expect(verified).toMatchObject({ exitCode: 0, output: { status: 'final-zk' } });
});

test('a forged receipt is invalid, an outage is undetermined', async () => {
  const original = readFileSync(receiptFiles('accepted')[0]!, 'utf8');
  const parsed = JSON.parse(original) as { outputs: number[][]; receipt: { outputRoot: string } };
  const forge = (name: string, change: (file: typeof parsed) => void) => {
    const copy = structuredClone(parsed);
    change(copy);
    writeFileSync(join(root, name), JSON.stringify(copy));
    return join(root, name);
  };
  const trust = [
    '--rpc',
    summary.chain.rpc!,
    '--rollup',
    summary.chain.rollup,
    '--bundle',
    join(folder, 'lenet5.assay'),
  ];
  const root_ = forge('root.json', ({ receipt }) => (receipt.outputRoot = `0x${'11'.repeat(32)}`));
  expect((await assay('receipt', 'verify', root_, ...trust)).exitCode).toBe(1);
  const output = forge('output.json', ({ outputs }) => (outputs[0]![0]! += 1));
  expect((await assay('receipt', 'verify', output, ...trust)).exitCode).toBe(1);
  // Port 9 of the loopback interface: nobody listens there.
  const outage = await assay(
    'receipt',
    'verify',
    receiptFiles('accepted')[0]!,
    '--rpc',
    'http://127.0.0.1:9',
    '--rollup',
    summary.chain.rollup,
  );
  expect(outage).toMatchObject({ exitCode: 3, output: { verdict: { verdict: 'undetermined' } } });
});

test('a folder that no demo made is not wiped', async () => {
  writeFileSync(join(root, 'precious.txt'), 'mine');
  const { exitCode, output } = await assay('demo', '--data', root);
  expect(exitCode).toBe(2);
  expect(output).toMatchObject({ error: { code: 'DEMO_FOLDER_FOREIGN' } });
  expect(readFileSync(join(root, 'precious.txt'), 'utf8')).toBe('mine');
});
