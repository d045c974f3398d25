/**
 * Recursive batches of the sizes that count, the whole way: orders opened, jobs proved jointly, wrapped, posted through the
 * rollup, every receipt final by the proof. Prints what each took; sizes and gas are committed snapshots.
 */
import { statSync } from 'node:fs';
import { id, Interface, Wallet } from 'ethers';
import { expect, test } from 'vitest';
import { wrapJoint } from '../../circuits/batch/batch-circuit.js';
import { encodeEvidence } from '../../circuits/batch/evidence.js';
import { batchInputRoot } from '../../circuits/batch/input-root.js';
import { proveJoint } from '../../circuits/batch/prove-joint.js';
import { claimedOutputRoot, verifyBatch } from '../../circuits/batch/verify-batch.js';
import { circuitSize } from '../../circuits/r1cs/circuit-size.js';
import { readR1cs } from '../../circuits/r1cs/read-r1cs.js';
import { undeterminedWires } from '../../circuits/r1cs/undetermined-wires.js';
import { encodeInputs } from '../../graph/index.js';
import { heldOutSamples } from '../../models/index.js';
import { modelKeyDigest } from '../../prover/verifier/model-key.js';
import {
  batchHash,
  batchRoot,
  hashOrder,
  leafHash,
  merklePath,
  receiptStructHash,
  signAcceptance,
  signOrder,
  signReceipt,
} from '../../receipts/index.js';
import type { Hex, JobOrder, Receipt } from '../../receipts/types.js';
import { anvilKey, startAnvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { zkVerifierAbi } from '../../verifier-contracts/bindings/ZkVerifier.js';
import { batchVerifierOf, evidenceFor } from '../../verifier-contracts/zk-verifier.js';
import { deployTestSettlement, enrol, sendAs } from '../kill/deploy.js';
import { executorWallets, requester } from '../kill/fixture.js';
import { checkerOf, openMaker, placeOf, prepareBatch, type BatchModels } from './batch-fixture.js';

const verifier = new Interface(zkVerifierAbi);
const lower = (address: string): Hex => address.toLowerCase() as Hex;
const SIZES: readonly (readonly [n: number, models: BatchModels])[] = [
  [18, [['lenet5', 8]]],
  [
    18,
    [
      ['mnist-mlp', 1],
      ['lenet5', 1],
      ['mnist-dwcnn', 1],
    ],
  ],
  [21, [['lenet5', 64]]],
];

test.each(SIZES)('columns of 2^%i: %j', async (n, models) => {
  const lines: Record<string, unknown> = {};
  let from = performance.now();
  const lap = (name: string): void => {
    lines[`${name} s`] = Number(((performance.now() - from) / 1000).toFixed(1));
    from = performance.now();
  };
  const maker = await openMaker(n);
  const anvil = await startAnvil();
  try {
    lap('reference string');
    const prepared = await prepareBatch(n, models);
    lap('circuit and key');
    const { circuit, shape, bundles, record } = prepared;
    const r1cs = readR1cs(circuit.compiled.r1cs);
    expect(undeterminedWires(r1cs, circuit.compiled.symbols)).toEqual({
      undetermined: [],
      argued: [],
      unusedInputs: [],
    });
    lap('check of wires');
    const rollup = await deployTestSettlement(anvil.url, {
      verifier: maker.srs,
      batchRecords: [record],
      requesterFunds: 10n ** 18n,
    });
    await enrol(anvil.url, rollup, 'one', 10n ** 18n);
    const provider = await connectChain(anvil.url);
    const client = await SettlementClient.connect({ provider, rollup });
    const executor = executorWallets('one').honest;
    const place = placeOf(maker.srs, (await batchVerifierOf(client.context, client.policy.verifier))!, record);

    let nonce = 0n;
    const groups = await Promise.all(
      models.map(async ([name, count], g) => {
        const bundle = bundles[g]!;
        const inputs = heldOutSamples(name, count).samples.map((sample) => encodeInputs(bundle, sample).values);
        const orders = inputs.map((values): JobOrder => ({
          requester: lower(requester.address),
          executor: lower(executor.address),
          modelDigest: `0x${'00'.repeat(32)}`,
          inputRoot: batchInputRoot(bundle.graph, values, 1),
          items: 1,
          lane: 'zk',
          policyHash: client.policyHash,
          price: 100n,
          surcharge: 0n,
          outputBytes: 64,
          deliverBy: 4_000_000_000,
          validUntil: 4_000_000_000,
          nonce: nonce++,
        }));
        return { bundle, inputs, orders };
      }),
    );
    // The digest is that of the model with the key that proofs are checked with.
    const digests = groups.map(({ bundle }) => maker.prover.keyOf(bundle));
    const orders = groups.flatMap(({ orders: own }, g) =>
      own.map((order) => ({ ...order, modelDigest: modelKeyDigest(digests[g]!) as Hex })),
    );
    const signed = await Promise.all(
      orders.map(async (order) => ({
        order,
        requesterSignature: await signOrder(order, client.domain, requester),
        executorSignature: await signAcceptance(order, client.domain, executor),
      })),
    );
    const poster = new Wallet(anvilKey(0), provider);
    for (let at = 0; at < signed.length; at += 32)
      await sendAs(provider, poster, client.escrow.openCall(signed.slice(at, at + 32)));
    lap('contracts and orders');

    const hashes = orders.map((order) => hashOrder(order, client.domain));
    let at = 0;
    const jobs = groups.map(({ bundle, inputs }) => ({
      bundle,
      receipts: inputs,
      contexts: inputs.map(() => Buffer.from(hashes[at++]!.slice(2), 'hex')),
    }));
    const joint = proveJoint(maker.prover, shape, jobs, place);
    lap('joint proof');
    const { proof, peakBytes } = await wrapJoint(circuit, joint);
    lap('wrap');
    const evidence = encodeEvidence(0, shape, joint, proof, jobs);
    const claims = verifyBatch(checkerOf(maker.srs, prepared, place), evidence);
    lap('check in TypeScript');
    const receipts = await Promise.all(
      orders.map(async (order, i) => {
        const group = models.findIndex((_, g) => i < models.slice(0, g + 1).reduce((sum, [, count]) => sum + count, 0));
        const receipt: Receipt = {
          orderHash: hashes[i]!,
          modelDigest: order.modelDigest,
          inputRoot: order.inputRoot,
          outputRoot: claimedOutputRoot(shape, group, bundles[group]!.graph, claims[i]!) as Hex,
          traceRoot: `0x${'00'.repeat(32)}`,
          opCount: 1,
          items: 1,
          amount: order.price,
          lane: 'zk',
          policyHash: order.policyHash,
          executor: order.executor,
          issuedAt: 1,
        };
        return { receipt, signature: await signReceipt(receipt, client.domain, executor) };
      }),
    );
    const told = await evidenceFor(
      client.context,
      client.policy.verifier,
      'batch',
      `0x${Buffer.from(evidence).toString('hex')}`,
    );
    const salt = id('salt') as Hex;
    const call = client.rollup.commitProvedCall(client.policyHash, receipts, salt, told);
    const mined = (await (await poster.sendTransaction({ ...call, gasLimit: 16_000_000n })).wait())!;
    const asked = { to: client.policy.verifier, data: verifier.encodeFunctionData('verify', [told]) };
    const alone = Number((await (await poster.sendTransaction({ ...asked, gasLimit: 16_000_000n })).wait())!.gasUsed);
    const leaves = receipts.map(({ receipt }, i) => leafHash(i, 'zk', receiptStructHash(receipt)));
    const identity = {
      lane: 'zk' as const,
      count: receipts.length,
      poster: lower(poster.address),
      salt,
      policyHash: client.policyHash,
      batchRoot: batchRoot(leaves),
    };
    const header = (await client.rollup.headerIn(mined.hash as Hex, batchHash(identity, client.domain)))!;
    for (const [i, { receipt }] of receipts.entries())
      expect(await client.rollup.statusOf(receipt, i, merklePath(leaves, i), header, 'latest')).toBe('final-zk');
    lap('posting');
    const size = circuitSize(r1cs);
    console.log(
      JSON.stringify({
        n,
        models,
        ...size,
        ...lines,
        peakBytes,
        zkey: statSync(circuit.provingKey).size,
        verify: alone,
        commitProved: Number(mined.gasUsed),
      }),
    );
    expect({ constraints: size.constraints, receipts: receipts.length }).toMatchSnapshot();
    // A proof's bytes differ from run to run, and with them the gas of its calldata.
    expect(alone).toBeLessThan(receipts.length > 8 ? 715_000 : receipts.length > 3 ? 492_000 : 520_000);
    provider.destroy();
  } finally {
    await anvil.stop();
    await maker.arithmetic.close();
  }
});
