/** Tools of a dishonest prover: false traces, false witnesses, statements that fit them. */
import { AssayError } from '../../common/errors.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { IntegerGraph, TensorId } from '../../graph/integer/types.js';
import { makePlan, type Plan } from '../plan/plan.js';
import { tableRow, type PlacedTable } from '../program/tables.js';
import {
  buildWitness,
  maskColumns,
  readView,
  type GroupWitness,
  type MaskColumns,
  type Witness,
} from '../prover/witness.js';
import type { Tampering } from '../reference/reference-prover.js';
import type { Statement } from '../verifier/statement.js';
import type { Attempt } from './attack.js';
import { proveJob, publishedOf, type AuditJob } from './audited-prover.js';
import type { AuditGroup } from './cases.js';

export const planOf = (job: AuditJob): Plan =>
  makePlan(
    job.groups.map(({ built, items }) => ({ program: built.program, items })),
    job.n,
  );

const ANY = { lo: -(2 ** 31), hi: 2 ** 31 - 1 };

/** A graph without its proved ranges, for values that break them. */
const unbounded = (graph: IntegerGraph): IntegerGraph => ({
  ...graph,
  tensors: graph.tensors.map((tensor) => ({ ...tensor, range: ANY })),
});

/** The trace of a graph on inputs of any size; null where a table has no row for a quotient. */
export function evaluateAny(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): Int32Array[] | null {
  try {
    return evaluateGraph(unbounded(graph), inputs, items);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'INTERNAL') return null;
    throw error;
  }
}

/** The trace in which one tensor has other values and everything after it follows from them. */
export function retrace(
  { graph, inputs, items }: AuditGroup,
  tensor: TensorId,
  values: Int32Array,
): Int32Array[] | null {
  const cut = {
    ...graph,
    nodes: graph.nodes.filter(({ output }) => output !== tensor),
    inputs: [...graph.inputs, tensor],
  };
  return evaluateAny(cut, [...inputs, values], items);
}

/** The job with another trace in one group, and what that would publish. */
export function withTrace(job: AuditJob, g: number, values: readonly Int32Array[]): AuditJob {
  const { built } = job.groups[g]!;
  const witness: GroupWitness = { built, tensor: (id) => values[id]! };
  const outputs = publishedOf({ built, values });
  return {
    ...job,
    witnesses: job.witnesses.map((own, i) => (i === g ? witness : own)),
    statement: changeGroup(job.statement, g, { outputs }),
  };
}

export const changeGroup = (
  statement: Statement,
  g: number,
  change: Partial<Statement['groups'][number]>,
): Statement => ({
  groups: statement.groups.map((group, i) => (i === g ? { ...group, ...change } : group)),
});

/** The witness of a trace; null where the prover's own checks notice that it is none. */
export function witnessFor(job: AuditJob): Witness | null {
  try {
    return buildWitness(planOf(job), job.witnesses);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'INTERNAL') return null;
    throw error;
  }
}

const sameValues = (a: Int32Array, b: Int32Array): boolean => a.every((v, i) => v === b[i]);

/** True where a lie is none: same witness, same statement. */
export function isHonest(honest: AuditJob, job: AuditJob): boolean {
  const [a, b] = [witnessFor(honest)!, witnessFor(job)!];
  return (
    (['y', 'r0', 'r1', 'q'] as const).every((family) => sameValues(a[family], b[family])) &&
    honest.statement.groups.every(({ outputs }, g) =>
      outputs.every((values, i) => sameValues(values, job.statement.groups[g]!.outputs[i]!)),
    )
  );
}

/** The statement with the outputs that are read from witness cells alone read again. */
function republish(job: AuditJob, plan: Plan, witness: Witness): Statement {
  return {
    groups: job.statement.groups.map((group, g) => ({
      ...group,
      outputs: group.key.program.outputs.map(({ expression }, i) =>
        expression.products.length > 0 || expression.linear.some(({ source }) => source.kind === 'model')
          ? group.outputs[i]!
          : Int32Array.from(
              readView(plan.groups[g]!, { modelValues: [] }, expression.linear, expression.axes, witness.y),
            ),
      ),
    })),
  };
}

/** What a lie about the witness may look at. */
export interface WitnessLie {
  readonly witness: Witness;
  readonly plan: Plan;
  readonly masks: MaskColumns;
  readonly range: PlacedTable;
  /** Cells of requantisations, of inputs, of maxima. */
  readonly requants: readonly number[];
  readonly inputs: readonly number[];
  readonly maxima: readonly number[];
  /** The table that a cell is looked up in. */
  readonly tableAt: (cell: number) => PlacedTable;
  /** Value b of a row. */
  readonly value: (table: PlacedTable, row: number) => number;
}

const LOWEST = (table: PlacedTable): number => (table.kind === 'clamp' || table.kind === 'values' ? table.qLo : 0);

/** Row of a quotient in its table. */
export const rowOf = (table: PlacedTable, q: number): number => q - LOWEST(table);

/** Counts a row more or less often. */
export function count(witness: Witness, table: PlacedTable, row: number, change: number): void {
  if (row >= 0 && row < table.rows) witness.m[table.offset + row]! += change;
}

/**
 * Proves after a lie about the witness; `lie` changes it in place and says what it did, and which other hooks it needs,
 * or gives null where this job has no place for it.
 */
export async function proveLie(
  job: AuditJob,
  lie: (lie: WitnessLie) => { what: string; tampering?: Tampering } | null,
): Promise<Attempt[]> {
  const plan = planOf(job);
  const witness = buildWitness(plan, job.witnesses);
  const masks = maskColumns(plan);
  const cells = (mask: ArrayLike<number>): number[] => Array.from(mask).flatMap((on, cell) => (on ? [cell] : []));
  const done = lie({
    witness,
    plan,
    masks,
    range: plan.tables.tables.find(({ kind }) => kind === 'range')!,
    requants: cells(masks.requant),
    inputs: cells(masks.looked).filter((cell) => !masks.requant[cell]),
    maxima: cells(masks.maxima),
    tableAt: (cell) => plan.tables.tables.find(({ tag }) => tag === masks.tag[cell])!,
    value: (table, row) =>
      table.kind === 'values' ? job.groups[table.group]!.built.modelValues[table.slot]![row]! : tableRow(table, row).b,
  });
  if (done === null) return [];
  const statement = republish(job, plan, witness);
  return attempt(
    done.what,
    { ...job, statement },
    {
      ...done.tampering,
      witness: (own) => {
        for (const family of ['y', 'r0', 'r1', 'q', 'm'] as const) own[family].set(witness[family]);
        own.x.forEach((tap, i) => tap.set(witness.x[i]!));
      },
    },
  );
}

/**
 * What a dishonest prover proves; nothing where the statement leaves its ranges, which is refused before there is a
 * proof, by the prover and by the verifier alike.
 */
export async function attempt(what: string, job: AuditJob, tampering: Tampering = {}): Promise<Attempt[]> {
  try {
    return [{ what, proof: await proveJob(job, tampering), statement: job.statement }];
  } catch (error) {
    if (error instanceof AssayError && error.code === 'PROOF_INVALID') return [];
    throw error;
  }
}

/** Cell of a family's column as text and place. */
export function locate(plan: Plan, family: string, cell: number): { column: string; at: number } {
  return { column: `${family} ${Math.floor(cell / 2 ** plan.lookupBits)}`, at: cell % 2 ** plan.lookupBits };
}
