/**
 * The lookup relation at one point: the summand of phase L.
 *
 * Over the cells x of a column, with fingerprints f(a, b, tag) = a + beta b + beta^2 tag and, per witness chunk,
 *   D0 = alpha - f(r0, 0, range)    D1 = alpha - f(r1, 0, range)    D2 = alpha - f(q, y, tag)
 *   E_i = alpha - f(y - x_i, 0, range)  for the taps of maxima,      per table chunk  Dt = alpha - f(a, b, tag),
 * honest helpers are
 *   gw = v_r/D0 + v_r/D1 + v_q/D2        gx = v_x sum_i 1/E_i        gt = v_T m/Dt.
 * Phase L shows in one sumcheck
 *   0 = sum_x { sum_c (gw + gx) - sum_j gt
 *             + eq(tau, x) [ sum_c l (gw D0 D1 D2 - v_r (D0 + D1) D2 - v_q D0 D1)
 *                          + sum_c l (gx E0 E1 E2 E3 - v_x sum_i prod_{j != i} E_j)  + sum_c l v_x prod_i (y - x_i)
 *                          + sum_j l (gt Dt - v_T m) ] }
 * with l a fresh power of one challenge for each bracket, in this order, from the first power on. The first line says
 * that all looked-up tuples occur in the tables (log-derivatives of both sides agree); the brackets define the helpers;
 * prod_i (y - x_i) = 0 says that a maximum equals one of its taps, while y - x_i in the range says that none exceeds it.
 *
 * Masks: v_r is 1 on valid cells of requantisations, v_q on those and on input cells, v_x on valid cells of maxima, v_T
 * on real rows. Padding cells enter nothing whatever they hold.
 */
import { FR, powersOver, type Field } from '../field/field.js';
import { RANGE_TAG, tablesOver, type TableExtensions } from '../program/tables.js';
import { functionalsOver } from './functional.js';
import { MAX_TAPS } from '../program/types.js';
import { claimsOver, type LookupValues } from './claims.js';
import { chunkBits, slotOf, type GroupPlan, type Plan } from './plan.js';

/** Of the fingerprints. */
export interface LookupChallenges<E = bigint> {
  readonly alpha: E;
  readonly beta: E;
}

/** Powers of the batching challenge by bracket. */
export interface BracketWeights<E = bigint> {
  readonly witness: readonly E[];
  readonly maxima: readonly E[];
  readonly product: readonly E[];
  readonly table: readonly E[];
}

export interface WitnessMasks<E = bigint> {
  readonly requant: E;
  readonly looked: E;
  readonly maxima: E;
  readonly tag: E;
}

/** Everything about a point of the column that is not claimed by the prover: per chunk masks, per chunk table rows, eq. */
export interface PublicPart<E = bigint> {
  readonly masks: readonly WitnessMasks<E>[];
  readonly rows: readonly TableExtensions<E>[];
  /** eq(tau, point). */
  readonly eq: E;
}

/** Degree of phase L in each variable. */
export const lookupDegree = (plan: Plan): number => (plan.hasMaxima ? 6 : 5);

/** Values per witness chunk and per table chunk that the prover sends at the end of phase L. */
export function lookupValueCount(plan: Plan): number {
  return (
    plan.witnessChunks * (5 + (plan.hasMaxima ? 1 + MAX_TAPS : 0)) + plan.tableChunks * (2 + (plan.hasValues ? 1 : 0))
  );
}

