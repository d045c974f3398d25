import type { SeededRandom } from '../random.js';

/** Half-widths of the uniform draws. */
const MAX_SHIFT_PIXELS = 2;
const MAX_ROTATION_RADIANS = (12 * Math.PI) / 180;
const MAX_SCALE_CHANGE = 0.1;
const MAX_SHEAR = 0.1;

/**
 * Writes a randomly moved copy of a square image: shifted by up to 2 pixels, turned by up to 12 degrees, scaled and
 * sheared by up to a tenth about its centre; sampled bilinearly, 0 outside.
 * @param side of the image, in pixels.
 */
export function moveImage(
  source: Float32Array,
  sourceOffset: number,
  target: Float64Array,
  targetOffset: number,
  side: number,
  random: SeededRandom,
): void {
  const shiftX = random.between(-MAX_SHIFT_PIXELS, MAX_SHIFT_PIXELS);
  const shiftY = random.between(-MAX_SHIFT_PIXELS, MAX_SHIFT_PIXELS);
  const angle = random.between(-MAX_ROTATION_RADIANS, MAX_ROTATION_RADIANS);
  const scale = 1 + random.between(-MAX_SCALE_CHANGE, MAX_SCALE_CHANGE);
  const shear = random.between(-MAX_SHEAR, MAX_SHEAR);
  const cosine = Math.cos(angle) * scale;
  const sine = Math.sin(angle) * scale;
  const centre = (side - 1) / 2;
  const pixel = (row: number, column: number): number =>
    row < 0 || column < 0 || row >= side || column >= side ? 0 : source[sourceOffset + row * side + column]!;
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      const dx = column - centre + shear * (row - centre);
      const dy = row - centre;
      const x = cosine * dx - sine * dy + centre + shiftX;
      const y = sine * dx + cosine * dy + centre + shiftY;
      const x0 = Math.floor(x);
      const y0 = Math.floor(y);
      const right = x - x0;
      const below = y - y0;
      target[targetOffset + row * side + column] =
        (1 - below) * ((1 - right) * pixel(y0, x0) + right * pixel(y0, x0 + 1)) +
        below * ((1 - right) * pixel(y0 + 1, x0) + right * pixel(y0 + 1, x0 + 1));
    }
  }
}
