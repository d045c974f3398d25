/**
 * A float32 claim before the judges of a real deployment: Escrow, ReceiptRollup, DisputeGame and FloatStep under one
 * policy. A shipped model is run by onnxruntime; what it computed is committed, ordered, opened, bound and disputed.
 * Paths and contents of nodes are those of TestTrace, which is written apart from the code that commits.
 */
import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '../../graph/commitment/encoding.js';
import { openCommittedOutput, type OutputRange } from '../../graph/commitment/open-output.js';
import { CHUNK_ELEMENTS } from '../../graph/commitment/tensor-root.js';
import { loadMnist } from '../../models/data/mnist.js';
import { modelFile } from '../../models/model-file.js';
import type { Hex } from '../../receipts/types.js';
import type { FaultProof, GameNode } from '../../verifier-contracts/dispute-types.js';
import type { OutputOpening } from '../../verifier-contracts/escrow-client.js';
import {
  D,
  refusal,
  START_TIMEOUT_MS,
  startGame,
  type GameFixture,
  type Job,
} from '../../verifier-contracts/harness/dispute/game-fixture.js';
import {
  chunksNode,
  inputsNode,
  outputsNode,
  ports,
  sumsNode,
  tensorNode,
  TestTrace,
  traceRootNode,
} from '../../verifier-contracts/harness/dispute/test-trace.js';
import { bitsOf, type CommittedTensor } from './commit-tensor.js';
import { commitFloatTrace } from './commit-trace.js';
import { bundleOfGraph, floatBundle } from './float-bundle.js';
import { encodeFloatEvidence, floatEvidence, floatFaultProof, type FloatEvidence } from './float-evidence.js';
import { screenFloatTrace, type FloatFinding } from './screen-float-trace.js';
import { runOnnxruntime } from './testing/run-onnxruntime.js';
import type { FloatGraph, FloatNode } from './types.js';

/** Outputs of 8 items are 80 elements: two chunks. */
const ITEMS = 8;
const bundle = floatBundle(readFileSync(modelFile('mnist-mlp')), 'mnist-mlp.onnx');
const { graph } = bundle;
const input = Float32Array.from(loadMnist('heldOut', ITEMS).values);
/** Layers, as values. */
const layers = graph.nodes.flatMap(({ kind }, j) => (kind === 'dense' ? [graph.inputs.length + j] : []));
const [FIRST, LAST] = [layers[0]!, layers.at(-1)!];

