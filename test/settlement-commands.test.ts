/** Requester and executor act on chain by the command line alone, with no service between them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { id, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settlementFindings } from '../cli/settlement/findings.js';
import { formatOrderFile } from '../cli/settlement/order-file.js';
import { encodeBundle, encodeInputs, evaluateGraph, inputRoot, outputRoot, type Bundle } from '../graph/index.js';
import { heldOutSamples } from '../models/index.js';
import {
  formatReceiptFile,
  hashOrder,
  parseReceiptFile,
  RECEIPT_FILE_VERSION,
  signAcceptance,
  signOrder,
  signReceipt,
  type Hex,
  type JobOrder,
  type ReceiptFile,
} from '../receipts/index.js';
import {
  addressOf,
  executorKey,
  guardianWallet,
  operatorWallet,
  requesterWallet,
  startSettlement,
  type SettlementFixture,
} from '../verifier-contracts/harness/settlement-fixture.js';
import { compiled } from './prover/proved-model.js';
import { assay, refused } from './run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-settlement-'));
const at = (name: string) => join(folder, name);
const write = (name: string, content: Uint8Array | string) => {
  writeFileSync(at(name), content);
  return at(name);
};

let chain: SettlementFixture;
let model: Bundle;
let bundleFile = '';
let trust: string[] = [];
const keys = { requester: '', operator: '', node: '' };
let nonce = 10_000n;

beforeAll(async () => {
  chain = await startSettlement();
  model = compiled('iris');
  bundleFile = write('iris.assay', encodeBundle(model));
  trust = ['--rpc', chain.anvil.url, '--rollup', chain.rollup.address];
  keys.requester = write('requester.key', `${requesterWallet.privateKey}\n`);
  keys.operator = write('operator.key', operatorWallet.privateKey.slice(2));
  keys.node = write('node.key', executorKey(0));
  // To post by itself a node needs coins for gas, and nothing else.
  await chain.provider.send('anvil_setBalance', [new Wallet(executorKey(0)).address, '0xde0b6b3a7640000']);
}, 120_000);
afterAll(async () => {
  await chain.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** An order of the sampled lane with both signatures, and the receipt that its executor signs for it. */
async function makeJob(
  name: string,
  change: (order: JobOrder) => Partial<JobOrder> = () => ({}),
): Promise<{ order: string; receipt: string; orderHash: Hex; file: ReceiptFile }> {
  const { domain, policyHash } = chain.client;
  const { values: inputs, items } = encodeInputs(model, heldOutSamples('iris', 1).samples[0]!);
  const executor = new Wallet(executorKey(0));
  const now = await chain.escrow.clock();
  const plain: JobOrder = {
    requester: addressOf(requesterWallet),
    executor: addressOf(executor),
    modelDigest: model.digest as Hex,
    inputRoot: inputRoot(model.graph, inputs, items) as Hex,
    items,
    lane: 'sampled',
    policyHash,
    price: 1_000n,
    surcharge: 2_500n,
    outputBytes: 1_024,
    deliverBy: now + 3_600,
    validUntil: now + 3_600,
    nonce: nonce++,
  };
  const order = { ...plain, ...change(plain) };
  const truth = evaluateGraph(model.graph, inputs, items);
  const outputs = model.graph.outputs.map((tensor) => truth[tensor]!);
  const orderHash = hashOrder(order, domain);
  const receipt = {
    orderHash,
    modelDigest: order.modelDigest,
    inputRoot: order.inputRoot,
    outputRoot: outputRoot(model.graph, outputs, items) as Hex,
    traceRoot: id('trace') as Hex,
    opCount: 3,
    items,
    amount: order.price,
    lane: order.lane,
    policyHash,
    executor: order.executor,
    issuedAt: now,
  };
  const signatures = {
    orderSignature: await signOrder(order, domain, requesterWallet),
    acceptance: await signAcceptance(order, domain, executor),
  };
  const lists = (tensors: readonly Int32Array[]) => tensors.map((tensor) => Array.from(tensor));
  const file: ReceiptFile = {
    version: RECEIPT_FILE_VERSION,
    domain,
    receipt,
    signature: await signReceipt(receipt, domain, executor),
    order,
    ...signatures,
    inputs: lists(inputs),
    outputs: lists(outputs),
  };
  return {
    order: write(`${name}.order.json`, formatOrderFile({ domain, order, ...signatures })),
    receipt: write(`${name}.receipt.json`, formatReceiptFile(file)),
    orderHash,
    file,
  };
}

