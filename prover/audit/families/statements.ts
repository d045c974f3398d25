/** Every public value changed: beside an honest proof, and with a proof made for the false statement. */
import type { ModelKey } from '../../verifier/model-key.js';
import type { GroupStatement, Statement } from '../../verifier/statement.js';
import type { Attempt, TamperFamily } from '../attack.js';
import { makeJob, proveJob, type AuditJob } from '../audited-prover.js';
import { CASE_KINDS, randomGroup, type CaseKind } from '../cases.js';
import type { Draw } from '../draw.js';
import { attempt, changeGroup } from '../lies.js';
import type { Program, Table } from '../../program/types.js';

const bump = (values: Int32Array, at: number, by: number): Int32Array => values.map((v, i) => (i === at ? v + by : v));

/** An element of the public tensors, one more or less but in its range where that can be. */
function near(job: AuditJob, g: number, side: 'inputs' | 'outputs', draw: Draw): Statement {
  const group = job.statement.groups[g]!;
  const tensors = group[side];
  const which = draw.int(0, tensors.length - 1);
  const { program } = group.key;
  const { lo, hi } =
    side === 'outputs'
      ? program.outputs[which]!.range
      : (program.tables[program.inputs[which]!.table] as Extract<Table, { kind: 'input' }>);
  const at = draw.int(0, tensors[which]!.length - 1);
  const value = tensors[which]![at]!;
  const by = value >= hi ? -1 : value <= lo ? 1 : draw.pick([1, -1]);
  return changeGroup(job.statement, g, { [side]: tensors.map((v, i) => (i === which ? bump(v, at, by) : v)) });
}

type Change = (job: AuditJob, draw: Draw) => Statement | null;

/** A statement that differs, with the honest proof and with one whose transcript has the false statement. */
const family = (
  name: string,
  change: Change,
  {
    kinds = CASE_KINDS,
    groups = 1,
    prove = true,
  }: { kinds?: readonly CaseKind[]; groups?: number; prove?: boolean } = {},
): TamperFamily => ({
  name,
  kinds,
  groups,
  async attack(job, draw) {
    const statement = change(job, draw);
    if (statement === null) return [];
    const attempts: Attempt[] = [{ what: 'beside an honest proof', proof: await proveJob(job), statement }];
    if (prove) attempts.push(...(await attempt('proved for', { ...job, statement })));
    return attempts;
  },
});

const withKey = (job: AuditJob, change: (key: ModelKey) => Partial<ModelKey>): Statement => {
  const { key } = job.statement.groups[0]!;
  return changeGroup(job.statement, 0, { key: { ...key, ...change(key) } });
};

const flip = (bytes: Uint8Array, at: number, bit: number): Uint8Array =>
  bytes.map((b, i) => (i === at ? b ^ (1 << bit) : b));

const otherRoot = (draw: Draw): string => `0x${draw.field().toString(16).padStart(64, '0')}`;

/** A program that says something else of the same shape: what a verifier of another model would check. */
function otherProgram(program: Program, draw: Draw): Program {
  const tables = program.tables.map((table): Table => {
    if (table.kind === 'clamp') return { ...table, lo: table.lo - 1, hi: table.hi + 1 };
    return table.kind === 'values' ? { ...table, qLo: table.qLo - 1 } : { ...table, hi: table.hi + 1 };
  });
  const coefficients = {
    ...program,
    requants: program.requants.map((requant) => ({
      ...requant,
      expression: {
        ...requant.expression,
        linear: requant.expression.linear.map((term) => ({ ...term, coefficient: term.coefficient + 1n })),
      },
    })),
    outputs: program.outputs.map((output) => ({
      ...output,
      expression: {
        ...output.expression,
        linear: output.expression.linear.map((term) => ({ ...term, coefficient: -term.coefficient })),
        products: output.expression.products.map((product) => ({ ...product, coefficient: product.coefficient + 1n })),
      },
    })),
  };
  return draw.pick([{ ...program, tables }, coefficients]);
}

