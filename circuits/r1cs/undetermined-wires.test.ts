/** The check itself: circuits with a known hole must be listed, circuits without one must not. */
import { describe, expect, test } from 'vitest';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { readR1cs, type R1cs } from './read-r1cs.js';
import { encodeR1cs, type PlainConstraint } from './testing/encode-r1cs.js';
import { undeterminedWires } from './undetermined-wires.js';

/** Wires: 0 one, 1 the output o, 2 and 3 the inputs a and b, 4.. x, y, z. */
const NAMES = ['', 'o', 'a', 'b', 'x', 'y', 'z', 'u'];
const SYMBOLS = NAMES.map((name, i) => `${i},${i},0,${name}`)
  .slice(1)
  .join('\n');
const [ONE, O, A, B, X, Y, Z] = [0, 1, 2, 3, 4, 5, 6];
const MINUS = FR_MODULUS - 1n;

function circuit(
  constraints: readonly PlainConstraint[],
  wires = 1 + Math.max(3, ...constraints.flat().flatMap((row) => Object.keys(row).map(Number))),
): R1cs {
  return readR1cs(encodeR1cs({ wires, publicOutputs: 1, publicInputs: 0, privateInputs: 2, constraints }));
}

const check = (constraints: readonly PlainConstraint[]) => undeterminedWires(circuit(constraints), SYMBOLS);
const bit = (wire: number): PlainConstraint => [{ [wire]: 1n }, { [wire]: 1n, [ONE]: MINUS }, {}];
const linear = (row: Record<number, bigint>): PlainConstraint => [row, { [ONE]: 1n }, {}];

const DETERMINED: [string, PlainConstraint[]][] = [
  ['an output that is a product', [[{ [A]: 1n }, { [B]: 1n }, { [O]: 1n }]]],
  [
    'an inverse',
    [
      [{ [A]: 1n }, { [X]: 1n }, { [ONE]: 1n }],
      [{ [X]: 1n }, { [B]: 1n }, { [O]: 1n }],
    ],
  ],
  [
    'a quotient by what another constraint shows nonzero, up to a factor',
    [
      [{ [A]: 1n, [ONE]: 5n }, { [X]: 1n }, { [ONE]: 3n }],
      [{ [A]: 2n, [ONE]: 10n }, { [O]: 1n }, { [B]: 1n }],
    ],
  ],
  [
    'bits of a sum',
    [
      bit(X),
      bit(Y),
      bit(O),
      linear({ [X]: 1n, [Y]: 2n, [O]: 4n, [A]: MINUS }),
      [{ [B]: 1n }, { [B]: 1n }, { [A]: 1n }],
    ],
  ],
  [
    'two linear equations for two unknowns',
    [linear({ [O]: 1n, [X]: 1n, [A]: 1n }), linear({ [O]: 1n, [X]: 2n, [B]: 1n })],
  ],
  [
    'three, of which no two suffice',
    [
      linear({ [O]: 1n, [X]: 1n, [Y]: 1n, [A]: 1n }),
      linear({ [O]: 1n, [X]: 2n, [Y]: 4n, [B]: 1n }),
      linear({ [O]: 1n, [X]: 3n, [Y]: 9n, [ONE]: 1n }),
    ],
  ],
];

const FREE: [string, PlainConstraint[], string[]][] = [
  ['an output that no constraint mentions', [[{ [A]: 1n }, { [B]: 1n }, { [X]: 1n }]], ['o']],
  ['a quotient by an input, which may be 0', [[{ [A]: 1n }, { [O]: 1n }, { [B]: 1n }]], ['o']],
  ['a square root', [[{ [O]: 1n }, { [O]: 1n }, { [A]: 1n }]], ['o']],
  ['a bit that nothing ties down', [bit(O), [{ [A]: 1n }, { [B]: 1n }, { [X]: 1n }]], ['o']],
  ['bits without the constraint of one', [bit(X), linear({ [X]: 1n, [O]: 2n, [A]: MINUS })], ['o', 'x']],
  ['two bits of one weight', [bit(X), bit(O), linear({ [X]: 1n, [O]: 1n, [A]: MINUS })], ['o', 'x']],
  [
    'dependent linear equations',
    [linear({ [O]: 1n, [X]: 1n, [A]: 1n }), linear({ [O]: 2n, [X]: 2n, [B]: 1n })],
    ['o', 'x'],
  ],
  [
    'a hint times a hint',
    [
      [{ [X]: 1n }, { [Y]: 1n }, { [A]: 1n }],
      [{ [X]: 1n }, { [B]: 1n }, { [O]: 1n }],
    ],
    ['o', 'x', 'y'],
  ],
  ['a coefficient that depends on an input and may vanish', [[{ [A]: 1n }, { [O]: 1n }, { [O]: 1n, [B]: 1n }]], ['o']],
  ['a coefficient that vanishes', [[{ [ONE]: 2n }, { [O]: 1n }, { [O]: 2n, [A]: 1n, [B]: 1n }]], ['o']],
  [
    'what depends on a free wire',
    [
      [{ [A]: 1n }, { [X]: 1n }, { [B]: 1n }],
      [{ [X]: 1n }, { [X]: 1n }, { [O]: 1n }],
    ],
    ['o', 'x'],
  ],
];

