/** Everything that moves and adds without multiplying: views, sums, and expressions seen through them. */
import type { CombineNode, IntegerNode, TensorId, Window2d } from '../../graph/integer/types.js';
import { axisBlock, composeBlocks, permutationBlocks, reshapeBlocks, type Block, type Entry } from './blocks.js';
import { broadcastBlocks, constantTerms, diagonal, range, sourceIndex, type Draft } from './drafts.js';
import type { ProgramBuilder } from './program-builder.js';

export function combine(b: ProgramBuilder, node: CombineNode): Draft {
  const axes = b.shape(node.output);
  return {
    axes,
    linear: [
      ...node.terms.flatMap(({ x, coefficient }) =>
        b.draft(x).linear.map((term) => ({ ...term, coefficient: term.coefficient * BigInt(coefficient) })),
      ),
      ...constantTerms(node.bias, axes, `${node.name}.bias`),
    ],
    products: node.terms.flatMap(({ x, coefficient }) =>
      b.draft(x).products.map((product) => ({
        ...product,
        coefficient: product.coefficient * BigInt(coefficient),
      })),
    ),
  };
}

export type ViewNode = Extract<
  IntegerNode,
  { kind: 'sumPool' | 'reduceSum' | 'reshape' | 'transpose' | 'slice' | 'expand' | 'concat' | 'pad' }
>;

export function view(b: ProgramBuilder, node: ViewNode): Draft {
  const axes = b.shape(node.output);
  switch (node.kind) {
    case 'sumPool': {
      const source = b.shape(node.x);
      // The taps of an axis are summed inside its block, so that the map stays a product over axes.
      return through(
        b,
        node.x,
        axes,
        mapAxes(axes, source, (axis) =>
          axis === 0 ? diagonal(axes[0]!) : windowEntries(node.window, (axis - 1) as 0 | 1, axes[axis]!, source[axis]!),
        ),
      );
    }
    case 'reduceSum': {
      const source = b.shape(node.x);
      return through(
        b,
        node.x,
        axes,
        mapAxes(axes, source, (axis) =>
          range(source[axis]!).map((s) => ({ t: node.axes.includes(axis) ? 0 : s, s, weight: 1 })),
        ),
      );
    }
    case 'reshape':
      return through(b, node.x, axes, reshapeBlocks(axes, b.shape(node.x)));
    case 'transpose':
      return through(b, node.x, axes, permutationBlocks(node.permutation, axes));
    case 'slice':
      return through(
        b,
        node.x,
        axes,
        mapAxes(axes, b.shape(node.x), (axis) =>
          range(axes[axis]!).map((t) => ({ t, s: node.starts[axis]! + t * node.steps[axis]!, weight: 1 })),
        ),
      );
    case 'expand': {
      const source = b.shape(node.x);
      return through(
        b,
        node.x,
        axes,
        mapAxes(axes, source, (axis) =>
          range(axes[axis]!).map((t) => ({ t, s: source[axis] === 1 ? 0 : t, weight: 1 })),
        ),
      );
    }
    case 'concat': {
      let start = 0;
      const parts = node.xs.map((x) => {
        const source = b.shape(x);
        const blocks = mapAxes(axes, source, (axis) =>
          range(source[axis]!).map((s) => ({ t: axis === node.axis ? start + s : s, s, weight: 1 })),
        );
        start += source[node.axis]!;
        return through(b, x, axes, blocks);
      });
      return {
        axes,
        linear: parts.flatMap(({ linear }) => linear),
        products: parts.flatMap(({ products }) => products),
      };
    }
    case 'pad': {
      const source = b.shape(node.x);
      const inside = (axis: number): Entry[] =>
        range(source[axis]!).map((s) => ({ t: node.before[axis]! + s, s, weight: 1 }));
      const draft = through(b, node.x, axes, mapAxes(axes, source, inside));
      if (node.value === 0) return draft;
      // The value everywhere, less the value inside.
      const value = BigInt(node.value);
      const one = { kind: 'one' } as const;
      const interior = mapAxes(
        axes,
        axes.map(() => 1),
        (axis) => inside(axis).map((entry) => ({ ...entry, s: 0 })),
      );
      return {
        ...draft,
        linear: [
          ...draft.linear,
          { coefficient: value, source: one, blocks: broadcastBlocks(axes) },
          { coefficient: -value, source: one, blocks: interior },
        ],
      };
    }
  }
}

/** A map that goes from each axis of the source to the same axis of the target. */
const mapAxes = (axes: readonly number[], source: readonly number[], entries: (axis: number) => Entry[]): Block[] =>
  axes.flatMap((side, axis) => axisBlock(axis, side, axis, source[axis]!, entries(axis)));

/** A tensor seen through wiring. */
function through(b: ProgramBuilder, x: TensorId, axes: readonly number[], blocks: readonly Block[]): Draft {
  const { linear, products } = b.draft(x);
  return {
    axes,
    linear: linear.map((term) => ({ ...term, blocks: composeBlocks(blocks, term.blocks) })),
    products: products.map((product) => ({ ...product, blocks: composeBlocks(blocks, product.blocks) })),
  };
}

/** All taps of a window along one dimension, as entries from output to plane. */
function windowEntries(window: Window2d, d: 0 | 1, outSide: number, side: number): Entry[] {
  return range(outSide).flatMap((t) =>
    range(window.kernel[d])
      .map((k) => ({ t, s: sourceIndex(window, d, k, t), weight: 1 }))
      .filter(({ s }) => s >= 0 && s < side),
  );
}
