import { basename } from 'node:path';
import { Command, Option } from 'commander';
import {
  compileModel,
  encodeBundle,
  prepareSupported,
  readOnnx,
  type OnnxModel,
  type Samples,
} from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModels } from '../../models/index.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { reportText } from '../report-text.js';
import { readSamples } from '../samples.js';
import { collectDim, terminalOf, wholeNumber } from './common-options.js';

interface CompileFlags {
  calibration: string;
  heldOut?: string;
  out?: string;
  dim?: Record<string, number>;
  samples: number;
  method: 'auto' | 'max' | 'percentile' | 'mse';
  float32Accumulators?: true;
  commitEvery: number;
}

export function compileCommand(): Command {
  return new Command('compile')
    .description('Compile an ONNX model to a bundle: an exact integer graph that every engine computes alike.')
    .argument('<model>', 'the .onnx file')
    .requiredOption(
      '-c, --calibration <data>',
      'typical inputs: a .npy, .npz or .json file, or "shipped" for a model of ours',
    )
    .option('--held-out <data>', 'other inputs, to report float against integer on data that calibration has not seen')
    .option('-o, --out <file>', "where to write the bundle (default: the model's name with .assay)")
    .option(
      '--dim <name=value>',
      'bind a symbolic dimension; repeat for more (a leading batch symbol is 1)',
      collectDim,
    )
    .option('--samples <count>', 'use at most this many calibration samples', wholeNumber, 500)
    .addOption(
      new Option('--method <method>', 'how ranges are chosen')
        .choices(['auto', 'max', 'percentile', 'mse'])
        .default('auto'),
    )
    .option('--float32-accumulators', 'refuse accumulators of 2^24 and more instead of splitting their sums')
    .option(
      '--commit-every <count>',
      'a trace commits every so-manieth tensor, and those between are revealed when asked for: cheap for deep models',
      wholeNumber,
      1,
    )
    .action((file: string, flags: CompileFlags, command: Command) => {
      const terminal = terminalOf(command);
      const out = flags.out ?? basename(file).replace(/\.onnx$/i, '') + '.assay';
      checkWritable(out);
      const model = readOnnx(readInputFile(file), file);
      const dims = flags.dim ?? {};
      const [calibration, heldOut] = chooseSamples(file, model, dims, flags);
      const progress = terminal.progress(`compiling ${basename(file)}`, null);
      const bundle = compileModel(model, {
        calibration,
        ...(heldOut === undefined ? {} : { heldOut }),
        dims,
        calibrationMethod: flags.method,
        accumulator: flags.float32Accumulators ? 'float32' : 'split',
        commitEvery: flags.commitEvery,
        onProgress: ({ done }) => progress.update(done),
      });
      progress.done();
      const bytes = encodeBundle(bundle);
      writeOutputFile(out, bytes);
      terminal.result(
        { bundle: out, digest: bundle.digest, sizeBytes: bytes.length, report: bundle.report },
        `${reportText(bundle)}\n\nwrote ${out} (${bytes.length} bytes)\nmodel digest ${bundle.digest}`,
      );
    });
}

function chooseSamples(
  file: string,
  model: OnnxModel,
  dims: Record<string, number>,
  flags: CompileFlags,
): [Samples, Samples | undefined] {
  const shipped = shippedModels().find((candidate) => candidate.name === basename(file).replace(/\.onnx$/i, ''));
  if (flags.calibration === 'shipped' && shipped !== undefined) {
    return [calibrationSamples(shipped.name, flags.samples), heldOutSamples(shipped.name, flags.samples).samples];
  }
  const { inputs } = prepareSupported(model, dims).model;
  const heldOut = flags.heldOut === undefined ? undefined : readSamples(flags.heldOut, inputs);
  return [readSamples(flags.calibration, inputs).slice(0, flags.samples), heldOut];
}
