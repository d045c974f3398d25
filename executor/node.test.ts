import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDNodeWallet, Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluateGraph } from '../graph/index.js';
import { recoverAcceptanceSigner, recoverReceiptSigner, signOrder } from '../receipts/index.js';
import type { Hex, JobOrder, Receipt } from '../receipts/index.js';
import { FlippedOutput, SmallerModel, StaleAnswer } from './adversaries.js';
import { openIdentity, openSigner } from './identity.js';
import type { Identity } from './identity.js';
import { ExecutorNode } from './node.js';
import type { ExecutorNodeOptions } from './node.js';
import { images, smallClassifier } from './testing/digits.js';
import { DOMAIN, orderFor, receiptFor } from './testing/orders.js';

const bundle = smallClassifier(1, 6);
let folder: string;
let node: ExecutorNode;
let options: ExecutorNodeOptions;
let nonce = 0n;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-node-'));
  const identity = await openIdentity(folder);
  options = { identity, domain: DOMAIN, traceFolder: join(folder, 'traces'), engine: 'onnxruntime-cpu', threads: 1 };
  node = await ExecutorNode.start(options);
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const job = (items: number, seed: number) => {
  const inputs = images(items, seed);
  return { inputs, order: orderFor(bundle, inputs, items, nonce++) };
};

