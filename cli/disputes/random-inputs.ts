import { sizeOf, type Bundle } from '../../graph/index.js';

/** Inputs that fit a model and mean nothing, the same every time. */
export function randomInputs({ graph }: Bundle, items: number): Int32Array[] {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return graph.inputs.map((id) => {
    const { shape, range } = graph.tensors[id]!;
    return Int32Array.from(
      { length: items * sizeOf(shape) },
      () => range.lo + Math.floor(next() * (range.hi - range.lo + 1)),
    );
  });
}
