/** A key file and a proof file of a shipped model, made once per test file. */
import { readFileSync } from 'node:fs';
import { compileModel, encodeInputs, readOnnx, type Bundle, type Samples } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import {
  developmentSrs,
  encodeModelKey,
  openArithmetic,
  predictJob,
  proofFileOf,
  ZkProver,
  type SchemeName,
} from '../../prover/index.js';

export interface ProvedModel {
  readonly bundle: Bundle;
  readonly key: Uint8Array;
  readonly proof: Uint8Array;
  readonly labels: Uint8Array;
}

/** Proves the first held-out samples of a model as one batch. */
export async function provedModel(
  name: string,
  items = 1,
  scheme: SchemeName = 'mercury',
  bound = new Uint8Array(0),
): Promise<ProvedModel> {
  const bundle = compiled(name);
  const { samples, labels } = heldOutSamples(name, items);
  return { labels, ...(await provedBatch(bundle, samples, scheme, bound)) };
}

export function compiled(name: string): Bundle {
  const model = shippedModel(name);
  return compileModel(readOnnx(readFileSync(model.file), model.file), { calibration: calibrationSamples(name, 40) });
}

/** A bundle, its key and a proof of some samples as one batch. */
export async function provedBatch(
  bundle: Bundle,
  samples: Samples,
  scheme: SchemeName = 'mercury',
  bound = new Uint8Array(0),
): Promise<Omit<ProvedModel, 'labels'>> {
  const items = samples.length;
  const encoded = samples.map((sample) => encodeInputs(bundle, sample).values);
  const inputs = bundle.inputs.map((_, i) => Int32Array.from(encoded.flatMap((values) => [...values[i]!])));
  const arithmetic = await openArithmetic({ threads: 1 });
  try {
    const srs = developmentSrs(predictJob(bundle.graph, items, scheme).srsPoints, { arithmetic });
    const prover = new ZkProver({ arithmetic, srs, scheme });
    const { statement, proof } = prover.prove([{ bundle, items, inputs }], bound);
    return {
      bundle,
      key: encodeModelKey({ key: prover.keyOf(bundle), srs }),
      proof: proofFileOf(statement, proof, bound),
    };
  } finally {
    await arithmetic.close();
  }
}
