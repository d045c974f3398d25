/**
 * The verifier of a recursive batch proof, as the contract is (verifier-contracts/src/batch/BatchVerifier.sol), check by
 * check: it reads the evidence by the shape alone, computes x, c's seed, rho and E from it, and asks Groth16 and Mercury.
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { outputRoot } from '../../graph/commitment/trace-root.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes } from '../../prover/field/fr.js';
import { ByteReader } from '../../prover/files/bytes.js';
import { mercury } from '../../prover/opening/mercury.js';
import type { OpeningKey } from '../../prover/opening/types.js';
import { verifyOpening } from '../../prover/opening/verify.js';
import { KeccakTranscript } from '../../prover/transcript/transcript.js';
import { requestedOutputs } from '../../prover/verifier/check-outputs.js';
import { modelKeyDigest, type ModelKey } from '../../prover/verifier/model-key.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { proofShape } from '../../prover/verifier/proof.js';
import { joiningValue } from '../poseidon/joining.js';
import type { Groth16Proof } from '../prove/groth16-proof.js';
import { verifyGroth16 } from '../prove/verify-groth16.js';
import type { VerificationKey } from '../setup/read-zkey.js';
import { packOutputs } from './commitments.js';
import { batchRho, batchSeed, joinedElements, type BatchPlace } from './joined.js';
import { batchPlan, receiptLayout } from './statement.js';
import type { BatchShape, JoinedReceipt } from './types.js';

/** What one receipt's share of the proof shows; the contract's ProvedClaim. */
export interface BatchClaim {
  /** 0x-hex. */
  readonly modelDigest: string;
  readonly items: number;
  /** 0x-hex of the Poseidon commitment. */
  readonly inputRoot: string;
  /** What the proof publishes: one array per output of the program. */
  readonly published: readonly Int32Array[];
  readonly context: Uint8Array;
}

export interface BatchChecker {
  readonly shape: BatchShape;
  readonly key: VerificationKey;
  readonly openingKey: OpeningKey;
  readonly place: BatchPlace;
  /** Number of the record in the contract. */
  readonly record: number;
}

const invalid = (message: string): AssayError => new AssayError('PROOF_INVALID', `batch: ${message}`);

/** @throws AssayError PROOF_INVALID naming what does not hold. */
export function verifyBatch(
  { shape, key, openingKey, place, record }: BatchChecker,
  evidence: Uint8Array,
): BatchClaim[] {
  const plan = batchPlan(shape);
  const columns = proofShape(plan, productShape(plan), 0);
  const reader = new ByteReader(evidence, invalid);
  const scalar = (what: string): bigint => {
    const value = fromBytes(reader.raw(32, what));
    if (value >= FR_MODULUS) throw invalid(`${what} is not below r`);
    return value;
  };
  const coordinate = (what: string): bigint => fromBytes(reader.raw(32, what));
  const named = reader.u8('the number of the record');
  if (named !== record) throw invalid(`it names record ${named}, this is record ${record}`);
  const c = scalar('c');
  const proof = readProof(coordinate);

  const claims: BatchClaim[] = [];
  const groups = shape.groups.map((group, g) => {
    const { program, receipts: room, itemsPerReceipt } = group;
    const layout = receiptLayout(group);
    const counting = reader.u16('a number of receipts');
    if (counting < 1 || counting > room)
      throw invalid(`group ${g}: ${counting} receipts, the circuit has room for 1 to ${room}`);
    const hash = (what: string): string => `0x${bytesToHex(reader.raw(32, what))}`;
    const [graphRoot, weightsRoot] = [hash('the graph root'), hash('the weights root')];
    const roots = { graphRoot, weightsRoot, opCount: reader.u32('the number of operators') } as ModelKey['roots'];
    const commitments = Array.from({ length: plan.groups[g]!.modelChunks }, () => reader.raw(64, 'a model commitment'));
    const modelDigest = modelKeyDigest({ roots, srsId: openingKey.srsId, program, commitments });
    const receipts = Array.from({ length: room }, (_, r): JoinedReceipt => {
      const context = r < counting ? reader.raw(32, 'a context') : null;
      const inputCommitment = scalar('an input commitment');
      if (context === null)
        return {
          inputCommitment,
          outputWords: Array.from({ length: layout.outputWords }, () => scalar('an output word')),
        };
      const published = layout.outputSizes.map((size) =>
        Int32Array.from({ length: itemsPerReceipt * size }, () => reader.u32('an output') | 0),
      );
      const inputRoot = `0x${inputCommitment.toString(16).padStart(64, '0')}`;
      claims.push({ modelDigest, items: itemsPerReceipt, inputRoot, published, context });
      return { inputCommitment, outputWords: packOutputs(published.flatMap((own) => Array.from(own))) };
    });
    return { modelDigest: BigInt(modelDigest), receipts, commitments };
  });
  const commitments = Array.from({ length: columns.witness + columns.helpers }, () => reader.raw(64, 'a commitment'));
  const models = groups.flatMap((group) => group.commitments);
  const coefficients = [...commitments, ...models].map(() => scalar('a coefficient'));
  const point = Array.from({ length: shape.n }, () => scalar('a coordinate of u'));
  const value = scalar('the value at u');
  const opening = reader.raw(mercury.proofBytes(shape.n), 'the opening');
  reader.end();

  const x = joinedElements({ groups, commitments, coefficients, point, value });
  const contexts = claims.map(({ context }) => context);
  const seed = batchSeed(place, c, contexts, x);
  const rho = batchRho(seed);
  verifyGroth16(key, [c, joiningValue(x, rho), rho], proof);
  const transcript = new KeccakTranscript();
  transcript.absorbBytes('batch', seed);
  const all = [...commitments, ...models];
  verifyOpening(mercury, transcript, { n: shape.n, commitments: all, coefficients, point, value }, opening, openingKey);
  return claims;
}

function readProof(coordinate: (what: string) => bigint): Groth16Proof {
  const g1 = (what: string): [bigint, bigint] => [coordinate(what), coordinate(what)];
  const g2 = (what: string): [[bigint, bigint], [bigint, bigint]] => {
    const [x1, x0, y1, y0] = [coordinate(what), coordinate(what), coordinate(what), coordinate(what)];
    return [
      [x0, x1],
      [y0, y1],
    ];
  };
  return { a: g1('A'), b: g2('B'), c: g1('C') };
}

/** The output root that a receipt names for what a claim publishes. */
export function claimedOutputRoot(shape: BatchShape, group: number, graph: IntegerGraph, claim: BatchClaim): string {
  const { program, itemsPerReceipt } = shape.groups[group]!;
  return outputRoot(graph, requestedOutputs(program, itemsPerReceipt, claim.published), itemsPerReceipt);
}