export const statementFamilies: readonly TamperFamily[] = [
  family('a public output off by one', (job, draw) => near(job, 0, 'outputs', draw)),
  family('a public input off by one', (job, draw) => near(job, 0, 'inputs', draw)),
  family(
    'a public value of a later group off by one',
    (job, draw) => near(job, 1, draw.pick(['inputs', 'outputs']), draw),
    {
      groups: 2,
    },
  ),
  family('a public integer out of its range', (job, draw) => {
    const side = draw.pick(['inputs', 'outputs'] as const);
    const tensors = job.statement.groups[0]![side];
    const values = Int32Array.from(tensors[0]!);
    values[draw.int(0, values.length - 1)] = draw.pick([2 ** 31 - 1, -(2 ** 31)]);
    return changeGroup(job.statement, 0, { [side]: [values, ...tensors.slice(1)] });
  }),
  family('public tensors of another length or number', (job, draw) => {
    const side = draw.pick(['inputs', 'outputs'] as const);
    const tensors = job.statement.groups[0]![side];
    const one = tensors[0]!;
    const other = draw.pick([
      [one.slice(0, -1), ...tensors.slice(1)],
      [Int32Array.from([...one, 0]), ...tensors.slice(1)],
      tensors.slice(1),
      [...tensors, one],
    ]);
    return changeGroup(job.statement, 0, { [side]: other });
  }),
  family('the outputs of another input', (job, draw) => {
    const group = job.groups[0]!;
    const other = randomGroup(group.graph, group.items, draw);
    const outputs = group.built.published.map((id) => other.values[id]!);
    const same = outputs.every((values, i) => values.every((v, k) => v === job.statement.groups[0]!.outputs[i]![k]));
    return same ? null : changeGroup(job.statement, 0, { outputs });
  }),
  family('the inputs of other outputs', (job, draw) => {
    const group = job.groups[0]!;
    const { inputs } = randomGroup(group.graph, group.items, draw);
    const same = inputs.every((values, i) => values.every((v, k) => v === group.inputs[i]![k]));
    return same ? null : changeGroup(job.statement, 0, { inputs });
  }),
  family(
    'more or fewer items',
    (job, draw) => {
      const group = job.statement.groups[0]!;
      const more = draw.chance(0.5);
      if (!more && group.items === 1) return changeGroup(job.statement, 0, { items: draw.pick([0, -1, 1.5, 5000]) });
      const resized = (values: Int32Array): Int32Array => {
        const size = values.length / group.items;
        return more ? Int32Array.from([...values, ...values.subarray(0, size)]) : values.slice(0, -size);
      };
      return changeGroup(job.statement, 0, {
        items: group.items + (more ? 1 : -1),
        inputs: group.inputs.map(resized),
        outputs: group.outputs.map(resized),
      });
    },
    { prove: false },
  ),
  family('items exchanged in the outputs', (job) => {
    const group = job.statement.groups[0]!;
    if (group.items < 2) return null;
    const outputs = group.outputs.map((values) => {
      const size = values.length / group.items;
      return Int32Array.from([...values.subarray(size), ...values.subarray(0, size)]);
    });
    const same = outputs.every((values, i) => values.every((v, k) => v === group.outputs[i]![k]));
    return same ? null : changeGroup(job.statement, 0, { outputs });
  }),
  family(
    'groups of a joint proof exchanged, one left out, one given twice',
    (job, draw) => {
      const [a, b] = job.statement.groups as [GroupStatement, GroupStatement];
      return { groups: draw.pick([[b, a], [a], [b], [a, b, b], []]) };
    },
    { groups: 2, prove: false },
  ),
  family(
    'a bit of the key',
    (job, draw) =>
      withKey(job, ({ commitments }) => {
        const c = draw.int(0, commitments.length - 1);
        return {
          commitments: commitments.map((own, i) => (i === c ? flip(own, draw.int(0, 63), draw.int(0, 7)) : own)),
        };
      }),
    { kinds: ['matmul', 'conv', 'requantValues', 'network'] },
  ),
  family(
    'commitments of the key more or fewer',
    (job, draw) =>
      withKey(job, ({ commitments }) => ({
        commitments: draw.pick([[...commitments, commitments[0] ?? new Uint8Array(64)], commitments.slice(1)]),
      })),
    { kinds: ['matmul', 'conv', 'requantValues'], prove: false },
  ),
  family(
    'the digest of another model',
    (job, draw) =>
      withKey(job, ({ roots }) => ({
        roots: draw.pick([
          { ...roots, graphRoot: otherRoot(draw) },
          { ...roots, weightsRoot: otherRoot(draw) },
          { ...roots, opCount: roots.opCount + 1 },
        ]),
      })),
    { prove: false },
  ),
  family('the key of another SRS', (job, draw) =>
    withKey(job, ({ srsId }) => ({ srsId: flip(srsId, draw.int(0, 31), 0) })),
  ),
  family(
    'the key with another program',
    (job, draw) => withKey(job, ({ program }) => ({ program: otherProgram(program, draw) })),
    { prove: false },
  ),
  family(
    'the program of another operator: clamp for clamp of other bounds, proved for',
    (job) => {
      // The verifier holds a wider clamp than the prover computed with; the honest values differ where one saturates.
      const { program } = job.statement.groups[0]!.key;
      const tables = program.tables.map((table): Table =>
        table.kind === 'clamp' ? { ...table, lo: table.lo + 1, hi: table.hi - 1 } : table,
      );
      const y = job.statement.groups[0]!.outputs[0]!;
      const { lo, hi } = program.tables.find(({ kind }) => kind === 'clamp') as Extract<Table, { kind: 'clamp' }>;
      return y.some((v) => v === lo || v === hi) ? withKey(job, () => ({ program: { ...program, tables } })) : null;
    },
    { kinds: ['requantClamp', 'matmulRows', 'conv', 'depthwise'] },
  ),
  {
    name: 'another context',
    kinds: CASE_KINDS,
    async attack(job, draw) {
      const proof = await proveJob(job);
      const other = await proveJob({ ...job, bound: new Uint8Array(0) });
      return [
        { what: 'a bit', proof, bound: flip(job.bound, draw.int(0, job.bound.length - 1), 0) },
        { what: 'none', proof, bound: new Uint8Array(0) },
        { what: 'one byte more', proof, bound: Uint8Array.from([...job.bound, 0]) },
        { what: 'made for none', proof: other },
      ];
    },
  },
  {
    name: 'a key whose columns are of another size',
    kinds: ['matmul', 'conv', 'network'],
    groups: 1,
    async attack(job) {
      const [group] = job.groups;
      const { built } = group!;
      const wide = { ...built, program: { ...built.program, modelBits: built.program.modelBits + 1 } };
      const other = await makeJob(job.prover, [{ ...group!, built: wide }], job.bound);
      return [{ what: 'one bit more', proof: await proveJob(job), statement: other.statement }];
    },
  },
];
