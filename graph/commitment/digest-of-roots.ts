/** The preimage of a model's digest (model-digest.ts), apart from the model: a verifier in a browser needs no more. */
import { AssayError } from '../../common/errors.js';
import { fromHex, Preimage, toHex } from './encoding.js';
import { HASH_BYTES, merkleValue } from './merkle.js';
import { TAG } from './tags.js';

/** What the numbers of a model are; the codes are for ever. */
export const ARITHMETIC = { integer: 1, float32: 2 } as const;
const ZERO_HASH = new Uint8Array(HASH_BYTES);

export interface ModelRoots {
  readonly graphRoot: string;
  readonly weightsRoot: string;
  readonly opCount: number;
  readonly digest: string;
}

export const descriptorLeaf = (bytes: Uint8Array, index: number): Uint8Array =>
  new Preimage().u8(TAG.descriptor).u32(index).u32(bytes.length).raw(bytes).hash();

/** @param leaves of the descriptors, in their order. */
export function graphRootOf(leaves: readonly Uint8Array[]): Uint8Array {
  return new Preimage().u8(TAG.graphRoot).u32(leaves.length).raw(merkleValue(TAG.graphNode, leaves)).hash();
}

/** @param roots of the constants, in order of appearance in descriptors. */
export function weightsRootOf(roots: readonly Uint8Array[]): Uint8Array {
  const leaves = roots.map((root, i) => new Preimage().u8(TAG.constant).u32(i).raw(root).hash());
  return new Preimage().u8(TAG.weightsRoot).u32(roots.length).raw(merkleValue(TAG.weightsNode, leaves)).hash();
}

/**
 * The digest from its preimage, for those who hold a model's key and not the model.
 * @param modelKeyHash 0x-hex of 32 bytes; absent where the model has no key.
 * @param arithmetic one of ARITHMETIC.
 * @throws AssayError GRAPH_INVALID where a root is not 32 bytes of hex.
 */
export function digestOfRoots(
  roots: Omit<ModelRoots, 'digest'>,
  modelKeyHash?: string,
  arithmetic: number = ARITHMETIC.integer,
): string {
  const bytes = (name: string, hex: string): Uint8Array => {
    const value = fromHex(hex, HASH_BYTES);
    if (value === null)
      throw new AssayError('GRAPH_INVALID', `${name} '${hex}' is not 0x and ${2 * HASH_BYTES} hex digits`);
    return value;
  };
  const digest = new Preimage()
    .raw(new TextEncoder().encode('assay/model/1'))
    .u8(arithmetic)
    .raw(bytes('graphRoot', roots.graphRoot))
    .raw(bytes('weightsRoot', roots.weightsRoot))
    .u32(roots.opCount)
    .raw(ZERO_HASH)
    .raw(modelKeyHash === undefined ? ZERO_HASH : bytes('modelKeyHash', modelKeyHash))
    .hash();
  return toHex(digest);
}
