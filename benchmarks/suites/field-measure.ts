/** The prover's arithmetic piece by piece; each result is compared with BigInt arithmetic before it is timed. */
import { AssayError } from '../../common/errors.js';
import { encodeG1, G1_GENERATOR, linearCombination } from '../../prover/curve/g1.js';
import { add, mul, toField } from '../../prover/field/fr.js';
import { openArithmetic } from '../../prover/index.js';
import { SeededRandom } from '../../models/random.js';
import { repeated } from '../timing.js';

export interface FieldTask {
  readonly threads: number;
  readonly repeat: number;
}

/** Milliseconds by name of a multi-scalar multiplication; nanoseconds by name of a vector operation, per element. */
export interface FieldMeasured {
  readonly msmMs: Readonly<Record<string, readonly number[]>>;
  readonly elementNs: Readonly<Record<string, readonly number[]>>;
}

const LENGTH = 2 ** 16;
const MSM_BITS = [14, 16] as const;
/** Rows of the int8 matrix. */
const ROWS = 64;
const SEED = 20261130;

export async function measureField({ threads, repeat }: FieldTask): Promise<FieldMeasured> {
  const arithmetic = await openArithmetic({ threads });
  const { fr, g1, memory } = arithmetic;
  const random = new SeededRandom(SEED);
  const word = (): bigint => BigInt(Math.floor(random.uniform() * 2 ** 32));
  const scalar = (): bigint => toField(Array.from({ length: 8 }, word).reduce((value, w) => (value << 32n) | w, 0n));
  const agree = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected)
      throw new AssayError('INTERNAL', `${what}: found ${String(found)}, expected ${String(expected)}`);
  };
  const base = scalar();
  const a = fr.powers(base, LENGTH);
  const b = fr.powers(scalar(), LENGTH);
  const out = fr.allocate(LENGTH);
  const bytes = Int8Array.from({ length: LENGTH }, () => Math.floor(random.uniform() * 256) - 128);
  const small = fr.ints(bytes);
  const column = { ...a, length: LENGTH / ROWS };
  const probes = [0, 1, 777, LENGTH - 1];

  fr.mul(a, b, out);
  for (const i of probes) agree('mul', fr.at(out, i), mul(fr.at(a, i), fr.at(b, i)));
  const rows = fr.dotRows(small, ROWS, LENGTH / ROWS, column);
  const row = Array.from(bytes.subarray(0, LENGTH / ROWS)).reduce(
    (sum, v, j) => add(sum, mul(toField(v), fr.at(a, j))),
    0n,
  );
  agree('dotRows', fr.at(rows, 0), row);
  const r = scalar();
  const half = LENGTH / 2;
  memory.scoped(() => {
    const folded = fr.fold(fr.copy(a), r);
    agree('fold', fr.at(folded, 5), add(mul(toField(1n - r), fr.at(a, 5)), mul(r, fr.at(a, half + 5))));
  });

  const perElement = (length: number, run: () => unknown): number[] =>
    repeated(Math.max(10, repeat), () => memory.scoped(run)).map((ms) => (1e6 * ms) / length);
  const halfOut = { ...out, length: half };
  const elementNs = {
    fieldMulNs: perElement(LENGTH, () => fr.mul(a, b, out)),
    int8DotNs: perElement(LENGTH, () => fr.dotRows(small, ROWS, LENGTH / ROWS, column)),
    foldNs: perElement(half, () => fr.fold(a, r, halfOut)),
    expandEqNs: perElement(LENGTH, () => fr.expandEq(Array.from({ length: 16 }, () => r))),
  };

  const msmMs: Record<string, number[]> = {};
  const generator = encodeG1(G1_GENERATOR);
  const points = g1.multiplesOf(generator, a);
  for (const bits of MSM_BITS) {
    const length = 2 ** bits;
    const some = { ...points, length };
    for (const [kind, scalars, dot] of [
      ['Full', { ...b, length }, () => fr.dot({ ...a, length }, { ...b, length })],
      ['Int8', { ...small, length }, () => fr.dot({ ...small, length }, { ...a, length })],
    ] as const) {
      // The points are known multiples of one, so the sum is too.
      const expected = encodeG1(linearCombination([G1_GENERATOR], [dot()]));
      agree(`MSM 2^${bits} ${kind}`, g1.msm(some, scalars).join(), expected.join());
      msmMs[`msm${bits}${kind}Ms`] = repeated(repeat, () => memory.scoped(() => g1.msm(some, scalars)));
    }
  }
  await arithmetic.close();
  return { msmMs, elementNs };
}
