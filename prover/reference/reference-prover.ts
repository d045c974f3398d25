/**
 * The protocol written out for the reader: a prover over BigInt arrays, one sum after another, that the fast prover must
 * equal byte for byte. Steps as in docs/protocol.md. Time and memory grow with the cells times some hundred
 * nanoseconds and bytes: for small models and tests.
 */
import { add, inverse, mul, pow, sub, toField } from '../field/fr.js';
import {
  collectClaims,
  operandClaim,
  outputPointBits,
  wordPointBits,
  type Functional,
  type LookupValues,
} from '../plan/claims.js';
import { columnCoefficients, type OpeningEntry } from '../plan/coefficients.js';
import { expandFunctional } from './expand-functional.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { bracketWeights, flattenValues, lookupDegree, lookupSummand, type PublicPart } from '../plan/lookup.js';
import { chunkBits, chunksInOrder, chunksOf, columnsOf, makePlan, type Plan } from '../plan/plan.js';
import { RANGE_TAG } from '../program/tables.js';
import { MAX_TAPS } from '../program/types.js';
import {
  buildWitness,
  maskColumns,
  modelColumns,
  tableColumns,
  type GroupWitness,
  type MaskColumns,
  type TableColumns,
  type Witness,
} from '../prover/witness.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import { productShape } from '../verifier/product-shape.js';
import { encodeProof, OPENING_DEGREE, type Proof } from '../verifier/proof.js';
import { absorbStatement, publicValues, type Statement } from '../verifier/statement.js';
import type { OpeningClaim } from '../opening/types.js';
import { evaluateRound } from '../verifier/sumcheck.js';
import { operandTable, sharedTable } from './product-tables.js';
import { proveSumcheck, type ProvedSumcheck } from './reference-sumcheck.js';

/** How the reference prover commits and opens. */
export interface ReferenceCommitter {
  readonly name: string;
  readonly code: number;
  readonly srsId: Uint8Array;
  commit(column: readonly bigint[]): Promise<Uint8Array>;
  /** @param columns in the order of the claim's commitments. */
  open(transcript: Transcript, claim: OpeningClaim, columns: readonly (readonly bigint[])[]): Promise<Uint8Array>;
}

/** The end of a sumcheck as its verifier sees it: the prover may look for values that satisfy it. */
export interface SumcheckEnd<Values> {
  readonly plan: Plan;
  /** What the rounds that were sent ask of the summand. */
  readonly claim: bigint;
  /** The summand, were these the values. */
  readonly summand: (values: Values) => bigint;
}

/** Changes that an audit makes to the honest prover: each hook may replace what it is given, where it is given. */
export interface Tampering {
  readonly witness?: (witness: Witness, plan: Plan) => void;
  /** Columns before they are committed to, as 'y 0', 'm 0', ..., and the virtual ones, 'q 0' and 'x0 0' to 'x3 0'. */
  readonly columns?: (columns: Map<string, bigint[]>, plan: Plan) => void;
  /** Helpers before they are committed to, over their whole spaces; the columns are committed to already. */
  readonly helpers?: (
    helpers: Readonly<Record<'gw' | 'gx' | 'gt', bigint[]>>,
    columns: Map<string, bigint[]>,
    plan: Plan,
    challenges: { readonly alpha: bigint; readonly beta: bigint },
  ) => void;
  readonly values?: (values: LookupValues, end: SumcheckEnd<LookupValues>) => LookupValues;
  /** @param end the value of D that the claims ask for, given the products. */
  readonly direct?: (direct: bigint, end: { readonly plan: Plan; readonly asked: bigint }) => bigint;
  readonly operands?: (operands: readonly bigint[], end: SumcheckEnd<readonly bigint[]>) => readonly bigint[];
  readonly proof?: (proof: Proof, plan: Plan) => Proof;
}

const bigints = (values: ArrayLike<number>): bigint[] => Array.from(values, toField);
const HALF = inverse(2n);

