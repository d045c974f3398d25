import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generator } from '../../graph/onnx/testing/random.js';
import { sizeOf } from '../../graph/tensor.js';
import type { Receipt } from '../../receipts/types.js';
import { FAULTS, type FaultProof } from '../../verifier-contracts/dispute-types.js';
import { deployFloat, type FloatChain } from '../../verifier-contracts/harness/float/deploy-float.js';
import { bitsOf, committed, floatHeader } from './commit-tensor.js';
import { commitFloatTrace, commitPorts, commitSlots } from './commit-trace.js';
import { bundleOfGraph, type FloatBundle } from './float-bundle.js';
import {
  encodeFloatEvidence,
  floatEvidence,
  floatFaultProof,
  type FloatEvidence,
  type FloatFault,
} from './float-evidence.js';
import { isElementAllowed } from './judge-element.js';
import { screenElement } from './screen-float-trace.js';
import { bitsOfNumber, numberOfBits } from './testing/random-sums.js';
import { FLOAT_KINDS, randomGraph, randomInput, runPlainly } from './testing/random-graph.js';
import type { FloatGraph } from './types.js';

const seed = Date.now() >>> 0;
const GRAPHS = 14;
const ELEMENTS = 12;
const ZERO = `0x${'00'.repeat(32)}` as const;
let chain: FloatChain;

beforeAll(async () => {
  chain = await deployFloat();
}, 300_000);
afterAll(() => chain?.stop());

interface Claim {
  readonly bundle: FloatBundle;
  readonly items: number;
  readonly committed: ReturnType<typeof commitFloatTrace>;
  readonly receipt: Receipt;
}

function claimOf(graph: FloatGraph, slots: readonly Float32Array[], items: number): Claim {
  const bundle = bundleOfGraph(graph);
  const made = commitFloatTrace(graph, slots, items);
  const receipt: Receipt = {
    orderHash: ZERO,
    modelDigest: bundle.model.digest as Receipt['modelDigest'],
    inputRoot: made.inputs.root as Receipt['inputRoot'],
    outputRoot: made.outputs.root as Receipt['outputRoot'],
    traceRoot: made.trace.traceRoot as Receipt['traceRoot'],
    opCount: graph.values.length,
    items,
    amount: 1n,
    lane: 'optimistic',
    policyHash: ZERO,
    executor: `0x${'11'.repeat(20)}`,
    issuedAt: 0,
  };
  return { bundle, items, committed: made, receipt };
}

/** A finding's id, or the name of the error with its argument. */
async function judge(receipt: Receipt, proofs: readonly Pick<FaultProof, 'fault' | 'evidence'>[]): Promise<string[]> {
  const [ids, errors] = (await chain.harness.getFunction('judgeAll')(
    await chain.step.getAddress(),
    { ...receipt, lane: 2 },
    proofs.map(({ fault }) => FAULTS.indexOf(fault)),
    proofs.map(({ evidence }) => evidence),
    { gasLimit: 400_000_000 },
  )) as [string[], string[]];
  return ids.map((id, i) =>
    errors[i] === '0x00000000' ? id : (chain.step.interface.getError(errors[i]!)?.name ?? errors[i]!),
  );
}

const judgeFault = async ({ bundle, receipt }: Claim, fault: FloatFault): Promise<string> =>
  (await judge(receipt, [floatFaultProof(bundle, fault)]))[0]!;

describe(`one step of a float graph, seed ${seed}`, () => {
  it('is a contract that fits', () => {
    expect(chain.stepBytes).toBeLessThan(24_000);
  });

  it.each(FLOAT_KINDS)('%s: the contract and its mirror agree on honest and altered elements', async (kind) => {
    const next = generator(seed + FLOAT_KINDS.indexOf(kind));
    let faults = 0;
    for (let round = 0; round < GRAPHS; round++) {
      const graph = randomGraph(next, kind);
      const items = 1 + Math.floor(next() * 2);
      const wild = round % 2 === 1;
      const inputs = graph.inputs.map(({ value }) =>
        randomInput(next, items * sizeOf(graph.values[value]!.shape), wild),
      );
      const slots = runPlainly(graph, inputs, items);
      const value = graph.inputs.length;
      const output = slots[value]!;
      for (let element = 0; element < output.length; element++)
        expect(isElementAllowed(graph, slots, value, element), `round ${round}, honest element ${element}`).toBe(true);
      const bits = bitsOf(output);
      const elements = Array.from({ length: ELEMENTS }, () => Math.floor(next() * output.length));
      for (const element of elements.slice(2)) bits[element] = altered(next, bits[element]!);
      const claim = claimOf(graph, slots, items);
      const proofs = elements.map((element) =>
        floatFaultProof(claim.bundle, { fault: 'step', trace: claim.committed.trace, value, element }),
      );
      const found = await judge(claim.receipt, proofs);
      elements.forEach((element, i) => {
        const right = isElementAllowed(graph, slots, value, element);
        const shown = `round ${round}, element ${element}, bits ${bits[element]}`;
        expect(found[i], shown).toBe(right ? 'NoFault' : proofs[i]!.faultId);
        expect(screenElement(graph, slots, value, element)?.tier === 'slashable', shown).toBe(!right);
        if (!right) faults++;
      });
    }
    expect(faults).toBeGreaterThan(GRAPHS);
  });
});

