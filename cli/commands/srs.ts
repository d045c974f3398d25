import { Command, InvalidArgumentError, Option } from 'commander';
import { AssayError } from '../../common/errors.js';
import { checkPowers } from '../../prover/srs/check-powers.js';
import { isDevelopmentSrs } from '../../prover/srs/development-srs.js';
import type { FilePin } from '../../prover/srs/file-hash.js';
import { makeDevelopmentSrs } from '../../prover/srs/make-development-srs.js';
import { withFile } from '../../prover/srs/open-file.js';
import { readPtau } from '../../prover/srs/read-ptau.js';
import { decodeSrs, encodeSrs } from '../../prover/srs/srs-file.js';
import { srsIdOf, srsSize, type Srs } from '../../prover/srs/srs.js';
import { wasmMsm } from '../../prover/srs/wasm-msm.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { terminalOf, wholeNumber } from './common-options.js';

/** Largest number of points: openings of 24 variables. */
const MAX_SIZE = 2 ** 24;

interface ImportFlags {
  out: string;
  size: number;
  sha256?: string;
  blake2b?: string;
}

export function srsCommand(): Command {
  return new Command('srs')
    .description('Reference strings of the proofs: show one, import one from a ceremony, make the development one.')
    .addCommand(infoCommand())
    .addCommand(importCommand())
    .addCommand(devCommand());
}

function infoCommand(): Command {
  return new Command('info')
    .description('Check a reference string, every point of it, and show what names it.')
    .argument('<file>', 'a file written by `assay srs import` or `assay srs dev`')
    .action(async (file: string, _flags: unknown, command: Command) => {
      const srs = decodeSrs(readInputFile(file), file);
      await withArithmetic((arithmetic) => checkPowers(srs, wasmMsm(arithmetic)));
      const facts = factsOf(srs);
      terminalOf(command).result({ file, ...facts }, `${file}: ${textOf(facts)}`);
    });
}

function importCommand(): Command {
  return new Command('import')
    .description('Take the powers of tau out of a ceremony file (.ptau), checked against its published hash.')
    .argument('<file>', 'a .ptau file for BN254, prepared for phase 2 or not')
    .requiredOption('-o, --out <file>', 'where to write the reference string')
    .option('--size <points>', 'points to take: a proof of n variables needs 2^n', sizeFlag, 2 ** 16)
    .addOption(new Option('--sha256 <hash>', 'the published sha256 of the file').conflicts('blake2b'))
    .option('--blake2b <hash>', 'the published blake2b (64 bytes) of the file')
    .action(async (file: string, flags: ImportFlags, command: Command) => {
      const pin = pinOf(file, flags);
      checkWritable(flags.out);
      const terminal = terminalOf(command);
      const progress = {
        hash: terminal.progress('hashing, bytes', null),
        read: terminal.progress('reading', flags.size),
      };
      const srs = await withArithmetic((arithmetic) =>
        withFile(file, (access) =>
          readPtau(access, {
            size: flags.size,
            pin,
            msm: wasmMsm(arithmetic),
            onProgress: (step, done, total) => {
              progress[step].update(done);
              if (step === 'hash' && done === total) progress.hash.done();
            },
          }),
        ),
      );
      progress.read.done('read and checked');
      finish(command, srs, flags.out);
    });
}

function devCommand(): Command {
  return new Command('dev')
    .description('Write the development reference string. Its secret is public: it proves nothing to anybody else.')
    .requiredOption('-o, --out <file>', 'where to write it')
    .option('--size <points>', 'number of points: a proof of n variables needs 2^n', sizeFlag, 2 ** 16)
    .action(async (flags: { out: string; size: number }, command: Command) => {
      checkWritable(flags.out);
      const progress = terminalOf(command).progress('multiplying', flags.size);
      const srs = await withArithmetic((arithmetic) =>
        makeDevelopmentSrs(flags.size, arithmetic, (done) => progress.update(done)),
      );
      progress.done();
      finish(command, srs, flags.out);
    });
}

function finish(command: Command, srs: Srs, out: string): void {
  const bytes = encodeSrs(srs);
  writeOutputFile(out, bytes);
  const facts = factsOf(srs);
  terminalOf(command).result(
    { out, sizeBytes: bytes.length, ...facts },
    `${textOf(facts)}\nwrote ${out} (${bytes.length} bytes)`,
  );
}

interface SrsFacts {
  readonly srsId: string;
  readonly points: number;
  readonly development: boolean;
}

function factsOf(srs: Srs): SrsFacts {
  const id = srsIdOf(srs);
  return { srsId: `0x${Buffer.from(id).toString('hex')}`, points: srsSize(srs), development: isDevelopmentSrs(id) };
}

const textOf = ({ srsId, points, development }: SrsFacts) =>
  `${points} powers of tau, for proofs of up to ${Math.floor(Math.log2(points))} variables\nsrs id ${srsId}` +
  (development ? '\nDEVELOPMENT ONLY: tau is public, so anybody can forge a proof under it' : '');

function pinOf(file: string, { sha256, blake2b }: ImportFlags): FilePin {
  if (sha256 !== undefined) return { algorithm: 'sha256', hash: sha256 };
  if (blake2b !== undefined) return { algorithm: 'blake2b', hash: blake2b };
  throw new AssayError('SRS_INVALID', `${file}: no hash was given to hold the file against`, {
    mend: 'Give --sha256 or --blake2b with the hash that the ceremony published, not one computed from this copy.',
  });
}

function sizeFlag(flag: string): number {
  const size = wholeNumber(flag);
  if (size < 2 || size > MAX_SIZE) throw new InvalidArgumentError(`expected 2 to ${MAX_SIZE} points, found "${flag}"`);
  return size;
}

async function withArithmetic<T>(use: (arithmetic: Arithmetic) => T | Promise<T>): Promise<T> {
  const arithmetic = await openArithmetic();
  try {
    return await use(arithmetic);
  } finally {
    await arithmetic.close();
  }
}
