/** Random views (products of blocks) and what they are as matrices. */
import { sizeOf } from '../../graph/tensor.js';
import type { Draw } from '../audit/draw.js';
import {
  axisBlock,
  entriesOf,
  permutationBlocks,
  ravel,
  reshapeBlocks,
  unravel,
  type Block,
} from '../program/blocks.js';

export interface View {
  readonly target: readonly number[];
  readonly source: readonly number[];
  readonly blocks: readonly Block[];
}

const range = (count: number): number[] => [...Array(count).keys()];

/** Divisors of a size in a random order, as the sides of a shape. */
function randomFactors(draw: Draw, size: number): number[] {
  const sides: number[] = [];
  let left = size;
  while (left > 1) {
    const divisors = range(left + 1).filter((d) => d > 1 && left % d === 0);
    const side = draw.pick(divisors);
    sides.push(side);
    left /= side;
    if (draw.chance(0.2)) sides.push(1);
  }
  return sides;
}

/** A view of a tensor: a transpose, a reshape, or a random sparse map of every axis. */
export function randomView(draw: Draw, source: readonly number[]): View {
  const kind = draw.pick(['permutation', 'reshape', 'axes', 'axes']);
  if (kind === 'permutation') {
    const axes = draw.shuffled(range(source.length));
    const target = axes.map((axis) => source[axis]!);
    return { target, source, blocks: permutationBlocks(axes, target) };
  }
  if (kind === 'reshape') {
    const target = randomFactors(draw, sizeOf(source));
    return { target, source, blocks: reshapeBlocks(target, source) };
  }
  const target = source.map((side) => draw.pick([side, 1, draw.int(1, 5)]));
  const blocks = source.flatMap((side, axis) => {
    const entries = range(draw.int(0, 2 * target[axis]!)).map(() => ({
      t: draw.int(0, target[axis]! - 1),
      s: draw.int(0, side - 1),
      weight: draw.pick([1, 1, -1, 3]),
    }));
    const same = draw.chance(0.3) && target[axis] === side;
    return axisBlock(
      axis,
      target[axis]!,
      axis,
      side,
      same ? range(side).map((i) => ({ t: i, s: i, weight: 1 })) : entries,
    );
  });
  return { target, source, blocks };
}

/** m(t, s), entry by entry from the definition. */
export function denseMatrix({ target, source, blocks }: View): number[][] {
  const maps = blocks.map((block) => new Map(entriesOf(block).map(({ t, s, weight }) => [`${t},${s}`, weight])));
  return range(sizeOf(target)).map((ti) =>
    range(sizeOf(source)).map((si) => {
      const [t, s] = [unravel(ti, target), unravel(si, source)];
      return blocks.reduce((product, block, i) => {
        const [own, other] = [
          ravel(
            block.target.map((axis) => t[axis]!),
            block.targetSides,
          ),
          ravel(
            block.source.map((axis) => s[axis]!),
            block.sourceSides,
          ),
        ];
        return product * (maps[i]!.get(`${own},${other}`) ?? 0) + 0;
      }, 1);
    }),
  );
}