/** Other bits: near, far, special. */
function altered(next: () => number, bits: number): number {
  switch (Math.floor(next() * 6)) {
    case 0:
      return (bits ^ (1 << Math.floor(next() * 8))) >>> 0;
    case 1:
      return (bits ^ (1 << Math.floor(next() * 32))) >>> 0;
    case 2:
      return bitsOfNumber(numberOfBits(bits) * (1 + 2 ** -Math.floor(next() * 24)));
    case 3:
      return [0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000][Math.floor(next() * 5)]!;
    case 4:
      return bitsOfNumber(numberOfBits(bits) + 1e-38);
    default:
      return Math.floor(next() * 2 ** 32);
  }
}

describe('structural faults of a float claim', () => {
  const next = generator(7);
  const graph = randomGraph(next, 'conv');
  const items = 2;
  const slots = runPlainly(
    graph,
    graph.inputs.map(({ value }) => randomInput(next, items * sizeOf(graph.values[value]!.shape), false)),
    items,
  );
  const honest = claimOf(graph, slots, items);
  const { trace, inputs, outputs } = honest.committed;

  it('an honest claim has none', async () => {
    const faults: FloatFault[] = [
      { fault: 'header', trace, value: 0 },
      { fault: 'header', trace, value: 1 },
      { fault: 'inputBinding', trace, ports: inputs, port: 0 },
      { fault: 'outputBinding', trace, ports: outputs, port: 0 },
      { fault: 'slotCount', trace },
      { fault: 'opCount' },
      { fault: 'portCount', ports: inputs },
      { fault: 'portCount', ports: outputs },
    ];
    const proofs = faults.map((fault) => floatFaultProof(honest.bundle, fault));
    expect(await judge(honest.receipt, proofs)).toEqual(faults.map(() => 'NoFault'));
  });

  it('a header of other items, shape, layout or type is one', async () => {
    const { shape, layout } = graph.values[1]!;
    const right = trace.slots[1]!;
    const integer = Uint8Array.from(right.header);
    new DataView(integer.buffer).setInt32(0, -(2 ** 31));
    new DataView(integer.buffer).setInt32(4, 2 ** 31 - 1);
    const headers = [
      floatHeader(shape, layout, items + 1),
      floatHeader([...shape].reverse(), layout, items),
      floatHeader(shape, [...layout].reverse(), items),
      integer,
    ];
    for (const header of headers) {
      const forged = commitSlots([trace.slots[0]!, committed(header, right.elements)], items);
      const claim = { ...honest, receipt: { ...honest.receipt, traceRoot: forged.traceRoot as Receipt['traceRoot'] } };
      const fault: FloatFault = { fault: 'header', trace: forged, value: 1 };
      expect(await judgeFault(claim, fault)).toBe(floatFaultProof(claim.bundle, fault).faultId);
      // Elements under a wrong header are no operands: the header is the fault.
      expect(await judgeFault(claim, { fault: 'step', trace: forged, value: 1, element: 0 })).toBe('EvidenceInvalid');
    }
  });

  it('ports that are not the slots are one', async () => {
    const other = commitFloatTrace(
      graph,
      [slots[0]!.map((value) => value + 1), slots[1]!.map((value) => value + 1)],
      items,
    );
    const receipt = {
      ...honest.receipt,
      inputRoot: other.inputs.root as Receipt['inputRoot'],
      outputRoot: other.outputs.root as Receipt['outputRoot'],
    };
    for (const fault of [
      { fault: 'inputBinding', trace, ports: other.inputs, port: 0 },
      { fault: 'outputBinding', trace, ports: other.outputs, port: 0 },
    ] as const)
      expect(await judgeFault({ ...honest, receipt }, fault)).toBe(floatFaultProof(honest.bundle, fault).faultId);
  });

  it('other numbers of slots and ports are one', async () => {
    const more = commitSlots([...trace.slots, trace.slots[0]!], items);
    const ports = commitPorts(0, [...inputs.roots, ...inputs.roots]);
    const none = commitPorts(1, []);
    const cases: [Partial<Receipt>, FloatFault][] = [
      [{ traceRoot: more.traceRoot as Receipt['traceRoot'] }, { fault: 'slotCount', trace: more }],
      [{ opCount: graph.values.length + 1 }, { fault: 'opCount' }],
      [{ inputRoot: ports.root as Receipt['inputRoot'] }, { fault: 'portCount', ports }],
      [{ outputRoot: none.root as Receipt['outputRoot'] }, { fault: 'portCount', ports: none }],
    ];
    for (const [changed, fault] of cases)
      expect(await judgeFault({ ...honest, receipt: { ...honest.receipt, ...changed } }, fault)).toBe(
        floatFaultProof(honest.bundle, fault).faultId,
      );
  });

  it('forged evidence against an honest claim is refused', async () => {
    const flip = (hex: string, at: number): string =>
      `${hex.slice(0, at)}${hex[at] === '0' ? '1' : '0'}${hex.slice(at + 1)}`;
    const of = (fault: FloatFault): FloatEvidence => floatEvidence(honest.bundle, fault);
    const forgedHeader = (evidence: FloatEvidence): FloatEvidence => ({
      ...evidence,
      slots: evidence.slots.map((slot) => ({
        ...slot,
        tensor: { ...slot.tensor, header: flip(slot.tensor.header, 30) },
      })),
    });
    const binding = of({ fault: 'inputBinding', trace, ports: inputs, port: 0 });
    const outputBinding = of({ fault: 'outputBinding', trace, ports: outputs, port: 0 });
    const forged: [FaultProof['fault'], FloatEvidence][] = [
      ['header', forgedHeader(of({ fault: 'header', trace, value: 1 }))],
      ['header', { ...of({ fault: 'header', trace, value: 1 }), value: 2 }],
      ['inputBinding', { ...binding, portTensor: flip(binding.portTensor, 9) }],
      ['inputBinding', forgedHeader(binding)],
      ['inputBinding', { ...binding, portCount: 2 }],
      ['inputBinding', { ...binding, value: 1 }],
      ['inputBinding', { ...binding, portPath: [ZERO] }],
      ['outputBinding', { ...outputBinding, portTensor: flip(outputBinding.portTensor, 9) }],
      ['outputBinding', forgedHeader(outputBinding)],
      ['outputBinding', { ...outputBinding, value: 1 }],
      ['slotCount', { ...of({ fault: 'slotCount', trace }), slotCount: 3 }],
      ['portCount', { ...of({ fault: 'portCount', ports: inputs }), portCount: 2 }],
      ['portCount', { ...of({ fault: 'portCount', ports: inputs }), value: 2 }],
      ['portCount', { ...of({ fault: 'portCount', ports: inputs }), portPath: [] }],
    ];
    const proofs = forged.map(([fault, evidence]) => ({ fault, evidence: encodeFloatEvidence(evidence) }));
    expect(await judge(honest.receipt, proofs)).toEqual(forged.map(() => 'EvidenceInvalid'));
  });

  it('faults that floats do not have, and statements, are refused', async () => {
    const { evidence } = floatFaultProof(honest.bundle, { fault: 'opCount' });
    const faults = ['part', 'inputRange', 'commitIndex'] as const;
    expect(
      await judge(
        honest.receipt,
        faults.map((fault) => ({ fault, evidence })),
      ),
    ).toEqual(faults.map(() => 'EvidenceInvalid'));
    const node = { kind: 5, slot: 0, height: 0, first: 0, count: 1 };
    await expect(
      chain.step.getFunction('requireStatement')({ ...honest.receipt, lane: 2 }, node, '0x'),
    ).rejects.toThrow(/NoStatement/);
  });
});

