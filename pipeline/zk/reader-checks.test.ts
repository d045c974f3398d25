/** Receipts of the zk lane as a stranger checks them, and every way to forge one that somebody may think of. */
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleOfGraph } from '../../executor/graph-bundle.js';
import {
  evaluateGraph,
  GraphBuilder,
  inputRoot,
  makeBundle,
  outputRoot,
  slotsOf,
  type Bundle,
} from '../../graph/index.js';
import { encodeG1, G1_GENERATOR } from '../../prover/curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../prover/curve/g2.js';
import { modelKeyHash } from '../../prover/verifier/model-key.js';
import {
  formatReceiptFile,
  hashOrder,
  parseReceiptFile,
  RECEIPT_FILE_VERSION,
  signOrder,
  signReceipt,
  verifyReceipt,
  type Hex,
  type JobOrder,
  type Receipt,
  type ReceiptFile,
  type VerifyReceiptOptions,
} from '../../receipts/index.js';
import { ProverNode } from '../adapters/prover-node.js';
import { schemeOf } from './check-proof.js';
import { readerChecks } from './reader-checks.js';

const ITEMS = 2;
const DOMAIN = { chainId: 31_337n, verifyingContract: `0x${'c0'.repeat(20)}` } as const;
const executor = new Wallet(`0x${'e1'.repeat(32)}`);
const requester = new Wallet(`0x${'e2'.repeat(32)}`);
const lower = (wallet: Wallet): Hex => wallet.address.toLowerCase() as Hex;

/** A convolution over [2, 3, 3] (hashed channels-last), then 4 scores; `ending` the index of the best, or the scores. */
function model(ending: 'scores' | 'arg-max'): Bundle {
  const builder = new GraphBuilder();
  const x = builder.addInput('image', [2, 3, 3], { lo: 0, hi: 15 }, 1, 0);
  const spread = (count: number, seed: number) =>
    Int8Array.from({ length: count }, (_, i) => (((i + 1) * 7919 + seed * 104_729) % 31) - 15);
  const conv = builder.add({
    kind: 'conv',
    name: 'conv',
    x,
    window: { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] },
    groups: 1,
    outChannels: 2,
    weight: spread(16, 1),
    bias: null,
  });
  const multipliers = Int32Array.of(60_000);
  const q = builder.quotientRange(conv, multipliers, null);
  const relu = builder.add({
    kind: 'requant',
    name: 'relu',
    x: conv,
    multipliers,
    channelAxis: null,
    table: { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: 0, hi: 127 },
  });
  const flat = builder.add({ kind: 'reshape', name: 'flat', x: relu }, { shape: [8] });
  const scores = builder.add({
    kind: 'matmul',
    name: 'scores',
    x: flat,
    outFeatures: 4,
    inFeatures: 8,
    weight: spread(32, 2),
    bias: Int32Array.of(1, 2, 3, 4),
  });
  const range = builder.quotientRange(scores, multipliers, null);
  const stored = () =>
    builder.add({
      kind: 'requant',
      name: 'stored',
      x: scores,
      multipliers,
      channelAxis: null,
      table: { kind: 'clamp', qLo: range.lo, qHi: range.hi, lo: -128, hi: 127 },
    });
  const end = ending === 'scores' ? scores : builder.add({ kind: 'argMax', name: 'label', x: stored(), axis: 0 });
  return bundleOfGraph(builder.finish(ending, [end]));
}

/** A sum of `count` images, which is an image. */
function sumOfImages(count: number): Bundle {
  const builder = new GraphBuilder();
  const images = Array.from({ length: count }, (_, i) =>
    builder.addInput(`image ${i}`, [2, 1, 3], { lo: 0, hi: 15 }, 1, 0),
  );
  const terms = images.map((x) => ({ x, coefficient: 1 }));
  return bundleOfGraph(builder.finish('sum', [builder.add({ kind: 'combine', name: 'sum', terms, bias: null })]));
}

let prover: ProverNode;
beforeAll(async () => {
  prover = await ProverNode.start({ srs: { kind: 'development', points: 2 ** 13 }, threads: 1 });
}, 120_000);
afterAll(() => prover?.close());

