/**
 * Sparse linear maps between index spaces, kept as a product of small blocks.
 *
 * A view V of a tensor S is V[t] = sum_s m(t, s) S[s]. For everything that an integer graph does without multiplying
 * two tensors (slices, windows, sums, transposes, reshapes, broadcasts), m is a product over *blocks*: each block ties
 * a few axes of the target to a few axes of the source, m(t, s) = prod_blocks m_block(t_block, s_block). So a claim
 * about a view is a claim about its source under a weight that is again a product, which is what lets a verifier
 * evaluate it with a handful of multiplications (docs/protocol.md, "Functionals").
 *
 * An index space is a list of sides; an axis of side 1 has one index and stands in no block. Every other axis stands
 * in exactly one. Indices of several axes are combined row-major, in the order in which the block lists them.
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../../graph/tensor.js';

/** m_block(t, s) = weight. */
export interface Entry {
  readonly t: number;
  readonly s: number;
  readonly weight: number;
}

export interface Block {
  /** Axes of the target space; none for a sum over the source axes. */
  readonly target: readonly number[];
  /** Axes of the source space; none for a broadcast. */
  readonly source: readonly number[];
  readonly targetSides: readonly number[];
  readonly sourceSides: readonly number[];
  /** null: t = s as row-major indices, weight 1. Otherwise sorted by (t, s), each pair once, weights nonzero. */
  readonly entries: readonly Entry[] | null;
}

/** A block with more entries than this would make verification slow; such a graph is not provable. */
export const MAX_ENTRIES = 1 << 18;

const sizeOfTarget = (block: Block): number => sizeOf(block.targetSides);
const sizeOfSource = (block: Block): number => sizeOf(block.sourceSides);

/** The entries written out. */
export function entriesOf(block: Block): readonly Entry[] {
  return block.entries ?? Array.from({ length: sizeOfTarget(block) }, (_, i) => ({ t: i, s: i, weight: 1 }));
}

/** Sums entries of equal (t, s) and sorts; zero sums vanish. */
function normalised(entries: Iterable<Entry>): Entry[] {
  const sums = new Map<string, Entry>();
  for (const entry of entries) {
    const key = `${entry.t},${entry.s}`;
    const weight = (sums.get(key)?.weight ?? 0) + entry.weight;
    if (!Number.isSafeInteger(weight)) throw new AssayError('NOT_PROVABLE', 'a coefficient of a view exceeds 2^53');
    sums.set(key, { ...entry, weight });
  }
  return [...sums.values()].filter(({ weight }) => weight !== 0).sort((a, b) => a.t - b.t || a.s - b.s);
}

/** One target axis read from one source axis by an explicit list. */
export function axisBlock(
  target: number,
  targetSide: number,
  source: number,
  sourceSide: number,
  entries: Iterable<Entry>,
): Block[] {
  const list = normalised(entries);
  const isIdentity =
    targetSide === sourceSide &&
    list.length === targetSide &&
    list.every(({ t, s, weight }, i) => t === i && s === i && weight === 1);
  // Axes of side 1 stand in no block; what a list says about them is a factor or a choice on the other axis.
  const targetAxes = targetSide === 1 ? [] : [target];
  const sourceAxes = sourceSide === 1 ? [] : [source];
  if (targetAxes.length === 0 && sourceAxes.length === 0 && isIdentity) return [];
  return [
    {
      target: targetAxes,
      source: sourceAxes,
      targetSides: targetAxes.map(() => targetSide),
      sourceSides: sourceAxes.map(() => sourceSide),
      entries: isIdentity ? null : list,
    },
  ];
}

/** Axis i of the target is axis `axes[i]` of the source. */
export function permutationBlocks(axes: readonly number[], targetSides: readonly number[]): Block[] {
  return axes.flatMap((source, target): Block[] => {
    const side = targetSides[target]!;
    if (side === 1) return [];
    return [{ target: [target], source: [source], targetSides: [side], sourceSides: [side], entries: null }];
  });
}

export const identityBlocks = (sides: readonly number[]): Block[] =>
  permutationBlocks(
    sides.map((_, axis) => axis),
    sides,
  );

/** Row-major equality of two index spaces of equal size, split into the smallest segments that match. */
export function reshapeBlocks(targetSides: readonly number[], sourceSides: readonly number[]): Block[] {
  return segments(
    targetSides.map((side, axis) => ({ axis, side })),
    sourceSides.map((side, axis) => ({ axis, side })),
  );
}

interface SidedAxis {
  readonly axis: number;
  readonly side: number;
}

function segments(targets: readonly SidedAxis[], sources: readonly SidedAxis[]): Block[] {
  const t = targets.filter(({ side }) => side > 1);
  const s = sources.filter(({ side }) => side > 1);
  const blocks: Block[] = [];
  let [ti, si] = [0, 0];
  while (ti < t.length) {
    const [firstT, firstS] = [ti, si];
    let targetSize = t[ti++]!.side;
    let sourceSize = s[si++]!.side;
    while (targetSize !== sourceSize) {
      if (targetSize < sourceSize) targetSize *= t[ti++]!.side;
      else sourceSize *= s[si++]!.side;
    }
    const [ts, ss] = [t.slice(firstT, ti), s.slice(firstS, si)];
    blocks.push({
      target: ts.map(({ axis }) => axis),
      source: ss.map(({ axis }) => axis),
      targetSides: ts.map(({ side }) => side),
      sourceSides: ss.map(({ side }) => side),
      entries: null,
    });
  }
  return blocks;
}

