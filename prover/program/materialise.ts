/**
 * Commits to the constants of an expression when it is consumed: weights and biases go into model slots times the
 * multipliers of the requantisation, so that a program without residuals holds no numbers of the model at all.
 */
import { AssayError } from '../../common/errors.js';
import type { RequantNode } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { axisBlock, type Block } from './blocks.js';
import {
  diagonal,
  type Draft,
  type DraftProduct,
  type DraftTerm,
  type RawConstant,
  type SlotValues,
} from './drafts.js';
import type { ProgramBuilder } from './program-builder.js';
import type { Expression, LinearTerm, Product } from './types.js';

/** Commits to the constants of an expression, times the multipliers of a requantisation. */
export function materialise(b: ProgramBuilder, draft: Draft, scale: RequantNode | null): Expression {
  return {
    axes: draft.axes,
    linear: draft.linear.map((term) => materialiseTerm(b, term, scale)),
    products: draft.products.map((product) => materialiseProduct(b, product, scale)),
  };
}

export function materialiseTerm(b: ProgramBuilder, term: DraftTerm, scale: RequantNode | null): LinearTerm {
  const { source } = term;
  if (source.kind !== 'raw') return scaleTerm({ ...term, source }, scale);
  const { constant } = source;
  const along = scale && multiplierAxes(term.blocks, scale);
  const values = along === 'elsewhere' ? Float64Array.from(constant.data) : scaledValues(constant, along, scale);
  const committed: LinearTerm = {
    ...term,
    source: { kind: 'model', slot: b.addModel(constant.name, constant.axes, values) },
  };
  return along === 'elsewhere' ? scaleTerm(committed, scale) : committed;
}

function materialiseProduct(b: ProgramBuilder, product: DraftProduct, scale: RequantNode | null): Product {
  if (!('constant' in product.p)) return scaleTerm({ ...product, p: product.p }, scale);
  const { constant, labels } = product.p;
  // Multiplier axes as labels, then as axes of the weight tensor.
  const onLabels = scale && multiplierAxes(product.blocks, scale);
  const along =
    onLabels === null || onLabels === 'elsewhere' ? onLabels : onLabels.map((label) => labels.indexOf(label));
  const foldable = along === null || (along !== 'elsewhere' && !along.includes(-1));
  const values = foldable
    ? scaledValues(constant, along as readonly number[] | null, scale)
    : Float64Array.from(constant.data);
  const slot = b.addModel(constant.name, constant.axes, values);
  const committed: Product = {
    ...product,
    p: {
      labels: [...labels].sort((a, b) => a - b),
      terms: [
        {
          coefficient: 1n,
          source: { kind: 'model', slot },
          blocks: labels.flatMap((label, axis) =>
            axisBlock(label, product.labels[label]!, axis, product.labels[label]!, diagonal(product.labels[label]!)),
          ),
        },
      ],
      batched: false,
    },
  };
  return foldable ? committed : scaleTerm(committed, scale);
}

/**
 * The source axes along which the multipliers of a requantisation vary, if the map keeps that axis whole;
 * null: one multiplier for all; 'elsewhere': it must be multiplied into the map.
 */
function multiplierAxes(blocks: readonly Block[], scale: RequantNode): readonly number[] | null | 'elsewhere' {
  if (scale.multipliers.length === 1) return null;
  const block = blocks.find(({ target }) => target.includes(scale.channelAxis!));
  const whole = block && block.entries === null && block.target.length === 1;
  return whole ? block.source : 'elsewhere';
}

function scaledValues(constant: RawConstant, along: readonly number[] | null, scale: RequantNode | null): SlotValues {
  const values = Float64Array.from(constant.data);
  if (scale === null) return values;
  // The bound of 2^52 holds for the sum; where large constants cancel, one alone may pass what a double holds exactly.
  const exact = (product: number): number => {
    if (!Number.isSafeInteger(product))
      throw new AssayError(
        'NOT_PROVABLE',
        `an element of '${constant.name}' times its multiplier is ${product}, beyond 2^53`,
      );
    return product;
  };
  if (along === null) return values.map((v) => exact(v * scale.multipliers[0]!));
  const strides = constant.axes.map((_, axis) => sizeOf(constant.axes.slice(axis + 1)));
  return values.map((v, i) => {
    const index = along.reduce(
      (m, axis) => m * constant.axes[axis]! + (Math.floor(i / strides[axis]!) % constant.axes[axis]!),
      0,
    );
    return exact(v * scale.multipliers[index]!);
  });
}

/** A term or product times the multipliers of a requantisation. */
function scaleTerm<T extends { readonly coefficient: bigint; readonly blocks: readonly Block[] }>(
  term: T,
  scale: RequantNode | null,
): T {
  if (scale === null) return term;
  if (scale.multipliers.length === 1) return { ...term, coefficient: term.coefficient * BigInt(scale.multipliers[0]!) };
  const axis = scale.channelAxis!;
  const blocks = term.blocks.map((block) => {
    if (!block.target.includes(axis)) return block;
    const place = block.target.indexOf(axis);
    const inner = sizeOf(block.targetSides.slice(place + 1));
    const entries = block.entries ?? diagonal(sizeOf(block.targetSides));
    return {
      ...block,
      entries: entries.map((entry) => ({
        ...entry,
        weight: entry.weight * scale.multipliers[Math.floor(entry.t / inner) % block.targetSides[place]!]!,
      })),
    };
  });
  return { ...term, blocks };
}

export const splitting = (expression: Expression): Expression => ({
  ...expression,
  products: expression.products.map(checked),
});

/** A product whose output weights split between its operands. */
function checked(product: Product): Product {
  const role = (label: number): string => {
    const [inP, inQ] = [product.p.labels.includes(label), product.q.labels.includes(label)];
    return inP && inQ ? 'shared' : inP ? 'p' : 'q';
  };
  for (const { source } of product.blocks)
    if (new Set(source.map(role)).size > 1)
      throw new AssayError('NOT_PROVABLE', 'wiring mixes channels and positions of a product before it is requantised');
  return product;
}
