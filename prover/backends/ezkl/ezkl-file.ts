/**
 * Files of EZKL's proofs and keys. They name their proof system, so that nobody takes them for proofs of the integer graph:
 * `checkProof` refuses them by their first bytes, and no contract of Assay reads them.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { AssayError } from '../../../common/errors.js';
import { packageRoot } from '../../../common/package-root.js';
import { FR_MODULUS } from '../../field/bn254.params.js';
import { EZKL_VERSION, type Ezkl } from './ezkl.js';

export const EZKL_PROOF_SYSTEM = `ezkl/${EZKL_VERSION}`;

/** The reference string of this machine for 2^logrows rows: made by EZKL, whose secret is thrown away. */
export const ezklSrsFile = (logrows: number): string =>
  fileURLToPath(new URL(`.cache/ezkl/srs/${logrows}.srs`, packageRoot()));

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const head = {
  proofSystem: z.string(),
  /** sha256 of the ONNX file. */
  modelHash: hash,
  target: z.enum(['resources', 'accuracy']),
};
const keySchema = z.strictObject({
  ...head,
  logrows: z.int().min(1).max(28),
  /** EZKL's settings, as it wrote them. */
  settings: z.string(),
  vk: z.base64(),
  /** sha256 of the reference string. */
  srsHash: hash,
});
const proofSchema = z.strictObject({
  ...head,
  /** EZKL's own file. */
  proof: z.string(),
});

export type EzklKeyFile = z.infer<typeof keySchema>;
export type EzklProofFile = z.infer<typeof proofSchema>;

export const encodeEzklFile = (file: EzklKeyFile | EzklProofFile): Uint8Array =>
  new TextEncoder().encode(`${JSON.stringify(file, null, 1)}\n`);

/** @throws AssayError MODEL_KEY_INVALID. */
export const decodeEzklKey = (bytes: Uint8Array, name: string): EzklKeyFile =>
  decode(keySchema, bytes, name, 'MODEL_KEY_INVALID');

/** @throws AssayError PROOF_INVALID. */
export const decodeEzklProof = (bytes: Uint8Array, name: string): EzklProofFile =>
  decode(proofSchema, bytes, name, 'PROOF_INVALID');

/** A file of ours begins with other bytes, so one that is JSON with a proof system is of another. */
export function isEzklFile(bytes: Uint8Array): boolean {
  return /^\s*\{\s*"proofSystem"/.test(new TextDecoder().decode(bytes.subarray(0, 64)));
}

function decode<T extends { proofSystem: string }>(
  schema: z.ZodType<T>,
  bytes: Uint8Array,
  name: string,
  code: 'MODEL_KEY_INVALID' | 'PROOF_INVALID',
): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new AssayError(code, `${name} is no file of EZKL's`, { cause });
  }
  const read = schema.safeParse(value);
  if (!read.success) {
    const { path, message } = read.error.issues[0]!;
    throw new AssayError(code, `${name}: ${path.join('.')}: ${message}`);
  }
  if (read.data.proofSystem !== EZKL_PROOF_SYSTEM)
    throw new AssayError(code, `${name} is of ${read.data.proofSystem}, expected ${EZKL_PROOF_SYSTEM}`);
  return read.data;
}

/** What a proof is about: its public numbers, rescaled to reals. */
export interface EzklStatement {
  /** One list for each input of the model. */
  readonly inputs: readonly (readonly number[])[];
  readonly outputs: readonly (readonly number[])[];
}

export type EzklVerdict =
  | ({ readonly verdict: 'valid' } & EzklStatement)
  | { readonly verdict: 'invalid'; readonly reason: string }
  | { readonly verdict: 'undetermined'; readonly reason: string };

/**
 * By EZKL's own verifier. Inputs and outputs are read from the numbers that it checks the proof against: the same file also
 * has them in a readable form, which nothing binds.
 * @throws AssayError PROVER_FAILED where EZKL ended.
 */
export async function verifyEzkl(ezkl: Ezkl, file: EzklProofFile, key: EzklKeyFile): Promise<EzklVerdict> {
  if (file.modelHash !== key.modelHash || file.target !== key.target)
    return {
      verdict: 'undetermined',
      reason: `the key is of model ${key.modelHash} (${key.target}), the proof is about ${file.modelHash} (${file.target})`,
    };
  const srs = ezklSrsFile(key.logrows);
  if (!existsSync(srs) || createHash('sha256').update(readFileSync(srs)).digest('hex') !== key.srsHash)
    return { verdict: 'undetermined', reason: `the reference string ${key.srsHash} of the key is not on this machine` };
  const statement = statementOf(file.proof, key.settings);
  if (statement === null) return { verdict: 'invalid', reason: 'its public numbers are not those of the key' };
  const folder = mkdtempSync(join(tmpdir(), 'assay-ezkl-'));
  const at = (name: string): string => join(folder, name);
  try {
    writeFileSync(at('proof.json'), file.proof);
    writeFileSync(at('settings.json'), key.settings);
    writeFileSync(at('vk'), Buffer.from(key.vk, 'base64'));
    const { valid, reason } = await ezkl.step('verify', {
      proof: at('proof.json'),
      settings: at('settings.json'),
      vk: at('vk'),
      srs,
    });
    return valid
      ? { verdict: 'valid', ...statement }
      : { verdict: 'invalid', reason: `EZKL's verifier: ${reason ?? 'no'}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const instancesSchema = z.object({ instances: z.tuple([z.array(hash)]) });
const shapesSchema = z.object({
  /** Of inputs, then outputs. */
  model_instance_shapes: z.array(z.array(z.int().positive())),
  /** A public number is a real one times 2^scale. */
  model_input_scales: z.array(z.int()),
  model_output_scales: z.array(z.int()),
});

/** Null where the public numbers are not as many as the settings say. */
function statementOf(proof: string, settings: string): EzklStatement | null {
  const instances = instancesSchema.safeParse(parsed(proof));
  const shapes = shapesSchema.safeParse(parsed(settings));
  if (!instances.success || !shapes.success) return null;
  const {
    model_instance_shapes: sides,
    model_input_scales: inputScales,
    model_output_scales: outputScales,
  } = shapes.data;
  const [numbers] = instances.data.instances;
  const scales = [...inputScales, ...outputScales];
  const sizes = sides.map((shape) => shape.reduce((product, side) => product * side, 1));
  if (scales.length !== sides.length || numbers.length !== sizes.reduce((sum, size) => sum + size, 0)) return null;
  let at = 0;
  const tensors = sizes.map((size, i) => {
    const own = numbers.slice(at, (at += size));
    return own.map((number) => Number(signed(number)) / 2 ** scales[i]!);
  });
  return { inputs: tensors.slice(0, inputScales.length), outputs: tensors.slice(inputScales.length) };
}

/** Little-endian hex of an element of the field; the upper half stands for negative numbers. */
function signed(hex: string): bigint {
  const value = BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`);
  return value > FR_MODULUS / 2n ? value - FR_MODULUS : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
