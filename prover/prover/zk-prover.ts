/** The prover as others use it: opened once with an SRS, it keeps keys of models and proves batches of jobs. */
import { AssayError } from '../../common/errors.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { Bundle } from '../../graph/bundle/types.js';
import type { TensorId } from '../../graph/integer/types.js';
import { hyperKzg } from '../opening/hyperkzg.js';
import { hyperKzgProver } from '../opening/hyperkzg-prover.js';
import { mercury } from '../opening/mercury.js';
import { mercuryProver } from '../opening/mercury-prover.js';
import type { OpeningKey } from '../opening/types.js';
import { wasmBackend } from '../opening/wasm-backend.js';
import { buildProgram, type ProgramWithModel } from '../program/build-program.js';
import { openingKey, type Srs } from '../srs/srs.js';
import { SCHEME_CODE } from '../verifier/kzg-scheme.js';
import { modelKeyHash, type ModelKey } from '../verifier/model-key.js';
import type { GroupStatement, Statement } from '../verifier/statement.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { sizeOf } from '../../graph/tensor.js';
import { makeModelKey } from './make-key.js';
import { chooseColumnBits, predictProof, type ProofPrediction } from './predict.js';
import {
  proveStatement,
  proveWith,
  type ProofPhase,
  type ProofProtocol,
  type ProofTimings,
  type ProvedPhases,
  type ProverSetup,
} from './prove.js';
import type { GroupWitness } from './witness.js';
import { warmUpGraph } from './warm-up-graph.js';

export type SchemeName = 'mercury' | 'hyperkzg';
const SCHEMES = {
  mercury: { verifier: mercury, prover: mercuryProver },
  hyperkzg: { verifier: hyperKzg, prover: hyperKzgProver },
} as const;

export interface ZkProverOptions {
  readonly arithmetic: Arithmetic;
  readonly srs: Srs;
  /** @default mercury */
  readonly scheme?: SchemeName;
}

/** A batch of one model. */
export interface ProveJob {
  readonly bundle: Bundle;
  readonly items: number;
  /** One array per graph input, item-major. */
  readonly inputs: readonly Int32Array[];
  /** Every tensor of the graph by its id, item-major, where the caller has them; evaluated here otherwise. */
  readonly trace?: readonly Int32Array[];
}

export interface Proved {
  readonly statement: Statement;
  readonly proof: Uint8Array;
  readonly timings: ProofTimings;
}

/** A joint proof in its parts. */
export interface ProvedPhasesOf {
  readonly statement: Statement;
  readonly phases: ProvedPhases;
  readonly opening: Uint8Array;
  readonly timings: ProofTimings;
}

interface Prepared {
  readonly built: ProgramWithModel;
  readonly key: ModelKey;
}

/** Models kept ready; the one that was not used for longest is prepared anew when it comes again. */
const MOST_MODELS = 32;

export class ZkProver {
  readonly openingKey: OpeningKey;
  private readonly setup: ProverSetup;
  /** By digest, the one used last at the end; an error where the bundle names another key, which stays so. */
  private readonly models = new Map<string, Prepared | AssayError>();

  /** @throws AssayError SRS_INVALID, POINT_INVALID. */
  constructor({ arithmetic, srs, scheme = 'mercury' }: ZkProverOptions) {
    this.openingKey = openingKey(srs);
    this.setup = {
      arithmetic,
      backend: wasmBackend(arithmetic, srs),
      scheme: { name: scheme, code: SCHEME_CODE[scheme], prover: SCHEMES[scheme].prover },
    };
  }

  /**
   * The key of a model, made from its bundle; the second call for a bundle that was used lately is free.
   * @throws AssayError NOT_PROVABLE naming the node; SRS_TOO_SMALL; MODEL_KEY_MISMATCH where the bundle names another.
   */
  keyOf(bundle: Bundle): ModelKey {
    return this.prepare(bundle).key;
  }

  /** @throws AssayError NOT_PROVABLE, PROOF_LIMITS. */
  predict(jobs: readonly Pick<ProveJob, 'bundle' | 'items'>[]): ProofPrediction {
    const groups = jobs.map(({ bundle, items }) => ({ program: this.prepare(bundle).built.program, items }));
    const { verifier } = SCHEMES[this.setup.scheme.name as SchemeName];
    return predictProof(groups, chooseColumnBits(groups), (n) => verifier.proofBytes(n));
  }

