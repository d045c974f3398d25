/** Evidence for FloatStep.sol: what a fault of a float32 graph is shown with. */
import { AbiCoder } from 'ethers';
import { toHex } from '../../graph/commitment/encoding.js';
import { merkleOpening } from '../../graph/commitment/merkle.js';
import { TAG } from '../../graph/commitment/tags.js';
import { CHUNK_ELEMENTS } from '../../graph/commitment/tensor-root.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import { AssayError } from '../../common/errors.js';
import type { FaultProof } from '../../verifier-contracts/dispute-types.js';
import { faultIdOf } from '../nodes/ids.js';
import { FLOAT_WIDTH, type CommittedTensor } from './commit-tensor.js';
import { portPath, portsTree, slotPath, traceTree, type CommittedPorts, type CommittedTrace } from './commit-trace.js';
import { constantReads, elementReads, valueReads } from './element-reads.js';
import type { FloatBundle } from './float-bundle.js';
import { commitConstant } from './float-model.js';
import type { FloatValue } from './types.js';

const ZERO = `0x${'00'.repeat(32)}`;
const TENSOR =
  'tuple(bytes header, tuple(uint32 firstChunk, bytes elements, bytes32[] path)[] runs, bytes32 treeValue)';
const DESCRIPTOR = 'tuple(uint32 index, bytes encoded, bytes32[] path)';
const MODEL = `tuple(bytes32 graphRoot, bytes32 weightsRoot, uint32 opCount, bytes32 modelKeyHash,
  uint32 descriptorCount, ${DESCRIPTOR}[] descriptors)`;
const SLOT = `tuple(uint32 slot, uint32 position, uint32 segment, bytes32[] path, ${TENSOR} tensor)`;
const CONSTANT = `tuple(uint32 descriptor, uint8 ordinal, ${TENSOR} tensor)`;
const EVIDENCE = `tuple(${MODEL} model, uint32 slotCount, uint32 value, uint64 element, ${SLOT}[] slots,
  ${CONSTANT}[] constants, uint32 portCount, bytes32 portTensor, bytes32[] portPath)`;

/** What FloatEvidence of FloatStep.sol holds. */
export interface FloatEvidence {
  readonly model: {
    readonly graphRoot: string;
    readonly weightsRoot: string;
    readonly opCount: number;
    readonly modelKeyHash: string;
    readonly descriptorCount: number;
    readonly descriptors: readonly {
      readonly index: number;
      readonly encoded: string;
      readonly path: readonly string[];
    }[];
  };
  readonly slotCount: number;
  readonly value: number;
  readonly element: number;
  readonly slots: readonly {
    readonly slot: number;
    readonly position: number;
    readonly segment: number;
    readonly path: readonly string[];
    readonly tensor: OpenedTensor;
  }[];
  readonly constants: readonly {
    readonly descriptor: number;
    readonly ordinal: number;
    readonly tensor: OpenedTensor;
  }[];
  readonly portCount: number;
  readonly portTensor: string;
  readonly portPath: readonly string[];
}

export interface OpenedTensor {
  readonly header: string;
  readonly runs: readonly {
    readonly firstChunk: number;
    readonly elements: string;
    readonly path: readonly string[];
  }[];
  /** Where there are no runs. */
  readonly treeValue: string;
}

/** A claim's commitments as far as a fault reads them, and what is wrong with it. */
export type FloatFault =
  | { readonly fault: 'step'; readonly trace: CommittedTrace; readonly value: number; readonly element: number }
  | { readonly fault: 'header'; readonly trace: CommittedTrace; readonly value: number }
  | {
      readonly fault: 'inputBinding' | 'outputBinding';
      readonly trace: CommittedTrace;
      readonly ports: CommittedPorts;
      /** Position of the input or output. */
      readonly port: number;
    }
  | { readonly fault: 'slotCount'; readonly trace: CommittedTrace }
  | { readonly fault: 'opCount' }
  | { readonly fault: 'portCount'; readonly ports: CommittedPorts };

/**
 * @throws AssayError OPENING_INVALID where the value, element or port does not exist. Whether there is a fault is not
 * asked: the contract is, and off chain `isElementAllowed`.
 */
export function floatFaultProof(bundle: FloatBundle, fault: FloatFault): FaultProof {
  const evidence = floatEvidence(bundle, fault);
  const { inputs, outputs } = bundle.graph;
  let slot = fault.fault === 'step' || fault.fault === 'header' ? fault.value : 0;
  if (fault.fault === 'inputBinding') slot = inputs[fault.port]!.value;
  if (fault.fault === 'outputBinding') slot = outputs[fault.port]!.value;
  return {
    fault: fault.fault,
    evidence: encodeFloatEvidence(evidence),
    faultId: faultIdOf(fault.fault, evidence.value, slot, evidence.element),
  };
}

export function encodeFloatEvidence(evidence: FloatEvidence): `0x${string}` {
  return AbiCoder.defaultAbiCoder().encode([EVIDENCE], [evidence]) as `0x${string}`;
}

