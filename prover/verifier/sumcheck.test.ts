/** The two sides of a sumcheck over random multilinear polynomials. */
import { describe, expect, it } from 'vitest';
import { Draw } from '../audit/draw.js';
import { add, mul, toField } from '../field/fr.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { interpolate, proveSumcheck } from '../reference/reference-sumcheck.js';
import { KeccakTranscript } from '../transcript/transcript.js';
import { evaluateRound, verifySumcheck } from './sumcheck.js';

describe('sumcheck', () => {
  it('the end claim is the summand at the point', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const draw = new Draw('sumcheck', seed);
      const [variables, degree] = [draw.int(0, 4), draw.int(2, 6)];
      const tables = Array.from({ length: degree }, () => Array.from({ length: 2 ** variables }, () => draw.field()));
      const summand = (values: readonly bigint[]): bigint => add(values.reduce(mul, 1n), values[0]!);
      const sum = tables[0]!.reduce((total, _, i) => add(total, summand(tables.map((table) => table[i]!))), 0n);
      const proved = proveSumcheck(new KeccakTranscript(), 'test', degree, tables, summand);
      const verified = verifySumcheck(new KeccakTranscript(), 'test', sum, proved.rounds);
      expect(verified.point).toEqual(proved.point);
      const eq = denseWeights(eqWeight(proved.point), 2 ** variables);
      const ends = tables.map((table) => table.reduce((total, v, i) => add(total, mul(v, eq[i]!)), 0n));
      expect(proved.ends).toEqual(ends);
      expect(verified.claim, `seed ${seed}`).toBe(summand(ends));
      // A false claim, or one changed coefficient, ends in a false claim.
      expect(verifySumcheck(new KeccakTranscript(), 'test', add(sum, 1n), proved.rounds).claim === verified.claim).toBe(
        false,
      );
      proved.rounds.forEach((round, i) =>
        round.forEach((_, j) => {
          const rounds = proved.rounds.map((r) => [...r]);
          rounds[i]![j] = add(rounds[i]![j]!, draw.nonzero());
          const other = verifySumcheck(new KeccakTranscript(), 'test', sum, rounds);
          expect(other.point.slice(i)).not.toEqual(verified.point.slice(i));
          expect(other.point.slice(0, i)).toEqual(verified.point.slice(0, i));
        }),
      );
    }
  });

  it('a round polynomial is what its values say, and takes the claim as p(0) + p(1)', () => {
    for (let degree = 1; degree <= 6; degree++) {
      const draw = new Draw('round', degree);
      const coefficients = Array.from({ length: degree + 1 }, () => draw.field());
      const at = (x: bigint): bigint => coefficients.reduceRight((v, c) => add(mul(v, x), c), 0n);
      expect(interpolate(Array.from({ length: degree + 1 }, (_, i) => at(toField(i))))).toEqual(coefficients);
      const [constant, , ...higher] = coefficients;
      const r = draw.field();
      expect(evaluateRound([constant!, ...higher], add(at(0n), at(1n)), r)).toBe(at(r));
    }
  });
});
