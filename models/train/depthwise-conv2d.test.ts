import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../random.js';
import { Conv2d } from './conv2d.js';
import { DepthwiseConv2d } from './depthwise-conv2d.js';

describe('DepthwiseConv2d', () => {
  it('is a Conv2d of one group per channel, forwards and backwards', () => {
    const settings = fc.record({
      channels: fc.integer({ min: 1, max: 5 }),
      height: fc.integer({ min: 3, max: 8 }),
      width: fc.integer({ min: 3, max: 8 }),
      kernel: fc.constantFrom(1, 3, 5),
      stride: fc.integer({ min: 1, max: 3 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(settings, ({ channels, height, width, kernel, stride, seed }) => {
        const random = new SeededRandom(seed);
        const shape = [channels, height, width];
        const normals = (count: number): Float64Array => Float64Array.from({ length: count }, () => random.normal());
        const fast = new DepthwiseConv2d('c', shape, kernel, stride, random);
        const options = { kernel, stride, pad: (kernel - 1) / 2, groups: channels, bias: false };
        const slow = new Conv2d('c', shape, channels, options, random);
        slow.weight.value.set(fast.weight.value);
        expect(fast.outputShape).toEqual(slow.outputShape);
        expect(fast.macs).toBe(slow.macs);
        const x = normals(2 * channels * height * width);
        const y = slow.forward(x, 2);
        expectClose(fast.forward(x, 2), y);
        const dy = normals(y.length);
        expectClose(fast.backward(dy, 2), slow.backward(dy, 2));
        expectClose(fast.weight.gradient, slow.weight.gradient);
      }),
      { numRuns: 300 },
    );
  });
});

function expectClose(found: Float64Array, expected: Float64Array): void {
  expect(found.length).toBe(expected.length);
  found.forEach((value, i) =>
    expect(Math.abs(value - expected[i]!)).toBeLessThan(1e-12 * (1 + Math.abs(expected[i]!))),
  );
}
