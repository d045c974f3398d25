/**
 * The prover: the same messages as prover/reference/reference-prover.ts, over flat memory in WebAssembly.
 *
 * Cost. Commitments to y, r0, r1, m are multi-scalar multiplications of small integers; gw, gx, gt of full scalars, one
 * per lookup that occurs; the opening takes two of 2^n. Field work: phase L about 60 multiplications a cell, phase O
 * four. Memory: about 36 bytes times 30 a cell of the columns (`predictProof`).
 */
import { AssayError } from '../../common/errors.js';
import type { OpeningProver, PolynomialBackend } from '../opening/types.js';
import { add, mul, sub } from '../field/fr.js';
import { collectClaims, operandClaim, outputPointBits, wordPointBits } from '../plan/claims.js';
import { columnCoefficients, type OpeningEntry } from '../plan/coefficients.js';
import { bracketWeights, flattenValues } from '../plan/lookup.js';
import { chunkBits, makePlan, type Plan } from '../plan/plan.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import { encodeProof } from '../verifier/proof.js';
import { absorbStatement, publicValues, type Statement } from '../verifier/statement.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector, type FrVector } from '../wasm/fr-vectors.js';
import type { PointVector } from '../wasm/g1.js';
import { proveArithmetic } from './arithmetic-phase.js';
import { ColumnStore, combineColumns, type Column } from './column-store.js';
import { startLookup } from './lookup-phase.js';
import { evaluateWeights, proveOpening, WeightTable } from './opening-phase.js';
import { buildWitness, maskColumns, modelColumns, tableColumns, type GroupWitness } from './witness.js';

/** What a prover commits and opens with. */
export interface ProverSetup {
  readonly arithmetic: Arithmetic;
  readonly srsId: Uint8Array;
  /** At least 2^n points of the SRS. */
  readonly points: PointVector;
  readonly backend: PolynomialBackend<FrVector>;
  readonly scheme: { readonly name: string; readonly code: number; readonly prover: OpeningProver };
}

/** Milliseconds by phase. */
export interface ProofTimings {
  readonly witnessMs: number;
  readonly commitMs: number;
  readonly helpersMs: number;
  readonly lookupMs: number;
  readonly arithmeticMs: number;
  readonly openingSumcheckMs: number;
  readonly openingMs: number;
}

export interface ProvedStatement {
  readonly proof: Uint8Array;
  readonly timings: ProofTimings;
}

/**
 * @param n log2 of the cells of a column (`chooseColumnBits`).
 * @param bound what else the proof must be tied to; the verifier absorbs the same bytes.
 * @throws AssayError SRS_TOO_SMALL, PROVER_MEMORY, PROOF_LIMITS.
 */
export function proveStatement(
  statement: Statement,
  groups: readonly GroupWitness[],
  n: number,
  setup: ProverSetup,
  bound: Uint8Array = new Uint8Array(0),
  transcript: Transcript = new KeccakTranscript(),
): ProvedStatement {
  const { arithmetic, points } = setup;
  if (points.length < 2 ** n)
    throw new AssayError(
      'SRS_TOO_SMALL',
      `the SRS has ${points.length} points, columns of 2^${n} cells need ${2 ** n}`,
    );
  const plan = makePlan(
    statement.groups.map(({ key, items }) => ({ program: key.program, items })),
    n,
  );
  return arithmetic.memory.scoped(() => run(statement, groups, plan, setup, bound, transcript));
}