const as = (who: keyof typeof keys) => [...trust, '--key-file', keys[who]];

/** Lets the court speak on the batch that a file is in. */
async function judge(file: string, kills: readonly number[] = []): Promise<void> {
  const { header } = parseReceiptFile(readFileSync(file, 'utf8')).batch!;
  await chain.anvil.mine(2);
  await chain.court.fixSeed(header);
  const { verdict, signatures } = await chain.verdict(header, kills);
  await chain.court.reportAudit(header, verdict, signatures);
}

/** Beyond the end of the audit window of everything committed so far. */
async function pastWindow(): Promise<void> {
  await chain.advanceTo((await chain.escrow.clock()) + chain.court.terms.auditWindow + 1);
}

describe('account', () => {
  test('deposit with wrapping, withdraw, and the balances after it', async () => {
    const stranger = Wallet.createRandom();
    await chain.provider.send('anvil_setBalance', [stranger.address, '0xde0b6b3a7640000']);
    const key = ['--key-file', write('stranger.key', stranger.privateKey)];
    const put = await assay('account', 'deposit', '0.25', '--wrap', ...trust, ...key);
    expect(put).toMatchObject({
      exitCode: 0,
      amount: '250000000000000000',
      balances: { free: '250000000000000000', outside: '0' },
      unit: { symbol: 'WNATIVE', decimals: 18 },
    });
    expect(await chain.escrow.freeOf(addressOf(stranger))).toBe(25n * 10n ** 16n);
    const other = addressOf(Wallet.createRandom());
    const taken = await assay('account', 'withdraw', '0.1', '--to', other, ...trust, ...key);
    expect(taken).toMatchObject({ exitCode: 0, balances: { free: '150000000000000000' } });
    expect(await chain.escrow.tokenBalanceOf(other)).toBe(10n ** 17n);
    expect(await assay('account', 'balance', other, ...trust)).toMatchObject({
      exitCode: 0,
      free: '0',
      outside: '100000000000000000',
    });
  });

  test('more than there is, and what is no amount, is refused before anything is sent', async () => {
    await refused(['account', 'withdraw', '5000', ...as('requester')], 'FUNDS_MISSING', /5000 WNATIVE are wanted/);
    await refused(['account', 'deposit', '5000', ...as('requester')], 'FUNDS_MISSING', /holds 0 WNATIVE/);
    await refused(['account', 'deposit', '0', ...as('requester')], 'CONFIG_INVALID', /more than 0/);
    await refused(['account', 'deposit', '1,5', ...as('requester')], 'CONFIG_INVALID', /"1,5"/);
    await refused(['account', 'deposit', '0.0000000000000000001', ...as('requester')], 'CONFIG_INVALID', /18 digits/);
  });

  test('a node is registered once, by one account, and retired', async () => {
    const node = Wallet.createRandom();
    const signerFile = write('fresh-node.key', node.privateKey);
    const register = ['account', 'register-node', '--signer-file', signerFile];
    expect(await assay(...register, ...as('operator'))).toMatchObject({ exitCode: 0, signer: addressOf(node) });
    expect(await chain.escrow.nodeOf(addressOf(node))).toEqual({ account: addressOf(operatorWallet), active: true });
    // Again is done already; nobody else may have it.
    expect(await assay(...register, ...as('operator'))).toMatchObject({ exitCode: 0, steps: [] });
    await refused([...register, ...as('requester')], 'NODE_FOREIGN', /is registered by account/);
    const retire = ['account', 'retire-node', addressOf(node)];
    await refused([...retire, ...as('requester')], 'NODE_FOREIGN', /is a node of/);
    expect(await assay(...retire, ...as('operator'))).toMatchObject({ exitCode: 0 });
    expect((await chain.escrow.nodeOf(addressOf(node))).active).toBe(false);
    await refused([...register, ...as('operator')], 'NODE_FOREIGN', /retired/);
  });

  test('the reserve is funded', async () => {
    const before = await chain.escrow.reserve();
    const { exitCode } = await assay('account', 'fund-reserve', '0.00001', ...as('requester'));
    expect(exitCode).toBe(0);
    expect((await chain.escrow.reserve()).available).toBe(before.available + 10n ** 13n);
  });
});

