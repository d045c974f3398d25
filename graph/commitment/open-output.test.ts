/** Openings lead back to the output root by the rules of merkle.ts; the contract's reading is tested beside it. */
import { describe, expect, it } from 'vitest';
import type { IntegerGraph } from '../integer/types.js';
import { seededRandom } from '../integer/testing/random-graph.js';
import { sizeOf } from '../tensor.js';
import { elementWidth, encodeElements, FLOAT_RANGE, fromHex, Preimage, toHex } from './encoding.js';
import { merkleValue, valueFromOpening } from './merkle.js';
import { openCommittedOutput, openOutput, type OutputOpening, type OutputRange } from './open-output.js';
import { TAG } from './tags.js';
import { CHUNK_ELEMENTS, chunkLeaf, encodeHeader, inLayout, tensorHeader, type CommittedInfo } from './tensor-root.js';
import { outputRoot } from './trace-root.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`open-output seed ${seed}`);

const bytes = (hex: string): Uint8Array => fromHex(hex, (hex.length - 2) / 2)!;

/** The root that an opening of a range that begins inside the tensor leads to. */
function rootOf({ tensor, firstChunk }: OutputRange, info: CommittedInfo, chunks: number, own: OutputOpening): string {
  const width = elementWidth(info.range);
  const elements = bytes(own.elements);
  const leaves: Uint8Array[] = [];
  for (let at = 0; at < elements.length; at += CHUNK_ELEMENTS * width) {
    const part = elements.subarray(at, at + CHUNK_ELEMENTS * width);
    leaves.push(chunkLeaf(firstChunk + leaves.length, part.length / width, part));
  }
  const tree = valueFromOpening(TAG.tensorNode, leaves, firstChunk, chunks, own.chunkPath.map(bytes))!;
  return portRoot(tensor, tree, own);
}

function portRoot(tensor: number, tree: Uint8Array, own: OutputOpening): string {
  const root = new Preimage().u8(TAG.tensorRoot).raw(bytes(own.tensorHeader)).raw(tree).hash();
  const leaf = new Preimage().u8(TAG.port).u8(1).u32(tensor).raw(root).hash();
  return fromPorts(valueFromOpening(TAG.portNode, [leaf], tensor, own.outputCount, own.portPath.map(bytes))!, own);
}

const fromPorts = (value: Uint8Array, { outputCount }: OutputOpening): string =>
  toHex(new Preimage().u8(TAG.portRoot).u8(1).u32(outputCount).raw(value).hash());

describe('openOutput', () => {
  const random = seededRandom(seed);
  const int = (lo: number, hi: number): number => lo + Math.floor(random() * (hi - lo + 1));
  const infos = Array.from({ length: 5 }, (): CommittedInfo => {
    const shape = Array.from({ length: int(0, 3) }, () => int(1, 9));
    const lo = [0, -128, -40_000][int(0, 2)]!;
    const layout = shape.map((_, axis) => shape.length - 1 - axis);
    return { shape, layout, range: { lo, hi: lo + [1, 255, 100_000][int(0, 2)]! } };
  });
  const items = int(1, 3);
  const values = infos.map(({ shape, range: { lo, hi } }) =>
    Int32Array.from({ length: items * sizeOf(shape) }, () => int(lo, hi)),
  );
  const graph = { name: '', tensors: infos, outputs: infos.map((_, i) => i) } as unknown as IntegerGraph;
  const root = outputRoot(graph, values, items);

  it('opens every range of every output, as far as there is something: its elements, its header and exact paths', () => {
    infos.forEach((info, tensor) => {
      const committed = encodeElements(inLayout(info, values[tensor]!, items), elementWidth(info.range));
      const step = CHUNK_ELEMENTS * elementWidth(info.range);
      const chunks = Math.ceil(committed.length / step);
      for (let firstChunk = 0; firstChunk < chunks; firstChunk++)
        // Those that reach beyond the end give what there is.
        for (let chunkCount = 1; firstChunk + chunkCount <= chunks + 3; chunkCount++) {
          const range = { tensor, firstChunk, chunkCount };
          const own = openOutput(graph, values, items, range);
          expect(own.elements).toBe(toHex(committed.subarray(firstChunk * step, (firstChunk + chunkCount) * step)));
          expect(rootOf(range, info, chunks, own)).toBe(root);
        }
    });
  });

  it('shows where there is nothing: the value of the tree under the header, or of the outputs', () => {
    const range = { tensor: 1, firstChunk: 1000, chunkCount: 1 };
    const outside = openOutput(graph, values, items, range);
    expect(outside).toMatchObject({ elements: '0x', outputCount: 5 });
    expect(portRoot(1, bytes(outside.chunkPath[0]!), outside)).toBe(root);
    const none = openOutput(graph, values, items, { tensor: 5, firstChunk: 0, chunkCount: 1 });
    expect(none).toMatchObject({ elements: '0x', tensorHeader: '0x', chunkPath: [] });
    expect(fromPorts(bytes(none.portPath[0]!), none)).toBe(root);
  });

  it('opens outputs of float32 by their bits, beside each other', () => {
    const floats: CommittedInfo[] = [[7], [11, 13]].map((shape) => ({
      shape,
      range: FLOAT_RANGE,
      layout: shape.map((_, axis) => axis),
    }));
    const tensors = floats.map((info) => {
      const bits = Int32Array.from({ length: items * sizeOf(info.shape) }, () => int(-(2 ** 31), 2 ** 31 - 1));
      const elements = encodeElements(bits, 4);
      const leaves = Array.from({ length: Math.ceil(bits.length / CHUNK_ELEMENTS) }, (_, i) => {
        const chunk = elements.subarray(4 * CHUNK_ELEMENTS * i, 4 * CHUNK_ELEMENTS * (i + 1));
        return chunkLeaf(i, chunk.length / 4, chunk);
      });
      const header = encodeHeader(tensorHeader(info, items));
      return { header, elements, leaves, treeValue: merkleValue(TAG.tensorNode, leaves) };
    });
    const roots = floats.flatMap((info, tensor) => {
      const { elements, leaves } = tensors[tensor]!;
      return leaves.map((_, firstChunk) => {
        const range = { tensor, firstChunk, chunkCount: 2 };
        const own = openCommittedOutput(tensors, range);
        expect(own.elements).toBe(toHex(elements.subarray(256 * firstChunk, 256 * (firstChunk + 2))));
        return rootOf(range, info, leaves.length, own);
      });
    });
    expect(new Set(roots).size).toBe(1);
  });

  it('refuses an empty range', () => {
    expect(() => openOutput(graph, values, items, { tensor: 0, firstChunk: 0, chunkCount: 0 })).toThrow('no chunks');
  });
});
