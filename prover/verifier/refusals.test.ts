/** Every check of the verifier refuses what it is there for, and says so. Removing one makes its line here fail. */
import { beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { makeJob, proveJob, type AuditJob } from '../audit/audited-prover.js';
import { randomCase } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { changeGroup } from '../audit/lies.js';
import { plainProver } from '../audit/plain-prover.js';
import { FR_MODULUS } from '../field/bn254.params.js';
import { fromBytes, toBytes } from '../field/fr.js';
import { makePlan, MAX_CHUNKS, MAX_GROUPS, MAX_ITEMS } from '../plan/plan.js';
import type { Program } from '../program/types.js';
import { HEADER_BYTES } from './proof.js';
import type { Statement } from './statement.js';

let job: AuditJob;
let proof: Uint8Array;
beforeAll(async () => {
  job = await makeJob(plainProver, [randomCase('conv', new Draw('refusals', 1), 2)]);
  proof = await proveJob(job);
});

function refusal(statement: Statement, bytes: Uint8Array, bound = job.bound): string {
  try {
    job.prover.verify(statement, bytes, bound);
  } catch (error) {
    if (error instanceof AssayError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const withByte = (at: number, byte: number): Uint8Array => proof.map((b, i) => (i === at ? byte : b));
const changed = (change: Partial<Statement['groups'][number]>): Statement => changeGroup(job.statement, 0, change);
const key = (): Statement['groups'][number]['key'] => job.statement.groups[0]!.key;

describe('the verifier refuses', () => {
  it('nothing of an honest proof', () => {
    expect(refusal(job.statement, proof)).toBe('accepted');
  });

  it.each(Array.from({ length: 8 }, (_, at) => at))('another magic, byte %i', (at) => {
    expect(refusal(job.statement, withByte(at, proof[at]! ^ 1))).toMatch(/^PROOF_INVALID .*not an Assay proof/);
  });

  it('bytes shorter than a header', () => {
    for (let length = 0; length < HEADER_BYTES; length++)
      expect(refusal(job.statement, proof.slice(0, length))).toMatch(/^PROOF_INVALID .*not an Assay proof/);
  });

  it('another version', () => {
    expect(refusal(job.statement, withByte(8, 2))).toMatch(/^PROOF_INVALID .*version 2/);
  });

  it('another commitment scheme', () => {
    expect(refusal(job.statement, withByte(9, 1))).toMatch(/^PROOF_INVALID .*another commitment scheme/);
  });

  it('columns smaller than those of the model, or larger than any', () => {
    for (const n of [0, 7, 25, 255]) expect(refusal(job.statement, withByte(10, n))).toMatch(/columns of 2\^/);
  });

  it('a key of another SRS, also of one whose name only begins like it', () => {
    const { srsId } = key();
    for (const other of [
      srsId.map((b, i) => (i === 31 ? b ^ 1 : b)),
      srsId.slice(0, 31),
      Uint8Array.from([...srsId, 0]),
    ])
      expect(refusal(changed({ key: { ...key(), srsId: other } }), proof)).toMatch(/^PROOF_INVALID .*another SRS/);
  });

  it('a key with a commitment more or fewer', () => {
    const { commitments } = key();
    for (const other of [commitments.slice(1), [...commitments, commitments[0]!]])
      expect(refusal(changed({ key: { ...key(), commitments: other } }), proof)).toMatch(
        /^PROOF_INVALID .*commitments/,
      );
  });

  it('a proof one byte longer or shorter', () => {
    for (const other of [proof.slice(0, -1), Uint8Array.from([...proof, 0])])
      expect(refusal(job.statement, other)).toMatch(/^PROOF_INVALID the proof has \d+ bytes/);
  });

  it('every scalar plus r', () => {
    const first = HEADER_BYTES + 64 * 20;
    let checked = 0;
    for (let at = proof.length - 32; at >= first; at -= 32) {
      const value = fromBytes(proof.subarray(at, at + 32));
      const other = proof.slice();
      other.set(toBytes(value + FR_MODULUS), at);
      // Of the opening's scalars a few: there are thousands.
      if (checked++ % 400 === 0) expect(refusal(job.statement, other)).toMatch(/^PROOF_INVALID .*not below r/);
    }
  });

  it('more or fewer public tensors than the model has', () => {
    const [{ inputs, outputs }] = job.statement.groups as [Statement['groups'][number]];
    for (const other of [[], [...inputs, inputs[0]!]])
      expect(refusal(changed({ inputs: other }), proof)).toMatch(/^PROOF_INVALID .*inputs/);
    for (const other of [[], [...outputs, outputs[0]!]])
      expect(refusal(changed({ outputs: other }), proof)).toMatch(/^PROOF_INVALID .*outputs/);
  });

  it('public tensors of another length', () => {
    const [{ inputs, outputs }] = job.statement.groups as [Statement['groups'][number]];
    for (const resize of [(v: Int32Array) => v.slice(1), (v: Int32Array) => Int32Array.from([...v, v[0]!])]) {
      expect(refusal(changed({ inputs: inputs.map(resize) }), proof)).toMatch(/^PROOF_INVALID input 0 .*elements/);
      expect(refusal(changed({ outputs: outputs.map(resize) }), proof)).toMatch(/^PROOF_INVALID output 0 .*elements/);
    }
  });

  it('public integers below or above their range', () => {
    const [{ inputs, outputs }] = job.statement.groups as [Statement['groups'][number]];
    const { program } = key();
    const table = program.tables[program.inputs[0]!.table] as { lo: number; hi: number };
    const set = (values: Int32Array, v: number): Int32Array[] => [
      values.map((own, i) => (i === values.length - 1 ? v : own)),
    ];
    for (const v of [table.lo - 1, table.hi + 1, 2 ** 31 - 1, -(2 ** 31)])
      expect(refusal(changed({ inputs: set(inputs[0]!, v) }), proof)).toMatch(/^PROOF_INVALID input 0 .*outside/);
    const { lo, hi } = program.outputs[0]!.range;
    for (const v of [lo - 1, hi + 1])
      expect(refusal(changed({ outputs: set(outputs[0]!, v) }), proof)).toMatch(/^PROOF_INVALID output 0 .*outside/);
  });

  it('a program whose input has a table of another kind', () => {
    const { program } = key();
    const clamp = program.tables.findIndex(({ kind }) => kind === 'clamp');
    const other = { ...program, inputs: program.inputs.map((input) => ({ ...input, table: clamp })) };
    expect(refusal(changed({ key: { ...key(), program: other } }), proof)).toMatch(/^PROOF_INVALID .*no input table/);
  });

  it('a lookup that does not hold, products that do not, and an opening that does not', () => {
    const scalars = HEADER_BYTES + 64 * proofCommitments();
    expect(refusal(job.statement, withByte(scalars + 31, proof[scalars + 31]! ^ 1))).toMatch(/^PROOF_INVALID phase L/);
    const opening = proof.length - 32;
    expect(refusal(job.statement, withByte(opening + 31, proof[opening + 31]! ^ 1))).toMatch(/^PROOF_INVALID opening/);
  });

  it('products that do not hold', async () => {
    const other = await proveJob(job, { direct: (d) => (d + 1n) % FR_MODULUS });
    expect(refusal(job.statement, other)).toMatch(/^PROOF_INVALID phase A/);
  });

  it('a combination of columns with another value, every column being the one committed to', async () => {
    const other = await proveJob(job, {
      direct: (_, { asked }) => (asked + 1n) % FR_MODULUS,
      operands: (ops, { claim, summand }) => solveFirst(ops, claim, summand),
    });
    expect(refusal(job.statement, other)).toMatch(/^PROOF_INVALID opening: the combination/);
  });

  it('another context', () => {
    expect(refusal(job.statement, proof, Uint8Array.of(1))).toMatch(/^PROOF_INVALID/);
  });
});

/** The first operand moved until the end of phase A holds. */
function solveFirst(operands: readonly bigint[], claim: bigint, summand: (at: readonly bigint[]) => bigint): bigint[] {
  const value = summand(operands);
  // The summand is linear in the operand: two values give its slope.
  const slope = (summand([operands[0]! + 1n, ...operands.slice(1)]) - value + FR_MODULUS) % FR_MODULUS;
  let [inverse, power, exponent] = [1n, slope, FR_MODULUS - 2n];
  for (; exponent > 0n; exponent >>= 1n, power = (power * power) % FR_MODULUS)
    if (exponent & 1n) inverse = (inverse * power) % FR_MODULUS;
  const step = ((((claim - value) * inverse) % FR_MODULUS) + FR_MODULUS) % FR_MODULUS;
  return [(operands[0]! + step) % FR_MODULUS, ...operands.slice(1)];
}

const proofCommitments = (): number => {
  const plan = makePlan([{ program: key().program, items: job.statement.groups[0]!.items }], job.n);
  return 4 * plan.witnessChunks + 2 * plan.tableChunks;
};

describe('the plan refuses', () => {
  const program = (): Program => key().program;
  const plan =
    (groups: number, items: number, n = job.n, own = program()): (() => unknown) =>
    () =>
      makePlan(
        Array.from({ length: groups }, () => ({ program: own, items })),
        n,
      );

  it('no group, and too many', () => {
    expect(plan(0, 1)).toThrow(/job groups/);
    expect(plan(MAX_GROUPS + 1, 1, 12)).toThrow(/job groups/);
    expect(plan(MAX_GROUPS, 1, 14)).not.toThrow();
  });

  it('a group without a witness', () => {
    expect(plan(1, 1, job.n, { ...program(), witness: [], inputs: [], requants: [] })).toThrow(/no witness/);
  });

  it('batches that are none or too large', () => {
    for (const items of [0, -1, 1.5, NaN, Infinity, MAX_ITEMS + 1]) expect(plan(1, items, 20)).toThrow(/items/);
    expect(plan(1, MAX_ITEMS, 20)).not.toThrow();
  });

  it('columns below the minimum, below those of the model, above the maximum, or no whole number', () => {
    for (const n of [7, 25, 8.5, NaN]) expect(plan(1, 1, n)).toThrow(/columns of/);
    expect(plan(1, 1, 9, { ...program(), modelBits: 10 })).toThrow(/columns of/);
    expect(plan(1, 1, 7, { ...program(), modelBits: 7 })).toThrow(/columns of/);
    expect(plan(1, 1, 10, { ...program(), modelBits: 10 })).not.toThrow();
  });

  it('more chunks than a verifier should handle, of the witness or of the tables', () => {
    expect(plan(1, MAX_ITEMS, 8)).toThrow(/choose a larger n/);
    const long = { kind: 'clamp', lo: 0, hi: 1, qLo: 0, qHi: 256 * MAX_CHUNKS } as const;
    expect(plan(1, 1, 8, { ...program(), tables: [...program().tables, long] })).toThrow(/choose a larger n/);
  });
});
