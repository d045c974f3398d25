/**
 * The claims of a proof, generated from the plan alone: after the lookup phase every statement about committed columns
 * is linear in them or in products of two views, and all are summed with powers of one challenge lambda:
 *
 *   sum_i lambda^i v_i  =  <direct functionals, columns>  +  sum_k c_k sum_j E_k(j) P_k(j) Q_k(j).
 *
 * Claims in this order (i from 0):
 *   relation      v = 2^24 q + r0 + 2^12 r1 at R; the functional is L, every requantisation's expression at once:
 *                 sum over slots of sel(R) L_slot(R's lower bits). L is zero on padding by definition.
 *   y, r0, r1, gw [, gx, x0..x3], m, gt [, b]   the columns (and virtual columns) at R or at the table point R_t
 *   outputs       sum over valid x of eq(tau_out, x) out(x)
 *   inputs        the packed words
 * The prover sends the sum D of the direct functionals, the products go through phase A, and phase O opens D and the
 * operands P_k, Q_k at the end point of A. One value D for everything linear leaves no entry that could be forgotten.
 */
import { FR, type Field } from '../field/field.js';
import { bitsOf, bitsOfAxes } from '../program/layout.js';
import type { PlacedTable } from '../program/tables.js';
import { LIMB_BITS, MAX_TAPS, type Expression, type LinearTerm, type Product } from '../program/types.js';
import { functionalsOver, type AxisWeight, type Factor } from './functional.js';
import { inputsOver, wordIndexBits } from './inputs.js';
import { chunkBits, slotOf, type Family, type GroupPlan, type Plan } from './plan.js';
import { REQUANT_SHIFT } from '../../graph/integer/types.js';

/** A weight on one slot: of the witness (family y) or of a group's model. */
export interface SlotFunctional<E = bigint> {
  readonly kind: 'slot';
  readonly space: 'witness' | 'model';
  readonly group: number;
  readonly slot: number;
  readonly coefficient: E;
  /** Weight over the items; null for model slots. */
  readonly batch: AxisWeight<E> | null;
  readonly factors: readonly Factor<E>[];
}

/** coefficient * eq(point, .) over the whole space of a family, chunk bits first. */
export interface ColumnFunctional<E = bigint> {
  readonly kind: 'column';
  readonly family: Family;
  readonly coefficient: E;
  readonly point: readonly E[];
}

export type Functional<E = bigint> = SlotFunctional<E> | ColumnFunctional<E>;

/** Values at the end point of the lookup sumcheck, per chunk. */
export interface LookupValues<E = bigint> {
  readonly y: readonly E[];
  readonly r0: readonly E[];
  readonly r1: readonly E[];
  readonly q: readonly E[];
  readonly gw: readonly E[];
  /** Per witness chunk, only with maxima; x has four values per chunk. */
  readonly gx: readonly E[];
  readonly x: readonly (readonly E[])[];
  readonly m: readonly E[];
  readonly gt: readonly E[];
  /** Per table chunk, only with committed tables. */
  readonly b: readonly E[];
}

export interface ProductTerm<E = bigint> {
  readonly coefficient: E;
  readonly group: number;
  readonly product: Product;
  /** Labels that the sumcheck binds: shared ones, then contracted ones. */
  readonly shared: readonly number[];
  readonly contracted: readonly number[];
  /** True where the item index is shared too; its bits come first. */
  readonly sharesBatch: boolean;
  /** Number of sumcheck variables. */
  readonly variables: number;
  /** Weight over the items. */
  readonly batch: AxisWeight<E>;
  /** Output weights by role, over labels. */
  readonly weights: {
    readonly p: readonly Factor<E>[];
    readonly q: readonly Factor<E>[];
    readonly shared: readonly Factor<E>[];
  };
}

export interface Claims<E = bigint> {
  /** sum lambda^i v_i minus everything the verifier knows of the right side: the value of D plus the products. */
  readonly total: E;
  readonly direct: readonly Functional<E>[];
  readonly products: readonly ProductTerm<E>[];
}

export interface ClaimPoints<E = bigint> {
  /** R = (chunk point, r*) in the witness space; R_t in the table space. */
  readonly witness: readonly E[];
  readonly table: readonly E[];
  readonly output: readonly E[];
  readonly word: readonly E[];
  readonly lambda: E;
}

/** What the statement publishes: packed words by group, input and item; outputs by group and output, item-major. */
export interface PublicValues<E = bigint> {
  readonly words: readonly (readonly (readonly (readonly [number, E][])[])[])[];
  readonly outputs: readonly (readonly (Int32Array | readonly E[])[])[];
}

