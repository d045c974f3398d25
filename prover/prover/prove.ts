/**
 * The prover: the same messages as prover/reference/reference-prover.ts, over flat memory in WebAssembly.
 *
 * Cost. Commitments to y, r0, r1, m are multi-scalar multiplications of small integers; gw, gx, gt of full scalars, one
 * per cell that is looked up; the opening takes two of 2^n. What each costs in time and memory: `predictProof`.
 */
import { AssayError } from '../../common/errors.js';
import type { OpeningProver } from '../opening/types.js';
import type { WasmBackend } from '../opening/wasm-backend.js';
import { add, mul, sub } from '../field/fr.js';
import { collectClaims, operandClaim, outputPointBits, wordPointBits } from '../plan/claims.js';
import { columnCoefficients, type OpeningEntry } from '../plan/coefficients.js';
import { bracketWeights, flattenValues } from '../plan/lookup.js';
import { chunkBits, makePlan, type Plan } from '../plan/plan.js';
import type { PublicValues } from '../plan/claims.js';
import { KeccakTranscript, type Transcript } from '../transcript/transcript.js';
import type { PhaseMessages, PhaseResult } from '../verifier/phases.js';
import { encodeProof } from '../verifier/proof.js';
import { absorbStatement, publicValues, type Statement } from '../verifier/statement.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sliceVector } from '../wasm/fr-vectors.js';
import { proveArithmetic } from './arithmetic-phase.js';
import { combineColumns, intColumns } from './column-store.js';
import { startLookup } from './lookup-phase.js';
import { evaluateWeights, proveOpening, WeightTable } from './opening-phase.js';
import { buildWitness, maskColumns, modelColumns, tableColumns, type GroupWitness } from './witness.js';

/** What a prover commits and opens with. */
export interface ProverSetup {
  readonly arithmetic: Arithmetic;
  /** Holds at least 2^n points of the SRS. */
  readonly backend: WasmBackend;
  readonly scheme: { readonly name: string; readonly code: number; readonly prover: OpeningProver };
  /** Told when a phase begins. */
  readonly onPhase?: (phase: ProofPhase) => void;
}

/** In their order. */
export const PROOF_PHASES = [
  'witness',
  'commit',
  'helpers',
  'lookup',
  'arithmetic',
  'openingSumcheck',
  'opening',
] as const;
export type ProofPhase = (typeof PROOF_PHASES)[number];

/** Milliseconds by phase. */
export type ProofTimings = Readonly<Record<`${ProofPhase}Ms`, number>>;

export interface ProvedStatement {
  readonly proof: Uint8Array;
  readonly timings: ProofTimings;
}

/** How the messages of a proof are bound together. */
export interface ProofProtocol {
  readonly transcript: Transcript;
  /** Absorbs all that is public. */
  absorbStatement(plan: Plan, values: PublicValues): void;
  /** What the opening's challenges are drawn from. */
  openingTranscript(phases: ProvedPhases): Transcript;
}

/** Everything of a proof but its opening. */
export interface ProvedPhases extends PhaseMessages, PhaseResult {
  /** Commitments before and after the lookup challenges. */
  readonly witness: readonly Uint8Array[];
  readonly helpers: readonly Uint8Array[];
}

/**
 * A proof that reads as bytes: all on one transcript.
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
  const { scheme, backend } = setup;
  const { phases, opening, timings } = proveWith(statement, groups, n, setup, {
    transcript,
    absorbStatement: (plan, values) =>
      absorbStatement(transcript, { scheme: scheme.name, srsId: backend.srsId, bound }, plan, statement, values),
    openingTranscript: () => transcript,
  });
  return { proof: encodeProof({ n, ...phases, opening }, scheme.code), timings };
}

/** @throws AssayError SRS_TOO_SMALL, PROVER_MEMORY, PROOF_LIMITS. */
export function proveWith(
  statement: Statement,
  groups: readonly GroupWitness[],
  n: number,
  setup: ProverSetup,
  protocol: ProofProtocol,
): { readonly phases: ProvedPhases; readonly opening: Uint8Array; readonly timings: ProofTimings } {
  const { arithmetic, backend } = setup;
  if (backend.size < 2 ** n)
    throw new AssayError('SRS_TOO_SMALL', `the SRS has ${backend.size} points, columns of 2^${n} cells need ${2 ** n}`);
  const plan = makePlan(
    statement.groups.map(({ key, items }) => ({ program: key.program, items })),
    n,
  );
  return arithmetic.memory.scoped(() => run(statement, groups, plan, setup, protocol));
}

