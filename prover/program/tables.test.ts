/** Table extensions in closed form against the rows, one by one. */
import { describe, expect, it } from 'vitest';
import { Draw } from '../audit/draw.js';
import { add, mul, toField } from '../field/fr.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { bitsOf } from './layout.js';
import { evaluateTables, placeTables, prefixSums, RANGE_TAG, tableCells, tableRow } from './tables.js';
import type { Table } from './types.js';

const points = (draw: Draw, bits: number): bigint[] => Array.from({ length: bits }, () => draw.field());

function randomTables(draw: Draw): Table[] {
  return Array.from({ length: draw.int(1, 5) }, (_, slot): Table => {
    const qLo = draw.int(-40, 10);
    switch (draw.pick(['clamp', 'values', 'input'] as const)) {
      case 'clamp': {
        const lo = draw.int(-60, 20);
        return { kind: 'clamp', lo, hi: lo + draw.int(0, 90), qLo, qHi: qLo + draw.int(0, 70) };
      }
      case 'values':
        return { kind: 'values', qLo, rows: draw.int(1, 70), slot };
      case 'input':
        return { kind: 'input', lo: qLo, hi: qLo + draw.int(0, 255) };
    }
  });
}

describe('the table space', () => {
  it('prefix sums equal the sums', () => {
    for (let bits = 0; bits <= 5; bits++) {
      const point = points(new Draw('prefix', bits), bits);
      const eq = denseWeights(eqWeight(point), 2 ** bits);
      for (let d = 0; d <= 2 ** bits; d++)
        expect(prefixSums(point, d), `d ${d} of 2^${bits}`).toEqual({
          lt: eq.slice(0, d).reduce(add, 0n),
          s: eq.slice(0, d).reduce((sum, w, i) => add(sum, mul(w, toField(i))), 0n),
        });
    }
  });

  it('mask, rows and tags equal the rows written out, in every chunk', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const draw = new Draw('tables', seed);
      const space = placeTables([randomTables(draw), randomTables(draw)]);
      const bits = bitsOf(space.cells) + draw.int(0, 1);
      const point = points(draw, bits);
      const chunkBits = draw.int(0, 3);
      const chunk = draw.int(0, 2 ** chunkBits - 1);
      for (let j = 0; j < chunkBits; j++) point[j] = BigInt((chunk >> (chunkBits - 1 - j)) & 1);
      const eq = denseWeights(eqWeight(point), 2 ** bits);
      const slow = { valid: 0n, a: 0n, b: 0n, tag: 0n };
      for (const table of space.tables)
        for (let i = 0; i < table.rows; i++) {
          const w = eq[table.offset + i]!;
          const row = tableRow(table, i);
          slow.valid = add(slow.valid, w);
          slow.a = add(slow.a, mul(w, toField(row.a)));
          slow.b = add(slow.b, mul(w, toField(row.b)));
          slow.tag = add(slow.tag, mul(w, BigInt(table.tag)));
        }
      expect(evaluateTables(space, point), `seed ${seed}`).toEqual(slow);
    }
  });

  it('places no two rows on one cell, aligned where committed, and keeps tag 0 for nothing', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const draw = new Draw('placement', seed);
      const space = placeTables([randomTables(draw), randomTables(draw), randomTables(draw)]);
      const used = new Set<number>();
      for (const { kind, offset, rows, tag } of space.tables) {
        const padded = kind === 'values' ? 2 ** bitsOf(rows) : rows;
        if (kind === 'values') expect(offset % padded).toBe(0);
        for (let i = 0; i < padded; i++) {
          expect(used.has(offset + i)).toBe(false);
          used.add(offset + i);
        }
        expect(tag).toBeGreaterThan(0);
        expect(tag === RANGE_TAG).toBe(kind === 'range');
      }
      expect(Math.max(...used) + 1).toBe(space.cells);
      expect(new Set(space.tables.map(({ tag }) => tag)).size).toBe(space.tables.length);
    }
  });

  it('shares a tag between graphs exactly where the function is the same', () => {
    const clamp = (lo: number, qLo: number): Table => ({ kind: 'clamp', lo, hi: 7, qLo, qHi: 20 });
    const values: Table = { kind: 'values', qLo: 0, rows: 9, slot: 0 };
    const input: Table = { kind: 'input', lo: 0, hi: 7 };
    const { tagOf, tables } = placeTables([
      [clamp(0, -5), values, input],
      [values, clamp(0, -50), clamp(-1, -50), input],
    ]);
    expect(tagOf(0, 0)).toBe(tagOf(1, 1));
    expect(tagOf(0, 2)).toBe(tagOf(1, 3));
    const tags = [tagOf(0, 0), tagOf(0, 1), tagOf(0, 2), tagOf(1, 0), tagOf(1, 2), RANGE_TAG];
    expect(new Set(tags).size).toBe(6);
    expect(tables.find(({ tag }) => tag === tagOf(0, 0))).toMatchObject({ qLo: -50, rows: 71 });
    expect(tableCells([])).toBe(4096);
  });
});
