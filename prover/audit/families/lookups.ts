/** False witnesses of requantisations, tables, ranges, inputs and maxima: phase L must refuse them. */
import { add, inverse, mul, sub, toField } from '../../field/fr.js';
import type { Witness } from '../../prover/witness.js';
import type { Attempt, TamperFamily } from '../attack.js';
import type { AuditJob } from '../audited-prover.js';
import { CASE_KINDS, type CaseKind } from '../cases.js';
import type { Draw } from '../draw.js';
import { count, evaluateAny, locate, planOf, proveLie, rowOf, withTrace, type WitnessLie } from '../lies.js';

const REQUANTS: readonly CaseKind[] = [
  'requantClamp',
  'requantValues',
  'requantTwoTables',
  'requantChannels',
  'matmulRows',
  'conv',
  'mul',
  'network',
  'transposeRequant',
];
const MAXIMA: readonly CaseKind[] = CASE_KINDS.filter((kind) => /max/i.test(kind) && kind !== 'argMax');
/** Graphs without tables after their inputs: any input has a trace. */
const LINEAR: readonly CaseKind[] = [
  'matmul',
  'biasBroadcast',
  'reduceSum',
  'square',
  'convDilated',
  'matmulActivations',
];

type Lie = (lie: WitnessLie, draw: Draw) => ReturnType<Parameters<typeof proveLie>[1]>;

const family = (name: string, kinds: readonly CaseKind[], lie: Lie): TamperFamily => ({
  name,
  kinds,
  attack: (job, draw) => proveLie(job, (own) => lie(own, draw)),
});

/** L = 2^24 q + r0 + 2^12 r1 of a cell. */
const exact = ({ q, r0, r1 }: Witness, cell: number): bigint =>
  BigInt(q[cell]!) * 2n ** 24n + BigInt(r0[cell]!) + 4096n * BigInt(r1[cell]!);

/** A requantised cell moves to another row of its table; the honest row is counted no more. */
function moveTo({ witness, tableAt, value }: WitnessLie, cell: number, q: number): boolean {
  const table = tableAt(cell);
  const row = rowOf(table, q);
  if (row < 0 || row >= table.rows) return false;
  count(witness, table, rowOf(table, witness.q[cell]!), -1);
  count(witness, table, row, 1);
  witness.q[cell] = q;
  witness.y[cell] = value(table, row);
  return true;
}

/** Gives limbs that are no Int32, through the columns. */
const setField =
  (cell: number, values: Readonly<Record<string, bigint>>) =>
  (columns: Map<string, bigint[]>, plan: WitnessLie['plan']): void => {
    for (const [family_, value] of Object.entries(values)) {
      const { column, at } = locate(plan, family_, cell);
      columns.get(column)![at] = value;
    }
  };

/** Limbs of a cell are looked up no more as they were. */
function forget({ witness, range }: WitnessLie, cell: number, limbs: readonly ('r0' | 'r1')[]): void {
  for (const limb of limbs) count(witness, range, witness[limb][cell]!, -1);
}

function shiftQuotient(lie: WitnessLie, draw: Draw, step: 1 | -1): ReturnType<Lie> {
  const cell = draw.shuffled(lie.requants).find((c) => {
    const table = lie.tableAt(c);
    const row = rowOf(table, lie.witness.q[c]! + step);
    return row >= 0 && row < table.rows;
  });
  if (cell === undefined) return null;
  forget(lie, cell, ['r1']);
  moveTo(lie, cell, lie.witness.q[cell]! + step);
  lie.witness.r1[cell]! -= step * 4096;
  return { what: `cell ${cell}, quotient ${step > 0 ? '+' : '-'} 1` };
}

/** Sets a maximum to a value and counts the gaps that the range table has. */
function setMaximum({ witness, range }: WitnessLie, cell: number, to: number): void {
  for (const tap of witness.x) {
    count(witness, range, witness.y[cell]! - tap[cell]!, -1);
    count(witness, range, to - tap[cell]!, 1);
  }
  witness.y[cell] = to;
}

