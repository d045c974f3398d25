import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as snarkjs from 'snarkjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bn254 } from '@noble/curves/bn254.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import type { CompiledCircuit } from '../compile/types.js';
import { proveCircuit, type CircuitProof } from '../prove/prove-circuit.js';
import { verifyGroth16 } from '../prove/verify-groth16.js';
import { readR1cs } from '../r1cs/read-r1cs.js';
import { smallCircuit } from '../testing/small-circuit.js';
import { developmentMark } from './development-key.js';
import { makeZkey, type SetupProgress } from './make-zkey.js';
import { domainPower } from './qap.js';
import { readZkeyHead } from './read-zkey.js';
import { DEVELOPMENT_SECRETS } from './secrets.js';
import { snarkjsKey } from './snarkjs-key.js';
import { knownPowers } from './testing/known-powers.js';
import { readCoordinates } from './zkey-format.js';

const secrets = { ...DEVELOPMENT_SECRETS, gamma: 1n, delta: 1n };
const folder = mkdtempSync(join(tmpdir(), 'assay-zkey-'));
const at = (name: string) => join(folder, name);
let circuit: CompiledCircuit;
let arithmetic: Arithmetic;

function sectionsOf(bytes: Uint8Array): Map<number, Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const sections = new Map<number, Uint8Array>();
  for (let position = 12; position < bytes.length;) {
    const length = Number(view.getBigUint64(position + 4, true));
    sections.set(view.getUint32(position, true), bytes.subarray(position + 12, position + 12 + length));
    position += 12 + length;
  }
  return sections;
}

const points = (bytes: Uint8Array) => {
  const c = readCoordinates(bytes, 'test');
  return Array.from({ length: c.length / 2 }, (_, i) => {
    const [x, y] = [c[2 * i]!, c[2 * i + 1]!];
    return x === 0n && y === 0n ? bn254.G1.Point.ZERO : bn254.G1.Point.fromAffine({ x, y });
  });
};

beforeAll(async () => {
  circuit = await smallCircuit();
  arithmetic = await openArithmetic({ threads: 2 });
  writeFileSync(at('small.r1cs'), circuit.r1cs);
  writeFileSync(at('powers.ptau'), knownPowers(secrets, 4));
  await snarkjs.powersOfTau.preparePhase2(at('powers.ptau') as never, at('prepared.ptau') as never);
  await snarkjs.zKey.newZKey(at('small.r1cs'), at('prepared.ptau'), at('snarkjs.zkey'));
  await makeZkey({ r1cs: circuit.r1cs, secrets, path: at('ours.zkey'), arithmetic });
});

afterAll(async () => {
  await arithmetic.close();
  const curve = await snarkjs.curves.getCurveFromName('bn128');
  await curve.terminate();
  rmSync(folder, { recursive: true });
});

describe('with gamma = delta = 1', () => {
  test('every section is that of snarkjs for the same powers, byte for byte; only the mark differs', () => {
    const [ours, theirs] = ['ours', 'snarkjs'].map((name) => sectionsOf(readFileSync(at(`${name}.zkey`))));
    expect([...ours!.keys()].sort()).toEqual([...theirs!.keys()].sort());
    for (const [type, content] of theirs!)
      if (type !== 10) expect(Buffer.compare(ours!.get(type)!, content), `section ${type}`).toBe(0);
    expect(ours!.get(10)!.length).toBe(theirs!.get(10)!.length);
  });

  test('snarkjs verifies a contribution to ours, and refuses it with two points swapped', async () => {
    // snarkjs compares the mark with its own hash of the circuit.
    const bytes = Uint8Array.from(readFileSync(at('ours.zkey')));
    const [mark, theirs] = [sectionsOf(bytes).get(10)!, sectionsOf(readFileSync(at('snarkjs.zkey'))).get(10)!];
    mark.set(theirs);
    writeFileSync(at('marked.zkey'), bytes);
    const verify = async (from: string) => {
      await snarkjs.zKey.contribute(at(from), at('contributed.zkey'), 'test', 'entropy of a test');
      return snarkjs.zKey.verifyFromR1cs(at('small.r1cs'), at('prepared.ptau'), at('contributed.zkey'));
    };
    expect(await verify('marked.zkey')).toBe(true);
    for (const section of [8, 9]) {
      const tampered = bytes.slice();
      const content = sectionsOf(tampered).get(section)!;
      const [first, second] = [content.slice(0, 64), content.slice(64, 128)];
      content.set(second, 0);
      content.set(first, 64);
      writeFileSync(at('tampered.zkey'), tampered);
      expect(await verify('tampered.zkey'), `section ${section}`).toBe(false);
    }
  });
});

