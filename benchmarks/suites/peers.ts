/**
 * Assay and EZKL on the same ONNX file and the same inputs, in turn: a proof of ours, one of theirs, and so on, so that
 * whatever else the machine does falls on both. EZKL with input and output public and the weights fixed in the key, which
 * is what our proof says too; both of its calibration targets. Where both choose the same settings, the proofs are
 * measured once and the row of `resources` repeats them.
 */
import { mkdirSync, mkdtempSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../../common/errors.js';
import { packageRoot } from '../../common/package-root.js';
import {
  decodeOutputs,
  encodeBundle,
  encodeInputs,
  evaluateGraph,
  type Bundle,
  type Samples,
} from '../../graph/index.js';
import { predictJob } from '../../prover/index.js';
import { Ezkl, ezklPython, EZKL_VERSION, type EzklTarget } from '../../prover/backends/ezkl/ezkl.js';
import { EzklProver } from '../../prover/backends/ezkl/ezkl-prover.js';
import { inChild } from '../in-child.js';
import { availableMemory } from '../machine.js';
import { batchOf, compiledModel, ladderModel, LADDER, type LadderModel } from '../models.js';
import type { BenchOptions, Suite } from '../options.js';
import { metric, type Metric, type Result } from '../report.js';
import { accuracyMetrics, floatAnswers, type Answer } from './accuracy.js';
import { directGas } from './direct-gas.js';
import { ezklGas } from './ezkl-gas.js';
import { makeSrs } from './prover.js';
import type { ProverMeasured } from './prover-measure.js';

/** EZKL's witness takes up to seconds for an item. */
const TEST_ITEMS = 20;
/** What EZKL tries its scales on; each takes it seconds. */
const CALIBRATION_ITEMS = 5;
/** A proof of EZKL takes up to minutes: so many are enough to see the spread. */
const MOST_PEER_PROOFS = 3;
/** Of EZKL's proving key, measured: 4,226 for mnist-mlp and lenet5, 5,571 for wake-rhasspy, which looks up tables. */
const KEY_BYTES_PER_ROW = 5_600;
/** Of EZKL's process while it proves, measured: 10,700 for mnist-mlp, 14,700 for wake-rhasspy. */
const MEMORY_BYTES_PER_ROW = 14_700;
const SPARE_DISK_BYTES = 2 ** 29;
const VERIFICATIONS = 10;

export const peersSuite: Suite = {
  name: 'peers',
  models: LADDER,
  anyModel: true,
  onlyNamed: true,
  run: async (options, onResult) => {
    if (ezklPython() === null)
      process.stderr.write('EZKL is not installed (`npm run ezkl:install`): only our own rows are measured\n');
    for (const model of options.models)
      for (const threads of options.threads) await measure(model, threads, options, onResult);
  },
};

async function measure(
  name: string,
  threads: number,
  options: BenchOptions,
  onResult: (result: Result) => void,
): Promise<void> {
  const row = (peer: string | null) => ({ suite: 'peers', model: name, batch: 1, threads, peer });
  const peerName = (target: EzklTarget): string => `ezkl ${EZKL_VERSION} ${target}`;
  const targets = (['accuracy', 'resources'] as const).filter(
    (target) => ezklPython() !== null && !options.has(row(peerName(target))),
  );
  if (options.has(row(null)) && targets.length === 0) return;

  const model = ladderModel(name);
  const compiled = compiledModel(name);
  const { parameters: params, macs } = compiled.report;
  const samples = model.samples('heldOut', TEST_ITEMS);
  const float = await floatAnswers(model.file(), samples);
  const labels = model.labels(TEST_ITEMS);
  const ours = await openOurs(name, compiled, threads);

  const measured = new Map<string, Readonly<Record<string, Metric>>>();
  for (const target of targets) {
    const metrics = await measureEzkl(model, { target, samples, float, labels, threads, options, measured, ours });
    onResult({ ...row(peerName(target)), params, macs, metrics });
  }
  if (options.has(row(null))) return;
  while (ours.count() < options.repeat) await ours.prove();
  const answers = samples.map((sample) => ourAnswer(compiled, sample));
  const { verifyGas, publishGas, evidenceBytes } = await directGas(compiled, batchOf(name, compiled, 1), ours.expected);
  const metrics = {
    ...ours.metrics(),
    gas: metric([verifyGas], 'gas'),
    publishGas: metric([publishGas], 'gas'),
    calldataBytes: metric([evidenceBytes], 'bytes'),
    ...accuracyMetrics(answers, float, labels),
  };
  onResult({ ...row(null), params, macs, metrics });
}

interface Ours {
  /** What onnxruntime says of the exact graph. */
  readonly expected: readonly Int32Array[];
  /** One proof more, in a process of its own, after one that warms it up. */
  prove(): Promise<void>;
  count(): number;
  metrics(): Record<string, Metric>;
}

async function openOurs(name: string, compiled: Bundle, threads: number): Promise<Ours> {
  const inputs = batchOf(name, compiled, 1);
  await makeSrs(predictJob(compiled.graph, 1).srsPoints);
  const task = { bundle: encodeBundle(compiled), inputs, items: 1, threads };
  const inference = await inChild('inference', { ...task, repeat: 50 });
  const runs: ProverMeasured[] = [];
  return {
    expected: inference.outputs,
    prove: async () => {
      runs.push(await inChild('prover', { ...task, expected: inference.outputs, repeat: 1 }));
    },
    count: () => runs.length,
    metrics: () => {
      const proveMs = metric(
        runs.flatMap((run) => run.proveMs),
        'ms',
      );
      const inferenceMs = metric(inference.inferenceMs, 'ms');
      const [first] = runs;
      return {
        proveMs,
        proveCpuMs: metric(
          runs.flatMap((run) => run.proveCpuMs),
          'ms',
        ),
        verifyMs: metric(
          runs.flatMap((run) => run.verifyMs),
          'ms',
        ),
        setupMs: metric(
          runs.map(({ keyMs }) => keyMs),
          'ms',
        ),
        proofBytes: metric([first!.proofBytes], 'bytes'),
        verificationKeyBytes: metric([first!.keyBytes], 'bytes'),
        peakRssBytes: metric(
          runs.map(({ peakRssBytes }) => peakRssBytes),
          'bytes',
        ),
        inferenceMs,
        overhead: metric([proveMs.median / inferenceMs.median], 'ratio'),
      };
    },
  };
}

interface EzklTask {
  readonly target: EzklTarget;
  readonly samples: Samples;
  readonly float: readonly Answer[];
  readonly labels: Uint8Array | null;
  readonly threads: number;
  readonly options: BenchOptions;
  /** Metrics by settings. */
  readonly measured: Map<string, Readonly<Record<string, Metric>>>;
  readonly ours: Ours;
}

async function measureEzkl(model: LadderModel, task: EzklTask): Promise<Record<string, Metric>> {
  const { target, samples, float, labels, threads, options, measured, ours } = task;
  const once = (value: number, unit: Metric['unit']): Metric => metric([value], unit);
  const work = fileURLToPath(new URL('.cache/ezkl/', packageRoot()));
  mkdirSync(work, { recursive: true });
  const ezkl = await Ezkl.open(threads);
  const prover = new EzklProver(ezkl, mkdtempSync(join(work, 'work-')), model.file(), target);
  try {
    const { logrows, inputScale, calibrate } = await prover.calibrate(model.samples('calibration', CALIBRATION_ITEMS));
    const chosen = {
      calibrateMs: once(calibrate.ms, 'ms'),
      logrows: once(logrows, 'count'),
      inputScale: once(inputScale, 'count'),
    };
    const same = measured.get(prover.settings());
    if (same) return { ...same, ...chosen };
    const answers: Answer[] = [];
    for (const sample of samples) answers.push((await prover.answer(sample)).outputs.flat());
    const accuracy = accuracyMetrics(answers, float, labels);
    const needed = { disk: KEY_BYTES_PER_ROW * 2 ** logrows, memory: MEMORY_BYTES_PER_ROW * 2 ** logrows };
    const free = { disk: freeDisk(work) - SPARE_DISK_BYTES, memory: availableMemory() };
    if (needed.disk > free.disk || needed.memory > free.memory) {
      process.stderr.write(
        `${model.name}: EZKL needs about ${gigabytes(needed.disk)} of disk and ${gigabytes(needed.memory)} of memory at 2^${logrows} rows; ` +
          `${gigabytes(free.disk)} and ${gigabytes(free.memory)} are there: not proved\n`,
      );
      const refused = {
        neededDiskBytes: once(needed.disk, 'bytes'),
        neededMemoryBytes: once(needed.memory, 'bytes'),
        freeDiskBytes: once(free.disk, 'bytes'),
        freeMemoryBytes: once(free.memory, 'bytes'),
      };
      measured.set(prover.settings(), { ...refused, ...accuracy });
      return { ...chosen, ...refused, ...accuracy };
    }
    const { setup, pkBytes, vkBytes } = await prover.setUp(logrows);
    const proveMs: number[] = [];
    const proveCpuMs: number[] = [];
    const witnessMs: number[] = [];
    const verifyMs: number[] = [];
    let peakRssBytes = 0;
    let file: Uint8Array | undefined;
    let proofBytes = 0;
    for (let i = 0; i < Math.min(options.repeat, MOST_PEER_PROOFS); i++) {
      await ours.prove();
      const proof = await prover.prove(samples[0]!, logrows);
      if (proof.outputs.flat().some((value, at) => value !== answers[0]![at]))
        throw new AssayError('INTERNAL', `EZKL proves another answer of ${model.name} than it gave`);
      proveMs.push(proof.prove.ms);
      proveCpuMs.push(proof.prove.cpuMs);
      witnessMs.push(proof.witness.ms);
      ({ file, proofBytes } = proof);
      ({ peakRssBytes } = proof.prove);
      const check = await prover.verify(file, logrows);
      if (!check.valid) throw new AssayError('INTERNAL', `EZKL's verifier refuses its proof: ${check.reason}`);
    }
    for (let i = 0; i < VERIFICATIONS; i++) verifyMs.push((await prover.verify(file!, logrows)).ms);
    const evm = await prover.contract(file!, logrows);
    const gas = await ezklGas(evm.solidity, evm.calldata);
    const metrics = {
      proveMs: metric(proveMs, 'ms'),
      proveCpuMs: metric(proveCpuMs, 'ms'),
      witnessMs: metric(witnessMs, 'ms'),
      verifyMs: metric(verifyMs, 'ms'),
      setupMs: once(setup.ms, 'ms'),
      proofBytes: once(proofBytes, 'bytes'),
      provingKeyBytes: once(pkBytes, 'bytes'),
      verificationKeyBytes: once(vkBytes, 'bytes'),
      peakRssBytes: once(peakRssBytes, 'bytes'),
      deployGas: once(gas.deployGas, 'gas'),
      gas: once(gas.verifyGas, 'gas'),
      calldataBytes: once(gas.calldataBytes, 'bytes'),
      ...accuracy,
    };
    measured.set(prover.settings(), metrics);
    return { ...chosen, ...metrics };
  } finally {
    await ezkl.close();
    prover.discard();
  }
}

/** The integer graph's answer in real numbers; that a proof shows the same integers, the measurement of proofs checks. */
function ourAnswer(bundle: Bundle, sample: Samples[number]): Answer {
  const { values, items } = encodeInputs(bundle, sample);
  const trace = evaluateGraph(bundle.graph, values, items);
  const outputs = decodeOutputs(
    bundle,
    bundle.graph.outputs.map((id) => trace[id]!),
    items,
  );
  return [...outputs.values()].flatMap(({ data }) => Array.from(data as ArrayLike<number>, Number));
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

function freeDisk(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
