/** The verification key in the form that snarkjs and its tools read. */
import type { VerificationKey } from './read-zkey.js';

/** An object for `JSON.stringify`; every number a decimal string, points projective with last coordinate 1. */
export function snarkjsKey({ alphaG1, betaG2, gammaG2, deltaG2, publicPoints }: VerificationKey) {
  const g1 = (point: readonly bigint[]): string[] => [...point.map(String), '1'];
  const g2 = (point: readonly (readonly bigint[])[]): string[][] => [...point.map((c) => c.map(String)), ['1', '0']];
  return {
    protocol: 'groth16',
    curve: 'bn128',
    nPublic: publicPoints.length - 1,
    vk_alpha_1: g1(alphaG1),
    vk_beta_2: g2(betaG2),
    vk_gamma_2: g2(gammaG2),
    vk_delta_2: g2(deltaG2),
    IC: publicPoints.map(g1),
  };
}
