import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { Command, Option } from 'commander';
import { AssayError } from '../../common/errors.js';
import { chooseEngine, ENGINE_NAMES, executeJob, type EngineName } from '../../executor/index.js';
import {
  decodeBundle,
  decodeOutputs,
  encodeInputs,
  slotsOf,
  type Bundle,
  type KnownValue,
  type Tensor,
} from '../../graph/index.js';
import { readInputFile } from '../files.js';
import { readSamples } from '../samples.js';
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
      const bundle = decodeBundle(readInputFile(file), file);
      const samples = readSamples(flags.input, bundle.inputs.map(portValue));
      if (samples.length === 0) throw new AssayError('SAMPLES_INVALID', `${flags.input}: holds no sample`);
      const { engine, report, missing } = await chooseEngine(flags.engine ?? null, {
        ...(flags.threads === undefined ? {} : { threads: flags.threads }),
      });
      for (const { name, reason } of missing) terminal.note(`  not ${name}: ${reason}`);
      if (report.deviceClass === 'float-only') {
        throw new AssayError(
          'ENGINE_NOT_EXACT',
          `engine ${engine.name} failed its self-test, so it cannot run a bundle`,
        );
      }
      const convolution = report.deviceClass === 'exact' ? 'conv' : 'im2col';
      const session = await engine.loadExact(bundle, { convolution });
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
      if (flags.trace !== undefined)
        await writeTrace(
          flags.trace,
          bundle,
          results.map(({ slots }) => slots),
        );
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

/** A port as the value that `readSamples` reads. */
export function portValue({ name, type, shape }: Bundle['inputs'][number]): KnownValue {
  return { name, type, shape };
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

async function writeTrace(file: string, bundle: Bundle, samples: readonly (readonly Int32Array[])[]): Promise<void> {
  const out = createWriteStream(file);
  const slots = slotsOf(bundle.graph);
  samples.forEach((values, sample) =>
    values.forEach((slot, i) => {
      const { name, shape } = bundle.graph.tensors[slots[i]!]!;
      out.write(`${JSON.stringify({ sample, slot: i, tensor: name, shape, values: [...slot] })}\n`);
    }),
  );
  out.end();
  await once(out, 'finish');
}
