import { Contract, id, solidityPackedKeccak256, Wallet, ZeroHash } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchHash, boundIndexes, drawSeed, headerHash, type BatchHeader } from '../receipts/batch.js';
import { batchRoot } from '../receipts/merkle.js';
import { signReceipt } from '../receipts/signature.js';
import type { Hex, Receipt } from '../receipts/types.js';
import { bitmapOf, signVerdict, verdictStructHash } from './audit-verdict.js';
import {
  auditorWallets,
  executorKey,
  freshSalt,
  leavesOf,
  pathOf,
  startRollup,
  testPolicy,
  type RollupFixture,
} from './harness/rollup-fixture.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { deployRollup } from './deploy.js';
import { policyHash } from './policy.js';
import { RollupClient, rollupInterface, type SignedReceipt } from './rollup-client.js';

let f: RollupFixture;
let client: RollupClient;
beforeAll(async () => {
  f = await startRollup();
  client = f.client;
});
afterAll(() => f.stop());

const reverts = (error: string, ...args: (string | number | bigint)[]) =>
  expect.objectContaining({ code: 'CHAIN_REVERTED', meta: { error, args: args.map(String) } });
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const mirrored = (signature: Hex): Hex => {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}` as Hex;
};
const status = (receipts: readonly SignedReceipt[], index: number, header: BatchHeader) =>
  client.statusOf(receipts[index]!.receipt, index, pathOf(receipts, index), header);

describe('deployment', () => {
  it('publishes its terms', async () => {
    expect(client.policy).toEqual(testPolicy);
    expect(client.policyHash).toBe(policyHash(testPolicy));
    const contract = new Contract(client.address, receiptRollupAbi, f.provider);
    expect(await contract.getFunction('CLOCK_MODE')()).toBe('mode=blocknumber&from=default');
    expect(await client.clock()).toBe(await f.provider.getBlockNumber());
  });

  const [a, b, c] = testPolicy.auditors as [Hex, Hex, Hex];
  it.each<[string, Partial<typeof testPolicy>, string]>([
    ['no beacon delay', { beaconDelay: 0 }, 'beaconDelay'],
    ['no audit window', { auditWindow: 0 }, 'auditWindow'],
    ['window beyond the block-hash history', { auditWindow: 8191 }, 'auditWindow'],
    ['rate 0', { drawRatePpm: 0 }, 'drawRatePpm'],
    ['rate above 1', { drawRatePpm: 1_000_001 }, 'drawRatePpm'],
    ['no auditors', { auditors: [] }, 'auditors'],
    ['an auditor twice', { auditors: [a, a, b] }, 'auditors'],
    ['auditors out of order', { auditors: [b, a, c] }, 'auditors'],
    ['auditor zero', { auditors: [`0x${'0'.repeat(40)}`, a, b] }, 'auditors'],
    [
      '33 auditors',
      {
        auditors: Array.from({ length: 33 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}` as Hex),
        quorum: 17,
      },
      'auditors',
    ],
    ['quorum of half', { auditors: [a, b], quorum: 1 }, 'quorum'],
    ['quorum above all', { quorum: 4 }, 'quorum'],
  ])('refuses %s, in TypeScript and in the constructor', async (_name, change, field) => {
    const policy = { ...testPolicy, ...change };
    await expect(deployRollup(f.signer, policy)).rejects.toMatchObject({ code: 'ROLLUP_POLICY_INVALID' });
    const { compileContracts } = await import('./build.js');
    const { ContractFactory } = await import('ethers');
    const { bytecode } = (await compileContracts())['ReceiptRollup']!;
    const transaction = await new ContractFactory(rollupInterface, bytecode, f.signer).getDeployTransaction(policy);
    const failure = await f.provider.call(transaction).catch((error: { data: string }) => error.data);
    expect(rollupInterface.parseError(failure as string)).toMatchObject({ name: 'PolicyInvalid', args: [field] });
  });
});

