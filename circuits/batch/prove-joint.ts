/**
 * The joint proof of a batch: all receipts of all groups under one Poseidon transcript, then x, and the opening on a keccak
 * transcript that is bound to x, to the contract and to the orders (joined.ts).
 */
import { AssayError } from '../../common/errors.js';
import type { Bundle } from '../../graph/bundle/types.js';
import { toField } from '../../prover/field/fr.js';
import { programHash } from '../../prover/program/encode-program.js';
import type { ProofPhase, ProofProtocol, ProofTimings, ProvedPhases } from '../../prover/prover/prove.js';
import type { ZkProver } from '../../prover/prover/zk-prover.js';
import { KeccakTranscript } from '../../prover/transcript/transcript.js';
import { modelKeyDigest } from '../../prover/verifier/model-key.js';
import { publicValues, type Statement } from '../../prover/verifier/statement.js';
import { joiningDigest, joiningValue } from '../poseidon/joining.js';
import { PoseidonTranscript } from '../poseidon/transcript.js';
import type { CircuitInputs } from '../snarkjs/types.js';
import { inputCommitment, packOutputs } from './commitments.js';
import { batchRho, batchSeed, digestLimbs, joinedElements, type BatchPlace } from './joined.js';
import { itemsOf, receiptLayout, shapeHash, splitReceipts } from './statement.js';
import type { BatchGroupShape, BatchShape, Joined, JoinedReceipt } from './types.js';

/** Receipts of one model, at most as many as the circuit has room for, at least one. */
export interface JointGroup {
  readonly bundle: Bundle;
  /** Inputs by receipt: one array per graph input, item-major. */
  readonly receipts: readonly (readonly Int32Array[])[];
  /** Hashes of the receipts' orders, 32 bytes each. */
  readonly contexts: readonly Uint8Array[];
}

export interface JointProof {
  readonly statement: Statement;
  readonly joined: Joined;
  readonly x: readonly bigint[];
  /** The circuit's public signals: c, E, rho. */
  readonly c: bigint;
  readonly e: bigint;
  readonly rho: bigint;
  /** Mercury's, on the seeded transcript. */
  readonly opening: Uint8Array;
  /** What the circuit takes. */
  readonly inputs: CircuitInputs;
  readonly timings: ProofTimings;
}

/**
 * @param place where the proof will be posted: it is valid nowhere else.
 * @throws AssayError BATCH_SHAPE where the jobs do not fit the shape; what ZkProver.prove throws.
 */
export function proveJoint(
  prover: ZkProver,
  shape: BatchShape,
  groups: readonly JointGroup[],
  place: BatchPlace,
  onPhase?: (phase: ProofPhase) => void,
): JointProof {
  requireShape(prover, shape, groups);
  const jobs = groups.map(({ bundle, receipts }, g) => {
    const group = shape.groups[g]!;
    // Room that is left is filled with the last receipt again.
    const filled = Array.from({ length: group.receipts }, (_, r) => receipts[Math.min(r, receipts.length - 1)]!);
    return {
      bundle,
      items: itemsOf(group),
      inputs: bundle.inputs.map((_, i) => concatenate(filled.map((inputs) => inputs[i]!))),
    };
  });
  const contexts = groups.flatMap((group) => group.contexts);
  let joint: Joining | undefined;
  const { statement, phases, opening, timings } = prover.proveWith(
    jobs,
    shape.n,
    (own) => (joint = joinProof(shape, own, place, contexts)).protocol,
    onPhase,
  );
  return { ...joint!.finish(phases), statement, opening, timings };
}

/** A joint proof in the making. */
export interface Joining {
  readonly protocol: ProofProtocol;
  finish(phases: ProvedPhases): Omit<JointProof, 'statement' | 'opening' | 'timings'>;
}

