/** Masks, rows and the summand of phase L against their columns. */
import { describe, expect, it } from 'vitest';
import { witnessOf } from '../audit/audited-prover.js';
import { Draw } from '../audit/draw.js';
import { add, mul, toField } from '../field/fr.js';
import { maskColumns, tableColumns } from '../prover/witness.js';
import { randomJobs } from '../testing/many-plans.js';
import type { LookupValues } from './claims.js';
import { MAX_TAPS } from '../program/types.js';
import { denseWeights, eqWeight } from './functional.js';
import {
  bracketWeights,
  evaluateMasks,
  flattenValues,
  lookupValueCount,
  publicPart,
  unflattenValues,
  withChunk,
} from './lookup.js';

const extension = (column: ArrayLike<number>, point: readonly bigint[]): bigint =>
  denseWeights(eqWeight(point), column.length).reduce(
    (sum, w, i) => (column[i] ? add(sum, mul(w, toField(column[i]))) : sum),
    0n,
  );

describe('phase L', () => {
  it('masks, tags and rows at a point of every chunk are the extensions of the columns', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const draw = new Draw('masks', seed);
      const { plan, groups } = randomJobs(draw);
      const point = Array.from({ length: plan.lookupBits }, () => draw.field());
      const tau = Array.from({ length: plan.lookupBits }, () => draw.field());
      const masks = maskColumns(plan);
      const rows = tableColumns(plan, groups.map(witnessOf));
      const known = publicPart(plan, tau, point);
      const size = 2 ** plan.lookupBits;
      for (let c = 0; c < plan.witnessChunks; c++) {
        const slice = (column: Uint8Array | Int32Array): bigint =>
          extension(column.subarray(c * size, (c + 1) * size), point);
        expect(known.masks[c], `seed ${seed} chunk ${c}`).toEqual({
          requant: slice(masks.requant),
          looked: slice(masks.looked),
          maxima: slice(masks.maxima),
          tag: slice(masks.tag),
        });
      }
      for (let j = 0; j < plan.tableChunks; j++) {
        const slice = (column: Uint8Array | Int32Array): bigint =>
          extension(column.subarray(j * size, (j + 1) * size), point);
        expect(known.rows[j], `seed ${seed} table chunk ${j}`).toEqual({
          valid: slice(rows.valid),
          a: slice(rows.a),
          b: slice(rows.b),
          tag: slice(rows.tag),
        });
      }
      const eq = denseWeights(eqWeight(tau), size);
      expect(known.eq).toBe(denseWeights(eqWeight(point), size).reduce((sum, w, i) => add(sum, mul(w, eq[i]!)), 0n));
    }
  });

  it('masks over a point with the chunk drawn too', () => {
    for (let seed = 1; seed <= 6; seed++) {
      const draw = new Draw('chunk point', seed);
      const { plan } = randomJobs(draw);
      const bits = withChunk(plan.witnessChunks, 0, []).length;
      const point = Array.from({ length: bits + plan.lookupBits }, () => draw.field());
      const columns = maskColumns(plan);
      expect(evaluateMasks(plan, point), `seed ${seed}`).toEqual({
        requant: extension(columns.requant, point),
        looked: extension(columns.looked, point),
        maxima: extension(columns.maxima, point),
        tag: extension(columns.tag, point),
      });
    }
  });

  it('values travel in an order and come back', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const draw = new Draw('values', seed);
      const { plan } = randomJobs(draw);
      const some = (count: number): bigint[] => Array.from({ length: count }, () => draw.field());
      const [w, t] = [plan.witnessChunks, plan.tableChunks];
      const values: LookupValues = {
        y: some(w),
        r0: some(w),
        r1: some(w),
        q: some(w),
        gw: some(w),
        gx: plan.hasMaxima ? some(w) : [],
        x: plan.hasMaxima ? Array.from({ length: w }, () => some(MAX_TAPS)) : [],
        m: some(t),
        gt: some(t),
        b: plan.hasValues ? some(t) : [],
      };
      const flat = flattenValues(plan, values);
      expect(flat).toHaveLength(lookupValueCount(plan));
      expect(new Set(flat).size).toBe(flat.length);
      expect(unflattenValues(plan, flat)).toEqual(values);
    }
  });

  it('every bracket has a power of its own, and none the power 0', () => {
    const { plan } = randomJobs(new Draw('brackets', 3));
    const { witness, maxima, product, table } = bracketWeights(plan, 2n);
    const all = [...witness, ...maxima, ...product, ...table];
    expect(all).toEqual(Array.from({ length: all.length }, (_, i) => 2n ** BigInt(i + 1)));
  });
});
