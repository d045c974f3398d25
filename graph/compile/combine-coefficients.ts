/**
 * Integer coefficients of a sum of tensors with different scales: scale_i is close to coefficient_i * unit.
 * The smallest coefficients whose error stays below 2^-13 of the largest term; at most 2^13.
 */
const MOST = 2 ** 13;
const GOAL = 2 ** -13;

interface Term {
  readonly scale: number;
  readonly range: { readonly lo: number; readonly hi: number };
}

export function combineCoefficients(terms: readonly Term[]): { coefficients: number[]; scale: number } {
  const largest = Math.max(...terms.map((term) => term.scale));
  const reach = (term: Term): number => Math.max(-term.range.lo, term.range.hi, 1);
  const span = Math.max(...terms.map((term) => term.scale * reach(term)));
  let best: { coefficients: number[]; scale: number; error: number } | null = null;
  for (let multiple = 1; multiple <= MOST; multiple++) {
    const scale = largest / multiple;
    const coefficients = terms.map((term) => Math.max(1, Math.round(term.scale / scale)));
    const error = Math.max(...terms.map((t, i) => (Math.abs(coefficients[i]! * scale - t.scale) * reach(t)) / span));
    if (best === null || error < best.error) best = { coefficients, scale, error };
    if (error <= GOAL) break;
  }
  return { coefficients: best!.coefficients, scale: best!.scale };
}