describe('gas of one judgement, as a transaction of its own', () => {
  // Measured 0.171, 0.817, 2.89 and 5.66 million: some 560 a product, chunk hashing included; half of the cap of 2^24
  // is 8.39.
  it.each([
    [64, 200_000],
    [1024, 930_000],
    [4096, 3_300_000],
    [8192, 6_400_000],
  ])('a sum of %i products', async (depth, limit) => {
    const next = generator(depth);
    const weight = { shape: [1, depth], data: randomInput(next, depth, false) };
    const graph: FloatGraph = {
      name: 'dense',
      inputs: [{ name: 'x', value: 0 }],
      nodes: [{ kind: 'dense', x: 0, weight, bias: { shape: [1], data: Float32Array.of(1) } }],
      values: [
        { name: 'x', shape: [depth], layout: [0] },
        { name: 'y', shape: [1], layout: [0] },
      ],
      outputs: [{ name: 'y', value: 1 }],
    };
    const slots = runPlainly(graph, [randomInput(next, depth, false)], 1);
    slots[1]![0]! += 1000;
    const { bundle, receipt, committed: made } = claimOf(graph, slots, 1);
    const { evidence } = floatFaultProof(bundle, { fault: 'step', trace: made.trace, value: 1, element: 0 });
    const gas = await chain.step.getFunction('judge').estimateGas({ ...receipt, lane: 2 }, 0, evidence);
    expect(Number(gas)).toBeLessThan(limit);
  });
});

