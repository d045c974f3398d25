/** Changes of one place in a proof and its public values, and what TypeScript says of the changed whole. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AssayError } from '../../common/errors.js';
import type { Draw } from '../../prover/audit/draw.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes, toBytes } from '../../prover/field/fr.js';
import { decodeProgram } from '../../prover/program/decode-program.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import type { CommitmentScheme } from '../../prover/verifier/scheme.js';
import { verifyProof } from '../../prover/verifier/verify-proof.js';
import { evidenceOf, type DirectJob } from './direct-fixture.js';

/** What is changed, the evidence that says so, and whether verifyProof() accepts it. */
export interface Mutation {
  readonly what: string;
  readonly evidence: Uint8Array;
  /** Bytes in place of the program, which may be none; published before, the contract would know them. */
  readonly program?: Uint8Array;
  readonly isAccepted: boolean;
}

/** Bytes of the evidence before the program's hash: context, graph root, weights root. */
const PROGRAM_HASH_AT = 96;

export const acceptedByTypeScript = ({ group, context, proof }: DirectJob, scheme: CommitmentScheme): boolean => {
  try {
    verifyProof({ groups: [group] }, proof, scheme, context);
    return true;
  } catch (error) {
    if (error instanceof AssayError && error.kind !== 'internal') return false;
    throw error;
  }
};

/** One byte by another, or one word by one that differs in a way that arithmetic might forgive. */
function changed(bytes: Uint8Array, draw: Draw, words: readonly number[] = []): { bytes: Uint8Array; place: string } {
  const copy = bytes.slice();
  if (words.length > 0 && draw.chance(0.6)) {
    const at = draw.pick(words);
    const old = fromBytes(copy.subarray(at, at + 32));
    const value = draw.pick([
      old + FR_MODULUS,
      (old + 1n) % FR_MODULUS,
      (FR_MODULUS - (old % FR_MODULUS)) % FR_MODULUS,
      0n,
      draw.field(),
    ]);
    if (value < 1n << 256n && value !== old) {
      copy.set(toBytes(value), at);
      return { bytes: copy, place: `word at ${at}` };
    }
  }
  const at = draw.int(0, copy.length - 1);
  copy[at]! ^= draw.int(1, 255);
  return { bytes: copy, place: `byte ${at}` };
}

/** Proof bytes that begin a word: behind the header of 11. */
const proofWords = (proof: Uint8Array): number[] =>
  Array.from({ length: (proof.length - 11) / 32 }, (_, i) => 11 + 32 * i);

export function mutateJob(job: DirectJob, draw: Draw, scheme: CommitmentScheme): Mutation {
  const { group } = job;
  const of = (what: string, own: DirectJob): Mutation => ({
    what,
    evidence: evidenceOf(own),
    isAccepted: acceptedByTypeScript(own, scheme),
  });
  const withGroup = (what: string, own: Partial<DirectJob['group']>): Mutation =>
    of(what, { ...job, group: { ...group, ...own } });
  switch (draw.pick(['proof', 'proof', 'proof', 'proof', 'length', 'program', 'program', 'key', 'values', 'context'])) {
    case 'proof': {
      const { bytes, place } = changed(job.proof, draw, proofWords(job.proof));
      return of(`proof, ${place}`, { ...job, proof: bytes });
    }
    case 'length': {
      const by = draw.pick([-32, -1, 1, 32]);
      const proof = new Uint8Array(job.proof.length + by);
      proof.set(job.proof.subarray(0, proof.length));
      return of(`proof, ${by} bytes more`, { ...job, proof });
    }
    case 'program': {
      const old = encodeProgram(group.key.program);
      const { bytes, place } = changed(old, draw);
      const evidence = evidenceOf(job);
      evidence.set(keccak_256(bytes), PROGRAM_HASH_AT);
      let isAccepted = false;
      try {
        isAccepted = acceptedByTypeScript(
          { ...job, group: { ...group, key: { ...group.key, program: decodeProgram(bytes) } } },
          scheme,
        );
      } catch (error) {
        if (!(error instanceof AssayError) || error.kind === 'internal') throw error;
      }
      return { what: `program, ${place}`, evidence, program: bytes, isAccepted };
    }
    case 'key': {
      const { key } = group;
      if (key.commitments.length > 0 && draw.chance(0.7)) {
        const c = draw.int(0, key.commitments.length - 1);
        const { bytes, place } = changed(key.commitments[c]!, draw, [0, 32]);
        const commitments = key.commitments.map((own, i) => (i === c ? bytes : own));
        return withGroup(`commitment ${c}, ${place}`, { key: { ...key, commitments } });
      }
      return withGroup('opCount', { key: { ...key, roots: { ...key.roots, opCount: key.roots.opCount + 1 } } });
    }
    case 'values': {
      const side = draw.pick(['inputs', 'outputs'] as const);
      const tensors = group[side].map((values) => values.slice());
      const values = draw.pick(tensors);
      const i = draw.int(0, values.length - 1);
      const { tables, outputs, inputs } = group.key.program;
      const t = tensors.indexOf(values);
      const { lo, hi } =
        side === 'outputs'
          ? outputs[t]!.range
          : (tables[inputs[t]!.table] as { readonly lo: number; readonly hi: number });
      // Inside the range: beyond it there may be no encoding.
      values[i] = values[i]! < hi ? values[i]! + 1 : lo;
      return withGroup(`${side} ${t}, element ${i}`, { [side]: tensors });
    }
    default: {
      const { bytes, place } = changed(job.context, draw);
      return of(`context, ${place}`, { ...job, context: bytes });
    }
  }
}
