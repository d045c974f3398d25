/** The tables of phase A written out: P_k(j), Q_k(j), E_k(j) over the bound labels j. */
import { add, mul, toField } from '../field/fr.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import type { ProductTerm } from '../plan/claims.js';
import { denseWeights } from '../plan/functional.js';
import type { Plan } from '../plan/plan.js';
import { unravel } from '../program/blocks.js';
import { cellStrides } from '../program/layout.js';
import { readView, type GroupWitness } from '../prover/witness.js';

/** Cell of the bound labels in the sumcheck's space: item bits first, then labels in order. */
function boundCells(
  plan: Plan,
  term: ProductTerm,
): { labels: readonly number[]; strides: readonly number[]; itemStride: number } {
  const labels = [...term.shared, ...term.contracted];
  const strides = cellStrides(labels.map((label) => term.product.labels[label]!));
  const bits = term.variables - (term.sharesBatch ? plan.groups[term.group]!.batchBits : 0);
  return { labels, strides, itemStride: 2 ** bits };
}

/** P(j) = sum over the operand's own labels (and items, unless shared) of weight times value. */
export function operandTable(
  plan: Plan,
  groups: readonly GroupWitness[],
  term: ProductTerm,
  side: 'p' | 'q',
  y: Int32Array,
): bigint[] {
  const group = plan.groups[term.group]!;
  const { built } = groups[term.group]!;
  const operand = term.product[side];
  const axes = term.product.labels.map((sideOf, label) => (operand.labels.includes(label) ? sideOf : 1));
  const view = readView(group, built, operand.terms, axes, y);
  const size = sizeOf(axes);
  const { labels, strides, itemStride } = boundCells(plan, term);
  const free = term.weights[side].map(({ axes: own, sides, weight }) => ({
    own,
    sides,
    values: denseWeights(weight, sizeOf(sides)),
  }));
  const items = denseWeights(term.batch, group.items);
  const table = new Array<bigint>(2 ** term.variables).fill(0n);
  const dense = stridesOf(axes);
  for (let i = 0; i < size; i++) {
    const index = axes.map((sideOf, label) => Math.floor(i / dense[label]!) % sideOf);
    const weight = free.reduce(
      (w, { own, sides, values }) =>
        mul(w, values[own.reduce((at, label, place) => at * sides[place]! + index[label]!, 0)]!),
      1n,
    );
    const cell = labels.reduce((sum, label, place) => sum + index[label]! * strides[place]!, 0);
    if (!operand.batched) table[cell] = add(table[cell]!, mul(weight, toField(view[i]!)));
    else
      for (let b = 0; b < group.items; b++) {
        const value = mul(weight, toField(view[b * size + i]!));
        const at = term.sharesBatch ? b * itemStride + cell : cell;
        table[at] = add(table[at]!, term.sharesBatch ? value : mul(items[b]!, value));
      }
  }
  return table;
}

/** E(j): the output weights of the shared labels, zero on padding; 1 everywhere without any. */
export function sharedTable(plan: Plan, term: ProductTerm): bigint[] {
  const group = plan.groups[term.group]!;
  if (term.shared.length === 0 && !term.sharesBatch) return new Array<bigint>(2 ** term.variables).fill(1n);
  const { strides, itemStride } = boundCells(plan, term);
  const table = new Array<bigint>(2 ** term.variables).fill(0n);
  const contractedCells = term.contracted.reduce(
    (cells, label) => cells * 2 ** Math.ceil(Math.log2(term.product.labels[label]!)),
    1,
  );
  const sides = term.shared.map((label) => term.product.labels[label]!);
  const factors = term.weights.shared.map(({ axes, sides: own, weight }) => ({
    axes,
    own,
    values: denseWeights(weight, sizeOf(own)),
  }));
  const items = term.sharesBatch ? denseWeights(term.batch, group.items) : [1n];
  items.forEach((item, b) => {
    for (let i = 0; i < sizeOf(sides); i++) {
      const index = unravel(i, sides);
      const weight = factors.reduce(
        (w, { axes, own, values }) =>
          mul(w, values[axes.reduce((at, label, place) => at * own[place]! + index[term.shared.indexOf(label)]!, 0)]!),
        item,
      );
      const cell = index.reduce((sum, at, place) => sum + at * strides[place]!, term.sharesBatch ? b * itemStride : 0);
      // Constant along contracted labels, whose bits are the lowest.
      for (let low = 0; low < contractedCells; low++) table[cell + low] = weight;
    }
  });
  return table;
}
