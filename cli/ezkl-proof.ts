/** `assay prove --backend ezkl` and `assay verify` of what it writes. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { AssayError } from '../common/errors.js';
import { readOnnx } from '../graph/index.js';
import { decodeEzklKey, decodeEzklProof, encodeEzklFile, verifyEzkl } from '../prover/backends/ezkl/ezkl-file.js';
import { EzklProver } from '../prover/backends/ezkl/ezkl-prover.js';
import { Ezkl, type EzklTarget } from '../prover/backends/ezkl/ezkl.js';
import { exitCodeOfVerdict } from './exit-codes.js';
import { readInputFile, writeOutputFile } from './files.js';
import { readSamples } from './samples.js';
import type { Terminal } from './terminal.js';

export interface EzklProveFlags {
  input: string;
  out: string;
  calibration?: string;
  keyOut?: string;
  target: EzklTarget;
  threads?: number;
}

/** Set-up, proof, check; a proof that EZKL's own verifier refuses is not written. */
export async function proveWithEzkl(file: string, flags: EzklProveFlags, terminal: Terminal): Promise<void> {
  const { keyOut } = flags;
  if (flags.calibration === undefined || keyOut === undefined)
    throw new AssayError(
      'SAMPLES_INVALID',
      'EZKL chooses its fixed point on samples and makes a key with every set-up',
      {
        mend: 'Give --calibration FILE with some samples, and --key-out FILE for the key that proofs are checked with.',
      },
    );
  const model = readInputFile(file);
  const ports = readOnnx(model, file).inputs.map(({ name, type, shape }) => ({
    name,
    type,
    shape: shape.map((side) => (typeof side === 'number' ? side : 1)),
  }));
  const [sample, ...more] = readSamples(flags.input, ports);
  if (sample === undefined || more.length > 0)
    throw new AssayError(
      'SAMPLES_INVALID',
      `${flags.input}: holds ${sample ? 1 + more.length : 0} samples, expected one`,
    );
  const calibration = readSamples(flags.calibration, ports);
  const ezkl = await Ezkl.open(flags.threads ?? 2);
  const parent = join(tmpdir(), 'assay-ezkl');
  mkdirSync(parent, { recursive: true });
  const prover = new EzklProver(ezkl, mkdtempSync(join(parent, 'work-')), model, flags.target);
  try {
    const settingUp = terminal.progress('EZKL: calibration and keys', null);
    const { logrows } = await prover.calibrate(calibration);
    await prover.setUp(logrows);
    settingUp.done(`2^${logrows} rows`);
    const proving = terminal.progress('EZKL: proving', null);
    const proof = await prover.prove(sample, logrows);
    proving.done();
    const [proofFile, key] = [prover.proofFile(proof), prover.key(logrows)];
    const verdict = await verifyEzkl(ezkl, proofFile, key);
    if (verdict.verdict !== 'valid') throw new AssayError('PROVER_FAILED', `the new proof: ${verdict.reason}`);
    writeOutputFile(flags.out, encodeEzklFile(proofFile));
    writeOutputFile(keyOut, encodeEzklFile(key));
    const { proofSystem, modelHash } = proofFile;
    terminal.result(
      { proof: flags.out, key: keyOut, proofSystem, modelHash, proofBytes: proof.proofBytes, outputs: verdict.outputs },
      `${outputsLines(verdict.outputs)}\nwrote ${flags.out} and ${keyOut}\nproof system ${proofSystem}: of the float model, in EZKL's fixed point; no receipt and no contract of Assay takes it`,
    );
  } finally {
    await ezkl.close();
    prover.discard();
  }
}

/** @param keyFile null where none was given. */
export async function verifyWithEzkl(file: string, keyFile: string | null, terminal: Terminal): Promise<void> {
  const proof = decodeEzklProof(readInputFile(file), file);
  if (keyFile === null)
    throw new AssayError('MODEL_KEY_INVALID', `${file} is of ${proof.proofSystem}; no key was given to check it with`, {
      mend: 'Give --key FILE, the key that `assay prove --backend ezkl --key-out` wrote.',
    });
  const key = decodeEzklKey(readInputFile(keyFile), keyFile);
  const ezkl = await Ezkl.open(1);
  try {
    const verdict = await verifyEzkl(ezkl, proof, key);
    const { proofSystem, modelHash } = proof;
    terminal.result(
      { file, verdict, proofSystem, modelHash },
      [
        `${verdict.verdict}${'reason' in verdict ? `: ${verdict.reason}` : ''}`,
        `  proof system ${proofSystem}, model ${modelHash}`,
        ...(verdict.verdict === 'valid' ? [outputsLines(verdict.outputs)] : []),
      ].join('\n'),
    );
    process.exitCode = exitCodeOfVerdict(verdict);
  } finally {
    await ezkl.close();
  }
}

const outputsLines = (outputs: readonly (readonly number[])[]): string =>
  outputs.map((values, i) => `  output ${i}: ${values.map((v) => Number(v.toPrecision(6))).join(', ')}`).join('\n');