describe('keys and chains', () => {
  test('no key, no key in the file, and none of it in the message', async () => {
    const secret = 'ab'.repeat(31);
    await refused(['account', 'withdraw', '1', ...trust], 'CONFIG_INVALID', /no key was given/);
    await refused(
      ['account', 'withdraw', '1', ...trust, '--key-file', at('absent.key')],
      'FILE_NOT_FOUND',
      /absent\.key/,
    );
    const short = await assay('account', 'withdraw', '1', ...trust, '--key-file', write('short.key', secret));
    expect(short).toMatchObject({ exitCode: 2, error: { code: 'KEY_INVALID' } });
    expect(JSON.stringify(short)).not.toContain('abab');
    const zero = write('zero.key', '0'.repeat(64));
    await refused(['account', 'withdraw', '1', ...trust, '--key-file', zero], 'KEY_INVALID', /outside the range/);
  });

  test('the key may come from the environment', async () => {
    process.env['ASSAY_KEY'] = requesterWallet.privateKey;
    try {
      expect(await assay('account', 'balance', ...trust)).toMatchObject({
        exitCode: 0,
        account: addressOf(requesterWallet),
      });
    } finally {
      delete process.env['ASSAY_KEY'];
    }
  });

  test('an address without a rollup, and a chain that nobody serves', async () => {
    const empty = ['--rpc', chain.anvil.url, '--rollup', `0x${'11'.repeat(20)}`];
    await refused(['account', 'balance', `0x${'22'.repeat(20)}`, ...empty], 'CHAIN_MISMATCH', /no such contract/);
    // Port 9 of the loopback interface: nobody listens there.
    const silent = ['--rpc', 'http://127.0.0.1:9', '--rollup', chain.rollup.address];
    await refused(['account', 'balance', `0x${'22'.repeat(20)}`, ...silent], 'CHAIN_UNAVAILABLE', /127\.0\.0\.1:9/);
  });
});

