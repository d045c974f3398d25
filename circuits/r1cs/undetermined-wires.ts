/**
 * Lists the wires of a circuit that its constraints do not determine from its inputs.
 *
 * A wire that may take two values for the same inputs is where circuits are forged: an output that nothing ties down, a
 * bit without x (x - 1) = 0, a hint that was only computed. The check is sound and not complete: what it calls determined
 * is; what it lists is either free or determined for a reason beyond its rules, and is then argued by name.
 *
 * Known: wire 0 and the inputs, public and private. Rules, applied until nothing changes:
 *
 *   1. One unknown. In <A,w> <B,w> = <C,w> a single wire x is unknown. It is determined
 *      a. if x is only in C;
 *      b. if one of A and B is a constant k and x's coefficient k b - c (or k a - c) is not 0;
 *      c. if x is only in A and B is known and nonzero, or the other way round.
 *   2. Nonzero. Where C is a nonzero constant, A and B are nonzero in every solution. Factors that are equal up to a
 *      scalar are known by their normalised terms.
 *   3. Bits. x (x - 1) = 0 makes x a bit. A linear constraint whose unknowns are all bits with weights k 2^i for different
 *      i, the 2^i together below r, determines all of them: two choices that agree would differ by an integer in
 *      (-r, r) that is 0 mod r, so it is 0, and binary representations are unique.
 *   4. Elimination. The linear constraints with at least two unknowns are brought to reduced echelon form; a row with one
 *      unknown determines it.
 *
 * Source of the idea: Pailoor et al., Automated Detection of Under-Constrained Circuits in Zero-Knowledge Proofs, PLDI 2023
 * (section 4, uniqueness by propagation), without its solver.
 */
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add, inverse, mul, neg, sub } from '../../prover/field/fr.js';
import type { R1cs } from './read-r1cs.js';

/** Wires that are determined for a reason that is written down. */
export interface Argument {
  /** Matches the full names of the wires. */
  readonly names: RegExp;
  readonly reason: string;
}

export interface UndeterminedWires {
  /** Neither determined by the rules nor argued; the name of each. */
  readonly undetermined: readonly string[];
  /** Needed an argument: how many wires each argument served, in its order. */
  readonly argued: readonly number[];
  /** Inputs that no constraint mentions. */
  readonly unusedInputs: readonly string[];
}

type Row = Map<number, bigint>;

/**
 * @param symbols lines `label,wire,component,name` of the compiler.
 * @param argued wires taken as known once the rules alone get no further.
 */
export function undeterminedWires(r1cs: R1cs, symbols: string, argued: readonly Argument[] = []): UndeterminedWires {
  const { publicOutputs, publicInputs, privateInputs, labels } = r1cs;
  const signals = namesByLabel(symbols);
  const nameOf = (wire: number): string => signals.get(labels[wire]!) ?? `wire ${wire}`;
  const firstInput = 1 + publicOutputs;
  const endOfInputs = firstInput + publicInputs + privateInputs;
  const search = new Search(r1cs);
  search.know(0);
  labels.forEach((label, wire) => {
    if (label >= firstInput && label < endOfInputs) search.know(wire);
  });
  search.run();
  const served = argued.map(({ names }) => {
    const wires = search.unknown().filter((wire) => names.test(nameOf(wire)));
    for (const wire of wires) search.know(wire);
    search.run();
    return wires.length;
  });
  const mentioned = new Set(Array.from(new Set(r1cs.termWires), (wire) => labels[wire]!));
  const inputs = Array.from({ length: endOfInputs - firstInput }, (_, i) => firstInput + i);
  return {
    undetermined: search.unknown().map(nameOf),
    argued: served,
    unusedInputs: inputs
      .filter((label) => !mentioned.has(label))
      .map((label) => signals.get(label) ?? `label ${label}`),
  };
}

/** Lines `label,wire,component,name`. */
function namesByLabel(symbols: string): Map<number, string> {
  const lines = symbols.split('\n').map((line) => line.split(','));
  return new Map(lines.map(([label, , , name]) => [Number(label), name ?? '']));
}

class Search {
  private readonly known: Uint8Array;
  private readonly bits: Uint8Array;
  /** Constraints of each wire: users[userStarts[w] .. userStarts[w + 1]]. */
  private readonly userStarts: Uint32Array;
  private readonly users: Uint32Array;
  private readonly nonzero = new Set<string>();
  private queue: number[] = [];

