/** Honest proofs of the integer suite's random graphs, and of a shipped model with its real columns. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, readOnnx } from '../../graph/index.js';
import {
  NODE_KINDS,
  randomGraph,
  randomNodeCase,
  seededRandom,
  type NodeCase,
} from '../../graph/integer/testing/random-graph.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { makeJob, proveJob } from '../audit/audited-prover.js';
import { plainProver } from '../audit/plain-prover.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import { buildProgram } from '../program/build-program.js';
import { suiteGroup } from '../testing/integer-suite.js';

/** The first of the seeds whose graph has a small proof; says whether there was one. */
async function firstProvable(name: string, make: (seed: number) => NodeCase): Promise<boolean> {
  for (let seed = 1; seed <= 60; seed++) {
    const group = suiteGroup(make(seed), 6000);
    if (group === null) continue;
    const job = await makeJob(plainProver, [group]);
    const proof = await proveJob(job);
    expect(() => job.prover.verify(job.statement, proof, job.bound), `${name} seed ${seed}`).not.toThrow();
    return true;
  }
  return false;
}

/** The suite's ReduceMax cases all have ranges wider than the differences that a proof admits; audit/cases.ts has others. */
const KINDS = NODE_KINDS.filter((kind) => kind !== 'reduceMax');

describe('an honest proof is accepted', () => {
  it.each(KINDS)('%s', async (kind) => {
    expect(await firstProvable(kind, (seed) => randomNodeCase(kind, seededRandom(seed)))).toBe(true);
  });

  it('a random network', async () => {
    expect(await firstProvable('network', (seed) => randomGraph(seededRandom(seed)))).toBe(true);
  });

  it('iris, three items', async () => {
    const model = shippedModel('iris');
    const { graph, ...bundle } = compileModel(readOnnx(readFileSync(model.file), model.file), {
      calibration: calibrationSamples('iris', model.calibrationCount),
    });
    const encoded = heldOutSamples('iris', 3).samples.map(
      (sample) => encodeInputs({ ...bundle, graph }, sample).values[0]!,
    );
    const inputs = [Int32Array.from(encoded.flatMap((v) => [...v]))];
    const job = await makeJob(plainProver, [
      { graph, built: buildProgram(graph), items: 3, inputs, values: evaluateGraph(graph, inputs, 3) },
    ]);
    const proof = await proveJob(job);
    expect(() => job.prover.verify(job.statement, proof, job.bound)).not.toThrow();
  });
});
