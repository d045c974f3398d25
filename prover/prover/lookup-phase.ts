/** Phase L for the prover: helper columns, then the sumcheck over them (plan/lookup.ts has the relation). */
import { add, mul } from '../field/fr.js';
import type { LookupValues } from '../plan/claims.js';
import { MAX_TAPS } from '../program/types.js';
import { lookupDegree, type BracketWeights } from '../plan/lookup.js';
import { columnCount, helperFamilies, type Plan } from '../plan/plan.js';
import { RANGE_TAG } from '../program/tables.js';
import type { Transcript } from '../transcript/transcript.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector } from '../wasm/fr-vectors.js';
import { ProverSumcheck } from './round-polynomials.js';
import type { MaskColumns, TableColumns, Witness } from './witness.js';

/** The vectors of one witness chunk, 2^n elements each. */
interface WitnessChunk {
  readonly y: FrVector;
  readonly r0: FrVector;
  readonly r1: FrVector;
  readonly q: FrVector;
  readonly t: FrVector;
  readonly vr: FrVector;
  readonly vq: FrVector;
  readonly gw: FrVector;
  readonly maxima: { readonly gx: FrVector; readonly vx: FrVector; readonly x: readonly FrVector[] } | null;
}
interface TableChunk {
  readonly a: FrVector;
  readonly b: FrVector;
  readonly committed: FrVector | null;
  readonly t: FrVector;
  readonly vt: FrVector;
  readonly m: FrVector;
  readonly gt: FrVector;
}

export interface LookupPhase {
  /** The columns of gw, gx and gt, as they are committed to. */
  readonly columns: readonly FrVector[];
  /** Runs the sumcheck; the helper columns stay as they are, all other vectors of this phase are freed. */
  prove(transcript: Transcript, tau: readonly bigint[], weights: BracketWeights): ProvedLookup;
}

export interface ProvedLookup {
  readonly rounds: readonly (readonly bigint[])[];
  readonly point: readonly bigint[];
  readonly values: LookupValues;
}

