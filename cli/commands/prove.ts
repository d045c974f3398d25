import { Command, Option } from 'commander';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, encodeInputs, type Bundle, type Samples } from '../../graph/index.js';
import {
  checkProof,
  modelKeyDigest,
  openArithmetic,
  predictJob,
  PROOF_PHASES,
  proofFileOf,
  ZkProver,
  type SchemeName,
} from '../../prover/index.js';
import type { EzklTarget } from '../../prover/backends/ezkl/ezkl.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { proveWithEzkl } from '../ezkl-proof.js';
import { outputsText, readableOutputs } from '../outputs.js';
import { checkFits, predictionText } from '../proof-cost.js';
import { openSrs, withSrsOptions, type SrsFlags } from '../reference-string.js';
import { readSamples } from '../samples.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface ProveFlags extends SrsFlags {
  input: string;
  out: string;
  batch?: true;
  scheme: SchemeName;
  threads?: number;
  backend: 'assay' | 'ezkl';
  calibration?: string;
  keyOut?: string;
  target: EzklTarget;
}

export function proveCommand(): Command {
  const command = new Command('prove')
    .description('Run a bundle and prove the outputs: a file that anybody can check with the key of the model.')
    .argument('<bundle>', 'a bundle (.assay); an .onnx file with --backend ezkl')
    .requiredOption('-i, --input <file>', 'a .npy, .npz or .json file of one sample, or of more with --batch')
    .requiredOption('-o, --out <file>', 'where to write the proof (.assayproof)')
    .option('--batch', 'prove all samples of the file as one batch')
    .addOption(
      new Option('--scheme <name>', 'how the commitments are opened')
        .choices(['mercury', 'hyperkzg'])
        .default('mercury'),
    )
    .option('--threads <count>', 'threads that share the work (default: one per processor, at most 8)', wholeNumber)
    .addOption(
      new Option('--backend <name>', 'proof system; EZKL proves the float model, apart from receipts and contracts')
        .choices(['assay', 'ezkl'])
        .default('assay'),
    )
    .option('--calibration <file>', 'EZKL: samples to choose the fixed point on')
    .option('--key-out <file>', 'EZKL: where to write the key that proofs are checked with')
    .addOption(
      new Option('--target <name>', 'EZKL: what to choose the fixed point for')
        .choices(['accuracy', 'resources'])
        .default('accuracy'),
    );
  return withSrsOptions(command).action(async (file: string, flags: ProveFlags, own: Command) => {
    const terminal = terminalOf(own);
    checkWritable(flags.out);
    if (flags.backend === 'ezkl') return proveWithEzkl(file, flags, terminal);
    const bundle = decodeBundle(readInputFile(file), file);
    const { inputs, items } = readBatch(bundle, flags);
    const prediction = predictJob(bundle.graph, items, flags.scheme);
    terminal.note(`  ${items} item${items === 1 ? '' : 's'}: ${predictionText(prediction)}`);
    checkFits(prediction);
    const arithmetic = await openArithmetic(flags.threads === undefined ? {} : { threads: flags.threads });
    try {
      const srs = openSrs(flags, prediction.srsPoints, arithmetic);
      const prover = new ZkProver({ arithmetic, srs, scheme: flags.scheme });
      const keying = terminal.progress('committing to the weights', null);
      const key = prover.keyOf(bundle);
      keying.done();
      const proving = terminal.progress('proving, phase', PROOF_PHASES.length);
      const { statement, proof, timings } = prover.prove([{ bundle, items, inputs }], undefined, (phase) =>
        proving.update(PROOF_PHASES.indexOf(phase)),
      );
      proving.done(phasesText(timings));
      const bytes = proofFileOf(statement, proof);
      const checking = terminal.progress('checking', null);
      // Nobody is handed a proof that was not checked; the reference string was accepted above.
      const verdict = checkProof(bytes, [{ key, srs }], { acceptDevelopmentSrs: true });
      if (verdict.verdict === 'invalid')
        throw new AssayError('INTERNAL', `the new proof does not hold: ${verdict.reason}`);
      checking.done();
      writeOutputFile(flags.out, bytes);
      const modelDigest = modelKeyDigest(key);
      const outputs = readableOutputs(bundle, verdict.groups[0]!.outputs, items);
      terminal.result(
        {
          proof: flags.out,
          sizeBytes: bytes.length,
          modelDigest,
          items,
          prediction,
          timings,
          outputs,
          integers: verdict.groups[0]!.outputs.map((values) => [...values]),
        },
        `${outputsText(outputs, items)}\nwrote ${flags.out} (${bytes.length} bytes, ${proof.length} of them the proof)\nmodel digest ${modelDigest}` +
          (bundle.modelKeyHash === undefined ? ', that of the bundle which `assay key --bundle-out` writes' : ''),
      );
    } finally {
      await arithmetic.close();
    }
  });
}

/** The samples of the input file as one batch of integers. */
function readBatch(bundle: Bundle, flags: ProveFlags): { inputs: Int32Array[]; items: number } {
  const samples: Samples = readSamples(flags.input, bundle.inputs);
  if (samples.length === 0) throw new AssayError('SAMPLES_INVALID', `${flags.input}: holds no sample`);
  if (samples.length > 1 && flags.batch !== true)
    throw new AssayError('SAMPLES_INVALID', `${flags.input}: holds ${samples.length} samples, expected one`, {
      mend: 'Prove them as one batch with --batch, or give a file of one sample.',
      meta: { file: flags.input },
    });
  const encoded = samples.map((sample) => encodeInputs(bundle, sample));
  return {
    items: encoded.reduce((sum, { items }) => sum + items, 0),
    inputs: bundle.inputs.map((_, i) => Int32Array.from(encoded.flatMap(({ values }) => [...values[i]!]))),
  };
}

const phasesText = (timings: object): string =>
  Object.entries(timings as Record<string, number>)
    .map(
      ([phase, ms]) =>
        `${phase.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${ms.toFixed(0)} ms`,
    )
    .join(', ');
