/** Phase O for the prover: one sumcheck over all committed columns under the combined weights of all entries. */
import { add, mul, sub } from '../field/fr.js';
import type { ColumnFunctional, SlotFunctional } from '../plan/claims.js';
import type { OpeningEntry } from '../plan/coefficients.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { chunkFinder, chunksOf, columnsOf, slotOf, type ChunkPlan, type Plan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector } from '../wasm/fr-vectors.js';
import type { Column } from './column-store.js';
import { ProverSumcheck } from './round-polynomials.js';
import { itemWeights, paddedWeights } from './slot-weights.js';
import { bitsOfAxes } from '../program/layout.js';

/**
 * sum of scale * A for every column, written out. Columns lie one after another in memory, and so do the chunks of a
 * family in them: a slot of several chunks is one stretch.
 */
export class WeightTable {
  private readonly own: readonly FrVector[];
  private readonly find: ReturnType<typeof chunkFinder>;
  /** eq tables of the two lookup points, which several families share. */
  private readonly eqTables = new Map<readonly bigint[], FrVector>();

  constructor(
    private readonly arithmetic: Arithmetic,
    private readonly plan: Plan,
  ) {
    const columns = columnsOf(plan);
    const all = arithmetic.fr.zeros(columns.reduce((sum, { cells }) => sum + cells, 0));
    let at = 0;
    this.own = columns.map(({ cells }) => sliceVector(all, at, (at += cells)));
    this.find = chunkFinder(plan);
  }

  /** Cells from the first of a chunk on, whichever columns they lie in. */
  private cells({ column, offset }: ChunkPlan, from: number, count: number): FrVector {
    const start = this.own[column]!.pointer;
    return sliceVector({ pointer: start, length: offset + from + count }, offset + from, offset + from + count);
  }

  add(entries: readonly OpeningEntry[]): void {
    for (const { scale, functionals } of entries)
      for (const functional of functionals)
        if (functional.kind === 'column') this.addColumn(functional, scale);
        else this.addSlot(functional, scale);
  }

  /** In the order of opening. */
  columns(): FrVector[] {
    return [...this.own];
  }

  private addColumn({ family, point, coefficient }: ColumnFunctional, scale: bigint): void {
    const { fr } = this.arithmetic;
    const split = point.length - this.plan.lookupBits;
    const eq = this.eqTables.get(point) ?? fr.expandEq(point.slice(split));
    this.eqTables.set(point, eq);
    denseWeights(eqWeight(point.slice(0, split)), chunksOf(this.plan, family)).forEach((w, c) =>
      fr.axpy(this.cells(this.find(family, -1, c), 0, eq.length), mul(w, mul(scale, coefficient)), eq),
    );
  }

  private addSlot(functional: SlotFunctional, scale: bigint): void {
    const { fr, memory } = this.arithmetic;
    memory.scoped(() => {
      const group = this.plan.groups[functional.group]!;
      const isModel = functional.space === 'model';
      const { axes } = (isModel ? group.program.model : group.program.witness)[functional.slot]!;
      const { offset, bits } = isModel
        ? { offset: group.modelOffsets[functional.slot]!, bits: bitsOfAxes(axes) }
        : slotOf(group, functional.slot);
      const first = isModel ? this.find('model', functional.group, 0) : this.find('y', -1, 0);
      const item = itemWeights(fr, functional.factors, axes);
      const batch = functional.batch ? paddedWeights(functional.batch, group.items) : [1n];
      const cells = this.cells(first, offset, 2 ** bits);
      fr.outerAccumulate(cells, mul(scale, functional.coefficient), fr.fromBigInts(batch), item);
    });
  }
}

/** sum over columns of <A_c, f_c>. */
export function evaluateWeights({ fr }: Arithmetic, weights: readonly FrVector[], columns: readonly Column[]): bigint {
  return weights.reduce((sum, weight, c) => add(sum, fr.dot(columns[c]!, weight)), 0n);
}

export interface ProvedOpening {
  readonly rounds: readonly (readonly bigint[])[];
  readonly point: readonly bigint[];
  /** What the combination of the columns is at the point. */
  readonly value: bigint;
}

/**
 * @param columns those of the model may be shorter than 2^n: they are 0 where the leading index bits are not, and so is
 * their weight. Such a pair lies in the lower half alone until its length is reached: its share of the round is
 * (1 - X)^2 <A, P>, and binding X scales both by 1 - r.
 */
export function proveOpening(
  arithmetic: Arithmetic,
  transcript: Transcript,
  plan: Plan,
  claim: bigint,
  weights: readonly FrVector[],
  columns: readonly Column[],
): ProvedOpening {
  const { fr, rounds } = arithmetic;
  const sumcheck = new ProverSumcheck(transcript, 'opening', claim);
  let terms: { a: FrVector; p: Column }[] = weights.map((a, c) => ({ a, p: columns[c]! }));
  /** <A, P> of the short columns, and the factor (1 - r)^2 ... that their bound variables have left. */
  const isShort = ({ a }: { a: FrVector }, length: number): boolean => a.length < length;
  let shortScale = 1n;
  for (let round = 0; round < plan.n; round++) {
    const length = 2 ** (plan.n - round);
    const long = terms.filter((term) => !isShort(term, length));
    const short = terms.filter((term) => isShort(term, length));
    const shortSum = mul(
      shortScale,
      short.reduce((sum, { a, p }) => add(sum, fr.dot(p, a)), 0n),
    );
    // Columns that have just reached their length carry what was bound before them.
    const [l0, l2] = long.length === 0 ? [0n, 0n] : rounds.products(long, sub(sumcheck.claim, shortSum));
    const r = sumcheck.round([add(l0, shortSum), add(l2, shortSum)]);
    const kept = sub(1n, r);
    shortScale = mul(shortScale, mul(kept, kept));
    terms = terms.map((term) => {
      if (!isShort(term, length))
        return {
          a: fr.fold(term.a, r),
          p: term.p.kind !== undefined ? fr.foldInts(term.p, r) : fr.fold(term.p, r, fr.allocate(length / 2)),
        };
      if (term.a.length < length / 2) return term;
      // From the next round on an ordinary pair, with the factor of all rounds that it slept through.
      return { a: fr.scale(shortScale, term.a), p: term.p };
    });
  }
  return { rounds: sumcheck.rounds, point: sumcheck.point, value: sumcheck.claim };
}
