/**
 * A prover that follows a false claim to the end: every round is answered with what the false columns give, and the
 * last equation of a phase is solved for one value that it sends. Each value must therefore be bound by a later phase.
 */
import { add, inverse, mul, neg, pow, sub } from '../../field/fr.js';
import { FR_MODULUS } from '../../field/bn254.params.js';
import type { LookupValues } from '../../plan/claims.js';
import type { SumcheckEnd, Tampering } from '../../reference/reference-prover.js';
import type { Attempt, TamperFamily } from '../attack.js';
import { proveJob, type AuditJob } from '../audited-prover.js';
import { CASE_KINDS, type CaseKind } from '../cases.js';
import type { Draw } from '../draw.js';
import { attempt, changeGroup, proveLie } from '../lies.js';

/** A square root in Fr by Tonelli and Shanks; null for a non-residue. */
function squareRoot(a: bigint): bigint | null {
  if (a === 0n) return 0n;
  if (pow(a, (FR_MODULUS - 1n) / 2n) !== 1n) return null;
  let [odd, twos] = [FR_MODULUS - 1n, 0];
  while (odd % 2n === 0n) [odd, twos] = [odd / 2n, twos + 1];
  let nonResidue = 2n;
  while (pow(nonResidue, (FR_MODULUS - 1n) / 2n) === 1n) nonResidue++;
  let [c, t, root, m] = [pow(nonResidue, odd), pow(a, odd), pow(a, (odd + 1n) / 2n), twos];
  while (t !== 1n) {
    let i = 0;
    for (let s = t; s !== 1n; s = mul(s, s)) i++;
    const b = pow(c, 1n << BigInt(m - i - 1));
    [m, c, t, root] = [i, mul(b, b), mul(t, mul(b, b)), mul(root, b)];
  }
  return root;
}

/** A root of a polynomial of degree at most 2, by three values; null without one. */
function rootOf(f: (t: bigint) => bigint): bigint | null {
  const [f0, f1, f2] = [f(0n), f(1n), f(2n)];
  const half = inverse(2n);
  const a = mul(half, add(sub(f2, add(f1, f1)), f0));
  const b = sub(sub(f1, f0), a);
  if (a === 0n) return b === 0n ? null : mul(neg(f0), inverse(b));
  const root = squareRoot(sub(mul(b, b), mul(4n, mul(a, f0))));
  return root === null ? null : mul(sub(root, b), inverse(add(a, a)));
}

/** Moves the values of one chunk by t. */
type Direction = (values: LookupValues, t: bigint, chunk: number) => LookupValues;
const at = (list: readonly bigint[], chunk: number, t: bigint): bigint[] =>
  list.map((v, c) => (c === chunk ? add(v, t) : v));
const MINUS_SHIFT = neg(inverse(1n << 24n));

/** What is solved for, by name: one value, or one that the relation makes others follow. */
const DIRECTIONS: Readonly<Record<string, Direction>> = {
  y: (v, t, c) => ({ ...v, y: at(v.y, c, t) }),
  q: (v, t, c) => ({ ...v, q: at(v.q, c, t) }),
  'r0, compensated by q': (v, t, c) => ({ ...v, r0: at(v.r0, c, t), q: at(v.q, c, mul(MINUS_SHIFT, t)) }),
  'r1, compensated by q': (v, t, c) => ({ ...v, r1: at(v.r1, c, t), q: at(v.q, c, mul(MINUS_SHIFT, mul(4096n, t))) }),
  'r0 and r1, their sum kept': (v, t, c) => ({
    ...v,
    r0: at(v.r0, c, t),
    r1: at(v.r1, c, neg(mul(t, inverse(4096n)))),
  }),
  gw: (v, t, c) => ({ ...v, gw: at(v.gw, c, t) }),
  gx: (v, t, c) => ({ ...v, gx: at(v.gx, c, t) }),
  m: (v, t, c) => ({ ...v, m: at(v.m, c, t) }),
  gt: (v, t, c) => ({ ...v, gt: at(v.gt, c, t) }),
  'm, compensated by gt': (v, t, c) => ({ ...v, m: at(v.m, c, t), gt: at(v.gt, c, neg(t)) }),
  'y, compensated by gw': (v, t, c) => ({ ...v, y: at(v.y, c, t), gw: at(v.gw, c, neg(t)) }),
  'the committed table': (v, t, c) => ({ ...v, b: at(v.b, c, t) }),
  ...Object.fromEntries(
    [0, 1, 2, 3].map((tap): [string, Direction] => [
      `tap ${tap}`,
      (v, t, chunk) => ({ ...v, x: v.x.map((taps, c) => (c === chunk ? at(taps, tap, t) : taps)) }),
    ]),
  ),
};

