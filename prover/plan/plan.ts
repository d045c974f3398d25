/**
 * The joint plan of a proof over several job groups: a pure function of their programs, their batch sizes and n. It
 * fixes where every slot and table lies, how many columns each family has and in which order columns are committed and
 * opened. Nothing of it is read from a proof but n.
 *
 * Families of columns (2^n cells each):
 *   y, r0, r1   witness chunks: table outputs, inputs and maxima; the two limbs of the remainders
 *   m           table chunks: multiplicities
 *   gw, gx      helpers of the witness lookups and of the maxima (gx only where there are maxima), per witness chunk
 *   gt          helper of the tables, per table chunk
 *   model       the columns of each group's model key
 * A family of several chunks is one polynomial whose leading ceil(log2 chunks) variables choose the chunk.
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
  readonly n: number;
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
  const witnessChunks = Math.ceil(witness.cells / 2 ** n);
  const tableChunks = Math.ceil(tables.cells / 2 ** n);
  if (witnessChunks > MAX_CHUNKS || tableChunks > MAX_CHUNKS)
    refuse(
      `${witnessChunks} witness and ${tableChunks} table columns of 2^${n} cells; at most ${MAX_CHUNKS}: choose a larger n`,
    );
  let first = 0;
  return {
    n,
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

/** Every column in the order of opening: witness families, helpers, then the model columns of each group. */
export interface ColumnPlan {
  readonly family: Family | 'model';
  /** For model columns. */
  readonly group: number;
  readonly chunk: number;
}
export function columnsOf(plan: Plan): ColumnPlan[] {
  const families = [...FIRST_FAMILIES, ...helperFamilies(plan)];
  return [
    ...families.flatMap((family) =>
      Array.from({ length: chunksOf(plan, family) }, (_, chunk) => ({ family, group: -1, chunk })),
    ),
    ...plan.groups.flatMap(({ modelChunks }, group) =>
      Array.from({ length: modelChunks }, (_, chunk) => ({ family: 'model' as const, group, chunk })),
    ),
  ];
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