describe('the roots of a model of many images, with the key alone', () => {
  const setup = async (count: number) => {
    const bundle = sumOfImages(count);
    const inputs = Array.from({ length: count }, (_, i) => Array.from({ length: 6 }, (_, at) => (5 * i + at) % 16));
    // Hashed channels-last, as the compiler leaves images.
    const tensors = bundle.graph.tensors.map((tensor) => ({ ...tensor, layout: [1, 2, 0] }));
    const graph = { ...bundle.graph, tensors };
    const integers = (lists: readonly (readonly number[])[]) => lists.map((values) => Int32Array.from(values));
    const root = inputRoot(graph, integers(inputs), 1) as Hex;
    const outputs = [inputs[0]!.map((_, at) => inputs.reduce((sum, values) => sum + values[at]!, 0))];
    const outRoot = outputRoot(graph, integers(outputs), 1) as Hex;
    const key = { key: await prover.keyOf(bundle), srs: prover.srs };
    return { inputs, outputs, root, outRoot, byKey: readerChecks(key), byBundle: readerChecks(key, { graph }) };
  };

  it('finds every order of four inputs, whatever the output admits', async () => {
    const { inputs, outputs, root, outRoot, byKey } = await setup(4);
    expect(byKey.inputRoot(inputs, 1, root)).toBe(root);
    expect(byKey.outputRoot(outputs, 1, outRoot)).toBe(outRoot);
  });

  it('leaves five inputs undetermined, which the bundle decides', async () => {
    const { inputs, outputs, root, outRoot, byKey, byBundle } = await setup(5);
    expect(byKey.inputRoot(inputs, 1, root)).toMatchObject({
      verdict: 'undetermined',
      reason: expect.stringContaining('--bundle') as string,
    });
    expect(byKey.outputRoot(outputs, 1, outRoot)).toBe(outRoot);
    expect(byBundle.inputRoot(inputs, 1, root)).toBe(root);
  });
});