/** Computes the helper columns under alpha and beta. */
export function startLookup(
  { fr, rounds, memory }: Arithmetic,
  plan: Plan,
  { alpha, beta }: { readonly alpha: bigint; readonly beta: bigint },
  witness: Witness,
  masks: MaskColumns,
  table: TableColumns,
): LookupPhase {
  const size = 2 ** plan.lookupBits;
  const beta2 = mul(beta, beta);
  const rangeTag = mul(beta2, BigInt(RANGE_TAG));
  const chunk = (values: Int32Array | Uint8Array, c: number): FrVector =>
    fr.fromInts(Int32Array.from(values.subarray(c * size, (c + 1) * size)));
  /** 1 / (alpha - f). */
  const inverted = (fingerprint: FrVector): FrVector => {
    const d = fr.addScalar(alpha, fr.scale(-1n, fingerprint));
    fr.invert(d);
    return d;
  };

  // What outlives the phase comes first: memory is a stack.
  const columnCells = 2 ** plan.n;
  const columns = columnCount(plan, helperFamilies(plan));
  const all = fr.zeros(columns * columnCells);
  let next = 0;
  const vectors = (count: number): FrVector[] =>
    Array.from({ length: count }, () => sliceVector(all, next, (next += size)));
  const gws = vectors(plan.witnessChunks);
  const gxs = vectors(plan.hasMaxima ? plan.witnessChunks : 0);
  const gts = vectors(plan.tableChunks);
  const mark = memory.mark();
  const witnessChunks = Array.from({ length: plan.witnessChunks }, (_, c): WitnessChunk => {
    const [y, r0, r1, q] = [witness.y, witness.r0, witness.r1, witness.q].map((values) => chunk(values, c)) as [
      FrVector,
      FrVector,
      FrVector,
      FrVector,
    ];
    const t = chunk(masks.tag, c);
    fr.scale(beta2, t, t);
    const [vr, vq] = [chunk(masks.requant, c), chunk(masks.looked, c)];
    const gw = gws[c]!;
    memory.scoped(() => {
      const limbs = fr.add(inverted(fr.addScalar(rangeTag, r0)), inverted(fr.addScalar(rangeTag, r1)));
      const pair = fr.add(q, t);
      fr.axpy(pair, beta, y);
      fr.add(fr.mul(vr, limbs), fr.mul(vq, inverted(pair)), gw);
    });
    if (!plan.hasMaxima) return { y, r0, r1, q, t, vr, vq, gw, maxima: null };
    const x = witness.x.map((tap) => chunk(tap, c));
    const vx = chunk(masks.maxima, c);
    const gx = gxs[c]!;
    memory.scoped(() => {
      const sum = fr.zeros(size);
      for (const tap of x) memory.scoped(() => fr.add(sum, inverted(fr.addScalar(rangeTag, fr.sub(y, tap))), sum));
      fr.mul(sum, vx, gx);
    });
    return { y, r0, r1, q, t, vr, vq, gw, maxima: { gx, vx, x } };
  });
  const tableChunks = Array.from({ length: plan.tableChunks }, (_, j): TableChunk => {
    const [a, structured, m] = [table.a, table.b, witness.m].map((values) => chunk(values, j)) as [
      FrVector,
      FrVector,
      FrVector,
    ];
    const committed = plan.hasValues ? chunk(table.committed, j) : null;
    const b = committed ? fr.add(structured, committed) : structured;
    const t = chunk(table.tag, j);
    fr.scale(beta2, t, t);
    const vt = chunk(table.valid, j);
    const gt = gts[j]!;
    memory.scoped(() => {
      const row = fr.add(a, t);
      fr.axpy(row, beta, b);
      fr.mul(fr.mul(inverted(row), m), vt, gt);
    });
    return { a, b, committed, t, vt, m, gt };
  });

  return {
    columns: Array.from({ length: columns }, (_, c) => sliceVector(all, c * columnCells, (c + 1) * columnCells)),
    prove(transcript, tau, weights) {
      const sumcheck = new ProverSumcheck(transcript, 'lookup', 0n);
      const degree = lookupDegree(plan) as 5 | 6;
      // Copies that are bound in place; the helper columns are still to be opened.
      const bound = {
        witness: witnessChunks.map((w) => ({
          ...w,
          gw: fr.copy(w.gw),
          maxima: w.maxima && { ...w.maxima, gx: fr.copy(w.maxima.gx) },
        })),
        table: tableChunks.map((w) => ({ ...w, gt: fr.copy(w.gt) })),
      };
      let length = size;
      let eq = fr.expandEq(tau);
      const at = (vector: FrVector): FrVector => sliceVector(vector, 0, length);
      for (let round = 0; round < plan.lookupBits; round++) {
        const total = new Array<bigint>(degree).fill(0n);
        const sum = (values: readonly bigint[]): void => values.forEach((v, i) => (total[i] = add(total[i]!, v)));
        bound.witness.forEach(({ y, r0, r1, q, t, vr, vq, gw, maxima }, c) => {
          const vectors = {
            y: at(y),
            r0: at(r0),
            r1: at(r1),
            q: at(q),
            t: at(t),
            vr: at(vr),
            vq: at(vq),
            gw: at(gw),
            eq,
          };
          sum(rounds.lookupWitness(vectors, { alpha, beta, f0: rangeTag, lambda: weights.witness[c]! }, degree));
          if (maxima)
            sum(
              rounds.maximum(
                {
                  gx: at(maxima.gx),
                  vx: at(maxima.vx),
                  y: at(y),
                  x: maxima.x.map(at) as [FrVector, FrVector, FrVector, FrVector],
                  eq,
                },
                { alpha, f0: rangeTag, lambda: weights.maxima[c]!, lambda2: weights.product[c]! },
              ),
            );
        });
        bound.table.forEach(({ a, b, t, vt, m, gt }, j) =>
          sum(
            rounds.lookupTable(
              { a: at(a), b: at(b), t: at(t), vt: at(vt), m: at(m), gt: at(gt), eq },
              { alpha, beta, lambda: weights.table[j]! },
              degree,
            ),
          ),
        );
        const r = sumcheck.round(total);
        for (const { maxima, ...own } of bound.witness) {
          for (const vector of Object.values(own)) fr.fold(at(vector), r);
          if (maxima) for (const vector of [maxima.gx, maxima.vx, ...maxima.x]) fr.fold(at(vector), r);
        }
        for (const { committed, ...own } of bound.table) {
          for (const vector of Object.values(own)) fr.fold(at(vector), r);
          if (committed) fr.fold(at(committed), r);
        }
        eq = fr.fold(eq, r);
        length /= 2;
      }
      const end = (vector: FrVector): bigint => fr.at(vector, 0);
      const proved = {
        rounds: sumcheck.rounds,
        point: sumcheck.point,
        values: {
          y: bound.witness.map(({ y }) => end(y)),
          r0: bound.witness.map(({ r0 }) => end(r0)),
          r1: bound.witness.map(({ r1 }) => end(r1)),
          q: bound.witness.map(({ q }) => end(q)),
          gw: bound.witness.map(({ gw }) => end(gw)),
          gx: bound.witness.flatMap(({ maxima }) => (maxima ? [end(maxima.gx)] : [])),
          x: bound.witness.flatMap(({ maxima }) => (maxima ? [maxima.x.slice(0, MAX_TAPS).map(end)] : [])),
          m: bound.table.map(({ m }) => end(m)),
          gt: bound.table.map(({ gt }) => end(gt)),
          b: bound.table.flatMap(({ committed }) => (committed ? [end(committed)] : [])),
        },
      };
      memory.release(mark);
      return proved;
    },
  };
}
