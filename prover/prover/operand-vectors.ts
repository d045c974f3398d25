/**
 * The tables of phase A in WebAssembly memory: P_k(j), Q_k(j), E_k(j) over the bound labels j of a product, with the
 * same meaning as prover/reference/product-tables.ts.
 *
 * Weights: rows of free labels are summed under their weights. Activations: the items are summed first (unless the
 * product shares them), then one axis after another goes from the slot's index to the bound label's by a small sparse
 * matrix, entry (label index, source index) = sum over the free indices of weight times multiplicity. That costs the
 * size of the tensor, not of its windows.
 */
import { add, mul, toField } from '../field/fr.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import type { ProductTerm } from '../plan/claims.js';
import { denseWeights, sumWeight, type Factor } from '../plan/functional.js';
import { slotOf, type GroupPlan, type Plan } from '../plan/plan.js';
import { entriesOf, ravel, unravel, type Block } from '../program/blocks.js';
import { bitsOf, bitsOfAxes, cellStrides } from '../program/layout.js';
import type { LinearTerm } from '../program/types.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector, type FrVectors, type IntVector } from '../wasm/fr-vectors.js';
import { itemWeights, paddedWeights } from './slot-weights.js';
import { viewEntries } from './views.js';

/** Where operands are read from. */
export interface OperandSources {
  /** Column y over the whole witness space. */
  readonly y: IntVector;
  /** Model columns of each group as one vector, or null for groups whose model is not used. */
  readonly model: readonly FrVector[];
}

const padded = (side: number): number => 2 ** bitsOf(side);

/** P_k or Q_k. */
export function operandVector(
  arithmetic: Arithmetic,
  plan: Plan,
  term: ProductTerm,
  side: 'p' | 'q',
  sources: OperandSources,
): FrVector {
  const { fr, memory } = arithmetic;
  const group = plan.groups[term.group]!;
  const operand = term.product[side];
  const table = fr.zeros(2 ** term.variables);
  for (const linear of operand.terms)
    memory.scoped(() => {
      const part =
        (linear.source.kind === 'model' && weightsVector(fr, group, term, side, linear, sources)) ||
        (linear.source.kind === 'witness' && activationVector(fr, group, term, side, linear, sources)) ||
        entryVector(fr, group, term, side, linear, sources);
      fr.axpy(table, 1n, part);
    });
  return table;
}

/** E_k; null where nothing is shared. */
export function sharedVector({ fr }: Arithmetic, plan: Plan, term: ProductTerm): FrVector | null {
  if (term.weights.shared.length === 0 && !term.sharesBatch) return null;
  const group = plan.groups[term.group]!;
  const sides = term.product.labels.map((side, label) => (term.shared.includes(label) ? side : 1));
  const shared = itemWeights(fr, term.weights.shared, sides);
  const items = term.sharesBatch ? fr.fromBigInts(paddedWeights(term.batch, group.items)) : fr.fromBigInts([1n]);
  const outer = fr.outer(items, shared);
  const contracted = 2 ** term.variables / outer.length;
  return fr.outer(outer, fr.fromBigInts(new Array<bigint>(contracted).fill(1n)));
}

const boundLabels = (term: ProductTerm): readonly number[] => [...term.shared, ...term.contracted];

/** Weights whose slot holds shared, free and contracted labels in this order: the form that every layer compiles to. */
function weightsVector(
  fr: FrVectors,
  group: GroupPlan,
  term: ProductTerm,
  side: 'p' | 'q',
  { source, blocks, coefficient }: LinearTerm,
  sources: OperandSources,
): FrVector | null {
  if (source.kind !== 'model' || coefficient !== 1n || term.product[side].batched) return null;
  const { axes } = group.program.model[source.slot]!;
  if (!blocks.every(({ entries, target, source: own }) => entries === null && target.length === 1 && own.length === 1))
    return null;
  const labelOf = new Map(blocks.map((block) => [block.source[0]!, block.target[0]!]));
  const order = axes.flatMap((axisSide, axis) => (axisSide === 1 ? [] : [labelOf.get(axis)!]));
  const free = term.weights[side].flatMap((factor) => factor.axes);
  const wide = (label: number): boolean => term.product.labels[label]! > 1;
  const expected = [...term.shared.filter(wide), ...free, ...term.contracted.filter(wide)];
  if (order.length !== expected.length || order.some((label, i) => label !== expected[i])) return null;
  const size = (labels: readonly number[]): number =>
    labels.reduce((n, label) => n * padded(term.product.labels[label]!), 1);
  const [outer, rows, columns] = [size(term.shared), size(free), size(term.contracted)];
  const first = group.modelOffsets[source.slot]!;
  const cells = sliceVector(sources.model[term.group]!, first, first + outer * rows * columns);
  const weights = itemWeights(
    fr,
    term.weights[side],
    term.product.labels.map((labelSide, label) => (free.includes(label) ? labelSide : 1)),
  );
  if (rows === 1) return fr.scale(fr.at(weights, 0), cells);
  const result = fr.zeros(outer * columns);
  for (let o = 0; o < outer; o++) {
    const out = sliceVector(result, o * columns, (o + 1) * columns);
    for (let row = 0; row < rows; row++) {
      const weight = fr.at(weights, row);
      if (weight !== 0n)
        fr.axpy(out, weight, sliceVector(cells, (o * rows + row) * columns, (o * rows + row + 1) * columns));
    }
  }
  return result;
}

