import { zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { AssayError } from '../common/errors.js';
import { readNpy, readNpz } from './numpy.js';

/** Written by hand from the format's description, version 1.0: magic, version, header length, header, data. */
function npy(descr: string, shape: string, data: Uint8Array, fortran = 'False'): Uint8Array {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;
  const header = new TextEncoder().encode(text.padEnd(117) + '\n');
  return Uint8Array.from([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, header.length, 0, ...header, ...data]);
}

const bytesOf = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
const failure = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof AssayError) return `${error.code} ${error.message}`;
    throw error;
  }
  throw new Error('nothing was thrown');
};

test('reads shape, type and data, from any offset in memory', () => {
  const file = npy('<f4', '(2, 3)', bytesOf(Float32Array.of(1, -2, 3.5, 4, 5, 6)));
  const shifted = new Uint8Array(file.length + 1);
  shifted.set(file, 1);
  expect(readNpy(shifted.subarray(1), 'x.npy')).toEqual({
    type: 'float32',
    shape: [2, 3],
    data: Float32Array.of(1, -2, 3.5, 4, 5, 6),
  });
  expect(readNpy(npy('<i8', '(1,)', bytesOf(BigInt64Array.of(-7n))), 'x.npy').data).toEqual(BigInt64Array.of(-7n));
  expect(readNpy(npy('|u1', '()', Uint8Array.of(9)), 'x.npy').shape).toEqual([]);
});

test('an archive gives its arrays by name', () => {
  const archive = zipSync({
    'a.npy': npy('|u1', '(1,)', Uint8Array.of(1)),
    'b.npy': npy('|i1', '(1,)', Uint8Array.of(255)),
  });
  const arrays = readNpz(archive, 'x.npz');
  expect([...arrays.keys()]).toEqual(['a', 'b']);
  expect(arrays.get('b')!.data).toEqual(Int8Array.of(-1));
});

test('says what is wrong', () => {
  const good = npy('<f4', '(2,)', bytesOf(Float32Array.of(1, 2)));
  expect(failure(() => readNpy(new TextEncoder().encode('hello, world'), 'x.npy'))).toMatch(
    /NUMPY_INVALID x.npy: is not a .npy array/,
  );
  expect(failure(() => readNpy(good.subarray(0, good.length - 1), 'x.npy'))).toMatch(
    /holds 7 bytes of data; shape \[2\] of float32 needs 8/,
  );
  expect(failure(() => readNpy(good.subarray(0, 20), 'x.npy'))).toMatch(/truncated inside its header/);
  expect(failure(() => readNpy(npy('>f4', '(1,)', new Uint8Array(4)), 'x.npy'))).toMatch(/elements of type >f4/);
  expect(failure(() => readNpy(npy('<f4', '(1,)', new Uint8Array(4), 'True'), 'x.npy'))).toMatch(/Fortran order/);
  expect(failure(() => readNpz(good, 'x.npz'))).toMatch(/is not a .npz archive/);
});