describe('commit', () => {
  it.each([1, 2, 3, 64, 256])('%i receipts: root, names, header and accumulator as in TypeScript', async (count) => {
    const receipts = await f.receipts(count);
    const before = await client.chain();
    const salt = freshSalt();
    const poster = (await f.signer.getAddress()).toLowerCase() as Hex;
    const expected = client.batchHashOf('sampled', receipts, salt, poster);
    const { header, batchHash: name, gasUsed } = await client.commit('sampled', receipts, salt);
    expect(header).toEqual({
      lane: 'sampled',
      count,
      poster,
      salt,
      batchRoot: batchRoot(leavesOf(receipts)),
      unbound: 0n,
      committedAt: await f.provider.getBlockNumber(),
    });
    expect(name).toBe(expected);
    expect(name).toBe(batchHash(header, client.domain));
    const contract = new Contract(client.address, receiptRollupAbi, f.provider);
    expect(await contract.getFunction('headerHashOf')(name)).toBe(headerHash(header, client.domain));
    expect(await client.chain()).toBe(solidityPackedKeccak256(['bytes32', 'bytes32'], [before, name]));
    for (const index of [0, count - 1]) expect(await status(receipts, index, header)).toBe('pending');
    // EIP-7825: no transaction above 2^24 gas.
    expect(gasUsed).toBeLessThan(2n ** 24n);
  });

  it.each(['zk', 'optimistic'] as const)('the %s lane is closed', async (lane) => {
    const receipts = await f.receipts(1, (receipt) => ({ ...receipt, lane }));
    await expect(client.commit(lane, receipts, freshSalt())).rejects.toEqual(
      reverts('LaneClosed', lane === 'zk' ? 1 : 2),
    );
  });

  it('refuses an empty batch, one of 257, and a wrong number of signatures', async () => {
    await expect(client.commit('sampled', [], freshSalt())).rejects.toMatchObject({ code: 'BATCH_INVALID' });
    const raw = async (receipts: number, signatures: number): Promise<string> => {
      const [one] = await f.receipts(1);
      const { data } = client.commitCall('sampled', [one!], freshSalt());
      const [lane, [receipt], [signature], salt] = rollupInterface.decodeFunctionData('commit', data) as unknown as [
        bigint,
        [{ toArray(): unknown[] }],
        [string],
        string,
      ];
      const args = [lane, Array(receipts).fill(receipt.toArray()), Array(signatures).fill(signature), salt];
      const call = { to: client.address, data: rollupInterface.encodeFunctionData('commit', args) };
      const failure = await f.provider.call(call).catch((error: { data: string }) => error.data);
      const parsed = rollupInterface.parseError(failure as string)!;
      return `${parsed.name} ${parsed.args.join(' ')}`;
    };
    expect(await raw(0, 0)).toBe('BatchSize 0');
    expect(await raw(257, 257)).toBe('BatchSize 257');
    expect(await raw(2, 1)).toBe('SignatureCount 2 1');
  });

  it('the same batch twice: BatchKnown, by which a repeated call knows that it is done', async () => {
    const receipts = await f.receipts(2);
    const salt = freshSalt();
    const { batchHash: name } = await client.commit('sampled', receipts, salt);
    await expect(client.commit('sampled', receipts, salt)).rejects.toEqual(reverts('BatchKnown', name));
  });

  const faults: [string, (good: SignedReceipt) => Promise<SignedReceipt> | SignedReceipt, string][] = [
    ['another signer', async ({ receipt }) => sign(receipt, id('stranger') as Hex), 'signature'],
    ['the mirrored signature', ({ receipt, signature }) => ({ receipt, signature: mirrored(signature) }), 'signature'],
    [
      'a short signature',
      ({ receipt, signature }) => ({ receipt, signature: signature.slice(0, -2) as Hex }),
      'signature',
    ],
    [
      'a receipt changed after signing',
      ({ receipt, signature }) => ({ receipt: { ...receipt, items: 7 }, signature }),
      'signature',
    ],
    [
      'executor zero with an empty recovery',
      ({ receipt }) => ({
        receipt: { ...receipt, executor: `0x${'0'.repeat(40)}` },
        signature: `0x${'00'.repeat(65)}`,
      }),
      'signature',
    ],
    ['another lane', ({ receipt }) => sign({ ...receipt, lane: 'optimistic' }), 'lane'],
    ['another policy', ({ receipt }) => sign({ ...receipt, policyHash: id('other') as Hex }), 'policy'],
  ];
  const sign = async (receipt: Receipt, key: Hex = executorKey(0)): Promise<SignedReceipt> => ({
    receipt,
    signature: await signReceipt(receipt, client.domain, new Wallet(key)),
  });
  it.each(faults)('skips %s, and the rest of the batch stands', async (_name, spoil, fault) => {
    const [good, other] = await f.receipts(2);
    const bad = await spoil(good!);
    expect(await client.bindFaultOf('sampled', good!)).toBe('none');
    expect(await client.bindFaultOf('sampled', bad)).toBe(fault);
    const receipts = [bad, other!];
    const { header } = await client.commit('sampled', receipts, freshSalt());
    expect(header.unbound).toBe(1n);
    expect(boundIndexes(header)).toEqual([1]);
    expect(await status(receipts, 0, header)).toBe('unknown');
    expect(await status(receipts, 1, header)).toBe('pending');
    expect(await client.boundIn(bad.receipt.orderHash, bad.receipt.executor)).toBeNull();
    await expect(client.commit('sampled', [bad], freshSalt())).rejects.toEqual(reverts('NothingBound'));
  });

  it('binds an executor to an order once: within a batch, across batches, and for a second, different receipt', async () => {
    const [first] = await f.receipts(1);
    const twice = [first!, first!];
    const { header, batchHash: name } = await client.commit('sampled', twice, freshSalt());
    expect(header.unbound).toBe(2n);
    expect(await status(twice, 0, header)).toBe('pending');
    expect(await status(twice, 1, header)).toBe('unknown');
    expect(await client.boundIn(first!.receipt.orderHash, first!.receipt.executor)).toBe(name);
    expect(await client.bindFaultOf('sampled', first!)).toBe('order');
    await expect(client.commit('sampled', [first!], freshSalt())).rejects.toEqual(reverts('NothingBound'));
    const second = await sign({ ...first!.receipt, outputRoot: id('second thought') as Hex });
    expect(await client.bindFaultOf('sampled', second)).toBe('order');
  });

  it('a stranger who copies an order hash cannot keep the executor out', async () => {
    const [honest] = await f.receipts(1);
    const wallet = new Wallet(id('squatter'));
    const junk = await sign(
      { ...honest!.receipt, executor: wallet.address.toLowerCase() as Hex },
      id('squatter') as Hex,
    );
    await client.commit('sampled', [junk], freshSalt());
    expect(await client.bindFaultOf('sampled', honest!)).toBe('none');
    const { header } = await client.commit('sampled', [honest!], freshSalt());
    expect(header.unbound).toBe(0n);
  });

  it('a receipt for another contract or another chain does not bind', async () => {
    const [good] = await f.receipts(1);
    const { address } = await deployRollup(f.signer, testPolicy);
    const twin = await RollupClient.connect({ provider: f.provider, address, signer: f.signer });
    expect(twin.policyHash).toBe(client.policyHash);
    expect(await twin.bindFaultOf('sampled', good!)).toBe('signature');
    await expect(twin.commit('sampled', [good!], freshSalt())).rejects.toEqual(reverts('NothingBound'));

    const elsewhere = await startRollup(testPolicy, { chainId: 4242n });
    try {
      // The same contract address under another chain id, in both directions.
      const signedFor = async (chainId: bigint, verifyingContract: Hex): Promise<SignedReceipt> => {
        const signature = await signReceipt(good!.receipt, { chainId, verifyingContract }, new Wallet(executorKey(0)));
        return { receipt: good!.receipt, signature };
      };
      expect(await client.bindFaultOf('sampled', await signedFor(31337n, client.address))).toBe('none');
      expect(await client.bindFaultOf('sampled', await signedFor(4242n, client.address))).toBe('signature');
      const there = elsewhere.client;
      expect(await there.bindFaultOf('sampled', await signedFor(4242n, there.address))).toBe('none');
      expect(await there.bindFaultOf('sampled', await signedFor(31337n, there.address))).toBe('signature');
      await expect(there.commit('sampled', [good!], freshSalt())).rejects.toEqual(reverts('NothingBound'));
    } finally {
      await elsewhere.stop();
    }
  });

  it('a receipt with bits above its fields is refused by the ABI decoder, not hashed', async () => {
    const [good] = await f.receipts(1);
    const { data } = client.commitCall('sampled', [good!], freshSalt());
    const word = good!.receipt.opCount.toString(16).padStart(64, '0');
    const dirty = data.replace(word, `01${word.slice(2)}`);
    expect(dirty).not.toBe(data);
    await expect(f.provider.call({ to: client.address, data: dirty })).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
    });
  });
});

