import { beforeAll, describe, expect, test } from 'vitest';
import * as snarkjs from 'snarkjs';
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { encodeG1, G1_GENERATOR, readUint256 } from '../curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../curve/g2.js';
import { FQ_MODULUS } from '../field/bn254.params.js';
import { checkPowers } from './check-powers.js';
import { developmentHead, DEVELOPMENT_TAU, isDevelopmentSrs } from './development-srs.js';
import { inMemory } from './random-access.js';
import { readPtau } from './read-ptau.js';
import { requireProductionSrs } from './require-production-srs.js';
import { decodeSrs, encodeSrs } from './srs-file.js';
import { openingKey, srsIdOf, srsPrefix, srsSize, type Srs } from './srs.js';
import { referenceMsm } from './testing/reference-msm.js';
import { referenceSrs } from './testing/reference-srs.js';

const srs = referenceSrs(DEVELOPMENT_TAU, 16);
const other = referenceSrs(DEVELOPMENT_TAU + 1n, 16);

/** The error that `act` ends in. */
async function refusal(act: () => unknown): Promise<AssayError> {
  try {
    await act();
  } catch (error) {
    expect(error).toBeInstanceOf(AssayError);
    return error as AssayError;
  }
  throw new Error('nothing was refused');
}

function changed(bytes: Uint8Array, at: number, mask = 1): Uint8Array {
  const copy = bytes.slice();
  copy[at < 0 ? copy.length + at : at]! ^= mask;
  return copy;
}

describe('identity', () => {
  test('a prefix has the same id, another tau another one', () => {
    expect(srsIdOf(srsPrefix(srs, 4))).toEqual(srsIdOf(srs));
    expect(srsSize(srsPrefix(srs, 4))).toBe(4);
    expect(srsIdOf(other)).not.toEqual(srsIdOf(srs));
    expect(() => srsPrefix(srs, 17)).toThrow('16 points, 17 are needed');
  });

  test('the development SRS is known by its id and refused outside chain 31337', () => {
    expect(isDevelopmentSrs(srsIdOf(srs))).toBe(true);
    expect(isDevelopmentSrs(srsIdOf(developmentHead()))).toBe(true);
    expect(isDevelopmentSrs(srsIdOf(other))).toBe(false);
    requireProductionSrs(srsIdOf(srs), 31337n);
    requireProductionSrs(srsIdOf(other), 1n);
    requireProductionSrs(srsIdOf(other), undefined);
    for (const chainId of [1n, 11155111n, undefined])
      expect(() => requireProductionSrs(srsIdOf(srs), chainId)).toThrow('its secret is public');
  });

  test('a key is refused whose two halves hold different secrets, or a point that is none', async () => {
    openingKey(srs);
    expect(await refusal(() => openingKey({ ...srs, tauG2: other.tauG2 }))).toMatchObject({ code: 'SRS_INVALID' });
    expect(await refusal(() => openingKey({ ...srs, tauG1: new Uint8Array(64) }))).toMatchObject({
      code: 'SRS_INVALID',
    });
    expect(await refusal(() => openingKey({ ...srs, tauG2: new Uint8Array(128) }))).toMatchObject({
      code: 'SRS_INVALID',
    });
    expect(await refusal(() => openingKey({ ...srs, tauG1: changed(srs.tauG1, -1) }))).toMatchObject({
      code: 'SRS_INVALID',
    });
  });
});

