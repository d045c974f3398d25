/**
 * Evidence as the step contract reads it: the ABI encoding of StepEvidence (verifier-contracts/src/dispute/StepEvidence.sol).
 *
 * Written out here rather than by a library, which takes ten times as long; a test holds both equal. A part of a struct or
 * list is a word, or has a place elsewhere: then its head is the offset from where the heads begin.
 */
import { AssayError } from '../../common/errors.js';
import {
  NODE_KINDS,
  type GameNode,
  type SegmentOpening,
  type SlotOpening,
  type StepEvidence,
  type SumsOpening,
  type TensorOpening,
} from '../../verifier-contracts/dispute-types.js';
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

/** Words in hex: in the head itself, or in its place behind the heads. */
type Part = string | { readonly behind: string };

const WORD_DIGITS = 64;

function fields(parts: readonly Part[]): string {
  const heads = parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : WORD_DIGITS), 0);
  let [head, tail] = ['', ''];
  for (const part of parts) {
    if (typeof part === 'string') head += part;
    else {
      head += word((heads + tail.length) / 2);
      tail += part.behind;
    }
  }
  return head + tail;
}

const word = (value: number): string => value.toString(16).padStart(WORD_DIGITS, '0');

/** @throws AssayError GRAPH_INVALID */
function refuse(what: string): never {
  throw new AssayError('GRAPH_INVALID', `the evidence's encoding has no place for ${what}`);
}

function uint(bits: 8 | 32 | 64, value: number): string {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** bits) refuse(`${value} in ${bits} bits`);
  return word(value);
}

function int64(value: bigint): string {
  if (BigInt.asIntN(64, value) !== value) refuse(`${value} in 64 bits`);
  return BigInt.asUintN(256, value).toString(16).padStart(WORD_DIGITS, '0');
}

function bytes32(hex: Hex): string {
  if (!/^0x[0-9a-f]{64}$/.test(hex)) refuse(`${hex} in 32 bytes`);
  return hex.slice(2);
}

function bytes(hex: Hex): Part {
  const digits = hex.length - 2;
  if (!/^0x(?:[0-9a-f]{2})*$/.test(hex)) refuse(`${hex.slice(0, 20)} as bytes`);
  const padded = Math.ceil(digits / WORD_DIGITS) * WORD_DIGITS;
  return { behind: word(digits / 2) + hex.slice(2).padEnd(padded, '0') };
}

const list = (parts: readonly Part[]): Part => ({ behind: word(parts.length) + fields(parts) });
const struct = (...parts: readonly Part[]): Part => ({ behind: fields(parts) });
const hashes = (all: readonly Hex[]): Part => list(all.map(bytes32));

const tensor = ({ header, runs, treeValue }: TensorOpening): Part =>
  struct(
    bytes(header),
    list(runs.map(({ firstChunk, elements, path }) => struct(uint(32, firstChunk), bytes(elements), hashes(path)))),
    bytes32(treeValue),
  );

/** Five words in a row: nothing of it has another place. */
const gameNode = ({ kind, slot, height, first, count }: GameNode): string =>
  [uint(8, NODE_KINDS.indexOf(kind)), uint(32, slot), uint(8, height), uint(64, first), uint(32, count)].join('');

const slotOpening = ({ slot, position, segment, path, tensor: opened }: SlotOpening): Part =>
  struct(uint(32, slot), uint(32, position), uint(32, segment), hashes(path), tensor(opened));

const segmentOpening = ({ node, roots }: SegmentOpening): Part => struct(gameNode(node), hashes(roots));

const sumsOpening = ({ node, value, element, parts }: SumsOpening): Part =>
  struct(gameNode(node), uint(32, value), uint(64, element), list(parts.map(int64)));

/** @throws AssayError GRAPH_INVALID where a number does not fit its field. */
export function encodeEvidence(evidence: StepEvidence): Hex {
  const { graphRoot, weightsRoot, opCount, modelKeyHash, descriptorCount, descriptors } = evidence.model;
  const model = struct(
    bytes32(graphRoot),
    bytes32(weightsRoot),
    uint(32, opCount),
    bytes32(modelKeyHash),
    uint(32, descriptorCount),
    list(descriptors.map(({ index, encoded, path }) => struct(uint(32, index), bytes(encoded), hashes(path)))),
  );
  const whole = struct(
    model,
    uint(32, evidence.slotCount),
    uint(32, evidence.value),
    uint(64, evidence.element),
    uint(64, evidence.witness),
    list(evidence.slots.map(slotOpening)),
    list(
      evidence.constants.map(({ descriptor, ordinal, tensor: opened }) =>
        struct(uint(32, descriptor), uint(8, ordinal), tensor(opened)),
      ),
    ),
    uint(32, evidence.portCount),
    bytes32(evidence.portTensor),
    hashes(evidence.portPath),
    tensor(evidence.commitTable),
    list(evidence.segments.map(segmentOpening)),
    list(evidence.sums.map(sumsOpening)),
  );
  return `0x${fields([whole])}`;
}