/** The values, moved along a direction until phase L holds at its end; unchanged where that has no solution. */
function solve(
  values: LookupValues,
  { plan, claim, summand }: SumcheckEnd<LookupValues>,
  along: Direction,
): LookupValues {
  for (let chunk = 0; chunk < Math.max(plan.witnessChunks, plan.tableChunks); chunk++) {
    const t = rootOf((v) => sub(summand(along(values, v, chunk)), claim));
    if (t !== null) return along(values, t, chunk);
  }
  return values;
}

const WITH_TABLES: readonly CaseKind[] = ['requantValues', 'requantTwoTables'];
const WITH_MAXIMA: readonly CaseKind[] = ['maxPool', 'maxPoolOverlapping', 'maxPool1d', 'reduceMax'];
const WITHOUT: readonly CaseKind[] = [
  'requantClamp',
  'matmulRows',
  'doubled',
  'residual',
  'transposeRequant',
  'reshapeRequant',
];

/** A false cell whose lookup fails and that moves the outputs with it. */
const falseCell = (job: AuditJob, draw: Draw, kinds: 'maxima' | 'requants', tampering: Tampering): Promise<Attempt[]> =>
  proveLie(job, (lie) => {
    const cells = lie[kinds];
    if (cells.length === 0) return null;
    const cell = draw.pick(cells);
    const y = lie.witness.y[cell]!;
    if (kinds === 'maxima') {
      const { hi } = job.statement.groups[0]!.key.program.outputs[0]!.range;
      lie.witness.y[cell] = y < hi ? y + 1 : y - 1;
    } else {
      // A value that the table has elsewhere, so that no range of the statement refuses it.
      const table = lie.tableAt(cell);
      const others = Array.from({ length: table.rows }, (_, row) => lie.value(table, row)).filter((v) => v !== y);
      if (others.length === 0) return null;
      lie.witness.y[cell] = draw.pick(others);
    }
    return { what: `cell ${cell}`, tampering };
  });

const off = (values: Int32Array, at: number, by: number): Int32Array => values.map((v, i) => (i === at ? v + by : v));

/** An output off by one inside its range, with everything else true. */
function falseOutput(job: AuditJob, draw: Draw): AuditJob {
  const { outputs, key } = job.statement.groups[0]!;
  const o = draw.int(0, outputs.length - 1);
  const at = draw.int(0, outputs[o]!.length - 1);
  const { hi } = key.program.outputs[o]!.range;
  const by = outputs[o]![at]! < hi ? 1 : -1;
  return {
    ...job,
    statement: changeGroup(job.statement, 0, { outputs: outputs.map((v, i) => (i === o ? off(v, at, by) : v)) }),
  };
}

/** The k-th operand solved for. */
const solveOperand =
  (k: number) =>
  (operands: readonly bigint[], { claim, summand }: SumcheckEnd<readonly bigint[]>): readonly bigint[] => {
    const moved = (t: bigint): bigint[] => operands.map((v, i) => (i === k ? add(v, t) : v));
    const t = rootOf((v) => sub(summand(moved(v)), claim));
    return t === null ? operands : moved(t);
  };

/** The first two operands moved against each other. */
function solveOpposite(
  operands: readonly bigint[],
  { claim, summand }: SumcheckEnd<readonly bigint[]>,
): readonly bigint[] {
  const moved = (t: bigint): bigint[] => operands.map((v, i) => (i === 0 ? add(v, t) : i === 1 ? sub(v, t) : v));
  const t = rootOf((v) => sub(summand(moved(v)), claim));
  return t === null ? operands : moved(t);
}