describe('statusOf knows only what was committed', () => {
  let receipts: SignedReceipt[];
  let header: BatchHeader;
  beforeAll(async () => {
    receipts = await f.receipts(5);
    header = await f.finish(receipts, [2], [3]);
  });

  it('right index, path and header', async () => {
    const all = await Promise.all(receipts.map((_, i) => status(receipts, i, header)));
    expect(all).toEqual(['final-sampled', 'final-sampled', 'invalid', 'void', 'final-sampled']);
  });

  it.each<[string, (receipt: Receipt) => Partial<Receipt>]>([
    ['orderHash', () => ({ orderHash: id('x') as Hex })],
    ['modelDigest', () => ({ modelDigest: id('x') as Hex })],
    ['inputRoot', () => ({ inputRoot: id('x') as Hex })],
    ['outputRoot', () => ({ outputRoot: id('x') as Hex })],
    ['traceRoot', () => ({ traceRoot: id('x') as Hex })],
    ['opCount', ({ opCount }) => ({ opCount: opCount + 1 })],
    ['items', ({ items }) => ({ items: items + 1 })],
    ['amount', ({ amount }) => ({ amount: amount + 1n })],
    ['lane', () => ({ lane: 'zk' })],
    ['policyHash', () => ({ policyHash: id('x') as Hex })],
    ['executor', () => ({ executor: `0x${'12'.repeat(20)}` })],
    ['issuedAt', ({ issuedAt }) => ({ issuedAt: issuedAt + 1 })],
  ])('another %s in the receipt', async (_field, change) => {
    const other = { ...receipts[0]!.receipt, ...change(receipts[0]!.receipt) };
    expect(await client.statusOf(other, 0, pathOf(receipts, 0), header)).toBe('unknown');
  });

  it.each<[string, Partial<BatchHeader>]>([
    ['lane', { lane: 'optimistic' }],
    ['count', { count: 6 }],
    ['poster', { poster: `0x${'12'.repeat(20)}` }],
    ['salt', { salt: id('x') as Hex }],
    ['batchRoot', { batchRoot: id('x') as Hex }],
    ['unbound', { unbound: 16n }],
    ['committedAt', { committedAt: 1 }],
  ])('another %s in the header', async (_field, change) => {
    expect(await status(receipts, 0, { ...header, ...change })).toBe('unknown');
  });

  it('a stronger lane in receipt and header alike', async () => {
    const receipt: Receipt = { ...receipts[0]!.receipt, lane: 'zk' };
    expect(await client.statusOf(receipt, 0, pathOf(receipts, 0), { ...header, lane: 'zk' })).toBe('unknown');
  });

  it('another index, or a path too long, too short, or of another leaf', async () => {
    const { receipt } = receipts[0]!;
    const path = pathOf(receipts, 0);
    expect(await client.statusOf(receipt, 1, path, header)).toBe('unknown');
    expect(await client.statusOf(receipt, 8, path, header)).toBe('unknown');
    expect(await client.statusOf(receipt, 0, path.slice(0, -1), header)).toBe('unknown');
    expect(await client.statusOf(receipt, 0, [...path, header.batchRoot], header)).toBe('unknown');
    expect(await client.statusOf(receipt, 0, pathOf(receipts, 1), header)).toBe('unknown');
    // 2^64 is 0 in the 64 bits that the leaf holds.
    const data = statusCall(2n ** 64n);
    expect(Number(await f.provider.call({ to: client.address, data }))).toBe(0);
  });

  const statusCall = (index: bigint): string => {
    const { receipt } = receipts[0]!;
    return rollupInterface.encodeFunctionData('statusOf', [
      { ...receipt, lane: 3 },
      index,
      pathOf(receipts, 0),
      { ...header, lane: 3 },
    ]);
  };
});

