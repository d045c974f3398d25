/** Honest proofs are accepted: every operator and its corners, batches, joint proofs, chunks, any padding. */
import { describe, expect, it } from 'vitest';
import { makeJob, proveJob, publishedOf } from '../audit/audited-prover.js';
import { CASE_KINDS, randomCase, withModelBits, type AuditGroup } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { plainProver } from '../audit/plain-prover.js';
import { fillFreeCells } from '../testing/free-cells.js';

async function accept(groups: readonly AuditGroup[], label: string, n?: number): Promise<void> {
  const job = await makeJob(plainProver, groups, new Uint8Array(0), n);
  try {
    job.prover.verify(job.statement, await proveJob(job), job.bound);
  } catch (error) {
    throw new Error(label, { cause: error });
  }
}

describe('an honest proof is accepted', () => {
  it.each(CASE_KINDS)('%s, one to three items', async (kind) => {
    const items = 1 + (CASE_KINDS.indexOf(kind) % 3);
    await accept([randomCase(kind, new Draw(`honest ${kind}`, items), items)], `${kind} of ${items} items`);
  });

  it('joint, over two and three graphs', async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const draw = new Draw('joint', seed);
      const groups = Array.from({ length: 2 + (seed % 2) }, () => randomCase(draw.pick(CASE_KINDS), draw));
      await accept(groups, `joint seed ${seed}: ${groups.map(({ graph }) => graph.name).join(', ')}`);
    }
  });

  it('joint, over one graph twice', async () => {
    const draw = new Draw('twice', 1);
    const group = randomCase('denseLayers', draw, 2);
    await accept([group, group], 'the same group twice');
  });

  it('in one column, in many, and in columns larger than the model asks for', async () => {
    const network = randomCase('network', new Draw('sizes', 1), 3);
    await accept([{ ...network, built: withModelBits(network.built, 8) }], 'columns of 2^8');
    await accept(
      [{ ...network, built: withModelBits(network.built, 8) }],
      'model columns of 2^8 in columns of 2^10',
      10,
    );
    await accept([randomCase('residual', new Draw('sizes', 2), 2)], 'one column', 13);
  });

  it('whatever stands in padding, in unallocated cells and in unreal rows', async () => {
    // Every second kind; all of them in honest.slow.test.ts.
    for (const [i, kind] of CASE_KINDS.filter((_, at) => at % 2 === 0).entries()) {
      const draw = new Draw(`padding ${kind}`, 1);
      const job = await makeJob(plainProver, [randomCase(kind, draw, 1 + ((i + 1) % 3))]);
      let filled = 0;
      const proof = await proveJob(job, {
        columns: (columns, plan) => {
          filled = fillFreeCells(columns, plan, draw);
        },
      });
      expect(filled).toBeGreaterThan(0);
      expect(() => job.prover.verify(job.statement, proof, job.bound), kind).not.toThrow();
    }
  });

  it('publishes what the graph computes, and for an ArgMax what it is computed from', () => {
    for (const kind of CASE_KINDS) {
      const group = randomCase(kind, new Draw('published', 1), 3);
      const published = publishedOf(group);
      group.graph.outputs.forEach((id, i) => {
        const { argMaxAxis } = group.built.program.outputs[i]!;
        if (argMaxAxis === null) expect(published[i]).toEqual(group.values[id]);
        else {
          // Vectors only: the index of the first maximum of every item.
          const size = published[i]!.length / group.items;
          const labels = Array.from({ length: group.items }, (_, b) => {
            const item = [...published[i]!.subarray(b * size, (b + 1) * size)];
            return item.indexOf(Math.max(...item));
          });
          expect([...group.values[id]!]).toEqual(labels);
        }
      });
    }
  });
});