/** Cuts a list into stretches of 2^n cells, the last one filled up with 0. */
function cut(values: readonly bigint[], n: number): bigint[][] {
  return Array.from({ length: Math.ceil(values.length / 2 ** n) }, (_, c) => {
    const own = values.slice(c * 2 ** n, (c + 1) * 2 ** n);
    return [...own, ...new Array<bigint>(2 ** n - own.length).fill(0n)];
  });
}

export async function referenceProve(
  statement: Statement,
  groups: readonly GroupWitness[],
  n: number,
  committer: ReferenceCommitter,
  bound: Uint8Array = new Uint8Array(0),
  tampering: Tampering = {},
  transcript: Transcript = new KeccakTranscript(),
): Promise<Uint8Array> {
  const plan = makePlan(
    statement.groups.map(({ key, items }) => ({ program: key.program, items })),
    n,
  );
  const values = publicValues(statement);
  const witness = buildWitness(plan, groups);
  tampering.witness?.(witness, plan);
  const masks = maskColumns(plan);
  const rows = tableColumns(plan, groups);

  // Columns by name: 'y 0', 'y 1', ..., 'm 0', ...
  const columns = new Map<string, bigint[]>();
  const putFamily = (family: string, all: readonly bigint[]): void =>
    cut(all, plan.lookupBits).forEach((column, c) => columns.set(`${family} ${c}`, column));
  putFamily('y', bigints(witness.y));
  putFamily('r0', bigints(witness.r0));
  putFamily('r1', bigints(witness.r1));
  putFamily('m', bigints(witness.m));
  putFamily('q', bigints(witness.q));
  witness.x.forEach((tap, i) => putFamily(`x${i}`, bigints(tap)));
  tampering.columns?.(columns, plan);
  const family = (name: 'y' | 'r0' | 'r1' | 'm' | 'gw' | 'gx' | 'gt'): bigint[][] =>
    Array.from({ length: chunksOf(plan, name) }, (_, c) => columns.get(`${name} ${c}`)!);
  const commitAll = (names: readonly ('y' | 'r0' | 'r1' | 'm' | 'gw' | 'gx' | 'gt')[]): Promise<Uint8Array[]> =>
    Promise.all(cut(names.flatMap(family).flat(), n).map((column) => committer.commit(column)));

  absorbStatement(transcript, { scheme: committer.name, srsId: committer.srsId, bound }, plan, statement, values);
  const first = await commitAll(['y', 'r0', 'r1', 'm']);
  transcript.absorbPoints('commitments', first);
  const alpha = transcript.challenge('alpha');
  const beta = transcript.challenge('beta');
  const word = transcript.challenges('r_e', wordPointBits(plan));
  const output = transcript.challenges('tau_out', outputPointBits(plan));

  const chunksNamed = (name: string): bigint[][] =>
    Array.from({ length: plan.witnessChunks }, (_, c) => columns.get(`${name} ${c}`)!);
  const virtual = { q: chunksNamed('q'), x: witness.x.map((_, i) => chunksNamed(`x${i}`)) };
  const helpers = helperColumns({ alpha, beta }, family, virtual, masks, rows);
  tampering.helpers?.(helpers, columns, plan, { alpha, beta });
  putFamily('gw', helpers.gw);
  if (plan.hasMaxima) putFamily('gx', helpers.gx);
  putFamily('gt', helpers.gt);
  const second = await commitAll(plan.hasMaxima ? ['gw', 'gx', 'gt'] : ['gw', 'gt']);
  transcript.absorbPoints('helper commitments', second);
  const tau = transcript.challenges('tau', plan.lookupBits);
  const weights = bracketWeights(plan, transcript.challenge('lookup lambda'));

  // Phase L: all columns, masks and rows as tables of one sumcheck.
  const chunkCells = 2 ** plan.lookupBits;
  const perWitness = Array.from({ length: plan.witnessChunks }, (_, c) => {
    const slice = (values: ArrayLike<number>): bigint[] =>
      bigints(Array.prototype.slice.call(values, c * chunkCells, (c + 1) * chunkCells));
    return [
      family('y')[c]!,
      family('r0')[c]!,
      family('r1')[c]!,
      virtual.q[c]!,
      family('gw')[c]!,
      ...(plan.hasMaxima ? [family('gx')[c]!, ...virtual.x.map((tap) => tap[c]!)] : []),
      ...[masks.requant, masks.looked, masks.maxima, masks.tag].map(slice),
    ];
  });
  const perTable = Array.from({ length: plan.tableChunks }, (_, j) => {
    const slice = (values: ArrayLike<number>): bigint[] =>
      bigints(Array.prototype.slice.call(values, j * chunkCells, (j + 1) * chunkCells));
    return [family('m')[j]!, family('gt')[j]!, ...[rows.committed, rows.valid, rows.a, rows.b, rows.tag].map(slice)];
  });
  const read = (flat: readonly bigint[]): { values: LookupValues } & Pick<PublicPart, 'masks' | 'rows'> => {
    const own = plan.hasMaxima ? 6 + MAX_TAPS : 5;
    const stride = own + 4;
    const chunk = (c: number): readonly bigint[] => flat.slice(c * stride, (c + 1) * stride);
    const witnessChunks = Array.from({ length: plan.witnessChunks }, (_, c) => chunk(c));
    const start = plan.witnessChunks * stride;
    const tableChunks = Array.from({ length: plan.tableChunks }, (_, j) =>
      flat.slice(start + 7 * j, start + 7 * (j + 1)),
    );
    return {
      values: {
        y: witnessChunks.map((v) => v[0]!),
        r0: witnessChunks.map((v) => v[1]!),
        r1: witnessChunks.map((v) => v[2]!),
        q: witnessChunks.map((v) => v[3]!),
        gw: witnessChunks.map((v) => v[4]!),
        gx: plan.hasMaxima ? witnessChunks.map((v) => v[5]!) : [],
        x: plan.hasMaxima ? witnessChunks.map((v) => v.slice(6, 6 + MAX_TAPS)) : [],
        m: tableChunks.map((v) => v[0]!),
        gt: tableChunks.map((v) => v[1]!),
        b: plan.hasValues ? tableChunks.map((v) => v[2]!) : [],
      },
      masks: witnessChunks.map((v) => ({
        requant: v[own]!,
        looked: v[own + 1]!,
        maxima: v[own + 2]!,
        tag: v[own + 3]!,
      })),
      rows: tableChunks.map((v) => ({ valid: v[3]!, a: v[4]!, b: v[5]!, tag: v[6]! })),
    };
  };
  const eqTau = denseWeights(eqWeight(tau), chunkCells);
  const lookup = proveSumcheck(
    transcript,
    'lookup',
    lookupDegree(plan),
    [eqTau, ...perWitness.flat(), ...perTable.flat()],
    ([eq, ...flat]) => {
      const { values: at, ...known } = read(flat);
      return lookupSummand(plan, { alpha, beta }, weights, at, { ...known, eq: eq! });
    },
  );
  const { values: found, ...known } = read(lookup.ends.slice(1));
  const atPoint =
    tampering.values?.(found, {
      plan,
      claim: endClaim(0n, lookup),
      summand: (at) => lookupSummand(plan, { alpha, beta }, weights, at, { ...known, eq: lookup.ends[0]! }),
    }) ?? found;
  const sentValues = flattenValues(plan, atPoint);
  transcript.absorbScalars('lookup values', sentValues);
  const points = {
    witness: [...transcript.challenges('witness chunk point', chunkBits(plan.witnessChunks)), ...lookup.point],
    table: [...transcript.challenges('table chunk point', chunkBits(plan.tableChunks)), ...lookup.point],
    output,
    word,
    lambda: transcript.challenge('lambda'),
  };

  // Phase A.
  const claims = collectClaims(plan, points, atPoint, values);
  const models = groups.map(({ built }) => cut(bigints(modelColumns(built)), built.program.modelBits));
  models.forEach((chunks, g) =>
    chunks.forEach((column, c) =>
      columns.set(`model ${g} ${c}`, [...column, ...new Array<bigint>(2 ** n - column.length).fill(0n)]),
    ),
  );
  const ordered = columnsOf(plan).map(() => new Array<bigint>(2 ** n).fill(0n));
  for (const { family: name, group, chunk, column, offset } of chunksInOrder(plan))
    columns
      .get(name === 'model' ? `model ${group} ${chunk}` : `${name} ${chunk}`)!
      .forEach((value, i) => (ordered[column]![offset + i] = value));
  const evaluate = (functionals: readonly Functional[]): bigint =>
    combinedWeights(plan, [{ scale: 1n, functionals }]).reduce(
      (sum, weight, i) => weight.reduce((s, w, x) => (w === 0n ? s : add(s, mul(w, ordered[i]![x]!))), sum),
      0n,
    );
  const { variables, degree } = productShape(plan);
  const tables = claims.products.map((term) => ({
    p: extend(operandTable(plan, groups, term, 'p', witness.y), variables),
    q: extend(operandTable(plan, groups, term, 'q', witness.y), variables),
    e: extend(sharedTable(plan, term), variables),
    coefficient: mul(term.coefficient, pow(HALF, BigInt(variables - term.variables))),
  }));
  const products = tables.reduce(
    (sum, { p, q, e, coefficient }) =>
      add(
        sum,
        mul(
          coefficient,
          p.reduce((s, v, i) => add(s, mul(v, mul(q[i]!, e[i]!))), 0n),
        ),
      ),
    0n,
  );
  const evaluated = evaluate(claims.direct);
  const direct = tampering.direct?.(evaluated, { plan, asked: sub(claims.total, products) }) ?? evaluated;
  transcript.absorbScalars('direct', [direct]);
  const arithmetic = proveSumcheck(
    transcript,
    'arithmetic',
    degree,
    tables.length === 0 ? [[0n]] : tables.flatMap(({ p, q, e }) => [p, q, e]),
    (at) =>
      tables.reduce(
        (sum, { coefficient }, k) => add(sum, mul(coefficient, mul(at[3 * k]!, mul(at[3 * k + 1]!, at[3 * k + 2]!)))),
        0n,
      ),
  );
  const ends = tables.flatMap((_, k) => [arithmetic.ends[3 * k]!, arithmetic.ends[3 * k + 1]!]);
  const operands =
    tampering.operands?.(ends, {
      plan,
      claim: endClaim(sub(claims.total, direct), arithmetic),
      summand: (at) =>
        tables.reduce(
          (sum, { coefficient }, k) =>
            add(sum, mul(mul(coefficient, arithmetic.ends[3 * k + 2]!), mul(at[2 * k]!, at[2 * k + 1]!))),
          0n,
        ),
    }) ?? ends;
  transcript.absorbScalars('operands', operands);

  // Phase O.
  const gamma = transcript.challenge('gamma');
  const entries: OpeningEntry[] = [{ scale: 1n, functionals: claims.direct }];
  let power = 1n;
  claims.products.forEach((term) => {
    const rho = arithmetic.point.slice(variables - term.variables);
    for (const side of ['p', 'q'] as const) {
      power = mul(power, gamma);
      entries.push({ scale: power, functionals: operandClaim(plan, term, side, rho).functionals });
    }
  });
  const openingTables = combinedWeights(plan, entries).flatMap((weight, i) => [weight, ordered[i]!]);
  const opening = proveSumcheck(transcript, 'opening', OPENING_DEGREE, openingTables, (at) => {
    let sum = 0n;
    for (let i = 0; i < at.length; i += 2) sum = add(sum, mul(at[i]!, at[i + 1]!));
    return sum;
  });
  const coefficients = columnCoefficients(plan, entries, opening.point);
  const value = coefficients.reduce((sum, e, i) => add(sum, mul(e, opening.ends[2 * i + 1]!)), 0n);
  const commitments = [...first, ...second, ...statement.groups.flatMap(({ key }) => key.commitments)];
  const proof: Proof = {
    n,
    witness: first,
    helpers: second,
    lookupRounds: lookup.rounds,
    values: sentValues,
    direct,
    arithmeticRounds: arithmetic.rounds,
    operands,
    openingRounds: opening.rounds,
    opening: await committer.open(transcript, { n, commitments, coefficients, point: opening.point, value }, ordered),
  };
  return encodeProof(tampering.proof?.(proof, plan) ?? proof, committer.code);
}