describe('the sampled round', () => {
  it('pending -> seed after the draw block -> verdict -> final or invalid, and then nothing moves', async () => {
    const receipts = await f.receipts(3);
    const { header, batchHash: name } = await client.commit('sampled', receipts, freshSalt());
    const drawBlock = client.drawBlockOf(header);
    expect(await client.seedOf(name)).toBeNull();
    await expect(client.fixSeed(header)).rejects.toEqual(reverts('SeedTooEarly', drawBlock + 1));
    const early = await f.verdict(header, []);
    await expect(client.reportAudit(header, early.verdict, early.signatures)).rejects.toEqual(
      reverts('SeedMissing', name),
    );

    await f.anvil.mine(testPolicy.beaconDelay);
    const { seed } = await client.fixSeed(header);
    const block = await f.provider.getBlock(drawBlock);
    expect(seed).toBe(drawSeed(block!.hash as Hex, name));
    await expect(client.fixSeed(header)).rejects.toEqual(reverts('SeedKnown', name));
    expect(await status(receipts, 0, header)).toBe('pending');

    // The verdict over a seed that was not the contract's was signed for something else.
    await expect(client.reportAudit(header, early.verdict, early.signatures)).rejects.toMatchObject({
      meta: { error: expect.stringMatching(/NotAuditor|SignersUnordered/) },
    });
    const { verdict, signatures } = await f.verdict(header, [1], 2, [2]);
    const { transactionHash } = await client.reportAudit(header, verdict, signatures);
    expect(await client.verdictOf(name)).toBe(verdictStructHash(verdict));
    expect(await client.killsOf(name)).toBe(2n);
    expect(await client.voidedOf(name)).toBe(4n);
    const [log] = (await f.provider.getTransactionReceipt(transactionHash))!.logs;
    expect(rollupInterface.parseLog(log!)).toMatchObject({
      name: 'AuditReported',
      args: [name, seed, 2n, 4n, verdict.resultsRoot],
    });
    await expect(client.reportAudit(header, verdict, signatures)).rejects.toEqual(reverts('AuditKnown', name));

    await f.anvil.mine(testPolicy.auditWindow + 5);
    expect(await Promise.all([0, 1, 2].map((i) => status(receipts, i, header)))).toEqual([
      'final-sampled',
      'invalid',
      'void',
    ]);
    // Undecided once, undecided for good: the receipt gets no second draw.
    expect(await client.bindFaultOf('sampled', receipts[2]!)).toBe('order');
  });

  it('the draw is unknown until after the commit: another commitment, another seed', async () => {
    const receipts = await f.receipts(1);
    const { header, batchHash: name } = await client.commit('sampled', receipts, freshSalt());
    await f.anvil.mine(testPolicy.beaconDelay);
    const { seed } = await client.fixSeed(header);
    const block = await f.provider.getBlock(client.drawBlockOf(header));
    const other = batchHash({ ...header, batchRoot: id('changed afterwards') as Hex }, client.domain);
    expect(seed).toBe(drawSeed(block!.hash as Hex, name));
    expect(drawSeed(block!.hash as Hex, other)).not.toBe(seed);
  });

  it('deadline: last block allowed, next one void, whether the seed was fixed or not', async () => {
    const [a, b] = [await f.receipts(1), await f.receipts(1)];
    const { header: withSeed } = await client.commit('sampled', a, freshSalt());
    const { header: without } = await client.commit('sampled', b, freshSalt());
    await f.anvil.mine(testPolicy.beaconDelay);
    await client.fixSeed(withSeed);
    const { verdict, signatures } = await f.verdict(withSeed, []);
    const deadline = client.auditDeadlineOf(without);

    await f.anvil.mine(deadline - (await f.provider.getBlockNumber()));
    expect(await status(b, 0, without)).toBe('pending');
    expect(await status(a, 0, withSeed)).toBe('void');
    // A transaction now falls into the block after the deadline.
    await expect(client.fixSeed(without)).rejects.toEqual(reverts('AuditClosed', deadline));
    await expect(client.reportAudit(withSeed, verdict, signatures)).rejects.toEqual(
      reverts('AuditClosed', client.auditDeadlineOf(withSeed)),
    );
    await f.anvil.mine(1);
    expect(await status(b, 0, without)).toBe('void');
    // A void receipt is not given a second draw.
    expect(await client.bindFaultOf('sampled', a[0]!)).toBe('order');
  });

  it('a verdict in the last block counts', async () => {
    const receipts = await f.receipts(1);
    const { header } = await client.commit('sampled', receipts, freshSalt());
    await f.anvil.mine(client.auditDeadlineOf(header) - (await f.provider.getBlockNumber()) - 2);
    await client.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, []);
    const { blockNumber } = await client.reportAudit(header, verdict, signatures);
    expect(blockNumber).toBe(client.auditDeadlineOf(header));
    expect(await status(receipts, 0, header)).toBe('final-sampled');
  });

  it('an unknown or altered header starts nothing', async () => {
    const receipts = await f.receipts(1);
    const { header } = await client.commit('sampled', receipts, freshSalt());
    await f.anvil.mine(testPolicy.beaconDelay);
    const earlier = { ...header, committedAt: header.committedAt - 1 };
    await expect(client.fixSeed(earlier)).rejects.toEqual(reverts('BatchUnknown', batchHash(header, client.domain)));
    await client.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, []);
    const unmarked = { ...header, unbound: 1n };
    await expect(client.reportAudit(unmarked, verdict, signatures)).rejects.toEqual(
      reverts('BatchUnknown', batchHash(header, client.domain)),
    );
  });
});

