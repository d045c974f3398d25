/**
 * The table space: every table of a proof, row after row in columns of 2^n cells.
 *
 * A row is (a, b) with the table's tag; a lookup of (a, b) under a tag succeeds if such a row exists. Range checks of
 * limbs are the table (v, 0) for v in [0, 2^12) with tag 1. Tables of values are committed in the model key and must
 * lie at a multiple of their padded size, largest first; the others are formulas in the row number and follow without
 * gaps, range first.
 *
 * At a point X of the space, most significant coordinate first, with
 *   LT(X, d) = sum over rows i < d of eq(X, i)     and     S(X, d) = sum over rows i < d of i eq(X, i),
 * the extensions of a clamp over rows [o, o + k), q = qLo + (row - o), are
 *   v = LT(o + k) - LT(o),   a = S(o + k) - S(o) + (qLo - o) v,
 *   b = lo (LT(o + l) - LT(o)) + [S(o + h) - S(o + l) + (qLo - o)(LT(o + h) - LT(o + l))] + hi (LT(o + k) - LT(o + h)),
 * l the number of rows with q < lo and h the number with q <= hi.
 */
import { FR, type Field } from '../field/field.js';
import { bitsOf } from './layout.js';
import { LIMB_BITS, type Table } from './types.js';

export const RANGE_TAG = 1;
const FIRST_TAG = 2;

/** A table at its place in the table space of one proof. */
export type PlacedTable = {
  readonly offset: number;
  readonly rows: number;
  readonly tag: number;
} & (
  | { readonly kind: 'range' }
  | { readonly kind: 'clamp'; readonly lo: number; readonly hi: number; readonly qLo: number }
  | { readonly kind: 'input'; readonly lo: number }
  | { readonly kind: 'values'; readonly qLo: number; readonly group: number; readonly slot: number }
);

export interface TableSpace {
  readonly tables: readonly PlacedTable[];
  readonly cells: number;
  /** Tag of table t of group g. */
  readonly tagOf: (group: number, table: number) => number;
}

const rowsOf = (table: Table): number =>
  table.kind === 'values' ? table.rows : table.kind === 'clamp' ? table.qHi - table.qLo + 1 : table.hi - table.lo + 1;

/**
 * Equal contents share one table and one tag across the groups of a joint proof, different contents never do: two
 * graphs that used one tag for two tables could each use the pairs of the other. Clamps to equal bounds are one
 * function and share its longest stretch; tables of values are committed by their own model and stay apart.
 */
export function placeTables(groups: readonly (readonly Table[])[]): TableSpace {
  interface Content {
    readonly group: number;
    table: Table;
  }
  const contents: Content[] = [];
  const byKey = new Map<string, number>();
  const indices = groups.map((tables, group) =>
    tables.map((table) => {
      const key =
        table.kind === 'values'
          ? `values ${group} ${table.slot} ${table.qLo} ${table.rows}`
          : `${table.kind} ${table.lo} ${table.hi}`;
      const index = byKey.get(key) ?? contents.push({ group, table }) - 1;
      byKey.set(key, index);
      const content = contents[index]!;
      if (content.table.kind === 'clamp' && table.kind === 'clamp')
        content.table = {
          ...content.table,
          qLo: Math.min(content.table.qLo, table.qLo),
          qHi: Math.max(content.table.qHi, table.qHi),
        };
      return index;
    }),
  );
  const tag = (index: number): number => FIRST_TAG + index;
  const placed: PlacedTable[] = [];
  let cells = 0;
  const aligned = contents
    .flatMap(({ table, group }, index) => (table.kind === 'values' ? [{ table, group, index }] : []))
    .sort((a, b) => bitsOf(b.table.rows) - bitsOf(a.table.rows) || a.index - b.index);
  for (const { table, group, index } of aligned) {
    placed.push({
      kind: 'values',
      qLo: table.qLo,
      group,
      slot: table.slot,
      offset: cells,
      rows: table.rows,
      tag: tag(index),
    });
    cells += 2 ** bitsOf(table.rows);
  }
  placed.push({ kind: 'range', offset: cells, rows: 1 << LIMB_BITS, tag: RANGE_TAG });
  cells += 1 << LIMB_BITS;
  contents.forEach(({ table }, index) => {
    if (table.kind === 'values') return;
    const rows = rowsOf(table);
    placed.push(
      table.kind === 'clamp'
        ? { kind: 'clamp', lo: table.lo, hi: table.hi, qLo: table.qLo, offset: cells, rows, tag: tag(index) }
        : { kind: 'input', lo: table.lo, offset: cells, rows, tag: tag(index) },
    );
    cells += rows;
  });
  return { tables: placed, cells, tagOf: (group, table) => tag(indices[group]![table]!) };
}

