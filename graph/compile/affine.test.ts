/** Constants that cannot be folded: the operand keeps its own range, and constants of any size keep theirs. */
import { describe, expect, test } from 'vitest';
import type { Tensor } from '../tensor.js';
import { compareSpec } from './testing/compare.js';
import { floats, type NodeSpec } from './testing/models.js';

const image = [1, 2, 4, 4];
const perChannel = (...values: number[]): Tensor => floats([1, values.length, 1, 1], (i) => values[i]!);

/** Nodes from x to y on images, in 255ths of the output's width. */
function onImages(nodes: readonly NodeSpec[], constants: Record<string, Tensor>, scale = 1): number {
  return compareSpec({ inputs: { x: image }, outputs: { y: image }, nodes, constants }, { x: image }, scale).worst;
}

describe('an operand keeps the range of its own values', () => {
  const shift = (op: string, x: string): NodeSpec => ({ op, inputs: [x, 'k'], outputs: ['y'] });
  test.each(['Add', 'Sub'])('Relu, then %s of one constant per channel', (op) => {
    const nodes = [{ op: 'Relu', inputs: ['x'], outputs: ['r'] }, shift(op, 'r')];
    expect(onImages(nodes, { k: perChannel(2.1, 1.7) })).toBeLessThan(4);
  });

  test('Sigmoid, then Add of one constant per channel', () => {
    const nodes = [{ op: 'Sigmoid', inputs: ['x'], outputs: ['s'] }, shift('Add', 's')];
    expect(onImages(nodes, { k: perChannel(-0.5, -0.51) })).toBeLessThan(4);
  });

  test('Conv, then Add of a map', () => {
    const nodes = [{ op: 'Conv', inputs: ['x', 'w'], outputs: ['h'] }, shift('Add', 'h')];
    const w = floats([2, 2, 1, 1], (i) => Math.sin(i + 1));
    expect(onImages(nodes, { w, k: floats(image, (i) => -3 + Math.sin(i)) })).toBeLessThan(4);
  });

  test('MatMul read twice, then Add of a vector', () => {
    const { worst } = compareSpec(
      {
        inputs: { x: [1, 6] },
        outputs: { y: [1, 4], z: [1, 4] },
        nodes: [
          { op: 'MatMul', inputs: ['x', 'w'], outputs: ['h'] },
          { op: 'Add', inputs: ['h', 'k'], outputs: ['y'] },
          { op: 'Tanh', inputs: ['h'], outputs: ['z'] },
        ],
        constants: { w: floats([6, 4], (i) => Math.sin(i + 1)), k: floats([4], (i) => 3 + i * 0.1) },
      },
      { x: [1, 6] },
    );
    expect(worst).toBeLessThan(4);
  });
});

describe('constants far larger than the operand', () => {
  test('1e4 beside 1e-5', () => {
    const nodes = [{ op: 'Add', inputs: ['x', 'k'], outputs: ['y'] }];
    expect(onImages(nodes, { k: floats([], () => 1e4) }, 1e-5)).toBeLessThan(1);
  });

  test('an operand that is a wide sum', () => {
    const { worst } = compareSpec(
      {
        inputs: { x: image, z: image },
        outputs: { y: image },
        nodes: [
          { op: 'Add', inputs: ['x', 'z'], outputs: ['s'] },
          { op: 'Add', inputs: ['s', 'k'], outputs: ['y'] },
        ],
        constants: { k: perChannel(4e4, -4e4) },
      },
      { x: image, z: image },
    );
    expect(worst).toBeLessThan(1);
  });

  test.each([-1e9, -1e4])('an attention mask of %d leaves the logits their precision', (mask) => {
    const { worst } = compareSpec(
      {
        inputs: { x: [1, 3, 4] },
        outputs: { y: [1, 3, 4] },
        nodes: [
          { op: 'Add', inputs: ['x', 'm'], outputs: ['a'] },
          { op: 'Softmax', inputs: ['a'], outputs: ['y'], attributes: { axis: -1 } },
        ],
        constants: { m: floats([3, 4], (i) => (i % 4 > Math.floor(i / 4) ? mask : 0)) },
      },
      { x: [1, 3, 4] },
    );
    expect(worst).toBeLessThan(4);
  });

  test('integer weights of a tiny scale beside a bias', () => {
    const { worst } = compareSpec(
      {
        inputs: { x: [1, 4] },
        outputs: { y: [1, 3] },
        nodes: [
          { op: 'DequantizeLinear', inputs: ['w', 's', 'z'], outputs: ['d'], attributes: { axis: 0 } },
          { op: 'Gemm', inputs: ['x', 'd', 'b'], outputs: ['h'], attributes: { transB: 1 } },
          { op: 'Relu', inputs: ['h'], outputs: ['y'] },
        ],
        constants: {
          w: { type: 'int8', shape: [3, 4], data: Int8Array.from({ length: 12 }, (_, i) => i * 9 - 50) },
          s: floats([3], (i) => [0.01, 1e-10, 0.02][i]!),
          z: { type: 'int8', shape: [3], data: new Int8Array(3) },
          b: floats([3], (i) => [0.1, 0.7, 0.2][i]!),
        },
      },
      { x: [1, 4] },
    );
    expect(worst).toBeLessThan(4);
  });
});
