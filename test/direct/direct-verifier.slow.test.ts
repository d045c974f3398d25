/** Ten thousand changes of one place, and honest proofs of every operator over many seeds. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditedProver } from '../../prover/audit/audited-prover.js';
import { CASE_KINDS, randomCase } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { kzgProver } from '../../prover/audit/testing/kzg-prover.js';
import { developmentHead } from '../../prover/srs/development-srs.js';
import { openingKey } from '../../prover/srs/srs.js';
import { kzgScheme } from '../../prover/verifier/kzg-scheme.js';
import { readProofHeader } from '../../prover/verifier/proof.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import {
  claimOf,
  COMPILE_TIMEOUT_MS,
  evidenceOf,
  proveGroup,
  publishFor,
  publishIfTaken,
  startDirect,
  type DirectFixture,
} from './direct-fixture.js';
import { mutateJob } from './mutate-job.js';

const MUTATIONS = 10_000;
const AT_ONCE = 50;
const HONEST_SEEDS = 20;

const scheme = kzgScheme('mercury', openingKey(developmentHead()));
let direct: DirectFixture;
let arithmetic: Arithmetic;
let prover: AuditedProver;
beforeAll(async () => {
  direct = await startDirect();
  arithmetic = await openArithmetic({ threads: 1 });
  prover = kzgProver(arithmetic);
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await arithmetic?.close();
  await direct?.stop();
});

it('honest proofs', async () => {
  for (const kind of CASE_KINDS)
    for (let seed = 100; seed < 100 + HONEST_SEEDS; seed++) {
      const draw = new Draw(`direct ${kind}`, seed);
      const job = await proveGroup(
        prover,
        randomCase(kind, draw, draw.int(1, 5)),
        new Uint8Array(32).fill(seed & 0xff),
      );
      await publishFor(direct, job);
      expect(await direct.verify(evidenceOf(job)), `${kind}, seed ${seed}`).toEqual(claimOf(job));
    }
});

it('changes of one place', async () => {
  let refused = 0;
  for (let i = 0; i < MUTATIONS; i += AT_ONCE) {
    const draw = new Draw('slow mutations', i);
    const kind = draw.pick(CASE_KINDS);
    const job = await proveGroup(prover, randomCase(kind, draw), new Uint8Array(32).fill(3));
    const mutations = Array.from({ length: AT_ONCE }, (_, k) =>
      mutateJob(job, new Draw(`slow ${kind}`, i + k), scheme),
    );
    await publishFor(direct, job);
    const { n } = readProofHeader(job.proof);
    for (const { program } of mutations)
      if (program !== undefined) await publishIfTaken(direct, program, job.group.items, n);
    const accepted = await direct.accepted(mutations.map(({ evidence }) => evidence));
    mutations.forEach(({ what, isAccepted }, k) => {
      expect(accepted[k], `${kind}, seed ${i}, mutation ${k}: ${what}`).toBe(isAccepted);
      if (!isAccepted) refused++;
    });
  }
  // A change of a value whose range is one number changes nothing.
  expect(refused).toBeGreaterThan(0.95 * MUTATIONS);
});
