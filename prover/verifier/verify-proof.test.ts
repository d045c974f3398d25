/** Honest proofs over plain columns: every node kind, random networks, shipped models; batches that are no power of two. */
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
import { plainScheme } from '../reference/plain-scheme.js';
import { referenceProve } from '../reference/reference-prover.js';
import { plainCommitter, plainJob, type PlainJob } from '../testing/plain-jobs.js';
import { AssayError } from '../../common/errors.js';
import { verifyProof } from './verify-proof.js';

async function proveAndVerify(jobs: readonly PlainJob[], n: number): Promise<void> {
  const statement = { groups: jobs.map((job) => job.statement) };
  const proof = await referenceProve(
    statement,
    jobs.map((job) => job.witness),
    n,
    plainCommitter,
  );
  verifyProof(statement, proof, plainScheme);
}

/** log2 of the longest column that the reference prover is asked for here. */
const LARGEST = 12;

/** Proves a case where the proof system has a form for it; says whether. */
async function proveCase({ graph, inputs, items }: NodeCase): Promise<boolean> {
  let job: PlainJob;
  try {
    job = plainJob(graph, inputs, items);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'NOT_PROVABLE') return false;
    throw error;
  }
  const n = job.statement.key.program.modelBits;
  if (n > LARGEST) return false;
  await proveAndVerify([job], n);
  return true;
}

describe('an honest proof is accepted', () => {
  it.each(NODE_KINDS)('%s', async (kind) => {
    let proved = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const label = `${kind} seed ${seed}`;
      const done = await proveCase(randomNodeCase(kind, seededRandom(seed))).catch((error: unknown) => {
        throw new Error(label, { cause: error });
      });
      if (done) proved++;
    }
    expect(proved).toBeGreaterThan(0);
  });

  it('random networks', async () => {
    let proved = 0;
    for (let seed = 1; seed <= 6; seed++)
      if (
        await proveCase(randomGraph(seededRandom(seed))).catch((error: unknown) => {
          throw new Error(`seed ${seed}`, { cause: error });
        })
      )
        proved++;
    expect(proved).toBeGreaterThan(0);
  });

  it('iris, three items', async () => {
    const model = shippedModel('iris');
    const bundle = compileModel(readOnnx(readFileSync(model.file), model.file), {
      calibration: calibrationSamples('iris', model.calibrationCount),
    });
    const encoded = heldOutSamples('iris', 3).samples.map((sample) => encodeInputs(bundle, sample).values[0]!);
    const inputs = [Int32Array.from(encoded.flatMap((v) => [...v]))];
    const job = plainJob(bundle.graph, inputs, 3);
    await proveAndVerify([job], job.statement.key.program.modelBits);
  });
});
