/** A whole ceremony on a small circuit, with snarkjs's powers of tau: what production does with a public file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import * as snarkjs from 'snarkjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CompiledCircuit } from '../compile/types.js';
import { proveCircuit } from '../prove/prove-circuit.js';
import { verifyGroth16 } from '../prove/verify-groth16.js';
import { smallCircuit } from '../testing/small-circuit.js';
import { developmentKey } from './development-key.js';
import { contribute, finishCeremony, startCeremony, verifyKey, type PreparedPowers } from './production-setup.js';
import { readZkeyHead, type VerificationKey } from './read-zkey.js';
import { isDevelopmentKey, requireProductionKey } from './require-production-key.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-ceremony-'));
const at = (name: string) => join(folder, name);
const pinned = (name: string): PreparedPowers => ({
  path: at(name),
  pin: { algorithm: 'sha256', hash: bytesToHex(sha256(readFileSync(at(name)))) },
});
const beacon = { hash: new Uint8Array(32).fill(7), iterationsExponent: 10 };

let circuit: CompiledCircuit;
let powers: PreparedPowers;
let key: VerificationKey;

beforeAll(async () => {
  circuit = await smallCircuit();
  const curve = await snarkjs.curves.getCurveFromName('bn128');
  const [fresh, contributed, prepared] = ['fresh', 'contributed', 'prepared'].map(
    (name) => at(`${name}.ptau`) as never,
  );
  await snarkjs.powersOfTau.newAccumulator(curve, 4, fresh!);
  await snarkjs.powersOfTau.contribute(fresh!, contributed!, 'test', 'entropy of a test');
  await snarkjs.powersOfTau.preparePhase2(contributed!, prepared!);
  await curve.terminate();
  powers = pinned('prepared.ptau');
  await startCeremony(circuit.r1cs, powers, at('0.zkey'));
  await contribute(at('0.zkey'), at('1.zkey'), 'somebody');
  key = await finishCeremony(circuit.r1cs, powers, at('1.zkey'), at('final.zkey'), beacon);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true }));

describe('ceremony', () => {
  test('ends in a key that proves and verifies', async () => {
    const { proof, publicSignals } = await proveCircuit({
      provingKey: at('final.zkey'),
      witnessProgram: circuit.witnessProgram,
      inputs: { a: 3n, p: 4n },
    });
    verifyGroth16(key, publicSignals, proof);
    expect(isDevelopmentKey(key)).toBe(false);
    requireProductionKey(key, 1n);
    expect((await readZkeyHead(at('final.zkey'))).contributions).toBe(2);
  });

  test('has the sections of a development key: same lengths, same coefficients', async () => {
    const development = await developmentKey(circuit, { cacheDir: at('cache') });
    const sections = (path: string) => {
      const bytes = readFileSync(path);
      const found = new Map<number, Buffer>();
      for (let position = 12; position < bytes.length;) {
        const length = Number(bytes.readBigUInt64LE(position + 4));
        found.set(bytes.readUInt32LE(position), bytes.subarray(position + 12, position + 12 + length));
        position += 12 + length;
      }
      return found;
    };
    const [ours, theirs] = [sections(development.provingKey), sections(at('final.zkey'))];
    for (let type = 1; type <= 9; type++) expect(ours.get(type)!.length).toBe(theirs.get(type)!.length);
    expect(ours.get(4)!.equals(theirs.get(4)!)).toBe(true);
    // Fields, wires, public wires, domain.
    expect(ours.get(2)!.subarray(0, 84).equals(theirs.get(2)!.subarray(0, 84))).toBe(true);
  });

  test('keys that must not be used are refused', async () => {
    const unfinished = await readZkeyHead(at('0.zkey'));
    expect(() => requireProductionKey(unfinished.verificationKey, 31337n)).toThrow('gamma and delta are equal');
    await expect(verifyKey(circuit.r1cs, powers, at('0.zkey'))).rejects.toMatchObject({ code: 'CIRCUIT_KEY_INVALID' });
    await expect(verifyKey(circuit.r1cs, powers, at('1.zkey'))).rejects.toThrow('expected two contributions');
    const development = await developmentKey(circuit, { cacheDir: at('cache') });
    await expect(verifyKey(circuit.r1cs, powers, development.provingKey)).rejects.toMatchObject({
      code: 'CIRCUIT_KEY_DEVELOPMENT',
    });
    for (const chainId of [1n, undefined])
      expect(() => requireProductionKey(development.verificationKey, chainId)).toThrow('its secrets are public');
    requireProductionKey(development.verificationKey, 31337n);
    const [alphaG1One, betaG2One] = [[1n, 2n] as const, unfinished.verificationKey.gammaG2];
    expect(() => requireProductionKey({ ...key, alphaG1: alphaG1One }, 1n)).toThrow('have no contribution');
    expect(() => requireProductionKey({ ...key, betaG2: betaG2One }, 1n)).toThrow('have no contribution');
    expect(() => requireProductionKey({ ...key, gammaG2: key.betaG2, deltaG2: betaG2One }, 1n)).toThrow(
      'delta is the generator',
    );
    // One development part in an otherwise good key is one too many.
    const { alphaG1, betaG2, deltaG2 } = development.verificationKey;
    for (const part of [{ alphaG1 }, { betaG2 }, { deltaG2 }])
      expect(() => requireProductionKey({ ...key, ...part }, 1n)).toThrow('its secrets are public');
  });

  test('a key with a changed point, of another circuit or from other powers does not verify', async () => {
    const bytes = readFileSync(at('final.zkey'));
    // Swap the first two points of the last section of points that snarkjs wrote before the contributions.
    const tampered = Buffer.from(bytes);
    for (let position = 12; position < bytes.length;) {
      const length = Number(bytes.readBigUInt64LE(position + 4));
      if (bytes.readUInt32LE(position) === 9) {
        bytes.copy(tampered, position + 12, position + 12 + 64, position + 12 + 128);
        bytes.copy(tampered, position + 12 + 64, position + 12, position + 12 + 64);
      }
      position += 12 + length;
    }
    writeFileSync(at('tampered.zkey'), tampered);
    await expect(verifyKey(circuit.r1cs, powers, at('tampered.zkey'))).rejects.toMatchObject({
      code: 'CIRCUIT_KEY_INVALID',
    });

    const r1cs = Uint8Array.from(circuit.r1cs);
    // The lowest byte of the first coefficient: section head 12 + header 12 + 64, section head 12, two words.
    r1cs[12 + 12 + 64 + 12 + 8]! ^= 2;
    await expect(verifyKey(r1cs, powers, at('final.zkey'))).rejects.toMatchObject({ code: 'CIRCUIT_KEY_INVALID' });
  });

  test('powers with another hash, unprepared or too few are refused before anything is spent', async () => {
    const start = (from: PreparedPowers) => startCeremony(circuit.r1cs, from, at('never.zkey'));
    await expect(start({ ...powers, pin: { algorithm: 'sha256', hash: '00'.repeat(32) } })).rejects.toThrow(
      'expected sha256',
    );
    await expect(start(pinned('contributed.ptau'))).rejects.toThrow('not prepared');
    await expect(
      finishCeremony(circuit.r1cs, powers, at('1.zkey'), at('never.zkey'), { ...beacon, hash: new Uint8Array(8) }),
    ).rejects.toThrow('expected 32 bytes');
  });
});
