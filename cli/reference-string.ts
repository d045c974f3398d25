/** The reference string that a command proves or checks with: a file, or the development one by express wish. */
import { Option, type Command } from 'commander';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../common/errors.js';
import type { Bundle } from '../graph/index.js';
import {
  decodeSrs,
  developmentSrs,
  isDevelopmentSrs,
  openArithmetic,
  predictJob,
  requireProductionSrs,
  srsIdOf,
  srsSize,
  ZkProver,
  type Arithmetic,
  type ModelKeyFile,
  type Srs,
} from '../prover/index.js';
import { readInputFile } from './files.js';
import { withoutKey } from './without-key.js';

export interface SrsFlags {
  srs?: string;
  devSrs?: true;
}

export const withSrsOptions = (command: Command): Command =>
  command
    .addOption(new Option('--srs <file>', 'the reference string: written by `assay srs import`').conflicts('devSrs'))
    .option('--dev-srs', 'use the development reference string: anybody can forge proofs under it');

/**
 * The reference string named by the flags.
 * @param points how many are needed.
 * @throws AssayError SRS_INVALID for none or an unsound one, SRS_DEVELOPMENT for a development one that was not asked
 * for, SRS_TOO_SMALL.
 */
export function openSrs(flags: SrsFlags, points: number, arithmetic: Arithmetic): Srs {
  if (flags.devSrs === true) return developmentSrs(points, { arithmetic });
  if (flags.srs === undefined)
    throw new AssayError('SRS_INVALID', 'no reference string was given', {
      mend: 'Give --srs FILE (`assay srs import` writes it from a public ceremony), or --dev-srs for a proof that only shows the way.',
    });
  const srs = decodeSrs(readInputFile(flags.srs), flags.srs);
  requireProductionSrs(srsIdOf(srs), undefined);
  if (srsSize(srs) < points)
    throw new AssayError('SRS_TOO_SMALL', `${flags.srs} has ${srsSize(srs)} points, ${points} are needed`, {
      meta: { file: flags.srs, expected: points, found: srsSize(srs) },
    });
  return srs;
}

/**
 * The key of a model under the reference string named by the flags, whichever key the bundle itself names.
 * @throws AssayError as openSrs; NOT_PROVABLE.
 */
export async function keyOfBundle(flags: SrsFlags, bundle: Bundle): Promise<ModelKeyFile> {
  const arithmetic = await openArithmetic();
  try {
    const srs = openSrs(flags, predictJob(bundle.graph, 1).srsPoints, arithmetic);
    return { key: new ZkProver({ arithmetic, srs }).keyOf(withoutKey(bundle)), srs };
  } finally {
    await arithmetic.close();
  }
}

/** The reference string of a key, for whoever has to know on whose ceremony a verdict rests. */
export function describeSrs({ key }: ModelKeyFile): { srsId: string; development: boolean; text: string } {
  const srsId = `0x${bytesToHex(key.srsId)}`;
  const development = isDevelopmentSrs(key.srsId);
  const warning = development ? ', the development one: anybody can forge such a proof' : '';
  return { srsId, development, text: `under the reference string ${srsId}${warning}` };
}
