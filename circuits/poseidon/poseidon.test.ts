import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { LARGEST_WIDTH, poseidonParameters, SMALLEST_WIDTH } from './parameters.js';
import { permutation, referencePermutation } from './poseidon.js';
import { poseidonVectors } from './testing/poseidon-vectors.js';

const element = fc.bigInt({ min: 0n, max: FR_MODULUS - 1n });

describe('permutation', () => {
  test.each(poseidonVectors())('circomlibjs: state $initialState, $inputs.length inputs', (vector) => {
    const state = [vector.initialState, ...vector.inputs].map(BigInt);
    const expected = vector.outputs.map(BigInt);
    expect(permutation(state).slice(0, expected.length)).toEqual(expected);
    expect(referencePermutation(state).slice(0, expected.length)).toEqual(expected);
  });

  test('sparse rounds equal the definition', () => {
    fc.assert(
      fc.property(fc.array(element, { minLength: SMALLEST_WIDTH, maxLength: LARGEST_WIDTH }), (state) => {
        expect(permutation(state)).toEqual(referencePermutation(state));
      }),
      { numRuns: 40 },
    );
  });

  test('a width that has no parameters is refused', () => {
    for (const width of [1, 18]) expect(() => poseidonParameters(width)).toThrow('widths 2 to 17');
  });
});
