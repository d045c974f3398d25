/** From the tensors that a proof publishes to the outputs of the graph that the requester asked for. */
import { sizeOf } from '../../graph/tensor.js';
import type { Program } from '../program/types.js';

/**
 * @param published one array per output of the program, item-major.
 * @returns one array per output of the graph: where it is an arg-max, the smallest index of a largest element.
 */
export function requestedOutputs(program: Program, items: number, published: readonly Int32Array[]): Int32Array[] {
  return program.outputs.map(({ expression: { axes }, argMaxAxis }, i) => {
    const values = published[i]!;
    if (argMaxAxis === null) return values;
    const side = axes[argMaxAxis]!;
    const inner = sizeOf(axes.slice(argMaxAxis + 1));
    const outer = items * sizeOf(axes.slice(0, argMaxAxis));
    const labels = new Int32Array(outer * inner);
    for (let o = 0; o < outer; o++)
      for (let k = 0; k < inner; k++) {
        const at = (index: number): number => values[(o * side + index) * inner + k]!;
        let best = 0;
        for (let index = 1; index < side; index++) if (at(index) > at(best)) best = index;
        labels[o * inner + k] = best;
      }
    return labels;
  });
}
