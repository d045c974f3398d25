import { Command, Option } from 'commander';
import { AssayError } from '../../common/errors.js';
import { chooseEngine, ENGINE_NAMES, executeJob, type EngineName } from '../../executor/index.js';
import {
  decodeBundle,
  decodeOutputs,
  encodeInputs,
  committedTensors,
  type Bundle,
  type Samples,
  type Tensor,
} from '../../graph/index.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { readSamples } from '../samples.js';
import type { Terminal } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface RunFlags {
  input: string;
  engine?: EngineName;
  threads?: number;
  trace?: string;
}

export function runCommand(): Command {
  return new Command('run')
    .description('Run a bundle on inputs: prints the outputs and the roots that a receipt commits to.')
    .argument('<bundle>', 'a bundle (.assay)')
    .requiredOption('-i, --input <file>', 'a .npy, .npz or .json file of one or more samples')
    .addOption(
      new Option('-e, --engine <name>', 'engine to run on (default: the best exact one here)').choices(ENGINE_NAMES),
    )
    .option('--threads <count>', 'CPU threads of one operator', wholeNumber)
    .option('--trace <file>', 'write every materialised tensor, one JSON line each')
    .action(async (file: string, flags: RunFlags, command: Command) => {
      const terminal = terminalOf(command);
      if (flags.trace !== undefined) checkWritable(flags.trace);
      const bundle = decodeBundle(readInputFile(file), file);
      const samples = readSamples(flags.input, bundle.inputs);
      if (samples.length === 0) throw new AssayError('SAMPLES_INVALID', `${flags.input}: holds no sample`);
      const { engine, results } = await runSamples(bundle, samples, flags, terminal);
      if (flags.trace !== undefined) {
        writeOutputFile(
          flags.trace,
          traceLines(
            bundle,
            results.map(({ slots }) => slots),
          ),
        );
      }
      terminal.result(
        {
          modelDigest: bundle.digest,
          engine: engine.name,
          version: engine.version,
          results: results.map(({ outputs, integers, roots }) => ({ outputs, integers, ...roots })),
        },
        results
          .map(({ outputs, roots }, i) => {
            const lines = outputs.map(
              ({ name, values }) => `${name}: ${values.map((v) => Number(v.toPrecision(6))).join(', ')}`,
            );
            return `sample ${i}\n  ${lines.join('\n  ')}\n  input root  ${roots.inputRoot}\n  output root ${roots.outputRoot}\n  trace root  ${roots.traceRoot} (${roots.opCount} slots)`;
          })
          .join('\n'),
      );
    });
}

/** Runs every sample on the chosen engine; the engine is closed before this returns. */
async function runSamples(bundle: Bundle, samples: Samples, flags: RunFlags, terminal: Terminal) {
  const { engine, report, missing } = await chooseEngine(flags.engine ?? null, {
    ...(flags.threads === undefined ? {} : { threads: flags.threads }),
  });
  try {
    for (const { name, reason } of missing) terminal.note(`  not ${name}: ${reason}`);
    if (report.deviceClass === 'float-only') {
      throw new AssayError('ENGINE_NOT_EXACT', `engine ${engine.name} failed its self-test, so it cannot run a bundle`);
    }
    const session = await engine.loadExact(bundle, { convolution: report.deviceClass === 'exact' ? 'conv' : 'im2col' });
    try {
      const progress = terminal.progress(`running on ${engine.name}`, samples.length);
      const results = [];
      for (const sample of samples) {
        const { values, items } = encodeInputs(bundle, sample);
        const { outputs, slots, ...roots } = await executeJob(session, bundle, values, items);
        results.push({
          outputs: plainOutputs(decodeOutputs(bundle, outputs, items)),
          integers: outputs.map((o) => [...o]),
          roots,
          slots,
        });
        progress.update(results.length);
      }
      progress.done();
      return { engine, results };
    } finally {
      await session.close();
    }
  } finally {
    await engine.close();
  }
}

function plainOutputs(
  outputs: ReadonlyMap<string, Tensor>,
): { name: string; shape: readonly number[]; values: number[] }[] {
  return [...outputs].map(([name, { shape, data }]) => ({
    name,
    shape,
    values: Array.from(data as ArrayLike<number | bigint>, Number),
  }));
}

function traceLines(bundle: Bundle, samples: readonly (readonly Int32Array[])[]): string {
  const { graph, committedSlots } = bundle;
  const tensors = committedTensors(graph, committedSlots);
  return samples
    .flatMap((values, sample) =>
      values.map((slot, i) => {
        const { name, shape } = graph.tensors[tensors[i]!]!;
        return `${JSON.stringify({ sample, slot: committedSlots?.[i] ?? i, tensor: name, shape, values: [...slot] })}\n`;
      }),
    )
    .join('');
}
