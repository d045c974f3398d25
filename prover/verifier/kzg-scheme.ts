/** The commitment schemes of real proofs: KZG commitments, opened by Mercury or HyperKZG. */
import { hyperKzg } from '../opening/hyperkzg.js';
import { mercury } from '../opening/mercury.js';
import type { OpeningKey, OpeningScheme } from '../opening/types.js';
import { verifyOpening } from '../opening/verify.js';
import type { CommitmentScheme } from './scheme.js';

/** Bytes in a proof's header. */
export const SCHEME_CODE: Readonly<Record<OpeningScheme['name'], number>> = { mercury: 1, hyperkzg: 2 };

export function kzgScheme(name: OpeningScheme['name'], key: OpeningKey): CommitmentScheme {
  const scheme = name === 'mercury' ? mercury : hyperKzg;
  return {
    name,
    code: SCHEME_CODE[name],
    srsId: key.srsId,
    openingBytes: (n) => scheme.proofBytes(n),
    verify: (transcript, claim, opening) => verifyOpening(scheme, transcript, claim, opening, key),
  };
}
