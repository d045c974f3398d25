/** Three attacks that a small slip in the protocol would let through; run against the code as it is and with the slip. */
import { GraphBuilder } from '../../../graph/integer/builder.js';
import type { IntegerGraph } from '../../../graph/integer/types.js';
import type { Plan } from '../../plan/plan.js';
import { maskColumns, type Witness } from '../../prover/witness.js';
import { makeJob, proveJob, type AuditJob } from '../audited-prover.js';
import { randomCase, randomGroup } from '../cases.js';
import { Draw } from '../draw.js';
import { completeWords } from '../families/padding.js';
import { changeGroup, planOf } from '../lies.js';
import { plainProver } from '../plain-prover.js';

/** The code of the refusal; null where the forgery is accepted. */
function verdict(job: AuditJob, statement: AuditJob['statement'], proof: Uint8Array): string | null {
  try {
    job.prover.verify(statement, proof, job.bound);
    return null;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}

/**
 * scores = a b^T over an axis of 3 or 5 elements, padded to 4 or 8: a 1 in a padding cell of one row of a and of one row
 * of b adds 1 to one score.
 */
export async function readThroughContraction(seed: number): Promise<string | null> {
  const draw = new Draw('contraction', seed);
  for (;;) {
    const job = await makeJob(plainProver, [randomCase('matmulActivations', draw)]);
    const [group] = job.groups;
    const { program } = group!.built;
    const [m, k] = program.witness[0]!.axes as [number, number];
    const n = program.witness[1]!.axes[0]!;
    if (k !== 3 && k !== 5) continue;
    const padded = k === 3 ? 4 : 8;
    const plan = planOf(job);
    const [i, j] = [draw.int(0, m - 1), draw.int(0, n - 1)];
    const [a, b] = plan.groups[0]!.witnessOffsets as [number, number];
    const outputs = group!.values[group!.graph.outputs[0]!]!.map((v, at) => (at === i * n + j ? v + 1 : v));
    if (outputs[i * n + j]! > program.outputs[0]!.range.hi) continue;
    const statement = changeGroup(job.statement, 0, { outputs: [outputs] });
    const proof = await proveJob(
      { ...job, statement },
      {
        witness: ({ y }) => {
          y[a + i * padded + k] = 1;
          y[b + j * padded + k] = 1;
        },
      },
    );
    return verdict(job, statement, proof);
  }
}

/** The words of another input are published; padding cells complete the words of the real one. */
export async function completeByPadding(seed: number): Promise<string | null> {
  const draw = new Draw('words', seed);
  for (;;) {
    const job = await makeJob(plainProver, [
      randomCase(draw.pick(['matmul', 'matmulActivations', 'square'] as const), draw),
    ]);
    if (job.groups[0]!.graph.inputs.some((id) => job.groups[0]!.graph.tensors[id]!.range.lo !== 0)) continue;
    const [attempt] = await completeWords(job, draw);
    if (attempt) return verdict(job, attempt.statement!, attempt.proof);
  }
}

/** x -> table of values, with the values given. */
function tableGraph(values: Int16Array): IntegerGraph {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [3], { lo: 0, hi: values.length - 1 }, 1, 0);
  const multipliers = Int32Array.of(2 ** 24);
  const table = { kind: 'values', qLo: 0, qHi: values.length - 1, values, label: 'test' } as const;
  const y = builder.add({ kind: 'requant', name: 'table', x, multipliers, channelAxis: null, table });
  return builder.finish('table', [y]);
}

/** Counts every lookup again, each in the table of its own group. */
function recount(witness: Witness, plan: Plan, foreign: { readonly cell: number; readonly group: number }): void {
  const masks = maskColumns(plan);
  const range = plan.tables.tables.find(({ kind }) => kind === 'range')!;
  const input = plan.tables.tables.find(({ kind }) => kind === 'input')!;
  const valuesOf = (g: number): number =>
    plan.tables.tables.find((table) => table.kind === 'values' && table.group === g)!.offset;
  witness.m.fill(0);
  plan.groups.forEach(({ program, witnessOffsets }, g) => {
    program.requants.forEach(({ slot }) => {
      const first = witnessOffsets[slot]!;
      for (let cell = first; cell < first + 4; cell++) {
        if (!masks.requant[cell]) continue;
        witness.m[range.offset + witness.r0[cell]!]!++;
        witness.m[range.offset + witness.r1[cell]!]!++;
        witness.m[valuesOf(cell === foreign.cell ? foreign.group : g) + witness.q[cell]!]!++;
      }
    });
    program.inputs.forEach(({ slot }) => {
      for (let i = 0; i < 3; i++) witness.m[input.offset + witness.y[witnessOffsets[slot]! + i]!]!++;
    });
  });
}

/** Two graphs with a table each in one proof: the first uses a pair of the second's table. */
export async function borrowPair(seed: number): Promise<string | null> {
  const draw = new Draw('pair', seed);
  const values = Int16Array.from(draw.shuffled([0, 1, 2, 3, 4, 5, 6]));
  const other = values.map((v) => (v + 1) % 7);
  const groups = [values, other].map((own) => randomGroup(tableGraph(own), 1, draw));
  const job = await makeJob(plainProver, groups);
  const element = draw.int(0, 2);
  const x = groups[0]!.inputs[0]![element]!;
  const outputs = job.statement.groups[0]!.outputs.map((own) => own.map((v, i) => (i === element ? other[x]! : v)));
  const statement = changeGroup(job.statement, 0, { outputs });
  const proof = await proveJob(
    { ...job, statement },
    {
      witness: (witness, plan) => {
        const [{ program, witnessOffsets }] = plan.groups as [Plan['groups'][number]];
        const cell = witnessOffsets[program.requants[0]!.slot]! + element;
        witness.y[cell] = other[x]!;
        recount(witness, plan, { cell, group: 1 });
      },
    },
  );
  return verdict(job, statement, proof);
}