/** One step from a source axis to at most one bound label. */
interface AxisStep {
  readonly axis: number;
  readonly label: number | null;
  readonly entries: readonly { readonly row: number; readonly column: number; readonly weight: bigint }[];
}

/** A view that goes axis by axis and keeps the order of axes; null where it does not. */
function activationVector(
  fr: FrVectors,
  group: GroupPlan,
  term: ProductTerm,
  side: 'p' | 'q',
  linear: LinearTerm,
  sources: OperandSources,
): FrVector | null {
  if (linear.source.kind !== 'witness') return null;
  const { axes } = group.program.witness[linear.source.slot]!;
  const { labels } = term.product;
  const bound = boundLabels(term);
  const free = term.weights[side];
  const steps: AxisStep[] = [];
  for (const block of linear.blocks) {
    if (block.source.length > 1) return null;
    const step = axisStep(block, bound, free);
    if (step === null) return null;
    // A broadcast along a bound label, or a factor: left to the general form.
    if (block.source.length === 0) return null;
    steps.push(step);
  }
  steps.sort((a, b) => a.axis - b.axis);
  const order = steps.flatMap(({ label }) => (label === null ? [] : [label]));
  const expected = bound.filter((label) => labels[label]! > 1);
  if (order.length !== expected.length || order.some((label, i) => label !== expected[i])) return null;

  const { offset, bits } = slotOf(group, linear.source.slot);
  const itemCells = 2 ** (bits - group.batchBits);
  const slot: IntVector = sliceInts(sources.y, offset, offset + 2 ** bits);
  let current: FrVector = term.sharesBatch
    ? fr.fromInts(slot)
    : fr.dotColumns(slot, 2 ** group.batchBits, itemCells, fr.fromBigInts(paddedWeights(term.batch, group.items)));
  const sides = axes.map(padded);
  const batch = term.sharesBatch ? 2 ** group.batchBits : 1;
  for (const { axis, label, entries } of steps) {
    const outAxis = label === null ? 1 : padded(labels[label]!);
    const pre = batch * sides.slice(0, axis).reduce((a, b) => a * b, 1);
    const post = sides.slice(axis + 1).reduce((a, b) => a * b, 1);
    const next = fr.zeros(pre * outAxis * post);
    fr.sparseAlongAxis(
      next,
      current,
      {
        rows: Uint32Array.from(entries, ({ row }) => row),
        columns: Uint32Array.from(entries, ({ column }) => column),
        weights: fr.fromBigInts(entries.map(({ weight }) => weight)),
      },
      { pre, outAxis, inAxis: sides[axis]!, post },
    );
    current = next;
    sides[axis] = outAxis;
  }
  return fr.scale(toField(linear.coefficient), current);
}

/** The sparse matrix of a block with one source axis; null where several bound labels hang on it. */
function axisStep(block: Block, bound: readonly number[], free: readonly Factor[]): AxisStep | null {
  const boundPlaces = block.target.flatMap((label, place) => (bound.includes(label) ? [place] : []));
  if (boundPlaces.length > 1) return null;
  const freePlaces = block.target.map((_, place) => place).filter((place) => !boundPlaces.includes(place));
  const weights = freePlaces.map((place) => {
    const factor = free.find(({ axes }) => axes.length === 1 && axes[0] === block.target[place]);
    return factor ? denseWeights(factor.weight, factor.sides[0]!) : null;
  });
  if (weights.includes(null)) return null;
  const sums = new Map<number, { row: number; column: number; weight: bigint }>();
  const width = sizeOf(block.sourceSides);
  for (const { t, s, weight } of entriesOf(block)) {
    const index = unravel(t, block.targetSides);
    const row = boundPlaces.length === 0 ? 0 : index[boundPlaces[0]!]!;
    const value = freePlaces.reduce((w, place, i) => mul(w, weights[i]![index[place]!]!), toField(weight));
    const key = row * width + s;
    const known = sums.get(key);
    if (known) known.weight = add(known.weight, value);
    else sums.set(key, { row, column: s, weight: value });
  }
  return {
    axis: block.source[0] ?? 0,
    label: boundPlaces.length === 0 ? null : block.target[boundPlaces[0]!]!,
    entries: [...sums.values()],
  };
}