function run(
  statement: Statement,
  groups: readonly GroupWitness[],
  plan: Plan,
  { arithmetic, backend, scheme, onPhase }: ProverSetup,
  { transcript, absorbStatement: absorbPublic, openingTranscript }: ProofProtocol,
): ReturnType<typeof proveWith> {
  const { fr, memory } = arithmetic;
  const { n } = plan;
  const timer = new Phases(onPhase);
  timer.begin('witness');
  const values = publicValues(statement);
  const witness = buildWitness(plan, groups);
  const masks = maskColumns(plan);
  const table = tableColumns(plan, groups);
  const small = intColumns(fr, n, [witness.y, witness.r0, witness.r1, witness.m]);
  timer.begin('commit');
  absorbPublic(plan, values);
  const first = small.columns.map((column) => backend.commit(column));
  transcript.absorbPoints('commitments', first);
  timer.begin('helpers');

  const alpha = transcript.challenge('alpha');
  const beta = transcript.challenge('beta');
  const word = transcript.challenges('r_e', wordPointBits(plan));
  const output = transcript.challenges('tau_out', outputPointBits(plan));
  const lookup = startLookup(arithmetic, plan, { alpha, beta }, witness, masks, table);
  const second = lookup.columns.map((column) => backend.commit(column));
  transcript.absorbPoints('helper commitments', second);
  timer.begin('lookup');

  const tau = transcript.challenges('tau', plan.lookupBits);
  const brackets = bracketWeights(plan, transcript.challenge('lookup lambda'));
  const lookedUp = lookup.prove(transcript, tau, brackets);
  const sentValues = flattenValues(plan, lookedUp.values);
  transcript.absorbScalars('lookup values', sentValues);
  timer.begin('arithmetic');

  const claimPoints = {
    witness: [...transcript.challenges('witness chunk point', chunkBits(plan.witnessChunks)), ...lookedUp.point],
    table: [...transcript.challenges('table chunk point', chunkBits(plan.tableChunks)), ...lookedUp.point],
    output,
    word,
    lambda: transcript.challenge('lambda'),
  };
  const claims = collectClaims(plan, claimPoints, lookedUp.values, values);
  const model = groups.map(({ built }) => fr.fromInts(modelColumns(built)));
  // In the order of opening. Model columns may be shorter than 2^n: the rest is 0.
  const columns = [
    ...small.columns,
    ...lookup.columns,
    ...model.flatMap((cells, g) => {
      const length = 2 ** groups[g]!.built.program.modelBits;
      return Array.from({ length: cells.length / length }, (_, c) => sliceVector(cells, c * length, (c + 1) * length));
    }),
  ];
  const weights = new WeightTable(arithmetic, plan);
  weights.add([{ scale: 1n, functionals: claims.direct }]);
  const direct = evaluateWeights(arithmetic, weights.columns(), columns);
  transcript.absorbScalars('direct', [direct]);
  const products = proveArithmetic(arithmetic, transcript, plan, claims.products, sub(claims.total, direct), {
    y: small.families[0]!,
    model,
  });
  transcript.absorbScalars('operands', products.operands);
  timer.begin('openingSumcheck');

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
  timer.begin('opening');

  const coefficients = columnCoefficients(
    plan,
    [{ scale: 1n, functionals: claims.direct }, ...operandEntries],
    opened.point,
  );
  const commitments = [...first, ...second, ...statement.groups.flatMap(({ key }) => key.commitments)];
  const phases: ProvedPhases = {
    witness: first,
    helpers: second,
    lookupRounds: lookedUp.rounds,
    values: sentValues,
    direct,
    arithmeticRounds: products.rounds,
    operands: products.operands,
    openingRounds: opened.rounds,
    coefficients,
    point: opened.point,
    value: opened.value,
  };
  const opening = scheme.prover.prove(
    openingTranscript(phases),
    { n, commitments, coefficients, point: opened.point, value: opened.value },
    combineColumns(fr, n, columns, coefficients),
    backend,
  );
  return { phases: phases, opening, timings: timer.end() };
}

/** Times the phases and tells of each. */
class Phases {
  private readonly times: Partial<Record<`${ProofPhase}Ms`, number>> = {};
  private current: ProofPhase | null = null;
  private since = 0;

  constructor(private readonly onPhase: ProverSetup['onPhase']) {}

  begin(phase: ProofPhase): void {
    this.stop();
    this.current = phase;
    this.onPhase?.(phase);
  }

  end(): ProofTimings {
    this.stop();
    return this.times as ProofTimings;
  }

  private stop(): void {
    const now = performance.now();
    if (this.current) this.times[`${this.current}Ms`] = now - this.since;
    this.since = now;
  }
}
