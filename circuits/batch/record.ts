/**
 * What a contract is told of a circuit, once, at its deployment: the key, n, and the programs that the circuit checks. The
 * bytes that verifier-contracts/src/batch/BatchRecord.sol reads, packed, big endian; points of G2 as in EIP-197:
 *
 *   alpha 64 | beta 128 | delta 128 | points of the constant, c, E and rho 64 each
 *   | uint8 n | uint8 columns of a proof | uint8 groups
 *   | per group: program hash 32 | uint16 receipts | uint32 items of a receipt | uint8 columns of the model | uint8 outputs
 *     | per output: uint8 size | header of its tensor | uint32 published | uint32 side | uint32 inner
 *
 * gamma is H, as snarkjs makes every key. keyHash = keccak256 of it. `side` is that of an arg-max at the end of the model, 0 where there is none, `inner` the
 * elements of the axes inside.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { AssayError } from '../../common/errors.js';
import { encodeHeader, tensorHeader, type CommittedInfo } from '../../graph/commitment/tensor-root.js';
import { sizeOf } from '../../graph/tensor.js';
import { G2_GENERATOR } from '../../prover/curve/g2.js';
import { ByteWriter } from '../../prover/files/bytes.js';
import { toBytes } from '../../prover/field/fr.js';
import { programHash } from '../../prover/program/encode-program.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { proofShape } from '../../prover/verifier/proof.js';
import type { G1Coordinates, G2Coordinates } from '../prove/groth16-proof.js';
import type { VerificationKey } from '../setup/read-zkey.js';
import { batchPlan } from './statement.js';
import type { BatchShape } from './types.js';

/** Signals of the circuit: c, E, rho. */
const PUBLIC_SIGNALS = 3;

export const g1Bytes = ([x, y]: G1Coordinates): Uint8Array[] => [toBytes(x), toBytes(y)];
export const g2Bytes = ([x, y]: G2Coordinates): Uint8Array[] => [x[1], x[0], y[1], y[0]].map(toBytes);

/** Tensors that the graph of each group gives, in the order of its outputs: what receipts' output roots bind. */
export type OutputPorts = readonly (readonly CommittedInfo[])[];

/**
 * @throws AssayError BATCH_SHAPE where an output is committed to in another order than that of its axes, or the key is for
 * another circuit.
 */
export function encodeRecord(shape: BatchShape, key: VerificationKey, ports: OutputPorts): Uint8Array {
  if (key.publicPoints.length !== PUBLIC_SIGNALS + 1)
    throw new AssayError(
      'BATCH_SHAPE',
      `a key for ${key.publicPoints.length - 1} public signals: the circuit of a batch has ${PUBLIC_SIGNALS}`,
    );
  if (!isGenerator(key.gammaG2))
    throw new AssayError('CIRCUIT_KEY_INVALID', 'gamma is not the generator of G2: snarkjs makes no such key');
  const plan = batchPlan(shape);
  const { witness, helpers } = proofShape(plan, productShape(plan), 0);
  const fits = (what: string, count: number, most: number): void => {
    if (count > most)
      throw new AssayError('BATCH_SHAPE', `${count} ${what}: the record of a circuit has room for ${most}`);
  };
  fits('columns of a proof', witness + helpers, 255);
  fits('groups', shape.groups.length, 255);
  shape.groups.forEach(({ program, receipts }, g) => {
    fits(`receipts in group ${g}`, receipts, 65_535);
    fits(`columns of the model of group ${g}`, plan.groups[g]!.modelChunks, 255);
    fits(`outputs of group ${g}`, program.outputs.length, 255);
  });
  const out = new ByteWriter();
  const points = [g1Bytes(key.alphaG1), ...[key.betaG2, key.deltaG2].map(g2Bytes), ...key.publicPoints.map(g1Bytes)];
  points.flat().forEach((bytes) => out.raw(bytes));
  out
    .u8(shape.n)
    .u8(witness + helpers)
    .u8(shape.groups.length);
  shape.groups.forEach(({ program, receipts, itemsPerReceipt }, g) => {
    out.raw(programHash(program)).u16(receipts).u32(itemsPerReceipt).u8(plan.groups[g]!.modelChunks);
    out.u8(program.outputs.length);
    program.outputs.forEach(({ expression: { axes }, argMaxAxis }, i) => {
      const info = ports[g]![i]!;
      requireOrdered(info, g, i);
      const header = encodeHeader(tensorHeader(info, itemsPerReceipt));
      out
        .u8(header.length)
        .raw(header)
        .u32(itemsPerReceipt * sizeOf(axes));
      out
        .u32(argMaxAxis === null ? 0 : axes[argMaxAxis]!)
        .u32(argMaxAxis === null ? 1 : sizeOf(axes.slice(argMaxAxis + 1)));
    });
  });
  return out.done();
}

function isGenerator([x, y]: G2Coordinates): boolean {
  const generator = G2_GENERATOR.toAffine();
  return x[0] === generator.x.c0 && x[1] === generator.x.c1 && y[0] === generator.y.c0 && y[1] === generator.y.c1;
}

export const recordHash = (record: Uint8Array): Uint8Array => keccak_256(record);

/** The contract copies published integers as they come. */
function requireOrdered(info: CommittedInfo, group: number, output: number): void {
  const { shape, layout } = info;
  const long = layout.filter((axis) => shape[axis]! > 1);
  if (long.some((axis, i) => i > 0 && axis < long[i - 1]!))
    throw new AssayError(
      'BATCH_SHAPE',
      `group ${group}: output ${output} is committed to with its axes in the order ${layout.join(', ')}; a batch takes outputs in row-major order`,
    );
}
