/** Attacks on the readers of keys and proofs: whatever the bytes, there is a typed refusal or a verdict. */
import { AssayError } from '../../common/errors.js';
import { seededRandom } from '../../graph/integer/testing/random-graph.js';
import { makePlan, chunkBits } from '../../prover/plan/plan.js';
import {
  collectClaims,
  operandClaim,
  outputPointBits,
  sharedWeightAt,
  wordPointBits,
} from '../../prover/plan/claims.js';
import { columnCoefficients } from '../../prover/plan/coefficients.js';
import { lookupValueCount, publicPart, unflattenValues } from '../../prover/plan/lookup.js';
import { decodeProgram } from '../../prover/program/decode-program.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import type { Program } from '../../prover/program/types.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { publicValues } from '../../prover/verifier/statement.js';
import { checkProof, decodeModelKey, decodeProofFile, type ModelKeyFile } from '../../prover/verifier/index.js';
import { encodeModelKey, encodeProofFile } from '../../prover/index.js';
import { sizeOf } from '../../graph/tensor.js';
import { mutate } from './mutate.js';

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Names the case where anything but the expected error is thrown. */
function guarded(label: string, run: () => void, codes: readonly string[]): void {
  try {
    run();
  } catch (error) {
    if (error instanceof AssayError && codes.includes(error.code)) return;
    throw new Error(`${label}: ${String(error)}`, { cause: error });
  }
}

/** A changed proof file is refused; the one that is not changed after all is accepted. */
export function attackProof(proof: Uint8Array, key: ModelKeyFile, seed: number): void {
  const bytes = mutate(proof, seededRandom(seed));
  guarded(
    `seed ${seed}`,
    () => {
      const verdict = checkProof(bytes, [key], { acceptDevelopmentSrs: true });
      if ((verdict.verdict === 'valid') !== same(bytes, proof))
        throw new Error(`the verdict is ${JSON.stringify(verdict)}`);
    },
    [],
  );
  guarded(
    `seed ${seed}, proof file`,
    () => {
      if (!same(encodeProofFile(decodeProofFile(bytes, 'proof')), bytes)) throw new Error('another file says the same');
    },
    ['PROOF_INVALID'],
  );
}

/** A changed key file is refused, or is the one file of another key. */
export function attackKey(key: Uint8Array, proof: Uint8Array, seed: number): void {
  const bytes = mutate(key, seededRandom(seed));
  guarded(
    `seed ${seed}, key`,
    () => {
      const decoded = decodeModelKey(bytes, 'key');
      if (!same(encodeModelKey(decoded), bytes)) throw new Error('another file says the same');
      const verdict = checkProof(proof, [decoded], { acceptDevelopmentSrs: true });
      if ((verdict.verdict === 'valid') !== same(bytes, key))
        throw new Error(`the verdict is ${JSON.stringify(verdict)}`);
    },
    ['MODEL_KEY_INVALID'],
  );
}

/**
 * A changed program is refused, or the verifier can do all its work on it. Returns whether it was read.
 */
export function attackProgram(program: Uint8Array, seed: number): boolean {
  const bytes = mutate(program, seededRandom(seed));
  let read = false;
  guarded(
    `seed ${seed}, program`,
    () => {
      const decoded = decodeProgram(bytes);
      read = true;
      if (!same(encodeProgram(decoded), bytes)) throw new Error('another encoding says the same');
      verifierWork(decoded, 3);
    },
    ['MODEL_KEY_INVALID', 'PROOF_LIMITS'],
  );
  return read;
}

/** Everything that a verifier computes from a program, at arbitrary points. */
export function verifierWork(program: Program, items: number): void {
  const lowest = (slot: number, table: number): Int32Array => {
    const { lo } = program.tables[table] as { lo: number };
    return new Int32Array(items * sizeOf(program.witness[slot]!.axes)).fill(lo);
  };
  const statement = {
    groups: [
      {
        key: {
          roots: { graphRoot: '', weightsRoot: '', opCount: 0 },
          srsId: new Uint8Array(32),
          program,
          commitments: [],
        },
        items,
        inputs: program.inputs.map(({ slot, table }) => lowest(slot, table)),
        outputs: program.outputs.map(({ range, expression: { axes } }) =>
          new Int32Array(items * sizeOf(axes)).fill(range.lo),
        ),
      },
    ],
  };
  const plan = makePlan([{ program, items }], Math.min(24, program.modelBits + 2));
  const point = (length: number): bigint[] =>
    Array.from({ length }, (_, i) => (BigInt(i) * 0x9e3779b97f4a7c15f39cc060n + 11n) ** 2n);
  const values = unflattenValues(plan, point(lookupValueCount(plan)));
  publicPart(plan, point(plan.lookupBits), point(plan.lookupBits));
  const claims = collectClaims(
    plan,
    {
      witness: point(plan.lookupBits + chunkBits(plan.witnessChunks)),
      table: point(plan.lookupBits + chunkBits(plan.tableChunks)),
      output: point(outputPointBits(plan)),
      word: point(wordPointBits(plan)),
      lambda: 7n,
    },
    values,
    publicValues(statement),
  );
  const { variables } = productShape(plan);
  const operands = claims.products.flatMap((term) => {
    const rho = point(variables).slice(variables - term.variables);
    sharedWeightAt(plan, term, rho);
    return (['p', 'q'] as const).map((side) => operandClaim(plan, term, side, rho).functionals);
  });
  columnCoefficients(
    plan,
    [claims.direct, ...operands].map((functionals) => ({ scale: 3n, functionals })),
    point(plan.n),
  );
}
