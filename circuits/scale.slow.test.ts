/**
 * The whole way at the sizes of joint batches: compile, check, set up, prove, verify. Prints what each step took; asserts
 * that it works and that the predicted size of the key is the true one. Times depend on the machine and are not asserted.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compileCircuit } from './compile/compile-circuit.js';
import { permutation } from './poseidon/poseidon.js';
import { proveCircuit } from './prove/prove-circuit.js';
import { verifyGroth16 } from './prove/verify-groth16.js';
import { circuitSize } from './r1cs/circuit-size.js';
import { readR1cs } from './r1cs/read-r1cs.js';
import { undeterminedWires } from './r1cs/undetermined-wires.js';
import { developmentKey } from './setup/development-key.js';
import type { SetupProgress } from './setup/make-zkey.js';
import { syntheticCircuit } from './testing/synthetic-circuit.js';

const cacheDir = mkdtempSync(join(tmpdir(), 'assay-scale-'));
afterAll(() => rmSync(cacheDir, { recursive: true }));

test.each([
  [147, 2 ** 16],
  [426, 2 ** 17],
])('%i blocks, a domain of %i', { timeout: 1_200_000 }, async (blocks, domain) => {
  const lines: Record<string, unknown> = {};
  let from = performance.now();
  const lap = (name: string): void => {
    lines[`${name} s`] = Number(((performance.now() - from) / 1000).toFixed(1));
    from = performance.now();
  };
  const circuit = await compileCircuit(syntheticCircuit(blocks), { cacheDir });
  lap('compile');
  const r1cs = readR1cs(circuit.r1cs);
  const size = circuitSize(r1cs);
  expect(undeterminedWires(r1cs, circuit.symbols)).toEqual({ undetermined: [], argued: [], unusedInputs: [] });
  lap('check of wires');
  expect(size.constraints).toBe(307 * blocks);
  expect(size.constraints).toBeGreaterThan(domain / 2);
  const steps: SetupProgress[] = [];
  const key = await developmentKey(circuit, { cacheDir, onProgress: (step) => steps.push(step) });
  lap('set-up');
  const bytes = statSync(key.provingKey).size;
  expect(Math.abs(steps[0]!.cost.fileBytes - bytes)).toBeLessThan(2048);
  const inputs = { a: 5n };
  const { proof, publicSignals, witnessMs, proveMs, cpuSeconds, peakBytes } = await proveCircuit({
    provingKey: key.provingKey,
    witnessProgram: circuit.witnessProgram,
    inputs,
  });
  lap('prove');
  let cells = permutation([6n, 5n, 5n, 5n, 5n]);
  for (let i = 1; i < blocks; i++) cells = permutation([cells[0]! + 1n, ...new Array<bigint>(4).fill(cells[1]!)]);
  expect(publicSignals).toEqual([cells[0]]);
  from = performance.now();
  verifyGroth16(key.verificationKey, publicSignals, proof);
  lap('verify');
  console.log({
    ...size,
    ...lines,
    predicted: steps[0]!.cost,
    keyMB: Math.round(bytes / 1e6),
    r1csMB: Math.round(circuit.r1cs.length / 1e6),
    witnessMs: Math.round(witnessMs),
    proveMs: Math.round(proveMs),
    setup: key.spent,
    proveCpuSeconds: Math.round(cpuSeconds),
    provePeakMB: Math.round(peakBytes / 1e6),
  });
});
