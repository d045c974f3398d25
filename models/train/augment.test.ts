import { describe, expect, it } from 'vitest';
import { loadMnist } from '../data/mnist.js';
import { SeededRandom } from '../random.js';
import { moveImage } from './augment.js';

const SIDE = 28;
const PIXELS = SIDE * SIDE;

/** Random numbers that are all the middle of their interval: the identity. */
class MiddleRandom extends SeededRandom {
  override uniform(): number {
    return 0.5;
  }
}

function centreOf(image: ArrayLike<number>): { ink: number; x: number; y: number } {
  let ink = 0;
  let x = 0;
  let y = 0;
  for (let i = 0; i < PIXELS; i++) {
    ink += image[i]!;
    x += image[i]! * (i % SIDE);
    y += image[i]! * Math.floor(i / SIDE);
  }
  return { ink, x: x / ink, y: y / ink };
}

describe('moveImage', () => {
  const { values, count } = loadMnist('train', 50);

  it('changes nothing when nothing is drawn', () => {
    const target = new Float64Array(2 * PIXELS);
    moveImage(values, 3 * PIXELS, target, PIXELS, SIDE, new MiddleRandom(0));
    expect(Float32Array.from(target.subarray(PIXELS))).toEqual(values.slice(3 * PIXELS, 4 * PIXELS));
    expect(target.subarray(0, PIXELS).every((value) => value === 0)).toBe(true);
  });

  it('moves the centre a little, keeps about the ink and stays in 0 to 1', () => {
    const random = new SeededRandom(5);
    const target = new Float64Array(PIXELS);
    let moved = 0;
    for (let item = 0; item < count; item++) {
      const before = centreOf(values.subarray(item * PIXELS, (item + 1) * PIXELS));
      moveImage(values, item * PIXELS, target, 0, SIDE, random);
      const after = centreOf(target);
      const distance = Math.hypot(after.x - before.x, after.y - before.y);
      expect(distance).toBeLessThan(5);
      moved += distance / count;
      expect(after.ink / before.ink).toBeGreaterThan(0.65);
      expect(after.ink / before.ink).toBeLessThan(1.4);
      expect(target.every((value) => value >= 0 && value <= 1 + 1e-12)).toBe(true);
    }
    expect(moved).toBeGreaterThan(0.5);
  });
});
