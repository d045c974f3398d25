import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MULTIPLIER_LIMIT, QUOTIENT_HI, QUOTIENT_LO } from '../integer/types.js';
import { functionBounds, planRequant, quotient, type Requant, type RequantSource } from './requant-table.js';
import { applyUnary, clip, general, IDENTITY, type UnaryFunction } from './unary-function.js';

/** What the requantisation makes of an accumulator of one channel. */
function apply({ multipliers, table }: Requant, accumulator: number, channel: number): number {
  const q = quotient(accumulator, multipliers[multipliers.length === 1 ? 0 : channel]!);
  if (q < table.qLo || q > table.qHi) throw new Error(`q = ${q} outside ${table.qLo}..${table.qHi}`);
  return table.kind === 'clamp' ? Math.min(Math.max(q, table.lo), table.hi) : table.values[q - table.qLo]!;
}

const FUNCTIONS: readonly UnaryFunction[] = [
  IDENTITY,
  clip(0, Infinity, 'Relu'),
  clip(-1, 6, 'Clip'),
  general('Tanh', Math.tanh),
  general('Sigmoid', (x) => 1 / (1 + Math.exp(-x))),
  general('Square', (x) => x * x),
];

test('near the real function over the proved range, for any scales; q never leaves the table', () => {
  const channel = fc.record({
    lo: fc.integer({ min: -(2 ** 23), max: 0 }),
    hi: fc.integer({ min: 1, max: 2 ** 23 }),
    scale: fc.double({ min: 2 ** -22, max: 2 ** -18, noNaN: true }),
  });
  fc.assert(
    fc.property(
      fc.array(channel, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...FUNCTIONS),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (channels, fn, share) => {
        const source: RequantSource = {
          ranges: channels,
          scales: Float64Array.from(channels, ({ scale }) => scale),
          seen: null,
        };
        const target = { scale: 6 / 127, lo: -128, hi: 127, fixed: false };
        const requant = planRequant(source, fn, target);
        for (const m of requant.multipliers) expect(m >= 1 && m < MULTIPLIER_LIMIT).toBe(true);
        expect(requant.table.qLo).toBeGreaterThanOrEqual(QUOTIENT_LO);
        expect(requant.table.qHi).toBeLessThan(QUOTIENT_HI);
        channels.forEach(({ lo, hi, scale }, c) => {
          for (const accumulator of [lo, hi, 0, Math.round(lo + share * (hi - lo))]) {
            const real = Math.min(Math.max(applyUnary(fn, accumulator * scale) / requant.scale, -128), 127);
            // The steepest function here, x^2 up to where it is clamped, moves by 5 units per 1,024th of its interval.
            expect(Math.abs(apply(requant, accumulator, c) - real)).toBeLessThan(fn.label === 'Square' ? 40 : 1.5);
          }
        });
      },
    ),
    { numRuns: 300 },
  );
});