const PRODUCTS: readonly CaseKind[] = [
  'matmul',
  'convDilated',
  'matmulActivations',
  'square',
  'attentionSelf',
  'denseLayers',
];

export const adaptiveFamilies: readonly TamperFamily[] = [
  ...Object.entries(DIRECTIONS).map(([name, along]): TamperFamily => ({
    name: `a false cell, phase L solved for ${name}`,
    kinds: /^tap|^gx/.test(name)
      ? WITH_MAXIMA
      : name === 'the committed table'
        ? WITH_TABLES
        : [...WITHOUT, ...WITH_TABLES],
    attack: (job, draw) =>
      falseCell(job, draw, /^tap|^gx/.test(name) ? 'maxima' : 'requants', {
        values: (values, end) => solve(values, end, along),
      }),
  })),
  {
    name: 'a false cell, and nothing adapted',
    kinds: [...WITHOUT, ...WITH_TABLES],
    attack: (job, draw) => falseCell(job, draw, 'requants', {}),
  },
  {
    name: 'a false output, proved as if it were true',
    kinds: CASE_KINDS,
    attack: async (job, draw) => {
      return attempt('one output', falseOutput(job, draw));
    },
  },
  {
    name: 'a false output, phase A solved for the value of everything linear',
    kinds: CASE_KINDS,
    attack: async (job, draw) => {
      return attempt('one output', falseOutput(job, draw), { direct: (_, { asked }) => asked });
    },
  },
  ...([0, 1] as const).map((side): TamperFamily => ({
    name: `a false output, phase A solved for an operand ${side === 0 ? 'P' : 'Q'}`,
    kinds: PRODUCTS,
    attack: async (job, draw) => {
      return attempt('one output', falseOutput(job, draw), { operands: solveOperand(side) });
    },
  })),
  {
    name: 'a false output, phase A solved for P and Q with their sum kept',
    kinds: PRODUCTS,
    attack: (job, draw) => attempt('one output', falseOutput(job, draw), { operands: solveOpposite }),
  },
  {
    name: 'a false output, an operand closes phase A and D makes up for it',
    kinds: PRODUCTS,
    attack: (job, draw) => {
      // D less t and the first operand so much more that the products make up for it.
      const t = draw.nonzero();
      return attempt('one output', falseOutput(job, draw), {
        direct: (direct) => sub(direct, t),
        operands: solveOperand(0),
      });
    },
  },
  {
    name: 'a false cell, phase L solved for q, then phase A for the value of everything linear',
    kinds: [...WITHOUT, ...WITH_TABLES],
    attack: (job, draw) =>
      falseCell(job, draw, 'requants', {
        values: (values, end) => solve(values, end, DIRECTIONS.q!),
        direct: (_, { asked }) => asked,
      }),
  },
  {
    name: 'a false cell, phase L solved for q, then phase A for an operand',
    kinds: ['matmulRows', 'residual', 'reshapeRequant', 'attentionSelf'],
    attack: (job, draw) =>
      falseCell(job, draw, 'requants', {
        values: (values, end) => solve(values, end, DIRECTIONS.q!),
        operands: solveOperand(draw.int(0, 1)),
      }),
  },
  {
    name: 'true operands given as (2P, Q/2), or as (Q, P)',
    kinds: PRODUCTS,
    attack: async (job) => {
      const half = inverse(2n);
      const scaled = await proveJob(job, {
        operands: (all) => all.map((v, i) => (i === 0 ? add(v, v) : i === 1 ? mul(v, half) : v)),
      });
      const swapped = await proveJob(job, { operands: ([p, q, ...rest]) => [q!, p!, ...rest] });
      const honest = await proveJob(job);
      return [
        { what: 'scaled', proof: scaled },
        { what: 'swapped', proof: swapped },
      ].filter(({ proof }) => proof.some((byte, at) => byte !== honest[at]));
    },
  },
];