describe('who may speak the verdict', () => {
  let header: BatchHeader;
  beforeAll(async () => {
    const [bad, ...rest] = await f.receipts(3);
    const receipts = [{ ...bad!, signature: mirrored(bad!.signature) }, ...rest];
    ({ header } = await client.commit('sampled', receipts, freshSalt()));
    await f.anvil.mine(testPolicy.beaconDelay);
    await client.fixSeed(header);
  });

  it('fewer than the quorum', async () => {
    const { verdict, signatures } = await f.verdict(header, [], 1);
    await expect(client.reportAudit(header, verdict, signatures)).rejects.toEqual(reverts('QuorumMissed', 1, 2));
    await expect(client.reportAudit(header, verdict, [])).rejects.toEqual(reverts('QuorumMissed', 0, 2));
  });

  it('one auditor twice, or signers out of order', async () => {
    const { verdict, signatures } = await f.verdict(header, []);
    const [one, two] = signatures as [Hex, Hex];
    await expect(client.reportAudit(header, verdict, [one, one])).rejects.toEqual(reverts('SignersUnordered', 1));
    await expect(client.reportAudit(header, verdict, [two, one])).rejects.toEqual(reverts('SignersUnordered', 1));
    await expect(client.reportAudit(header, verdict, [one, mirrored(one)])).rejects.toEqual(
      reverts('NotAuditor', 1, `0x${'0'.repeat(40)}`),
    );
  });

  it('a stranger', async () => {
    const { verdict } = await f.verdict(header, []);
    const stranger = new Wallet(id('stranger'));
    const signers = [stranger, auditorWallets[0]!].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    );
    const signatures = await Promise.all(signers.map((signer) => signVerdict(verdict, client.domain, signer)));
    await expect(client.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('NotAuditor', signers.indexOf(stranger), stranger.address),
    );
  });

  it('a quorum with a stranger on top', async () => {
    const { verdict } = await f.verdict(header, []);
    const last = new Wallet(id('stranger above'));
    const signers = [...auditorWallets.slice(0, 2), last].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    );
    const signatures = await Promise.all(signers.map((signer) => signVerdict(verdict, client.domain, signer)));
    await expect(client.reportAudit(header, verdict, signatures)).rejects.toMatchObject({
      meta: { error: 'NotAuditor' },
    });
  });

  it('signatures over other kills, undecided leaves, results, batch, contract or chain', async () => {
    const { verdict, signatures } = await f.verdict(header, [1]);
    const refused = { meta: { error: expect.stringMatching(/NotAuditor|SignersUnordered/) } };
    const over = (changed: object, domain: object = {}) =>
      Promise.all(
        auditorWallets
          .slice(0, 2)
          .map((w) => signVerdict({ ...verdict, ...changed }, { ...client.domain, ...domain }, w)),
      );
    for (const changed of [{ kills: 4n }, { voided: 4n }, { kills: 0n, voided: 2n }]) {
      await expect(client.reportAudit(header, { ...verdict, ...changed }, signatures)).rejects.toMatchObject(refused);
    }
    await expect(
      client.reportAudit(header, { ...verdict, resultsRoot: ZeroHash as Hex }, signatures),
    ).rejects.toMatchObject(refused);
    for (const wrong of [
      await over({ seed: id('x') }),
      await over({ batchHash: id('x') }),
      await over({}, { chainId: 1n }),
      await over({}, { verifyingContract: `0x${'12'.repeat(20)}` }),
    ]) {
      await expect(client.reportAudit(header, verdict, wrong)).rejects.toMatchObject(refused);
    }
  });

  it('names leaves that do not stand, as wrong or as undecided', async () => {
    for (const index of [0, 3, 255]) {
      for (const [kills, voided] of [
        [[1, index], []],
        [[1], [2, index]],
      ] as const) {
        const { verdict, signatures } = await f.verdict(header, kills, 2, voided);
        await expect(client.reportAudit(header, verdict, signatures)).rejects.toEqual(
          reverts('VerdictUnbound', bitmapOf([index])),
        );
      }
    }
  });

  it('calls a leaf both wrong and undecided', async () => {
    const { verdict, signatures } = await f.verdict(header, [1, 2], 2, [2]);
    await expect(client.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('VerdictContradicts', bitmapOf([2])),
    );
  });

  it('the whole bench may sign, and anybody may deliver it', async () => {
    const { verdict, signatures } = await f.verdict(header, [1], 3);
    const courier = new Wallet(id('courier'), f.provider);
    await f.provider.send('anvil_setBalance', [courier.address, '0xffffffffffffffff']);
    const theirs = await RollupClient.connect({ provider: f.provider, address: client.address, signer: courier });
    await theirs.reportAudit(header, verdict, signatures);
    expect(await client.killsOf(verdict.batchHash)).toBe(2n);
  });
});
