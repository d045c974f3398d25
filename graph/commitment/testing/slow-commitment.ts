/**
 * The specification of the commitments once more, written independently and slowly over hex strings, for tests:
 * another keccak, recursion instead of levels, text instead of bytes.
 */
import { keccak256 } from 'ethers';
import type { IntegerGraph } from '../../integer/types.js';
import type { CommittedInfo } from '../tensor-root.js';

const hash = (hex: string): string => keccak256(`0x${hex}`).slice(2);

/** `value` as `bytes` bytes of big-endian two's complement. */
export const int = (value: number, bytes: number): string =>
  BigInt.asUintN(8 * bytes, BigInt(value))
    .toString(16)
    .padStart(2 * bytes, '0');

const all = (values: readonly number[], bytes: number): string => values.map((v) => int(v, bytes)).join('');

/** Value of the tree over leaves, by the recursive definition of RFC 6962 section 2.1. */
export function slowTree(tag: string, leaves: readonly string[]): string {
  if (leaves.length === 0) return '00'.repeat(32);
  if (leaves.length === 1) return leaves[0]!;
  let split = 1;
  while (2 * split < leaves.length) split *= 2;
  return hash(tag + slowTree(tag, leaves.slice(0, split)) + slowTree(tag, leaves.slice(split)));
}

function bytesPerElement({ lo, hi }: { lo: number; hi: number }): number {
  for (const bytes of [1, 2]) {
    const [least, most] = lo < 0 ? [-(256 ** bytes) / 2, 256 ** bytes / 2 - 1] : [0, 256 ** bytes - 1];
    if (lo >= least && hi <= most) return bytes;
  }
  return 4;
}

/** Every index of a shape whose axes are listed outermost first. */
function indices(sides: readonly number[]): number[][] {
  if (sides.length === 0) return [[]];
  const rest = indices(sides.slice(1));
  return Array.from({ length: sides[0]! }, (_, i) => rest.map((tail) => [i, ...tail])).flat();
}

export function slowTensor(
  info: CommittedInfo,
  data: readonly number[],
  items: number,
): { leaves: string[]; root: string } {
  const { shape, range, layout } = info;
  const size = shape.reduce((product, side) => product * side, 1);
  const ordered: number[] = [];
  for (let item = 0; item < items; item++)
    for (const permuted of indices(layout.map((axis) => shape[axis]!))) {
      const index = shape.map((_, axis) => permuted[layout.indexOf(axis)]!);
      const position = index.reduce((sum, i, axis) => sum * shape[axis]! + i, 0);
      ordered.push(data[item * size + position]!);
    }
  const leaves: string[] = [];
  for (let first = 0; first < ordered.length; first += 64) {
    const chunk = ordered.slice(first, first + 64);
    leaves.push(hash(`10${int(first / 64, 4)}${int(chunk.length, 1)}${all(chunk, bytesPerElement(range))}`));
  }
  const header =
    int(range.lo, 4) +
    int(range.hi, 4) +
    int(shape.length, 1) +
    all(shape, 4) +
    all(layout, 1) +
    int(items, 4) +
    int(leaves.length, 4);
  return { leaves, root: hash(`12${header}${slowTree('11', leaves)}`) };
}

/** Roots of the committed slots, in the order of their numbers. */
export function slowTrace(committed: readonly { slot: number; root: string }[]): string {
  const leaves = committed.map(({ slot, root }) => hash(`20${int(slot, 4)}${root}`));
  return hash(`22${int(leaves.length, 4)}${slowTree('21', leaves)}`);
}

/** Root of a table of committed slots. */
export const slowCommitTable = (table: readonly number[]): string =>
  slowTensor({ shape: [table.length], range: { lo: -(2 ** 31), hi: 2 ** 31 - 1 }, layout: [0] }, table, 1).root;

export function slowPorts(role: 0 | 1, roots: readonly string[]): string {
  const leaves = roots.map((root, i) => hash(`30${int(role, 1)}${int(i, 4)}${root}`));
  return hash(`32${int(role, 1)}${int(roots.length, 4)}${slowTree('31', leaves)}`);
}

/** Root of a constant under the narrowest of the int8, int16 and int32 ranges. */
export function slowConstant(shape: readonly number[], data: readonly number[]): string {
  const bits = [8, 16, 32].find((b) => data.every((v) => v >= -(2 ** (b - 1)) && v < 2 ** (b - 1)))!;
  return slowTensor(
    { shape, range: { lo: -(2 ** (bits - 1)), hi: 2 ** (bits - 1) - 1 }, layout: [...shape.keys()] },
    data,
    1,
  ).root;
}

export function slowDigest(
  descriptors: readonly string[],
  constants: readonly string[],
  opCount: number,
): { graphRoot: string; weightsRoot: string; digest: string } {
  const leaves = descriptors.map((hex, i) => hash(`40${int(i, 4)}${int(hex.length / 2, 4)}${hex}`));
  const graphRoot = hash(`42${int(leaves.length, 4)}${slowTree('41', leaves)}`);
  const weightsRoot = hash(
    `52${int(constants.length, 4)}${slowTree(
      '51',
      constants.map((root, i) => hash(`50${int(i, 4)}${root}`)),
    )}`,
  );
  const name = [...'assay/model/1'].map((c) => int(c.charCodeAt(0), 1)).join('');
  return {
    graphRoot,
    weightsRoot,
    digest: hash(`${name}01${graphRoot}${weightsRoot}${int(opCount, 4)}${'00'.repeat(64)}`),
  };
}

const list = (values: readonly number[]): string => int(values.length, 4) + all(values, 4);
const text = (value: string): string => {
  const bytes = [...new TextEncoder().encode(value)];
  return int(bytes.length, 4) + all(bytes, 1);
};

/** The tensor field of a descriptor; `slot` null for a tensor that is none. */
export const slowTensorField = (
  { range, shape, layout }: IntegerGraph['tensors'][number],
  slot: number | null,
): string =>
  int(range.lo, 4) + int(range.hi, 4) + list(shape) + list(layout) + (slot === null ? 'ffffffff' : int(slot, 4));

/** The meaning field of a descriptor. */
export function slowMeaning(
  scaleBits: string,
  zeroPoint: number,
  name: string,
  type: string,
  shape: readonly number[],
  batched: boolean,
): string {
  return scaleBits + int(zeroPoint, 4) + text(name) + text(type) + list(shape) + int(batched ? 1 : 0, 1);
}

export { list as slowList };
