/** receipts/verify-receipt.ts against a real chain: every check has a tampering that it alone, by name, refuses. */
import { id, Network, Wallet, type Provider, type TransactionRequest } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../common/errors.js';
import { hashOrder } from '../receipts/eip712.js';
import { formatReceiptFile, parseReceiptFile, type ReceiptFile } from '../receipts/receipt-file.js';
import { signOrder, signReceipt } from '../receipts/signature.js';
import type { Hex, JobOrder, Receipt } from '../receipts/types.js';
import { verifyReceipt, type ReceiptCheckName, type VerifyReceiptOptions } from '../receipts/verify-receipt.js';
import { startAnvil } from './anvil.js';
import { connectChain } from './connect-chain.js';
import { deployRollup } from './deploy.js';
import {
  executorKey,
  freshSalt,
  pathOf,
  startRollup,
  testPolicy,
  type RollupFixture,
} from './harness/rollup-fixture.js';
import { RollupClient, type SignedReceipt } from './rollup-client.js';

let f: RollupFixture;
let good: ReceiptFile;
let killed: ReceiptFile;
let options: VerifyReceiptOptions;

const requester = new Wallet(id('requester'));

/** An order and the receipt that delivers it. */
async function ordered(nonce: bigint): Promise<{ order: JobOrder; orderSignature: Hex; signed: SignedReceipt }> {
  const { domain } = f.client;
  const [{ receipt }] = (await f.receipts(1)) as [SignedReceipt];
  const { modelDigest, inputRoot, items, lane, policyHash, issuedAt } = receipt;
  const from = requester.address.toLowerCase() as Hex;
  const order: JobOrder = {
    requester: from,
    modelDigest,
    inputRoot,
    items,
    lane,
    policyHash,
    price: 1000n,
    deliverBy: issuedAt + 60,
    nonce,
  };
  const delivered = { ...receipt, orderHash: hashOrder(order, domain) };
  const signature = await signReceipt(delivered, domain, new Wallet(executorKey(0)));
  return {
    order,
    orderSignature: await signOrder(order, domain, requester),
    signed: { receipt: delivered, signature },
  };
}

beforeAll(async () => {
  f = await startRollup();
  const first = await ordered(0n);
  const receipts = [first.signed, ...(await f.receipts(4))];
  const header = await f.finish(receipts, [3]);
  await f.anvil.mine(3);
  const fileOf = (index: number): ReceiptFile => ({
    version: 1,
    domain: f.client.domain,
    ...receipts[index]!,
    batch: { header, index, path: pathOf(receipts, index) },
  });
  good = {
    ...fileOf(0),
    order: first.order,
    orderSignature: first.orderSignature,
    inputs: [[1, 2]],
    outputs: [[3], [4, 5]],
  };
  killed = fileOf(3);
  options = {
    provider: f.provider,
    rollup: f.client.address,
    inputRoot: (inputs) => (JSON.stringify(inputs) === '[[1,2]]' ? good.receipt.inputRoot : (id('other') as Hex)),
    outputRoot: (outputs) =>
      JSON.stringify(outputs) === '[[3],[4,5]]' ? good.receipt.outputRoot : (id('other') as Hex),
  };
});
afterAll(() => f.stop());

function withoutOrder({ version, domain, receipt, signature, batch }: ReceiptFile): ReceiptFile {
  return { version, domain, receipt, signature, ...(batch === undefined ? {} : { batch }) };
}

const NAMES: ReceiptCheckName[] = [
  'settlement',
  'signature',
  'terms',
  'position',
  'path',
  'status',
  'inputs',
  'outputs',
];
/** Names of the checks that do not hold. */
const failed = async (file: ReceiptFile, change: Partial<VerifyReceiptOptions> = {}): Promise<string[]> => {
  const { verdict, checks } = await verifyReceipt(file, { ...options, ...change });
  const names = NAMES.filter((name) => checks[name] !== undefined && checks[name].verdict !== 'valid');
  expect(verdict.verdict === 'valid').toBe(names.length === 0);
  return names;
};