describe('ExecutorNode', () => {
  it('knows its engine and the class that the engine earned', () => {
    expect(node.engine).toBe('onnxruntime-cpu');
    expect(node.selfTest.deviceClass).toBe('exact');
    expect(node.engineVersion).toBe('onnxruntime-node 1.29.0');
  });

  it('executes, stores trace and result, and signs what it has executed', async () => {
    const { order, inputs } = job(3, 1);
    const result = await node.execute(order, bundle, inputs);
    const values = evaluateGraph(bundle.graph, inputs, 3);
    expect(result.outputs).toEqual(bundle.graph.outputs.map((id) => values[id]!));
    expect(result.inputRoot).toBe(order.inputRoot);
    expect((await node.traces.get('trace', result.traceRoot, bundle)).tensors).toEqual(result.slots);
    expect((await node.traces.get('result', result.outputRoot, bundle)).tensors).toEqual(result.outputs);

    const receipt = receiptFor(order, result, node.address);
    const signature = await node.sign(receipt);
    expect(recoverReceiptSigner(receipt, signature, DOMAIN)).toBe(node.address);
    expect(await node.sign(receipt)).toBe(signature);
    await expect(node.sign({ ...receipt, amount: 999n })).rejects.toMatchObject({ code: 'EQUIVOCATION_REFUSED' });
  });

  it('takes an order on once, where it fits its terms, and no other', async () => {
    const requester = new Wallet(`0x${'2a'.repeat(32)}`);
    let now = 1_900_000_000;
    const taking = await openIdentity(join(folder, 'taking'));
    const policyHash: Hex = `0x${'0b'.repeat(32)}`;
    const terms = { lanes: ['sampled', 'zk'], policies: [policyHash], clock: async () => now } as const;
    const under = await ExecutorNode.start({ ...options, identity: taking, engine: 'reference', terms });
    const order = {
      ...job(1, 3).order,
      executor: under.address,
      requester: requester.address.toLowerCase() as Hex,
    };
    const signed = async (change: Partial<JobOrder> = {}): Promise<[JobOrder, Hex]> => {
      const changed = { ...order, ...change };
      return [changed, await signOrder(changed, DOMAIN, requester)];
    };
    const acceptance = await under.accept(...(await signed()));
    expect(recoverAcceptanceSigner(order, acceptance, DOMAIN)).toBe(under.address);
    expect(await under.accept(...(await signed()))).toBe(acceptance);

    await expect(under.accept(...(await signed({ executor: node.address })))).rejects.toMatchObject({
      code: 'ORDER_MISMATCH',
    });
    const refused = { code: 'ORDER_REFUSED', kind: 'usage' };
    for (const change of [
      { lane: 'optimistic' },
      { policyHash: `0x${'0c'.repeat(32)}` },
      { deliverBy: now - 1 },
    ] as const)
      await expect(under.accept(...(await signed(change))), JSON.stringify(change)).rejects.toMatchObject(refused);
    const [, otherSignature] = await signed({ nonce: 77n });
    await expect(under.accept(order, otherSignature)).rejects.toMatchObject(refused);
    now = order.deliverBy + 1;
    await expect(under.accept(...(await signed()))).rejects.toMatchObject(refused);
    await under.close();
    // Started without terms: it works for itself, and takes no orders.
    const [own, signature] = await signed({ executor: node.address });
    await expect(node.accept(own, signature)).rejects.toMatchObject(refused);
  });

  it('gives the same integers again, and in another batch', async () => {
    const one = job(1, 7);
    const four = job(4, 7);
    const [alone, again, batch] = [
      await node.execute(one.order, bundle, one.inputs),
      await node.execute(one.order, bundle, one.inputs),
      await node.execute(four.order, bundle, four.inputs),
    ];
    expect(again.traceRoot).toBe(alone.traceRoot);
    expect(batch.outputs[0]!.slice(0, 4)).toEqual(alone.outputs[0]);
  });

  it('refuses an order for another model, input or number of items', async () => {
    const { order, inputs } = job(2, 2);
    const mismatch = { code: 'ORDER_MISMATCH' };
    await expect(node.execute(order, smallClassifier(2, 6), inputs)).rejects.toMatchObject(mismatch);
    await expect(node.execute(order, bundle, images(2, 3))).rejects.toMatchObject(mismatch);
    await expect(node.execute({ ...order, items: 1 }, bundle, inputs)).rejects.toMatchObject({ code: 'INPUT_RANGE' });
  });

  it('runs nothing under the digest of another bundle, and keeps nothing under it', async () => {
    const [honest, other] = [smallClassifier(31, 6), smallClassifier(32, 6)];
    const inputs = images(2, 8);
    const order = orderFor(honest, inputs, 2, nonce++);
    const lie = node.execute(order, { ...other, digest: honest.digest }, inputs);
    await expect(lie).rejects.toMatchObject({
      code: 'ORDER_MISMATCH',
      meta: { expected: honest.digest, found: other.digest },
    });
    const values = evaluateGraph(honest.graph, inputs, 2);
    const result = await node.execute(order, honest, inputs);
    expect(result.outputs).toEqual(honest.graph.outputs.map((id) => values[id]!));
  });

  it('signs nothing but what it has executed for the order', async () => {
    const { order, inputs } = job(1, 4);
    const receipt = receiptFor(order, await node.execute(order, bundle, inputs), node.address);
    const other = job(1, 14);
    const elsewhere = await node.execute(other.order, bundle, other.inputs);
    const lies: Partial<Receipt>[] = [
      { executor: `0x${'ee'.repeat(20)}` },
      { modelDigest: `0x${'ee'.repeat(32)}` },
      { inputRoot: elsewhere.inputRoot },
      { outputRoot: elsewhere.outputRoot },
      // Both are stored here: having a trace is not having it for this order.
      { traceRoot: elsewhere.traceRoot },
      { traceRoot: `0x${'00'.repeat(32)}` },
      { traceRoot: `0x${'00'.repeat(32)}`, lane: 'zk' },
      { opCount: receipt.opCount + 1 },
      { items: 2 },
      { lane: 'optimistic' },
      { policyHash: `0x${'ee'.repeat(32)}` },
    ];
    for (const lie of lies) {
      const signed = node.sign({ ...receipt, ...lie });
      await expect(signed, JSON.stringify(lie)).rejects.toMatchObject({ code: 'ORDER_MISMATCH' });
    }
    for (const traceRoot of [receipt.traceRoot, `0x${'00'.repeat(32)}`] as const) {
      const unseen = node.sign({ ...receipt, orderHash: `0x${'ee'.repeat(32)}`, traceRoot });
      await expect(unseen).rejects.toMatchObject({ code: 'EXECUTION_NOT_FOUND' });
    }
    expect(options.identity.journal.find(receipt.orderHash)).toBeNull();
    await node.sign(receipt);
  });

  it('signs without a trace in the zk lane alone', async () => {
    const inputs = images(1, 15);
    const order = { ...orderFor(bundle, inputs, 1, nonce++), lane: 'zk' } as const;
    const result = await node.execute(order, bundle, inputs);
    const receipt = { ...receiptFor(order, result, node.address), traceRoot: `0x${'00'.repeat(32)}` } as const;
    await expect(node.sign({ ...receipt, outputRoot: result.inputRoot })).rejects.toMatchObject({
      code: 'ORDER_MISMATCH',
    });
    expect(recoverReceiptSigner(receipt, await node.sign(receipt), DOMAIN)).toBe(node.address);
  });

  it('signs after a restart what it executed before, while it holds the trace', async () => {
    const home = join(folder, 'restarted');
    const start = async (): Promise<ExecutorNode> =>
      ExecutorNode.start({ ...options, identity: await openIdentity(home), engine: 'reference' });
    const [first, second] = [job(1, 16), job(1, 17)];
    const before = await start();
    const receipts = [
      receiptFor(first.order, await before.execute(first.order, bundle, first.inputs), before.address),
      receiptFor(second.order, await before.execute(second.order, bundle, second.inputs), before.address),
    ] as const;
    await before.close();
    const after = await start();
    expect(recoverReceiptSigner(receipts[0], await after.sign(receipts[0]), DOMAIN)).toBe(before.address);
    await rm(after.traces.path('trace', receipts[1].traceRoot));
    await expect(after.sign(receipts[1])).rejects.toMatchObject({ code: 'TRACE_NOT_FOUND' });
    await after.close();
  });

  it('refuses a model that its memory budget cannot hold', async () => {
    const small = await ExecutorNode.start({
      ...options,
      identity: await openIdentity(join(folder, 'small')),
      memoryBudgetBytes: 1000,
    });
    const { order, inputs } = job(1, 5);
    await expect(small.execute(order, bundle, inputs)).rejects.toMatchObject({ code: 'MODEL_TOO_LARGE' });
    await small.close();
    await expect(small.execute(order, bundle, inputs)).rejects.toMatchObject({ code: 'EXECUTOR_CLOSED' });
  });

  it('does not block the event loop while a job runs', async () => {
    const large = smallClassifier(9, 64);
    const inputs = images(400, 1);
    const order = orderFor(large, inputs, 400, nonce++);
    let last = performance.now();
    let longestMs = 0;
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 5);
    const result = await node.execute(order, large, inputs);
    clearInterval(timer);
    // The job takes many times this long in its thread.
    expect(longestMs).toBeLessThan(result.elapsedMs / 2);
  });

  it('fails the jobs of a thread that ends, and starts another for the next job', async () => {
    const { order, inputs } = job(3, 1);
    const before = await node.execute(order, bundle, inputs);
    const running = node.execute(order, bundle, inputs);
    const failed = expect(running).rejects.toMatchObject({ code: 'EXECUTOR_WORKER_FAILED' });
    // One turn of the event loop: the job is on its way.
    await new Promise((resolve) => setImmediate(resolve));
    await node.abort();
    await failed;
    expect((await node.execute(order, bundle, inputs)).traceRoot).toBe(before.traceRoot);
  });

  it('runs float models', async () => {
    const file = new URL('../models/iris.onnx', import.meta.url);
    const features = { type: 'float32', shape: [1, 4], data: Float32Array.of(5.1, 3.5, 1.4, 0.2) } as const;
    const { outputs } = await node.runFloat(await readFile(file), 'iris.onnx', new Map([['features', features]]));
    const [probabilities] = [...outputs.values()];
    expect(probabilities!.shape).toEqual([1, 3]);
    const sum = (probabilities!.data as Float32Array).reduce((total, value) => total + value, 0);
    expect(sum).toBeCloseTo(1, 5);
  });

  it('passes errors of the thread on with code, mend and facts', async () => {
    const refused = node.runFloat(Buffer.from('no model'), 'text.onnx', new Map());
    await expect(refused).rejects.toMatchObject({ name: 'AssayError', kind: 'usage' });
    await expect(refused).rejects.toThrow('text.onnx');
  });

  it('does not start with an engine that this machine lacks', async () => {
    const identity = await openIdentity(join(folder, 'other'));
    const start = ExecutorNode.start({ ...options, identity, engine: 'onnxruntime-web' });
    await expect(start).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE' });
    await identity.journal.close();
  });

  it('takes a publicly known key for the development chain alone', async () => {
    // Account 0 of anvil.
    const signer = HDNodeWallet.fromPhrase('test test test test test test test test test test test junk', undefined);
    const open = async (): Promise<Identity> => {
      await mkdir(join(folder, 'known'), { recursive: true });
      return openSigner(join(folder, 'known'), signer, { firstUse: true });
    };
    const here = await ExecutorNode.start({ ...options, identity: await open(), engine: 'reference' });
    await here.close();
    const identity = await open();
    const elsewhere = ExecutorNode.start({ ...options, identity, domain: { ...DOMAIN, chainId: 1n } });
    await expect(elsewhere).rejects.toMatchObject({ code: 'DEV_KEY_REFUSED', meta: { chainId: '1' } });
    await identity.journal.close();
  });
});

