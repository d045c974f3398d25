/** Recursive batches: receipts of one item each in one joint proof, wrapped in Groth16, by model and number of receipts. */
import { openBatchCircuit, wrapJoint } from '../../circuits/batch/batch-circuit.js';
import { proveJoint } from '../../circuits/batch/prove-joint.js';
import { verifyGroth16 } from '../../circuits/index.js';
import { AssayError } from '../../common/errors.js';
import { evaluateGraph } from '../../graph/index.js';
import { developmentSrs, openArithmetic, srsIdOf, ZkProver } from '../../prover/index.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { chooseColumnBits } from '../../prover/prover/predict.js';
import { batchOf, compiledModel } from '../models.js';
import type { BenchOptions, Suite } from '../options.js';
import { metric, type Result } from '../report.js';
import { timed, timedAsync } from '../timing.js';

export const recursionSuite: Suite = {
  name: 'recursion',
  models: ['iris', 'mnist-mlp', 'lenet5'],
  anyModel: true,
  onlyNamed: true,
  run: async (options, onResult) => {
    for (const model of options.models)
      for (const receipts of options.batches)
        for (const threads of options.threads) await measure(model, receipts, threads, options, onResult);
  },
};

async function measure(
  model: string,
  receipts: number,
  threads: number,
  { has, repeat }: BenchOptions,
  onResult: (result: Result) => void,
): Promise<void> {
  const row = { suite: 'recursion', model, batch: receipts, threads, peer: null };
  if (has(row)) return;
  const bundle = compiledModel(model);
  const { program } = buildProgram(bundle.graph);
  const n = chooseColumnBits([{ program, items: receipts }]);
  const shape = { n, groups: [{ program, receipts, itemsPerReceipt: 1 }] };
  const { value: circuit, ms: openMs } = await timedAsync(() => openBatchCircuit(shape));
  const arithmetic = await openArithmetic({ threads });
  try {
    const srs = developmentSrs(2 ** n, { arithmetic });
    const prover = new ZkProver({ arithmetic, srs });
    const all = batchOf(model, bundle, receipts);
    const own = (r: number): Int32Array[] =>
      all.map((values) => values.slice((r * values.length) / receipts, ((r + 1) * values.length) / receipts));
    const group = {
      bundle,
      receipts: Array.from({ length: receipts }, (_, r) => own(r)),
      contexts: Array.from({ length: receipts }, (_, r) => new Uint8Array(32).fill(1 + (r % 255))),
    };
    const place = {
      chainId: 31337,
      contract: `0x${'11'.repeat(20)}`,
      keyHash: new Uint8Array(32).fill(7),
      srsId: srsIdOf(srs),
    };
    const trace = evaluateGraph(bundle.graph, all, receipts);
    const published = buildProgram(bundle.graph).published;
    const [jointMs, wrapMs, verifyMs]: [number[], number[], number[]] = [[], [], []];
    // The first is not counted.
    for (let i = 0; i <= repeat; i++) {
      const joint = timed(() => proveJoint(prover, shape, [group], place));
      joint.value.statement.groups[0]!.outputs.forEach((values, o) => {
        if (values.some((v, at) => v !== trace[published[o]!]![at]))
          throw new AssayError('INTERNAL', `output ${o} of the joint proof differs from the reference`);
      });
      const wrapped = await timedAsync(() => wrapJoint(circuit, joint.value));
      const { publicSignals, proof } = wrapped.value;
      // It throws where the proof does not hold.
      const checked = timed(() => verifyGroth16(circuit.verificationKey, publicSignals, proof));
      if (i === 0) continue;
      jointMs.push(joint.ms);
      wrapMs.push(wrapped.ms);
      verifyMs.push(checked.ms);
    }
    onResult({
      ...row,
      params: bundle.report.parameters,
      macs: bundle.report.macs,
      metrics: {
        jointMs: metric(jointMs, 'ms'),
        wrapMs: metric(wrapMs, 'ms'),
        provePerReceiptMs: metric(
          jointMs.map((ms, i) => (ms + wrapMs[i]!) / receipts),
          'ms',
        ),
        groth16VerifyMs: metric(verifyMs, 'ms'),
        openCircuitMs: metric([openMs], 'ms'),
      },
    });
  } finally {
    await arithmetic.close();
  }
}
