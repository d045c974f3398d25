/** Weights in short form against weights written out. */
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../graph/tensor.js';
import { Draw } from '../audit/draw.js';
import { add, mul, toField } from '../field/fr.js';
import { ravel, unravel } from '../program/blocks.js';
import { bitsOf } from '../program/layout.js';
import { denseMatrix, randomView } from '../testing/random-views.js';
import {
  denseWeights,
  eqFactors,
  eqWeight,
  evaluateFactors,
  evaluateWeight,
  pushWeights,
  sumWeight,
  type AxisWeight,
  type Factor,
} from './functional.js';

const points = (draw: Draw, count: number): bigint[] => Array.from({ length: count }, () => draw.field());

/** Weight of every index of a space: product over the factors; axes of side 1 have one index. */
function written(factors: readonly Factor[], sides: readonly number[]): bigint[] {
  const dense = factors.map(({ sides: own, weight }) => denseWeights(weight, sizeOf(own)));
  return Array.from({ length: sizeOf(sides) }, (_, i) => {
    const index = unravel(i, sides);
    return factors.reduce(
      (product, { axes, sides: own }, f) =>
        mul(
          product,
          dense[f]![
            ravel(
              axes.map((axis) => index[axis]!),
              own,
            )
          ]!,
        ),
      1n,
    );
  });
}

describe('axis weights', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('of side %i: extension and sum are those of the valid indices alone', (side) => {
    const draw = new Draw('weights', side);
    const bits = bitsOf(side);
    const u = points(draw, bits);
    const eq = denseWeights(eqWeight(u), side);
    expect(eq).toHaveLength(side);
    const weights: AxisWeight[] = [
      eqWeight(points(draw, bits)),
      { kind: 'bits', zero: points(draw, bits), one: points(draw, bits) },
      { kind: 'dense', values: points(draw, side) },
    ];
    for (const weight of weights) {
      const dense = denseWeights(weight, side);
      expect(dense).toHaveLength(side);
      expect(evaluateWeight(weight, side, u)).toBe(dense.reduce((sum, w, i) => add(sum, mul(w, eq[i]!)), 0n));
      expect(sumWeight(weight, side)).toBe(dense.reduce(add, 0n));
    }
  });

  it('eq is 1 at its point and 0 at the other corners', () => {
    for (let i = 0; i < 8; i++) {
      const corner = [2, 1, 0].map((j) => BigInt((i >> j) & 1));
      expect(denseWeights(eqWeight(corner), 8)).toEqual(Array.from({ length: 8 }, (_, j) => (i === j ? 1n : 0n)));
    }
  });
});

describe('weights over several axes', () => {
  it('pushed through a view are those of the transposed matrix', () => {
    for (let seed = 1; seed <= 150; seed++) {
      const draw = new Draw('push', seed);
      const view = randomView(
        draw,
        Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 4)),
      );
      const coordinates = points(
        draw,
        view.target.reduce((sum, side) => sum + bitsOf(side), 0),
      );
      const factors = eqFactors(view.target, coordinates);
      const weights = written(factors, view.target);
      const matrix = denseMatrix(view);
      const pushed = pushWeights(factors, view.blocks);
      expect(pushed.factors.flatMap(({ axes }) => axes).sort()).toEqual(
        view.source.flatMap((side, axis) => (side > 1 ? [axis] : [])),
      );
      const found = written(pushed.factors, view.source).map((w) => mul(w, pushed.coefficient));
      const expected = found.map((_, s) =>
        weights.reduce((sum, w, t) => add(sum, mul(w, toField(matrix[t]![s]!))), 0n),
      );
      expect(found, `seed ${seed}`).toEqual(expected);
    }
  });

  it('pushed twice are pushed through the composition', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const draw = new Draw('push twice', seed);
      const inner = randomView(
        draw,
        Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 4)),
      );
      const outer = randomView(draw, inner.target);
      const factors = eqFactors(
        outer.target,
        points(
          draw,
          outer.target.reduce((sum, side) => sum + bitsOf(side), 0),
        ),
      );
      const weights = written(factors, outer.target);
      const once = pushWeights(factors, outer.blocks);
      const twice = pushWeights(once.factors, inner.blocks);
      const [a, b] = [denseMatrix(outer), denseMatrix(inner)];
      const middle = Array.from({ length: sizeOf(inner.target) }, (_, m) =>
        weights.reduce((sum, w, t) => add(sum, mul(w, toField(a[t]![m]!))), 0n),
      );
      const expected = Array.from({ length: sizeOf(inner.source) }, (_, s) =>
        middle.reduce((sum, w, m) => add(sum, mul(w, toField(b[m]![s]!))), 0n),
      );
      const scale = mul(once.coefficient, twice.coefficient);
      expect(
        written(twice.factors, inner.source).map((w) => mul(w, scale)),
        `seed ${seed}`,
      ).toEqual(expected);
    }
  });

  it('their extension is the sum over the valid cells', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const draw = new Draw('extension', seed);
      const view = randomView(
        draw,
        Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 9)),
      );
      const factors = pushWeights(
        eqFactors(
          view.target,
          points(
            draw,
            view.target.reduce((sum, side) => sum + bitsOf(side), 0),
          ),
        ),
        view.blocks,
      ).factors;
      const u = view.source.map((side) => points(draw, bitsOf(side)));
      const eq = view.source.map((side, axis) => denseWeights(eqWeight(u[axis]!), side));
      const slow = written(factors, view.source).reduce(
        (sum, w, i) =>
          add(
            sum,
            unravel(i, view.source).reduce((p, at, axis) => mul(p, eq[axis]![at]!), w),
          ),
        0n,
      );
      expect(
        evaluateFactors(factors, (axis) => u[axis]!),
        `seed ${seed}`,
      ).toBe(slow);
    }
  });
});
