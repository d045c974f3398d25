import { describe, expect, test } from 'vitest';
import { encodeG1, G1_GENERATOR } from '../../prover/curve/g1.js';
import type { TranscriptStep } from '../../prover/transcript/transcript.js';
import { joiningDigest, joiningValue } from './joining.js';
import { permutation } from './poseidon.js';
import { asciiElement, blocksOf, PoseidonTranscript, pointLimbs, tagOf, TRANSCRIPT_START } from './transcript.js';

/** What a transcript draws after some messages. */
function drawn(act: (transcript: PoseidonTranscript) => void, count = 1): bigint[] {
  const transcript = new PoseidonTranscript();
  act(transcript);
  return transcript.challenges('c', count);
}

describe('Poseidon transcript', () => {
  test('blocks', () => {
    const rows = [0, 1, 2, 3, 16, 17, 18, 19, 32, 33].map((count) => [count, blocksOf(count)]);
    expect(rows).toEqual([
      [0, [2]],
      [1, [2]],
      [2, [2]],
      [3, [3]],
      [16, [16]],
      [17, [16, 2]],
      [18, [16, 2]],
      [19, [16, 3]],
      [32, [16, 16]],
      [33, [16, 16, 2]],
    ]);
  });

  test('is the permutation, block by block', () => {
    const first = permutation([TRANSCRIPT_START + tagOf('scalars', 0, 3), 7n, 8n, 9n]);
    const second = permutation([first[0]! + tagOf('bytes', 0, 17), (1n << 128n) - 1n, 255n << 120n]);
    const squeezed = permutation([second[0]! + tagOf('squeeze', 0, 0), ...new Array<bigint>(8).fill(0n)]);
    const transcript = new PoseidonTranscript();
    transcript.absorbScalars('a', [7n, 8n, 9n]);
    expect(transcript.challenges('b', 2)).toEqual(first.slice(1, 3));
    transcript.absorbBytes('c', new Uint8Array(17).fill(255));
    expect(transcript.challenges('d', 4)).toEqual([...second.slice(1, 3), ...squeezed.slice(1, 3)]);
  });

  test('grouping of challenges does not matter', () => {
    const one = new PoseidonTranscript();
    expect(Array.from({ length: 30 }, () => one.challenge('c'))).toEqual(drawn(() => undefined, 30));
  });

  test('messages that could be taken for one another differ', () => {
    const zero = new Uint8Array(16);
    const cases: ((t: PoseidonTranscript) => void)[] = [
      () => undefined,
      (t) => t.absorbScalars('', []),
      (t) => t.absorbScalars('', [0n]),
      (t) => t.absorbScalars('', [0n, 0n]),
      (t) => (t.absorbScalars('', [0n]), t.absorbScalars('', [0n])),
      (t) => t.absorbBytes('', zero),
      (t) => t.absorbBytes('', zero.subarray(1)),
      (t) => t.absorbBytes('', new Uint8Array()),
      (t) => t.absorbScalars('', new Array<bigint>(8).fill(0n)),
      (t) => t.challenges('', 8),
      (t) => t.challenges('', 9),
      (t) => t.absorbScalars('', new Array<bigint>(17).fill(0n)),
      (t) => (t.absorbScalars('', new Array<bigint>(16).fill(0n)), t.absorbScalars('', [0n])),
      (t) => t.absorbPoints('', [new Uint8Array(64)]),
      (t) => t.absorbScalars('', [1n << 64n]),
    ];
    const results = cases.map((act) => drawn(act)[0]);
    expect(new Set(results).size).toBe(cases.length);
  });

  test('a challenge that is skipped does not change what follows the next message', () => {
    const after = (skip: number) =>
      drawn((t) => {
        t.absorbScalars('', [1n, 2n, 3n]);
        t.challenges('', skip);
        t.absorbScalars('', [4n]);
      });
    expect(after(3)).toEqual(after(0));
    expect(after(4)).not.toEqual(after(0));
  });

  test('points are four limbs, the low half first', () => {
    expect(pointLimbs(encodeG1(G1_GENERATOR))).toEqual([1n, 0n, 2n, 0n]);
    const limbs = pointLimbs(encodeG1(G1_GENERATOR.multiply(5n)));
    const { x, y } = G1_GENERATOR.multiply(5n).toAffine();
    expect([limbs[0]! + (limbs[1]! << 128n), limbs[2]! + (limbs[3]! << 128n)]).toEqual([x, y]);
    expect(drawn((t) => t.absorbPoints('', [encodeG1(G1_GENERATOR)]))).toEqual(
      drawn((t) => t.absorbScalars('', [1n, 0n, 2n, 0n])),
    );
  });

  test('tells its steps in bytes and elements, as keccak does', () => {
    const steps: TranscriptStep[] = [];
    const transcript = new PoseidonTranscript((step) => steps.push(step));
    transcript.absorbBytes('b', new Uint8Array(5));
    transcript.absorbScalars('s', [1n, 2n]);
    transcript.absorbPoints('p', [new Uint8Array(64)]);
    transcript.challenges('c', 3);
    expect(steps).toEqual([
      { kind: 'absorb', label: 'b', size: 5 },
      { kind: 'absorb', label: 's', size: 64 },
      { kind: 'absorb', label: 'p', size: 64 },
      { kind: 'challenge', label: 'c', size: 3 },
    ]);
  });

  test('one vector, so that a change of the instance shows', () => {
    const [value] = drawn((t) => {
      t.absorbBytes('', new TextEncoder().encode('a message of more than sixteen bytes'));
      t.absorbScalars('', [1n, 2n, 3n]);
    });
    expect(value).toMatchInlineSnapshot(`21038587128210578682048345323811440817860334811713824883547520924369245941n`);
  });
});

describe('joining', () => {
  test('digest and value', () => {
    const x = [3n, 5n, 7n];
    expect(joiningValue(x, 10n)).toBe(30n + 500n + 7000n);
    const [state] = permutation([asciiElement('assay/joining/1') + tagOf('scalars', 0, 3), ...x]);
    expect(joiningDigest(x)).toBe(state);
    expect(joiningDigest([3n, 5n, 8n])).not.toBe(state);
  });
});