/** What a sumcheck asks of its summand after the rounds that were sent. */
function endClaim(claim: bigint, { rounds, point }: ProvedSumcheck): bigint {
  return rounds.reduce((c, coefficients, i) => evaluateRound(coefficients, c, point[i]!), claim);
}

/** A table repeated over leading variables that it does not depend on. */
function extend(table: readonly bigint[], variables: number): bigint[] {
  const copies = 2 ** variables / table.length;
  return Array.from({ length: copies }, () => table).flat();
}

/** gw, gx, gt over their whole spaces. */
function helperColumns(
  { alpha, beta }: { readonly alpha: bigint; readonly beta: bigint },
  family: (name: 'y' | 'r0' | 'r1' | 'm') => bigint[][],
  virtual: { readonly q: readonly bigint[][]; readonly x: readonly bigint[][][] },
  masks: MaskColumns,
  rows: TableColumns,
): { gw: bigint[]; gx: bigint[]; gt: bigint[] } {
  const beta2 = mul(beta, beta);
  const fingerprint = (a: bigint, b: bigint, tag: number): bigint => add(add(a, mul(beta, b)), mul(beta2, BigInt(tag)));
  const inverted = (value: bigint): bigint => inverse(sub(alpha, value));
  const [y, r0, r1, q] = [family('y').flat(), family('r0').flat(), family('r1').flat(), virtual.q.flat()];
  const x = virtual.x.map((tap) => tap.flat());
  const gw = y.map((value, i) => {
    let sum = 0n;
    if (masks.requant[i])
      for (const limb of [r0[i]!, r1[i]!]) sum = add(sum, inverted(fingerprint(limb, 0n, RANGE_TAG)));
    if (masks.looked[i]) sum = add(sum, inverted(fingerprint(q[i]!, value, masks.tag[i]!)));
    return sum;
  });
  const gx =
    x.length === 0
      ? []
      : y.map((value, i) =>
          masks.maxima[i]
            ? x.reduce((sum, tap) => add(sum, inverted(fingerprint(sub(value, tap[i]!), 0n, RANGE_TAG))), 0n)
            : 0n,
        );
  const gt = family('m')
    .flat()
    .map((count, i) => {
      if (!rows.valid[i] || count === 0n) return 0n;
      const row = fingerprint(toField(rows.a[i]!), add(toField(rows.b[i]!), toField(rows.committed[i]!)), rows.tag[i]!);
      return mul(count, inverted(row));
    });
  return { gw, gx, gt };
}

/** sum of scale * A over the entries, written out for every column in the order of opening. */
function combinedWeights(plan: Plan, entries: readonly OpeningEntry[]): bigint[][] {
  const chunks = new Map(chunksInOrder(plan).map((own) => [`${own.family} ${own.group} ${own.chunk}`, own]));
  const weights = columnsOf(plan).map(() => new Array<bigint>(2 ** plan.n).fill(0n));
  for (const { scale, functionals } of entries)
    for (const functional of functionals)
      expandFunctional(plan, functional, (key, cell, weight) => {
        const { column, offset } = chunks.get(key)!;
        const own = weights[column]!;
        own[offset + cell] = add(own[offset + cell]!, mul(scale, weight));
      });
  return weights;
}