function run(
  statement: Statement,
  groups: readonly GroupWitness[],
  plan: Plan,
  { arithmetic, points, backend, scheme, srsId }: ProverSetup,
  bound: Uint8Array,
  transcript: Transcript,
): ProvedStatement {
  const { fr, g1, memory } = arithmetic;
  const { n } = plan;
  const size = 2 ** n;
  const clock = new Clock();
  const values = publicValues(statement);
  const witness = buildWitness(plan, groups);
  const masks = maskColumns(plan);
  const table = tableColumns(plan, groups);
  const store = new ColumnStore(plan);
  const commit = (column: Column): Uint8Array => g1.msm({ pointer: points.pointer, length: column.length }, column);

  const small = { y: fr.ints(witness.y), r0: fr.ints(witness.r0), r1: fr.ints(witness.r1), m: fr.ints(witness.m) };
  const witnessMs = clock.lap();
  absorbStatement(transcript, { scheme: scheme.name, srsId, bound }, plan, statement, values);
  const first: Uint8Array[] = [];
  for (const family of ['y', 'r0', 'r1', 'm'] as const) {
    const all = small[family];
    for (let c = 0; c < all.length / size; c++) {
      const column = { pointer: all.pointer + 4 * c * size, length: size, kind: all.kind };
      store.put(family, -1, c, column);
      first.push(commit(column));
    }
  }
  transcript.absorbPoints('commitments', first);
  const commitMs = clock.lap();

  const alpha = transcript.challenge('alpha');
  const beta = transcript.challenge('beta');
  const word = transcript.challenges('r_e', wordPointBits(plan));
  const output = transcript.challenges('tau_out', outputPointBits(plan));
  const lookup = startLookup(arithmetic, plan, { alpha, beta }, witness, masks, table);
  const second: Uint8Array[] = [];
  for (const family of ['gw', 'gx', 'gt'] as const)
    lookup[family].forEach((column, c) => {
      store.put(family, -1, c, column);
      second.push(commit(column));
    });
  transcript.absorbPoints('helper commitments', second);
  const helpersMs = clock.lap();

  const tau = transcript.challenges('tau', n);
  const brackets = bracketWeights(plan, transcript.challenge('lookup lambda'));
  const proved = lookup.prove(transcript, tau, brackets);
  const sentValues = flattenValues(plan, proved.values);
  transcript.absorbScalars('lookup values', sentValues);
  const lookupMs = clock.lap();

  const claimPoints = {
    witness: [...transcript.challenges('witness chunk point', chunkBits(plan.witnessChunks)), ...proved.point],
    table: [...transcript.challenges('table chunk point', chunkBits(plan.tableChunks)), ...proved.point],
    output,
    word,
    lambda: transcript.challenge('lambda'),
  };
  const claims = collectClaims(plan, claimPoints, proved.values, values);
  const model = groups.map(({ built }, g) => {
    const cells = fr.fromInts(modelColumns(built));
    const length = 2 ** built.program.modelBits;
    for (let c = 0; c < cells.length / length; c++)
      store.put('model', g, c, sliceVector(cells, c * length, (c + 1) * length));
    return cells;
  });
  const columns = store.ordered();
  const weights = new WeightTable(arithmetic, plan);
  weights.add([{ scale: 1n, functionals: claims.direct }]);
  const direct = evaluateWeights(arithmetic, weights.columns(), columns);
  transcript.absorbScalars('direct', [direct]);
  const products = proveArithmetic(arithmetic, transcript, plan, claims.products, sub(claims.total, direct), {
    y: small.y,
    model,
  });
  transcript.absorbScalars('operands', products.operands);
  const arithmeticMs = clock.lap();

  const gamma = transcript.challenge('gamma');
  const operandEntries: OpeningEntry[] = [];
  let [power, claim] = [1n, direct];
  claims.products.forEach((term, k) => {
    const rho = products.point.slice(products.point.length - term.variables);
    (['p', 'q'] as const).forEach((side, i) => {
      power = mul(power, gamma);
      const { functionals, constant } = operandClaim(plan, term, side, rho);
      claim = add(claim, mul(power, sub(products.operands[2 * k + i]!, constant)));
      operandEntries.push({ scale: power, functionals });
    });
  });
  weights.add(operandEntries);
  const opened = memory.scoped(() => proveOpening(arithmetic, transcript, plan, claim, weights.columns(), columns));
  const openingSumcheckMs = clock.lap();

  const coefficients = columnCoefficients(
    plan,
    [{ scale: 1n, functionals: claims.direct }, ...operandEntries],
    opened.point,
  );
  const commitments = [...first, ...second, ...statement.groups.flatMap(({ key }) => key.commitments)];
  const opening = scheme.prover.prove(
    transcript,
    { n, commitments, coefficients, point: opened.point, value: opened.value },
    combineColumns(fr, n, columns, coefficients),
    backend,
  );
  const proof = encodeProof(
    {
      n,
      witness: first,
      helpers: second,
      lookupRounds: proved.rounds,
      values: sentValues,
      direct,
      arithmeticRounds: products.rounds,
      operands: products.operands,
      openingRounds: opened.rounds,
      opening,
    },
    scheme.code,
  );
  const openingMs = clock.lap();
  return {
    proof,
    timings: { witnessMs, commitMs, helpersMs, lookupMs, arithmeticMs, openingSumcheckMs, openingMs },
  };
}

class Clock {
  private last = performance.now();

  /** Milliseconds since the last lap. */
  lap(): number {
    const now = performance.now();
    const ms = now - this.last;
    this.last = now;
    return ms;
  }
}
