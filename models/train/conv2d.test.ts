import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../graph/tensor.js';
import { SeededRandom } from '../random.js';
import { Conv2d } from './conv2d.js';

/** The definition: out[o, y, x] = bias[o] + sum of weight[o, c, i, j] * in[group * C/g + c, y*s + i - p, x*s + j - p]. */
function convolve(
  x: Float64Array,
  [channels, height, width]: readonly [number, number, number],
  weight: Float64Array,
  bias: Float64Array,
  { kernel, stride, pad, groups }: { kernel: number; stride: number; pad: number; groups: number },
): number[] {
  const outHeight = Math.floor((height + 2 * pad - kernel) / stride) + 1;
  const outWidth = Math.floor((width + 2 * pad - kernel) / stride) + 1;
  const inGroup = channels / groups;
  const outGroup = bias.length / groups;
  const output: number[] = [];
  for (let o = 0; o < bias.length; o++) {
    for (let oy = 0; oy < outHeight; oy++) {
      for (let ox = 0; ox < outWidth; ox++) {
        let sum = bias[o]!;
        for (let c = 0; c < inGroup; c++) {
          for (let i = 0; i < kernel; i++) {
            for (let j = 0; j < kernel; j++) {
              const row = oy * stride + i - pad;
              const column = ox * stride + j - pad;
              if (row < 0 || column < 0 || row >= height || column >= width) continue;
              const channel = Math.floor(o / outGroup) * inGroup + c;
              sum +=
                weight[((o * inGroup + c) * kernel + i) * kernel + j]! * x[(channel * height + row) * width + column]!;
            }
          }
        }
        output.push(sum);
      }
    }
  }
  return output;
}

describe('Conv2d', () => {
  it('equals the definition', () => {
    const settings = fc.record({
      kernel: fc.integer({ min: 1, max: 4 }),
      stride: fc.integer({ min: 1, max: 3 }),
      pad: fc.nat(3),
      groups: fc.integer({ min: 1, max: 3 }),
      inGroup: fc.integer({ min: 1, max: 3 }),
      outGroup: fc.integer({ min: 1, max: 5 }),
      height: fc.integer({ min: 4, max: 8 }),
      width: fc.integer({ min: 4, max: 8 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(settings, ({ groups, inGroup, outGroup, height, width, seed, ...window }) => {
        const random = new SeededRandom(seed);
        const shape = [groups * inGroup, height, width] as const;
        const conv = new Conv2d('c', shape, groups * outGroup, { ...window, groups }, random);
        const bias = conv.bias!.value.map(() => random.normal());
        conv.bias!.value.set(bias);
        const items = Array.from({ length: 2 }, () =>
          Float64Array.from({ length: sizeOf(shape) }, () => random.normal()),
        );
        const batch = Float64Array.from(items.flatMap((item) => [...item]));
        const found = conv.forward(batch, 2);
        const expected = items.flatMap((item) => convolve(item, shape, conv.weight.value, bias, { ...window, groups }));
        expect(found.length).toBe(expected.length);
        expected.forEach((value, i) => expect(Math.abs(found[i]! - value)).toBeLessThan(1e-12 * (1 + Math.abs(value))));
        expect(conv.macs).toBe((expected.length / 2) * inGroup * window.kernel ** 2);
      }),
      { numRuns: 300 },
    );
  });
});