describe('undetermined wires', () => {
  test.each(DETERMINED)('%s: none', (_name, constraints) => {
    expect(check(constraints)).toEqual({ undetermined: [], argued: [], unusedInputs: [] });
  });

  test.each(FREE)('%s: listed', (_name, constraints, expected) => {
    expect(check(constraints).undetermined).toEqual(expected);
  });

  test('254 bits are not unique, 253 are', () => {
    const inputs = ['o', 'a', 'b'];
    const bitsOf = (count: number) => {
      const wires = Array.from({ length: count }, (_, i) => 4 + i);
      const sum = Object.fromEntries(wires.map((wire, i) => [wire, 1n << BigInt(i)]));
      const constraints = [...wires.map(bit), linear({ ...sum, [A]: MINUS }), linear({ [O]: 1n, [B]: MINUS })];
      const symbols = [...inputs, ...wires.map((wire) => `bit ${wire}`)].map(
        (name, i) => `${i + 1},${i + 1},0,${name}`,
      );
      return undeterminedWires(circuit(constraints), symbols.join('\n')).undetermined.length;
    };
    expect(bitsOf(253)).toBe(0);
    expect(bitsOf(254)).toBe(254);
  });

  test('an argument serves, and what follows from it is found; inputs that nobody reads are named', () => {
    const constraints: PlainConstraint[] = [
      [{ [X]: 1n }, { [X]: 1n }, { [A]: 1n }],
      [{ [X]: 1n }, { [Z]: 1n }, { [ONE]: 1n }],
      [{ [Z]: 1n }, { [X]: 1n }, { [O]: 1n }],
      [{ [Z]: 1n }, { [X]: 1n }, { [Y]: 1n }],
    ];
    const argued = [{ names: /^x$/, reason: 'of two roots the least is meant' }];
    expect(undeterminedWires(circuit(constraints), SYMBOLS, argued)).toEqual({
      undetermined: [],
      argued: [1],
      unusedInputs: ['b'],
    });
  });
});

describe('reading an r1cs', () => {
  const good = encodeR1cs({
    wires: 4,
    publicOutputs: 1,
    publicInputs: 0,
    privateInputs: 2,
    constraints: [[{ [A]: 1n }, { [B]: 7n }, { [O]: 1n }]],
  });
  const changed = (at: number, bytes: readonly number[]) => {
    const copy = good.slice();
    copy.set(bytes, at);
    return copy;
  };

  test('finds what was written', () => {
    const { labels, starts, termWires, ...rest } = readR1cs(good);
    expect(rest).toMatchObject({
      wires: 4,
      publicOutputs: 1,
      publicInputs: 0,
      privateInputs: 2,
      constraints: 1,
      terms: 3,
    });
    expect([...labels, ...starts, ...termWires]).toEqual([0, 1, 2, 3, 0, 1, 2, 3, A, B, O]);
    expect(rest.coefficient(1, 1)).toBe(7n);
  });

  test.each([
    ['magic', changed(0, [0]), 'version 1'],
    ['another field', changed(24 + 4, [2]), 'another field'],
    ['a wire out of range', changed(12 + 12 + 64 + 12 + 4, [9]), 'wire 9 of 4'],
    ['a coefficient of zero', changed(12 + 12 + 64 + 12 + 8, [0]), 'is 0 or not below r'],
    [
      'a coefficient not below r',
      changed(12 + 12 + 64 + 12 + 8, new Array<number>(32).fill(255)),
      'is 0 or not below r',
    ],
    ['too many terms', changed(12 + 12 + 64 + 12, [200]), 'end too early'],
    ['cut', good.subarray(0, -1), 'ends after the file'],
  ])('%s is refused', (_name, bytes, message) => {
    expect(() => readR1cs(bytes)).toThrow(message);
  });
});
