/**
 * Mercury: the verifier. A proof of 8 points and 6 scalars whatever n is; the scheme of all proofs that reach a chain.
 *
 * Statement: [f] opens at u to v. The N = 2^n entries of f are read as a matrix of R = 2^ceil(n/2) rows and
 * b = 2^floor(n/2) columns, f(X) = sum F[i][j] X^(b i + j); the first ceil(n/2) coordinates of u belong to the row, the
 * rest to the column. For a point w, P_w(X) = sum_j eq(w, j) X^j = prod_k (w_k X^(2^k) + 1 - w_k), w_k the coordinate
 * of index bit k. <a, c> is the inner product of coefficients.
 *   1. h(X) = sum_i <F[i], P_col> X^i. The prover sends [h]. Challenge alpha.
 *   2. f = (X^b - alpha) q + g, deg g < b, so g_j = sum_i F[i][j] alpha^i. Sends [q], [g]. Challenge gamma.
 *   3. Both inner products <g, P_col> = h(alpha) and <h, P_row> = v in one identity of Laurent polynomials:
 *        g(X) P_col(1/X) + g(1/X) P_col(X) + gamma (h(X) P_row(1/X) + h(1/X) P_row(X))
 *          = 2 (h(alpha) + gamma v) + X s(X) + s(1/X) / X
 *      and d(X) = X^(b-1) g(1/X). Sends [s], [d]. Challenge zeta.
 *   4. Sends g, h, s at zeta and 1/zeta. h(alpha) := what step 3's identity gives at X = zeta;
 *      d(zeta) := zeta^(b-1) g(1/zeta).
 *   5. Sends [t], t = (f - (zeta^b - alpha) q - g(zeta)) / (X - zeta).
 *   6. Batch opening of g, s on {zeta, 1/zeta}, h on T = {zeta, 1/zeta, alpha}, d on {zeta}. Challenge beta. With S_i
 *      the points of the i-th polynomial p_i (order g, h, s, d), Z_S the monic polynomial that vanishes on S and r_i
 *      the interpolation of the claimed values:
 *        W = sum_i beta^i Z_{T-S_i}(X) (p_i(X) - r_i(X)) / Z_T(X).  Sends [W]. Challenge z.
 *        W'= (sum_i beta^i Z_{T-S_i}(z) (p_i(X) - r_i(z)) - Z_T(z) W(X)) / (X - z).  Sends [W'].
 *   7. Challenge rho joins the equations of steps 6 and 5:
 *        L = sum_i beta^i Z_{T-S_i}(z) ([p_i] - r_i(z) G1) - Z_T(z) [W] + z [W']
 *            + rho ([f] - (zeta^b - alpha) [q] - g(zeta) G1 + zeta [t])
 *        R = [W'] + rho [t]
 * Proof: h | q g | s d | g(zeta) g(1/zeta) h(zeta) h(1/zeta) s(zeta) s(1/zeta) t | W | W', 704 bytes.
 *
 * Why it is sound, and why R may differ from b. Let every committed polynomial have a degree below the SRS size D (the
 * algebraic group model); each step fails with a chance of O(D / r).
 *   - Step 5 at a random zeta, after f, q, g are fixed: f = (X^b - alpha) q + g as polynomials.
 *   - d at zeta: d(X) X^-(b-1) = g(1/X), and d is a polynomial, so deg g < b. Hence g is the remainder:
 *     g_j = sum_i f_(b i + j) alpha^i, over all i for which f has coefficients. Only b enters.
 *   - The identity at zeta, after g, h, s are fixed: it holds in X, with h(alpha) the value that step 6 opened. The
 *     coefficient of X^0 of X s(X) + s(1/X)/X is 0, whatever the degree of s. On the left it is
 *     2 sum_{j<b} g_j eq(u_col, j) + 2 gamma sum_{i<R} h_i eq(u_row, i), since P_col has b and P_row has R
 *     coefficients. That holds for any b and R; the longer of the two only decides the degree of an honest s, which is
 *     max(b, R) - 2 (for n = 1: b = 1, R = 2, s a constant, X^b - alpha linear). gamma splits it into both products.
 *   - alpha after h and f: h(X) = sum_i <F[i], P_col> X^i. Rows i >= R of an f with deg f >= N stand in h too, but
 *     <h, P_row> takes only the first R. So f counts as its first N entries, which is why the same commitment must not
 *     be opened at two different n (types.ts).
 *   - zeta = 0 has no inverse, and points that coincide would make r_i ambiguous or Z_T(z) zero: all refused.
 * 1/zeta is computed here; a contract may take it from its caller and check one product.
 *
 * Source: Eagen, Gabizon, "Mercury" (eprint 2025/385), there for square matrices; batch opening of Boneh, Drake,
 * Fisch, Gabizon (eprint 2020/081), section 4.
 */
import { G1_BYTES, G1_GENERATOR, linearCombination } from '../curve/g1.js';
import { add, inverse, mul, neg, pow, powers, sub } from '../field/fr.js';
import { absorbClaim } from './claim.js';
import { ProofReader, SCALAR_BYTES } from './proof-reader.js';
import type { OpeningScheme } from './types.js';

export const MERCURY_TAG = 'assay/opening/mercury/1';

