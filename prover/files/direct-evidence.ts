/**
 * What a contract needs to check a proof: the one argument of DirectVerifier.verify(). Packed, big endian, without gaps:
 *
 *   context (32) | graph root (32) | weights root (32) | hash of the program (32) | uint32 opCount | uint32 items
 *   | uint8 n (log2 of the cells of a column) | commitments of the model key (64 each)
 *   | per input:  tensor header (graph/commitment/tensor-root.ts, step 4) | elements as its tensor root has them
 *   | per output: tensor header of what was asked for | published integers, row-major, int32 each
 *   | proof (verifier/proof.ts)
 *
 * The program itself is not here: the contract reads what follows from it from a ProgramStore, where it must have been
 * published for these items and this n (verifier-contracts/program-store-client.ts).
 * All numbers of things follow from the program. There is one encoding of one content, and the contract reads no other:
 * verifier-contracts/src/direct/DirectEvidence.sol.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { elementWidth, encodeElements } from '../../graph/commitment/encoding.js';
import { encodeHeader, inLayout, tensorHeader, type CommittedInfo } from '../../graph/commitment/tensor-root.js';
import { programHash } from '../program/encode-program.js';
import { HEADER_BYTES, readProofHeader } from '../verifier/proof.js';
import type { GroupStatement } from '../verifier/statement.js';
import { ByteWriter } from './bytes.js';

const CONTEXT_BYTES = 32;

/** The tensors of the graph that receipts commit to, in the order of its inputs and outputs. */
export interface CommittedPorts {
  readonly inputs: readonly CommittedInfo[];
  /** Of what was asked for: the labels where the program publishes the operand of an arg-max. */
  readonly outputs: readonly CommittedInfo[];
}

/**
 * @param group the one model that the proof is about; integers item-major, row-major inside an item.
 * @param context what the proof is bound to: the hash of an order, 32 bytes.
 * @param proof for that group and context under Mercury. It is not checked here.
 * @throws AssayError PROOF_LIMITS where the context is no hash; INTERNAL where ports and group do not fit each other.
 */
export function encodeDirectEvidence(
  group: GroupStatement,
  ports: CommittedPorts,
  context: Uint8Array,
  proof: Uint8Array,
): Uint8Array {
  const { key, items, inputs, outputs } = group;
  if (context.length !== CONTEXT_BYTES)
    throw new AssayError('PROOF_LIMITS', `a contract checks proofs bound to 32 bytes, found ${context.length}`);
  if (inputs.length !== ports.inputs.length || outputs.length !== ports.outputs.length)
    throw new AssayError(
      'INTERNAL',
      `${inputs.length} inputs and ${outputs.length} outputs, but ports for ${ports.inputs.length} and ${ports.outputs.length}`,
    );
  const out = new ByteWriter()
    .raw(context)
    .raw(hexToBytes(key.roots.graphRoot.slice(2)))
    .raw(hexToBytes(key.roots.weightsRoot.slice(2)))
    .raw(programHash(key.program))
    .u32(key.roots.opCount)
    .u32(items)
    // The last byte of the proof's header.
    .u8(proof[HEADER_BYTES - 1] ?? 0)
    .raw(concatBytes(...key.commitments));
  inputs.forEach((values, i) => {
    const info = ports.inputs[i]!;
    out.raw(encodeHeader(tensorHeader(info, items)));
    out.raw(encodeElements(inLayout(info, values, items), elementWidth(info.range)));
  });
  outputs.forEach((values, i) => {
    out.raw(encodeHeader(tensorHeader(ports.outputs[i]!, items)));
    out.raw(encodeElements(values, 4));
  });
  return out.raw(proof).done();
}

/** What has to be published before the evidence of a proof is checked: its program, for so many items and that n. */
export interface Publication {
  /** Canonical bytes of the program. */
  readonly program: Uint8Array;
  readonly programHash: `0x${string}`;
  readonly items: number;
  /** log2 of the cells of a column. */
  readonly n: number;
}

/**
 * @param program canonical bytes
 * @param proof of a batch of so many items
 * @throws AssayError PROOF_INVALID where the bytes are no proof
 */
export const publicationOf = (program: Uint8Array, items: number, proof: Uint8Array): Publication => ({
  program,
  programHash: `0x${bytesToHex(keccak_256(program))}`,
  items,
  n: readProofHeader(proof).n,
});
