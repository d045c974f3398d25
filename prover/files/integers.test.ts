/** Each list of integers has one form in a file, the narrowest. */
import { expect, test } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { ByteReader, ByteWriter } from './bytes.js';
import { readIntegers, writeIntegers } from './integers.js';

const refuse = (message: string) => new AssayError('PROOF_INVALID', message);
const read = (bytes: Uint8Array) => {
  const input = new ByteReader(bytes, refuse);
  const values = readIntegers(input, 'list');
  input.end();
  return values;
};
const written = (...values: number[]): Uint8Array => {
  const out = new ByteWriter();
  writeIntegers(out, Int32Array.from(values));
  return out.done();
};

test.each([
  { values: [], bytes: 0 },
  { values: [0, 255], bytes: 2 },
  { values: [-128, 127], bytes: 2 },
  { values: [-1, 128], bytes: 4 },
  { values: [0, 65535], bytes: 4 },
  { values: [-32768, 32767], bytes: 4 },
  { values: [-1, 32768], bytes: 8 },
  { values: [-(2 ** 31), 2 ** 31 - 1], bytes: 8 },
])('$values takes $bytes bytes', ({ values, bytes }) => {
  const file = written(...values);
  expect(file.length).toBe(5 + bytes);
  expect([...read(file)]).toEqual(values);
});

test('a wider form, an unknown form, a count beyond the bytes', () => {
  expect(() => read(Uint8Array.of(0, 0, 0, 1, 2, 0, 7))).toThrow(/shortest form/);
  expect(() => read(Uint8Array.of(0, 0, 0, 0, 1))).toThrow(/shortest form/);
  expect(() => read(Uint8Array.of(0, 0, 0, 1, 5, 7))).toThrow(/unknown form 5/);
  expect(() => read(Uint8Array.of(255, 255, 255, 255, 4, 7))).toThrow(/ends inside/);
  expect(() => read(Uint8Array.of(...written(1), 0))).toThrow(/1 bytes follow/);
});