/** Any term, entry by entry over BigInt: for views that the two forms above do not cover. */
function entryVector(
  fr: FrVectors,
  group: GroupPlan,
  term: ProductTerm,
  side: 'p' | 'q',
  { source, blocks, coefficient }: LinearTerm,
  sources: OperandSources,
): FrVector {
  const { labels } = term.product;
  const operand = term.product[side];
  const axes = labels.map((labelSide, label) => (operand.labels.includes(label) ? labelSide : 1));
  const slotAxes =
    source.kind === 'one'
      ? []
      : (source.kind === 'model' ? group.program.model : group.program.witness)[source.slot]!.axes;
  const entries = viewEntries(blocks, stridesOf(axes), cellStrides(slotAxes));
  const bound = boundLabels(term);
  const strides = cellStrides(bound.map((label) => labels[label]!));
  const itemStride = 2 ** bitsOfAxes(bound.map((label) => labels[label]!));
  const free = term.weights[side].map(({ axes: own, sides, weight }) => ({
    own,
    sides,
    values: denseWeights(weight, sizeOf(sides)),
  }));
  const items = denseWeights(term.batch, group.items);

  // The source by item: summed over the items where they are not bound, one copy for all where they do not matter.
  const perItem = ((): bigint[][] => {
    if (source.kind === 'witness') {
      const { offset, bits } = slotOf(group, source.slot);
      const cells = 2 ** (bits - group.batchBits);
      const slot = sliceInts(sources.y, offset, offset + 2 ** bits);
      if (!term.sharesBatch)
        return [
          fr.toBigInts(
            fr.dotColumns(slot, 2 ** group.batchBits, cells, fr.fromBigInts(paddedWeights(term.batch, group.items))),
          ),
        ];
      const all = fr.toBigInts(fr.fromInts(slot));
      return Array.from({ length: group.items }, (_, b) => all.slice(b * cells, (b + 1) * cells));
    }
    const first = source.kind === 'model' ? group.modelOffsets[source.slot]! : 0;
    const values =
      source.kind === 'model'
        ? fr.toBigInts(sliceVector(sources.model[term.group]!, first, first + 2 ** bitsOfAxes(slotAxes)))
        : [1n];
    if (!operand.batched) return [values];
    if (term.sharesBatch) return items.map(() => values);
    const all = sumWeight(term.batch, group.items);
    return [values.map((v) => mul(v, all))];
  })();
  const table = new Array<bigint>(2 ** term.variables).fill(0n);
  for (let i = 0; i < entries.target.length; i++) {
    const index = unravel(entries.target[i]!, axes);
    const weight = free.reduce(
      (w, { own, sides, values }) =>
        mul(
          w,
          values[
            ravel(
              own.map((label) => index[label]!),
              sides,
            )
          ]!,
        ),
      mul(toField(coefficient), toField(entries.weight[i]!)),
    );
    const cell = bound.reduce((sum, label, place) => sum + index[label]! * strides[place]!, 0);
    perItem.forEach((values, b) => {
      const at = cell + (term.sharesBatch ? b * itemStride : 0);
      table[at] = add(table[at]!, mul(weight, values[entries.source[i]!]!));
    });
  }
  // A weight that is the same for all items, in a product that shares them, repeats along the items.
  if (term.sharesBatch && !operand.batched)
    for (let b = 1; b < group.items; b++) for (let j = 0; j < itemStride; j++) table[b * itemStride + j] = table[j]!;
  return fr.fromBigInts(table);
}

const INT_BYTES = { I8: 1, I16: 2, I32: 4, F64: 8 } as const;
function sliceInts(vector: IntVector, start: number, end: number): IntVector {
  return { pointer: vector.pointer + start * INT_BYTES[vector.kind], length: end - start, kind: vector.kind };
}
