import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readPackageFile } from './dataset.js';
import { loadMnist, MNIST_COUNTS, scanThousandths } from './mnist.js';

const PIXELS = 784;

describe('loadMnist', () => {
  it('holds the images of the package, each in exactly one part', () => {
    const original = new Map<string, number>();
    for (let digit = 0; digit < 10; digit++) {
      const text = readPackageFile('mnist', `src/digits/${digit}.json`).toString('utf8');
      const pixels = Float32Array.from((JSON.parse(text) as { data: number[] }).data);
      for (let first = 0; first < pixels.length; first += PIXELS) {
        const digest = digestOf(pixels.subarray(first, first + PIXELS));
        expect(original.has(digest)).toBe(false);
        original.set(digest, digit);
      }
    }
    expect(original.size).toBe(10_000);
    for (const part of ['train', 'calibration', 'heldOut'] as const) {
      const { count, values, labels } = loadMnist(part);
      expect(count).toBe(MNIST_COUNTS[part]);
      for (let item = 0; item < count; item++) {
        const digest = digestOf(values.subarray(item * PIXELS, (item + 1) * PIXELS));
        expect(original.get(digest)).toBe(labels[item]);
        original.delete(digest);
      }
    }
    expect(original.size).toBe(0);
  });

  it('keeps the split that the shipped weights were trained on', () => {
    const digest = createHash('sha256').update(loadMnist('heldOut').values).digest('hex');
    expect(digest).toBe('14c95ff674ab728bb4fcce8276b52e884256b682433d92eb2c3d98737e37b020');
  });

  it('gives the beginning of a part', () => {
    const all = loadMnist('calibration');
    const some = loadMnist('calibration', 64);
    expect(some.shape).toEqual([1, 28, 28]);
    expect(some.labels).toEqual(all.labels.subarray(0, 64));
    expect(some.values).toEqual(all.values.subarray(0, 64 * PIXELS));
    expect(new Set(some.labels).size).toBe(10);
    expect(loadMnist('heldOut', 0).values.length).toBe(0);
  });

  it.each([-1, 2001, 1.5, NaN])('refuses a count of %s', (count) => {
    expect(() => loadMnist('heldOut', count)).toThrow(expect.objectContaining({ code: 'SAMPLE_COUNT_OUT_OF_RANGE' }));
  });
});

describe('scanThousandths', () => {
  const scan = (text: string): [number, number[]] => {
    const target = new Uint16Array(3);
    return [scanThousandths(Buffer.from(text), target), [...target]];
  };

  it('reads numbers of up to three decimals', () => {
    expect(scan('{ "data": [0,0.2,1]}')).toEqual([3, [0, 200, 1000]]);
    expect(scan('[0.624,0.06,0.007]')).toEqual([3, [624, 60, 7]]);
    expect(scan('[1]')).toEqual([1, [1000, 0, 0]]);
  });

  it('counts numbers beyond the target without storing them', () => {
    expect(scan('[0.1,0.2,0.3,0.4]')).toEqual([4, [100, 200, 300]]);
  });

  it.each([
    ['[0.1,0.1234]', 10],
    ['[1.001]', 6],
    ['[2]', 2],
    ['[0.]', 3],
    ['[.5]', 1],
    ['[0,]', 3],
    ['[0, 1]', 3],
    ['[-1]', 1],
    ['[1e0]', 2],
    ['[0.1', 4],
    ['0.1,0.2]', 8],
    ['', 0],
  ])('names the byte of %s that does not fit', (text, byte) => {
    expect(scan(text)[0]).toBe(-(byte + 1));
  });
});

function digestOf(pixels: Float32Array): string {
  return createHash('sha1').update(pixels).digest('base64');
}