describe('powers', () => {
  const withPoints = (change: (points: Uint8Array) => void): Srs => {
    const points = srs.points.slice();
    change(points);
    return { ...srs, points };
  };
  const point = (of: Srs, i: number) => of.points.subarray(64 * i, 64 * (i + 1));

  test('a true SRS and its prefixes pass', async () => {
    checkPowers(srs, referenceMsm);
    checkPowers(srsPrefix(srs, 2), referenceMsm);
  });

  test.each([
    ['a foreign power', withPoints((p) => p.set(point(other, 7), 64 * 7)), 'not the powers of one tau'],
    ['two powers swapped', withPoints((p) => (p.set(point(srs, 7), 64 * 8), p.set(point(srs, 8), 64 * 7))), 'powers'],
    ['the last power foreign', withPoints((p) => p.set(point(other, 15), 64 * 15)), 'not the powers of one tau'],
    ['a point off the curve', withPoints((p) => p.set([1], 64 * 9 + 63)), 'point 9'],
    ['another first point', withPoints((p) => p.set(point(srs, 3), 0)), 'not the generator'],
    ['another second point', withPoints((p) => p.set(point(srs, 3), 64)), 'not the stated tau'],
    ['foreign points', { ...other, tauG1: srs.tauG1, tauG2: srs.tauG2 }, 'not the stated tau'],
    ['a foreign point of G2', { ...srs, tauG2: other.tauG2 }, 'same tau'],
    ['one point', { ...srs, points: srs.points.subarray(0, 64) }, 'at least two points'],
    ['half a point', { ...srs, points: srs.points.subarray(0, 96) }, 'at least two points'],
    ['tau = 1', referenceSrs(1n, 4), 'nobody has contributed'],
  ])('%s is refused', async (_name, bad, message) => {
    const error = await refusal(() => checkPowers(bad, referenceMsm));
    expect(error.code).toBe('SRS_INVALID');
    expect(error.message).toContain(message);
  });
});

describe('our file', () => {
  const file = encodeSrs(srs);

  test('decoding undoes encoding', () => {
    expect(decodeSrs(file, 'srs')).toEqual(srs);
    const shifted = new Uint8Array(file.length + 3);
    shifted.set(file, 3);
    expect(decodeSrs(shifted.subarray(3), 'srs')).toEqual(srs);
  });

  test('no byte can be changed, none left out, none added', () => {
    for (let at = 0; at < file.length; at += 7) expect(() => decodeSrs(changed(file, at), 'srs')).toThrow(AssayError);
    expect(() => decodeSrs(file.subarray(0, -1), 'srs')).toThrow('expected');
    expect(() => decodeSrs(Uint8Array.of(...file, 0), 'srs')).toThrow('expected');
    expect(() => decodeSrs(new Uint8Array(), 'srs')).toThrow('not an SRS file');
    expect(() => decodeSrs(changed(file, 11), 'srs')).toThrow('version');
    expect(() => decodeSrs(changed(file, 200), 'srs')).toThrow('checksum');
  });
});

