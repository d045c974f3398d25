/**
 * HyperKZG: the verifier. The simpler of the two schemes, kept as the cross-check of Mercury.
 *
 * Statement: [f] opens at u to v. With x_i = point[n-1-i] (the variable of index bit i) and f_0 = f:
 *   1. Folds: f_{i+1}[j] = (1 - x_i) f_i[2j] + x_i f_i[2j+1], so f_n is the constant v.
 *      The prover sends C_i = [f_i], i = 1..n-1. Challenge r, not 0.
 *   2. The prover sends a_i = f_i(r), b_i = f_i(-r), c_i = f_i(r^2) for i = 0..n-1. As the even and odd halves of f_i
 *      at r^2 are (a_i + b_i)/2 and (a_i - b_i)/(2r), the fold says, with c_n = v:
 *        2 r c_{i+1} = r (1 - x_i)(a_i + b_i) + x_i (a_i - b_i)                                        for every i.
 *   3. Challenge q. B = sum_i q^i f_i. The prover sends W_1, W_2, W_3 = [(B(X) - B(p)) / (X - p)] at p = r, -r, r^2.
 *   4. Challenge d. With weights 1, d, d^2 on the three equations (tau - p) W = [B] - B(p):
 *        L = (1 + d + d^2) sum_i q^i C_i + r W_1 - r d W_2 + r^2 d^2 W_3 - (B(r) + d B(-r) + d^2 B(r^2)) G1
 *        R = W_1 + d W_2 + d^2 W_3
 * Proof: C_1..C_{n-1} | a | b | c | W_1 W_2 W_3, that is 64 (n + 2) + 96 n bytes.
 *
 * Every fold is opened at both r and -r: without a_i the relation of step 2 could be solved for it and would say
 * nothing. Nothing here bounds deg f: folds of entries beyond N that vanish at u go unseen. That is harmless for a
 * point drawn after the commitment, which is the caller's duty. A zero fold (C_i at infinity) is legal.
 *
 * Source: Bootle, Chiesa, Hu, Orru, "Gemini" (eprint 2022/420), its folding protocol for tensor products, with
 * the three points of each level opened together.
 */
import { G1_BYTES, G1_GENERATOR, linearCombination } from '../curve/g1.js';
import { add, mul, neg, powers, sub } from '../field/fr.js';
import { absorbClaim } from './claim.js';
import { ProofReader, SCALAR_BYTES } from './proof-reader.js';
import type { OpeningScheme } from './types.js';

export const HYPERKZG_TAG = 'assay/opening/hyperkzg/1';

const names = (letter: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${letter}_${from + i}`);

const inner = (left: readonly bigint[], right: readonly bigint[]) =>
  left.reduce((sum, value, i) => add(sum, mul(value, right[i]!)), 0n);

export const hyperKzg: OpeningScheme = {
  name: 'hyperkzg',
  proofBytes: (n) => G1_BYTES * (n - 1 + 3) + SCALAR_BYTES * 3 * n,

  reduce(transcript, claim, proof, srsId) {
    const { n, point, value } = claim;
    const commitment = absorbClaim(HYPERKZG_TAG, transcript, claim, srsId);
    const reader = new ProofReader('hyperkzg', proof, this.proofBytes(n), transcript);

    // Step 1.
    const folds = [commitment, ...reader.points('hyperkzg folds', names('C', 1, n))];
    const r = transcript.challenge('hyperkzg r');
    if (r === 0n) throw reader.refuse('the challenge r is 0');
    const rSquared = mul(r, r);

    // Step 2.
    const atR = reader.scalars('hyperkzg at r', names('a', 0, n));
    const atMinusR = reader.scalars('hyperkzg at -r', names('b', 0, n));
    const atRSquared = reader.scalars('hyperkzg at r^2', names('c', 0, n));
    for (let i = 0; i < n; i++) {
      const x = point[n - 1 - i]!;
      const [a, b, next] = [atR[i]!, atMinusR[i]!, i + 1 < n ? atRSquared[i + 1]! : value];
      const folded = add(mul(mul(r, sub(1n, x)), add(a, b)), mul(x, sub(a, b)));
      if (mul(add(r, r), next) !== folded)
        throw reader.refuse(`fold ${i + 1} of ${n} is not the fold of the one before at coordinate ${n - 1 - i}`);
    }

    // Steps 3 and 4.
    const qPowers = powers(transcript.challenge('hyperkzg q'), n);
    const witnesses = reader.points('hyperkzg witnesses', names('W', 1, 4));
    const d = transcript.challenge('hyperkzg d');
    const weights = powers(d, 3);
    const total = weights.reduce(add);
    const values = [atR, atMinusR, atRSquared].map((row) => inner(qPowers, row));
    const at = [r, neg(r), rSquared];
    return {
      left: linearCombination(
        [...folds, ...witnesses, G1_GENERATOR],
        [
          ...qPowers.map((power) => mul(total, power)),
          ...weights.map((w, i) => mul(w, at[i]!)),
          neg(inner(weights, values)),
        ],
      ),
      right: linearCombination(witnesses, weights),
    };
  },
};