let f: GameFixture;
let honest: Float32Array[];
beforeAll(async () => {
  f = await startGame('float');
  honest = await run(graph);
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const run = (of: FloatGraph): Promise<Float32Array[]> => runOnnxruntime(ort, bundleOfGraph(of), [input], ITEMS);
/** Of precommit and proveFault together. */
const PROOF_GAS = 1_200_000n;

const hex = (bytes: Uint8Array): Hex => toHex(bytes) as Hex;

type Committed = ReturnType<typeof commitFloatTrace>;

/** A job whose executor claims to have computed these slots, bound. */
async function claim(slots: readonly Float32Array[]): Promise<{ readonly job: Job; readonly committed: Committed }> {
  const committed = commitFloatTrace(graph, slots, ITEMS);
  const { trace, inputs, outputs } = committed;
  const roots = trace.slots.map(({ root }) => hex(root));
  const shown = new TestTrace(roots, undefined, new Map(trace.slots.map((tensor, slot) => [slot, nodesOf(tensor)])));
  expect(shown.traceRoot).toBe(trace.traceRoot);
  const order = { modelDigest: bundle.model.digest as Hex, inputRoot: inputs.root as Hex, items: ITEMS };
  const job = await f.job(shown, { outputRoot: outputs.root as Hex }, order);
  expect(job.receipt.opCount).toBe(graph.values.length);
  return { job, committed };
}

function nodesOf({ header, elements, leaves, root }: CommittedTensor) {
  const bytes = 4 * CHUNK_ELEMENTS;
  return {
    header: hex(header),
    chunks: leaves.map((_, i) => hex(elements.subarray(i * bytes, (i + 1) * bytes))),
    leaves: leaves.map(hex),
    root: hex(root),
  };
}

const stepProof = ({ trace }: Committed, value: number, element: number): FaultProof =>
  floatFaultProof(bundle, { fault: 'step', trace, value, element });

/** The proof with other evidence. */
function forged(
  committed: Committed,
  value: number,
  element: number,
  change: (evidence: FloatEvidence) => FloatEvidence,
): FaultProof {
  const evidence = floatEvidence(bundle, { fault: 'step', trace: committed.trace, value, element });
  return { ...stepProof(committed, value, element), evidence: encodeFloatEvidence(change(evidence)) };
}

/** The last byte of what is opened. */
function withFlippedElement<T extends { readonly tensor: FloatEvidence['slots'][number]['tensor'] }>(opened: T): T {
  const runs = opened.tensor.runs.map((run) => {
    const last = (parseInt(run.elements.slice(-2), 16) ^ 1).toString(16).padStart(2, '0');
    return { ...run, elements: `${run.elements.slice(0, -2)}${last}` };
  });
  return { ...opened, tensor: { ...opened.tensor, runs } };
}

/** Announced, and old enough to be shown. */
async function announce(job: Job, proof: FaultProof): Promise<bigint> {
  const { gasUsed, time } = await f.precommit(job, proof);
  await f.passTo(time + f.policy.precommitDelay + 1);
  return gasUsed;
}

/** The first of the largest by absolute value. */
const largestOf = (data: Float32Array): number =>
  data.reduce((best, x, i) => (Math.abs(x) > Math.abs(data[best]!) ? i : best), 0);

/** What is furthest beyond its bound. */
const worstOf = (slots: readonly Float32Array[], value: number): FloatFinding =>
  screenFloatTrace(graph, slots)[value - graph.inputs.length]!.worst.slashable!;

const slashableIn = (slots: readonly Float32Array[]): number =>
  screenFloatTrace(graph, slots).reduce((sum, { slashable }) => sum + slashable, 0);

/** The honest slots but for what is done to one element. */
function altered(slot: number, element: number, change: (data: Float32Array) => void): Float32Array[] {
  return honest.map((data, i) => {
    if (i !== slot) return data;
    const copy = Float32Array.from(data);
    change(copy.subarray(element, element + 1));
    return copy;
  });
}

/** Times after which neither an open demand nor the window keeps the claim from being final. */
const allOver = async (job: Job): Promise<void> => f.passTo(Math.max(await f.now(), job.windowEnd + 8 * D));

async function expectPaid(job: Job): Promise<void> {
  await allOver(job);
  const moved = await f.moved(() => f.settle(job));
  expect(await f.stateOf(job)).toBe('final');
  expect((await f.client.escrow.orderOf(job.receipt.orderHash)).state).toBe('paid');
  expect(moved['account']).toBeGreaterThan(job.receipt.amount / 2n);
}

function print(what: string, gas: Readonly<Record<string, bigint>>): void {
  const parts = Object.entries(gas).map(([name, used]) => `${name} ${used}`);
  console.log(`float game, ${what}, gas: ${parts.join(', ')}`);
}

/** Announces and shows the fault: the order is slashed, and the watcher gets the bounty and what the calls are worth. */
async function expectSlashed(job: Job, proof: FaultProof, what: string): Promise<void> {
  const { bountyOpenBps, gasKill, unitPrice } = f.policy;
  const { lock } = await f.client.escrow.orderOf(job.receipt.orderHash);
  const precommit = await announce(job, proof);
  let proveFault = 0n;
  const moved = await f.moved(async () => {
    proveFault = (await f.prove(job, proof)).gasUsed;
  });
  expect(await f.stateOf(job)).toBe('dead');
  expect((await f.client.escrow.orderOf(job.receipt.orderHash)).state).toBe('slashed');
  expect(moved['watcher']).toBe((lock * BigInt(bountyOpenBps)) / 10_000n + BigInt(gasKill) * unitPrice);
  expect(moved['requester']).toBeGreaterThanOrEqual(job.order.price);
  print(what, { precommit, proveFault });
  expect(precommit + proveFault).toBeLessThan(PROOF_GAS);
}

describe('an honest float claim', () => {
  it('answers for trace, ports, tensor and chunks; nothing forged is taken; it becomes final and is paid', () =>
    f.apart(async () => {
      const { job, committed } = await claim(honest);
      expect(slashableIn(honest)).toBe(0);
      const { trace, inputs, outputs } = committed;
      const chunks = trace.slots[FIRST]!.leaves.length;
      const gas: Record<string, bigint> = {};
      const asked: [string, GameNode, Hex][] = [
        ['trace', traceRootNode, job.trace.content(traceRootNode)],
        ['inputs', inputsNode, ports(0, inputs.roots.map(hex)).content],
        ['outputs', outputsNode, ports(1, outputs.roots.map(hex)).content],
        ['tensor', tensorNode(FIRST), job.trace.content(tensorNode(FIRST))],
        ['chunk', chunksNode(FIRST, 1), job.trace.content(chunksNode(FIRST, 1))],
        ['all chunks', chunksNode(FIRST, 0, chunks), job.trace.content(chunksNode(FIRST, 0, chunks))],
      ];
      for (const [name, node, content] of asked) {
        gas[`demand ${name}`] = (await f.demand(job, node)).gasUsed;
        const other = `${content.slice(0, -1)}${content.endsWith('0') ? '1' : '0'}` as Hex;
        expect(await refusal(f.answer(job, node, { content: other })), name).toBe('AnswerInvalid');
        gas[`answer ${name}`] = (await f.answer(job, node, { content })).gasUsed;
      }
      // No other header than float32's leads to the tensor that was committed.
      const path = job.trace.path(chunksNode(FIRST, 2));
      const integers = `0x800000007fffffff${path.tensorHeader.slice(18)}` as Hex;
      const asIntegers = f.demand(job, chunksNode(FIRST, 2), { path: { ...path, tensorHeader: integers } });
      expect(await refusal(asIntegers)).toBe('NodeInvalid');
      const none = `0x7fffffff80000001${path.tensorHeader.slice(18)}` as Hex;
      const asNone = f.demand(job, chunksNode(FIRST, 2), { path: { ...path, tensorHeader: none } });
      expect(await refusal(asNone)).toBe('NodeInvalid');

      // An element of floats has no order of summing that its executor could state.
      expect(await refusal(f.demand(job, sumsNode(FIRST, 0, 2), { evidence: '0x' }))).toBe('NoStatement');

      const proof = stepProof(committed, FIRST, 100);
      gas['precommit'] = await announce(job, proof);
      expect(await refusal(f.prove(job, proof))).toBe('NoFault');
      const inSlot = forged(committed, FIRST, 100, (evidence) => ({
        ...evidence,
        slots: evidence.slots.map((slot, i) => (i === 0 ? withFlippedElement(slot) : slot)),
      }));
      expect(await refusal(f.prove(job, inSlot))).toBe('EvidenceInvalid');
      const inWeights = forged(committed, FIRST, 100, (evidence) => ({
        ...evidence,
        constants: evidence.constants.map(withFlippedElement),
      }));
      expect(await refusal(f.prove(job, inWeights))).toBe('EvidenceInvalid');
      await expectPaid(job);
      print('honest claim', gas);
    }));
});

describe('a lie beyond the bound', () => {
  it('a weight of the first layer changed: proved, the order slashed, the watcher paid', () =>
    f.apart(async () => {
      const nodes = graph.nodes.map((node, j): FloatNode => {
        if (graph.inputs.length + j !== FIRST || node.kind !== 'dense') return node;
        // The pixel that counts most: one at the border counts for nothing.
        const pixel = largestOf(input.subarray(0, node.weight.shape[1]));
        const data = node.weight.data.map((weight, i) => (i === pixel ? weight + 0.25 : weight));
        return { ...node, weight: { ...node.weight, data } };
      });
      const slots = await run({ ...graph, nodes });
      const { element } = worstOf(slots, FIRST);
      // Row 0 of the weights, in one item or another; all that is computed from it is as it follows.
      expect(element % graph.values[FIRST]!.shape[0]!).toBe(0);
      const { job, committed } = await claim(slots);
      await expectSlashed(job, stepProof(committed, FIRST, element), '784 products, a weight changed');
    }));

  it.each([
    ['the first layer', FIRST],
    ['a Relu', FIRST + 1],
    ['the output', LAST],
  ])('an element of %s off by a thousandth: proved, the order slashed, the watcher paid', (_, value) =>
    f.apart(async () => {
      const most = largestOf(honest[value]!);
      const slots = altered(value, most, (data) => (data[0]! *= 1.001));
      const { element } = worstOf(slots, value);
      expect(element).toBe(most);
      const { job, committed } = await claim(slots);
      const { kind } = graph.nodes[value - graph.inputs.length]!;
      await expectSlashed(job, stepProof(committed, value, element), `${kind}, value ${value}`);
    }),
  );
});

describe('a lie within the bound', () => {
  it('an output one unit in the last place off has no fault, and is paid', () =>
    f.apart(async () => {
      const element = largestOf(honest[LAST]!);
      const slots = altered(LAST, element, (data) => {
        bitsOf(data)[0]! += 1;
      });
      expect(slots[LAST]![element]).not.toBe(honest[LAST]![element]);
      expect(slashableIn(slots)).toBe(0);
      const { job, committed } = await claim(slots);
      const proof = stepProof(committed, LAST, element);
      await announce(job, proof);
      expect(await refusal(f.prove(job, proof))).toBe('NoFault');
      await expectPaid(job);
    }));
});

describe('an output of float32', () => {
  it('is demanded and answered through the escrow, and nothing else is taken for it', () =>
    f.apart(async () => {
      const { job, committed } = await claim(honest);
      const { escrow } = f.client;
      const tensors = graph.outputs.map(({ value }) => committed.trace.slots[value]!);
      const open = (range: OutputRange): OutputOpening => openCommittedOutput(tensors, range) as OutputOpening;
      const gas: Record<string, bigint> = {};
      for (const range of [
        { tensor: 0, firstChunk: 1, chunkCount: 1 },
        { tensor: 0, firstChunk: 0, chunkCount: 1 },
        { tensor: 0, firstChunk: 2, chunkCount: 1 },
        { tensor: 1, firstChunk: 0, chunkCount: 1 },
      ]) {
        const name = `${range.tensor}/${range.firstChunk}+${range.chunkCount}`;
        gas[`demand ${name}`] = (await f.send('requester', escrow.demandOutputCall(job, range))).gasUsed;
        const opening = open(range);
        const bad = [{ ...opening, tensorHeader: `0x800000007fffffff${opening.tensorHeader.slice(18)}` as Hex }];
        if (opening.elements !== '0x') {
          const last = opening.elements.endsWith('0') ? '1' : '0';
          bad.push({ ...opening, elements: `${opening.elements.slice(0, -1)}${last}` as Hex });
        }
        for (const other of bad)
          expect(await refusal(f.send('account', escrow.answerOutputCall(job, range, other)))).toBe('OpeningInvalid');
        gas[`answer ${name}`] = (await f.send('account', escrow.answerOutputCall(job, range, opening))).gasUsed;
      }
      expect(open({ tensor: 0, firstChunk: 1, chunkCount: 1 }).elements).toHaveLength(2 + 2 * 4 * 16);
      await expectPaid(job);
      print('outputs', gas);
    }));
});
