/** receipts/verify-receipt.ts against a real chain: every check has a tampering that it alone, by name, refuses. */
import {
  ContractFactory,
  id,
  Interface,
  Network,
  Wallet,
  type Contract,
  type ContractTransactionResponse,
  type InterfaceAbi,
  type Provider,
  type TransactionRequest,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../common/errors.js';
import { hashOrder } from '../receipts/eip712.js';
import { formatReceiptFile, parseReceiptFile, type ReceiptFile } from '../receipts/receipt-file.js';
import { signAcceptance, signOrder, signReceipt } from '../receipts/signature.js';
import type { Hex, JobOrder, Receipt } from '../receipts/types.js';
import { verifyReceipt, type ReceiptCheckName, type VerifyReceiptOptions } from '../receipts/verify-receipt.js';
import { startAnvil } from './anvil.js';
import { compileContracts } from './build.js';
import { connectChain } from './connect-chain.js';
import {
  executorKey,
  pathOf,
  requesterWallet as requester,
  startSettlement,
  testTerms,
  type SettlementFixture,
} from './harness/settlement-fixture.js';

let f: SettlementFixture;
let good: ReceiptFile;
let killed: ReceiptFile;
let options: VerifyReceiptOptions;

beforeAll(async () => {
  f = await startSettlement();
  const receipts = await f.receipts(5);
  const first = f.orderFor(receipts[0]!.receipt);
  const header = await f.finish(receipts, [3]);
  await f.anvil.mine(3);
  const fileOf = (index: number): ReceiptFile => ({
    version: 2,
    domain: f.client.domain,
    ...receipts[index]!,
    batch: { header, index, path: pathOf(receipts, index) },
  });
  good = {
    ...fileOf(0),
    order: first.order,
    orderSignature: first.requesterSignature,
    acceptance: first.executorSignature,
    inputs: [[1, 2]],
    outputs: [[3], [4, 5]],
  };
  killed = fileOf(3);
  options = {
    provider: f.provider,
    rollup: f.rollup.address,
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
  'acceptance',
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
    ['policyHash', () => ({ policyHash: word('x') }), ['signature', 'terms', 'position', 'path', 'status']],
    ['executor', () => ({ executor: `0x${'12'.repeat(20)}` }), ['signature', 'terms', 'path', 'status']],
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

  it('order: dearer promise, other executor, other requester signature, none', async () => {
    expect(await failed({ ...good, order: { ...good.order!, price: 999n } })).toEqual(['terms', 'acceptance']);
    const executor: Hex = `0x${'12'.repeat(20)}`;
    expect(await failed({ ...good, order: { ...good.order!, executor } })).toEqual(['terms', 'acceptance']);
  });

  it("the order's signature: of another, none; the chain has bound the order all the same, where it was asked", async () => {
    const { version, domain, receipt, signature, order } = good;
    const neither: ReceiptFile = { version, domain, receipt, signature, order: order! };
    const ofAnother = { orderSignature: good.signature };
    const unsigned: ReceiptFile = { ...withoutOrder(good), order: good.order! };
    expect(await failed({ ...good, ...ofAnother })).toEqual([]);
    expect(await failed(unsigned)).toEqual([]);
    const termsOf = async (file: ReceiptFile, change: Partial<VerifyReceiptOptions> = {}) =>
      (await verifyReceipt(file, { ...options, ...change })).checks.terms;
    const forged = { verdict: 'invalid', reason: expect.stringMatching(/^signed by /) as string };
    expect(await termsOf({ ...neither, ...ofAnother })).toEqual(forged);
    const missing = { verdict: 'undetermined', reason: expect.stringMatching(/signature of its requester$/) as string };
    expect(await termsOf(neither)).toEqual(missing);
    expect(await termsOf(unsigned, { provider: undefined })).toEqual(missing);
    // A batch that the contract does not know shows nothing.
    const header = { ...good.batch!.header, salt: word('x') };
    expect(await termsOf({ ...good, ...ofAnother, batch: { ...good.batch!, header } })).toEqual(forged);
  });

  it('acceptance: of another order, of another key, the mirrored one', async () => {
    const [node, stranger] = [new Wallet(executorKey(0)), new Wallet(executorKey(1))];
    for (const acceptance of [
      await signAcceptance({ ...good.order!, nonce: 2n ** 200n }, good.domain, node),
      await signAcceptance(good.order!, good.domain, stranger),
      good.signature,
      good.acceptance!.slice(0, -2) as Hex,
    ]) {
      expect(await failed({ ...good, acceptance })).toEqual(['acceptance']);
    }
    const silent = { ...withoutOrder(good), order: good.order!, orderSignature: good.orderSignature! };
    expect((await verifyReceipt(silent, options)).checks.acceptance).toBeUndefined();
  });

  it('a receipt that calls itself late: the chain has decided, where it is posted', async () => {
    const { issuedAt } = good.receipt;
    const late = { ...good.order!, deliverBy: issuedAt - 1 };
    const receipt = { ...good.receipt, orderHash: hashOrder(late, good.domain) };
    const file = {
      ...good,
      receipt,
      signature: await signReceipt(receipt, good.domain, new Wallet(executorKey(0))),
      order: late,
      orderSignature: await signOrder(late, good.domain, requester),
      acceptance: await signAcceptance(late, good.domain, new Wallet(executorKey(0))),
    };
    // Not this batch's receipt, of course; but its terms are met.
    expect(await failed(file)).toEqual(['path', 'status']);
    const { version, domain, signature, order, orderSignature } = file;
    const unposted = { version, domain, receipt, signature, order, orderSignature };
    expect((await verifyReceipt(unposted, options)).checks.terms).toEqual({
      verdict: 'undetermined',
      reason: expect.stringMatching(/^issuedAt: due by .*only the chain knows/),
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
    ['policyHash', { policyHash: word('x') }, ['position', 'status']],
    ['committedAt', { committedAt: 1 }, ['status']],
    ['committedBlock', { committedBlock: 1 }, ['status']],
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
    const expected = ['settlement', 'signature', 'terms', 'acceptance'];
    expect(await failed({ ...good, domain: contract })).toEqual(expected);
    expect(await failed({ ...good, domain: { ...good.domain, chainId: 1n } })).toEqual(expected);
  });

  it('the same receipt signed for another chain fails by its chain alone', async () => {
    const domain = { ...good.domain, chainId: 1n };
    const signature = await signReceipt(good.receipt, domain, new Wallet(executorKey(0)));
    expect(await failed({ ...withoutOrder(good), domain, signature })).toEqual(['settlement']);
  });
});

describe('a requester that is a contract (ERC-1271)', () => {
  it('cannot take back its consent: what it says today counts as long as the chain has not bound the order', async () => {
    const { abi, bytecode } = (await compileContracts({ folders: ['harness/escrow'] }))['StagedWallet']!;
    const factory = new ContractFactory(new Interface(abi as InterfaceAbi), bytecode, f.signer);
    const wallet = (await factory.deploy(requester.address)) as Contract;
    await wallet.waitForDeployment();
    const account = (await wallet.getAddress()).toLowerCase() as Hex;
    for (const call of [
      f.escrow.wrapCall(10_000n),
      f.escrow.approveCall(10_000n),
      f.escrow.depositCall(account, 10_000n),
    ])
      await f.sendAs(requester, call);
    const given = { lane: 'zk', order: (order: JobOrder) => ({ ...order, requester: account }) } as const;
    const receipts = await f.receipts(1, undefined, given);
    const { order, requesterSignature, executorSignature } = f.orderFor(receipts[0]!.receipt);
    const unposted: ReceiptFile = {
      version: 2,
      domain: f.client.domain,
      ...receipts[0]!,
      order,
      orderSignature: requesterSignature,
      acceptance: executorSignature,
    };
    const { header } = await f.commitProved(receipts);
    const posted = { ...unposted, batch: { header, index: 0, path: [] } };
    const termsOf = async (file: ReceiptFile) =>
      (await verifyReceipt(file, { ...options, settlement: 'soft' })).checks.terms?.verdict;
    expect([await termsOf(unposted), await termsOf(posted)]).toEqual(['valid', 'valid']);
    await (await (wallet.getFunction('setMood')(3) as Promise<ContractTransactionResponse>)).wait();
    expect([await termsOf(unposted), await termsOf(posted)]).toEqual(['invalid', 'valid']);
    // The leaf is bound under that order alone.
    expect(await termsOf({ ...posted, order: { ...order, price: order.price + 1n } })).toBe('invalid');
  });
});

describe('status decides', () => {
  it('a killed receipt is invalid', async () => {
    const check = await verifyReceipt(killed, options);
    expect(check).toMatchObject({ status: 'invalid', verdict: { verdict: 'invalid' } });
  });

  it('unposted, pending, unsettled, void: undetermined; then final: valid', async () => {
    const receipts = await f.receipts(2);
    const file: ReceiptFile = { version: 2, domain: f.client.domain, ...receipts[0]! };
    expect(await verifyReceipt(file, options)).toMatchObject({ status: null, verdict: { verdict: 'undetermined' } });

    const { header } = await f.commit(receipts);
    const posted: ReceiptFile = { ...file, batch: { header, index: 0, path: pathOf(receipts, 0) } };
    const check = (settlement: 'soft' | 'safe' | 'finalized') => verifyReceipt(posted, { ...options, settlement });
    expect(await check('soft')).toMatchObject({ status: 'pending', verdict: { verdict: 'undetermined' } });
    expect(await check('finalized')).toMatchObject({
      status: 'pending',
      verdict: { verdict: 'undetermined', reason: 'status: pending in the newest block, not yet finalized' },
    });
    await f.anvil.mine(testTerms.beaconDelay);
    await f.court.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, []);
    await f.court.reportAudit(header, verdict, signatures);
    expect(await check('soft')).toMatchObject({ status: 'final-sampled', verdict: { verdict: 'valid' } });
    expect(await check('finalized')).toMatchObject({ status: 'pending', verdict: { verdict: 'undetermined' } });
    await f.anvil.mine(2);
    expect(await check('finalized')).toMatchObject({ status: 'final-sampled', verdict: { verdict: 'valid' } });
  });

  it.each([
    ['soft', 0],
    ['safe', 1],
    ['finalized', 2],
  ] as const)('%s: the commit is seen %i blocks after it', async (settlement, blocks) => {
    const receipts = await f.receipts(1);
    const { header } = await f.commit(receipts);
    const file: ReceiptFile = {
      version: 2,
      domain: f.client.domain,
      ...receipts[0]!,
      batch: { header, index: 0, path: [] },
    };
    for (let after = 0; after <= blocks; after++) {
      if (after > 0) await f.anvil.mine(1);
      const { verdict } = await verifyReceipt(file, { ...options, settlement });
      expect(verdict).toEqual({
        verdict: 'undetermined',
        reason:
          after < blocks
            ? `status: pending in the newest block, not yet ${settlement}`
            : 'status: not final yet: pending',
      });
    }
  });

  it('a receipt of the zk lane is final with its commit, and final-zk once that is settled', async () => {
    const receipts = await f.receipts(2, (receipt) => receipt, { lane: 'zk' });
    const { header } = await f.commitProved(receipts);
    const file: ReceiptFile = {
      version: 2,
      domain: f.client.domain,
      ...receipts[1]!,
      batch: { header, index: 1, path: pathOf(receipts, 1, 'zk') },
    };
    const status = async (settlement: 'soft' | 'finalized') => {
      const { checks, status } = await verifyReceipt(file, { ...options, settlement });
      // The proof is not in the file: the contract has checked one, or would not call the receipt final-zk.
      expect(checks.proof).toBeUndefined();
      return [status, checks.status?.verdict];
    };
    expect(await status('soft')).toEqual(['final-zk', 'valid']);
    expect(await status('finalized')).toEqual(['final-zk', 'undetermined']);
    await f.anvil.mine(2);
    expect(await status('finalized')).toEqual(['final-zk', 'valid']);
    // Nobody who is not told so by the contract takes a file without a proof for proved.
    expect((await verifyReceipt(file, {})).checks.proof?.verdict).toBe('undetermined');

    // Proved in the file, it stands without a chain; with one it must be where it says it is.
    const proven: ReceiptFile = {
      ...file,
      inputs: [[1]],
      outputs: [[2]],
      evidence: { scheme: 'mercury', proof: '0x01' },
    };
    const reader: VerifyReceiptOptions = {
      inputRoot: () => file.receipt.inputRoot,
      outputRoot: () => file.receipt.outputRoot,
      zkProof: () => ({ outputs: [[2]] }),
    };
    expect(await verifyReceipt(proven, reader)).toMatchObject({ verdict: { verdict: 'valid' }, status: null });
    const chain = { ...reader, provider: f.provider, rollup: f.rollup.address };
    expect(await verifyReceipt(proven, chain)).toMatchObject({ verdict: { verdict: 'valid' }, status: 'final-zk' });
    const elsewhere = { ...proven, batch: { ...proven.batch!, header: { ...header, salt: id('x') as Hex } } };
    expect(await verifyReceipt(elsewhere, chain)).toMatchObject({ verdict: { verdict: 'invalid' }, status: 'unknown' });
    const moved = { ...proven, batch: { ...proven.batch!, index: 0 } };
    expect((await verifyReceipt(moved, reader)).verdict).toMatchObject({ verdict: 'invalid' });
  });

  it('void', async () => {
    const receipts = await f.receipts(1);
    const { header } = await f.commit(receipts);
    await f.advanceTo(f.court.auditDeadlineOf(header) + 1);
    await f.anvil.mine(2);
    const file: ReceiptFile = {
      version: 2,
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
      version: 2,
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
    const receipts = await f.receipts(1);
    const { header } = await f.commit(receipts);
    const file: ReceiptFile = {
      version: 2,
      domain: f.client.domain,
      ...receipts[0]!,
      batch: { header, index: 0, path: [] },
    };
    // A chain that settles slowly: its finalized head lies before the deployment.
    const slow = {
      getNetwork: () => f.provider.getNetwork(),
      getCode: (address: string) => f.provider.getCode(address),
      getBlockNumber: () => f.provider.getBlockNumber(),
      call: (transaction: TransactionRequest) =>
        f.provider.call(transaction.blockTag === 'finalized' ? { ...transaction, blockTag: 1 } : transaction),
    } as unknown as Provider;
    expect(await slow.call({ to: f.rollup.address, data: '0x', blockTag: 'finalized' })).toBe('0x');
    expect(await verifyReceipt(file, { ...options, provider: slow })).toMatchObject({
      status: 'pending',
      verdict: { verdict: 'undetermined', reason: 'status: pending in the newest block, not yet finalized' },
    });
    // The same, asked of a node that has not seen the deployment.
    expect(await verifyReceipt(file, { ...options, provider: standingAt(1) })).toMatchObject({
      status: null,
      verdict: { verdict: 'undetermined', reason: expect.stringContaining('the node stands at block 1, behind') },
    });
  });

  it.each(['soft', 'finalized'] as const)('a node behind the commit (%s)', async (settlement) => {
    const { committedBlock } = good.batch!.header;
    const at = (block: number) => verifyReceipt(good, { ...options, settlement, provider: standingAt(block) });
    expect(await at(committedBlock - 1)).toMatchObject({
      status: 'unknown',
      verdict: {
        verdict: 'undetermined',
        reason: expect.stringMatching(/^status: the node stands at block \d+, behind/),
      },
    });
    expect((await at(committedBlock)).status).toBe('pending');
    // A node that has reached the commit knows what is not in it.
    const { batch } = good;
    const forged = { ...good, batch: { ...batch!, header: { ...batch!.header, salt: id('x') as Hex } } };
    const check = await verifyReceipt(forged, { ...options, settlement, provider: standingAt(committedBlock) });
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
    const later = { ...good, batch: { ...batch!, header: { ...batch!.header, committedBlock: ahead - 1 } } };
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
