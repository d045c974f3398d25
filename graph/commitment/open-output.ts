/**
 * Openings of an output under an output root: what answers a demand for a run of chunks on chain. The contract that reads
 * them is verifier-contracts/src/TensorTree.sol; the commitments are those of tensor-root.ts and trace-root.ts.
 */
import { AssayError } from '../../common/errors.js';
import type { IntegerGraph } from '../integer/types.js';
import { Preimage, toHex } from './encoding.js';
import { merkleOpening, merkleValue } from './merkle.js';
import { TAG } from './tags.js';
import { chunkLeaves, encodeHeader, rootFromTree, tensorChunks, tensorHeader } from './tensor-root.js';

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
  { tensor, firstChunk, chunkCount }: OutputRange,
): OutputOpening {
  if (chunkCount < 1) throw new AssayError('OPENING_INVALID', 'a range of no chunks opens nothing');
  const tensors = graph.outputs.map((id, i) => {
    const info = graph.tensors[id]!;
    const header = tensorHeader(info, items);
    const chunks = tensorChunks(info, outputs[i]!, items);
    const leaves = chunkLeaves(info, chunks);
    return { header, chunks, leaves, treeValue: merkleValue(TAG.tensorNode, leaves) };
  });
  const ports = tensors.map(({ header, treeValue }, i) =>
    new Preimage().u8(TAG.port).u8(OUTPUT_ROLE).u32(i).raw(rootFromTree(header, treeValue)).hash(),
  );
  const outputCount = ports.length;
  const asked = tensors[tensor];
  if (asked === undefined)
    return {
      outputCount,
      portPath: [toHex(merkleValue(TAG.portNode, ports))],
      tensorHeader: '0x',
      elements: '0x',
      chunkPath: [],
    };
  const { header, chunks, leaves, treeValue } = asked;
  const end = Math.min(firstChunk + chunkCount, chunks.length);
  const inside = firstChunk < end;
  return {
    outputCount,
    portPath: merkleOpening(TAG.portNode, ports, tensor, tensor).map(toHex),
    tensorHeader: toHex(encodeHeader(header)),
    elements: `0x${chunks
      .slice(firstChunk, end)
      .map((bytes) => toHex(bytes).slice(2))
      .join('')}`,
    chunkPath: (inside ? merkleOpening(TAG.tensorNode, leaves, firstChunk, end - 1) : [treeValue]).map(toHex),
  };
}
