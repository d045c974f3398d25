/**
 * Checking a proof file with the keys of its models: the one call of a requester, in Node or a browser.
 *
 *   1. each group names a model by digest, and a key with that digest was given
 *   2. the keys agree on one SRS, whose secret is not publicly known, and whose head is sound
 *   3. checking would take a bounded number of steps
 *   4. verifyProof() accepts the proof for the public inputs and outputs of the file
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import type { ModelKeyFile } from '../files/model-key-file.js';
import { decodeProofFile } from '../files/proof-file.js';
import type { OpeningKey } from '../opening/types.js';
import { isDevelopmentSrs } from '../srs/development-srs.js';
import { openingKey, srsIdOf } from '../srs/srs.js';
import { MAX_VERIFIER_STEPS, verifierSteps } from './check-cost.js';
import { requestedOutputs } from './check-outputs.js';
import { kzgScheme, SCHEME_CODE } from './kzg-scheme.js';
import { modelKeyDigest } from './model-key.js';
import { readProofHeader } from './proof.js';
import type { GroupStatement } from './statement.js';
import { verifyProof } from './verify-proof.js';

export interface CheckProofOptions {
  /** Accepts proofs under the development SRS, which anybody can forge: for tests and the local development chain. */
  readonly acceptDevelopmentSrs?: boolean;
  /** What the proof must be bound to; without it any binding is accepted and returned. */
  readonly bound?: Uint8Array;
  /** What a verdict calls the file, such as its path. @default 'proof file' */
  readonly name?: string;
}

/** What a valid proof shows of one group. */
export interface ProvedGroup {
  /** 0x-hex of 32 bytes. */
  readonly modelDigest: string;
  readonly items: number;
  /** Integers of the graph's inputs, item-major. */
  readonly inputs: readonly Int32Array[];
  /** Integers of the graph's outputs, item-major. */
  readonly outputs: readonly Int32Array[];
}

export type ProofVerdict =
  | { readonly verdict: 'valid'; readonly groups: readonly ProvedGroup[]; readonly bound: Uint8Array }
  | { readonly verdict: 'invalid'; readonly reason: string };

const invalid = (reason: string): AssayError => new AssayError('PROOF_INVALID', reason);

/** Opening keys by the SRS they come from: making one takes a pairing. */
const openingKeys = new Map<string, OpeningKey>();

/**
 * @param file the bytes of a proof file.
 * @param keys of the models that the proof may be about, as decodeModelKey() gives them, from whoever is trusted to name
 * the model: the digest of each valid group is returned and is what says which model it is.
 * @returns a verdict for any bytes; only a defect of this code throws.
 */
export function checkProof(
  file: Uint8Array,
  keys: readonly ModelKeyFile[],
  options: CheckProofOptions = {},
): ProofVerdict {
  try {
    return accepted(file, keys, options);
  } catch (error) {
    if (error instanceof AssayError && error.kind !== 'internal') return { verdict: 'invalid', reason: error.message };
    throw error;
  }
}

function accepted(file: Uint8Array, keys: readonly ModelKeyFile[], options: CheckProofOptions): ProofVerdict {
  const { bound, groups, proof } = decodeProofFile(file, options.name ?? 'proof file');
  if (options.bound !== undefined && bytesToHex(options.bound) !== bytesToHex(bound))
    throw invalid(`the proof is bound to 0x${bytesToHex(bound)}, expected 0x${bytesToHex(options.bound)}`);
  const byDigest = new Map(keys.map((own) => [modelKeyDigest(own.key), own]));
  const found = groups.map(({ modelDigest }, g) => {
    const own = byDigest.get(modelDigest);
    if (!own) throw invalid(`group ${g} is about the model ${modelDigest}, whose key was not given`);
    return own;
  });
  const opening = openingKeyOf(found[0]!);
  if (isDevelopmentSrs(opening.srsId) && options.acceptDevelopmentSrs !== true)
    throw invalid(
      'the model key was made with the development SRS, whose secret is public: anybody can forge its proofs',
    );
  const { scheme: code, n } = readProofHeader(proof);
  const steps = found.reduce((sum, { key }, g) => sum + verifierSteps(key.program, groups[g]!.items, n), 0);
  if (steps > MAX_VERIFIER_STEPS)
    throw invalid(`checking the proof would take ${steps} steps; at most ${MAX_VERIFIER_STEPS}`);
  const name = (['mercury', 'hyperkzg'] as const).find((own) => SCHEME_CODE[own] === code);
  if (name === undefined) throw invalid(`the proof names the unknown commitment scheme ${code}`);
  const statement = {
    groups: groups.map(({ items, inputs, outputs }, g): GroupStatement => ({
      key: found[g]!.key,
      items,
      inputs,
      outputs,
    })),
  };
  verifyProof(statement, proof, kzgScheme(name, opening), bound);
  return {
    verdict: 'valid',
    bound,
    groups: groups.map(({ outputs, ...group }, g) => ({
      ...group,
      outputs: requestedOutputs(found[g]!.key.program, group.items, outputs),
    })),
  };
}

function openingKeyOf({ srs }: ModelKeyFile): OpeningKey {
  const id = bytesToHex(srsIdOf(srs));
  const known = openingKeys.get(id) ?? openingKey(srs);
  openingKeys.set(id, known);
  return known;
}