/** The word of an input stays the same where one cell takes from the next. */
async function borrow(job: AuditJob, draw: Draw): Promise<Attempt[]> {
  const group = job.groups[0]!;
  const [input] = group.built.program.inputs;
  const { axes } = group.built.program.witness[input!.slot]!;
  const side = axes.at(-1) ?? 1;
  const values = group.inputs[0]!;
  const at = draw.shuffled([...values.keys()]).find((i) => i % side < Math.min(side - 1, 1));
  if (at === undefined || input!.cellBits !== 8) return [];
  const inputs = [values.map((v, i) => (i === at ? v + 256 : i === at + 1 ? v - 1 : v)), ...group.inputs.slice(1)];
  const trace = evaluateAny(group.graph, inputs, group.items);
  if (trace === null) return [];
  const { lo } = group.graph.tensors[group.graph.inputs[0]!]!.range;
  const plan = planOf(job);
  const placed = plan.tables.tables.find(({ tag }) => tag === plan.tables.tagOf(0, input!.table))!;
  return proveLie(withTrace(job, 0, trace), ({ witness }) => {
    // The honest builder counted rows beyond the table.
    for (const v of [inputs[0]![at]!, inputs[0]![at + 1]!]) {
      const row = v - lo;
      if ((row < 0 || row >= placed.rows) && placed.offset + row >= 0 && placed.offset + row < witness.m.length)
        witness.m[placed.offset + row]! -= 1;
    }
    return { what: `input element ${at} + 256, the next - 1` };
  });
}

