/**
 * A field whose elements are wires of a circuit: computing with it writes the circuit down.
 *
 * An element is a linear expression k + sum c_i s_i over signals s_i. Sums and multiples cost nothing; a product of two
 * expressions becomes a new signal, one constraint. Two rules keep products few:
 *   - where a factor is a + b s with a single signal s, only s times the other factor is multiplied out:
 *     x u and (1 - x)(1 - u) share one constraint, and so do both halves of a node of an eq table;
 *   - a product that was written before is used again.
 * What no check and no output needs in the end is left out (`reachable`).
 */
import type { CheckedField } from '../../prover/verifier/phases.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add, mul, toField } from '../../prover/field/fr.js';

/** k + sum c_i s_i: coefficients by number of the signal, none 0. */
export class Wire {
  /** For products of expressions of several signals: tells this object from others. */
  readonly number: number;
  private static count = 0;

  constructor(
    readonly constant: bigint,
    readonly terms: ReadonlyMap<number, bigint>,
  ) {
    this.number = Wire.count++;
  }
}

const NO_TERMS: ReadonlyMap<number, bigint> = new Map();

export const constantWire = (value: bigint): Wire => new Wire(value, NO_TERMS);
export const signalWire = (signal: number): Wire => new Wire(0n, new Map([[signal, 1n]]));

/** What the circuit says, in the order in which signals can be computed. */
export type Statement =
  /** signal = a b */
  | { readonly kind: 'product'; readonly signal: number; readonly a: Wire; readonly b: Wire }
  /** One use of the template Absorb (circuits/templates/transcript.circom). */
  | {
      readonly kind: 'absorb';
      /** 1 field elements, 2 limbs of bytes, of which `size` counts the bytes. */
      readonly message: 1 | 2;
      readonly size: number;
      readonly state: Wire;
      readonly elements: readonly Wire[];
      /** The next state, then the challenges that were drawn before the next absorb. */
      readonly out: number[];
    }
  /** a = b */
  | { readonly kind: 'equal'; readonly a: Wire; readonly b: Wire; readonly message: string };

/** The circuit as it grows. */
export class Wiring {
  readonly statements: Statement[] = [];
  /** Name of every signal that is an input, in order. */
  readonly inputs: { readonly name: string; readonly signals: readonly number[] }[] = [];
  signals = 0;
  private readonly products = new Map<string, Wire>();

  input(name: string, count: number): Wire[] {
    const signals = Array.from({ length: count }, () => this.signals++);
    this.inputs.push({ name, signals });
    return signals.map(signalWire);
  }

  /** @returns the next state, and what draws the next challenge that follows this message. */
  absorb(message: 1 | 2, size: number, state: Wire, elements: readonly Wire[]): { state: Wire; draw: () => Wire } {
    const out = [this.signals++];
    this.statements.push({ kind: 'absorb', message, size, state, elements, out });
    return {
      state: signalWire(out[0]!),
      draw: () => {
        out.push(this.signals++);
        return signalWire(out.at(-1)!);
      },
    };
  }

  equal(a: Wire, b: Wire, message: string): void {
    this.statements.push({ kind: 'equal', a, b, message });
  }

  multiply(a: Wire, b: Wire): Wire {
    if (a.terms.size === 0) return scale(b, a.constant);
    if (b.terms.size === 0) return scale(a, b.constant);
    if (a.terms.size > 1 && b.terms.size > 1) return this.product(a, b);
    if (a.terms.size > 1) return this.multiply(b, a);
    // a = k + c s:  a b = k b + c (s b);  and b = l + d t:  s b = l s + d (s t).
    const [[s, c]] = a.terms as unknown as [[number, bigint]];
    const alone = signalWire(s);
    let inner: Wire;
    if (b.terms.size === 1) {
      const [[t, d]] = b.terms as unknown as [[number, bigint]];
      inner = sum(scale(alone, b.constant), scale(this.product(alone, signalWire(t)), d));
    } else inner = this.product(alone, b);
    return sum(scale(b, a.constant), scale(inner, c));
  }

  /** One constraint, or the signal of an earlier one. */
  private product(a: Wire, b: Wire): Wire {
    const [x, y] = [nameOf(a), nameOf(b)].sort();
    const key = `${x!} ${y!}`;
    const known = this.products.get(key);
    if (known) return known;
    const signal = this.signals++;
    this.statements.push({ kind: 'product', signal, a, b });
    const wire = signalWire(signal);
    this.products.set(key, wire);
    return wire;
  }
}

function nameOf(wire: Wire): string {
  if (wire.terms.size > 1 || wire.constant !== 0n) return `e${wire.number}`;
  const [[signal, coefficient]] = wire.terms as unknown as [[number, bigint]];
  return coefficient === 1n ? `s${signal}` : `e${wire.number}`;
}

function scale(wire: Wire, factor: bigint): Wire {
  if (factor === 1n) return wire;
  if (factor === 0n) return constantWire(0n);
  const terms = new Map<number, bigint>();
  for (const [signal, coefficient] of wire.terms) terms.set(signal, mul(coefficient, factor));
  return new Wire(mul(wire.constant, factor), terms);
}

function sum(a: Wire, b: Wire): Wire {
  if (b.terms.size > a.terms.size) return sum(b, a);
  if (b.terms.size === 0 && b.constant === 0n) return a;
  const terms = new Map(a.terms);
  for (const [signal, coefficient] of b.terms) {
    const total = add(terms.get(signal) ?? 0n, coefficient);
    if (total === 0n) terms.delete(signal);
    else terms.set(signal, total);
  }
  return new Wire(add(a.constant, b.constant), terms);
}

const MINUS_ONE = FR_MODULUS - 1n;

/** The field whose results are written into `wiring`. */
export function wireField(wiring: Wiring): CheckedField<Wire> {
  return {
    zero: constantWire(0n),
    one: constantWire(1n),
    of: (value) => constantWire(toField(value)),
    add: sum,
    sub: (a, b) => sum(a, scale(b, MINUS_ONE)),
    mul: (a, b) => wiring.multiply(a, b),
    isZero: ({ constant, terms }) => constant === 0n && terms.size === 0,
    requireEqual: (a, b, message) => wiring.equal(a, b, message),
  };
}

/** The statements that a check or one of the given wires depends on, in their order. */
export function reachable(statements: readonly Statement[], outputs: readonly Wire[]): Statement[] {
  const needed = new Set<number>();
  const need = (wire: Wire): void => {
    for (const signal of wire.terms.keys()) needed.add(signal);
  };
  outputs.forEach(need);
  const kept: Statement[] = [];
  for (const statement of [...statements].reverse()) {
    if (statement.kind === 'product' && !needed.has(statement.signal)) continue;
    if (statement.kind === 'absorb' && !statement.out.some((signal) => needed.has(signal))) continue;
    kept.push(statement);
    if (statement.kind === 'absorb') [statement.state, ...statement.elements].forEach(need);
    else [statement.a, statement.b].forEach(need);
  }
  return kept.reverse();
}
