import { DEVELOPMENT_CHAIN_ID } from '../../common/development-keys.js';
import { AssayError } from '../../common/errors.js';
import { isDevelopmentSrs } from './development-srs.js';

/**
 * @param chainId of the chain that is to rely on proofs under this SRS; undefined where there is none.
 * @throws AssayError SRS_DEVELOPMENT for the development SRS anywhere but on the local development chain.
 */
export function requireProductionSrs(srsId: Uint8Array, chainId: bigint | undefined): void {
  if (isDevelopmentSrs(srsId) && chainId !== DEVELOPMENT_CHAIN_ID)
    throw new AssayError(
      'SRS_DEVELOPMENT',
      `the development SRS proves nothing ${chainId === undefined ? 'without a chain' : `on chain ${chainId}`}: its secret is public`,
    );
}
