/**
 * The joint plan of a proof over several job groups: a pure function of their programs, their batch sizes and n. It
 * fixes where every slot and table lies, how many columns each family has and in which order columns are committed and
 * opened. Nothing of it is read from a proof but n.
 *
 * Families of chunks (2^lookupBits cells each):
 *   y, r0, r1   witness chunks: table outputs, inputs and maxima; the two limbs of the remainders
 *   m           table chunks: multiplicities
 *   gw, gx      helpers of the witness lookups and of the maxima (gx only where there are maxima), per witness chunk
 *   gt          helper of the tables, per table chunk
 *   model       the columns of each group's model key
 * A family of several chunks is one polynomial whose leading ceil(log2 chunks) variables choose the chunk. Committed are
 * columns of 2^n cells, in which as many chunks lie as fit.
 */
import { AssayError } from '../../common/errors.js';
import { bitsOf, bitsOfAxes, placeSlots } from '../program/layout.js';
import { MAX_COLUMN_BITS, MIN_COLUMN_BITS } from '../program/model-bits.js';
import { placeTables, type TableSpace } from '../program/tables.js';
import type { Program } from '../program/types.js';

export interface JobGroup {
  readonly program: Program;
  /** Items of the batch. */
  readonly items: number;
}

export interface GroupPlan extends JobGroup {
  readonly batchBits: number;
  /** First cell of each witness slot in the joint witness space. */
  readonly witnessOffsets: readonly number[];
  /** First cell of each model slot in the group's model space. */
  readonly modelOffsets: readonly number[];
  readonly modelChunks: number;
}

export type Family = 'y' | 'r0' | 'r1' | 'm' | 'gw' | 'gx' | 'gt';

export interface Plan {
  /** log2 of the cells of a committed column: variables of phase O and of the opening. */
  readonly n: number;
  /**
   * log2 of the cells of a chunk: variables of phase L. Where witness and tables fit into less than a column, a chunk is
   * the least power of two that holds either; else it is a column.
   */
  readonly lookupBits: number;
  readonly groups: readonly GroupPlan[];
  readonly tables: TableSpace;
  readonly witnessChunks: number;
  readonly tableChunks: number;
  readonly hasMaxima: boolean;
  readonly hasValues: boolean;
}

/** Chunks of one family; a proof with more would cost its verifier more than it saves its prover. */
export const MAX_CHUNKS = 64;
export const MAX_ITEMS = 4096;
export const MAX_GROUPS = 64;

/** Cells of the joint witness space, padding included. */
export const witnessCells = (groups: readonly JobGroup[]): number => place(groups).cells;

function place(groups: readonly JobGroup[]): { offsets: readonly number[]; cells: number } {
  return placeSlots(
    groups.flatMap(({ program, items }) => program.witness.map(({ axes }) => bitsOf(items) + bitsOfAxes(axes))),
  );
}

/**
 * @throws AssayError PROOF_LIMITS where the batch, the number of groups or n lies outside what the protocol admits.
 */
export function makePlan(groups: readonly JobGroup[], n: number): Plan {
  const refuse = (message: string): never => {
    throw new AssayError('PROOF_LIMITS', message);
  };
  if (groups.length < 1 || groups.length > MAX_GROUPS)
    refuse(`${groups.length} job groups: expected 1 to ${MAX_GROUPS}`);
  // A space of no cells has no chunk to point at.
  if (groups.some(({ program }) => program.witness.length === 0)) refuse('a group has no witness');
  for (const { items } of groups)
    if (!Number.isInteger(items) || items < 1 || items > MAX_ITEMS)
      refuse(`${items} items: expected 1 to ${MAX_ITEMS}`);
  const least = Math.max(MIN_COLUMN_BITS, ...groups.map(({ program }) => program.modelBits));
  if (!Number.isInteger(n) || n < least || n > MAX_COLUMN_BITS)
    refuse(`columns of 2^${n} cells: this job takes 2^${least} to 2^${MAX_COLUMN_BITS}`);
  const witness = place(groups);
  const tables = placeTables(groups.map(({ program }) => program.tables));
  const cells = Math.max(witness.cells, tables.cells);
  const lookupBits = cells < 2 ** n ? bitsOf(cells) : n;
  const witnessChunks = Math.ceil(witness.cells / 2 ** lookupBits);
  const tableChunks = Math.ceil(tables.cells / 2 ** lookupBits);
  if (witnessChunks > MAX_CHUNKS || tableChunks > MAX_CHUNKS)
    refuse(
      `${witnessChunks} witness and ${tableChunks} table columns of 2^${n} cells; at most ${MAX_CHUNKS}: choose a larger n`,
    );
  let first = 0;
  return {
    n,
    lookupBits,
    tables,
    witnessChunks,
    tableChunks,
    hasMaxima: groups.some(({ program }) => program.maxima.length > 0),
    hasValues: tables.tables.some(({ kind }) => kind === 'values'),
    groups: groups.map(({ program, items }) => {
      const model = placeSlots(program.model.map(({ axes }) => bitsOfAxes(axes)));
      const witnessOffsets = witness.offsets.slice(first, (first += program.witness.length));
      return {
        program,
        items,
        batchBits: bitsOf(items),
        witnessOffsets,
        modelOffsets: model.offsets,
        modelChunks: Math.ceil(model.cells / 2 ** program.modelBits),
      };
    }),
  };
}