it('an untouched receipt is valid in every check, through its file too', async () => {
  const file = parseReceiptFile(formatReceiptFile(good));
  const { verdict, status, checks } = await verifyReceipt(file, options);
  expect(verdict).toEqual({ verdict: 'valid' });
  expect(status).toBe('final-sampled');
  expect(Object.keys(checks).sort()).toEqual([...NAMES].sort());
});

describe('tampering', () => {
  const of = (change: Partial<Receipt>): ReceiptFile => ({ ...good, receipt: { ...good.receipt, ...change } });
  const word = (text: string): Hex => id(text) as Hex;

  it.each<[keyof Receipt, () => Partial<Receipt>, string[]]>([
    ['orderHash', () => ({ orderHash: word('x') }), ['signature', 'terms', 'path', 'status']],
    ['modelDigest', () => ({ modelDigest: word('x') }), ['signature', 'terms', 'path', 'status']],
    ['inputRoot', () => ({ inputRoot: word('x') }), ['signature', 'terms', 'path', 'status', 'inputs']],
    ['outputRoot', () => ({ outputRoot: word('x') }), ['signature', 'path', 'status', 'outputs']],
    ['traceRoot', () => ({ traceRoot: word('x') }), ['signature', 'path', 'status']],
    ['opCount', () => ({ opCount: 13 }), ['signature', 'path', 'status']],
    ['items', () => ({ items: 2 }), ['signature', 'terms', 'path', 'status']],
    ['amount', () => ({ amount: 999n }), ['signature', 'path', 'status']],
    ['lane', () => ({ lane: 'zk' }), ['signature', 'terms', 'position', 'path', 'status']],
    ['policyHash', () => ({ policyHash: word('x') }), ['signature', 'terms', 'path', 'status']],
    ['executor', () => ({ executor: `0x${'12'.repeat(20)}` }), ['signature', 'path', 'status']],
    ['issuedAt', () => ({ issuedAt: good.receipt.issuedAt + 1 }), ['signature', 'path', 'status']],
  ])('receipt.%s', async (_field, change, expected) => {
    expect(await failed(of(change()))).toEqual(expected);
  });

  it('signature: of another key, mirrored, cut', async () => {
    const other = await signReceipt(good.receipt, good.domain, requester);
    const s =
      0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n -
      BigInt(`0x${good.signature.slice(66, 130)}`);
    const v = good.signature.endsWith('1b') ? '1c' : '1b';
    const mirrored = `${good.signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}` as Hex;
    for (const signature of [other, mirrored, good.signature.slice(0, -2) as Hex]) {
      expect(await failed({ ...good, signature })).toEqual(['signature']);
    }
  });

  it('order: dearer promise, other requester signature, none', async () => {
    expect(await failed({ ...good, order: { ...good.order!, price: 999n } })).toEqual(['terms']);
    expect(await failed({ ...good, orderSignature: good.signature })).toEqual(['terms']);
    const unsigned: ReceiptFile = { ...withoutOrder(good), order: good.order! };
    expect(await failed(unsigned)).toEqual(['terms']);
    expect((await verifyReceipt(unsigned, options)).verdict).toEqual({
      verdict: 'undetermined',
      reason: expect.stringMatching(/^terms: .*signature of its requester/),
    });
  });

  it('path: a sibling, its length, another index', async () => {
    const batch = good.batch!;
    const swapped = [batch.path[1]!, batch.path[0]!, ...batch.path.slice(2)];
    for (const path of [swapped, batch.path.slice(1), [...batch.path, batch.header.batchRoot]]) {
      expect(await failed({ ...good, batch: { ...batch, path } })).toEqual(['path', 'status']);
    }
    expect(await failed({ ...good, batch: { ...batch, index: 1 } })).toEqual(['path', 'status']);
    expect(await failed({ ...good, batch: { ...batch, index: 5 } })).toEqual(['position', 'path', 'status']);
  });

  it.each<[string, Partial<NonNullable<ReceiptFile['batch']>['header']>, string[]]>([
    ['lane', { lane: 'optimistic' }, ['position', 'status']],
    ['count', { count: 6 }, ['status']],
    ['poster', { poster: `0x${'12'.repeat(20)}` }, ['status']],
    ['salt', { salt: word('x') }, ['status']],
    ['batchRoot', { batchRoot: word('x') }, ['path', 'status']],
    ['unbound (this leaf)', { unbound: 1n }, ['position', 'status']],
    ['unbound (another leaf)', { unbound: 2n }, ['status']],
    ['committedAt', { committedAt: 1 }, ['status']],
  ])('header.%s', async (_field, change, expected) => {
    const batch = good.batch!;
    expect(await failed({ ...good, batch: { ...batch, header: { ...batch.header, ...change } } })).toEqual(expected);
  });

  it('tensors: one integer changed', async () => {
    expect(await failed({ ...good, inputs: [[1, 3]] })).toEqual(['inputs']);
    expect(await failed({ ...good, outputs: [[3], [4, 6]] })).toEqual(['outputs']);
  });

  it('tensors that are none of the model: a finding about the file, not a fault of the caller', async () => {
    const refuse = (code: 'INPUT_RANGE' | 'INTERNAL') => ({
      outputRoot: (): Hex => {
        throw new AssayError(code, 'outputs: expected 1 tensor, found 2');
      },
    });
    expect(await failed(good, refuse('INPUT_RANGE'))).toEqual(['outputs']);
    expect((await verifyReceipt(good, { ...options, ...refuse('INPUT_RANGE') })).verdict).toEqual({
      verdict: 'invalid',
      reason: 'outputs: outputs are not tensors of this model: outputs: expected 1 tensor, found 2',
    });
    await expect(failed(good, refuse('INTERNAL'))).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  it('domain: another contract than the reader trusts, another chain', async () => {
    const contract = { ...good.domain, verifyingContract: `0x${'12'.repeat(20)}` as Hex };
    expect(await failed({ ...good, domain: contract })).toEqual(['settlement', 'signature', 'terms']);
    expect(await failed({ ...good, domain: { ...good.domain, chainId: 1n } })).toEqual([
      'settlement',
      'signature',
      'terms',
    ]);
  });

  it('the same receipt signed for another chain fails by its chain alone', async () => {
    const domain = { ...good.domain, chainId: 1n };
    const signature = await signReceipt(good.receipt, domain, new Wallet(executorKey(0)));
    expect(await failed({ ...withoutOrder(good), domain, signature })).toEqual(['settlement']);
  });
});

describe('status decides', () => {
  it('a killed receipt is invalid', async () => {
    const check = await verifyReceipt(killed, options);
    expect(check).toMatchObject({ status: 'invalid', verdict: { verdict: 'invalid' } });
  });

  it('unposted, pending, unsettled, void: undetermined; then final: valid', async () => {
    const receipts = await f.receipts(2);
    const file: ReceiptFile = { version: 1, domain: f.client.domain, ...receipts[0]! };
    expect(await verifyReceipt(file, options)).toMatchObject({ status: null, verdict: { verdict: 'undetermined' } });

    const { header } = await f.client.commit('sampled', receipts, freshSalt());
    const posted: ReceiptFile = { ...file, batch: { header, index: 0, path: pathOf(receipts, 0) } };
    const check = (settlement: 'soft' | 'safe' | 'finalized') => verifyReceipt(posted, { ...options, settlement });
    expect(await check('soft')).toMatchObject({ status: 'pending', verdict: { verdict: 'undetermined' } });
    expect(await check('finalized')).toMatchObject({
      status: 'pending',
      verdict: { verdict: 'undetermined', reason: 'status: pending in the newest block, not yet finalized' },
    });
    await f.anvil.mine(testPolicy.beaconDelay);
    await f.client.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, []);
    await f.client.reportAudit(header, verdict, signatures);
    expect(await check('soft')).toMatchObject({ status: 'final-sampled', verdict: { verdict: 'valid' } });
    expect(await check('finalized')).toMatchObject({ status: 'pending', verdict: { verdict: 'undetermined' } });
    await f.anvil.mine(2);
    expect(await check('finalized')).toMatchObject({ status: 'final-sampled', verdict: { verdict: 'valid' } });
  });

  it('void', async () => {
    const receipts = await f.receipts(1);
    const { header } = await f.client.commit('sampled', receipts, freshSalt());
    await f.anvil.mine(testPolicy.beaconDelay + testPolicy.auditWindow + 3);
    const file: ReceiptFile = {
      version: 1,
      domain: f.client.domain,
      ...receipts[0]!,
      batch: { header, index: 0, path: [] },
    };
    expect(await verifyReceipt(file, options)).toMatchObject({ status: 'void', verdict: { verdict: 'undetermined' } });
  });

  it('a genuine receipt with tensors that nobody checked is undetermined, whatever they are', async () => {
    const { provider, rollup } = options;
    for (const outputs of [good.outputs!, [[9, 9, 9]], []]) {
      const { verdict, status, checks } = await verifyReceipt({ ...good, outputs }, { provider, rollup });
      expect(verdict).toEqual({
        verdict: 'undetermined',
        reason: expect.stringMatching(/^inputs: not checked; the model's bundle .*; outputs: not checked; .*bundle/),
      });
      expect(status).toBe('final-sampled');
      expect([checks.inputs?.verdict, checks.outputs?.verdict]).toEqual(['undetermined', 'undetermined']);
    }
    expect((await verifyReceipt(withoutOrder(good), { provider, rollup })).verdict).toEqual({ verdict: 'valid' });
  });

  it('a receipt that the audit could not decide is void: undetermined', async () => {
    const receipts = await f.receipts(2);
    const header = await f.finish(receipts, [], [1]);
    await f.anvil.mine(3);
    const at = (index: number): ReceiptFile => ({
      version: 1,
      domain: f.client.domain,
      ...receipts[index]!,
      batch: { header, index, path: pathOf(receipts, index) },
    });
    expect(await verifyReceipt(at(0), options)).toMatchObject({ verdict: { verdict: 'valid' } });
    expect(await verifyReceipt(at(1), options)).toMatchObject({
      status: 'void',
      verdict: { verdict: 'undetermined', reason: expect.stringContaining('could not decide') },
    });
  });

  it('an address that is no rollup is never valid', async () => {
    const nobody: Hex = `0x${'12'.repeat(20)}`;
    const domain = { ...good.domain, verifyingContract: nobody };
    const signature = await signReceipt(good.receipt, domain, new Wallet(executorKey(0)));
    expect(await failed({ ...withoutOrder(good), domain, signature }, { rollup: nobody })).toEqual(['status']);
  });
});

describe('a chain that does not know yet', () => {
  it('a rollup younger than the settled head', async () => {
    const { address } = await deployRollup(f.signer, testPolicy);
    const client = await RollupClient.connect({ provider: f.provider, address, signer: f.signer });
    const [{ receipt }] = (await f.receipts(1)) as [SignedReceipt];
    const signature = await signReceipt(receipt, client.domain, new Wallet(executorKey(0)));
    const { header } = await client.commit('sampled', [{ receipt, signature }], freshSalt());
    const file: ReceiptFile = {
      version: 1,
      domain: client.domain,
      receipt,
      signature,
      batch: { header, index: 0, path: [] },
    };
    expect(await f.provider.call({ to: address, data: '0x', blockTag: 'finalized' })).toBe('0x');
    expect(await verifyReceipt(file, { ...options, rollup: address })).toMatchObject({
      status: 'pending',
      verdict: { verdict: 'undetermined', reason: 'status: pending in the newest block, not yet finalized' },
    });
    // The same, asked of a node that has not seen the deployment.
    expect(await verifyReceipt(file, { ...options, rollup: address, provider: standingAt(1) })).toMatchObject({
      status: null,
      verdict: { verdict: 'undetermined', reason: expect.stringContaining('the node stands at block 1, behind') },
    });
  });

  it.each(['soft', 'finalized'] as const)('a node behind the commit (%s)', async (settlement) => {
    const { committedAt } = good.batch!.header;
    const at = (block: number) => verifyReceipt(good, { ...options, settlement, provider: standingAt(block) });
    expect(await at(committedAt - 1)).toMatchObject({
      status: 'unknown',
      verdict: {
        verdict: 'undetermined',
        reason: expect.stringMatching(/^status: the node stands at block \d+, behind/),
      },
    });
    expect((await at(committedAt)).status).toBe('pending');
    // A node that has reached the commit knows what is not in it.
    const { batch } = good;
    const forged = { ...good, batch: { ...batch!, header: { ...batch!.header, salt: id('x') as Hex } } };
    const check = await verifyReceipt(forged, { ...options, settlement, provider: standingAt(committedAt) });
    expect(check).toMatchObject({ status: 'unknown', verdict: { verdict: 'invalid' } });
  });

  it('several nodes behind one address, of which one lags: undetermined', async () => {
    const ahead = (await f.provider.getBlockNumber()) + 1000;
    const provider = {
      getNetwork: () => f.provider.getNetwork(),
      getCode: (address: string) => f.provider.getCode(address),
      getBlockNumber: () => Promise.resolve(ahead),
      call: (transaction: TransactionRequest) => f.provider.call(transaction),
    } as unknown as Provider;
    const { batch } = good;
    const later = { ...good, batch: { ...batch!, header: { ...batch!.header, committedAt: ahead - 1 } } };
    expect(await verifyReceipt(later, { ...options, provider })).toMatchObject({
      verdict: { verdict: 'undetermined', reason: expect.stringMatching(/^status: status at the newest block/) },
    });
  });
});

/** A node that has no block after this one. */
function standingAt(block: number): Provider {
  return {
    getNetwork: () => f.provider.getNetwork(),
    getCode: (address: string) => f.provider.getCode(address, block),
    getBlockNumber: () => Promise.resolve(block),
    call: (transaction: TransactionRequest) => f.provider.call({ ...transaction, blockTag: block }),
  } as unknown as Provider;
}

describe('an outage', () => {
  it('of the whole node is undetermined', async () => {
    const doomed = await startAnvil();
    const provider = await connectChain(doomed.url);
    await doomed.stop();
    const { verdict, status } = await verifyReceipt(good, { ...options, provider });
    expect(verdict.verdict).toBe('undetermined');
    expect(status).toBeNull();
    provider.destroy();
  });

  it('of a node that takes questions and never answers is undetermined after the time limit', async () => {
    const { verdict } = await verifyReceipt(good, { ...options, provider: deaf, timeoutMs: 50 });
    expect(verdict.verdict).toBe('undetermined');
  });

  it('of the status question alone is undetermined', async () => {
    const half = {
      getNetwork: () => Promise.resolve(Network.from(31337)),
      getCode: () => Promise.resolve('0x'),
      call: () => Promise.reject(new Error('socket hang up')),
    } as unknown as Provider;
    const { verdict, checks } = await verifyReceipt(good, { ...options, provider: half });
    expect(verdict).toEqual({
      verdict: 'undetermined',
      reason: 'status: status at the finalized block: socket hang up',
    });
    expect(checks.signature).toEqual({ verdict: 'valid' });
  });

  it('does not excuse a forged receipt', async () => {
    const forged = { ...good, batch: { ...good.batch!, index: 1 } };
    const { verdict } = await verifyReceipt(forged, { ...options, provider: deaf, timeoutMs: 50 });
    expect(verdict).toMatchObject({ verdict: 'invalid', reason: expect.stringMatching(/^path/) });
  });
});

const never = (): Promise<never> => new Promise(() => undefined);
const deaf = { getNetwork: never, getCode: never, call: never } as unknown as Provider;
