/**
 * Real functions of one variable, as they stand between a linear node and the requantisation that absorbs them.
 *
 * Two forms: a clipped multiple of the argument, which a structured clamp table computes, and anything else, which
 * needs a table of values.
 */

export interface ClipFunction {
  readonly kind: 'clip';
  /** f(x) = min(max(gain * x, lo), hi), gain > 0; lo and hi may be infinite. */
  readonly gain: number;
  readonly lo: number;
  readonly hi: number;
  readonly label: string;
}

export interface GeneralFunction {
  readonly kind: 'general';
  readonly apply: (x: number) => number;
  readonly label: string;
}

export type UnaryFunction = ClipFunction | GeneralFunction;

export const IDENTITY: ClipFunction = { kind: 'clip', gain: 1, lo: -Infinity, hi: Infinity, label: 'Identity' };

export function gain(factor: number): UnaryFunction {
  if (factor > 0) return { kind: 'clip', gain: factor, lo: -Infinity, hi: Infinity, label: `x * ${factor}` };
  return { kind: 'general', apply: (x) => factor * x, label: `x * ${factor}` };
}

export function clip(lo: number, hi: number, label: string): ClipFunction {
  return { kind: 'clip', gain: 1, lo, hi, label };
}

export function general(label: string, apply: (x: number) => number): GeneralFunction {
  return { kind: 'general', apply, label };
}

export function applyUnary(f: UnaryFunction, x: number): number {
  return f.kind === 'general' ? f.apply(x) : Math.min(Math.max(f.gain * x, f.lo), f.hi);
}

/** The factor of a function that only multiplies by a positive number, which is pure metadata; else null. */
export function gainOf(f: UnaryFunction): number | null {
  return f.kind === 'clip' && f.lo === -Infinity && f.hi === Infinity ? f.gain : null;
}

const composedLabel = (inner: UnaryFunction, outer: UnaryFunction): string =>
  gainOf(inner) !== null ? outer.label : gainOf(outer) !== null ? inner.label : `${outer.label}(${inner.label})`;

/** outer after inner. */
export function compose(inner: UnaryFunction, outer: UnaryFunction): UnaryFunction {
  const label = composedLabel(inner, outer);
  if (inner.kind === 'clip' && outer.kind === 'clip') {
    const through = (x: number): number => Math.min(Math.max(outer.gain * x, outer.lo), outer.hi);
    return { kind: 'clip', gain: inner.gain * outer.gain, lo: through(inner.lo), hi: through(inner.hi), label };
  }
  return { kind: 'general', apply: (x) => applyUnary(outer, applyUnary(inner, x)), label };
}
