/**
 * The one argument of BatchVerifier.verify(), packed, big endian, without gaps:
 *
 *   uint8 record | c 32 | A 64 | B 128 | C 64
 *   | per group: uint16 receipts that count | graph root 32 | weights root 32 | uint32 opCount | model commitments 64 each
 *     | per receipt that counts: context 32 | input commitment 32 | published integers, int32 each
 *     | per other receipt: input commitment 32 | output words 32 each
 *   | commitments of the proof 64 each | e_c 32 each | u 32 each | v* 32 | Mercury 704
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { ByteWriter } from '../../prover/files/bytes.js';
import { toBytes } from '../../prover/field/fr.js';
import type { Groth16Proof } from '../prove/groth16-proof.js';
import type { JointProof } from './prove-joint.js';
import { g1Bytes, g2Bytes } from './record.js';
import { receiptLayout, splitReceipts } from './statement.js';
import type { BatchShape } from './types.js';

/** Of a group: hashes of the orders of the receipts that count, 32 bytes each, the first ones of the group. */
export interface EvidenceGroup {
  readonly contexts: readonly Uint8Array[];
}

/** @param record number of the shape's record in the contract. */
export function encodeEvidence(
  record: number,
  shape: BatchShape,
  { joined, statement, c, opening }: Pick<JointProof, 'joined' | 'statement' | 'c' | 'opening'>,
  proof: Groth16Proof,
  groups: readonly EvidenceGroup[],
): Uint8Array {
  const out = new ByteWriter().u8(record).raw(toBytes(c));
  [...g1Bytes(proof.a), ...g2Bytes(proof.b), ...g1Bytes(proof.c)].forEach((bytes) => out.raw(bytes));
  shape.groups.forEach((group, g) => {
    const { key, outputs } = statement.groups[g]!;
    const { contexts } = groups[g]!;
    out
      .u16(contexts.length)
      .raw(hexToBytes(key.roots.graphRoot.slice(2)))
      .raw(hexToBytes(key.roots.weightsRoot.slice(2)));
    out.u32(key.roots.opCount);
    key.commitments.forEach((commitment) => out.raw(commitment));
    const published = splitReceipts(
      group,
      receiptLayout(group).outputSizes,
      outputs.map((own) => Array.from(own)),
    );
    joined.groups[g]!.receipts.forEach(({ inputCommitment, outputWords }, r) => {
      const context = contexts[r];
      if (context !== undefined) out.raw(context);
      out.raw(toBytes(inputCommitment));
      if (context === undefined) outputWords.forEach((word) => out.raw(toBytes(word)));
      else published[r]!.forEach((value) => out.u32(value >>> 0));
    });
  });
  joined.commitments.forEach((commitment) => out.raw(commitment));
  [...joined.coefficients, ...joined.point, joined.value].forEach((scalar) => out.raw(toBytes(scalar)));
  return out.raw(opening).done();
}