/** The matrix of step 0. @param point n coordinates. */
export function mercuryShape(point: readonly bigint[]): {
  readonly rows: number;
  readonly columns: number;
  readonly rowPoint: readonly bigint[];
  readonly columnPoint: readonly bigint[];
} {
  const rowBits = Math.ceil(point.length / 2);
  return {
    rows: 2 ** rowBits,
    columns: 2 ** (point.length - rowBits),
    rowPoint: point.slice(0, rowBits),
    columnPoint: point.slice(rowBits),
  };
}

/** P_w(x), w most significant coordinate first. */
export function equalityPolynomialAt(w: readonly bigint[], x: bigint): bigint {
  let [product, power] = [1n, x];
  for (const coordinate of [...w].reverse()) {
    product = mul(product, add(mul(coordinate, power), sub(1n, coordinate)));
    power = mul(power, power);
  }
  return product;
}

/** The value at `at` of the polynomial of least degree through (points[i], values[i]); points are distinct. */
export function interpolateAt(points: readonly bigint[], values: readonly bigint[], at: bigint): bigint {
  return points.reduce((sum, point, i) => {
    const others = points.filter((_, j) => j !== i);
    const numerator = others.reduce((product, other) => mul(product, sub(at, other)), values[i]!);
    const denominator = others.reduce((product, other) => mul(product, sub(point, other)), 1n);
    return add(sum, mul(numerator, inverse(denominator)));
  }, 0n);
}

/** Z_S(x): the product of x - s over S. */
export const vanishingAt = (points: readonly bigint[], x: bigint) =>
  points.reduce((product, point) => mul(product, sub(x, point)), 1n);

/** S_i of g, h, s, d; T = S_h. */
export function openedPoints(zeta: bigint, zetaInverse: bigint, alpha: bigint): readonly (readonly bigint[])[] {
  return [[zeta, zetaInverse], [zeta, zetaInverse, alpha], [zeta, zetaInverse], [zeta]];
}

const areDistinct = (values: readonly bigint[]) => new Set(values).size === values.length;

export const mercury: OpeningScheme = {
  name: 'mercury',
  proofBytes: () => 8 * G1_BYTES + 6 * SCALAR_BYTES,

  reduce(transcript, claim, proof, srsId) {
    const f = absorbClaim(MERCURY_TAG, transcript, claim, srsId);
    const { columns: b, rowPoint, columnPoint } = mercuryShape(claim.point);
    const reader = new ProofReader('mercury', proof, this.proofBytes(claim.n), transcript);

    // Steps 1 to 3.
    const [h] = reader.points('mercury rows', ['h']);
    const alpha = transcript.challenge('mercury alpha');
    const [q, g] = reader.points('mercury division', ['q', 'g']);
    const gamma = transcript.challenge('mercury gamma');
    const [s, d] = reader.points('mercury products', ['s', 'd']);
    const zeta = transcript.challenge('mercury zeta');
    if (zeta === 0n) throw reader.refuse('the challenge zeta is 0');
    const zetaInverse = inverse(zeta);
    if (!areDistinct([zeta, zetaInverse, alpha])) throw reader.refuse('zeta, 1/zeta and alpha are not distinct');

    // Step 4.
    const [g1, g2, h1, h2, s1, s2] = reader.scalars('mercury values', [
      'g(zeta)',
      'g(1/zeta)',
      'h(zeta)',
      'h(1/zeta)',
      's(zeta)',
      's(1/zeta)',
    ]) as [bigint, bigint, bigint, bigint, bigint, bigint];
    const products = (w: readonly bigint[], atZeta: bigint, atInverse: bigint) =>
      add(mul(atZeta, equalityPolynomialAt(w, zetaInverse)), mul(atInverse, equalityPolynomialAt(w, zeta)));
    const left = add(products(columnPoint, g1, g2), mul(gamma, products(rowPoint, h1, h2)));
    const right = add(mul(zeta, s1), mul(zetaInverse, s2));
    const hAtAlpha = sub(mul(sub(left, right), inverse(2n)), mul(gamma, claim.value));
    const dAtZeta = mul(pow(zeta, BigInt(b - 1)), g2);

    // Steps 5 and 6.
    const [t] = reader.points('mercury quotient', ['t']);
    const beta = transcript.challenge('mercury beta');
    const [w] = reader.points('mercury batch', ['W']);
    const z = transcript.challenge('mercury z');
    const [wPrime] = reader.points('mercury batch at z', ["W'"]);
    const sets = openedPoints(zeta, zetaInverse, alpha);
    const all = sets[1]!;
    if (all.includes(z)) throw reader.refuse('z is one of zeta, 1/zeta and alpha');
    const values = [[g1, g2], [h1, h2, hAtAlpha], [s1, s2], [dAtZeta]];
    const weights = powers(beta, 4).map((power, i) =>
      mul(
        power,
        vanishingAt(
          all.filter((point) => !sets[i]!.includes(point)),
          z,
        ),
      ),
    );
    const opened = weights.reduce(
      (sum, weight, i) => add(sum, mul(weight, interpolateAt(sets[i]!, values[i]!, z))),
      0n,
    );

    // Step 7.
    const rho = transcript.challenge('mercury rho');
    const binomial = sub(pow(zeta, BigInt(b)), alpha);
    return {
      left: linearCombination(
        [g!, h!, s!, d!, w!, wPrime!, f, q!, t!, G1_GENERATOR],
        [
          ...weights,
          neg(vanishingAt(all, z)),
          z,
          rho,
          neg(mul(rho, binomial)),
          mul(rho, zeta),
          neg(add(opened, mul(rho, g1))),
        ],
      ),
      right: linearCombination([wPrime!, t!], [1n, rho]),
    };
  },
};
