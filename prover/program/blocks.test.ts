/** Compositions of views against products of dense matrices. */
import { describe, expect, it } from 'vitest';
import { Draw } from '../audit/draw.js';
import { denseMatrix, randomView } from '../testing/random-views.js';
import {
  axisBlock,
  composeBlocks,
  identityBlocks,
  inverseBlocks,
  isBijection,
  permutationBlocks,
  reshapeBlocks,
  type Block,
} from './blocks.js';

const product = (a: number[][], b: number[][], columns: number): number[][] =>
  a.map((row) => Array.from({ length: columns }, (_, s) => row.reduce((sum, w, m) => sum + w * b[m]![s]!, 0) + 0));

/** Every axis of side above 1 stands in exactly one block, sides agree, entries are canonical. */
function expectWellFormed(blocks: readonly Block[], target: readonly number[], source: readonly number[]): void {
  for (const [axes, sides, own, ownSides] of [
    [target, target, 'target', 'targetSides'],
    [source, source, 'source', 'sourceSides'],
  ] as const) {
    const seen = blocks.flatMap((block) => block[own]).sort((a, b) => a - b);
    expect(seen).toEqual(axes.flatMap((side, axis) => (side > 1 ? [axis] : [])));
    for (const block of blocks) expect(block[ownSides]).toEqual(block[own].map((axis) => sides[axis]));
  }
  for (const { entries } of blocks)
    entries?.forEach((entry, i) => {
      expect(entry.weight).not.toBe(0);
      const last = entries[i - 1];
      if (last) expect(last.t < entry.t || (last.t === entry.t && last.s < entry.s)).toBe(true);
    });
}

describe('views', () => {
  it('compose like their matrices', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const draw = new Draw('compose', seed);
      const source = Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 4));
      const inner = randomView(draw, source);
      const outer = randomView(draw, inner.target);
      const blocks = composeBlocks(outer.blocks, inner.blocks);
      const composed = denseMatrix({ target: outer.target, source, blocks });
      const size = source.reduce((p, side) => p * side, 1);
      expect(composed, `seed ${seed}`).toEqual(product(denseMatrix(outer), denseMatrix(inner), size));
      expectWellFormed(
        blocks.filter(({ target, source: s }) => target.length + s.length > 0),
        outer.target,
        source,
      );
    }
  });

  it('three views compose in either order', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const draw = new Draw('associate', seed);
      const first = randomView(
        draw,
        Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 3)),
      );
      const second = randomView(draw, first.target);
      const third = randomView(draw, second.target);
      const matrix = (blocks: readonly Block[]): number[][] =>
        denseMatrix({ target: third.target, source: first.source, blocks });
      const left = composeBlocks(composeBlocks(third.blocks, second.blocks), first.blocks);
      const right = composeBlocks(third.blocks, composeBlocks(second.blocks, first.blocks));
      expect(matrix(left), `seed ${seed}`).toEqual(matrix(right));
    }
  });

  it('a reshape after its inverse is the identity, in short form', () => {
    const there = reshapeBlocks([2, 6, 5], [4, 3, 5]);
    expect(there).toHaveLength(2);
    expect(isBijection(there)).toBe(true);
    const round = composeBlocks(there, inverseBlocks(there));
    expect(isBijection(round)).toBe(true);
    expect(denseMatrix({ target: [2, 6, 5], source: [2, 6, 5], blocks: round })).toEqual(
      denseMatrix({ target: [2, 6, 5], source: [2, 6, 5], blocks: identityBlocks([2, 6, 5]) }),
    );
  });

  it('two transposes meet in one', () => {
    const blocks = composeBlocks(permutationBlocks([2, 0, 1], [4, 2, 3]), permutationBlocks([1, 2, 0], [2, 3, 4]));
    expect(blocks.every(({ entries }) => entries === null)).toBe(true);
    expect(blocks.map(({ target, source }) => [target, source])).toEqual([
      [[0], [0]],
      [[1], [1]],
      [[2], [2]],
    ]);
  });

  it('sums that cancel vanish', () => {
    const [block] = axisBlock(0, 2, 0, 2, [
      { t: 0, s: 1, weight: 2 },
      { t: 0, s: 1, weight: -2 },
      { t: 1, s: 0, weight: 1 },
    ]);
    expect(block!.entries).toEqual([{ t: 1, s: 0, weight: 1 }]);
  });

  it('refuses what a verifier would sum too long, and weights that are not exact', () => {
    const all = (weight: number): Block[] =>
      axisBlock(
        0,
        600,
        0,
        600,
        Array.from({ length: 360000 }, (_, i) => ({ t: Math.floor(i / 600), s: i % 600, weight })),
      );
    expect(() => composeBlocks(all(1), all(1))).toThrow(/NOT_PROVABLE|more than/);
    expect(() =>
      axisBlock(0, 2, 0, 2, [
        { t: 0, s: 0, weight: 2 ** 53 - 1 },
        { t: 0, s: 0, weight: 2 ** 53 - 1 },
      ]),
    ).toThrow(/2\^53/);
  });
});
