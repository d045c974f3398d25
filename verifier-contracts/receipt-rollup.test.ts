/**
 * ReceiptRollup.sol: every transition and refusal of its table, and the counterexamples that concern it: E2 (a kill is
 * final and of a live leaf alone), E7 (receipt and order agree in everything), E8 (one bad receipt stops no batch), E12
 * (a freeze).
 */
import { Contract, id, solidityPackedKeccak256, Wallet, ZeroHash } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchHash, boundIndexes, boundLeaf, headerHash, type BatchHeader } from '../receipts/batch.js';
import { receiptStructHash, receiptValue } from '../receipts/eip712.js';
import { batchRoot } from '../receipts/merkle.js';
import { signReceipt } from '../receipts/signature.js';
import { LANES, type Hex, type JobOrder, type Lane, type Receipt } from '../receipts/types.js';
import { deploySettlement } from './deploy.js';
import {
  addressOf,
  evidenceFor,
  executorKey,
  freshSalt,
  guardianWallet,
  leavesOf,
  pathOf,
  requesterWallet,
  startSettlement,
  type SettlementFixture,
} from './harness/settlement-fixture.js';
import { mirrored, reverts } from './harness/expectations.js';
import { receiptRollupAbi } from './bindings/ReceiptRollup.js';
import { LEAF_STATES, rollupInterface, type LeafState, type SignedReceipt } from './rollup-client.js';
import { SettlementClient } from './settlement-client.js';

let f: SettlementFixture;
beforeAll(async () => {
  f = await startSettlement();
});
afterAll(() => f.stop());

const status = (receipts: readonly SignedReceipt[], index: number, header: BatchHeader) =>
  f.rollup.statusOf(receipts[index]!.receipt, index, pathOf(receipts, index, header.lane), header);
const commitTo = (lane: Lane, receipts: readonly SignedReceipt[]) =>
  f.rollup.commit(lane, f.client.policyHash, receipts, freshSalt());
const faultOf = (signed: SignedReceipt, lane: Lane = 'sampled') =>
  f.rollup.bindFaultOf(lane, f.client.policyHash, signed);
const sign = async (receipt: Receipt, key: Hex = executorKey(0)): Promise<SignedReceipt> => ({
  receipt,
  signature: await signReceipt(receipt, f.client.domain, new Wallet(key)),
});