describe.each(['scores', 'arg-max'] as const)('a receipt for a model that ends in %s', (ending) => {
  let bundle: Bundle;
  let file: ReceiptFile;
  /** A proof of the same model on the same input for another order. */
  let otherProof: Hex;
  let withKey: ReturnType<typeof readerChecks>;
  let withBundle: ReturnType<typeof readerChecks>;

  const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`;
  const lists = (tensors: readonly Int32Array[]) => tensors.map((values) => Array.from(values));
  const prove = async (orderHash: Hex, inputs: readonly Int32Array[]) =>
    prover.prove({ orderHash, bundle, items: ITEMS, inputs });

  beforeAll(async () => {
    const plain = model(ending);
    bundle = makeBundle({ ...plain, modelKeyHash: modelKeyHash(await prover.keyOf(plain)) });
    const { graph } = bundle;
    const inputs = [Int32Array.from({ length: 18 * ITEMS }, (_, i) => (i * 11) % 16)];
    const outputs = [evaluateGraph(graph, inputs, ITEMS)[graph.outputs[0]!]!];
    const order: JobOrder = {
      requester: lower(requester),
      executor: lower(executor),
      modelDigest: bundle.digest as Hex,
      inputRoot: inputRoot(graph, inputs, ITEMS) as Hex,
      items: ITEMS,
      lane: 'zk',
      policyHash: `0x${'0b'.repeat(32)}`,
      price: 5n,
      surcharge: 0n,
      outputBytes: 64,
      deliverBy: 2_000_000_000,
      validUntil: 2_000_000_000,
      nonce: 1n,
    };
    const receipt: Receipt = {
      orderHash: hashOrder(order, DOMAIN),
      modelDigest: order.modelDigest,
      inputRoot: order.inputRoot,
      outputRoot: outputRoot(graph, outputs, ITEMS) as Hex,
      traceRoot: `0x${'00'.repeat(32)}`,
      opCount: slotsOf(graph).length,
      items: ITEMS,
      amount: 5n,
      lane: 'zk',
      policyHash: order.policyHash,
      executor: lower(executor),
      issuedAt: 1_900_000_000,
    };
    const { proof, published } = await prove(receipt.orderHash, inputs);
    file = {
      version: RECEIPT_FILE_VERSION,
      domain: DOMAIN,
      receipt,
      signature: await signReceipt(receipt, DOMAIN, executor),
      order,
      orderSignature: await signOrder(order, DOMAIN, requester),
      inputs: lists(inputs),
      outputs: lists(outputs),
      evidence: {
        scheme: schemeOf(proof),
        proof: hexOf(proof),
        ...(ending === 'scores' ? {} : { published: lists(published) }),
      },
    };
    otherProof = hexOf((await prove(`0x${'77'.repeat(32)}`, inputs)).proof);
    const key = await prover.keyOf(bundle);
    withKey = readerChecks({ key, srs: prover.srs });
    withBundle = readerChecks({ key, srs: prover.srs }, bundle);
  }, 120_000);

  /** As read from disk, by somebody with the key and by somebody with the bundle too. */
  const check = async (changed: ReceiptFile, options: VerifyReceiptOptions = {}) => {
    const read = parseReceiptFile(formatReceiptFile(changed));
    const byKey = await verifyReceipt(read, { ...withKey, ...options });
    const byBundle = await verifyReceipt(read, { ...withBundle, ...options });
    expect(byKey.verdict.verdict).toBe(byBundle.verdict.verdict);
    return byKey;
  };
  /** The receipt with a field changed, signed again by its executor: what a cheat would hand over. */
  const resigned = async (change: Partial<Receipt>, more: Partial<ReceiptFile> = {}): Promise<ReceiptFile> => {
    const receipt = { ...file.receipt, ...change };
    return { ...file, receipt, signature: await signReceipt(receipt, DOMAIN, executor), ...more };
  };
  const without = (field: keyof ReceiptFile): ReceiptFile => {
    const copy: Partial<Record<keyof ReceiptFile, unknown>> = { ...file };
    delete copy[field];
    return copy as ReceiptFile;
  };

  it('is valid with the key alone, and with the bundle', async () => {
    expect((await check(file)).verdict).toEqual({ verdict: 'valid' });
    expect((await check(without('outputs'))).verdict.verdict).toBe(ending === 'scores' ? 'undetermined' : 'valid');
  });

  it('is undetermined without key, proof, input, or published integers', async () => {
    expect((await verifyReceipt(file, {})).checks.proof).toMatchObject({ verdict: 'undetermined' });
    expect((await check(without('evidence'))).checks.proof).toMatchObject({ verdict: 'undetermined' });
    expect((await check(without('inputs'))).checks.proof).toMatchObject({ verdict: 'undetermined' });
    if (ending === 'scores') return;
    const { scheme, proof } = file.evidence!;
    expect((await check({ ...file, evidence: { scheme, proof } })).checks.proof).toMatchObject({
      verdict: 'undetermined',
    });
  });

  it('is undetermined where the chain is a real one and the reference string the development one', async () => {
    const domain = { ...DOMAIN, chainId: 1n };
    const order = file.order!;
    const receipt = { ...file.receipt, orderHash: hashOrder(order, domain) };
    const { proof } = await prove(
      receipt.orderHash,
      file.inputs!.map((values) => Int32Array.from(values)),
    );
    const real: ReceiptFile = {
      ...file,
      domain,
      receipt,
      signature: await signReceipt(receipt, domain, executor),
      orderSignature: await signOrder(order, domain, requester),
      evidence: { ...file.evidence!, proof: hexOf(proof) },
    };
    const { checks, verdict } = await check(real);
    expect(checks.proof).toMatchObject({ reason: expect.stringContaining('development SRS') as string });
    expect(verdict.verdict).toBe('undetermined');
  });

  it('is invalid under the key with the head of another reference string', async () => {
    const key = await prover.keyOf(bundle);
    const tauG1 = encodeG1(G1_GENERATOR.multiply(5n));
    const tauG2 = encodeG2(G2_GENERATOR.multiply(5n));
    const { checks } = await verifyReceipt(file, readerChecks({ key, srs: { tauG1, tauG2 } }));
    expect(checks.proof).toMatchObject({ reason: expect.stringContaining('another reference string') as string });
  });

  it('is undetermined with the key or bundle of another model: the mistake of its reader', async () => {
    const other = model(ending === 'scores' ? 'arg-max' : 'scores');
    const checks = readerChecks({ key: await prover.keyOf(other), srs: prover.srs }, other);
    const { verdict, ...result } = await verifyReceipt(file, checks);
    expect(verdict.verdict).toBe('undetermined');
    expect(result.checks.model).toMatchObject({
      reason: `the key or bundle given is of model ${checks.modelDigest}, the receipt names ${bundle.digest}`,
    });
    // The key belongs to the digest: the bundle as it was compiled will do.
    const plain = readerChecks({ key: await prover.keyOf(bundle), srs: prover.srs }, model(ending));
    expect((await verifyReceipt(file, plain)).verdict).toEqual({ verdict: 'valid' });
  });

  const forgeries: [
    string,
    () => ReceiptFile | Promise<ReceiptFile>,
    keyof Awaited<ReturnType<typeof check>>['checks'],
  ][] = [
    ['another output root', () => resigned({ outputRoot: `0x${'11'.repeat(32)}` }), 'proof'],
    ['another input root', () => resigned({ inputRoot: `0x${'11'.repeat(32)}` }), 'inputs'],
    ['another model', () => resigned({ modelDigest: `0x${'11'.repeat(32)}` }), 'terms'],
    ['another order', () => resigned({ orderHash: `0x${'11'.repeat(32)}` }), 'proof'],
    ['fewer items', () => resigned({ items: 1 }), 'proof'],
    ['more items', () => resigned({ items: 2 ** 32 - 1 }), 'proof'],
    ['a trace root', () => resigned({ traceRoot: `0x${'11'.repeat(32)}` }), 'proof'],
    ['another number of slots', () => resigned({ opCount: 1 }), 'proof'],
    [
      'an output changed by one',
      () => ({ ...file, outputs: [file.outputs![0]!.map((v, i) => (i === 0 ? v ^ 1 : v))] }),
      'outputs',
    ],
    [
      'an input changed by one',
      () => ({ ...file, inputs: [file.inputs![0]!.map((v, i) => (i === 0 ? v ^ 1 : v))] }),
      'proof',
    ],
    ['an input too few', () => ({ ...file, inputs: [file.inputs![0]!.slice(1)] }), 'proof'],
    ['no input tensor', () => ({ ...file, inputs: [] }), 'proof'],
    ['the proof of another order', () => ({ ...file, evidence: { ...file.evidence!, proof: otherProof } }), 'proof'],
    ['another scheme named', () => ({ ...file, evidence: { ...file.evidence!, scheme: 'hyperkzg' } }), 'proof'],
    ['a proof cut short', () => withProof((proof) => proof.slice(0, -2)), 'proof'],
    ['a proof too long', () => withProof((proof) => `${proof}00`), 'proof'],
    ['other bytes for a proof', () => withProof(() => '0x00'), 'proof'],
    ['another scheme in the header', () => withProof((proof) => proof.replace(/^(.{20})01/, '$107')), 'proof'],
    [
      'published integers changed by one',
      () => {
        const published = file.evidence!.published ?? file.outputs!;
        const changed = [published[0]!.map((v, i) => (i === 0 ? v + 1 : v))];
        return { ...file, evidence: { ...file.evidence!, published: changed } };
      },
      'proof',
    ],
    ['no published tensor', () => ({ ...file, evidence: { ...file.evidence!, published: [] } }), 'proof'],
  ];
  const withProof = (change: (proof: string) => string): ReceiptFile => {
    const proof = change(file.evidence!.proof) as Hex;
    expect(proof).not.toBe(file.evidence!.proof);
    return { ...file, evidence: { ...file.evidence!, proof } };
  };

  it.each(forgeries)('%s is invalid', async (_what, forge, where) => {
    const { verdict, checks } = await check(await forge());
    expect(verdict.verdict).toBe('invalid');
    expect(checks[where]).toMatchObject({ verdict: 'invalid' });
  });

  it('the signature of another is not valid: undetermined as long as nobody says that the executor is no contract', async () => {
    const { verdict, checks } = await check({ ...file, signature: file.orderSignature! });
    expect(verdict.verdict).toBe('undetermined');
    expect(checks.signature).toMatchObject({ verdict: 'undetermined' });
  });

  it('a proof with any byte changed is invalid (forty bytes, over the whole length)', async () => {
    const bytes = Buffer.from(file.evidence!.proof.slice(2), 'hex');
    const step = Math.max(1, Math.floor(bytes.length / 40));
    for (let at = 0; at < bytes.length; at += step) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      const evidence = { ...file.evidence!, proof: hexOf(changed) };
      const result = await verifyReceipt({ ...file, evidence }, withKey);
      expect(result.checks.proof, `byte ${at}`).toMatchObject({ verdict: 'invalid' });
    }
  });
});