describe('an order without a service', () => {
  test('opened, posted by its executor, judged, paid: the executor gets the price less the fee', async () => {
    const { order, receipt, orderHash, file } = await makeJob('paid');
    expect(await assay('order', 'status', order, ...trust)).toMatchObject({ state: 'none', openFault: 'none' });
    await refused(['receipt', 'post', receipt, ...as('node')], 'RECEIPT_UNBOUND', /order is not open/);
    expect(await assay('order', 'open', order, ...as('requester'))).toMatchObject({ exitCode: 0, opened: 1 });
    expect(await assay('order', 'open', receipt, ...as('requester'))).toMatchObject({ opened: 0, before: 1 });
    expect(await assay('order', 'status', order, ...trust)).toMatchObject({ state: 'open' });

    // Nobody but the executor may be awake.
    const posted = await assay('receipt', 'post', receipt, ...as('node'));
    expect(posted).toMatchObject({ exitCode: 0, before: false });
    const placed = parseReceiptFile(readFileSync(receipt, 'utf8'));
    expect(placed).toMatchObject({ batch: { index: 0, path: [] } });
    // From the file without its place the place is found again.
    const bare = write('bare.receipt.json', formatReceiptFile(file));
    expect(await assay('receipt', 'post', bare, ...as('requester'))).toMatchObject({ exitCode: 0, before: true });
    expect(parseReceiptFile(readFileSync(bare, 'utf8')).batch).toEqual(placed.batch);

    expect(await assay('receipt', 'settle', receipt, ...as('requester'))).toMatchObject({
      exitCode: 3,
      waiting: [{ reason: /court has not spoken/ }],
    });
    await judge(receipt);
    await pastWindow();
    const verify = ['receipt', 'verify', receipt, ...trust, '--bundle', bundleFile];
    await chain.anvil.mine(2);
    expect(await assay(...verify)).toMatchObject({ exitCode: 0, status: 'final-sampled', depth: 'finalized' });

    const operator = addressOf(operatorWallet);
    const before = await chain.escrow.freeOf(operator);
    const { lock } = await chain.escrow.orderOf(orderHash);
    const settled = await assay('receipt', 'settle', receipt, ...as('requester'));
    expect(settled).toMatchObject({ exitCode: 0, ended: [{ orderHash, state: 'paid', burnt: '0' }] });
    // Two per cent are the deployment's.
    expect(await chain.escrow.freeOf(operator)).toBe(before + lock + 980n);
    expect(await assay('receipt', 'settle', receipt, ...as('requester'))).toMatchObject({
      exitCode: 0,
      before: [{ state: 'paid' }],
    });
  });

  test('not delivered: its end waits for deliverBy, and gives the fee for the no-show', async () => {
    const soon = (await chain.escrow.clock()) + 30;
    const { order, receipt } = await makeJob('expired', () => ({ deliverBy: soon }));
    await assay('order', 'open', order, ...as('requester'));
    expect(await assay('order', 'expire', order, ...as('requester'))).toMatchObject({ exitCode: 3, state: 'open' });
    await chain.advanceTo(soon + 1);
    await refused(['receipt', 'post', receipt, ...as('node')], 'RECEIPT_UNBOUND', /deliverBy has passed/);
    expect(await assay('order', 'expire', order, ...as('requester'))).toMatchObject({
      exitCode: 0,
      state: 'refunded',
      // Price, surcharge, and the no-show fee of the test's policy.
      toRequester: String(3_500 + 50_000),
    });
    expect(await assay('order', 'expire', order, ...as('requester'))).toMatchObject({ exitCode: 0, state: 'refunded' });
    expect(await assay('order', 'status', order, ...trust)).toMatchObject({ state: 'refunded' });
  });

  test('an order that cannot be opened says why; one without a signature too', async () => {
    const stranger = `0x${'33'.repeat(20)}` as Hex;
    const { order } = await makeJob('unopenable', () => ({ executor: stranger }));
    await refused(['order', 'open', order, ...as('requester')], 'ORDER_UNOPENABLE', /no registered node/);
    const text = JSON.parse(readFileSync(order, 'utf8')) as Record<string, unknown>;
    delete text['acceptance'];
    const unsigned = write('unsigned.order.json', JSON.stringify(text));
    await refused(['order', 'open', unsigned, ...as('requester')], 'ORDER_FILE_MALFORMED', /lacks the signature/);
    text['extra'] = 1;
    await refused(
      ['order', 'status', write('extra.order.json', JSON.stringify(text)), ...trust],
      'ORDER_FILE_MALFORMED',
      /extra/,
    );
    await refused(['order', 'status', write('no.order.json', 'no'), ...trust], 'ORDER_FILE_MALFORMED', /not JSON/);
  });

  test('a file made for another contract is refused', async () => {
    const { order, receipt, file } = await makeJob('elsewhere');
    const elsewhere = { chainId: file.domain.chainId, verifyingContract: `0x${'44'.repeat(20)}` as Hex };
    writeFileSync(receipt, formatReceiptFile({ ...file, domain: elsewhere }));
    writeFileSync(order, formatOrderFile({ domain: elsewhere, order: file.order! }));
    for (const args of [
      ['receipt', 'post', receipt],
      ['receipt', 'settle', receipt],
      ['order', 'open', order],
    ])
      await refused([...args, ...as('requester')], 'CHAIN_MISMATCH', /made for rollup 0x4444/);
  });

  test('an output is demanded by the requester, answered by anybody, and then the executor is paid', async () => {
    const { order, receipt } = await makeJob('demanded');
    const model = ['--bundle', bundleFile];
    await assay('order', 'open', order, ...as('requester'));
    await refused(['receipt', 'demand', receipt, ...model, ...as('requester')], 'RECEIPT_UNBOUND', /not posted/);
    await assay('receipt', 'post', receipt, ...as('node'));
    await judge(receipt);
    await refused(['receipt', 'demand', receipt, ...model, ...as('operator')], 'CHAIN_REVERTED', /Unauthorized/);
    const demanded = await assay('receipt', 'demand', receipt, ...model, ...as('requester'));
    expect(demanded).toMatchObject({
      exitCode: 0,
      demands: [{ range: { tensor: 0, firstChunk: 0, chunkCount: 1 }, answered: null }],
      outputs: null,
    });
    // Once is enough.
    expect(await assay('receipt', 'demand', receipt, ...model, ...as('requester'))).toMatchObject({
      before: 1,
      steps: [],
    });
    await refused(['receipt', 'settle', receipt, ...as('requester')], 'CHAIN_REVERTED', /DeliveryOpen/);
    expect(await assay('order', 'status', order, ...trust)).toMatchObject({ openDemands: 1 });
    const lying = JSON.parse(readFileSync(receipt, 'utf8')) as { outputs: number[][] };
    lying.outputs[0]![0]! += 1;
    const forged = write('forged.receipt.json', JSON.stringify(lying));
    await refused(['receipt', 'answer', forged, ...model, ...as('operator')], 'OPENING_INVALID', /have root/);
    expect(await assay('receipt', 'answer', receipt, ...model, ...as('operator'))).toMatchObject({
      exitCode: 0,
      answered: 1,
    });
    expect(await assay('receipt', 'answer', receipt, ...model, ...as('operator'))).toMatchObject({ answered: 0 });
    // The requester, who has no output, reads it from the chain.
    const { outputs, ...without } = parseReceiptFile(readFileSync(receipt, 'utf8'));
    const own = write('own.receipt.json', formatReceiptFile(without));
    expect(await assay('receipt', 'demand', own, ...model, ...as('requester'))).toMatchObject({
      outputs: own,
      steps: [],
    });
    expect(parseReceiptFile(readFileSync(own, 'utf8')).outputs).toEqual(outputs);
    await pastWindow();
    expect(await assay('receipt', 'settle', receipt, ...as('node'))).toMatchObject({ ended: [{ state: 'paid' }] });
  });

  test('an output that nobody hands over is not paid for', async () => {
    const { order, receipt } = await makeJob('withheld');
    const model = ['--bundle', bundleFile];
    await assay('order', 'open', order, ...as('requester'));
    await assay('receipt', 'post', receipt, ...as('node'));
    await assay('receipt', 'demand', receipt, ...model, ...as('requester'));
    await judge(receipt);
    await pastWindow();
    expect(await assay('receipt', 'answer', receipt, ...model, ...as('operator'))).toMatchObject({
      exitCode: 1,
      answered: 0,
      late: 1,
    });
    expect(await assay('receipt', 'settle', receipt, ...as('requester'))).toMatchObject({
      ended: [{ state: 'refunded' }],
    });
  });

  test('a lie: the lock is gone, the requester has price and surcharge back', async () => {
    const { order, receipt, orderHash } = await makeJob('slashed');
    await assay('order', 'open', order, ...as('requester'));
    await assay('receipt', 'post', receipt, ...as('requester'));
    await judge(receipt, [0]);
    const verify = await assay('receipt', 'verify', receipt, ...trust, '--bundle', bundleFile, '--settlement', 'soft');
    expect(verify).toMatchObject({ exitCode: 1, status: 'invalid' });
    const settled = await assay('receipt', 'settle', receipt, ...as('requester'));
    expect(settled).toMatchObject({
      ended: [{ orderHash, state: 'slashed', toRequester: '3500', toAccount: '0' }],
    });
    // Its node is suspended: this test is the last that uses node 0 for new orders.
  });
});

