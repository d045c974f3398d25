import { expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { compileModel } from './compile.js';
import { buildModel } from './testing/models.js';

const codeOf = (op: string, type: 'int32' | 'uint8'): string => {
  const constants: Record<string, Tensor> = {
    c: type === 'int32' ? { type, shape: [], data: Int32Array.of(3) } : { type, shape: [], data: Uint8Array.of(3) },
  };
  const model = buildModel({
    inputs: { x: { type, shape: ['N', 4] } },
    outputs: { y: { type, shape: ['N', 4] } },
    nodes: [{ op, inputs: ['x', 'c'], outputs: ['y'], name: 'arithmetic' }],
    constants,
  });
  const data = [2, 7, 1, 5];
  const x: Tensor =
    type === 'int32'
      ? { type, shape: [1, 4], data: Int32Array.from(data) }
      : { type, shape: [1, 4], data: Uint8Array.from(data) };
  try {
    compileModel(model, { calibration: [new Map([['x', x]])] });
    return 'compiled';
  } catch (error) {
    if (error instanceof AssayError) return error.code;
    throw error;
  }
};

test.each([
  ['Div', 'int32', 'UNSUPPORTED_NODES'],
  ['Div', 'uint8', 'UNSUPPORTED_NODES'],
  ['Add', 'uint8', 'UNSUPPORTED_NODES'],
  ['Mul', 'uint8', 'UNSUPPORTED_NODES'],
  ['Add', 'int32', 'compiled'],
  ['Mul', 'int32', 'compiled'],
] as const)('%s on %s: %s', (op, type, expected) => {
  expect(codeOf(op, type)).toBe(expected);
});