describe('with the development secrets', () => {
  const steps: SetupProgress[] = [];
  let proved: CircuitProof;

  beforeAll(async () => {
    await makeZkey({
      r1cs: circuit.r1cs,
      secrets: DEVELOPMENT_SECRETS,
      path: at('development.zkey'),
      arithmetic,
      onProgress: (step) => steps.push(step),
    });
    proved = await proveCircuit({
      provingKey: at('development.zkey'),
      witnessProgram: circuit.witnessProgram,
      inputs: { a: 3n, p: 4n },
    });
  });

  test('gamma and delta divide what they should', () => {
    const ours = sectionsOf(readFileSync(at('development.zkey')));
    const plain = sectionsOf(readFileSync(at('ours.zkey')));
    for (const [type, divisor] of [
      [3, DEVELOPMENT_SECRETS.gamma],
      [8, DEVELOPMENT_SECRETS.delta],
      [9, DEVELOPMENT_SECRETS.delta],
    ] as const) {
      const expected = points(plain.get(type)!);
      points(ours.get(type)!).forEach((point, i) =>
        expect(point.multiplyUnsafe(divisor).equals(expected[i]!), `section ${type}, point ${i}`).toBe(true),
      );
    }
    for (const type of [1, 4, 5, 6, 7]) expect(Buffer.compare(ours.get(type)!, plain.get(type)!)).toBe(0);
  });

  test('a proof under it is accepted by snarkjs and by our verifier', async () => {
    const { verificationKey } = await readZkeyHead(at('development.zkey'));
    // square = 13, sum = 61, cube = 793, fourth = 5551.
    expect(proved.publicSignals).toEqual([5551n * 793n + 11n, 4n]);
    verifyGroth16(verificationKey, proved.publicSignals, proved.proof);
    const { a, b, c } = proved.proof;
    const text = (pair: readonly bigint[]) => pair.map(String);
    const forSnarkjs = {
      pi_a: [...text(a), '1'],
      pi_b: [text(b[0]), text(b[1]), ['1', '0']],
      pi_c: [...text(c), '1'],
      protocol: 'groth16',
      curve: 'bn128',
    };
    const key = snarkjsKey(verificationKey);
    const exported = await snarkjs.zKey.exportVerificationKey(at('development.zkey'));
    expect(exported).toMatchObject(key);
    expect(await snarkjs.groth16.verify(key, text(proved.publicSignals), forSnarkjs)).toBe(true);
    expect(await snarkjs.groth16.verify(key, text([1n, 4n]), forSnarkjs)).toBe(false);
  });

  test('our verifier refuses every change, and signals under another name', async () => {
    const { verificationKey: key } = await readZkeyHead(at('development.zkey'));
    const { proof, publicSignals } = proved;
    const [output, p] = publicSignals as [bigint, bigint];
    const r = bn254.fields.Fr.ORDER;
    const q = bn254.fields.Fp.ORDER;
    const negated = (y: bigint) => q - y;
    const cases: [string, () => void][] = [
      ['pairing', () => verifyGroth16(key, [output + 1n, p], proof)],
      ['pairing', () => verifyGroth16(key, [output, p + 1n], proof)],
      ['below r', () => verifyGroth16(key, [output, p + r], proof)],
      ['below r', () => verifyGroth16(key, [output, -1n], proof)],
      ['1 public signals', () => verifyGroth16(key, [output], proof)],
      ['pairing', () => verifyGroth16(key, publicSignals, { ...proof, a: [proof.a[0], negated(proof.a[1])] })],
      ['pairing', () => verifyGroth16(key, publicSignals, { ...proof, c: [proof.c[0], negated(proof.c[1])] })],
      ['not below q', () => verifyGroth16(key, publicSignals, { ...proof, a: [proof.a[0] + q, proof.a[1]] })],
      ['C is no point', () => verifyGroth16(key, publicSignals, { ...proof, c: [proof.c[0], proof.c[1] + 1n] })],
      ['B is no point', () => verifyGroth16(key, publicSignals, { ...proof, b: [proof.b[1], proof.b[0]] })],
      ['pairing', () => verifyGroth16({ ...key, deltaG2: key.gammaG2 }, publicSignals, proof)],
    ];
    for (const [message, act] of cases) expect(act).toThrow(message);
  });

  test('says what it is, and what it costs before it spends it', async () => {
    const head = await readZkeyHead(at('development.zkey'));
    expect(head.mark).toBe(developmentMark(circuit.circuitHash));
    expect(head.contributions).toBe(0);
    const r1cs = readR1cs(circuit.r1cs);
    expect([head.wires, head.domainSize]).toEqual([r1cs.wires, 2 ** domainPower(r1cs)]);
    expect(steps[0]!.step).toBe('predicted');
    expect(new Set(steps.map(({ step }) => step))).toEqual(
      new Set(['predicted', 'polynomials', 'points of G1', 'points of G2', 'file']),
    );
    const size = readFileSync(at('development.zkey')).length;
    expect(Math.abs(steps[0]!.cost.fileBytes - size)).toBeLessThan(2048);
  });

  test('a proof for inputs that the circuit refuses does not exist', async () => {
    await expect(
      proveCircuit({ provingKey: at('development.zkey'), witnessProgram: circuit.witnessProgram, inputs: { a: 3n } }),
    ).rejects.toMatchObject({ code: 'PROOF_INVALID' });
  });
});

describe('files that are no keys', () => {
  test('are refused', async () => {
    const bytes = Uint8Array.from(readFileSync(at('ours.zkey')));
    const changed = (position: number, value: number) => {
      const copy = bytes.slice();
      copy[position] = value;
      return copy;
    };
    const cases: [Uint8Array, string][] = [
      [bytes.subarray(0, 100), 'truncated'],
      [changed(0, 0), 'expected "zkey"'],
      [changed(24, 2), 'not a key for Groth16'],
      [changed(28 + 12 + 4, 0), 'another curve'],
    ];
    for (const [content, message] of cases) {
      writeFileSync(at('bad.zkey'), content);
      await expect(readZkeyHead(at('bad.zkey'))).rejects.toThrow(message);
    }
  });
});
