/** Outputs of a bundle as a user reads them. */
import { decodeOutputs, type Bundle } from '../graph/index.js';

export interface ReadableOutput {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** @param integers one array per graph output, `items` items each. */
export const readableOutputs = (bundle: Bundle, integers: readonly Int32Array[], items: number): ReadableOutput[] =>
  [...decodeOutputs(bundle, integers, items)].map(([name, { shape, data }]) => ({
    name,
    shape,
    values: Array.from(data as ArrayLike<number | bigint>, Number),
  }));

/** One line for each output and item; for a list of scores, the index of the largest too. */
export function outputsText(outputs: readonly ReadableOutput[], items: number): string {
  return outputs
    .flatMap(({ name, values }) => {
      const size = values.length / items;
      return Array.from({ length: items }, (_, item) => {
        const own = values.slice(item * size, (item + 1) * size);
        const label = size > 1 ? ` (largest at ${own.indexOf(Math.max(...own))})` : '';
        return `  ${items > 1 ? `item ${item} ` : ''}${name}: ${own.map((v) => Number(v.toPrecision(6))).join(', ')}${label}`;
      });
    })
    .join('\n');
}