describe('evidence that shows something else', () => {
  const next = generator(11);
  const weight = { shape: [2, 130], data: randomInput(next, 260, false) };
  const graph: FloatGraph = {
    name: 'dense',
    inputs: [{ name: 'x', value: 0 }],
    nodes: [{ kind: 'dense', x: 0, weight, bias: { shape: [2], data: randomInput(next, 2, false) } }],
    values: [
      { name: 'x', shape: [130], layout: [0] },
      { name: 'y', shape: [2], layout: [0] },
    ],
    outputs: [{ name: 'y', value: 1 }],
  };
  const slots = runPlainly(graph, [randomInput(next, 130, false)], 1);
  slots[1]![1]! += 1;
  const claim = claimOf(graph, slots, 1);
  const fault: FloatFault = { fault: 'step', trace: claim.committed.trace, value: 1, element: 1 };
  const evidence = floatEvidence(claim.bundle, fault);

  const flip = (hex: string, at = 2): string => `${hex.slice(0, at)}${hex[at] === '0' ? '1' : '0'}${hex.slice(at + 1)}`;
  const withTensor = (which: 'slots' | 'constants', i: number, change: (tensor: Opened) => Opened): FloatEvidence => ({
    ...evidence,
    [which]: evidence[which].map((opening, k) => (k === i ? { ...opening, tensor: change(opening.tensor) } : opening)),
  });
  type Opened = FloatEvidence['slots'][number]['tensor'];
  const withRun = (tensor: Opened, change: (run: Opened['runs'][number]) => Opened['runs'][number]): Opened => ({
    ...tensor,
    runs: tensor.runs.map(change),
  });
  const withDescriptor = (i: number, change: (encoded: string) => string): FloatEvidence => ({
    ...evidence,
    model: {
      ...evidence.model,
      descriptors: evidence.model.descriptors.map((found, k) =>
        k === i ? { ...found, encoded: change(found.encoded) } : found,
      ),
    },
  });

  it('proves the fault as it is', async () => {
    expect(await judgeFault(claim, fault)).toBe(floatFaultProof(claim.bundle, fault).faultId);
  });

  it.each<[string, FloatEvidence]>([
    ['another graph root', { ...evidence, model: { ...evidence.model, graphRoot: flip(evidence.model.graphRoot) } }],
    [
      'another weights root',
      { ...evidence, model: { ...evidence.model, weightsRoot: flip(evidence.model.weightsRoot) } },
    ],
    ['another number of nodes', { ...evidence, model: { ...evidence.model, opCount: 2 } }],
    ['another key', { ...evidence, model: { ...evidence.model, modelKeyHash: flip(evidence.model.modelKeyHash) } }],
    ['another number of descriptors', { ...evidence, model: { ...evidence.model, descriptorCount: 5 } }],
    ['another header descriptor', withDescriptor(0, (hex) => flip(hex, 9))],
    ['another operator', withDescriptor(2, (hex) => flip(hex, 3))],
    ['another weight root in the descriptor', withDescriptor(2, (hex) => flip(hex, hex.length - 100))],
    [
      'a descriptor that is missing',
      { ...evidence, model: { ...evidence.model, descriptors: evidence.model.descriptors.slice(0, 2) } },
    ],
    [
      'another y',
      withTensor('slots', 0, (tensor) => withRun(tensor, (run) => ({ ...run, elements: flip(run.elements, 12) }))),
    ],
    [
      'another x',
      withTensor('slots', 1, (tensor) => withRun(tensor, (run) => ({ ...run, elements: flip(run.elements, 12) }))),
    ],
    [
      'an x too short',
      withTensor('slots', 1, (tensor) => withRun(tensor, (run) => ({ ...run, elements: run.elements.slice(0, -8) }))),
    ],
    ['x from another chunk', withTensor('slots', 1, (tensor) => withRun(tensor, (run) => ({ ...run, firstChunk: 1 })))],
    ['x with another header', withTensor('slots', 1, (tensor) => ({ ...tensor, header: flip(tensor.header, 30) }))],
    ['x without elements', withTensor('slots', 1, (tensor) => ({ ...tensor, runs: [] }))],
    [
      'another weight',
      withTensor('constants', 0, (tensor) => withRun(tensor, (run) => ({ ...run, elements: flip(run.elements, 60) }))),
    ],
    [
      'the weight for the bias',
      { ...evidence, constants: [evidence.constants[0]!, { ...evidence.constants[0]!, ordinal: 1 }] },
    ],
    ['no bias', { ...evidence, constants: evidence.constants.slice(0, 1) }],
    ['another number of slots', { ...evidence, slotCount: 3 }],
    [
      'the slots exchanged',
      { ...evidence, slots: evidence.slots.map((opened, i) => ({ ...opened, slot: 1 - evidence.slots[i]!.slot })) },
    ],
    ['another position', { ...evidence, slots: evidence.slots.map((opened) => ({ ...opened, position: 0 })) }],
    ['a segment', { ...evidence, slots: evidence.slots.map((opened) => ({ ...opened, segment: 1 })) }],
    [
      'a path too long',
      { ...evidence, slots: evidence.slots.map((opened) => ({ ...opened, path: [...opened.path, ZERO] })) },
    ],
    ['an element beyond the item', { ...evidence, element: 2 }],
    ['an input', { ...evidence, value: 0 }],
    ['a value that does not exist', { ...evidence, value: 2 }],
  ])('%s is refused', async (_, shown) => {
    const found = await judge(claim.receipt, [{ fault: 'step', evidence: encodeFloatEvidence(shown) }]);
    expect(found).toEqual(['EvidenceInvalid']);
  });

  it('of several runs every one is checked', async () => {
    const tall: FloatGraph = {
      name: 'tall',
      inputs: [{ name: 'x', value: 0 }],
      nodes: [
        {
          kind: 'averagePool',
          x: 0,
          window: { kernel: [3, 1], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] },
          countsPadding: false,
        },
      ],
      values: [
        { name: 'x', shape: [1, 3, 200], layout: [0, 1, 2] },
        { name: 'y', shape: [1, 1, 200], layout: [0, 1, 2] },
      ],
      outputs: [{ name: 'y', value: 1 }],
    };
    const right = claimOf(tall, runPlainly(tall, [randomInput(next, 600, false)], 1), 1);
    const shown = floatEvidence(right.bundle, { fault: 'step', trace: right.committed.trace, value: 1, element: 0 });
    expect(shown.slots[1]!.tensor.runs.length).toBe(3);
    const forged = [0, 1, 2].map((run): FloatEvidence => ({
      ...shown,
      slots: [
        shown.slots[0]!,
        {
          ...shown.slots[1]!,
          tensor: {
            ...shown.slots[1]!.tensor,
            // A large number for the run's first element.
            runs: shown.slots[1]!.tensor.runs.map((opened, i) =>
              i === run ? { ...opened, elements: opened.elements.replace(/^0x..../, '0x4700') } : opened,
            ),
          },
        },
      ],
    }));
    const proofs = [shown, ...forged].map((evidence) => ({
      fault: 'step' as const,
      evidence: encodeFloatEvidence(evidence),
    }));
    expect(await judge(right.receipt, proofs)).toEqual([
      'NoFault',
      'EvidenceInvalid',
      'EvidenceInvalid',
      'EvidenceInvalid',
    ]);
  });

  it('the right element beside the wrong one is no fault', async () => {
    expect(await judgeFault(claim, { ...fault, element: 0 })).toBe('NoFault');
  });
});