/** Coordinates of tau_out: as many as the largest output needs. */
export function outputPointBits(plan: Plan): number {
  return Math.max(
    0,
    ...plan.groups.flatMap(({ program, batchBits }) =>
      program.outputs.map(({ expression }) => batchBits + bitsOfAxes(expression.axes)),
    ),
  );
}

/** Coordinates of r_e. */
export function wordPointBits(plan: Plan): number {
  return Math.max(
    0,
    ...plan.groups.flatMap(({ program, batchBits }) =>
      program.inputs.map((input) => wordIndexBits(program, input, batchBits)),
    ),
  );
}

/** The formulas over a field. */
export function claimsOver<E>(field: Field<E>) {
  const { zero, one, of, add, mul, sub } = field;
  const { denseWeights, eqFactors, eqWeight, evaluateFactors, evaluateWeight, pushWeights, sumWeight } =
    functionalsOver(field);
  const { evaluateWords, lowestOf, packedWeights } = inputsOver(field);

  /** sum over chunks of eq(chunk point, c) value_c. */
  function acrossChunks(point: readonly E[], values: readonly E[]): E {
    const eq = denseWeights(eqWeight(point), values.length);
    return values.reduce((sum, value, c) => add(sum, mul(eq[c]!, value)), zero);
  }

  function collectClaims(
    plan: Plan,
    points: ClaimPoints<E>,
    values: LookupValues<E>,
    statement: PublicValues<E>,
  ): Claims<E> {
    const collector = new Collector(points);
    const { witness, table } = points;
    const witnessChunkPoint = witness.slice(0, chunkBits(plan.witnessChunks));
    const tableChunkPoint = table.slice(0, chunkBits(plan.tableChunks));
    const atWitness = (chunks: readonly E[]): E => acrossChunks(witnessChunkPoint, chunks);
    const atTable = (chunks: readonly E[]): E => acrossChunks(tableChunkPoint, chunks);

    const [r0, r1] = [atWitness(values.r0), atWitness(values.r1)];
    const remainder = add(r0, mul(of(2 ** LIMB_BITS), r1));
    collector.claim(add(mul(of(2 ** REQUANT_SHIFT), atWitness(values.q)), remainder), (scale) => {
      plan.groups.forEach((group, g) => {
        for (const { slot, expression } of group.program.requants) collector.atSlot(scale, group, g, slot, expression);
      });
    });
    const column = (family: Family, value: E): void =>
      collector.claim(value, (coefficient) =>
        collector.direct.push({
          kind: 'column',
          family,
          coefficient,
          point: family === 'm' || family === 'gt' ? table : witness,
        }),
      );
    column('y', atWitness(values.y));
    column('r0', r0);
    column('r1', r1);
    column('gw', atWitness(values.gw));
    if (plan.hasMaxima) {
      column('gx', atWitness(values.gx));
      for (let tap = 0; tap < MAX_TAPS; tap++)
        collector.claim(atWitness(values.x.map((taps) => taps[tap]!)), (scale) => {
          plan.groups.forEach((group, g) => {
            for (const { slot, taps } of group.program.maxima)
              collector.atSlot(scale, group, g, slot, {
                axes: group.program.witness[slot]!.axes,
                linear: taps[tap] ?? taps[0]!,
                products: [],
              });
          });
        });
    }
    column('m', atTable(values.m));
    column('gt', atTable(values.gt));
    if (plan.hasValues)
      collector.claim(atTable(values.b), (scale) => {
        for (const placed of plan.tables.tables) if (placed.kind === 'values') collector.committedTable(scale, placed);
      });

    plan.groups.forEach((group, g) => {
      group.program.outputs.forEach(({ expression }, index) => {
        const bits = group.batchBits + bitsOfAxes(expression.axes);
        const point = points.output.slice(points.output.length - bits);
        const batch = eqWeight(point.slice(0, group.batchBits));
        const factors = eqFactors(expression.axes, point.slice(group.batchBits));
        const value = evaluateDense(group, batch, factors, expression.axes, statement.outputs[g]![index]!);
        collector.claim(value, (scale) => collector.expression(scale, group, g, expression, batch, factors));
      });
    });
    plan.groups.forEach((group, g) => {
      group.program.inputs.forEach((input, index) => {
        const { program, batchBits, items } = group;
        const { batch, factors } = packedWeights(program, input, batchBits, points.word);
        const words = evaluateWords(program, input, batchBits, statement.words[g]![index]!, points.word);
        // The words hold x - lo.
        const ones = factors.reduce(
          (p, { sides, weight }) => mul(p, sumWeight(weight, sides[0]!)),
          sumWeight(batch, items),
        );
        collector.claim(add(words, mul(lowestOf(program, input), ones)), (coefficient) =>
          collector.direct.push({
            kind: 'slot',
            space: 'witness',
            group: g,
            slot: input.slot,
            coefficient,
            batch,
            factors,
          }),
        );
      });
    });
    return collector.finish();
  }

  /** sum over items and elements of weight times value: the verifier's own evaluation of a public tensor. */
  function evaluateDense(
    group: GroupPlan,
    batch: AxisWeight<E>,
    factors: readonly Factor<E>[],
    axes: readonly number[],
    values: Int32Array | readonly E[],
  ): E {
    let weights = denseWeights(batch, group.items);
    axes.forEach((side, axis) => {
      const factor = factors.find(({ axes: own }) => own[0] === axis);
      if (!factor) return;
      const along = denseWeights(factor.weight, side);
      weights = weights.flatMap((w) => along.map((a) => mul(w, a)));
    });
    const elements = values instanceof Int32Array ? Array.from(values, of) : values;
    return weights.reduce((sum, w, i) => add(sum, mul(w, elements[i]!)), zero);
  }

  class Collector {
    readonly direct: Functional<E>[] = [];
    private readonly products: ProductTerm<E>[] = [];
    private total = zero;
    private power = one;

    constructor(private readonly points: ClaimPoints<E>) {}

    /** One claim: its value, and how its functional, times the given scale, enters the lists. */
    claim(value: E, add_: (scale: E) => void): void {
      this.total = add(this.total, mul(this.power, value));
      add_(this.power);
      this.power = mul(this.power, this.points.lambda);
    }

    /** An expression over a witness slot at R: sel(R) times the expression at R's lower bits. */
    atSlot(scale: E, group: GroupPlan, g: number, slot: number, expression: Expression): void {
      const { offset, bits } = slotOf(group, slot);
      const { selector, inside } = splitPoint(this.points.witness, offset, bits);
      const batch = eqWeight(inside.slice(0, group.batchBits));
      const factors = eqFactors(expression.axes, inside.slice(group.batchBits));
      this.expression(mul(scale, selector), group, g, expression, batch, factors);
    }

    committedTable(scale: E, table: Extract<PlacedTable, { kind: 'values' }>): void {
      const { selector, inside } = splitPoint(this.points.table, table.offset, bitsOf(table.rows));
      this.direct.push({
        kind: 'slot',
        space: 'model',
        group: table.group,
        slot: table.slot,
        coefficient: mul(scale, selector),
        batch: null,
        factors: eqFactors([table.rows], inside),
      });
    }

    expression(
      scale: E,
      group: GroupPlan,
      g: number,
      expression: Expression,
      batch: AxisWeight<E>,
      factors: readonly Factor<E>[],
    ): void {
      for (const term of expression.linear) {
        const pushed = pushTerm(group, g, term, scale, batch, factors);
        this.direct.push(...pushed.functionals);
        this.total = sub(this.total, pushed.constant);
      }
      for (const product of expression.products)
        this.products.push(productTerm(group, g, product, scale, batch, factors));
    }

    finish(): Claims<E> {
      return { total: this.total, direct: this.direct, products: this.products };
    }
  }

  /** The coordinates of a point above a slot, as its selector, and inside it. */
  function splitPoint(point: readonly E[], offset: number, bits: number): { selector: E; inside: readonly E[] } {
    const top = point.length - bits;
    let selector = one;
    for (let j = 0; j < top; j++) {
      const bit = Math.floor(offset / 2 ** (point.length - 1 - j)) % 2;
      selector = mul(selector, bit === 1 ? point[j]! : sub(one, point[j]!));
    }
    return { selector, inside: point.slice(top) };
  }

  /** A linear term under weights on its target: a functional on a slot, or a constant everybody knows. */
  function pushTerm(
    group: GroupPlan,
    g: number,
    term: LinearTerm,
    scale: E,
    batch: AxisWeight<E> | null,
    factors: readonly Factor<E>[],
  ): { functionals: Functional<E>[]; constant: E } {
    const pushed = pushWeights(factors, term.blocks);
    let coefficient = mul(mul(scale, of(term.coefficient)), pushed.coefficient);
    const { source } = term;
    if (source.kind === 'witness')
      return {
        functionals: [
          {
            kind: 'slot',
            space: 'witness',
            group: g,
            slot: source.slot,
            coefficient,
            batch: batch!,
            factors: pushed.factors,
          },
        ],
        constant: zero,
      };
    // The same for every item.
    if (batch) coefficient = mul(coefficient, sumWeight(batch, group.items));
    if (source.kind === 'one') return { functionals: [], constant: coefficient };
    return {
      functionals: [
        {
          kind: 'slot',
          space: 'model',
          group: g,
          slot: source.slot,
          coefficient,
          batch: null,
          factors: pushed.factors,
        },
      ],
      constant: zero,
    };
  }

  function productTerm(
    group: GroupPlan,
    g: number,
    product: Product,
    scale: E,
    batch: AxisWeight<E>,
    factors: readonly Factor<E>[],
  ): ProductTerm<E> {
    const pushed = pushWeights(factors, product.blocks);
    const inP = (label: number): boolean => product.p.labels.includes(label);
    const inQ = (label: number): boolean => product.q.labels.includes(label);
    const isOutput = (label: number): boolean => product.outputLabels.includes(label);
    const common = product.labels.map((_, label) => label).filter((label) => inP(label) && inQ(label));
    const shared = common.filter(isOutput);
    const contracted = common.filter((label) => !isOutput(label));
    const sharesBatch = product.p.batched && product.q.batched;
    const own = (role: (label: number) => boolean): Factor<E>[] => pushed.factors.filter(({ axes }) => role(axes[0]!));
    const bits = [...shared, ...contracted].reduce((sum, label) => sum + bitsOf(product.labels[label]!), 0);
    return {
      coefficient: mul(mul(scale, of(product.coefficient)), pushed.coefficient),
      group: g,
      product,
      shared,
      contracted,
      sharesBatch,
      variables: bits + (sharesBatch ? group.batchBits : 0),
      batch,
      weights: {
        p: own((label) => inP(label) && !inQ(label)),
        q: own((label) => !inP(label) && inQ(label)),
        shared: own((label) => inP(label) && inQ(label)),
      },
    };
  }

  /** The sumcheck point of a product, split into its parts: item bits, then the bits of each label. */
  function splitVariables(
    group: GroupPlan,
    term: ProductTerm<E>,
    rho: readonly E[],
  ): { batch: readonly E[]; label: (label: number) => readonly E[] } {
    const batchBits = term.sharesBatch ? group.batchBits : 0;
    const parts = new Map<number, readonly E[]>();
    let at = batchBits;
    for (const label of [...term.shared, ...term.contracted]) {
      const bits = bitsOf(term.product.labels[label]!);
      parts.set(label, rho.slice(at, (at += bits)));
    }
    return { batch: rho.slice(0, batchBits), label: (label) => parts.get(label)! };
  }

  /** E_k at rho: the output weights of the shared labels. */
  function sharedWeightAt(plan: Plan, term: ProductTerm<E>, rho: readonly E[]): E {
    const group = plan.groups[term.group]!;
    const { batch, label } = splitVariables(group, term, rho);
    const items = term.sharesBatch ? evaluateWeight(term.batch, group.items, batch) : one;
    return mul(items, evaluateFactors(term.weights.shared, label));
  }

  /** The operand P_k or Q_k at rho as functionals on slots, plus what is known. */
  function operandClaim(
    plan: Plan,
    term: ProductTerm<E>,
    side: 'p' | 'q',
    rho: readonly E[],
  ): { functionals: Functional<E>[]; constant: E } {
    const group = plan.groups[term.group]!;
    const operand = term.product[side];
    const { batch, label } = splitVariables(group, term, rho);
    const bound = [...term.shared, ...term.contracted].flatMap((l): Factor<E>[] =>
      term.product.labels[l] === 1 ? [] : [{ axes: [l], sides: [term.product.labels[l]!], weight: eqWeight(label(l)) }],
    );
    const items = operand.batched ? (term.sharesBatch ? eqWeight(batch) : term.batch) : null;
    const parts = operand.terms.map((linear) =>
      pushTerm(group, term.group, linear, one, items, [...term.weights[side], ...bound]),
    );
    return {
      functionals: parts.flatMap(({ functionals }) => functionals),
      constant: parts.reduce((sum, { constant }) => add(sum, constant), zero),
    };
  }

  return { collectClaims, splitPoint, splitVariables, sharedWeightAt, operandClaim };
}

export const { collectClaims, splitPoint, splitVariables, sharedWeightAt, operandClaim } = claimsOver(FR);
