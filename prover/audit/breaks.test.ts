/**
 * Three breaks that the review of the protocol found in its text, against the code as it is and against the code with
 * the slip put back: each attack is accepted with the slip, so that the test would notice it.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as Functional from '../plan/functional.js';
import type * as Inputs from '../plan/inputs.js';
import type * as ProductTables from '../reference/product-tables.js';
import type * as Tables from '../program/tables.js';
import type * as Attacks from './testing/break-attacks.js';

const SEEDS = [1, 2, 3];

/** The attacks over modules loaded afresh, with the mocks that stand. */
const attacks = (): Promise<typeof Attacks> => {
  vi.resetModules();
  return import('./testing/break-attacks.js');
};

const padded = (side: number): number => 2 ** Math.ceil(Math.log2(side));

async function expectAll(attack: (seed: number) => Promise<string | null>, verdict: string | null): Promise<void> {
  for (const seed of SEEDS) expect(await attack(seed), `seed ${seed}`).toBe(verdict);
}

afterEach(() => {
  for (const module of [
    '../plan/functional.js',
    '../plan/inputs.js',
    '../reference/product-tables.js',
    '../program/tables.js',
  ])
    vi.doUnmock(module);
});

describe('a padding cell read through a contracted axis', () => {
  it('is refused', async () => expectAll((await attacks()).readThroughContraction, 'PROOF_INVALID'));

  it('would be accepted if axes were read without their mask', async () => {
    vi.doMock('../plan/functional.js', async (original) => {
      const real = await original<typeof Functional>();
      const functionalsOver: typeof real.functionalsOver = (field) => {
        const formulas = real.functionalsOver(field);
        const pushWeights: typeof formulas.pushWeights = (factors, blocks) => {
          const pushed = formulas.pushWeights(factors, blocks);
          return {
            ...pushed,
            factors: pushed.factors.map((factor) =>
              factor.weight.kind === 'bits' ? { ...factor, sides: factor.sides.map(padded) } : factor,
            ),
          };
        };
        return { ...formulas, pushWeights };
      };
      return { ...real, functionalsOver };
    });
    // What the prover then sums: the operand at every corner, as its functional says.
    vi.doMock('../reference/product-tables.js', async (original) => {
      const real = await original<typeof ProductTables>();
      const { operandClaim } = await import('../plan/claims.js');
      const { expandFunctional } = await import('../reference/expand-functional.js');
      const { add, mul, toField } = await import('../field/fr.js');
      const operandTable: typeof real.operandTable = (plan, _groups, term, side, y) =>
        Array.from({ length: 2 ** term.variables }, (_, corner) => {
          const rho = Array.from({ length: term.variables }, (_unused, j) =>
            BigInt((corner >> (term.variables - 1 - j)) & 1),
          );
          let sum = 0n;
          for (const functional of operandClaim(plan, term, side, rho).functionals)
            expandFunctional(plan, functional, (column, cell, weight) => {
              const chunk = Number(column.split(' ')[2]);
              sum = add(sum, mul(weight, toField(y[chunk * 2 ** plan.lookupBits + cell]!)));
            });
          return sum;
        });
      return { ...real, operandTable };
    });
    await expectAll((await attacks()).readThroughContraction, null);
  });
});

describe('words of another input completed by padding cells', () => {
  it('are refused', async () => expectAll((await attacks()).completeByPadding, 'PROOF_INVALID'));

  it('would be accepted if the weights of words had no mask', async () => {
    vi.doMock('../plan/inputs.js', async (original) => {
      const real = await original<typeof Inputs>();
      const inputsOver: typeof real.inputsOver = (field) => {
        const formulas = real.inputsOver(field);
        const packedWeights: typeof formulas.packedWeights = (...args) => {
          const { batch, factors } = formulas.packedWeights(...args);
          return { batch, factors: factors.map((factor) => ({ ...factor, sides: factor.sides.map(padded) })) };
        };
        return { ...formulas, packedWeights };
      };
      return { ...real, inputsOver };
    });
    await expectAll((await attacks()).completeByPadding, null);
  });
});

describe("a pair of another graph's table in a joint proof", () => {
  it('is refused', async () => expectAll((await attacks()).borrowPair, 'PROOF_INVALID'));

  it('would be accepted if graphs numbered their tables each for itself', async () => {
    vi.doMock('../program/tables.js', async (original) => {
      const real = await original<typeof Tables>();
      const placeTables: typeof real.placeTables = (groups) => {
        const space = real.placeTables(groups);
        const own = new Map<number, number>();
        groups.forEach((tables, g) => tables.forEach((_, t) => own.set(space.tagOf(g, t), 2 + t)));
        return {
          ...space,
          tables: space.tables.map((table) => ({ ...table, tag: own.get(table.tag) ?? table.tag })),
          tagOf: (_, table) => 2 + table,
        };
      };
      return { ...real, placeTables };
    });
    await expectAll((await attacks()).borrowPair, null);
  });
});
