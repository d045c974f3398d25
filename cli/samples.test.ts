import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { AssayError } from '../common/errors.js';
import type { KnownValue } from '../graph/index.js';
import { readSamples } from './samples.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-samples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const image: KnownValue = { name: 'image', type: 'float32', shape: [1, 3, 4, 4] };

function npy(
  name: string,
  shape: readonly number[],
  descr = '<f4',
  data: ArrayBufferView = new Float32Array(shape.reduce((a, b) => a * b, 1)).map((_, i) => i),
): string {
  const header = new TextEncoder().encode(
    `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`.padEnd(117) + '\n',
  );
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  writeFileSync(
    join(folder, name),
    Uint8Array.from([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, header.length, 0, ...header, ...bytes]),
  );
  return join(folder, name);
}

const json = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const refusal = (file: string, input: KnownValue): string => {
  try {
    readSamples(file, [input]);
  } catch (error) {
    if (error instanceof AssayError) return `${error.code} ${error.message}`;
    throw error;
  }
  throw new Error('nothing was refused');
};

test('samples stand along axis 0, with the item shape, without its ones, or flat; one sample may stand alone', () => {
  for (const [shape, count] of [
    [[2, 1, 3, 4, 4], 2],
    [[2, 3, 4, 4], 2],
    [[2, 48], 2],
    [[1, 3, 4, 4], 1],
  ] as const) {
    const samples = readSamples(npy('x.npy', shape), [image]);
    expect(samples.length).toBe(count);
    expect(samples.at(-1)!.get('image')).toEqual({
      type: 'float32',
      shape: [1, 3, 4, 4],
      data: Float32Array.from({ length: 48 }, (_, i) => i + 48 * (count - 1)),
    });
  }
});

test('channels-last images are not read as channels-first ones', () => {
  expect(refusal(npy('nhwc.npy', [2, 4, 4, 3]), image)).toMatch(
    /SAMPLES_INVALID .*shape \[2, 4, 4, 3\]; expected samples of \[1, 3, 4, 4\]/,
  );
  expect(refusal(npy('short.npy', [2, 47]), image)).toMatch(/shape \[2, 47\]/);
});

test('a value that the input type cannot hold is refused, not changed', () => {
  const bytes: KnownValue = { name: 'x', type: 'uint8', shape: [1, 4] };
  expect(readSamples(json('ok.json', '[[0, 1, 254, 255]]'), [bytes])[0]!.get('x')!.data).toEqual(
    Uint8Array.of(0, 1, 254, 255),
  );
  for (const wrong of ['300', '-1', '0.9']) {
    expect(refusal(json('bad.json', `[[0, 1, ${wrong}, 3]]`), bytes)).toMatch(
      new RegExp(`element 2 is ${wrong}, which uint8 cannot hold`),
    );
  }
  const longs: KnownValue = { name: 'x', type: 'int64', shape: [1, 2] };
  expect(refusal(npy('nan.npy', [1, 2], '<f4', Float32Array.of(1, NaN)), longs)).toMatch(
    /element 1 is NaN, which int64 cannot hold/,
  );
});

test('lists nested without end are refused', () => {
  expect(refusal(json('deep.json', `${'['.repeat(5_000)}1${']'.repeat(5_000)}`), image)).toMatch(
    /nested deeper than 32/,
  );
});
