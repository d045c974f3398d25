/** Honest proofs, swept: every operator, forty seeds, with and without garbage in the free cells; joint proofs. */
import { describe, expect, it } from 'vitest';
import { makeJob, proveJob } from '../audit/audited-prover.js';
import { CASE_KINDS, randomCase } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { plainProver } from '../audit/plain-prover.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { suiteGroup } from '../testing/integer-suite.js';
import { fillFreeCells } from '../testing/free-cells.js';

describe('an honest proof is accepted', () => {
  it.each(CASE_KINDS)('%s', async (kind) => {
    for (let seed = 1; seed <= 40; seed++) {
      const draw = new Draw(`sweep ${kind}`, seed);
      const job = await makeJob(plainProver, [randomCase(kind, draw, draw.int(1, 5))]);
      const tampering =
        seed % 2 === 0
          ? {}
          : {
              columns: (...[columns, plan]: [Map<string, bigint[]>, Parameters<typeof fillFreeCells>[1]]) =>
                void fillFreeCells(columns, plan, draw),
            };
      const proof = await proveJob(job, tampering);
      expect(() => job.prover.verify(job.statement, proof, job.bound), `seed ${seed}`).not.toThrow();
    }
  });

  it('joint', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const draw = new Draw('joint sweep', seed);
      const job = await makeJob(
        plainProver,
        Array.from({ length: draw.int(2, 3) }, () => randomCase(draw.pick(CASE_KINDS), draw)),
      );
      const proof = await proveJob(job);
      expect(() => job.prover.verify(job.statement, proof, job.bound), `seed ${seed}`).not.toThrow();
    }
  });

  // All ReduceMax cases of that suite have ranges too wide for a proof.
  it.each([...NODE_KINDS.filter((kind) => kind !== 'reduceMax'), 'network' as const])(
    'the integer suite: %s',
    async (kind) => {
      let proved = 0;
      for (let seed = 1; seed <= 120; seed++) {
        const random = seededRandom(seed);
        const group = suiteGroup(kind === 'network' ? randomGraph(random) : randomNodeCase(kind, random), 14_000);
        if (group === null) continue;
        proved++;
        const job = await makeJob(plainProver, [group]);
        const proof = await proveJob(job);
        expect(() => job.prover.verify(job.statement, proof, job.bound), `seed ${seed}`).not.toThrow();
      }
      expect(proved).toBeGreaterThan(0);
    },
  );
});
