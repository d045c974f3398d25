/** The same forgeries under real commitments. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { runFamily } from './attack.js';
import { makeJob, proveJob, type AuditedProver } from './audited-prover.js';
import { CASE_KINDS, randomCase } from './cases.js';
import { Draw } from './draw.js';
import { FAMILIES } from './families/index.js';
import { kzgProver } from './testing/kzg-prover.js';

let arithmetic: Arithmetic;
let prover: AuditedProver;
beforeAll(async () => {
  arithmetic = await openArithmetic({ threads: 1 });
  prover = kzgProver(arithmetic);
});
afterAll(() => arithmetic?.close());

describe('under KZG and Mercury', () => {
  it('honest proofs are accepted', async () => {
    for (const kind of CASE_KINDS) {
      const job = await makeJob(prover, [randomCase(kind, new Draw('kzg', 1))]);
      expect(() => prover.verify(job.statement, new Uint8Array(0), job.bound)).toThrow();
      const proof = await proveJob(job);
      expect(() => prover.verify(job.statement, proof, job.bound), kind).not.toThrow();
    }
  });

  it.each(FAMILIES.map((family) => [family.name, family] as const))('refused: %s', async (_, family) => {
    const { accepted, crashed, attempts } = await runFamily(family, prover, 2);
    expect(accepted).toEqual([]);
    expect(crashed).toEqual([]);
    expect(attempts).toBeGreaterThan(0);
  });
});
