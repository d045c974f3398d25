/**
 * Refuses verification keys that prove nothing, before anything relies on them: a contract that is deployed, a file that
 * is published.
 */
import { DEVELOPMENT_CHAIN_ID } from '../../common/development-keys.js';
import { AssayError } from '../../common/errors.js';
import { G1_GENERATOR } from '../../prover/curve/g1.js';
import { G2_GENERATOR, type G2 } from '../../prover/curve/g2.js';
import type { G2Coordinates } from '../prove/groth16-proof.js';
import type { VerificationKey } from './read-zkey.js';
import { DEVELOPMENT_SECRETS } from './secrets.js';

const same = (a: readonly unknown[], b: readonly unknown[]): boolean => String(a.flat(3)) === String(b.flat(3));

function coordinatesOf(point: G2): G2Coordinates {
  const { x, y } = point.toAffine();
  return [
    [x.c0, x.c1],
    [y.c0, y.c1],
  ];
}

/** Was any part of the key made with the development secrets? */
export function isDevelopmentKey(key: VerificationKey): boolean {
  const { alpha, beta, delta } = DEVELOPMENT_SECRETS;
  const { x, y } = G1_GENERATOR.multiply(alpha).toAffine();
  const ofG2 = (scalar: bigint): G2Coordinates => coordinatesOf(G2_GENERATOR.multiply(scalar));
  return same(key.alphaG1, [x, y]) || same(key.betaG2, ofG2(beta)) || same(key.deltaG2, ofG2(delta));
}

/**
 * @param chainId of the chain that is to rely on proofs under this key; undefined where there is none.
 * @throws AssayError CIRCUIT_KEY_INVALID for gamma = delta (anybody can prove anything: phase 2 was left out) and for parts that
 * nobody has contributed to; CIRCUIT_KEY_DEVELOPMENT for a development key anywhere but on the local development chain.
 */
export function requireProductionKey(key: VerificationKey, chainId: bigint | undefined): void {
  if (same(key.gammaG2, key.deltaG2))
    throw new AssayError(
      'CIRCUIT_KEY_INVALID',
      'verification key: gamma and delta are equal, nobody has contributed to it',
    );
  if (same(key.deltaG2, coordinatesOf(G2_GENERATOR)))
    throw new AssayError(
      'CIRCUIT_KEY_INVALID',
      'verification key: delta is the generator, nobody has contributed to it',
    );
  const { x, y } = G1_GENERATOR.toAffine();
  if (same(key.alphaG1, [x, y]) || same(key.betaG2, coordinatesOf(G2_GENERATOR)))
    throw new AssayError(
      'CIRCUIT_KEY_INVALID',
      'verification key: alpha or beta is 1, its powers of tau have no contribution',
    );
  if (chainId !== DEVELOPMENT_CHAIN_ID && isDevelopmentKey(key))
    throw new AssayError(
      'CIRCUIT_KEY_DEVELOPMENT',
      `a development key proves nothing ${chainId === undefined ? 'without a chain' : `on chain ${chainId}`}: its secrets are public`,
      { mend: 'Make the key with a ceremony: circuits/setup/production-setup.ts.' },
    );
}
