/** The prover as others use it, on shipped models. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, evaluateGraph, makeBundle, readOnnx, type Bundle } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { developmentSrs } from '../srs/development-cache.js';
import { srsPrefix } from '../srs/srs.js';
import { kzgScheme } from '../verifier/kzg-scheme.js';
import { modelKeyDigest, modelKeyHash } from '../verifier/model-key.js';
import { verifyProof } from '../verifier/verify-proof.js';
import type { Arithmetic } from '../wasm/arithmetic.js';
import { openArithmetic } from '../wasm/node-arithmetic.js';
import { PROOF_PHASES } from './prove.js';
import { ZkProver, type ProveJob } from './zk-prover.js';

/** What a key of two models of this size takes. */
const SRS_POINTS = 2 ** 17;
let arithmetic: Arithmetic;
let prover: ZkProver;
const jobs = new Map<string, ProveJob>();
const ITEMS = 3;

beforeAll(async () => {
  arithmetic = await openArithmetic();
  prover = new ZkProver({ arithmetic, srs: developmentSrs(SRS_POINTS, { arithmetic }) });
  for (const name of ['iris', 'mnist-mlp']) {
    const model = shippedModel(name);
    const bundle = compileModel(readOnnx(readFileSync(model.file), model.file), {
      calibration: calibrationSamples(name, model.calibrationCount),
    });
    const samples = heldOutSamples(name, ITEMS).samples.map((sample) => encodeInputs(bundle, sample).values[0]!);
    jobs.set(name, { bundle, items: ITEMS, inputs: [Int32Array.from(samples.flatMap((values) => [...values]))] });
  }
});
afterAll(() => arithmetic?.close());

const job = (name: string): ProveJob => jobs.get(name)!;
const withKey = (bundle: Bundle, hash: string): Bundle => makeBundle({ ...bundle, modelKeyHash: hash });

describe('ZkProver', () => {
  it('proves one batch, and two models jointly, of the length and within the memory that it predicted', () => {
    for (const batch of [[job('iris')], [job('mnist-mlp'), job('iris')]]) {
      const prediction = prover.predict(batch);
      const { statement, proof } = prover.prove(batch, Uint8Array.of(1, 2));
      expect(proof.length).toBe(prediction.proofBytes);
      expect(arithmetic.memory.peakBytes).toBeLessThan(prediction.memoryBytes);
      verifyProof(statement, proof, kzgScheme('mercury', prover.openingKey), Uint8Array.of(1, 2));
      expect(statement.groups.map(({ outputs }) => outputs[0])).toEqual(
        batch.map(({ bundle, inputs }) => evaluateGraph(bundle.graph, inputs, ITEMS)[bundle.graph.outputs[0]!]),
      );
    }
  });

  it('takes the trace of the caller, tells of each phase, and is as good after a warm-up', () => {
    const { bundle, inputs, items } = job('iris');
    const phases: string[] = [];
    const { proof } = prover.prove([job('iris')], undefined, (phase) => phases.push(phase));
    expect(phases).toEqual(PROOF_PHASES);
    const before = arithmetic.memory.usedBytes;
    prover.warmUp();
    expect(arithmetic.memory.usedBytes).toBe(before);
    const trace = evaluateGraph(bundle.graph, inputs, items);
    expect(prover.prove([{ bundle, inputs, items, trace }]).proof).toEqual(proof);
  });

  it('names the key in the digest, and refuses a bundle that names another', () => {
    const { bundle } = job('iris');
    const key = prover.keyOf(bundle);
    const keyed = withKey(bundle, modelKeyHash(key));
    expect(modelKeyDigest(key)).toBe(keyed.digest);
    expect(prover.keyOf(keyed)).toEqual(key);
    expect(() => prover.keyOf(withKey(bundle, `0x${'ab'.repeat(32)}`))).toThrow(
      expect.objectContaining({ code: 'MODEL_KEY_MISMATCH' }),
    );
  });

  it('refuses a reference string that is too short, and inputs out of range', () => {
    const small = new ZkProver({ arithmetic, srs: srsPrefix(developmentSrs(SRS_POINTS, { arithmetic }), 2 ** 8) });
    small.warmUp();
    expect(() => small.keyOf(job('iris').bundle)).toThrow(expect.objectContaining({ code: 'SRS_TOO_SMALL' }));
    const inputs = [job('iris').inputs[0]!.map(() => 256)];
    expect(() => prover.prove([{ ...job('iris'), inputs }])).toThrow(expect.objectContaining({ code: 'INPUT_RANGE' }));
  });
});
