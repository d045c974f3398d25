import { describe, expect, it } from 'vitest';
import { decodeTensors, encodeTensors, type TensorInfos } from './tensor-file.js';

const infos: TensorInfos = [
  { shape: [3], range: { lo: -128, hi: 127 } },
  { shape: [2, 2], range: { lo: 0, hi: 65_535 } },
  { shape: [1], range: { lo: -(2 ** 31), hi: 2 ** 31 - 1 } },
];
const tensors = [
  Int32Array.of(-128, 0, 127, 1, 2, 3),
  Int32Array.of(0, 1, 65_535, 2, 3, 4, 5, 6),
  Int32Array.of(-(2 ** 31), 2 ** 31 - 1),
];

describe('files of tensors', () => {
  it('gives back what was written', () => {
    const bytes = encodeTensors(infos, tensors, 2);
    expect(bytes).toHaveLength(4 + 2 * (3 + 8 + 4));
    expect(decodeTensors(infos, bytes)).toEqual({ items: 2, tensors });
  });

  it('keeps what is out of its range and fits its width', () => {
    const narrow: TensorInfos = [{ shape: [1], range: { lo: 0, hi: 100 } }];
    expect(decodeTensors(narrow, encodeTensors(narrow, [Int32Array.of(200)], 1)).tensors[0]).toEqual(
      Int32Array.of(200),
    );
  });

  it.each([0, 3, 4, 33, 35])('refuses %d bytes', (length) => {
    expect(() => decodeTensors(infos, new Uint8Array(length))).toThrow(
      expect.objectContaining({ code: 'TENSOR_FILE_INVALID' }),
    );
  });
});