/** Variables that choose a chunk. */
export const chunkBits = (chunks: number): number => bitsOf(chunks);

export function chunksOf(plan: Plan, family: Family): number {
  return family === 'm' || family === 'gt' ? plan.tableChunks : plan.witnessChunks;
}

/** Families of a proof in the order of their commitments: before and after the lookup challenges. */
export const FIRST_FAMILIES: readonly Family[] = ['y', 'r0', 'r1', 'm'];
export const helperFamilies = (plan: Plan): readonly Family[] => (plan.hasMaxima ? ['gw', 'gx', 'gt'] : ['gw', 'gt']);

/** A chunk of a family, or a column of a model key, and where it is committed. */
export interface ChunkPlan {
  readonly family: Family | 'model';
  /** For model columns. */
  readonly group: number;
  readonly chunk: number;
  /** Number of the committed column, in the order of opening, and the chunk's first cell there. */
  readonly column: number;
  readonly offset: number;
}

/** A committed column: a proof's own have 2^n cells, those of a model key as many as the key was made with. */
export interface ColumnPlan {
  readonly cells: number;
  /** Of the model; -1 for the proof's own. */
  readonly group: number;
}

/**
 * All chunks in the order of opening: those that are committed to before the lookup challenges, family by family; those
 * after; the columns of each model key. The chunks of either of the first two share columns: as many lie in one, one after
 * another, as fit.
 */
export function chunksInOrder(plan: Plan): ChunkPlan[] {
  const all: ChunkPlan[] = [];
  const perColumn = 2 ** (plan.n - plan.lookupBits);
  let columns = 0;
  for (const families of [FIRST_FAMILIES, helperFamilies(plan)]) {
    let place = 0;
    for (const family of families)
      for (let chunk = 0; chunk < chunksOf(plan, family); chunk++, place++)
        all.push({
          family,
          group: -1,
          chunk,
          column: columns + Math.floor(place / perColumn),
          offset: (place % perColumn) * 2 ** plan.lookupBits,
        });
    columns += Math.ceil(place / perColumn);
  }
  plan.groups.forEach(({ modelChunks }, group) => {
    for (let chunk = 0; chunk < modelChunks; chunk++)
      all.push({ family: 'model', group, chunk, column: columns++, offset: 0 });
  });
  return all;
}

/** Every committed column in the order of opening. */
export function columnsOf(plan: Plan): ColumnPlan[] {
  const columns: ColumnPlan[] = [];
  for (const { group, column } of chunksInOrder(plan))
    columns[column] = { group, cells: 2 ** (group < 0 ? plan.n : plan.groups[group]!.program.modelBits) };
  return columns;
}

/** Columns that the chunks of some families share. */
export function columnCount(plan: Plan, families: readonly Family[]): number {
  const chunks = families.reduce((sum, family) => sum + chunksOf(plan, family), 0);
  return Math.ceil(chunks / 2 ** (plan.n - plan.lookupBits));
}

/** Finds a chunk by its name. */
export function chunkFinder(plan: Plan): (family: Family | 'model', group: number, chunk: number) => ChunkPlan {
  const all = new Map(chunksInOrder(plan).map((own) => [`${own.family} ${own.group} ${own.chunk}`, own]));
  return (family, group, chunk) => all.get(`${family} ${group} ${chunk}`)!;
}

/** Slot geometry: bits above the slot, of the batch, of the axes. */
export interface SlotBits {
  readonly offset: number;
  readonly bits: number;
}

export const slotOf = (group: GroupPlan, slot: number): SlotBits => ({
  offset: group.witnessOffsets[slot]!,
  bits: group.batchBits + bitsOfAxes(group.program.witness[slot]!.axes),
});
