/**
 * Functionals: the weights under which a proof speaks about committed tensors.
 *
 * A claim about a tensor T is sum_x A(x) T(x) = v. A is a product over groups of axes (*factors*), zero on every padded
 * index, so that no claim can depend on a padding cell. An axis weight is either a product over index bits (eq weights
 * and the byte weights of packed inputs) or a dense list. Claims about views become claims about slots by pushing the
 * weights through the view's blocks: A_S(s) = sum_t A_V(t) m(t, s).
 */
import { FR, type Field } from '../field/field.js';
import { entriesOf, ravel, unravel, type Block } from '../program/blocks.js';
import { bitsOf } from '../program/layout.js';
import { sizeOf } from '../../graph/tensor.js';

export type AxisWeight<E = bigint> =
  /** weight(i) = product over bits, most significant first, of (bit ? one : zero). */
  | { readonly kind: 'bits'; readonly zero: readonly E[]; readonly one: readonly E[] }
  /** weight(i) = values[i]; as many as the factor has indices. */
  | { readonly kind: 'dense'; readonly values: readonly E[] };

/** Weight over the combined row-major index of some axes; 'bits' only over a single axis. */
export interface Factor<E = bigint> {
  readonly axes: readonly number[];
  readonly sides: readonly number[];
  readonly weight: AxisWeight<E>;
}

export interface PushedWeights<E = bigint> {
  readonly coefficient: E;
  readonly factors: readonly Factor<E>[];
}

const sameAxes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((axis, i) => axis === b[i]);