describe('adversaries', () => {
  /** What anybody who runs the model again would hold against it. */
  const honestResult = async (seed: number) => {
    const { order, inputs } = job(2, seed);
    return { order, inputs, honest: await node.execute(order, bundle, inputs) };
  };

  it('flip one unit of one output element, with a trace that agrees', async () => {
    const { order, inputs, honest } = await honestResult(21);
    const lie = await new FlippedOutput(node, DOMAIN).execute(order, bundle, inputs);
    const differing = lie.outputs[0]!.filter((value, index) => value !== honest.outputs[0]![index]);
    expect(differing.length).toBe(1);
    expect(Math.abs(lie.outputs[0]![0]! - honest.outputs[0]![0]!)).toBe(1);
    expect(lie.inputRoot).toBe(honest.inputRoot);
    expect([lie.outputRoot, lie.traceRoot]).not.toContain(honest.outputRoot);
    expect(lie.traceRoot).not.toBe(honest.traceRoot);
    expect((await node.traces.get('trace', lie.traceRoot, bundle)).tensors).toEqual(lie.slots);
    const receipt = receiptFor(order, lie, node.address);
    expect(recoverReceiptSigner(receipt, await new FlippedOutput(node, DOMAIN).sign(receipt), DOMAIN)).toBe(
      node.address,
    );
  });

  it('run a smaller model under the name of the one ordered, and get it signed', async () => {
    const { order, inputs, honest } = await honestResult(22);
    const smaller = smallClassifier(3, 2);
    const cheat = new SmallerModel(node, DOMAIN, smaller);
    const lie = await cheat.execute(order, bundle, inputs);
    expect(lie.modelDigest).toBe(order.modelDigest);
    expect(lie.orderHash).toBe(honest.orderHash);
    expect(lie.inputRoot).toBe(honest.inputRoot);
    expect(lie.outputRoot).not.toBe(honest.outputRoot);
    const values = evaluateGraph(smaller.graph, inputs, 2);
    expect(lie.outputs[0]).toEqual(values[smaller.graph.outputs[0]!]!);
    const receipt = receiptFor(order, lie, cheat.address);
    expect(recoverReceiptSigner(receipt, await cheat.sign(receipt), DOMAIN)).toBe(node.address);
  });

  it('answer a new input with an old result', async () => {
    const cheat = new StaleAnswer(node, DOMAIN);
    const first = await honestResult(23);
    const second = await honestResult(24);
    expect((await cheat.execute(first.order, bundle, first.inputs)).outputRoot).toBe(first.honest.outputRoot);
    const lie = await cheat.execute(second.order, bundle, second.inputs);
    expect(lie.outputRoot).toBe(first.honest.outputRoot);
    expect(lie.inputRoot).toBe(second.honest.inputRoot);
    expect(lie.outputRoot).not.toBe(second.honest.outputRoot);
    expect(lie.slots[0]).toEqual(second.inputs[0]);
  });
});
