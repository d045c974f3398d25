/**
 * Openings of an output under an output root: what answers a demand for a run of chunks on chain. The contract that reads
 * them is verifier-contracts/src/TensorTree.sol; the commitments are those of tensor-root.ts and trace-root.ts.
 */
import { AssayError } from '../../common/errors.js';
import type { IntegerGraph } from '../integer/types.js';
import { elementWidth, Preimage, toHex } from './encoding.js';
import { merkleOpening, merkleValue } from './merkle.js';
import { TAG } from './tags.js';
import {
  CHUNK_ELEMENTS,
  chunkLeaves,
  encodeHeader,
  tensorChunks,
  tensorHeader,
  type CommittedInfo,
} from './tensor-root.js';

/** Role of outputs in the leaves of trace-root.ts step 2. */
const OUTPUT_ROLE = 1;

/** Chunks firstChunk .. firstChunk + chunkCount - 1 of an output; numbers are uint32. */
export interface OutputRange {
  /** Position in graph.outputs. */
  readonly tensor: number;
  readonly firstChunk: number;
  /** At least 1. */
  readonly chunkCount: number;
}

/** Plain JSON; all bytes are 0x-hex. */
export interface OutputOpening {
  readonly outputCount: number;
  /** Siblings of the tensor under the outputs, in the order of merkle.ts; where there is no such output: the tree's value. */
  readonly portPath: readonly string[];
  /** As the tensor root binds it; empty where there is no such output. */
  readonly tensorHeader: string;
  /** Encoded elements of the range, as far as the tensor reaches; empty where the range begins behind its end. */
  readonly elements: string;
  /** Siblings of the chunks; where the range begins behind the tensor's end: its tree's value. */
  readonly chunkPath: readonly string[];
}

/** A committed output, of integers or of float32; all bytes are as its root binds them. */
export interface OpenableTensor {
  readonly header: Uint8Array;
  /** Encoded, in committed order. */
  readonly elements: Uint8Array;
  /** Hashes of the chunks. */
  readonly leaves: readonly Uint8Array[];
  /** Of the tree over them. */
  readonly treeValue: Uint8Array;
}

/**
 * Opens a range of an output, or what there is of it, or shows that nothing of it exists: whoever is asked for it has an
 * answer in any case, and who asks for too much still gets what there is.
 * @param outputs one array per graph output.
 * @throws AssayError OPENING_INVALID for an empty range; INPUT_RANGE as tensorRoot.
 */
export function openOutput(
  graph: IntegerGraph,
  outputs: readonly Int32Array[],
  items: number,
  range: OutputRange,
): OutputOpening {
  const tensors = graph.outputs.map((id, i) => openable(graph.tensors[id]!, outputs[i]!, items));
  return openCommittedOutput(tensors, range);
}

function openable(info: CommittedInfo, data: Int32Array, items: number): OpenableTensor {
  const chunks = tensorChunks(info, data, items);
  const elements = new Uint8Array(data.length * elementWidth(info.range));
  let at = 0;
  for (const bytes of chunks) {
    elements.set(bytes, at);
    at += bytes.length;
  }
  const leaves = chunkLeaves(info, chunks);
  const header = encodeHeader(tensorHeader(info, items));
  return { header, elements, leaves, treeValue: merkleValue(TAG.tensorNode, leaves) };
}

/**
 * As openOutput, of outputs that are committed to already; those of a float32 graph too.
 * @throws AssayError OPENING_INVALID for an empty range.
 */
export function openCommittedOutput(
  outputs: readonly OpenableTensor[],
  { tensor, firstChunk, chunkCount }: OutputRange,
): OutputOpening {
  if (chunkCount < 1) throw new AssayError('OPENING_INVALID', 'a range of no chunks opens nothing');
  const ports = outputs.map(({ header, treeValue }, i) => {
    const root = new Preimage().u8(TAG.tensorRoot).raw(header).raw(treeValue).hash();
    return new Preimage().u8(TAG.port).u8(OUTPUT_ROLE).u32(i).raw(root).hash();
  });
  const outputCount = ports.length;
  const asked = outputs[tensor];
  if (asked === undefined)
    return {
      outputCount,
      portPath: [toHex(merkleValue(TAG.portNode, ports))],
      tensorHeader: '0x',
      elements: '0x',
      chunkPath: [],
    };
  const { header, elements, leaves, treeValue } = asked;
  const end = Math.min(firstChunk + chunkCount, leaves.length);
  const inside = firstChunk < end;
  const range = new DataView(header.buffer, header.byteOffset);
  const chunkBytes = CHUNK_ELEMENTS * elementWidth({ lo: range.getInt32(0), hi: range.getInt32(4) });
  return {
    outputCount,
    portPath: merkleOpening(TAG.portNode, ports, tensor, tensor).map(toHex),
    tensorHeader: toHex(header),
    elements: inside ? toHex(elements.subarray(firstChunk * chunkBytes, end * chunkBytes)) : '0x',
    chunkPath: (inside ? merkleOpening(TAG.tensorNode, leaves, firstChunk, end - 1) : [treeValue]).map(toHex),
  };
}
