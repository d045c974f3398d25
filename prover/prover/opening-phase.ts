/** Phase O for the prover: one sumcheck over all committed columns under the combined weights of all entries. */
import { add, mul, sub } from '../field/fr.js';
import type { ColumnFunctional, SlotFunctional } from '../plan/claims.js';
import type { OpeningEntry } from '../plan/coefficients.js';
import { denseWeights, eqWeight } from '../plan/functional.js';
import { chunksOf, columnsOf, slotOf, type Plan } from '../plan/plan.js';
import type { Transcript } from '../transcript/transcript.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector } from '../wasm/fr-vectors.js';
import type { Column } from './column-store.js';
import { ProverSumcheck } from './round-polynomials.js';
import { itemWeights, paddedWeights } from './slot-weights.js';
import { bitsOfAxes } from '../program/layout.js';

/**
 * sum of scale * A for every column, written out. Columns of one family lie one after another, so that a slot of
 * several chunks is one stretch of memory.
 */
export class WeightTable {
  private readonly families = new Map<string, FrVector>();
  /** eq tables of the two lookup points, which several families share. */
  private readonly eqTables = new Map<readonly bigint[], FrVector>();

  constructor(
    private readonly arithmetic: Arithmetic,
    private readonly plan: Plan,
  ) {
    for (const { family, group } of columnsOf(plan)) {
      const key = `${family} ${group}`;
      if (this.families.has(key)) continue;
      const chunks = family === 'model' ? plan.groups[group]!.modelChunks : chunksOf(plan, family);
      this.families.set(key, arithmetic.fr.zeros(chunks * this.columnCells(family, group)));
    }
  }

  add(entries: readonly OpeningEntry[]): void {
    for (const { scale, functionals } of entries)
      for (const functional of functionals)
        if (functional.kind === 'column') this.addColumn(functional, scale);
        else this.addSlot(functional, scale);
  }

  /** In the order of opening. */
  columns(): FrVector[] {
    return columnsOf(this.plan).map(({ family, group, chunk }) => {
      const size = this.columnCells(family, group);
      return sliceVector(this.families.get(`${family} ${group}`)!, chunk * size, (chunk + 1) * size);
    });
  }

  private columnCells(family: string, group: number): number {
    return family === 'model' ? 2 ** this.plan.groups[group]!.program.modelBits : 2 ** this.plan.n;
  }

  private addColumn({ family, point, coefficient }: ColumnFunctional, scale: bigint): void {
    const { fr } = this.arithmetic;
    const split = point.length - this.plan.n;
    const eq = this.eqTables.get(point) ?? fr.expandEq(point.slice(split));
    this.eqTables.set(point, eq);
    const target = this.families.get(`${family} -1`)!;
    denseWeights(eqWeight(point.slice(0, split)), chunksOf(this.plan, family)).forEach((w, c) =>
      fr.axpy(sliceVector(target, c * eq.length, (c + 1) * eq.length), mul(w, mul(scale, coefficient)), eq),
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
      const target = this.families.get(isModel ? `model ${functional.group}` : 'y -1')!;
      const item = itemWeights(fr, functional.factors, axes);
      const batch = functional.batch ? paddedWeights(functional.batch, group.items) : [1n];
      const cells = sliceVector(target, offset, offset + 2 ** bits);
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