  constructor(private readonly r1cs: R1cs) {
    const { wires, constraints, terms, termWires, starts } = r1cs;
    this.known = new Uint8Array(wires);
    this.bits = new Uint8Array(wires);
    this.userStarts = new Uint32Array(wires + 1);
    for (const wire of termWires) this.userStarts[wire + 1]!++;
    for (let wire = 0; wire < wires; wire++) this.userStarts[wire + 1]! += this.userStarts[wire]!;
    this.users = new Uint32Array(terms);
    const next = this.userStarts.slice();
    for (let i = 0; i < constraints; i++)
      for (let term = starts[3 * i]!; term < starts[3 * i + 3]!; term++) this.users[next[termWires[term]!]!++] = i;
    for (let i = 0; i < constraints; i++) {
      this.queue.push(i);
      this.noteBit(i);
      this.noteNonzero(i);
    }
  }

  know(wire: number): void {
    if (this.known[wire] === 1) return;
    this.known[wire] = 1;
    // Wire 0 is in most constraints, and all are in the queue at the start.
    if (wire === 0) return;
    for (let i = this.userStarts[wire]!; i < this.userStarts[wire + 1]!; i++) this.queue.push(this.users[i]!);
  }

  unknown(): number[] {
    return [...this.known.keys()].filter((wire) => this.known[wire] === 0);
  }

  run(): void {
    do {
      while (this.queue.length > 0) {
        const waiting = this.queue;
        this.queue = [];
        for (const constraint of waiting) this.single(constraint);
      }
      this.linear();
    } while (this.queue.length > 0);
  }

  /** Rules 1 and 2's use. */
  private single(constraint: number): void {
    const wire = this.onlyUnknown(constraint);
    if (wire === undefined) return;
    const [a, b, c] = this.rows(constraint);
    const [inA, inB] = [a.has(wire), b.has(wire)];
    if (inA && inB) return;
    if (!inA && !inB) return this.know(wire);
    const [own, other] = inA ? [a, b] : [b, a];
    const constant = constantOf(other);
    if (constant !== undefined) {
      if (sub(mul(constant, own.get(wire)!), c.get(wire) ?? 0n) !== 0n) this.know(wire);
    } else if (!c.has(wire) && this.nonzero.has(fingerprint(other))) this.know(wire);
  }

  /** The only unknown wire, or undefined where there are none or several. Looks at wires alone: most calls end here. */
  private onlyUnknown(constraint: number): number | undefined {
    let found: number | undefined;
    for (let i = this.r1cs.starts[3 * constraint]!; i < this.r1cs.starts[3 * constraint + 3]!; i++) {
      const wire = this.r1cs.termWires[i]!;
      if (this.known[wire] === 1 || wire === found) continue;
      if (found !== undefined) return undefined;
      found = wire;
    }
    return found;
  }

  private rows(constraint: number): [Row, Row, Row] {
    const row = (part: number): Row => {
      const terms: Row = new Map();
      for (let i = this.r1cs.starts[part]!; i < this.r1cs.starts[part + 1]!; i++)
        addTo(terms, this.r1cs.termWires[i]!, this.r1cs.coefficient(part, i));
      return terms;
    };
    return [row(3 * constraint), row(3 * constraint + 1), row(3 * constraint + 2)];
  }

  private partLength(constraint: number, part: number): number {
    return this.r1cs.starts[3 * constraint + part + 1]! - this.r1cs.starts[3 * constraint + part]!;
  }

  /** Rule 3: (a x + a0)(b x + b0) = 0 with the roots 0 and 1. */
  private noteBit(constraint: number): void {
    if ([0, 1].some((part) => this.partLength(constraint, part) > 2) || this.partLength(constraint, 2) > 0) return;
    const [a, b] = this.rows(constraint);
    const wires = new Set([...a.keys(), ...b.keys()].filter((wire) => wire !== 0));
    const [wire] = wires;
    if (wires.size !== 1 || !a.has(wire!) || !b.has(wire!)) return;
    const root = (row: Row): bigint => mul(neg(row.get(0) ?? 0n), inverse(row.get(wire!)!));
    const roots = [root(a), root(b)].sort();
    if (roots[0] === 0n && roots[1] === 1n) this.bits[wire!] = 1;
  }