describe('doctor', () => {
  const look = async (rollup: Hex = chain.rollup.address) => {
    const findings = await settlementFindings({ rpc: chain.anvil.url, rollup });
    return Object.fromEntries(findings.map(({ part, state, detail }) => [part, { state, detail }]));
  };

  test('a deployment in order, lane by lane', async () => {
    expect(await look()).toMatchObject({
      'settlement contracts': { state: 'ok' },
      'settlement clock': { state: 'ok', detail: expect.stringMatching(/^mode=timestamp; .* never frozen$/) as string },
      'settlement token': { state: 'ok', detail: expect.stringContaining('WNATIVE (18 decimals)') as string },
      policy: { state: 'ok', detail: expect.stringContaining(chain.client.policyHash) as string },
      'sampled lane': { state: 'ok', detail: expect.stringContaining('2 of 3 auditors, 25 % drawn') as string },
      // The test's verifier names no reference string.
      'zk lane': { state: 'broken' },
    });
  });

  test('no contract there, and a frozen one, from which money can still be taken', async () => {
    expect(await look(`0x${'11'.repeat(20)}`)).toMatchObject({ 'settlement contracts': { state: 'broken' } });
    await chain.sendAs(guardianWallet, chain.escrow.freezeCall());
    try {
      expect(await look()).toMatchObject({ 'settlement clock': { state: 'broken' } });
      expect(await assay('account', 'withdraw', '0.00001', ...as('requester'))).toMatchObject({ exitCode: 0 });
    } finally {
      await chain.provider.send('evm_increaseTime', [5]);
      await chain.sendAs(guardianWallet, chain.escrow.unfreezeCall());
    }
    const { 'settlement clock': clock } = await look();
    expect(clock).toMatchObject({ state: 'ok', detail: expect.stringMatching(/of freezes behind it$/) as string });
  });

  test('half of what it needs is refused', () =>
    refused(['doctor', '--rpc', chain.anvil.url], 'CONFIG_INVALID', /--rollup is missing/));
});
