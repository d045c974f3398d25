import { decodeG1, encodeG1, G1_BYTES, linearCombination } from '../../curve/g1.js';
import type { MultiScalarMultiplication } from '../check-powers.js';

/** For up to a few hundred points. */
export const referenceMsm: MultiScalarMultiplication = (points, scalars) =>
  encodeG1(
    linearCombination(
      scalars.map((_, i) => decodeG1(points.subarray(i * G1_BYTES, (i + 1) * G1_BYTES), `point ${i}`)),
      scalars,
    ),
  );