/** The formulas over a field. */
export function functionalsOver<E>({ zero, one, of, add, mul, sub, isZero }: Field<E>) {
  /** eq(point, .). */
  const eqWeight = (point: readonly E[]): AxisWeight<E> => ({
    kind: 'bits',
    zero: point.map((x) => sub(one, x)),
    one: point,
  });

  /** One eq factor per axis; `coordinates` holds the bits of all axes, in order. */
  function eqFactors(sides: readonly number[], coordinates: readonly E[]): Factor<E>[] {
    let at = 0;
    return sides.flatMap((side, axis): Factor<E>[] => {
      const bits = bitsOf(side);
      const point = coordinates.slice(at, (at += bits));
      return side === 1 ? [] : [{ axes: [axis], sides: [side], weight: eqWeight(point) }];
    });
  }

  /** The weights of indices 0 .. side - 1, written out. */
  function denseWeights(weight: AxisWeight<E>, side: number): readonly E[] {
    if (weight.kind === 'dense') return weight.values;
    let values = [one];
    weight.zero.forEach((low, j) => {
      const high = weight.one[j]!;
      values = values.flatMap((v) => [mul(v, low), mul(v, high)]);
    });
    return values.slice(0, side);
  }

  /**
   * sum over i < side of weight(i) eq(u, i): the extension of a masked axis weight at u. For a product over bits it takes
   * a few multiplications per bit; leaving the mask out, or multiplying it as a separate extension, would be another
   * polynomial and unsound.
   */
  function evaluateWeight(weight: AxisWeight<E>, side: number, u: readonly E[]): E {
    if (weight.kind === 'dense') {
      const eq = denseWeights(eqWeight(u), side);
      return weight.values.reduce((sum, w, i) => (isZero(w) ? sum : add(sum, mul(w, eq[i]!))), zero);
    }
    return maskedProduct(
      weight.zero.map((low, j) => mul(low, sub(one, u[j]!))),
      weight.one.map((high, j) => mul(high, u[j]!)),
      side,
    );
  }

  /** sum over i < side of weight(i). */
  function sumWeight(weight: AxisWeight<E>, side: number): E {
    return weight.kind === 'dense' ? weight.values.reduce(add, zero) : maskedProduct(weight.zero, weight.one, side);
  }

  /** sum over i < side of prod_j (bit j of i ? high_j : low_j). */
  function maskedProduct(low: readonly E[], high: readonly E[], side: number): E {
    const n = low.length;
    if (side === 2 ** n) return low.reduce((product, l, j) => mul(product, add(l, high[j]!)), one);
    // below[j] = product over later bits of low + high: everything under a prefix that is already smaller.
    const below = new Array<E>(n + 1).fill(one);
    for (let j = n - 1; j >= 0; j--) below[j] = mul(below[j + 1]!, add(low[j]!, high[j]!));
    let [sum, prefix] = [zero, one];
    for (let j = 0; j < n; j++) {
      if (Math.floor(side / 2 ** (n - 1 - j)) % 2 === 1) {
        sum = add(sum, mul(mul(prefix, low[j]!), below[j + 1]!));
        prefix = mul(prefix, high[j]!);
      } else prefix = mul(prefix, low[j]!);
    }
    return sum;
  }

  /**
   * Weights on the target of a view, as weights on its source.
   * @param factors cover every target axis of side > 1 exactly once.
   */
  function pushWeights(factors: readonly Factor<E>[], blocks: readonly Block[]): PushedWeights<E> {
    let coefficient = one;
    const pushed: Factor<E>[] = [];
    const seen = new Set<Block>();
    for (const start of blocks) {
      if (seen.has(start)) continue;
      seen.add(start);
      const group = [start];
      const weights = new Set<Factor<E>>();
      for (let grown = true; grown;) {
        grown = false;
        for (const factor of factors)
          if (!weights.has(factor) && group.some(({ target }) => target.some((axis) => factor.axes.includes(axis)))) {
            weights.add(factor);
            grown = true;
          }
        for (const block of blocks)
          if (
            !seen.has(block) &&
            block.target.some((axis) => [...weights].some((factor) => factor.axes.includes(axis)))
          ) {
            seen.add(block);
            group.push(block);
            grown = true;
          }
      }
      const factor = pushGroup([...weights], group);
      if (factor.axes.length === 0) coefficient = mul(coefficient, denseWeights(factor.weight, 1)[0]!);
      else pushed.push(factor);
    }
    return { coefficient, factors: pushed };
  }

  function pushGroup(factors: readonly Factor<E>[], blocks: readonly Block[]): Factor<E> {
    const [factor] = factors;
    const [block] = blocks;
    if (
      blocks.length === 1 &&
      block!.entries === null &&
      factors.length === 1 &&
      sameAxes(factor!.axes, block!.target)
    ) {
      if (factor!.weight.kind === 'dense' || block!.source.length === 1)
        return { axes: block!.source, sides: block!.sourceSides, weight: factor!.weight };
    }
    const axes = blocks.flatMap(({ source }) => source);
    const sides = blocks.flatMap(({ sourceSides }) => sourceSides);
    const target = blocks.flatMap(({ target: own }) => own);
    const targetSides = blocks.flatMap(({ targetSides: own }) => own);
    const dense = factors.map(({ axes: own, sides: ownSides, weight }) => ({
      places: own.map((axis) => target.indexOf(axis)),
      sides: ownSides,
      values: denseWeights(weight, sizeOf(ownSides)),
    }));
    const values = new Array<E>(sizeOf(sides)).fill(zero);
    const visit = (i: number, t: number, s: number, weight: E): void => {
      if (i < blocks.length) {
        const own = blocks[i]!;
        const [targets, sources] = [sizeOf(own.targetSides), sizeOf(own.sourceSides)];
        for (const entry of entriesOf(own))
          visit(i + 1, t * targets + entry.t, s * sources + entry.s, mul(weight, of(entry.weight)));
        return;
      }
      const index = unravel(t, targetSides);
      const product = dense.reduce(
        (w, own) =>
          mul(
            w,
            own.values[
              ravel(
                own.places.map((place) => index[place]!),
                own.sides,
              )
            ]!,
          ),
        weight,
      );
      values[s] = add(values[s]!, product);
    };
    visit(0, 0, 0, one);
    return { axes, sides, weight: { kind: 'dense', values } };
  }

  /** Product over the factors of their extensions at u; `bits(axis)` are the coordinates of an axis. */
  function evaluateFactors(factors: readonly Factor<E>[], bits: (axis: number) => readonly E[]): E {
    return factors.reduce((product, { axes, sides, weight }) => {
      if (axes.length === 1) return mul(product, evaluateWeight(weight, sides[0]!, bits(axes[0]!)));
      const eq = axes.map((axis, i) => denseWeights(eqWeight(bits(axis)), sides[i]!));
      const values = denseWeights(weight, sizeOf(sides));
      const sum = values.reduce((total, w, index) => {
        if (isZero(w)) return total;
        const at = unravel(index, sides);
        return add(
          total,
          at.reduce((term, i, place) => mul(term, eq[place]![i]!), w),
        );
      }, zero);
      return mul(product, sum);
    }, one);
  }

  return { eqWeight, eqFactors, denseWeights, evaluateWeight, sumWeight, pushWeights, evaluateFactors };
}

export type Functionals<E> = ReturnType<typeof functionalsOver<E>>;

export const { eqWeight, eqFactors, denseWeights, evaluateWeight, sumWeight, pushWeights, evaluateFactors } =
  functionalsOver(FR);
