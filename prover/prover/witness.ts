/**
 * The witness of a proof as integers, in the cells of its plan: what both provers commit to.
 *
 *   L = x M + 2^23,  q = floor(L / 2^24),  L - 2^24 q = r0 + 2^12 r1.
 * Padding cells hold 0. Memory: 4 bytes per cell and array.
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf, stridesOf } from '../../graph/tensor.js';
import { REQUANT_SHIFT, type TensorId } from '../../graph/integer/types.js';
import { chunksOf, slotOf, type GroupPlan, type Plan } from '../plan/plan.js';
import type { ProgramWithModel } from '../program/build-program.js';
import { tableRow, type PlacedTable } from '../program/tables.js';
import { bitsOfAxes, cellsOfItem, cellStrides, placeSlots } from '../program/layout.js';
import { LIMB_BITS, MAX_TAPS, type LinearTerm } from '../program/types.js';
import { viewEntries } from './views.js';

/** One group of jobs as the prover sees it. */
export interface GroupWitness {
  readonly built: ProgramWithModel;
  /** Values of a tensor of the graph for all items; asked for slots and for what is requantised. */
  readonly tensor: (id: TensorId) => Int32Array;
}

/** Chunks of a family one after another, 2^n cells each. */
export interface Witness {
  readonly y: Int32Array;
  readonly r0: Int32Array;
  readonly r1: Int32Array;
  readonly q: Int32Array;
  /** The taps of the maxima on the cells of their slots; empty without maxima. */
  readonly x: readonly Int32Array[];
  readonly m: Int32Array;
}

const LIMB = 2 ** LIMB_BITS;
const SHIFT = 2 ** REQUANT_SHIFT;

/**
 * @throws AssayError INTERNAL where a value does not follow from its operands: the trace is not one of this graph.
 */
export function buildWitness(plan: Plan, groups: readonly GroupWitness[]): Witness {
  const cells = plan.witnessChunks * 2 ** plan.lookupBits;
  const make = (): Int32Array => new Int32Array(cells);
  const witness = {
    y: make(),
    r0: make(),
    r1: make(),
    q: make(),
    x: plan.hasMaxima ? Array.from({ length: MAX_TAPS }, make) : [],
    m: new Int32Array(chunksOf(plan, 'm') * 2 ** plan.lookupBits),
  };
  const range = plan.tables.tables.find(({ kind }) => kind === 'range')!;
  plan.groups.forEach((group, g) => {
    const { built, tensor } = groups[g]!;
    const { program } = built;
    const table = (index: number): PlacedTable => {
      const tag = plan.tables.tagOf(g, index);
      return plan.tables.tables.find((placed) => placed.tag === tag)!;
    };
    built.origins.forEach((origin, slot) => {
      if (origin.kind === 'tensor') fillSlot(group, built, slot, tensor(origin.tensor), witness.y);
    });
    for (const { slot, table: index } of program.inputs) {
      const { offset, lo } = table(index) as Extract<PlacedTable, { kind: 'input' }>;
      forEachCell(group, built, slot, (cell) => {
        witness.m[offset + witness.y[cell]! - lo]!++;
      });
    }
    program.requants.forEach(({ slot, table: index }, r) => {
      const node = built.requantNodes[r]!;
      const x = tensor(node.x);
      const placed = table(index);
      const { rows, offset } = placed;
      const { qLo } = placed as Extract<PlacedTable, { kind: 'clamp' | 'values' }>;
      const shape = tensorShape(built, slot, node.output);
      const inner = node.channelAxis === null ? 1 : stridesOf(shape)[node.channelAxis]!;
      const { multipliers } = node;
      forEachCell(group, built, slot, (cell, element) => {
        const L = x[element]! * multipliers[Math.floor(element / inner) % multipliers.length]! + SHIFT / 2;
        const q = Math.floor(L / SHIFT);
        const rest = L - q * SHIFT;
        const r1 = Math.floor(rest / LIMB);
        const r0 = rest - r1 * LIMB;
        witness.q[cell] = q;
        witness.r0[cell] = r0;
        witness.r1[cell] = r1;
        const row = q - qLo;
        if (row < 0 || row >= rows)
          throw new AssayError('INTERNAL', `requant node '${node.name}': q = ${q} lies outside its table`);
        witness.m[offset + row]!++;
        witness.m[range.offset + r0]!++;
        witness.m[range.offset + r1]!++;
      });
    });
    for (const { slot, taps } of program.maxima) {
      const isKnown = built.origins[slot]!.kind === 'tensor';
      const { offset, bits } = slotOf(group, slot);
      const itemCells = 2 ** (bits - group.batchBits);
      const views = taps.map((terms) => readView(group, built, terms, program.witness[slot]!.axes, witness.y));
      const padded = Array.from({ length: MAX_TAPS }, (_, i) => views[i] ?? views[0]!);
      const cellsOf = cellsOfItem(program.witness[slot]!.axes);
      for (let item = 0; item < group.items; item++)
        cellsOf.forEach((inside, i) => {
          const cell = offset + item * itemCells + inside;
          const at = item * cellsOf.length + i;
          const best = Math.max(...views.map((view) => view[at]!));
          if (!isKnown) witness.y[cell] = best;
          if (witness.y[cell] !== best)
            throw new AssayError(
              'INTERNAL',
              `slot '${program.witness[slot]!.name}' holds ${witness.y[cell]}, the maximum is ${best}`,
            );
          padded.forEach((view, tap) => {
            witness.x[tap]![cell] = view[at]!;
            witness.m[range.offset + best - view[at]!]!++;
          });
        });
    }
  });
  return witness;
}

