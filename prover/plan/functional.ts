/**
 * Functionals: the weights under which a proof speaks about committed tensors.
 *
 * A claim about a tensor T is sum_x A(x) T(x) = v. A is a product over groups of axes (*factors*), zero on every padded
 * index, so that no claim can depend on a padding cell. An axis weight is either a product over index bits (eq weights
 * and the byte weights of packed inputs) or a dense list. Claims about views become claims about slots by pushing the
 * weights through the view's blocks: A_S(s) = sum_t A_V(t) m(t, s).
 */
import { add, mul, sub, toField } from '../field/fr.js';
import { entriesOf, ravel, unravel, type Block } from '../program/blocks.js';
import { bitsOf } from '../program/layout.js';
import { sizeOf } from '../../graph/tensor.js';

export type AxisWeight =
  /** weight(i) = product over bits, most significant first, of (bit ? one : zero). */
  | { readonly kind: 'bits'; readonly zero: readonly bigint[]; readonly one: readonly bigint[] }
  /** weight(i) = values[i]; as many as the factor has indices. */
  | { readonly kind: 'dense'; readonly values: readonly bigint[] };

/** Weight over the combined row-major index of some axes; 'bits' only over a single axis. */
export interface Factor {
  readonly axes: readonly number[];
  readonly sides: readonly number[];
  readonly weight: AxisWeight;
}

/** eq(point, .). */
export const eqWeight = (point: readonly bigint[]): AxisWeight => ({
  kind: 'bits',
  zero: point.map((x) => sub(1n, x)),
  one: point,
});

/** One eq factor per axis; `coordinates` holds the bits of all axes, in order. */
export function eqFactors(sides: readonly number[], coordinates: readonly bigint[]): Factor[] {
  let at = 0;
  return sides.flatMap((side, axis): Factor[] => {
    const bits = bitsOf(side);
    const point = coordinates.slice(at, (at += bits));
    return side === 1 ? [] : [{ axes: [axis], sides: [side], weight: eqWeight(point) }];
  });
}

/** The weights of indices 0 .. side - 1, written out. */
export function denseWeights(weight: AxisWeight, side: number): readonly bigint[] {
  if (weight.kind === 'dense') return weight.values;
  let values = [1n];
  weight.zero.forEach((zero, j) => {
    const one = weight.one[j]!;
    values = values.flatMap((v) => [mul(v, zero), mul(v, one)]);
  });
  return values.slice(0, side);
}

/**
 * sum over i < side of weight(i) eq(u, i): the extension of a masked axis weight at u. For a product over bits it takes
 * a few multiplications per bit; leaving the mask out, or multiplying it as a separate extension, would be another
 * polynomial and unsound.
 */
export function evaluateWeight(weight: AxisWeight, side: number, u: readonly bigint[]): bigint {
  if (weight.kind === 'dense') {
    const eq = denseWeights(eqWeight(u), side);
    return weight.values.reduce((sum, w, i) => (w === 0n ? sum : add(sum, mul(w, eq[i]!))), 0n);
  }
  return maskedProduct(
    weight.zero.map((zero, j) => mul(zero, sub(1n, u[j]!))),
    weight.one.map((one, j) => mul(one, u[j]!)),
    side,
  );
}

/** sum over i < side of weight(i). */
export function sumWeight(weight: AxisWeight, side: number): bigint {
  return weight.kind === 'dense' ? weight.values.reduce(add, 0n) : maskedProduct(weight.zero, weight.one, side);
}

/** sum over i < side of prod_j (bit j of i ? one_j : zero_j). */
function maskedProduct(zero: readonly bigint[], one: readonly bigint[], side: number): bigint {
  const n = zero.length;
  if (side === 2 ** n) return zero.reduce((product, z, j) => mul(product, add(z, one[j]!)), 1n);
  // below[j] = product over later bits of zero + one: everything under a prefix that is already smaller.
  const below = new Array<bigint>(n + 1).fill(1n);
  for (let j = n - 1; j >= 0; j--) below[j] = mul(below[j + 1]!, add(zero[j]!, one[j]!));
  let [sum, prefix] = [0n, 1n];
  for (let j = 0; j < n; j++) {
    if (Math.floor(side / 2 ** (n - 1 - j)) % 2 === 1) {
      sum = add(sum, mul(mul(prefix, zero[j]!), below[j + 1]!));
      prefix = mul(prefix, one[j]!);
    } else prefix = mul(prefix, zero[j]!);
  }
  return sum;
}

export interface PushedWeights {
  readonly coefficient: bigint;
  readonly factors: readonly Factor[];
}

/**
 * Weights on the target of a view, as weights on its source.
 * @param factors cover every target axis of side > 1 exactly once.
 */
export function pushWeights(factors: readonly Factor[], blocks: readonly Block[]): PushedWeights {
  let coefficient = 1n;
  const pushed: Factor[] = [];
  const seen = new Set<Block>();
  for (const start of blocks) {
    if (seen.has(start)) continue;
    seen.add(start);
    const group = [start];
    const weights = new Set<Factor>();
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

function pushGroup(factors: readonly Factor[], blocks: readonly Block[]): Factor {
  const [factor] = factors;
  const [block] = blocks;
  if (blocks.length === 1 && block!.entries === null && factors.length === 1 && sameAxes(factor!.axes, block!.target)) {
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
  const values = new Array<bigint>(sizeOf(sides)).fill(0n);
  const visit = (i: number, t: number, s: number, weight: bigint): void => {
    if (i < blocks.length) {
      const own = blocks[i]!;
      const [targets, sources] = [sizeOf(own.targetSides), sizeOf(own.sourceSides)];
      for (const entry of entriesOf(own))
        visit(i + 1, t * targets + entry.t, s * sources + entry.s, mul(weight, toField(entry.weight)));
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
  visit(0, 0, 0, 1n);
  return { axes, sides, weight: { kind: 'dense', values } };
}

const sameAxes = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((axis, i) => axis === b[i]);

/** Product over the factors of their extensions at u; `bits(axis)` are the coordinates of an axis. */
export function evaluateFactors(factors: readonly Factor[], bits: (axis: number) => readonly bigint[]): bigint {
  return factors.reduce((product, { axes, sides, weight }) => {
    if (axes.length === 1) return mul(product, evaluateWeight(weight, sides[0]!, bits(axes[0]!)));
    const eq = axes.map((axis, i) => denseWeights(eqWeight(bits(axis)), sides[i]!));
    const values = denseWeights(weight, sizeOf(sides));
    const sum = values.reduce((total, w, index) => {
      if (w === 0n) return total;
      const at = unravel(index, sides);
      return add(
        total,
        at.reduce((term, i, place) => mul(term, eq[place]![i]!), w),
      );
    }, 0n);
    return mul(product, sum);
  }, 1n);
}