  /**
   * One joint proof of all jobs.
   * @param bound bytes that the proof is tied to, such as the hash of an order.
   * @param onPhase told when a phase begins.
   * @throws AssayError INPUT_RANGE, NOT_PROVABLE, PROOF_LIMITS, SRS_TOO_SMALL, PROVER_MEMORY.
   */
  prove(
    jobs: readonly ProveJob[],
    bound: Uint8Array = new Uint8Array(0),
    onPhase?: (phase: ProofPhase) => void,
  ): Proved {
    const { statement, witness, setup } = this.begin(jobs, onPhase);
    const n = chooseColumnBits(statement.groups.map(({ key, items }) => ({ program: key.program, items })));
    const { size } = this.setup.backend;
    if (2 ** n > size) throw new AssayError('SRS_TOO_SMALL', `the SRS has ${size} points, this batch needs ${2 ** n}`);
    return { statement, ...proveStatement(statement, witness, n, setup, bound) };
  }

  /**
   * One joint proof whose messages are bound together in another way than by the bytes of a file.
   * @param n log2 of the cells of a column.
   * @throws AssayError INPUT_RANGE, NOT_PROVABLE, PROOF_LIMITS, SRS_TOO_SMALL, PROVER_MEMORY.
   */
  proveWith(
    jobs: readonly ProveJob[],
    n: number,
    protocol: (statement: Statement) => ProofProtocol,
    onPhase?: (phase: ProofPhase) => void,
  ): ProvedPhasesOf {
    const { statement, witness, setup } = this.begin(jobs, onPhase);
    return { statement, ...proveWith(statement, witness, n, setup, protocol(statement)) };
  }

  private begin(
    jobs: readonly ProveJob[],
    onPhase?: (phase: ProofPhase) => void,
  ): { statement: Statement; witness: GroupWitness[]; setup: ProverSetup } {
    const prepared = jobs.map(({ bundle }) => this.prepare(bundle));
    const traces = jobs.map(({ bundle, inputs, items, trace }) => trace ?? evaluateGraph(bundle.graph, inputs, items));
    const statement: Statement = {
      groups: jobs.map(({ items, inputs }, j): GroupStatement => {
        const { built, key } = prepared[j]!;
        return { key, items, inputs, outputs: built.published.map((id) => traces[j]![id]!) };
      }),
    };
    const setup = onPhase ? { ...this.setup, onPhase } : this.setup;
    const witness = traces.map((trace, j) => ({ built: prepared[j]!.built, tensor: (id: TensorId) => trace[id]! }));
    return { statement, witness, setup };
  }

  /**
   * Proves a small network and forgets it, so that V8 has compiled the kernels for speed when the first job comes. It
   * takes 0.2 s, and the first proof of LeNet-5 0.39 s instead of 0.45. Does nothing under an SRS too small for it.
   */
  warmUp(): void {
    const graph = warmUpGraph();
    const built = buildProgram(graph);
    const n = built.program.modelBits;
    if (2 ** n > this.setup.backend.size) return;
    const port = { name: 'port', type: 'int32', shape: [1], batched: true } as const;
    const key = makeModelKey({ graph, inputs: [port], outputs: [port] }, built, this.setup);
    const inputs = [new Int32Array(sizeOf(graph.tensors[graph.inputs[0]!]!.shape))];
    const trace = evaluateGraph(graph, inputs, 1);
    const outputs = built.published.map((id) => trace[id]!);
    const witness = { built, tensor: (id: TensorId) => trace[id]! };
    proveStatement({ groups: [{ key, items: 1, inputs, outputs }] }, [witness], n, this.setup);
  }

  private prepare(bundle: Bundle): Prepared {
    const prepared = this.models.get(bundle.digest) ?? this.prepareAnew(bundle);
    this.models.delete(bundle.digest);
    this.models.set(bundle.digest, prepared);
    if (this.models.size > MOST_MODELS) this.models.delete(this.models.keys().next().value!);
    if (prepared instanceof AssayError) throw prepared;
    return prepared;
  }

  private prepareAnew(bundle: Bundle): Prepared | AssayError {
    const built = buildProgram(bundle.graph);
    const key = makeModelKey(bundle, built, this.setup);
    const hash = modelKeyHash(key);
    if (bundle.modelKeyHash !== undefined && bundle.modelKeyHash !== hash)
      return new AssayError(
        'MODEL_KEY_MISMATCH',
        `the bundle ${bundle.digest} names the model key ${bundle.modelKeyHash}; from its weights and this SRS follows ${hash}`,
      );
    return { built, key };
  }
}
