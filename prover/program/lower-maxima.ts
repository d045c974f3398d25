/** Maxima: slots that equal the largest of two to four views; windows with more taps take several steps. */
import { AssayError } from '../../common/errors.js';
import type { IntegerNode, Window2d } from '../../graph/integer/types.js';
import { axisBlock, composeBlocks, identityBlocks } from './blocks.js';
import { diagonal, range, sourceIndex, type Draft } from './drafts.js';
import type { ProgramBuilder } from './program-builder.js';
import { LIMB_BITS, MAX_TAPS, type LinearTerm } from './types.js';

export function maximum(b: ProgramBuilder, node: Extract<IntegerNode, { kind: 'maxPool' | 'reduceMax' }>): Draft {
  const { lo, hi } = b.graph.tensors[node.x]!.range;
  if (hi - lo >= 1 << LIMB_BITS)
    throw new AssayError(
      'NOT_PROVABLE',
      `a maximum over the range ${lo}..${hi}; differences must stay below ${1 << LIMB_BITS}`,
    );
  const target = b.shape(node.output);
  let axes = b.shape(node.x);
  let terms = b.view(node.x);
  /** One axis is reduced from its present side to `side`: tap k of output o reads index pick(k, o). */
  const reduce = (
    axis: number,
    side: number,
    count: number,
    pick: (tap: number, out: number) => number,
    isLast: boolean,
  ): void => {
    const next = axes.map((s, a) => (a === axis ? side : s));
    let taps: (readonly LinearTerm[])[] = range(count).map((tap) => {
      const from = axes;
      const blocks = next.flatMap((s, a) =>
        a === axis
          ? axisBlock(
              a,
              s,
              a,
              from[a]!,
              range(s).map((t) => ({ t, s: pick(tap, t), weight: 1 })),
            )
          : axisBlock(a, s, a, s, diagonal(s)),
      );
      return terms.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) }));
    });
    while (taps.length > 1) {
      const groups = range(Math.ceil(taps.length / MAX_TAPS)).map((g) => taps.slice(g * MAX_TAPS, (g + 1) * MAX_TAPS));
      const last = isLast && groups.length === 1;
      taps = groups.map((group) => (group.length === 1 ? group[0]! : addMaximum(b, node, next, group, last)));
    }
    terms = taps[0]!;
    axes = next;
  };

  if (node.kind === 'reduceMax') {
    for (const axis of node.axes)
      while (axes[axis]! > 1) {
        const side = axes[axis]!;
        // Taps beyond the end repeat the last element, which changes no maximum.
        reduce(
          axis,
          Math.ceil(side / MAX_TAPS),
          Math.min(side, MAX_TAPS),
          (tap, out) => Math.min(out * MAX_TAPS + tap, side - 1),
          axis === node.axes.findLast((a) => axes[a]! > 1) && side <= MAX_TAPS,
        );
      }
  } else {
    const picks = ([0, 1] as const).map((d) => insideTaps(node.window, d, target[d + 1]!, b.shape(node.x)[d + 1]!));
    const [rows, columns] = node.window.kernel;
    if (rows * columns > 1 && rows * columns <= MAX_TAPS) {
      const source = axes;
      const taps = range(rows * columns).map((tap) => {
        const at = [Math.floor(tap / columns), tap % columns];
        const blocks = target.flatMap((side, axis) =>
          axis === 0
            ? axisBlock(0, side, 0, side, diagonal(side))
            : axisBlock(
                axis,
                side,
                axis,
                source[axis]!,
                range(side).map((t) => ({ t, s: picks[axis - 1]!(at[axis - 1]!, t), weight: 1 })),
              ),
        );
        return terms.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) }));
      });
      terms = addMaximum(b, node, target, taps, true);
      axes = target;
    } else {
      // The step that ends at the output's shape must be the one that makes a slot: a single row is only a view.
      if (rows > 1) reduce(2, target[2]!, columns, picks[1]!, false);
      reduce(1, target[1]!, rows, picks[0]!, rows > 1);
      if (rows === 1) reduce(2, target[2]!, columns, picks[1]!, true);
    }
  }
  return { axes: target, linear: terms, products: [] };
}

/** A slot that holds the elementwise maximum of 2 to 4 views. */
function addMaximum(
  b: ProgramBuilder,
  node: IntegerNode,
  axes: readonly number[],
  taps: readonly (readonly LinearTerm[])[],
  isOutput: boolean,
): readonly LinearTerm[] {
  const slot = b.addWitness(
    `${node.name}.max${b.maxima.length}`,
    axes,
    isOutput ? { kind: 'tensor', tensor: node.output, shape: axes, toSlot: identityBlocks(axes) } : { kind: 'maximum' },
  );
  b.maxima.push({ slot, taps });
  return [{ coefficient: 1n, source: { kind: 'witness', slot }, blocks: identityBlocks(axes) }];
}

/** Per tap and output the index it reads; a tap outside the plane repeats one inside, which changes no maximum. */
function insideTaps(window: Window2d, d: 0 | 1, outSide: number, side: number): (tap: number, out: number) => number {
  const inside = range(outSide).map((o) =>
    range(window.kernel[d])
      .map((k) => sourceIndex(window, d, k, o))
      .filter((s) => s >= 0 && s < side),
  );
  return (tap, out) => {
    const s = sourceIndex(window, d, tap, out);
    return s >= 0 && s < side ? s : inside[out]![0]!;
  };
}
