/** Small helpers on numbers. */

export function clamp(x: number, lo: number, hi: number): number {
  return x < lo ? lo : x > hi ? hi : x;
}

/** A constant that is broadcast against an item shape, in real numbers. */
export interface RealConstant {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** The single value of a constant whose elements are all equal, else null. */
export function uniformValue(constant: RealConstant): number | null {
  const first = constant.data[0]!;
  return constant.data.every((x) => x === first) ? first : null;
}

/**
 * The constant's value per index along one axis of an item shape of the given rank, else null where it varies along
 * another axis.
 */
export function alongAxis(constant: RealConstant, rank: number, axis: number, side: number): Float64Array | null {
  const uniform = uniformValue(constant);
  if (uniform !== null) return new Float64Array(side).fill(uniform);
  const own = axis - (rank - constant.shape.length);
  const others = constant.shape.every((s, i) => i === own || s === 1);
  return others && own >= 0 && constant.shape[own] === side ? constant.data : null;
}
