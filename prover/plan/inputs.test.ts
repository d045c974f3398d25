/** Packed words against a loop over cells, and their weights against the words. */
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../graph/tensor.js';
import { Draw } from '../audit/draw.js';
import { add, mul, sub, toField } from '../field/fr.js';
import { unravel } from '../program/blocks.js';
import { bitsOf, bitsOfAxes, cellsOfItem } from '../program/layout.js';
import type { Program } from '../program/types.js';
import { denseWeights, eqWeight, evaluateFactors, evaluateWeight } from './functional.js';
import { evaluateWords, lowestOf, packedWeights, packInput, wordBits, wordIndexBits } from './inputs.js';

const programOf = (axes: readonly number[], lo: number, hi: number): Program => ({
  witness: [{ name: 'x', axes }],
  model: [],
  tables: [{ kind: 'input', lo, hi }],
  inputs: [{ slot: 0, table: 0, cellBits: hi - lo < 256 ? 8 : 16 }],
  requants: [],
  maxima: [],
  outputs: [],
  modelBits: 8,
});

function* cases(): Generator<{ label: string; program: Program; items: number; draw: Draw }> {
  for (let seed = 1; seed <= 30; seed++) {
    const draw = new Draw('inputs', seed);
    const axes = Array.from({ length: draw.int(0, 3) }, () => draw.int(1, 6));
    const lo = draw.int(-200, 5);
    const program = programOf(axes, lo, lo + draw.pick([0, 1, 255, 256, 65535]));
    yield { label: `seed ${seed}: [${axes.join(', ')}]`, program, items: draw.int(1, 5), draw };
  }
}

describe('packed inputs', () => {
  it('words are the digits of x - lo in the slot, padding 0, and only words with a valid cell stand there', () => {
    for (const { label, program, items, draw } of cases()) {
      const [input] = program.inputs;
      const { axes } = program.witness[0]!;
      const { lo, hi } = program.tables[0] as { lo: number; hi: number };
      const size = sizeOf(axes);
      const values = draw.values(items * size, lo, hi);
      const perWord = 2 ** wordBits(program, input!);
      expect(perWord * input!.cellBits).toBeLessThanOrEqual(128);
      const packed = packInput(program, input!, items, values);
      expect(packed, label).toHaveLength(items);
      packed.forEach((words, b) => {
        const cells = new Array<number | null>(2 ** bitsOfAxes(axes)).fill(null);
        for (let i = 0; i < size; i++) {
          const cell = unravel(i, axes).reduce((at, index, axis) => at * 2 ** bitsOf(axes[axis]!) + index, 0);
          cells[cell] = values[b * size + i]! - lo;
        }
        const slow: [number, bigint][] = [];
        for (let w = 0; w * perWord < cells.length; w++) {
          const own = cells.slice(w * perWord, (w + 1) * perWord);
          if (own.every((v) => v === null)) continue;
          slow.push([w, own.reduce((sum, v) => (sum << BigInt(input!.cellBits)) + BigInt(v ?? 0), 0n)]);
        }
        expect(words, label).toEqual(slow);
        for (const [, word] of words) expect(word < 1n << 128n).toBe(true);
      });
    }
  });

  it('the weights give the words at a random point, on valid cells of real items alone', () => {
    for (const { label, program, items, draw } of cases()) {
      const [input] = program.inputs;
      const { axes } = program.witness[0]!;
      const { lo, hi } = program.tables[0] as { lo: number; hi: number };
      const size = sizeOf(axes);
      const values = draw.values(items * size, lo, hi);
      const batchBits = bitsOf(items);
      const point = Array.from({ length: wordIndexBits(program, input!, batchBits) + 2 }, () => draw.field());
      const { batch, factors } = packedWeights(program, input!, batchBits, point);
      const cells = cellsOfItem(axes);
      const alongBatch = denseWeights(batch, items);
      const along = axes.map((side, axis) => {
        const factor = factors.find(({ axes: own }) => own[0] === axis);
        return factor ? denseWeights(factor.weight, side) : [1n];
      });
      let slow = 0n;
      for (let b = 0; b < items; b++)
        for (let i = 0; i < size; i++) {
          const weight = unravel(i, axes).reduce((p, index, axis) => mul(p, along[axis]![index]!), alongBatch[b]!);
          slow = add(slow, mul(weight, sub(toField(values[b * size + i]!), lowestOf(program, input!))));
        }
      const words = packInput(program, input!, items, values);
      expect(evaluateWords(program, input!, batchBits, words, point), label).toBe(slow);
      expect(cells).toHaveLength(size);

      // The extension at u is the sum over valid cells: no weight anywhere else.
      const u = axes.map((side) => Array.from({ length: bitsOf(side) }, () => draw.field()));
      const ub = Array.from({ length: batchBits }, () => draw.field());
      const eqs = axes.map((side, axis) => denseWeights(eqWeight(u[axis]!), side));
      const eqBatch = denseWeights(eqWeight(ub), items);
      let extension = 0n;
      for (let b = 0; b < items; b++)
        for (let i = 0; i < size; i++)
          extension = add(
            extension,
            unravel(i, axes).reduce(
              (p, index, axis) => mul(p, mul(along[axis]![index]!, eqs[axis]![index]!)),
              mul(alongBatch[b]!, eqBatch[b]!),
            ),
          );
      expect(
        mul(
          evaluateWeight(batch, items, ub),
          evaluateFactors(factors, (axis) => u[axis]!),
        ),
        label,
      ).toBe(extension);
    }
  });
});
