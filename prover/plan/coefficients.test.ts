/** Functionals in short form against the same written out cell by cell, and operands against their tables. */
import { describe, expect, it } from 'vitest';
import { publishedOf, witnessOf } from '../audit/audited-prover.js';
import { Draw } from '../audit/draw.js';
import { add, mul, toField } from '../field/fr.js';
import { buildWitness, modelColumns } from '../prover/witness.js';
import { expandFunctional } from '../reference/expand-functional.js';
import { operandTable, sharedTable } from '../reference/product-tables.js';
import { randomJobs } from '../testing/many-plans.js';
import { productShape } from '../verifier/product-shape.js';
import { collectClaims, operandClaim, outputPointBits, sharedWeightAt, wordPointBits, type Claims } from './claims.js';
import { columnCoefficients } from './coefficients.js';
import { denseWeights, eqWeight } from './functional.js';
import { packInput } from './inputs.js';
import { lookupValueCount, unflattenValues } from './lookup.js';
import { chunkBits, chunksInOrder, columnsOf, type Plan } from './plan.js';

type Job = ReturnType<typeof randomJobs>;

const some = (draw: Draw, count: number): bigint[] => Array.from({ length: count }, () => draw.field());

function randomClaims({ plan, groups }: Job, draw: Draw): Claims {
  const inside = some(draw, plan.lookupBits);
  return collectClaims(
    plan,
    {
      witness: [...some(draw, chunkBits(plan.witnessChunks)), ...inside],
      table: [...some(draw, chunkBits(plan.tableChunks)), ...inside],
      output: some(draw, outputPointBits(plan)),
      word: some(draw, wordPointBits(plan)),
      lambda: draw.field(),
    },
    unflattenValues(plan, some(draw, lookupValueCount(plan))),
    {
      words: groups.map(({ built: { program }, items, inputs }) =>
        program.inputs.map((input, i) => packInput(program, input, items, inputs[i]!)),
      ),
      outputs: groups.map(publishedOf),
    },
  );
}

/** Weights of all columns, written out. */
function expanded(plan: Plan, functionals: Claims['direct']): bigint[][] {
  const chunks = new Map(chunksInOrder(plan).map((own) => [`${own.family} ${own.group} ${own.chunk}`, own]));
  const weights = columnsOf(plan).map(() => new Array<bigint>(2 ** plan.n).fill(0n));
  for (const functional of functionals)
    expandFunctional(plan, functional, (chunk, cell, weight) => {
      const { column, offset } = chunks.get(chunk)!;
      const own = weights[column]!;
      own[offset + cell] = add(own[offset + cell]!, weight);
    });
  return weights;
}

describe('coefficients of the opening', () => {
  it('are the extensions of the weights, column by column', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const draw = new Draw('coefficients', seed);
      const job = randomJobs(draw);
      const { plan } = job;
      const claims = randomClaims(job, draw);
      const { count, variables, degree } = productShape(plan);
      expect(count).toBe(claims.products.length);
      expect(variables).toBe(Math.max(0, ...claims.products.map((term) => term.variables)));
      // A shared label or item index has a weight of its own inside the sum.
      const weighted = claims.products.some((term) => term.sharesBatch || term.weights.shared.length > 0);
      expect(degree).toBe(weighted ? 3 : 2);
      const entries = [
        { scale: draw.field(), functionals: claims.direct },
        ...claims.products.flatMap((term) =>
          (['p', 'q'] as const).map((side) => ({
            scale: draw.field(),
            functionals: operandClaim(plan, term, side, some(draw, term.variables)).functionals,
          })),
        ),
      ];
      const u = some(draw, plan.n);
      const eq = denseWeights(eqWeight(u), 2 ** plan.n);
      const slow = columnsOf(plan).map(() => 0n);
      for (const { scale, functionals } of entries)
        expanded(plan, functionals).forEach((weights, c) => {
          const value = weights.reduce((sum, w, i) => (w === 0n ? sum : add(sum, mul(w, eq[i]!))), 0n);
          slow[c] = add(slow[c]!, mul(scale, value));
        });
      expect(columnCoefficients(plan, entries, u), `seed ${seed}`).toEqual(slow);
    }
  });

  it('operands at a random point are the extensions of their tables, and the shared weight of its own', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const draw = new Draw('operands', seed);
      const job = randomJobs(draw);
      const { plan } = job;
      const witnesses = job.groups.map(witnessOf);
      const witness = buildWitness(plan, witnesses);
      const size = 2 ** plan.lookupBits;
      const chunkOf = (values: ArrayLike<number>, at: number, length: number): bigint[] =>
        Array.from({ length }, (_, i) => toField(values[at + i]!));
      const columns = columnsOf(plan).map(({ cells }) => new Array<bigint>(cells).fill(0n));
      for (const { family, group, chunk, column, offset } of chunksInOrder(plan)) {
        const put = (values: readonly bigint[]): void => {
          values.forEach((value, i) => (columns[column]![offset + i] = value));
        };
        if (family === 'y') put(chunkOf(witness.y, chunk * size, size));
        if (family !== 'model') continue;
        const { built } = job.groups[group]!;
        const own = 2 ** built.program.modelBits;
        put(chunkOf(modelColumns(built), chunk * own, own));
      }
      for (const term of randomClaims(job, draw).products) {
        const rho = some(draw, term.variables);
        const eq = denseWeights(eqWeight(rho), 2 ** term.variables);
        const at = (table: readonly bigint[]): bigint => table.reduce((sum, v, i) => add(sum, mul(v, eq[i]!)), 0n);
        expect(sharedWeightAt(plan, term, rho), `seed ${seed}`).toBe(at(sharedTable(plan, term)));
        for (const side of ['p', 'q'] as const) {
          const { functionals, constant } = operandClaim(plan, term, side, rho);
          const value = expanded(plan, functionals).reduce(
            (sum, weights, c) =>
              columns[c]!.reduce((s, v, i) => (weights[i] === 0n ? s : add(s, mul(weights[i]!, v))), sum),
            constant,
          );
          expect(value, `seed ${seed} operand ${side}`).toBe(at(operandTable(plan, witnesses, term, side, witness.y)));
        }
      }
    }
  });
});
