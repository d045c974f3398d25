/**
 * Gas of whole transactions that prove one item of a shipped model, with the real bytes of their calldata, as a committed
 * snapshot: growth shows as a difference in direct-gas.snapshot.json.
 * After a wanted change: `npx vitest run test/direct/direct-gas.test.ts -u`, and commit the file.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import {
  claimOf,
  COMPILE_TIMEOUT_MS,
  evidenceOf,
  proveModel,
  publishFor,
  startDirect,
  type DirectFixture,
} from './direct-fixture.js';

/** How each is compiled; more samples may widen a clamp, and its table needs another variable. */
const MODELS: readonly (readonly [name: string, calibrationSamples: number])[] = [
  ['iris', 40],
  ['mnist-mlp', 40],
  ['lenet5', 40],
  // As `assay compile` does where nothing else is said.
  ['lenet5', 500],
  ['mnist-dwcnn', 40],
];
const CONTEXT = Uint8Array.from({ length: 32 }, (_, i) => (i * 7 + 1) & 0xff);

let direct: DirectFixture;
let arithmetic: Arithmetic;
beforeAll(async () => {
  direct = await startDirect();
  arithmetic = await openArithmetic({ threads: 1 });
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await arithmetic?.close();
  await direct?.stop();
});

it('matches direct-gas.snapshot.json', async () => {
  const models: Record<string, { gas: number; evidenceBytes: number }> = {};
  for (const [model, samples] of MODELS) {
    const job = proveModel(arithmetic, model, 1, CONTEXT, 1, samples);
    const name = samples === 40 ? model : `${model}, ${samples} calibration samples`;
    await publishFor(direct, job);
    const evidence = evidenceOf(job);
    expect(await direct.verify(evidence), name).toEqual(claimOf(job));
    models[name] = { gas: Number(await direct.gasOf(evidence)), evidenceBytes: evidence.length };
  }
  const snapshot = { unit: 'gas of a whole transaction with its calldata, one item', models };
  await expect(`${JSON.stringify(snapshot, null, 2)}\n`).toMatchFileSnapshot('direct-gas.snapshot.json');
});
