/** Evidence as the step contract reads it: the ABI encoding of StepEvidence (verifier-contracts/src/dispute/StepEvidence.sol). */
import { AbiCoder } from 'ethers';
import { NODE_KINDS, type GameNode, type StepEvidence } from '../../verifier-contracts/dispute-types.js';
import type { Hex } from '../../receipts/types.js';

const TENSOR = '(bytes header, (uint32 firstChunk, bytes elements, bytes32[] path)[] runs, bytes32 treeValue)';
const NODE = '(uint8 kind, uint32 slot, uint8 height, uint64 first, uint32 count)';

/** The tuple's type; a test holds it equal to the contract's. */
export const STEP_EVIDENCE_TYPE = `tuple(${[
  '(bytes32 graphRoot, bytes32 weightsRoot, uint32 opCount, bytes32 modelKeyHash, uint32 descriptorCount, (uint32 index, bytes encoded, bytes32[] path)[] descriptors) model',
  'uint32 slotCount',
  'uint32 value',
  'uint64 element',
  'uint64 witness',
  `(uint32 slot, uint32 position, uint32 segment, bytes32[] path, ${TENSOR} tensor)[] slots`,
  `(uint32 descriptor, uint8 ordinal, ${TENSOR} tensor)[] constants`,
  'uint32 portCount',
  'bytes32 portTensor',
  'bytes32[] portPath',
  `${TENSOR} commitTable`,
  `(${NODE} node, bytes32[] roots)[] segments`,
  `(${NODE} node, uint32 value, uint64 element, int64[] parts)[] sums`,
].join(', ')})`;

const coder = AbiCoder.defaultAbiCoder();

const numbered = (node: GameNode): unknown => ({ ...node, kind: NODE_KINDS.indexOf(node.kind) });

/** @throws where a number does not fit its field. */
export function encodeEvidence(evidence: StepEvidence): Hex {
  const value = {
    ...evidence,
    segments: evidence.segments.map((segment) => ({ ...segment, node: numbered(segment.node) })),
    sums: evidence.sums.map((sums) => ({ ...sums, node: numbered(sums.node) })),
  };
  return coder.encode([STEP_EVIDENCE_TYPE], [value]) as Hex;
}