function tensorShape(built: ProgramWithModel, slot: number, output: TensorId): readonly number[] {
  const origin = built.origins[slot]!;
  if (origin.kind !== 'tensor' || origin.tensor !== output)
    throw new AssayError('INTERNAL', `slot ${slot} is not tensor ${output}`);
  return origin.shape;
}

/** Calls with the cell in the witness space and the element of the tensor, for every element of every item. */
function forEachCell(
  group: GroupPlan,
  built: ProgramWithModel,
  slot: number,
  visit: (cell: number, element: number) => void,
): void {
  const origin = built.origins[slot]!;
  if (origin.kind !== 'tensor') throw new AssayError('INTERNAL', `slot ${slot} is no tensor`);
  const { axes } = built.program.witness[slot]!;
  const { target, source } = viewEntries(origin.toSlot, stridesOf(origin.shape), cellStrides(axes));
  const { offset, bits } = slotOf(group, slot);
  const itemCells = 2 ** (bits - group.batchBits);
  const size = sizeOf(origin.shape);
  for (let item = 0; item < group.items; item++)
    for (let i = 0; i < target.length; i++) visit(offset + item * itemCells + source[i]!, item * size + target[i]!);
}

function fillSlot(group: GroupPlan, built: ProgramWithModel, slot: number, values: Int32Array, y: Int32Array): void {
  forEachCell(group, built, slot, (cell, element) => {
    y[cell] = values[element]!;
  });
}

/** A view as integers: item-major, row-major over the target axes. */
export function readView(
  group: GroupPlan,
  { modelValues }: Pick<ProgramWithModel, 'modelValues'>,
  terms: readonly LinearTerm[],
  axes: readonly number[],
  y: Int32Array,
): Float64Array {
  const { program, items, batchBits } = group;
  const size = sizeOf(axes);
  const result = new Float64Array(size * items);
  const strides = stridesOf(axes);
  for (const { coefficient, source, blocks } of terms) {
    const scale = Number(coefficient);
    if (source.kind === 'witness') {
      const { offset, bits } = slotOf(group, source.slot);
      const itemCells = 2 ** (bits - batchBits);
      const {
        target,
        source: cells,
        weight,
      } = viewEntries(blocks, strides, cellStrides(program.witness[source.slot]!.axes));
      for (let item = 0; item < items; item++)
        for (let i = 0; i < target.length; i++)
          result[item * size + target[i]!]! += scale * weight[i]! * y[offset + item * itemCells + cells[i]!]!;
      continue;
    }
    // The same for every item.
    const values = source.kind === 'model' ? modelValues[source.slot]! : Float64Array.of(1);
    const sourceAxes = source.kind === 'model' ? program.model[source.slot]!.axes : [];
    const { target, source: elements, weight } = viewEntries(blocks, strides, stridesOf(sourceAxes));
    for (let item = 0; item < items; item++)
      for (let i = 0; i < target.length; i++)
        result[item * size + target[i]!]! += scale * weight[i]! * values[elements[i]!]!;
  }
  return result;
}