/** True where every block is row-major equality, so that the map is a bijection. */
export const isBijection = (blocks: readonly Block[]): boolean => blocks.every(({ entries }) => entries === null);

/** The inverse of a bijection. */
export const inverseBlocks = (blocks: readonly Block[]): Block[] =>
  blocks.map(({ target, source, targetSides, sourceSides }) => ({
    target: source,
    source: target,
    targetSides: sourceSides,
    sourceSides: targetSides,
    entries: null,
  }));

/** Axes of a space whose combined row-major index is split back: index -> indices, by place in `sides`. */
export function unravel(index: number, sides: readonly number[]): number[] {
  const indices = new Array<number>(sides.length);
  for (let axis = sides.length - 1; axis >= 0; axis--) {
    indices[axis] = index % sides[axis]!;
    index = Math.floor(index / sides[axis]!);
  }
  return indices;
}

export function ravel(indices: readonly number[], sides: readonly number[]): number {
  return indices.reduce((index, i, axis) => index * sides[axis]! + i, 0);
}

/**
 * The map outer (T -> M) after inner (M -> S): V[t] = sum_m outer(t, m) sum_s inner(m, s) S[s].
 * @throws AssayError NOT_PROVABLE where a composed block would grow beyond what a verifier should sum.
 */
export function composeBlocks(outer: readonly Block[], inner: readonly Block[]): Block[] {
  const result: Block[] = [
    ...outer.filter(({ source }) => source.length === 0),
    ...inner.filter(({ target }) => target.length === 0),
  ];
  const outers = outer.filter(({ source }) => source.length > 0);
  const inners = inner.filter(({ target }) => target.length > 0);
  const seen = new Set<Block>();
  for (const start of outers) {
    if (seen.has(start)) continue;
    // Everything that shares an axis of M, directly or through others.
    const group = { outers: [start], inners: [] as Block[] };
    seen.add(start);
    for (let grown = true; grown;) {
      grown = false;
      for (const block of inners)
        if (!seen.has(block) && group.outers.some(({ source }) => source.some((m) => block.target.includes(m)))) {
          seen.add(block);
          group.inners.push(block);
          grown = true;
        }
      for (const block of outers)
        if (!seen.has(block) && group.inners.some(({ target }) => target.some((m) => block.source.includes(m)))) {
          seen.add(block);
          group.outers.push(block);
          grown = true;
        }
    }
    result.push(...join(group.outers, group.inners));
  }
  return result;
}

function join(outers: readonly Block[], inners: readonly Block[]): Block[] {
  const target = outers.flatMap((block) => block.target);
  const source = inners.flatMap((block) => block.source);
  const targetSides = outers.flatMap((block) => block.targetSides);
  const sourceSides = inners.flatMap((block) => block.sourceSides);
  const middle = outers.flatMap((block) => block.source);
  const middleInner = inners.flatMap((block) => block.target);
  const sameOrder = middle.length === middleInner.length && middle.every((axis, i) => axis === middleInner[i]);
  const equality = (blocks: readonly Block[]): boolean => blocks.every(({ entries }) => entries === null);
  if (sameOrder && equality(outers) && equality(inners))
    return segments(
      target.map((axis, i) => ({ axis, side: targetSides[i]! })),
      source.map((axis, i) => ({ axis, side: sourceSides[i]! })),
    );
  // One list on one side, renaming on the other.
  if (
    sameOrder &&
    inners.length === 1 &&
    equality(outers) &&
    outers.every((block) => block.target.length === 1 && block.source.length === 1)
  )
    return [{ ...inners[0]!, target, targetSides }];
  if (
    sameOrder &&
    outers.length === 1 &&
    equality(inners) &&
    inners.every((block) => block.target.length === 1 && block.source.length === 1)
  )
    return [{ ...outers[0]!, source, sourceSides }];

  // The middle index of every combination of outer entries, found again among the inner entries.
  const place = new Map(middle.map((axis, i) => [axis, i]));
  const byMiddle = inners.map((block) => {
    const lists = new Map<number, Entry[]>();
    for (const entry of entriesOf(block)) {
      const list = lists.get(entry.t);
      if (list) list.push(entry);
      else lists.set(entry.t, [entry]);
    }
    return { block, lists };
  });
  const entries: Entry[] = [];
  const emit = (t: number, s: number, weight: number): void => {
    if (entries.length === MAX_ENTRIES)
      throw new AssayError('NOT_PROVABLE', `a composed view needs more than ${MAX_ENTRIES} entries`);
    entries.push({ t, s, weight });
  };
  const overInners = (i: number, m: readonly number[], t: number, s: number, weight: number): void => {
    if (i === byMiddle.length) return emit(t, s, weight);
    const { block, lists } = byMiddle[i]!;
    const key = ravel(
      block.target.map((axis) => m[place.get(axis)!]!),
      block.targetSides,
    );
    for (const entry of lists.get(key) ?? [])
      overInners(i + 1, m, t, s * sizeOfSource(block) + entry.s, weight * entry.weight);
  };
  const overOuters = (i: number, m: readonly number[], t: number, weight: number): void => {
    if (i === outers.length) return overInners(0, m, t, 0, weight);
    const block = outers[i]!;
    for (const entry of entriesOf(block))
      overOuters(
        i + 1,
        [...m, ...unravel(entry.s, block.sourceSides)],
        t * sizeOfTarget(block) + entry.t,
        weight * entry.weight,
      );
  };
  overOuters(0, [], 0, 1);
  return [{ target, source, targetSides, sourceSides, entries: normalised(entries) }];
}