describe('special cases', () => {
  const source = (lo: number, hi: number, scale: number): RequantSource => ({
    ranges: [{ lo, hi }],
    scales: Float64Array.of(scale),
    seen: null,
  });

  test('a stored tensor is looked up as it stands', () => {
    const { multipliers, table } = planRequant(source(-128, 127, 0.1), general('Exp', Math.exp), {
      scale: 1,
      lo: 0,
      hi: 255,
      fixed: false,
    });
    expect(multipliers).toEqual(Int32Array.of(2 ** 24));
    expect([table.qLo, table.qHi]).toEqual([-128, 127]);
    expect(table.kind === 'values' && table.values[128]).toBe(1);
  });

  test('a proved range that does not fit makes the scale coarser, with a warning', () => {
    const planned = planRequant(source(-(2 ** 23), 2 ** 23, 1), IDENTITY, {
      scale: 1,
      lo: -128,
      hi: 127,
      fixed: false,
    });
    expect(planned.scale).toBeGreaterThan(2 ** 23 / 2 ** 15);
    expect(planned.warnings[0]).toContain('coarser');
  });

  test('a fixed scale that does not fit is kept, and rounded twice, with a warning', () => {
    const planned = planRequant(source(-(2 ** 23), 2 ** 23, 1), IDENTITY, { scale: 1, lo: -128, hi: 127, fixed: true });
    expect(planned.scale).toBe(1);
    expect(planned.table.kind).toBe('values');
    expect(planned.warnings.some((warning) => warning.includes('rounded twice'))).toBe(true);
  });

  test('a multiplier of 2^28 or more becomes a table', () => {
    const { table, multipliers } = planRequant(source(-10, 10, 1), IDENTITY, {
      scale: 1 / 64,
      lo: -128,
      hi: 127,
      fixed: false,
    });
    expect(multipliers).toEqual(Int32Array.of(2 ** 24));
    expect(table.kind === 'values' && Array.from(table.values).slice(8, 13)).toEqual([-128, -64, 0, 64, 127]);
  });

  test('imprecise multipliers are warned of', () => {
    const { warnings } = planRequant(source(-(2 ** 22), 2 ** 22, 2 ** -20), IDENTITY, {
      scale: 1,
      lo: -128,
      hi: 127,
      fixed: false,
    });
    expect(warnings).toEqual(['1 of 1 multipliers have under 10 bits of precision']);
  });

  test('outside its domain a function gives 0', () => {
    const { table } = planRequant(source(-2, 2, 1), general('Root', Math.sqrt), {
      scale: 1,
      lo: 0,
      hi: 255,
      fixed: false,
    });
    expect(table.kind === 'values' && Array.from(table.values)).toEqual([0, 0, 0, 1, 1]);
  });
});

test('half goes up, towards minus infinity', () => {
  expect([-3, -1, 1, 3].map((x) => quotient(x, 2 ** 23))).toEqual([-1, 0, 1, 2]);
});

test('bounds of functions', () => {
  expect(functionBounds(IDENTITY, -1, 1)).toEqual({ lo: -Infinity, hi: Infinity });
  expect(functionBounds(clip(0, 6, 'Relu6'), -1, 1)).toEqual({ lo: 0, hi: 6 });
  expect(
    functionBounds(
      general('Square', (x) => x * x),
      -2,
      1,
    ),
  ).toEqual({ lo: 0, hi: 4 });
});

describe('a pole or a step', () => {
  const target = { scale: 1 / 16, lo: -128, hi: 127, fixed: false };
  const plan = (fn: UnaryFunction, lo: number, hi: number): readonly string[] =>
    planRequant(
      { ranges: [{ lo: -(2 ** 20), hi: 2 ** 20 }], scales: Float64Array.of(2 ** -16), seen: { lo, hi } },
      fn,
      target,
    ).warnings;

  test.each([
    ['Reciprocal', (x: number) => 1 / x, -3, 3],
    ['Floor', Math.floor, -3, 3],
    ['Sign', Math.sign, -3, 3],
  ] as const)('%s is reported where calibration crosses it', (label, f, lo, hi) => {
    expect(plan(general(label, f), lo, hi).some((warning) => warning.includes('pole or a step'))).toBe(true);
  });

  test('a function too steep for the finest argument is reported', () => {
    const wide = { ...target, scale: 2 };
    const source = {
      ranges: [{ lo: 0, hi: 2 ** 18 }],
      scales: Float64Array.of(2 ** -16),
      seen: { lo: 2 ** -8, hi: 3 },
    };
    const steep = planRequant(
      source,
      general('Reciprocal', (x) => 1 / x),
      wide,
    ).warnings;
    expect(steep.some((warning) => warning.includes('steep for its table'))).toBe(true);
  });

  test.each([
    ['Reciprocal', (x: number) => 1 / x, 0.5, 3],
    ['Exp', Math.exp, -3, 3],
    ['Abs', Math.abs, -3, 3],
    ['Log', (x: number) => (x > 0 ? Math.log(x) : -Infinity), -0.5, 3],
  ] as const)('%s is not where it has none', (label, f, lo, hi) => {
    expect(plan(general(label, f), lo, hi).filter((warning) => warning.includes('pole or a step'))).toEqual([]);
  });
});