describe('ceremony files made by snarkjs', () => {
  const power = 4;
  let fresh: Uint8Array;
  let contributed: Uint8Array;
  let prepared: Uint8Array;
  /** What snarkjs itself reads from the contributed file: affine coordinates. */
  let tauG1: bigint[][];
  let tauG2: bigint[][][];

  beforeAll(async () => {
    const curve = await snarkjs.curves.getCurveFromName('bn128');
    const files = [0, 1, 2].map((): snarkjs.MemoryFile => ({ type: 'mem' })) as [
      snarkjs.MemoryFile,
      snarkjs.MemoryFile,
      snarkjs.MemoryFile,
    ];
    await snarkjs.powersOfTau.newAccumulator(curve, power, files[0]);
    await snarkjs.powersOfTau.contribute(files[0], files[1], 'test', 'entropy of a test');
    await snarkjs.powersOfTau.preparePhase2(files[1], files[2]);
    [fresh, contributed, prepared] = files.map(({ data }) => data!.slice()) as [Uint8Array, Uint8Array, Uint8Array];
    // File head 12, header section 12 + 44, section head 12.
    const g1Start = 80;
    const g2Start = g1Start + (2 ** (power + 1) - 1) * 64 + 12;
    tauG1 = Array.from({ length: 2 ** (power + 1) - 1 }, (_, i) =>
      curve.G1.toObject(curve.G1.fromRprLEM(contributed, g1Start + 64 * i)),
    );
    tauG2 = [0, 1].map((i) => curve.G2.toObject(curve.G2.fromRprLEM(contributed, g2Start + 128 * i)));
    await curve.terminate();
  });

  const read = (bytes: Uint8Array, size = 16, hash = bytesToHex(sha256(bytes))) =>
    readPtau(inMemory('test.ptau', bytes), { size, pin: { algorithm: 'sha256', hash }, msm: referenceMsm });

  test('the points are those that snarkjs reads', async () => {
    const read31 = await read(contributed, 31);
    for (let i = 0; i < 31; i++) {
      expect(readUint256(read31.points, 64 * i)).toBe(tauG1[i]![0]);
      expect(readUint256(read31.points, 64 * i + 32)).toBe(tauG1[i]![1]);
    }
    expect(read31.points.subarray(0, 64)).toEqual(encodeG1(G1_GENERATOR));
    const [x, y] = tauG2[1] as [bigint[], bigint[]];
    expect([0, 32, 64, 96].map((at) => readUint256(read31.tauG2, at))).toEqual([x[1], x[0], y[1], y[0]]);
    expect(encodeG2(G2_GENERATOR)).not.toEqual(read31.tauG2);
  });

  test('prepared or not, whole or a prefix: the same points and the same id', async () => {
    const whole = await read(contributed, 31);
    expect(await read(prepared, 31)).toEqual(whole);
    const prefix = await read(prepared, 8);
    expect(prefix).toEqual(srsPrefix(whole, 8));
    expect(srsIdOf(prefix)).toEqual(srsIdOf(whole));
    expect(isDevelopmentSrs(srsIdOf(whole))).toBe(false);
  });

  test('the file is pinned by sha256, blake2b or keccak256; progress covers it', async () => {
    const pins = {
      sha256: bytesToHex(sha256(contributed)),
      blake2b: `0x${bytesToHex(blake2b(contributed)).toUpperCase()}`,
      keccak256: bytesToHex(keccak_256(contributed)),
    };
    for (const [algorithm, hash] of Object.entries(pins) as [keyof typeof pins, string][]) {
      const steps: string[] = [];
      const pinned = (pin: string) =>
        readPtau(inMemory('test.ptau', contributed), {
          size: 4,
          pin: { algorithm, hash: pin },
          msm: referenceMsm,
          onProgress: (step, done, total) => steps.push(`${step} ${done}/${total}`),
        });
      await pinned(hash);
      expect(steps).toEqual([`hash ${contributed.length}/${contributed.length}`, 'read 4/4']);
      const error = await refusal(() => pinned(hash.slice(0, -1)));
      expect(error).toMatchObject({ code: 'SRS_INVALID', meta: { algorithm } });
    }
  });

  test('a file without contribution, cut, changed, of another curve or no ptau at all is refused', async () => {
    const cases: [Uint8Array, string][] = [
      [fresh, 'nobody has contributed'],
      [contributed.subarray(0, 2000), 'truncated'],
      [contributed.subarray(0, 30), 'truncated'],
      [contributed.subarray(0, 5), 'truncated'],
      [new Uint8Array(100), 'expected "ptau"'],
      [changed(contributed, 4), 'version 1'],
      [changed(contributed, 8, 0x80), 'at most 64 sections'],
      [changed(contributed, 12, 9), 'section'],
      [changed(contributed, 28), 'another curve'],
      [changed(contributed, 60), 'power'],
      [changed(contributed, 80 + 64 * 3), 'point 3'],
    ];
    for (const [bytes, message] of cases) {
      const error = await refusal(() => read(bytes));
      expect(error.code).toBe('SRS_INVALID');
      expect(error.message).toContain(message);
    }
    expect(await refusal(() => read(contributed, 32))).toMatchObject({ code: 'SRS_TOO_SMALL' });
  });

  test('two powers swapped inside a file, and a coordinate that is not below q, are refused', async () => {
    const swapped = contributed.slice();
    swapped.set(contributed.subarray(80 + 64 * 5, 80 + 64 * 6), 80 + 64 * 6);
    swapped.set(contributed.subarray(80 + 64 * 6, 80 + 64 * 7), 80 + 64 * 5);
    expect((await refusal(() => read(swapped))).message).toContain('not the powers of one tau');
    const large = contributed.slice();
    for (let i = 0, rest = FQ_MODULUS; i < 32; i++, rest >>= 8n) large[80 + 64 * 5 + i] = Number(rest & 255n);
    expect((await refusal(() => read(large))).message).toContain('not below q');
  });
});
