import { concat, keccak256, toUtf8Bytes } from 'ethers';
import { DEVELOPMENT_CHAIN_ID, isDevelopmentAccount } from '../common/development-keys.js';
import { AssayError } from '../common/errors.js';

/**
 * Stops what would give a publicly known key a say on a real chain: anybody could sign with it.
 * @param addresses of the accounts that are to act
 * @throws AssayError DEV_KEY_REFUSED
 */
export function refuseDevelopmentKeys(chainId: bigint, addresses: readonly string[]): void {
  const known = addresses.find(isDevelopmentAccount);
  if (chainId !== DEVELOPMENT_CHAIN_ID && known !== undefined) {
    throw new AssayError('DEV_KEY_REFUSED', `chain ${chainId}: everybody knows the key of account ${known}`, {
      meta: { chainId: String(chainId), account: known },
    });
  }
}

/** The development SRS by its name (prover/srs/); Srs.sol refuses it too. */
export const DEVELOPMENT_SRS_ID = '0x06db80f7b265f39a9a66f359481662f1d5e77a6bcab76a7c95a7de5d4557c09f';
/** The generators, H of G2 and G1, as an SRS's name has them. */
const H =
  '0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa';
const G1 = `0x${'1'.padStart(64, '0')}${'2'.padStart(64, '0')}`;

/**
 * Stops a verifier for the development SRS on a real chain: its secret is known, so anybody could prove anything.
 * @throws AssayError SRS_DEVELOPMENT
 */
export function refuseDevelopmentSrs(chainId: bigint, srs: { tauG1: Uint8Array; tauG2: Uint8Array }): void {
  const name = keccak256(concat([toUtf8Bytes('assay/srs/1'), H, srs.tauG2, G1, srs.tauG1]));
  if (chainId !== DEVELOPMENT_CHAIN_ID && name === DEVELOPMENT_SRS_ID) {
    throw new AssayError('SRS_DEVELOPMENT', `chain ${chainId}: everybody knows the secret of the development SRS`);
  }
}