  /** Rule 2. */
  private noteNonzero(constraint: number): void {
    if (this.partLength(constraint, 2) !== 1) return;
    const [a, b, c] = this.rows(constraint);
    if (constantOf(c) === undefined || constantOf(c) === 0n) return;
    this.nonzero.add(fingerprint(a)).add(fingerprint(b));
  }

  /** Rules 3 and 4 over all constraints that are linear in their unknowns. */
  private linear(): void {
    const equations: Row[] = [];
    for (let i = 0; i < this.r1cs.constraints; i++) {
      if (!this.hasUnknown(i)) continue;
      const [a, b, c] = this.rows(i);
      const [ka, kb] = [constantOf(a), constantOf(b)];
      const unknowns: Row = new Map();
      const take = (row: Row, scale: bigint): void => {
        for (const [wire, value] of row) if (this.known[wire] === 0) addTo(unknowns, wire, mul(scale, value));
      };
      if (ka !== undefined) take(b, ka);
      else if (kb !== undefined) take(a, kb);
      else if (this.allKnown(a) && this.allKnown(b)) take(new Map(), 0n);
      else continue;
      take(c, FR_MODULUS - 1n);
      if (unknowns.size > 0) equations.push(unknowns);
    }
    for (const row of equations) if (this.isBinary(row)) for (const wire of row.keys()) this.know(wire);
    for (const wire of solved(equations)) this.know(wire);
  }

  private hasUnknown(constraint: number): boolean {
    for (let i = this.r1cs.starts[3 * constraint]!; i < this.r1cs.starts[3 * constraint + 3]!; i++)
      if (this.known[this.r1cs.termWires[i]!] === 0) return true;
    return false;
  }

  private readonly allKnown = (row: Row): boolean => [...row.keys()].every((wire) => this.known[wire] === 1);

  /** Bits with weights k 2^i, the powers different and together below r. */
  private isBinary(row: Row): boolean {
    if ([...row.keys()].some((wire) => this.bits[wire] === 0)) return false;
    const weights = [...row.values()];
    return weights.some((k) => {
      const scale = inverse(k);
      const scaled = new Set(weights.map((weight) => mul(weight, scale)));
      let sum = 0n;
      for (const weight of scaled) {
        if ((weight & (weight - 1n)) !== 0n) return false;
        sum += weight;
      }
      return scaled.size === weights.length && sum < FR_MODULUS;
    });
  }
}

function addTo(row: Row, wire: number, value: bigint): void {
  const sum = add(row.get(wire) ?? 0n, value);
  if (sum === 0n) row.delete(wire);
  else row.set(wire, sum);
}

/** The value of a row without wires. */
function constantOf(row: Row): bigint | undefined {
  return row.size === 0 ? 0n : row.size === 1 ? row.get(0) : undefined;
}

/** Equal for rows that are equal up to a scalar. */
function fingerprint(row: Row): string {
  const sorted = [...row].sort(([a], [b]) => a - b);
  const scale = sorted.length === 0 ? 1n : inverse(sorted[0]![1]);
  return sorted.map(([wire, value]) => `${wire}:${mul(value, scale)}`).join(' ');
}

/** Wires that the equations, zero or known on their other side, determine: reduced echelon form. */
function solved(equations: readonly Row[]): number[] {
  const pivots = new Map<number, Row>();
  const reduce = (row: Row): Row => {
    const rest = new Map(row);
    for (const wire of row.keys()) {
      const pivot = pivots.get(wire);
      const factor = rest.get(wire);
      if (pivot === undefined || factor === undefined) continue;
      for (const [other, value] of pivot) addTo(rest, other, mul(neg(factor), value));
    }
    return rest;
  };
  for (const equation of equations) {
    const rest = reduce(equation);
    const [first] = rest;
    if (first === undefined) continue;
    const scale = inverse(first[1]);
    const pivot: Row = new Map([...rest].map(([wire, value]) => [wire, mul(value, scale)]));
    for (const [wire, row] of pivots) {
      const factor = row.get(first[0]);
      if (factor === undefined) continue;
      for (const [other, value] of pivot) addTo(row, other, mul(neg(factor), value));
      pivots.set(wire, row);
    }
    pivots.set(first[0], pivot);
  }
  return [...pivots].filter(([, row]) => row.size === 1).map(([wire]) => wire);
}
