/** Sources of a circuit over our templates: a main component, the template files and the constants that they need. */
import { readFileSync } from 'node:fs';
import { packageRoot } from '../../common/package-root.js';
import { poseidonConstants } from '../templates/poseidon-constants.js';
import type { CircuitSources } from './types.js';

const TEMPLATES = ['bits', 'joining', 'poseidon', 'sumcheck', 'transcript', 'weights'];
/** A block holds 2 to 16 elements and the state. */
const ALL_WIDTHS = Array.from({ length: 15 }, (_, i) => i + 3);

/**
 * @param main circom text that ends with `component main`; it may include `NAME.circom` of templates/.
 * @param widths of the Poseidon permutations that main uses; fewer make the compiler's work shorter. @default all
 */
export function circuitSources(main: string, widths: readonly number[] = ALL_WIDTHS): CircuitSources {
  const files = new Map([
    ['main.circom', main],
    ['poseidon-constants.circom', poseidonConstants(widths)],
  ]);
  for (const name of TEMPLATES) {
    const file = new URL(`circuits/templates/${name}.circom`, packageRoot());
    files.set(`${name}.circom`, readFileSync(file, 'utf8'));
  }
  return { entry: 'main.circom', files };
}