/** @throws AssayError OPENING_INVALID */
export function floatEvidence(bundle: FloatBundle, fault: FloatFault): FloatEvidence {
  const { graph } = bundle;
  const none = {
    slotCount: 0,
    value: 0,
    element: 0,
    slots: [],
    constants: [],
    portCount: 0,
    portTensor: ZERO,
    portPath: [],
  };
  switch (fault.fault) {
    case 'step': {
      const { trace, value, element } = fault;
      const size = sizeOf(graph.values[value]?.shape ?? []);
      if (value < graph.inputs.length || value >= graph.values.length || element < 0 || element >= trace.items * size)
        throw new AssayError(
          'OPENING_INVALID',
          `graph '${graph.name}' computes no element ${element} of value ${value}`,
        );
      const reads = elementReads(graph, value, element);
      const operands = new Map<number, number[]>();
      for (const { value: read, indices } of valueReads(reads))
        operands.set(read, [...(operands.get(read) ?? []), ...indices]);
      return {
        ...none,
        model: openModel(bundle, [0, 1 + value, ...[...operands.keys()].map((read) => 1 + read)]),
        slotCount: trace.slots.length,
        value,
        element,
        slots: [
          openSlot(bundle, trace, value, [element]),
          ...[...operands].map(([read, indices]) => openSlot(bundle, trace, read, indices)),
        ],
        constants: constantReads(reads).map(({ ordinal, constant, first, count }) => ({
          descriptor: 1 + value,
          ordinal,
          tensor: openElements(commitConstant(constant), [[first, first + count]]),
        })),
      };
    }
    case 'header':
      return {
        ...none,
        model: openModel(bundle, [0, 1 + fault.value]),
        slotCount: fault.trace.slots.length,
        value: fault.value,
        slots: [openSlot(bundle, fault.trace, fault.value, null)],
      };
    case 'inputBinding':
    case 'outputBinding': {
      const { trace, ports, port } = fault;
      const isInput = fault.fault === 'inputBinding';
      const found = (isInput ? graph.inputs : graph.outputs)[port];
      if (found === undefined) throw new AssayError('OPENING_INVALID', `graph '${graph.name}' has no port ${port}`);
      return {
        ...none,
        model: openModel(bundle, isInput ? [0] : [0, 1 + graph.values.length + port]),
        slotCount: trace.slots.length,
        value: port,
        slots: [openSlot(bundle, trace, found.value, null)],
        portCount: ports.roots.length,
        portTensor: toHex(ports.roots[port]!),
        portPath: portPath(ports, port).map(toHex),
      };
    }
    case 'slotCount': {
      const { slots } = fault.trace;
      return { ...none, model: openModel(bundle, [0]), slotCount: slots.length, portTensor: toHex(traceTree(slots)) };
    }
    case 'opCount':
      return { ...none, model: openModel(bundle, [0]) };
    case 'portCount': {
      const { ports } = fault;
      return {
        ...none,
        model: openModel(bundle, [0]),
        value: ports.role,
        portCount: ports.roots.length,
        portPath: [toHex(portsTree(ports))],
      };
    }
  }
}

function openModel({ model }: FloatBundle, indices: readonly number[]): FloatEvidence['model'] {
  const ascending = [...new Set(indices)].sort((a, b) => a - b);
  return {
    graphRoot: toHex(model.graphRoot),
    weightsRoot: toHex(model.weightsRoot),
    opCount: model.opCount,
    modelKeyHash: ZERO,
    descriptorCount: model.descriptors.length,
    descriptors: ascending.map((index) => ({
      index,
      encoded: toHex(model.descriptors[index]!),
      path: merkleOpening(TAG.graphNode, model.descriptorLeaves, index, index).map(toHex),
    })),
  };
}

/** @param indices elements in memory order that are shown; null: the header alone. */
function openSlot(
  { graph }: FloatBundle,
  { slots }: CommittedTrace,
  slot: number,
  indices: readonly number[] | null,
): FloatEvidence['slots'][number] {
  const tensor = slots[slot];
  if (tensor === undefined)
    throw new AssayError('OPENING_INVALID', `the trace has ${slots.length} slots, and no ${slot}`);
  const places = indices?.map((index) => committedIndex(graph.values[slot]!, index));
  return {
    slot,
    position: slot,
    segment: 0,
    path: slotPath(slots, slot).map(toHex),
    tensor:
      places === undefined
        ? headerAlone(tensor)
        : openElements(
            tensor,
            places.map((place) => [place, place + 1]),
          ),
  };
}

/** Where an element in memory order lies in committed order. */
export function committedIndex({ shape, layout }: FloatValue, index: number): number {
  const size = sizeOf(shape);
  const strides = stridesOf(shape);
  let within = 0;
  for (const axis of layout)
    within = within * shape[axis]! + (Math.floor((index % size) / strides[axis]!) % shape[axis]!);
  return Math.floor(index / size) * size + within;
}

const headerAlone = ({ header, treeValue }: CommittedTensor): OpenedTensor => ({
  header: toHex(header),
  runs: [],
  treeValue: toHex(treeValue),
});

/** @param ranges of committed order, [first, end) each; what lies in one chunk or in neighbours is one run. */
function openElements(tensor: CommittedTensor, ranges: readonly (readonly [number, number])[]): OpenedTensor {
  const chunks = new Set<number>();
  for (const [first, end] of ranges)
    for (let chunk = Math.floor(first / CHUNK_ELEMENTS); chunk * CHUNK_ELEMENTS < end; chunk++) chunks.add(chunk);
  const runs: [number, number][] = [];
  for (const chunk of [...chunks].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === chunk) last[1]++;
    else runs.push([chunk, chunk + 1]);
  }
  const bytes = CHUNK_ELEMENTS * FLOAT_WIDTH;
  return {
    header: toHex(tensor.header),
    runs: runs.map(([first, end]) => ({
      firstChunk: first,
      elements: toHex(tensor.elements.subarray(first * bytes, end * bytes)),
      path: merkleOpening(TAG.tensorNode, tensor.leaves, first, end - 1).map(toHex),
    })),
    treeValue: ZERO,
  };
}