/** How the messages of a joint proof are bound together: the Poseidon transcript, x, and the seed of the opening. */
export function joinProof(
  shape: BatchShape,
  statement: Statement,
  place: BatchPlace,
  contexts: readonly Uint8Array[],
): Joining {
  const digests = statement.groups.map(({ key }) => BigInt(modelKeyDigest(key)));
  const { words, outputs } = publicValues(statement);
  const receipts = shape.groups.map((group, g) =>
    joinReceipts(
      group,
      words[g]!.map((items) => items.flatMap((own) => own.map(([, word]) => word))),
      outputs[g]!.map((output) => Array.from(output, Number)),
    ),
  );
  const transcript = new PoseidonTranscript();
  const join = (
    phases: ProvedPhases,
  ): Omit<JointProof, 'statement' | 'opening' | 'timings' | 'inputs'> & { seed: Uint8Array } => {
    const joined: Joined = {
      groups: digests.map((modelDigest, g) => ({ modelDigest, receipts: receipts[g]! })),
      commitments: [...phases.witness, ...phases.helpers],
      coefficients: phases.coefficients,
      point: phases.point,
      value: phases.value,
    };
    const x = joinedElements(joined);
    const c = joiningDigest(x);
    const seed = batchSeed(place, c, contexts, x);
    const rho = batchRho(seed);
    return { joined, x, c, e: joiningValue(x, rho), rho, seed };
  };
  return {
    protocol: {
      transcript,
      absorbStatement: () => {
        transcript.absorbBytes('batch', shapeHash(shape));
        transcript.absorbScalars('statement', statementElements(digests, receipts));
      },
      openingTranscript: (phases) => {
        const seeded = new KeccakTranscript();
        seeded.absorbBytes('batch', join(phases).seed);
        return seeded;
      },
    },
    finish: (phases) => {
      const { joined, x, c, e, rho } = join(phases);
      return { joined, x, c, e, rho, inputs: circuitInputs(statement, digests, phases, x, rho) };
    },
  };
}

/** The part of x that the statement is: what the transcript absorbs before any commitment. */
export const statementElements = (
  digests: readonly bigint[],
  receipts: readonly (readonly JoinedReceipt[])[],
): bigint[] =>
  digests.flatMap((digest, g) => [
    ...digestLimbs(digest),
    ...receipts[g]!.flatMap((receipt) => [receipt.inputCommitment, ...receipt.outputWords]),
  ]);

/** @param words by input, @param outputs by output, item-major over all receipts of the group. */
function joinReceipts(
  group: BatchGroupShape,
  words: readonly (readonly bigint[])[],
  outputs: readonly (readonly number[])[],
): JoinedReceipt[] {
  const { wordIndices, outputSizes } = receiptLayout(group);
  const perItem = wordIndices.map(({ length }) => length);
  const inputs = splitReceipts(group, perItem, words);
  const published = splitReceipts(group, outputSizes, outputs);
  return inputs.map((own, r) => ({
    inputCommitment: inputCommitment(own),
    outputWords: packOutputs(published[r]!),
  }));
}

function circuitInputs(
  statement: Statement,
  digests: readonly bigint[],
  phases: ProvedPhases,
  x: readonly bigint[],
  rho: bigint,
): CircuitInputs {
  const { words, outputs } = publicValues(statement);
  const columns = phases.witness.length + phases.helpers.length;
  const tail = phases.coefficients.length + phases.point.length + 1;
  return {
    digests: digests.flatMap(digestLimbs),
    words: words.flatMap((group) => group.flatMap((input) => input.flatMap((item) => item.map(([, word]) => word)))),
    outputs: outputs.flatMap((group) => group.flatMap((output) => Array.from(output, toField))),
    limbs: x.slice(x.length - tail - 4 * columns, x.length - tail),
    lookupRounds: phases.lookupRounds.flat(),
    values: phases.values,
    direct: [phases.direct],
    arithmeticRounds: phases.arithmeticRounds.flat(),
    operands: phases.operands,
    openingRounds: phases.openingRounds.flat(),
    rho,
  };
}

function requireShape(prover: ZkProver, shape: BatchShape, groups: readonly JointGroup[]): void {
  const refuse = (message: string): never => {
    throw new AssayError('BATCH_SHAPE', message);
  };
  if (groups.length !== shape.groups.length)
    refuse(`${groups.length} groups of receipts, the circuit is made for ${shape.groups.length}`);
  groups.forEach(({ bundle, receipts, contexts }, g) => {
    const { program, receipts: room } = shape.groups[g]!;
    const own = programHash(prover.keyOf(bundle).program);
    if (!own.every((byte, i) => byte === programHash(program)[i]))
      refuse(`group ${g}: the model ${bundle.digest} has another shape program than the circuit`);
    if (receipts.length < 1 || receipts.length > room)
      refuse(`group ${g}: ${receipts.length} receipts, the circuit has room for 1 to ${room}`);
    if (contexts.length !== receipts.length)
      refuse(`group ${g}: ${contexts.length} contexts for ${receipts.length} receipts`);
  });
}

function concatenate(arrays: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}
