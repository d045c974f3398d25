/** Proves one batch again and again; every answer is checked before its time counts. */
import { AssayError } from '../../common/errors.js';
import { decodeBundle } from '../../graph/index.js';
import {
  checkProof,
  developmentSrs,
  encodeModelKey,
  openArithmetic,
  predictJob,
  proofFileOf,
  ZkProver,
} from '../../prover/index.js';
import { peakRssBytes } from '../machine.js';
import { repeated, timed, timedWork } from '../timing.js';
import type { InferenceTask } from './inference-measure.js';

export interface ProverTask extends InferenceTask {
  /** What onnxruntime says. */
  readonly expected: readonly Int32Array[];
}

export interface ProverMeasured {
  readonly keyMs: number;
  /** Of the key that a proof is checked with. */
  readonly keyBytes: number;
  /** The first proof of the process. */
  readonly firstProveMs: number;
  readonly proveMs: readonly number[];
  /** Of all threads; what else the machine does hardly changes it. */
  readonly proveCpuMs: readonly number[];
  /** By phase, one value per proof. */
  readonly phases: Readonly<Record<string, readonly number[]>>;
  readonly verifyMs: readonly number[];
  readonly proofBytes: number;
  readonly proofFileBytes: number;
  readonly rounds: number;
  readonly peakRssBytes: number;
  readonly predictedMemoryBytes: number;
  readonly predictedMs: number;
}

export async function measureProver(task: ProverTask): Promise<ProverMeasured> {
  const bundle = decodeBundle(task.bundle, 'bundle');
  const prediction = predictJob(bundle.graph, task.items);
  const arithmetic = await openArithmetic({ threads: task.threads });
  const srs = developmentSrs(prediction.srsPoints, { arithmetic });
  const prover = new ZkProver({ arithmetic, srs });
  const { value: key, ms: keyMs } = timed(() => prover.keyOf(bundle));
  const job = { bundle, items: task.items, inputs: task.inputs };
  const proofs = Array.from({ length: 1 + task.repeat }, () => timedWork(() => prover.prove([job])));
  // Before the verifier adds its own.
  const peak = peakRssBytes();
  const { statement, proof } = proofs[0]!.value;
  const file = proofFileOf(statement, proof);
  const check = (): void => {
    const verdict = checkProof(file, [{ key, srs }], { acceptDevelopmentSrs: true });
    if (verdict.verdict === 'invalid') throw new AssayError('INTERNAL', `the proof does not hold: ${verdict.reason}`);
    verdict.groups[0]!.outputs.forEach((values, i) => {
      if (!values.every((v, at) => v === task.expected[i]![at]) || values.length !== task.expected[i]!.length)
        throw new AssayError('INTERNAL', `output ${i} of the proof differs from what onnxruntime computes`);
    });
  };
  check();
  for (const { value } of proofs)
    if (!value.proof.every((byte, i) => byte === proof[i]))
      throw new AssayError('INTERNAL', 'two proofs of one job differ');
  // A check of some ms wants more measurements than a proof of a second.
  const verifyMs = repeated(Math.max(10, task.repeat), check);
  await arithmetic.close();
  const [first, ...rest] = proofs;
  const names = Object.keys(first!.value.timings) as (keyof typeof first.value.timings)[];
  return {
    keyMs,
    keyBytes: encodeModelKey({ key, srs }).length,
    firstProveMs: first!.ms,
    proveMs: rest.map(({ ms }) => ms),
    proveCpuMs: rest.map(({ cpuMs }) => cpuMs),
    phases: Object.fromEntries(names.map((name) => [name, rest.map(({ value }) => value.timings[name])])),
    verifyMs,
    proofBytes: proof.length,
    proofFileBytes: file.length,
    rounds: prediction.rounds,
    peakRssBytes: peak,
    predictedMemoryBytes: prediction.processBytes,
    predictedMs: prediction.singleThreadMs,
  };
}
