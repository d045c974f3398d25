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