export const tableCells = (tables: readonly Table[]): number => placeTables([tables]).cells;

/** Row i of a table as integers; for a table of values b is 0, the committed column adds it. */
export function tableRow(table: PlacedTable, i: number): { a: number; b: number } {
  switch (table.kind) {
    case 'range':
      return { a: i, b: 0 };
    case 'input':
      return { a: 0, b: table.lo + i };
    case 'values':
      return { a: table.qLo + i, b: 0 };
    case 'clamp':
      return { a: table.qLo + i, b: Math.min(Math.max(table.qLo + i, table.lo), table.hi) };
  }
}

export interface TableExtensions<E = bigint> {
  readonly valid: E;
  readonly a: E;
  /** Without the committed values. */
  readonly b: E;
  readonly tag: E;
}

/** The formulas over a field. */
export function tablesOver<E>({ zero, one, of, add, mul, sub }: Field<E>) {
  /** LT(X, d) and S(X, d) for 0 <= d <= 2^|X|. */
  function prefixSums(point: readonly E[], d: number): { lt: E; s: E } {
    // Suffix sums over a whole subcube below bit j: sum of eq = 1, sum of i eq = sum of 2^k x_k.
    const n = point.length;
    const whole = new Array<E>(n + 1).fill(zero);
    for (let j = n - 1; j >= 0; j--) whole[j] = add(whole[j + 1]!, mul(of(2 ** (n - 1 - j)), point[j]!));
    if (d === 2 ** n) return { lt: one, s: whole[0]! };
    let [lt, s, prefix, base] = [zero, zero, one, 0];
    for (let j = 0; j < n; j++) {
      const x = point[j]!;
      const weight = 2 ** (n - 1 - j);
      if (Math.floor(d / weight) % 2 === 1) {
        // Rows with this bit 0 and the bits above equal to those of d.
        const here = mul(prefix, sub(one, x));
        lt = add(lt, here);
        s = add(s, mul(here, add(of(base), whole[j + 1]!)));
        prefix = mul(prefix, x);
        base += weight;
      } else prefix = mul(prefix, sub(one, x));
    }
    return { lt, s };
  }

  /** The extensions of mask, row columns and tag at a point of the table space. */
  function evaluateTables(space: TableSpace, point: readonly E[]): TableExtensions<E> {
    let [valid, a, b, tag] = [zero, zero, zero, zero];
    const cache = new Map<number, { lt: E; s: E }>();
    const prefix = (d: number): { lt: E; s: E } => {
      const known = cache.get(d) ?? prefixSums(point, d);
      cache.set(d, known);
      return known;
    };
    /** Sum over rows [from, to) of eq, and of (row - offset + first) eq. */
    const between = (from: number, to: number, shift: number): { ones: E; ramp: E } => {
      const [start, end] = [prefix(from), prefix(to)];
      const ones = sub(end.lt, start.lt);
      return { ones, ramp: add(sub(end.s, start.s), mul(of(shift), ones)) };
    };
    for (const table of space.tables) {
      const { offset, rows } = table;
      const first = table.kind === 'range' ? 0 : table.kind === 'input' ? table.lo : table.qLo;
      const all = between(offset, offset + rows, first - offset);
      valid = add(valid, all.ones);
      tag = add(tag, mul(of(table.tag), all.ones));
      if (table.kind === 'input') b = add(b, all.ramp);
      else a = add(a, all.ramp);
      if (table.kind !== 'clamp') continue;
      const clip = (count: number): number => Math.min(Math.max(count, 0), rows);
      const below = offset + clip(table.lo - table.qLo);
      const upTo = offset + clip(table.hi - table.qLo + 1);
      b = add(b, mul(of(table.lo), between(offset, below, 0).ones));
      b = add(b, between(below, upTo, table.qLo - offset).ramp);
      b = add(b, mul(of(table.hi), between(upTo, offset + rows, 0).ones));
    }
    return { valid, a, b, tag };
  }

  return { prefixSums, evaluateTables };
}

export const { prefixSums, evaluateTables } = tablesOver(FR);