export const lookupFamilies: readonly TamperFamily[] = [
  family('quotient + 1, remainder - 2^24', REQUANTS, (lie, draw) => shiftQuotient(lie, draw, 1)),
  family('quotient - 1, remainder + 2^24', REQUANTS, (lie, draw) => shiftQuotient(lie, draw, -1)),
  family('any quotient of the table, the low limb takes the rest', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    const table = lie.tableAt(cell);
    const L = exact(lie.witness, cell);
    const q = lie.witness.q[cell]! - rowOf(table, lie.witness.q[cell]!) + draw.int(0, table.rows - 1);
    if (q === lie.witness.q[cell]) return null;
    forget(lie, cell, ['r0', 'r1']);
    moveTo(lie, cell, q);
    return {
      what: `cell ${cell}, quotient ${q}`,
      tampering: { columns: setField(cell, { r0: toField(L - BigInt(q) * 2n ** 24n), r1: 0n }) },
    };
  }),
  family('any quotient of the table, the high limb divides mod r', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    const table = lie.tableAt(cell);
    const L = exact(lie.witness, cell);
    const q = lie.witness.q[cell]! - rowOf(table, lie.witness.q[cell]!) + draw.int(0, table.rows - 1);
    if (q === lie.witness.q[cell]) return null;
    forget(lie, cell, ['r1']);
    moveTo(lie, cell, q);
    const rest = toField(L - BigInt(q) * 2n ** 24n - BigInt(lie.witness.r0[cell]!));
    return {
      what: `cell ${cell}, quotient ${q}`,
      tampering: { columns: setField(cell, { r1: mul(rest, inverse(4096n)) }) },
    };
  }),
  family('limbs carried: low + 4096, high - 1', REQUANTS, (lie, draw) => {
    const cell = draw.shuffled(lie.requants).find((c) => lie.witness.r1[c]! > 0);
    if (cell === undefined) return null;
    forget(lie, cell, ['r0', 'r1']);
    lie.witness.r0[cell]! += 4096;
    lie.witness.r1[cell]! -= 1;
    count(lie.witness, lie.range, lie.witness.r1[cell]!, 1);
    return { what: `cell ${cell}` };
  }),
  family('limbs carried: low - 4096, high + 1', REQUANTS, (lie, draw) => {
    const cell = draw.shuffled(lie.requants).find((c) => lie.witness.r1[c]! < 4095);
    if (cell === undefined) return null;
    forget(lie, cell, ['r0', 'r1']);
    lie.witness.r0[cell]! -= 4096;
    lie.witness.r1[cell]! += 1;
    count(lie.witness, lie.range, lie.witness.r1[cell]!, 1);
    return { what: `cell ${cell}` };
  }),
  family('output that is not in its row', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    lie.witness.y[cell]! += draw.pick([1, -1, 1, -1, 200, -200]);
    return { what: `cell ${cell}` };
  }),
  family('output p - 1, p/2 or 2^63, as a field element', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    const y = draw.pick([toField(-BigInt(lie.witness.y[cell]!) - 1n), inverse(2n), 2n ** 63n]);
    return { what: `cell ${cell}`, tampering: { columns: setField(cell, { y }) } };
  }),
  family('output of another row of its table', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    const table = lie.tableAt(cell);
    const other = Array.from({ length: table.rows }, (_, row) => row).filter(
      (row) => lie.value(table, row) !== lie.witness.y[cell],
    );
    if (other.length === 0) return null;
    lie.witness.y[cell] = lie.value(table, draw.pick(other));
    return { what: `cell ${cell}` };
  }),
  family('the pair of another table of the proof', ['requantTwoTables', 'network'], (lie, draw) => {
    for (const cell of draw.shuffled(lie.requants))
      for (const other of draw.shuffled(lie.plan.tables.tables)) {
        const own = lie.tableAt(cell);
        const row = rowOf(other, lie.witness.q[cell]!);
        if (other === own || other.kind === 'range' || other.kind === 'input' || row < 0 || row >= other.rows) continue;
        if (lie.value(other, row) === lie.witness.y[cell]) continue;
        count(lie.witness, own, rowOf(own, lie.witness.q[cell]!), -1);
        count(lie.witness, other, row, 1);
        lie.witness.y[cell] = lie.value(other, row);
        return { what: `cell ${cell}, tag ${other.tag} for ${own.tag}` };
      }
    return null;
  }),
  family(
    'an illegal pair counted on a row that is none',
    ['requantValues', 'requantTwoTables', 'network'],
    (lie, draw) => {
      const cell = draw.pick(lie.requants);
      const table = lie.tableAt(cell);
      const used = new Uint8Array(lie.witness.m.length);
      for (const { offset, rows } of lie.plan.tables.tables) used.fill(1, offset, offset + rows);
      const free = Array.from(used.keys()).filter((row) => !used[row]);
      if (free.length === 0) return null;
      count(lie.witness, table, rowOf(table, lie.witness.q[cell]!), -1);
      lie.witness.y[cell]! += 1;
      // Of a committed table the padding rows hold the pair (q, 0) at best.
      lie.witness.m[
        table.kind === 'values' ? (free.find((row) => row >= table.offset) ?? free[0]!) : draw.pick(free)
      ]! += 1;
      return { what: `cell ${cell}` };
    },
  ),
  family('a row counted once too often', REQUANTS, (lie, draw) => {
    const table = draw.pick(lie.plan.tables.tables);
    count(lie.witness, table, draw.int(0, table.rows - 1), draw.pick([1, -1]));
    return { what: `table of kind ${table.kind}` };
  }),
  {
    name: 'input bytes that borrow from their neighbour inside a word',
    kinds: LINEAR,
    attack: borrow,
  },
  family('an input cell that its table does not hold', LINEAR, (lie, draw) => {
    const cell = draw.pick(lie.inputs);
    const table = lie.tableAt(cell) as Extract<ReturnType<WitnessLie['tableAt']>, { kind: 'input' }>;
    count(lie.witness, table, lie.witness.y[cell]! - table.lo, -1);
    lie.witness.y[cell] = draw.pick([table.lo - 1, table.lo + table.rows, table.lo + 65536]);
    return { what: `cell ${cell}` };
  }),
  family('an input cell with a quotient other than 0', LINEAR, (lie, draw) => {
    const cell = draw.pick(lie.inputs);
    return {
      what: `cell ${cell}`,
      tampering: { columns: setField(cell, { r0: 1n, q: sub(0n, inverse(2n ** 24n)) }) },
    };
  }),
  family('a maximum above all of its taps', MAXIMA, (lie, draw) => {
    const cell = draw.pick(lie.maxima);
    setMaximum(lie, cell, lie.witness.y[cell]! + draw.int(1, 3));
    return { what: `cell ${cell}` };
  }),
  family('a smaller tap given as the maximum', MAXIMA, (lie, draw) => {
    for (const cell of draw.shuffled(lie.maxima)) {
      const smaller = lie.witness.x.map((tap) => tap[cell]!).filter((v) => v < lie.witness.y[cell]!);
      if (smaller.length === 0) continue;
      setMaximum(lie, cell, draw.pick(smaller));
      return { what: `cell ${cell}` };
    }
    return null;
  }),
  family('a maximum of padding: 0 where all taps are below', MAXIMA, (lie, draw) => {
    const cell = draw.shuffled(lie.maxima).find((c) => lie.witness.y[c]! < 0);
    if (cell === undefined) return null;
    setMaximum(lie, cell, 0);
    return { what: `cell ${cell}` };
  }),
  family('a tap of a maximum other than its view', MAXIMA, (lie, draw) => {
    const cell = draw.pick(lie.maxima);
    // All taps one more, and the maximum with them: the gaps stay.
    lie.witness.x.forEach((tap) => (tap[cell]! += 1));
    lie.witness.y[cell]! += 1;
    return { what: `cell ${cell}` };
  }),
  ...(['gw', 'gx', 'gt'] as const).flatMap((helper): TamperFamily[] => {
    const kinds: readonly CaseKind[] = helper === 'gx' ? MAXIMA : REQUANTS;
    return [
      family(`${helper} moved between two cells, its sum kept`, kinds, (_, draw) => ({
        what: 'two cells',
        tampering: {
          helpers: (helpers) => {
            const [values, delta] = [helpers[helper], draw.nonzero()];
            const a = draw.int(0, values.length - 1);
            const b = (a + draw.int(1, values.length - 1)) % values.length;
            values[a] = add(values[a]!, delta);
            values[b] = sub(values[b]!, delta);
          },
        },
      })),
      family(`a false output, and ${helper} closes the sum on a cell that is none`, kinds, (lie, draw) => {
        const cell = draw.pick(helper === 'gx' ? lie.maxima : lie.requants);
        // Not counted: only the sum notices, and only if the helper is bound to its definition.
        lie.witness.y[cell]! += 1;
        const mask = helper === 'gt' ? null : helper === 'gx' ? lie.masks.maxima : lie.masks.looked;
        return {
          what: `cell ${cell}`,
          tampering: {
            helpers: (helpers) => {
              const sum = (values: readonly bigint[]): bigint => values.reduce(add, 0n);
              const missing = sub(sum(helpers.gt), add(sum(helpers.gw), sum(helpers.gx)));
              const values = helpers[helper];
              const free = mask ? Array.from(mask.keys()).filter((i) => !mask[i]) : [values.length - 1];
              const at = draw.pick(free);
              values[at] = helper === 'gt' ? sub(values[at]!, missing) : add(values[at]!, missing);
            },
          },
        };
      }),
    ];
  }),
  family('helpers that satisfy their definitions only in sum', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    const table = lie.tableAt(cell);
    const others = Array.from({ length: table.rows }, (_, row) => lie.value(table, row));
    const y = others.find((v) => v !== lie.witness.y[cell]);
    if (y === undefined) return null;
    lie.witness.y[cell] = y;
    return {
      what: `cell ${cell}`,
      tampering: {
        helpers: ({ gw, gx, gt }, columns, plan, { alpha, beta }) => {
          const sum = (values: readonly bigint[]): bigint => values.reduce(add, 0n);
          const missing = sub(sum(gt), add(sum(gw), sum(gx)));
          // The factor of gw in its bracket, D0 D1 D2, on two cells of one chunk: da + db closes the sum of the
          // helpers, da Da + db Db = 0 that of the brackets.
          const factor = (at: number): bigint => {
            const value = (name: string): bigint => {
              const { column, at: place } = locate(plan, name, at);
              return columns.get(column)![place]!;
            };
            const f = (a: bigint, b: bigint, tag: number): bigint =>
              sub(alpha, add(a, add(mul(beta, b), mul(mul(beta, beta), BigInt(tag)))));
            return mul(
              mul(f(value('r0'), 0n, 1), f(value('r1'), 0n, 1)),
              f(value('q'), value('y'), lie.masks.tag[at]!),
            );
          };
          const size = 2 ** plan.lookupBits;
          const other = Array.from({ length: size }, (_, i) => Math.floor(cell / size) * size + i).find(
            (at) => factor(at) !== factor(cell),
          )!;
          const [Da, Db] = [factor(cell), factor(other)];
          const da = mul(mul(missing, Db), inverse(sub(Db, Da)));
          gw[cell] = add(gw[cell]!, da);
          gw[other] = add(gw[other]!, sub(missing, da));
        },
      },
    };
  }),
  family('multiplicities changed when the challenges are known', REQUANTS, (lie, draw) => {
    const cell = draw.pick(lie.requants);
    lie.witness.y[cell]! += 1;
    const used = lie.witness.m.findIndex((m) => m > 0);
    return {
      what: `cell ${cell}`,
      tampering: {
        helpers: (helpers, columns, plan) => {
          const sum = (values: readonly bigint[]): bigint => values.reduce(add, 0n);
          const missing = sub(add(sum(helpers.gw), sum(helpers.gx)), sum(helpers.gt));
          const { column, at } = locate(plan, 'm', used);
          const m = columns.get(column)!;
          const denominator = mul(m[at]!, inverse(helpers.gt[used]!));
          helpers.gt[used] = add(helpers.gt[used]!, missing);
          columns.set(
            column,
            m.map((v, i) => (i === at ? mul(helpers.gt[used]!, denominator) : v)),
          );
        },
      },
    };
  }),
];
