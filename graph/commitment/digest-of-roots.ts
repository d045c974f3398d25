/** The preimage of a model's digest (model-digest.ts), apart from the model: a verifier in a browser needs no more. */
import { AssayError } from '../../common/errors.js';
import { fromHex, Preimage, toHex } from './encoding.js';
import { HASH_BYTES } from './merkle.js';

const ARITHMETIC_INTEGER = 1;
const ZERO_HASH = new Uint8Array(HASH_BYTES);

export interface ModelRoots {
  readonly graphRoot: string;
  readonly weightsRoot: string;
  readonly opCount: number;
  readonly digest: string;
}

/**
 * The digest from its preimage, for those who hold a model's key and not the model.
 * @param modelKeyHash 0x-hex of 32 bytes; absent where the model has no key.
 * @throws AssayError GRAPH_INVALID where a root is not 32 bytes of hex.
 */
export function digestOfRoots(roots: Omit<ModelRoots, 'digest'>, modelKeyHash?: string): string {
  const bytes = (name: string, hex: string): Uint8Array => {
    const value = fromHex(hex, HASH_BYTES);
    if (value === null)
      throw new AssayError('GRAPH_INVALID', `${name} '${hex}' is not 0x and ${2 * HASH_BYTES} hex digits`);
    return value;
  };
  const digest = new Preimage()
    .raw(new TextEncoder().encode('assay/model/1'))
    .u8(ARITHMETIC_INTEGER)
    .raw(bytes('graphRoot', roots.graphRoot))
    .raw(bytes('weightsRoot', roots.weightsRoot))
    .u32(roots.opCount)
    .raw(ZERO_HASH)
    .raw(modelKeyHash === undefined ? ZERO_HASH : bytes('modelKeyHash', modelKeyHash))
    .hash();
  return toHex(digest);
}