/** The formulas over a field. */
export function lookupOver<E>(field: Field<E>) {
  const { zero, one, of, add, mul, sub, isZero } = field;
  const { eqFactors, eqWeight, sumWeight } = functionalsOver(field);
  const { evaluateTables } = tablesOver(field);
  const { splitPoint } = claimsOver(field);

  function bracketWeights(plan: Plan, lambda: E): BracketWeights<E> {
    const { witnessChunks, tableChunks, hasMaxima } = plan;
    const maxima = hasMaxima ? witnessChunks : 0;
    const all = powersOver(field, lambda, 1 + witnessChunks + 2 * maxima + tableChunks).slice(1);
    const take = (count: number): E[] => all.splice(0, count);
    return { witness: take(witnessChunks), maxima: take(maxima), product: take(maxima), table: take(tableChunks) };
  }

  /** What the masks and the tag of the witness space are at a point, chunk bits first. */
  function evaluateMasks(plan: Plan, point: readonly E[]): WitnessMasks<E> {
    let [requant, looked, maxima, tag] = [zero, zero, zero, zero];
    plan.groups.forEach((group, g) => {
      const { program } = group;
      for (const { slot, table } of program.requants) {
        const { selector, valid } = slotAt(group, slot, point);
        requant = add(requant, valid);
        looked = add(looked, valid);
        tag = add(tag, mul(selector, of(plan.tables.tagOf(g, table))));
      }
      for (const { slot, table } of program.inputs) {
        const { selector, valid } = slotAt(group, slot, point);
        looked = add(looked, valid);
        tag = add(tag, mul(selector, of(plan.tables.tagOf(g, table))));
      }
      for (const { slot } of program.maxima) maxima = add(maxima, slotAt(group, slot, point).valid);
    });
    return { requant, looked, maxima, tag };
  }

  /** The selector of a slot at a point, and that times the mask of its valid cells. */
  function slotAt(group: GroupPlan, slot: number, point: readonly E[]): { selector: E; valid: E } {
    const { offset, bits } = slotOf(group, slot);
    const { selector, inside } = splitPoint(point, offset, bits);
    if (isZero(selector)) return { selector, valid: zero };
    let valid = mul(selector, sumWeight(eqWeight(inside.slice(0, group.batchBits)), group.items));
    for (const { sides, weight } of eqFactors(group.program.witness[slot]!.axes, inside.slice(group.batchBits)))
      valid = mul(valid, sumWeight(weight, sides[0]!));
    return { selector, valid };
  }

  /** The coordinates of chunk c in front of a point inside the column. */
  function withChunk(chunks: number, chunk: number, point: readonly E[]): E[] {
    const bits = chunkBits(chunks);
    return [...Array.from({ length: bits }, (_, j) => of(Math.floor(chunk / 2 ** (bits - 1 - j)) % 2)), ...point];
  }

  function publicPart(plan: Plan, tau: readonly E[], point: readonly E[]): PublicPart<E> {
    const chunks = (count: number): number[] => Array.from({ length: count }, (_, c) => c);
    return {
      masks: chunks(plan.witnessChunks).map((c) => evaluateMasks(plan, withChunk(plan.witnessChunks, c, point))),
      rows: chunks(plan.tableChunks).map((j) => evaluateTables(plan.tables, withChunk(plan.tableChunks, j, point))),
      eq: tau.reduce((p, t, i) => mul(p, add(mul(t, point[i]!), mul(sub(one, t), sub(one, point[i]!)))), one),
    };
  }

  /** The summand of phase L from the values of all columns, masks and tables at one point. */
  function lookupSummand(
    plan: Plan,
    { alpha, beta }: LookupChallenges<E>,
    weights: BracketWeights<E>,
    values: LookupValues<E>,
    { masks, rows, eq }: PublicPart<E>,
  ): E {
    const beta2 = mul(beta, beta);
    const rangeTag = mul(beta2, of(RANGE_TAG));
    let [sum, brackets] = [zero, zero];
    masks.forEach((mask, c) => {
      const [y, gw] = [values.y[c]!, values.gw[c]!];
      const d0 = sub(alpha, add(values.r0[c]!, rangeTag));
      const d1 = sub(alpha, add(values.r1[c]!, rangeTag));
      const d2 = sub(alpha, add(add(values.q[c]!, mul(beta, y)), mul(beta2, mask.tag)));
      const d01 = mul(d0, d1);
      sum = add(sum, gw);
      const witness = sub(sub(mul(gw, mul(d01, d2)), mul(mask.requant, mul(add(d0, d1), d2))), mul(mask.looked, d01));
      brackets = add(brackets, mul(weights.witness[c]!, witness));
      if (!plan.hasMaxima) return;
      const gx = values.gx[c]!;
      const gaps = values.x[c]!.map((x) => sub(y, x));
      const e = gaps.map((gap) => sub(alpha, add(gap, rangeTag)));
      sum = add(sum, gx);
      const others = e.reduce(
        (total, _, i) =>
          add(
            total,
            e.reduce((p, v, j) => (j === i ? p : mul(p, v)), one),
          ),
        zero,
      );
      brackets = add(brackets, mul(weights.maxima[c]!, sub(mul(gx, e.reduce(mul, one)), mul(mask.maxima, others))));
      brackets = add(brackets, mul(weights.product[c]!, mul(mask.maxima, gaps.reduce(mul, one))));
    });
    rows.forEach((row, j) => {
      const [m, gt] = [values.m[j]!, values.gt[j]!];
      const b = plan.hasValues ? add(row.b, values.b[j]!) : row.b;
      const dt = sub(alpha, add(add(row.a, mul(beta, b)), mul(beta2, row.tag)));
      sum = sub(sum, gt);
      brackets = add(brackets, mul(weights.table[j]!, sub(mul(gt, dt), mul(row.valid, m))));
    });
    return add(sum, mul(eq, brackets));
  }

  /** The order in which they travel and are absorbed: by chunk, witness first. */
  function flattenValues(plan: Plan, values: LookupValues<E>): E[] {
    const witness = Array.from({ length: plan.witnessChunks }, (_, c) => [
      values.y[c]!,
      values.r0[c]!,
      values.r1[c]!,
      values.q[c]!,
      values.gw[c]!,
      ...(plan.hasMaxima ? [values.gx[c]!, ...values.x[c]!] : []),
    ]);
    const table = Array.from({ length: plan.tableChunks }, (_, j) => [
      values.m[j]!,
      values.gt[j]!,
      ...(plan.hasValues ? [values.b[j]!] : []),
    ]);
    return [...witness, ...table].flat();
  }

  /** The inverse of `flattenValues`. */
  function unflattenValues(plan: Plan, flat: readonly E[]): LookupValues<E> {
    const perWitness = 5 + (plan.hasMaxima ? 1 + MAX_TAPS : 0);
    const perTable = 2 + (plan.hasValues ? 1 : 0);
    const start = plan.witnessChunks * perWitness;
    const witness = (at: number): E[] =>
      Array.from({ length: plan.witnessChunks }, (_, c) => flat[c * perWitness + at]!);
    const table = (at: number): E[] =>
      Array.from({ length: plan.tableChunks }, (_, j) => flat[start + j * perTable + at]!);
    return {
      y: witness(0),
      r0: witness(1),
      r1: witness(2),
      q: witness(3),
      gw: witness(4),
      gx: plan.hasMaxima ? witness(5) : [],
      x: plan.hasMaxima
        ? Array.from({ length: plan.witnessChunks }, (_, c) =>
            flat.slice(c * perWitness + 6, c * perWitness + 6 + MAX_TAPS),
          )
        : [],
      m: table(0),
      gt: table(1),
      b: plan.hasValues ? table(2) : [],
    };
  }

  return { bracketWeights, evaluateMasks, withChunk, publicPart, lookupSummand, flattenValues, unflattenValues };
}

export const { bracketWeights, evaluateMasks, withChunk, publicPart, lookupSummand, flattenValues, unflattenValues } =
  lookupOver(FR);
