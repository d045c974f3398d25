/** What disputes are about, as src/dispute/{Nodes,IStep,StepEvidence,IDisputeGame}.sol state it. Numbers are their fields'. */
import type { BatchHeader } from '../receipts/batch.js';
import type { Hex, Receipt } from '../receipts/types.js';

/** A leaf of a batch of the optimistic lane. */
export interface Claim {
  readonly receipt: Receipt;
  readonly header: BatchHeader;
  readonly index: number;
}

export const NODE_KINDS = ['trace', 'inputs', 'outputs', 'tensor', 'chunks', 'segment', 'sums'] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

/** Height of a node that is the root of its tree. */
export const ROOT_HEIGHT = 255;
/** An answer reveals the subtrees this many heights below: at most 512. */
export const HEIGHTS_AT_ONCE = 9;

/** Fields that a kind does not name are 0. */
export interface GameNode {
  readonly kind: NodeKind;
  /** tensor, chunks, sums: number of the slot; segment: number of the segment. */
  readonly slot: number;
  /** trace, tensor: ROOT_HEIGHT or a positive multiple of 9. */
  readonly height: number;
  /** trace, tensor below the root: index at its height; chunks: first chunk; segment: first slot; sums: element, in committed order. */
  readonly first: number;
  /** chunks: 1, or up to 64 from a multiple of 64; segment: slots; sums: parts. */
  readonly count: number;
}

/** Shows that a node exists under the roots of a receipt; parts that a kind does not need are empty or zero. */
export interface NodePath {
  readonly slotCount: number;
  readonly position: number;
  readonly tracePath: readonly Hex[];
  readonly segment: GameNode;
  readonly segmentRoots: readonly Hex[];
  readonly tensorRoot: Hex;
  readonly tensorHeader: Hex;
  readonly values: readonly Hex[];
  readonly chunkPath: readonly Hex[];
}

export const FAULTS = [
  'step',
  'part',
  'inputBinding',
  'outputBinding',
  'header',
  'inputRange',
  'slotCount',
  'commitIndex',
  'opCount',
  'portCount',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Enough to accuse a claim. */
export interface FaultProof {
  readonly fault: Fault;
  /** As the step contract of the claim's game reads it. */
  readonly evidence: Hex;
  /** keccak of fault, value, slot, element. */
  readonly faultId: Hex;
}

export interface Descriptor {
  readonly index: number;
  readonly encoded: Hex;
  readonly path: readonly Hex[];
}

export interface ModelOpening {
  readonly graphRoot: Hex;
  readonly weightsRoot: Hex;
  readonly opCount: number;
  readonly modelKeyHash: Hex;
  readonly descriptorCount: number;
  /** Ascending; the first is number 0. */
  readonly descriptors: readonly Descriptor[];
}

export interface Run {
  readonly firstChunk: number;
  readonly elements: Hex;
  readonly path: readonly Hex[];
}

export interface TensorOpening {
  readonly header: Hex;
  readonly runs: readonly Run[];
  /** Value of the tree over the chunks where there are no runs; else zero. */
  readonly treeValue: Hex;
}

export interface SlotOpening {
  readonly slot: number;
  readonly position: number;
  /** 0: in the trace; n: in the list of segments[n - 1]. */
  readonly segment: number;
  readonly path: readonly Hex[];
  readonly tensor: TensorOpening;
}

export interface ConstantOpening {
  readonly descriptor: number;
  readonly ordinal: number;
  readonly tensor: TensorOpening;
}

export interface SegmentOpening {
  readonly node: GameNode;
  readonly roots: readonly Hex[];
}

export interface SumsOpening {
  readonly node: GameNode;
  readonly value: number;
  readonly element: number;
  readonly parts: readonly bigint[];
}

export interface StepEvidence {
  readonly model: ModelOpening;
  readonly slotCount: number;
  readonly value: number;
  readonly element: number;
  readonly witness: number;
  readonly slots: readonly SlotOpening[];
  readonly constants: readonly ConstantOpening[];
  readonly portCount: number;
  readonly portTensor: Hex;
  readonly portPath: readonly Hex[];
  readonly commitTable: TensorOpening;
  readonly segments: readonly SegmentOpening[];
  readonly sums: readonly SumsOpening[];
}
