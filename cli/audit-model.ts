/**
 * The audit of one model: real proofs about random inputs, each changed in one place at a time; none may be accepted. The
 * forgeries of a lying prover need the reference prover and small models (prover/audit).
 */
import { sizeOf, type Bundle } from '../graph/index.js';
import type { FamilyResult } from '../prover/audit/index.js';
import { Draw } from '../prover/audit/draw.js';
import {
  checkProof,
  decodeProofFile,
  encodeProofFile,
  proofFileOf,
  type ModelKeyFile,
  type ProofFile,
  type ProofFileGroup,
  type ZkProver,
} from '../prover/index.js';
import { HEADER_BYTES, SCALAR_BYTES } from '../prover/verifier/proof.js';

/** Elements of a public tensor that are changed for each seed; all where it has fewer. */
const MOST_ELEMENTS = 32;

const FAMILIES: Readonly<Record<string, (file: ProofFile, draw: Draw) => readonly ProofFile[]>> = {
  'every word of the proof off by one': ({ proof, ...file }) =>
    Array.from({ length: (proof.length - HEADER_BYTES) / SCALAR_BYTES }, (_, word) => ({
      ...file,
      proof: changedByte(proof, HEADER_BYTES + (word + 1) * SCALAR_BYTES - 1, 1),
    })),
  'a bit of every byte of the header': ({ proof, ...file }, draw) =>
    Array.from({ length: HEADER_BYTES }, (_, at) => ({ ...file, proof: changedByte(proof, at, 1 << draw.int(0, 7)) })),
  'a public input off by one': (file, draw) => changedTensors(file, 'inputs', draw),
  'a public output off by one': (file, draw) => changedTensors(file, 'outputs', draw),
  'another context': (file) => [{ ...file, bound: Uint8Array.of(...file.bound, 0) }],
  'one item more or fewer': (file) =>
    [-1, 1]
      .map((step) => withGroup(file, { items: Math.max(1, file.groups[0]!.items + step) }))
      .filter(({ groups }) => groups[0]!.items !== file.groups[0]!.items),
};

/**
 * @param seeds how many random inputs, from 1 on.
 * @param onProgress told the families done so far, over all seeds.
 */
export function auditModel(
  bundle: Bundle,
  prover: ZkProver,
  key: ModelKeyFile,
  seeds: number,
  onProgress: (done: number) => void,
): FamilyResult[] {
  const results = Object.keys(FAMILIES).map((name) => ({
    name,
    seeds,
    attempts: 0,
    accepted: [] as string[],
    crashed: [] as string[],
    refusals: new Map<string, number>(),
  }));
  for (let seed = 1; seed <= seeds; seed++) {
    const draw = new Draw(bundle.digest, seed);
    const inputs = bundle.graph.inputs.map((id) => {
      const { shape, range } = bundle.graph.tensors[id]!;
      return draw.values(sizeOf(shape), range.lo, range.hi);
    });
    const { statement, proof } = prover.prove([{ bundle, items: 1, inputs }]);
    const honest = decodeProofFile(proofFileOf(statement, proof), 'proof');
    results.forEach((result, f) => {
      FAMILIES[result.name]!(honest, draw).forEach((forged, i) => {
        const label = `seed ${seed}, forgery ${i}`;
        result.attempts++;
        try {
          const verdict = checkProof(encodeProofFile(forged), [key], { acceptDevelopmentSrs: true });
          if (verdict.verdict === 'valid') result.accepted.push(label);
          else {
            const reason = verdict.reason.replaceAll(/-?\d+/g, '#');
            result.refusals.set(reason, (result.refusals.get(reason) ?? 0) + 1);
          }
        } catch (error) {
          result.crashed.push(`${label}: ${String(error)}`);
        }
      });
      onProgress((seed - 1) * results.length + f + 1);
    });
  }
  return results;
}

/** Number of families, for progress. */
export const MODEL_FAMILIES = Object.keys(FAMILIES).length;

const changedByte = (bytes: Uint8Array, at: number, mask: number): Uint8Array =>
  bytes.map((byte, i) => (i === at ? byte ^ mask : byte));

const withGroup = (file: ProofFile, change: Partial<ProofFileGroup>): ProofFile => ({
  ...file,
  groups: [{ ...file.groups[0]!, ...change }],
});

function changedTensors(file: ProofFile, side: 'inputs' | 'outputs', draw: Draw): ProofFile[] {
  const tensors = file.groups[0]![side];
  return tensors.flatMap((values, t) => {
    const all = Array.from(values.keys());
    const chosen = all.length <= MOST_ELEMENTS ? all : draw.shuffled(all).slice(0, MOST_ELEMENTS);
    return chosen.map((at) => {
      // Towards 0, so that most changes stay inside the range and are left to the proof.
      const changed = values.map((v, i) => (i === at ? v + (v > 0 ? -1 : 1) : v));
      return withGroup(file, { [side]: tensors.map((own, i) => (i === t ? changed : own)) });
    });
  });
}
