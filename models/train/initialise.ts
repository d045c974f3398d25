import type { SeededRandom } from '../random.js';

/**
 * Normal weights of variance gain / fanIn.
 * Gain 2 before a ReLU: He, Zhang, Ren and Sun, Delving Deep into Rectifiers, 2015, section 2.2. Gain 1 elsewhere.
 */
export function normalWeights(random: SeededRandom, count: number, fanIn: number, gain: number): Float64Array {
  const deviation = Math.sqrt(gain / fanIn);
  return Float64Array.from({ length: count }, () => random.normal() * deviation);
}