describe('commit', () => {
  it.each([1, 2, 3, 64, 256])('%i receipts: root, names, header and accumulator as in TypeScript', async (count) => {
    const receipts = await f.receipts(count);
    const before = await f.rollup.chain();
    const salt = freshSalt();
    const poster = addressOf(f.signer);
    const expected = f.rollup.batchHashOf('sampled', f.client.policyHash, receipts, salt, poster);
    const { header, batchHash: name, gasUsed } = await f.commit(receipts, salt);
    expect(header).toEqual({
      lane: 'sampled',
      count,
      poster,
      salt,
      batchRoot: batchRoot(leavesOf(receipts)),
      policyHash: f.client.policyHash,
      unbound: 0n,
      committedAt: await f.escrow.clock(),
      committedBlock: await f.provider.getBlockNumber(),
    });
    expect(header.committedAt).toBe((await f.provider.getBlock('latest'))!.timestamp);
    expect(name).toBe(expected);
    expect(name).toBe(batchHash(header, f.client.domain));
    const contract = new Contract(f.rollup.address, receiptRollupAbi, f.provider);
    expect(await contract.getFunction('headerHashOf')(name)).toBe(headerHash(header, f.client.domain));
    expect(await f.rollup.chain()).toBe(solidityPackedKeccak256(['bytes32', 'bytes32'], [before, name]));
    for (const index of [0, count - 1]) {
      expect(await status(receipts, index, header)).toBe('pending');
      const { receipt } = receipts[index]!;
      // The order knows the very leaf that it is bound to.
      expect(await f.escrow.orderOf(receipt.orderHash)).toMatchObject({
        state: 'bound',
        leaf: boundLeaf(name, index, receiptStructHash(receipt)),
      });
    }
    // EIP-7825: no transaction above 2^24 gas.
    expect(gasUsed).toBeLessThan(2n ** 24n);
  });

  it('the zk lane is entered with a proof alone', async () => {
    const receipts = await f.receipts(1, (receipt) => receipt, { lane: 'zk' });
    await expect(commitTo('zk', receipts)).rejects.toEqual(reverts('LaneClosed', 1));
  });

  it.each([0, 4, 255])('there is no lane %i', async (lane) => {
    const { data } = f.rollup.commitCall('sampled', f.client.policyHash, await f.receipts(1), freshSalt());
    const [, ...args] = rollupInterface.decodeFunctionData('commit', data).toArray(true);
    const call = { to: f.rollup.address, data: rollupInterface.encodeFunctionData('commit', [lane, ...args]) };
    const failure = await f.provider.call(call).catch((error: { data: string }) => error.data);
    expect(rollupInterface.parseError(failure as string)).toMatchObject({ name: 'LaneClosed', args: [BigInt(lane)] });
  });

  it.each<[Lane, readonly Lane[]]>([
    ['sampled', ['optimistic', 'zk']],
    ['zk', ['sampled', 'optimistic']],
    ['optimistic', ['zk', 'sampled']],
  ])('a policy that judges the lane %s alone takes no batch of %s', async (open, closed) => {
    const { game, verifier, court, ...rest } = f.options;
    const options = {
      ...rest,
      ...(open === 'zk' ? { verifier: verifier! } : open === 'sampled' ? { court: court! } : { game: game! }),
    };
    const { rollup: address } = await deploySettlement(f.signer, options);
    const { rollup, policyHash } = await SettlementClient.connect({
      provider: f.provider,
      rollup: address,
      signer: f.signer,
    });
    const commit = async (lane: Lane) => {
      const receipts = await f.receipts(1, (receipt) => receipt, { lane, open: false });
      return lane === 'zk'
        ? rollup.commitProved(policyHash, receipts, freshSalt(), evidenceFor(receipts))
        : rollup.commit(lane, policyHash, receipts, freshSalt());
    };
    for (const lane of closed) await expect(commit(lane)).rejects.toEqual(reverts('LaneClosed', LANES[lane]));
    // Open, and nobody has ordered anything there.
    await expect(commit(open)).rejects.toEqual(reverts('NothingBound'));
  });

  it('an unknown policy', async () => {
    const unknown = id('no policy') as Hex;
    const receipts = await f.receipts(1, (receipt) => receipt, { open: false });
    await expect(f.rollup.commit('sampled', unknown, receipts, freshSalt())).rejects.toEqual(
      reverts('PolicyUnknown', unknown),
    );
    await expect(f.rollup.commitProved(unknown, receipts, freshSalt(), evidenceFor(receipts))).rejects.toEqual(
      reverts('PolicyUnknown', unknown),
    );
  });

  it('refuses an empty batch, one of 257, and a wrong number of signatures', async () => {
    await expect(f.commit([])).rejects.toMatchObject({ code: 'BATCH_INVALID' });
    const raw = async (receipts: number, signatures: number): Promise<string> => {
      const [one] = await f.receipts(1);
      const { data } = f.rollup.commitCall('sampled', f.client.policyHash, [one!], freshSalt());
      const [lane, policy, [receipt], [signature], salt] = rollupInterface.decodeFunctionData(
        'commit',
        data,
      ) as unknown as [bigint, Hex, [{ toArray(): unknown[] }], [string], string];
      const args = [lane, policy, Array(receipts).fill(receipt.toArray()), Array(signatures).fill(signature), salt];
      const call = { to: f.rollup.address, data: rollupInterface.encodeFunctionData('commit', args) };
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
    const { batchHash: name } = await f.commit(receipts, salt);
    await expect(f.commit(receipts, salt)).rejects.toEqual(reverts('BatchKnown', name));
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
    // E7: a good signature under terms that nobody ordered.
    ['another model (E7)', ({ receipt }) => sign({ ...receipt, modelDigest: id('cheaper') as Hex }), 'order'],
    ['another input (E7)', ({ receipt }) => sign({ ...receipt, inputRoot: id('other') as Hex }), 'order'],
    ['other items (E7)', ({ receipt }) => sign({ ...receipt, items: 2 }), 'order'],
    [
      'another registered executor (E7)',
      ({ receipt }) => sign({ ...receipt, executor: addressOf(new Wallet(executorKey(1))) }, executorKey(1)),
      'order',
    ],
    ['an order that nobody knows', ({ receipt }) => sign({ ...receipt, orderHash: id('none') as Hex }), 'order'],
    ['order zero', ({ receipt }) => sign({ ...receipt, orderHash: ZeroHash as Hex }), 'order'],
    ['one unit more than the price', ({ receipt }) => sign({ ...receipt, amount: receipt.amount + 1n }), 'amount'],
  ];
  it.each(faults)('skips %s, and the rest of the batch stands', async (_name, spoil, fault) => {
    const [good, other] = await f.receipts(2);
    const bad = await spoil(good!);
    expect(await faultOf(good!)).toBe('none');
    expect(await faultOf(bad)).toBe(fault);
    const receipts = [bad, other!];
    const { header } = await f.commit(receipts);
    expect(header.unbound).toBe(1n);
    expect(boundIndexes(header)).toEqual([1]);
    expect(await status(receipts, 0, header)).toBe('unknown');
    expect(await status(receipts, 1, header)).toBe('pending');
    // Nothing of the order was touched: the right receipt still binds.
    expect(await f.escrow.orderOf(good!.receipt.orderHash)).toMatchObject({ state: 'open', leaf: null });
    await expect(f.commit([bad])).rejects.toEqual(reverts('NothingBound'));
    expect((await f.commit([good!])).header.unbound).toBe(0n);
  });

  it.each<[string, Partial<JobOrder>]>([
    ['lane', { lane: 'optimistic' }],
    ['model', { modelDigest: id('another') as Hex }],
    ['input', { inputRoot: id('another') as Hex }],
    ['items', { items: 9 }],
  ])('an order of another %s than its receipt (E7)', async (_name, change) => {
    const [made] = await f.receipts(1, (receipt) => receipt, { order: (order) => ({ ...order, ...change }) });
    const back: Receipt = { ...made!.receipt, lane: 'sampled', modelDigest: id('model') as Hex, items: 1 };
    const signed = await sign({ ...back, inputRoot: id('what it really saw') as Hex });
    expect(await faultOf(signed)).toBe('order');
    await expect(f.commit([signed])).rejects.toEqual(reverts('NothingBound'));
  });

  it('binds an order once: within a batch, across batches, and for a second, different receipt', async () => {
    const [first] = await f.receipts(1);
    const second = await sign({ ...first!.receipt, outputRoot: id('second thought') as Hex });
    const twice = [first!, first!, second];
    const { header, batchHash: name } = await f.commit(twice);
    expect(header.unbound).toBe(6n);
    expect(await status(twice, 0, header)).toBe('pending');
    expect(await status(twice, 1, header)).toBe('unknown');
    expect(await status(twice, 2, header)).toBe('unknown');
    const leaf = boundLeaf(name, 0, receiptStructHash(first!.receipt));
    expect((await f.escrow.orderOf(first!.receipt.orderHash)).leaf).toBe(leaf);
    for (const again of [first!, second]) {
      expect(await faultOf(again)).toBe('order');
      await expect(f.commit([again])).rejects.toEqual(reverts('NothingBound'));
    }
  });

  it('a stranger who copies an order hash cannot keep the executor out', async () => {
    const [honest] = await f.receipts(1);
    const wallet = new Wallet(id('squatter'));
    const junk = await sign({ ...honest!.receipt, executor: addressOf(wallet) }, id('squatter') as Hex);
    expect(await faultOf(junk)).toBe('order');
    await expect(f.commit([junk])).rejects.toEqual(reverts('NothingBound'));
    const { header } = await f.commit([junk, honest!]);
    expect(header.unbound).toBe(1n);
  });

  it('the last moment of an order, and the one after it (E8)', async () => {
    const due = (await f.escrow.clock()) + 100;
    const [inTime, late, other] = await f.receipts(3, (receipt) => receipt, {
      order: (order, i) => ({ ...order, deliverBy: i < 2 ? due : order.deliverBy }),
    });
    await f.advanceTo(due - 1);
    expect(await faultOf(late!)).toBe('none');
    await f.nextAt(due);
    const { header } = await f.commit([inTime!]);
    expect([header.committedAt, header.unbound]).toEqual([due, 0n]);
    await f.nextAt(due + 1);
    expect((await f.commit([late!, other!])).header.unbound).toBe(1n);
    expect(await faultOf(late!)).toBe('late');
  });

  it('a hostile pair that ends its order before each commit holds up nobody (E8)', async () => {
    const due = (await f.escrow.clock()) + 50;
    const [theirs, honest] = await f.receipts(2, (receipt) => receipt, {
      order: (order, i) => ({ ...order, deliverBy: i === 0 ? due : order.deliverBy }),
    });
    await f.advanceTo(due + 1);
    await f.escrow.send(f.escrow.expireCall(f.orderFor(theirs!.receipt).order), 'expire');
    const { header } = await f.commit([theirs!, honest!]);
    expect(header.unbound).toBe(1n);
    expect(await faultOf(theirs!)).toBe('order');
  });

  it('two posters with overlapping sets: each leaf binds once, neither is refused (E8)', async () => {
    const [a, b, c] = await f.receipts(3);
    const courier = new Wallet(id('courier'));
    await f.provider.send('anvil_setBalance', [courier.address, '0xffffffffffffffff']);
    const salt = freshSalt();
    const { header } = await f.commit([a!, b!], salt);
    await f.sendAs(courier, f.rollup.commitCall('sampled', f.client.policyHash, [a!, b!, c!], salt));
    const theirs = f.rollup.batchHashOf('sampled', f.client.policyHash, [a!, b!, c!], salt, addressOf(courier));
    expect(header.unbound).toBe(0n);
    expect((await f.rollup.headerOf(theirs))!.unbound).toBe(3n);
  });

  it('a receipt for another contract or another chain does not bind', async () => {
    const [good] = await f.receipts(1);
    const { rollup: address } = await deploySettlement(f.signer, f.options);
    const twin = await SettlementClient.connect({ provider: f.provider, rollup: address, signer: f.signer });
    expect(twin.policyHash).not.toBe(f.client.policyHash);
    const faultThere = (signed: SignedReceipt) => twin.rollup.bindFaultOf('sampled', f.client.policyHash, signed);
    expect(await faultThere(good!)).toBe('signature');
    const signature = await signReceipt(good!.receipt, twin.domain, new Wallet(executorKey(0)));
    expect(await faultThere({ ...good!, signature })).toBe('order');
    expect(await faultOf({ ...good!, signature })).toBe('signature');

    const elsewhere = await startSettlement({ chainId: 4242n });
    try {
      // The same contract address under another chain id, in both directions.
      const signedFor = async (chainId: bigint, verifyingContract: Hex): Promise<SignedReceipt> => {
        const signature = await signReceipt(good!.receipt, { chainId, verifyingContract }, new Wallet(executorKey(0)));
        return { receipt: good!.receipt, signature };
      };
      expect(await faultOf(await signedFor(31337n, f.rollup.address))).toBe('none');
      expect(await faultOf(await signedFor(4242n, f.rollup.address))).toBe('signature');
      const there = elsewhere.rollup;
      const faultAt = async (chainId: bigint) =>
        there.bindFaultOf('sampled', f.client.policyHash, await signedFor(chainId, there.address));
      // Its signature is in order there; the order is not.
      expect(await faultAt(4242n)).toBe('order');
      expect(await faultAt(31337n)).toBe('signature');
    } finally {
      await elsewhere.stop();
    }
  });
});

/** What no receipt file can say is refused: it would bind or stand in a batch that nobody can read. */
describe('a batch is readable', () => {
  const OP_COUNT = 5;
  const ITEMS = 6;
  const LANE = 8;
  const EXECUTOR = 10;
  const ISSUED_AT = 11;
  const RECEIPT_WORDS = 12;
  const LAST_SECOND = 8_640_000_000_000n;

  let receipts: SignedReceipt[];
  beforeAll(async () => {
    receipts = await f.receipts(2, (receipt) => receipt, { open: false });
  });

  const dataOf = (given: readonly SignedReceipt[], signatures = given.map(({ signature }) => signature)): Hex => {
    const values = given.map(({ receipt }) => receiptValue(receipt));
    const args = [LANES.sampled, f.client.policyHash, values, signatures, freshSalt()];
    return rollupInterface.encodeFunctionData('commit', args) as Hex;
  };
  /** Alters a word of the second receipt: it stands behind the selector, five words of the head and the count. */
  const altered = (data: Hex, word: number, change: (value: bigint) => bigint): Hex => {
    const at = 2 + 8 + 64 * (5 + 1 + RECEIPT_WORDS + word);
    const value = change(BigInt(`0x${data.slice(at, at + 64)}`));
    return `${data.slice(0, at)}${value.toString(16).padStart(64, '0')}${data.slice(at + 64)}` as Hex;
  };
  const answerTo = async (data: Hex, from: string = f.signer.address, to = f.rollup.address): Promise<unknown> => {
    const failure = await f.provider.call({ to, data, from }).catch((error: { data: string }) => error.data);
    const { name, args } = rollupInterface.parseError(failure as string)!;
    return [name, ...args.toArray()];
  };

  it.each<[string, number, (value: bigint) => bigint]>([
    ['lane 9', LANE, () => 9n],
    ['lane 0', LANE, () => 0n],
    ['lane 4', LANE, () => 4n],
    ['dirty high bits of the lane', LANE, (value) => value | (1n << 8n)],
    ['issuedAt 2^63', ISSUED_AT, () => 1n << 63n],
    ['issuedAt one second too late', ISSUED_AT, () => LAST_SECOND + 1n],
    ['dirty high bits of issuedAt', ISSUED_AT, (value) => value | (1n << 64n)],
    ['dirty high bits of opCount', OP_COUNT, (value) => value | (1n << 32n)],
    ['dirty high bits of items', ITEMS, (value) => value | (1n << 255n)],
    ['dirty high bits of the executor', EXECUTOR, (value) => value | (1n << 160n)],
  ])('ReceiptMalformed: %s', async (_name, word, change) => {
    const data = altered(dataOf(receipts), word, change);
    expect(await answerTo(data)).toEqual(['ReceiptMalformed', 1n]);
    // Also where nothing else of it would be looked at, since its lane is not the batch's.
    const elsewhere = altered(data, LANE, (lane) => (lane === BigInt(LANES.sampled) ? BigInt(LANES.zk) : lane));
    expect(await answerTo(elsewhere)).toEqual(['ReceiptMalformed', 1n]);
  });

  it('what a receipt file can just say stands in a batch, and is read', async () => {
    const largest = { opCount: 2 ** 32 - 1, issuedAt: Number(LAST_SECOND) };
    const posted = await f.receipts(2, (receipt) => ({ ...receipt, ...largest }));
    const { header, batchHash: name } = await f.commit(posted);
    expect(header.unbound).toBe(0n);
    expect((await f.rollup.readBatch(name)).receipts).toEqual(posted);
  });

  it('ReceiptMalformed: a long signature, also one that many receipts share by their offsets', async () => {
    const [first, second] = receipts.map(({ signature }) => signature);
    expect(await answerTo(dataOf(receipts, [first!, `${second!}00`]))).toEqual(['ReceiptMalformed', 1n]);
    const long = `0x${'00'.repeat(4096)}` as Hex;
    expect(await answerTo(dataOf(receipts, [first!, long]))).toEqual(['ReceiptMalformed', 1n]);
    // The third and the second offset are one: a few bytes each, and as long as one pleases for whoever reads.
    const third = [...receipts, receipts[1]!];
    const data = dataOf(third, [first!, long, '0x']);
    const offsets = 2 + 8 + 64 * (5 + 1 + 3 * RECEIPT_WORDS + 1);
    const shared = data.slice(offsets + 64, offsets + 128);
    const twice = `${data.slice(0, offsets + 128)}${shared}${data.slice(offsets + 192)}` as Hex;
    expect(await answerTo(twice)).toEqual(['ReceiptMalformed', 1n]);
    const own = `${data.slice(0, offsets + 64)}${data.slice(offsets, offsets + 64)}${shared}${data.slice(offsets + 192)}`;
    expect(await answerTo(own as Hex)).toEqual(['ReceiptMalformed', 2n]);
  });

  it('a short signature, or one that two receipts share, is unbound and read', async () => {
    const posted = await f.receipts(3);
    const data = dataOf(posted, [posted[0]!.signature, '0x', `${posted[2]!.signature.slice(0, -2)}` as Hex]);
    const offsets = 2 + 8 + 64 * (5 + 1 + 3 * RECEIPT_WORDS + 1);
    const shared = data.slice(offsets, offsets + 64);
    for (const call of [data, `${data.slice(0, offsets + 64)}${shared}${data.slice(offsets + 128)}` as Hex]) {
      const snapshot = (await f.provider.send('evm_snapshot', [])) as string;
      const sent = await f.signer.sendTransaction({ to: f.rollup.address, data: call });
      const { logs } = (await sent.wait())!;
      const event = logs
        .filter(({ address }) => address.toLowerCase() === f.rollup.address)
        .map((log) => rollupInterface.parseLog(log)!)
        .find(({ name }) => name === 'BatchCommitted')!;
      const { header, receipts: read } = await f.rollup.readBatch(event.args['batchHash'] as Hex);
      expect(boundIndexes(header)).toEqual([0]);
      expect(read.map(({ receipt }) => receipt)).toEqual(posted.map(({ receipt }) => receipt));
      await f.provider.send('evm_revert', [snapshot]);
    }
  });

  it('ReceiptMalformed in the zk lane, and from bindFaultOf', async () => {
    const values = receipts.map(({ receipt }) => receiptValue(receipt));
    const signatures = receipts.map(({ signature }) => signature);
    const spoiled = [values[0], { ...values[1], issuedAt: 1n << 63n }];
    const args = [f.client.policyHash, spoiled, signatures, freshSalt(), evidenceFor(receipts)];
    const proved = rollupInterface.encodeFunctionData('commitProved', args) as Hex;
    expect(await answerTo(proved)).toEqual(['ReceiptMalformed', 1n]);
    const asked = rollupInterface.encodeFunctionData('bindFaultOf', [3, args[0], spoiled[1], signatures[1]]) as Hex;
    expect(await answerTo(asked)).toEqual(['ReceiptMalformed', 0n]);
  });

  it('PosterNotPlain: through a wrapper contract nobody would find the receipts', async () => {
    // calldatacopy(0, 0, calldatasize); call(gas, rollup, 0, 0, calldatasize, 0, 0); revert with what came back
    const runtime = `36600060003760006000366000600073${f.rollup.address.slice(2)}5af13d600060003e3d6000fd`;
    const wrapper = addressOf(new Wallet(id('wrapper')));
    const data = dataOf(await f.receipts(1));
    await f.provider.send('anvil_setCode', [wrapper, `0x${runtime}`]);
    expect(await answerTo(data, f.signer.address, wrapper)).toEqual([
      'PosterNotPlain',
      expect.stringMatching(new RegExp(`^${wrapper}$`, 'i')),
    ]);
    const values = rollupInterface.decodeFunctionData('commit', data);
    const proof = [f.client.policyHash, values[2], values[3], freshSalt(), '0x'];
    const proved = rollupInterface.encodeFunctionData('commitProved', proof) as Hex;
    expect(await answerTo(proved, f.signer.address, wrapper)).toEqual(['PosterNotPlain', expect.anything()]);
  });

  it('PosterNotPlain: an account that has delegated itself to code (EIP-7702) calls with code in between', async () => {
    const delegated = addressOf(new Wallet(id('delegated')));
    await f.provider.send('anvil_setCode', [delegated, `0xef0100${f.escrow.address.slice(2)}`]);
    expect(await answerTo(dataOf(receipts), delegated)).toEqual([
      'PosterNotPlain',
      expect.stringMatching(new RegExp(`^${delegated}$`, 'i')),
    ]);
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
    expect(await f.rollup.statusOf(other, 0, pathOf(receipts, 0), header)).toBe('unknown');
  });

  it.each<[string, Partial<BatchHeader>]>([
    ['lane', { lane: 'optimistic' }],
    ['count', { count: 6 }],
    ['poster', { poster: `0x${'12'.repeat(20)}` }],
    ['salt', { salt: id('x') as Hex }],
    ['batchRoot', { batchRoot: id('x') as Hex }],
    ['unbound', { unbound: 16n }],
    ['policyHash', { policyHash: id('x') as Hex }],
    ['committedAt', { committedAt: 1 }],
    ['committedBlock', { committedBlock: 1 }],
  ])('another %s in the header', async (_field, change) => {
    expect(await status(receipts, 0, { ...header, ...change })).toBe('unknown');
  });

  it('a stronger lane in receipt and header alike', async () => {
    const receipt: Receipt = { ...receipts[0]!.receipt, lane: 'zk' };
    expect(await f.rollup.statusOf(receipt, 0, pathOf(receipts, 0), { ...header, lane: 'zk' })).toBe('unknown');
  });

  it('another index, or a path too long, too short, or of another leaf', async () => {
    const { receipt } = receipts[0]!;
    const path = pathOf(receipts, 0);
    expect(await f.rollup.statusOf(receipt, 1, path, header)).toBe('unknown');
    expect(await f.rollup.statusOf(receipt, 8, path, header)).toBe('unknown');
    expect(await f.rollup.statusOf(receipt, 0, path.slice(0, -1), header)).toBe('unknown');
    expect(await f.rollup.statusOf(receipt, 0, [...path, header.batchRoot], header)).toBe('unknown');
    expect(await f.rollup.statusOf(receipt, 0, pathOf(receipts, 1), header)).toBe('unknown');
    // 2^64 is 0 in the 64 bits that the leaf holds.
    const data = statusCall(2n ** 64n);
    expect(Number(await f.provider.call({ to: f.rollup.address, data }))).toBe(0);
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

describe('commitProved', () => {
  const zk = (count: number, change?: (receipt: Receipt) => Receipt) => f.receipts(count, change, { lane: 'zk' });
  const prove = (receipts: readonly SignedReceipt[], evidence = evidenceFor(receipts), salt = freshSalt()) =>
    f.rollup.commitProved(f.client.policyHash, receipts, salt, evidence);

  it('None -> Final: proved receipts are final in the transaction that posts them', async () => {
    const receipts = await zk(3);
    const salt = freshSalt();
    const { header, batchHash: name } = await prove(receipts, evidenceFor(receipts), salt);
    expect(header).toMatchObject({ lane: 'zk', count: 3, unbound: 0n, batchRoot: batchRoot(leavesOf(receipts, 'zk')) });
    expect(name).toBe(f.rollup.batchHashOf('zk', f.client.policyHash, receipts, salt, addressOf(f.signer)));
    for (const index of [0, 1, 2]) {
      expect(await status(receipts, index, header)).toBe('final-zk');
      expect(await f.rollup.leafStateOf(header, index)).toBe('final');
    }
    expect((await f.escrow.orderOf(receipts[1]!.receipt.orderHash)).state).toBe('bound');
  });

  it('refuses what the verifier refuses', async () => {
    const receipts = await zk(1);
    await expect(prove(receipts, '0x')).rejects.toMatchObject({ code: 'CHAIN_REVERTED' });
    await expect(prove(receipts, '0x1234')).rejects.toMatchObject({ code: 'CHAIN_REVERTED' });
  });

  it('refuses a proof of fewer or of more statements, and an empty batch', async () => {
    const receipts = await zk(2);
    await expect(prove(receipts, evidenceFor(receipts.slice(1)))).rejects.toEqual(reverts('ClaimCount', 2, 1));
    await expect(prove(receipts.slice(1), evidenceFor(receipts))).rejects.toEqual(reverts('ClaimCount', 1, 2));
    await expect(prove([], evidenceFor([]))).rejects.toMatchObject({ code: 'BATCH_INVALID' });
    const data = rollupInterface.encodeFunctionData('commitProved', [
      f.client.policyHash,
      [],
      [],
      freshSalt(),
      evidenceFor([]),
    ]);
    const failure = await f.provider
      .call({ to: f.rollup.address, data })
      .catch((error: { data: string }) => error.data);
    expect(rollupInterface.parseError(failure as string)).toMatchObject({ name: 'BatchSize', args: [0n] });
  });

  it.each<[string, Record<string, unknown>]>([
    ['model', { modelDigest: id('another') }],
    ['number of items', { items: 2 }],
    ['input', { inputRoot: id('another') }],
    ['output', { outputRoot: id('another') }],
    ['order', { context: id('another') }],
  ])('refuses a proof of another %s', async (_name, change) => {
    const receipts = await zk(2);
    const [first, second] = receipts as [SignedReceipt, SignedReceipt];
    const claims = (a: Record<string, unknown>, b: Record<string, unknown>): Hex => {
      const [one, two] = [evidenceFor([first], a), evidenceFor([second], b)];
      // Offset and length of the list stand in front of the claims.
      return `${evidenceFor(receipts).slice(0, 2 + 128)}${one.slice(2 + 128)}${two.slice(2 + 128)}` as Hex;
    };
    expect(claims({}, {})).toBe(evidenceFor(receipts));
    await expect(prove(receipts, claims(change, {}))).rejects.toEqual(reverts('ClaimMismatch', 0));
    await expect(prove(receipts, claims({}, change))).rejects.toEqual(reverts('ClaimMismatch', 1));
    await expect(prove(receipts, claims({}, {}))).resolves.toMatchObject({ header: { unbound: 0n } });
  });

  it('refuses a receipt that claims a trace, which no proof covers', async () => {
    const receipts = await zk(1, (receipt) => ({ ...receipt, traceRoot: id('trace') as Hex }));
    await expect(prove(receipts)).rejects.toEqual(reverts('ClaimMismatch', 0));
  });

  it('a proof serves its order alone, and once', async () => {
    const [first, second] = (await zk(2)) as [SignedReceipt, SignedReceipt];
    const evidence = evidenceFor([first]);
    await prove([first], evidence);
    await expect(prove([first], evidence)).rejects.toEqual(reverts('NothingBound'));
    // The same answer for the same input, ordered again: the old proof is not the new order's.
    await expect(prove([second], evidence)).rejects.toEqual(reverts('ClaimMismatch', 0));
  });

  it('skips a proved receipt that cannot bind, and the rest of the batch stands', async () => {
    const [bad, good] = (await zk(2)) as [SignedReceipt, SignedReceipt];
    const receipts = [{ ...bad, signature: mirrored(bad.signature) }, good];
    const { header } = await prove(receipts);
    expect(header.unbound).toBe(1n);
    expect(await Promise.all([0, 1].map((i) => status(receipts, i, header)))).toEqual(['unknown', 'final-zk']);
    await expect(prove([receipts[0]!])).rejects.toEqual(reverts('NothingBound'));
  });

  it('a receipt of another lane does not become final by a proof', async () => {
    const [sampled, proved] = [await f.receipts(1), await zk(1)];
    const receipts = [{ ...sampled[0]! }, proved[0]!];
    const receipt: Receipt = { ...receipts[0]!.receipt, traceRoot: ZeroHash as Hex };
    receipts[0] = await sign(receipt);
    const { header } = await prove(receipts);
    expect(header.unbound).toBe(1n);
    expect(await status(receipts, 0, header)).toBe('unknown');
  });

  it('the same batch twice: BatchKnown', async () => {
    const receipts = await zk(1);
    const salt = freshSalt();
    const { batchHash: name } = await prove(receipts, evidenceFor(receipts), salt);
    await expect(prove(receipts, evidenceFor(receipts), salt)).rejects.toEqual(reverts('BatchKnown', name));
  });
});

describe('what the judge says', () => {
  const rule = async (name: Hex, index: number, state: LeafState): Promise<void> => {
    await (await f.game.getFunction('rule')(name, index, LEAF_STATES.indexOf(state))).wait();
  };
  it('optimistic: Challengeable -> Final, Dead, Void, without a call to the rollup', async () => {
    const receipts = await f.receipts(5, (receipt) => receipt, { lane: 'optimistic' });
    const { header, batchHash: name } = await commitTo('optimistic', receipts);
    const said: LeafState[] = ['challengeable', 'final', 'dead', 'void', 'pending'];
    for (const [index, state] of said.entries()) if (index > 0) await rule(name, index, state);
    expect(await Promise.all(receipts.map((_, i) => f.rollup.leafStateOf(header, i)))).toEqual(said);
    expect(await Promise.all(receipts.map((_, i) => status(receipts, i, header)))).toEqual([
      'challengeable',
      'final-optimistic',
      'invalid',
      'void',
      'pending',
    ]);
  });

  it('a leaf that did not bind is unknown, whatever its judge says', async () => {
    const [bad, good] = await f.receipts(2, (receipt) => receipt, { lane: 'optimistic' });
    const receipts = [{ ...bad!, signature: mirrored(bad!.signature) }, good!];
    const { header, batchHash: name } = await commitTo('optimistic', receipts);
    await rule(name, 0, 'final');
    expect(await status(receipts, 0, header)).toBe('unknown');
  });

  it('leafStateOf knows committed headers alone', async () => {
    const receipts = await f.receipts(1);
    const { header } = await f.commit(receipts);
    expect(await f.rollup.leafStateOf(header, 0)).toBe('pending');
    const other = { ...header, salt: freshSalt() };
    await expect(f.rollup.leafStateOf(other, 0)).rejects.toEqual(
      reverts('BatchUnknown', batchHash(other, f.client.domain)),
    );
    const later = { ...header, committedBlock: header.committedBlock + 1 };
    await expect(f.rollup.leafStateOf(later, 0)).rejects.toEqual(
      reverts('BatchUnknown', batchHash(header, f.client.domain)),
    );
  });

  describe('kill', () => {
    it('Escrow alone may kill', async () => {
      const receipts = await f.receipts(1);
      const { header } = await f.commit(receipts);
      const data = rollupInterface.encodeFunctionData('kill', [{ ...header, lane: 3 }, 0]);
      await expect(f.rollup.send({ to: f.rollup.address, data: data as Hex }, 'kill')).rejects.toEqual(
        reverts('Unauthorized', f.signer.address),
      );
      expect(await status(receipts, 0, header)).toBe('pending');
    });

    describe('for a second receipt', () => {
      // On a chain of its own: who equivocates is suspended.
      let g: SettlementFixture;
      beforeAll(async () => {
        g = await startSettlement();
      });
      afterAll(() => g.stop());
      const equivocate = async (signed: SignedReceipt, header: BatchHeader, index: number) => {
        const other: Receipt = { ...signed.receipt, outputRoot: id('second thought') as Hex };
        const call = g.escrow.slashEquivocationCall({
          order: g.orderFor(signed.receipt).order,
          ...signed,
          other,
          otherSignature: await signReceipt(other, g.client.domain, new Wallet(executorKey(index))),
          leaf: { header, index },
          beneficiary: addressOf(requesterWallet),
          salt: id('salt') as Hex,
        });
        return g.escrow.send(call, 'slashEquivocation');
      };
      const at = (receipts: readonly SignedReceipt[], i: number, header: BatchHeader) =>
        g.rollup.statusOf(receipts[i]!.receipt, i, pathOf(receipts, i, header.lane), header);

      it('Pending -> Dead, and no verdict brings it back (E2)', async () => {
        const receipts = await g.receipts(2);
        const { header, batchHash: name } = await g.commit(receipts);
        const mined = await equivocate(receipts[0]!, header, 0);
        const event = mined.logs
          .filter(({ address }) => address.toLowerCase() === g.rollup.address)
          .map((log) => rollupInterface.parseLog(log)!);
        expect(event).toMatchObject([{ name: 'LeafKilled', args: [name, 0n] }]);
        expect(await g.rollup.killsOf(name)).toBe(1n);
        expect([await at(receipts, 0, header), await at(receipts, 1, header)]).toEqual(['invalid', 'pending']);
        await g.anvil.mine(2);
        await g.court.fixSeed(header);
        const { verdict, signatures } = await g.verdict(header, []);
        await g.court.reportAudit(header, verdict, signatures);
        expect([await at(receipts, 0, header), await at(receipts, 1, header)]).toEqual(['invalid', 'final-sampled']);
      });

      it('Challengeable -> Dead, once (E2)', async () => {
        // Executor 0 is suspended by now.
        const open = await g.receipts(2, (receipt) => receipt, { lane: 'optimistic' });
        const { header, batchHash: name } = await g.rollup.commit('optimistic', g.client.policyHash, open, freshSalt());
        expect(header.unbound).toBe(1n);
        expect(await at(open, 1, header)).toBe('challengeable');
        await equivocate(open[1]!, header, 1);
        expect(await at(open, 1, header)).toBe('invalid');
        await (await g.game.getFunction('rule')(name, 1, LEAF_STATES.indexOf('final'))).wait();
        expect(await at(open, 1, header)).toBe('invalid');
        await expect(equivocate(open[1]!, header, 1)).rejects.toMatchObject({ code: 'CHAIN_REVERTED' });
      });
    });

    it('no kill of a leaf that its judge has found wrong, final or void (E2)', async () => {
      for (const state of ['dead', 'final', 'void'] as const) {
        const receipts = await f.receipts(1, (receipt) => receipt, { lane: 'optimistic' });
        const { header, batchHash: name } = await commitTo('optimistic', receipts);
        await rule(name, 0, state);
        const before = await status(receipts, 0, header);
        const data = rollupInterface.encodeFunctionData('kill', [{ ...header, lane: 2 }, 0]);
        const asEscrow = f.provider.call({ to: f.rollup.address, data, from: f.escrow.address });
        const failure = await asEscrow.catch((error: { data: string }) => error.data);
        expect(rollupInterface.parseError(failure as string)).toMatchObject({
          name: 'LeafStateIs',
          args: [name, 0n, BigInt(LEAF_STATES.indexOf(state))],
        });
        expect(await status(receipts, 0, header)).toBe(before);
      }
    });

    it('no kill of a leaf that is not there, did not bind, or is of the zk lane', async () => {
      const [bad, good] = await f.receipts(2);
      const { header, batchHash: name } = await f.commit([{ ...bad!, signature: mirrored(bad!.signature) }, good!]);
      const proved = await f.receipts(1, (receipt) => receipt, { lane: 'zk' });
      const zk = await f.commitProved(proved);
      const refusal = async (of: BatchHeader, index: number) => {
        const data = rollupInterface.encodeFunctionData('kill', [{ ...of, lane: of.lane === 'zk' ? 1 : 3 }, index]);
        const call = f.provider.call({ to: f.rollup.address, data, from: f.escrow.address });
        const failure = await call.catch((error: { data: string }) => error.data);
        const parsed = rollupInterface.parseError(failure as string)!;
        return [parsed.name, ...parsed.args.map(String)];
      };
      expect(await refusal(header, 0)).toEqual(['LeafUnbound', name, '0']);
      expect(await refusal(header, 2)).toEqual(['LeafUnbound', name, '2']);
      expect(await refusal(header, 256)).toEqual(['LeafUnbound', name, '256']);
      expect(await refusal(zk.header, 0)).toEqual(['LeafStateIs', zk.batchHash, '0', '2']);
      const other = { ...header, salt: freshSalt() };
      expect(await refusal(other, 1)).toEqual(['BatchUnknown', batchHash(other, f.client.domain)]);
    });
  });
});

describe('deployment', () => {
  it('its clock is the escrow’s, by ERC-6372', async () => {
    const contract = new Contract(f.rollup.address, receiptRollupAbi, f.provider);
    expect(await contract.getFunction('CLOCK_MODE')()).toBe('mode=timestamp');
    expect(Number(await contract.getFunction('clock')())).toBe(await f.escrow.clock());
    expect(((await contract.getFunction('escrow')()) as string).toLowerCase()).toBe(f.escrow.address);
  });

  it('refuses an escrow that was made for another rollup', async () => {
    const { compileContracts } = await import('./build.js');
    const { ContractFactory } = await import('ethers');
    const { bytecode } = (await compileContracts({ folders: ['src'] }))['ReceiptRollup']!;
    const transaction = await new ContractFactory(rollupInterface, bytecode, f.signer).getDeployTransaction(
      f.escrow.address,
    );
    const failure = await f.provider.call(transaction).catch((error: { data: string }) => error.data);
    const parsed = rollupInterface.parseError(failure as string)!;
    expect([parsed.name, ...parsed.args.map((arg: string) => arg.toLowerCase())]).toEqual([
      'EscrowMismatch',
      f.rollup.address,
    ]);
  });
});

describe('a freeze (E12)', () => {
  it('nothing binds, everything can be read, and afterwards no side has lost time', async () => {
    const g = await startSettlement();
    try {
      const before = await g.receipts(1);
      const { header } = await g.commit(before);
      const due = (await g.escrow.clock()) + 60;
      const [waiting, proved] = [
        await g.receipts(1, (receipt) => receipt, { order: (order) => ({ ...order, deliverBy: due }) }),
        await g.receipts(1, (receipt) => receipt, { lane: 'zk' }),
      ];
      await g.sendAs(guardianWallet, g.escrow.freezeCall());
      const stopped = await g.escrow.clock();
      await g.provider.send('evm_increaseTime', [3_600]);
      await g.anvil.mine(1);
      expect([await g.escrow.frozen(), await g.escrow.clock()]).toEqual([true, stopped]);
      await expect(g.commit(waiting)).rejects.toEqual(reverts('Frozen'));
      await expect(g.commitProved(proved)).rejects.toEqual(reverts('Frozen'));
      expect(await g.rollup.statusOf(before[0]!.receipt, 0, [], header)).toBe('pending');
      expect(await g.rollup.bindFaultOf('sampled', g.client.policyHash, waiting[0]!)).toBe('none');

      await g.sendAs(guardianWallet, g.escrow.unfreezeCall());
      expect((await g.provider.getBlock('latest'))!.timestamp).toBeGreaterThan(due);
      const batch = await g.commit(waiting);
      expect([batch.header.unbound, batch.header.committedAt <= due]).toEqual([0n, true]);
      expect((await g.commitProved(proved)).header.unbound).toBe(0n);
    } finally {
      await g.stop();
    }
  });
});

describe('a reorganisation', () => {
  it('never gives a batch hash another content, and moves a batch without renaming it', async () => {
    const [first, second] = [await f.receipts(2), await f.receipts(2)];
    const salt = freshSalt();
    const snapshot = (await f.provider.send('evm_snapshot', [])) as string;
    const before = await f.rollup.chain();
    const lost = await f.commit(first, salt);
    const leaf = (await f.escrow.orderOf(first[0]!.receipt.orderHash)).leaf;
    const chain = await f.rollup.chain();
    expect(await status(first, 0, lost.header)).toBe('pending');

    // The commit is gone; the poster, with the same salt, commits something else in its block.
    expect(await f.provider.send('evm_revert', [snapshot])).toBe(true);
    expect([await status(first, 0, lost.header), await f.rollup.chain()]).toEqual(['unknown', before]);
    expect(await f.rollup.headerOf(lost.batchHash)).toBeNull();
    const other = await f.commit(second, salt);
    expect(other.batchHash).not.toBe(lost.batchHash);
    expect(await status(first, 0, lost.header)).toBe('unknown');
    expect(await status(first, 0, other.header)).toBe('unknown');

    // The first one again, some blocks later: the same name and leaf, another header.
    await f.anvil.mine(3);
    const moved = await f.commit(first, salt);
    expect(moved.batchHash).toBe(lost.batchHash);
    expect(moved.header.committedBlock).toBeGreaterThan(lost.header.committedBlock);
    expect((await f.escrow.orderOf(first[0]!.receipt.orderHash)).leaf).toBe(leaf);
    expect(await status(first, 0, moved.header)).toBe('pending');
    // What was said about the lost block is not said about the new one: the draw is made anew.
    expect(await status(first, 0, lost.header)).toBe('unknown');
    expect(await f.rollup.chain()).not.toBe(chain);
  });
});
