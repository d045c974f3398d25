/**
 * Every template against its TypeScript counterpart, on random inputs; every wire of its witness changed in turn, which
 * must break a constraint; the wires that no rule determines; and its size, as a committed snapshot. Then templates with
 * one thing changed, each of which one of these checks must catch.
 */
import { describe, expect, test } from 'vitest';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add } from '../../prover/field/fr.js';
import { circuitSize } from '../r1cs/circuit-size.js';
import { undeterminedWires } from '../r1cs/undetermined-wires.js';
import { violatedConstraint } from '../r1cs/violated-constraint.js';
import { testCircuit, type Mutation, type TestCircuit } from '../testing/test-circuit.js';
import { elements, TEMPLATE_CASES } from './testing/template-cases.js';

describe.each(TEMPLATE_CASES)('$component', ({ file, component, widths = [3], make, argued = [], unused = [] }) => {
  test('computes what TypeScript computes, and nothing else', async () => {
    const circuit = await testCircuit(file, component, widths);
    const { inputs, outputs } = make(elements(component));
    const witness = await circuit.witness(inputs);
    expect(circuit.outputs(witness)).toEqual(outputs);
    expect(violatedConstraint(circuit.constraints, witness)).toBeUndefined();

    const {
      undetermined,
      argued: served,
      unusedInputs,
    } = undeterminedWires(circuit.constraints, circuit.symbols, argued);
    expect(undetermined).toEqual([]);
    expect(unusedInputs).toEqual(unused);
    expect(served.every((count) => count > 0)).toBe(true);

    // A changed wire breaks a constraint; for inputs too, the rest being as it was.
    const step = Math.max(1, Math.floor(witness.length / 60));
    for (let wire = 1; wire < witness.length; wire += step) {
      const changed = witness.with(wire, add(witness[wire]!, 1n));
      expect(violatedConstraint(circuit.constraints, changed), `wire ${wire}`).toBeDefined();
    }
    expect({ component, ...circuitSize(circuit.constraints) }).toMatchSnapshot();
  });
});

const MASK = 2n ** 128n - 1n;

/** The witness for `value` with the bits of `integer`, and `same` and limbs that fit them. */
async function forgedLimbs(circuit: TestCircuit, value: bigint, integer: bigint) {
  const witness = await circuit.witness({ in: value });
  const wireOf = new Map(circuit.symbols.split('\n').map((line) => [line.split(',')[3], Number(line.split(',')[1])]));
  const put = (name: string, content: bigint): void => {
    const wire = wireOf.get(name)!;
    if (wire > 0) witness[wire] = content;
  };
  let same = 1n;
  for (let i = 253; i >= 0; i--) {
    const bit = (integer >> BigInt(i)) & 1n;
    put(`main.bit[${i}]`, bit);
    if (((FR_MODULUS - 1n) >> BigInt(i)) & 1n) same *= bit;
    put(`main.same[${i}]`, same);
  }
  put('main.low', integer & MASK);
  put('main.high', integer >> 128n);
  return witness;
}

describe('limbs', () => {
  test.each([0n, 1n, MASK, MASK + 1n, FR_MODULUS - 1n, FR_MODULUS - 2n, (FR_MODULUS >> 128n) << 128n])(
    '%s splits',
    async (value) => {
      const circuit = await testCircuit('bits', 'Limbs()', [3]);
      const witness = await circuit.witness({ in: value });
      expect(violatedConstraint(circuit.constraints, witness)).toBeUndefined();
      expect(circuit.outputs(witness)).toEqual([value & MASK, value >> 128n]);
    },
  );

  test('the other integer, in + r, is refused wherever it has 254 bits', async () => {
    const circuit = await testCircuit('bits', 'Limbs()', [3]);
    for (const value of [0n, 1n, 12345n << 100n, 2n ** 254n - 1n - FR_MODULUS]) {
      const forged = await forgedLimbs(circuit, value, value + FR_MODULUS);
      expect(violatedConstraint(circuit.constraints, forged)).toBeDefined();
      // The same construction of the true bits is accepted: the forgery is refused for its bits.
      expect(violatedConstraint(circuit.constraints, await forgedLimbs(circuit, value, value))).toBeUndefined();
    }
  });

  test('an integer of more bits than the template has is refused by the calculator', async () => {
    const circuit = await testCircuit('bits', 'Bits(12)', [3]);
    await expect(circuit.witness({ in: 4096n })).rejects.toThrow('Assert Failed');
  });
});