/** The integers of a model's columns, 2^modelBits cells each, one after another. */
export function modelColumns({ program, modelValues }: ProgramWithModel): Float64Array {
  const { offsets, cells } = placeSlots(program.model.map(({ axes }) => bitsOfAxes(axes)));
  const columns = new Float64Array(Math.ceil(cells / 2 ** program.modelBits) * 2 ** program.modelBits);
  program.model.forEach(({ axes }, slot) => {
    const inside = cellsOfItem(axes);
    inside.forEach((cell, i) => {
      columns[offsets[slot]! + cell] = modelValues[slot]![i]!;
    });
  });
  return columns;
}

/** The rows of a proof's tables as integers, over the whole table space; committed values included. */
export interface TableColumns {
  readonly valid: Uint8Array;
  readonly a: Int32Array;
  /** Without the committed values, and those alone. */
  readonly b: Int32Array;
  readonly committed: Int32Array;
  readonly tag: Int32Array;
}

export function tableColumns(plan: Plan, groups: readonly GroupWitness[]): TableColumns {
  const cells = plan.tableChunks * 2 ** plan.lookupBits;
  const columns = {
    valid: new Uint8Array(cells),
    a: new Int32Array(cells),
    b: new Int32Array(cells),
    committed: new Int32Array(cells),
    tag: new Int32Array(cells),
  };
  for (const table of plan.tables.tables)
    for (let i = 0; i < table.rows; i++) {
      const row = table.offset + i;
      const { a, b } = tableRow(table, i);
      columns.valid[row] = 1;
      columns.a[row] = a;
      columns.b[row] = b;
      columns.tag[row] = table.tag;
      if (table.kind === 'values') columns.committed[row] = groups[table.group]!.built.modelValues[table.slot]![i]!;
    }
  return columns;
}

/** Masks and tags of the witness space as integers. */
export interface MaskColumns {
  readonly requant: Uint8Array;
  readonly looked: Uint8Array;
  readonly maxima: Uint8Array;
  readonly tag: Int32Array;
}

export function maskColumns(plan: Plan): MaskColumns {
  const cells = plan.witnessChunks * 2 ** plan.lookupBits;
  const masks = {
    requant: new Uint8Array(cells),
    looked: new Uint8Array(cells),
    maxima: new Uint8Array(cells),
    tag: new Int32Array(cells),
  };
  plan.groups.forEach((group, g) => {
    const { program } = group;
    const mark = (slot: number, arrays: readonly Uint8Array[]): void => {
      const { axes } = program.witness[slot]!;
      const inside = cellsOfItem(axes);
      const { offset, bits } = slotOf(group, slot);
      const itemCells = 2 ** (bits - group.batchBits);
      for (let item = 0; item < group.items; item++)
        for (const cell of inside) for (const array of arrays) array[offset + item * itemCells + cell] = 1;
    };
    const tag = (slot: number, table: number): void => {
      const { offset, bits } = slotOf(group, slot);
      masks.tag.fill(plan.tables.tagOf(g, table), offset, offset + 2 ** bits);
    };
    for (const { slot, table } of program.requants) {
      mark(slot, [masks.requant, masks.looked]);
      tag(slot, table);
    }
    for (const { slot, table } of program.inputs) {
      mark(slot, [masks.looked]);
      tag(slot, table);
    }
    for (const { slot } of program.maxima) mark(slot, [masks.maxima]);
  });
  return masks;
}