const MATRIX_HEAD = 'function POSEIDON_MATRIX(t) {\n    if (t == 5) {\n        return [[';

/** Component of a case above, and what is changed in its sources. */
const MUTATIONS: readonly (readonly [component: string, Mutation])[] = [
  ['Bits(12)', { file: 'bits.circom', from: 'out[i] * (out[i] - 1) === 0;', to: '' }],
  ['Bits(12)', { file: 'bits.circom', from: 'sum === in;', to: '' }],
  ['Equality(6)', { file: 'weights.circom', from: '2 * both[i]', to: 'both[i]' }],
  ['EqualityTable(4)', { file: 'weights.circom', from: 'node[parent] - half[parent]', to: 'half[parent]' }],
  ['LessThan(5, 12)', { file: 'weights.circom', from: 'sum -= product[i]', to: 'sum += product[i]' }],
  ['MaskedWeight(5, 12)', { file: 'weights.circom', from: 'f0[i] * before', to: 'f0[i] * total' }],
  ['MaskedEquality(5, 28)', { file: 'weights.circom', from: '(1 - point[i]) * (1 - u[i])', to: '1 - point[i]' }],
  ['Powers(9)', { file: 'weights.circom', from: 'horner[i + 1] * r + values[i]', to: 'horner[i + 1] * r - values[i]' }],
  ['RoundValue(4)', { file: 'sumcheck.circom', from: 'claim - coefficients[0]', to: 'claim' }],
  ['Sumcheck(2, 3)', { file: 'sumcheck.circom', from: 'round[i].r <== absorb[i]', to: 'round[i].r <== absorb[0]' }],
  ['PoseidonBlock(4, 1)', { file: 'poseidon.circom', from: 'square[box] <== ', to: 'square[box] <-- ' }],
  ['PoseidonBlock(4, 1)', { file: 'poseidon.circom', from: 'x[0] = state + tag', to: 'x[0] = state' }],
  ['PoseidonBlock(4, 1)', { file: 'poseidon-constants.circom', from: MATRIX_HEAD, to: `${MATRIX_HEAD}1` }],
  ['Absorb(1, 20, 20, 5)', { file: 'transcript.circom', from: '+ i * 2 ** 32 + size', to: '+ size + 1' }],
  ['Absorb(1, 20, 20, 5)', { file: 'transcript.circom', from: '+ blocks * 2 ** 32', to: '' }],
  ['Absorb(1, 7, 7, 9)', { file: 'transcript.circom', from: '<== 3 * 2 ** 64', to: '<== 2 ** 64' }],
  [
    'Absorb(1, 7, 7, 9)',
    { file: 'transcript.circom', from: 'out[0] <== squeeze[squeezes - 1]', to: 'out[0] <== last' },
  ],
];

describe('a change is caught', () => {
  test.each(MUTATIONS)('%s: $from', async (component, mutation) => {
    const { file, widths = [3], make } = TEMPLATE_CASES.find((each) => each.component === component)!;
    const circuit = await testCircuit(file, component, widths, mutation);
    const { inputs, outputs } = make(elements(component));
    const witness = await circuit.witness(inputs);
    const free = undeterminedWires(circuit.constraints, circuit.symbols).undetermined.length > 0;
    const differs = circuit.outputs(witness).some((output, i) => output !== outputs[i]);
    expect(free || differs).toBe(true);
  });

  test('limbs without the bound by r: both integers pass', async () => {
    const from = 'bit[i] * (1 - bit[i] - same[i + 1]) === 0;';
    const mutation = { file: 'bits.circom', from, to: 'bit[i] * (bit[i] - 1) === 0;' };
    const circuit = await testCircuit('bits', 'Limbs()', [3], mutation);
    expect(violatedConstraint(circuit.constraints, await forgedLimbs(circuit, 1n, 1n + FR_MODULUS))).toBeUndefined();
  });

  test('joining: a changed entry of x changes c and E', async () => {
    const { file, component, widths, make } = TEMPLATE_CASES.find(({ file: of }) => of === 'joining')!;
    const circuit = await testCircuit(file, component, widths);
    const { inputs, outputs } = make(elements(component));
    const x = inputs.x as readonly bigint[];
    for (const i of [0, 15, 17]) {
      const changed = circuit.outputs(await circuit.witness({ ...inputs, x: x.with(i, add(x[i]!, 1n)) }));
      expect(changed[0]).not.toBe(outputs[0]);
      expect(changed[1]).not.toBe(outputs[1]);
    }
  });
});
