/**
 * Mistakes that other verifiers on chain have made, each with the test that ours does not make it. Numbers E are those of
 * the list of traps of on-chain verification, numbers R the contract rows of the list of traps of zkML.
 *
 * No place here: E2 (a skipped phase 2), E17 (re-randomised Groth16 proofs) need a Groth16 verifier; E10 (halves in circuit and
 * contract that nobody joined) a circuit; E11 (derived Gemini evaluations) HyperKZG on chain, whose proofs DirectVerifier
 * refuses by their header. They come with the contracts that have such parts. What a whole proof is needed for is tested
 * with DirectVerifier.
 */
import { bn254 } from '@noble/curves/bn254.js';
import { AbiCoder, concat, hexlify, keccak256, toBeHex, toUtf8Bytes } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeG1, encodeG1, G1_GENERATOR, G1_INFINITY, linearCombination } from '../../prover/curve/g1.js';
import { decodeG2 } from '../../prover/curve/g2.js';
import { FQ_MODULUS, FR_MODULUS } from '../../prover/field/bn254.params.js';
import { add, fromBytes, toBytes } from '../../prover/field/fr.js';
import { encodeDirectEvidence, type CommittedPorts } from '../../prover/files/direct-evidence.js';
import { mercuryProver } from '../../prover/opening/mercury-prover.js';
import { referenceBackend } from '../../prover/opening/reference-backend.js';
import { naiveMercury } from '../../prover/opening/testing/naive-mercury.js';
import { commitWithTau, knownClaim, randomClaim, seededScalars } from '../../prover/opening/testing/random-claim.js';
import type { OpeningClaim } from '../../prover/opening/types.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import type { Program } from '../../prover/program/types.js';
import { developmentHead, DEVELOPMENT_TAU } from '../../prover/srs/development-srs.js';
import { openingKey, srsPrefix } from '../../prover/srs/srs.js';
import { referenceSrs } from '../../prover/srs/testing/reference-srs.js';
import { KeccakTranscript } from '../../prover/transcript/transcript.js';
import type { GroupStatement } from '../../prover/verifier/statement.js';
import { COMPILE_TIMEOUT_MS, deployHarness, type Harness } from '../harness/opening/deploy-harness.js';

const words = (bytes: Uint8Array): bigint[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => fromBytes(bytes.subarray(32 * i, 32 * i + 32)));
const START = keccak256(toUtf8Bytes('assay/transcript/1'));
const head = developmentHead();

let opening: Harness;
let statement: Harness;
beforeAll(async () => {
  opening = await deployHarness('OpeningHarness', [words(head.tauG1), words(head.tauG2)]);
  statement = await deployHarness('StatementHarness');
  for (const own of [program, otherProgram]) await statement.send('publish', hexlify(encodeProgram(own)));
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await opening.stop();
  await statement.stop();
});

async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const { revert, data, code } = error as { revert?: { name: string } | null; data?: string | null; code?: string };
    if (code !== 'CALL_EXCEPTION') throw error;
    return revert?.name ?? `reverted: ${data}`;
  }
  return 'accepted';
}

// --- A Mercury opening

const N = 4;
const srs = referenceSrs(DEVELOPMENT_TAU, 64);
const backend = referenceBackend(srsPrefix(srs, 2 ** N));
const known = randomClaim(N, 2, DEVELOPMENT_TAU, seededScalars('traps'));
const proof = mercuryProver.prove(new KeccakTranscript(), known.claim, known.f, backend);
const combined = ({ commitments, coefficients }: OpeningClaim): bigint[] =>
  words(
    encodeG1(
      linearCombination(
        commitments.map((bytes) => decodeG1(bytes, '')),
        coefficients,
      ),
    ),
  );
const open = async (claim: OpeningClaim, bytes: Uint8Array): Promise<{ holds: boolean; right: string }> => {
  const [holds, , right] = (await opening.call(
    'mercury',
    START,
    combined(claim),
    claim.point,
    claim.value,
    hexlify(bytes),
  )) as [boolean, unknown, bigint[]];
  return { holds, right: right.join() };
};
const changed = (bytes: Uint8Array, at: number, part: Uint8Array): Uint8Array => {
  const copy = bytes.slice();
  copy.set(part, at);
  return copy;
};
const POINTS = [0, 64, 128, 192, 256, 512, 576, 640];
const SCALARS = [320, 352, 384, 416, 448, 480];

// --- A statement

const program: Program = {
  witness: [
    { name: '', axes: [3, 17] },
    { name: '', axes: [6] },
  ],
  model: [],
  tables: [
    { kind: 'input', lo: 0, hi: 255 },
    { kind: 'input', lo: -300, hi: 300 },
  ],
  inputs: [
    { slot: 0, table: 0, cellBits: 8 },
    { slot: 1, table: 1, cellBits: 16 },
  ],
  requants: [],
  maxima: [],
  outputs: [{ range: { lo: -1000, hi: 1000 }, argMaxAxis: null, expression: { axes: [5], linear: [], products: [] } }],
  modelBits: 8,
};
const otherProgram: Program = { ...program, modelBits: 9 };
const SRS_ID = new Uint8Array(32).fill(9);
const group: GroupStatement = {
  key: {
    roots: { graphRoot: keccak256('0x01'), weightsRoot: keccak256('0x02'), opCount: 3 },
    srsId: SRS_ID,
    program,
    commitments: [new Uint8Array(64).fill(1)],
  },
  items: 1,
  // Packed row by row, and cell by cell.
  inputs: [Int32Array.from({ length: 51 }, (_, i) => 5 * i), Int32Array.of(-300, 300, 0, -1, 1, 7)],
  outputs: [Int32Array.of(-1000, 1000, 0, -1, 1)],
};
const ports: CommittedPorts = {
  inputs: [
    { shape: [3, 17], range: { lo: 0, hi: 255 }, layout: [0, 1] },
    { shape: [6], range: { lo: -300, hi: 300 }, layout: [0] },
  ],
  outputs: [{ shape: [5], range: { lo: -1000, hi: 1000 }, layout: [0] }],
};
const CONTEXT = new Uint8Array(32).fill(3);
const evidenceOf = (own: GroupStatement = group, context = CONTEXT): Uint8Array =>
  encodeDirectEvidence(own, ports, context, new Uint8Array(0));
interface Read {
  readonly modelDigest: string;
  readonly state: string;
  readonly inputRoot: string;
  readonly outputRoot: string;
}
const read = (evidence: Uint8Array, srsId = SRS_ID, n = 8): Promise<Read> =>
  statement.call('read', hexlify(evidence), hexlify(srsId), 1, n, Array<bigint>(16).fill(5n)) as Promise<Read>;

describe('E1, R42: scalars of r and more', () => {
  const aliases = (value: bigint): bigint[] => [
    value + FR_MODULUS,
    value + 2n * FR_MODULUS,
    FR_MODULUS,
    FR_MODULUS + 1n,
    2n ** 256n - 1n,
  ];

  it('are refused in every place of an opening', async () => {
    for (const at of SCALARS)
      for (const alias of aliases(fromBytes(proof.slice(at, at + 32))))
        expect(await refusal(open(known.claim, changed(proof, at, toBytes(alias)))), `byte ${at}`).toBe(
          'ScalarNotCanonical',
        );
  });

  it('are refused in every place of a round, by every degree', async () => {
    for (const degree of [2, 3, 5, 6])
      for (let i = 0; i < degree; i++)
        for (const alias of aliases(7n)) {
          const round = Array.from({ length: degree }, (_, k) => (k === i ? alias : 7n));
          expect(await refusal(opening.call('sumcheck', START, 0n, round, 1, degree))).toBe('ScalarNotCanonical');
        }
  });

  it('are refused among values', async () => {
    for (const alias of aliases(0n))
      expect(await refusal(opening.call('absorbScalars', START, [1n, alias]))).toBe('ScalarNotCanonical');
  });

  it('public integers are read in their width and judged by their range: there is no other name for one', async () => {
    const evidence = evidenceOf();
    const published = evidence.length - 4 * 5;
    for (const value of [1001, -1001, 2 ** 31 - 1, -(2 ** 31)]) {
      const other = evidence.slice();
      new DataView(other.buffer).setInt32(published, value);
      expect(await refusal(read(other)), `${value}`).toBe('ValueOutOfRange');
    }
    const wide = published - 22 - 12;
    for (const value of [301, -301, 32_767, -32_768]) {
      const other = evidence.slice();
      new DataView(other.buffer).setInt16(wide, value);
      expect(await refusal(read(other)), `${value}`).toBe('ValueOutOfRange');
    }
  });
});

describe('E3: a reference string whose secret is known', () => {
  it('is refused away from the development chain', async () => {
    const deployed = deployHarness('OpeningHarness', [words(head.tauG1), words(head.tauG2)], { chainId: 1n });
    expect(await refusal(deployed)).toContain(keccak256(toUtf8Bytes('SrsDevelopment()')).slice(0, 10));
  });

  it('tau 1, of a ceremony without contributions, is refused', async () => {
    const h = bn254.G2.Point.BASE.toAffine();
    const tauH = [h.x.c1, h.x.c0, h.y.c1, h.y.c0];
    expect(await refusal(deployHarness('OpeningHarness', [[1n, 2n], tauH]))).not.toBe('accepted');
  });
});

describe('E4, E9: weak Fiat-Shamir', () => {
  it('everything public moves the state before the first challenge', async () => {
    const honest = await read(evidenceOf());
    const { key } = group;
    const others: [string, Promise<Read>][] = [
      ['context', read(evidenceOf(group, new Uint8Array(32).fill(4)))],
      [
        'graph root',
        read(evidenceOf({ ...group, key: { ...key, roots: { ...key.roots, graphRoot: keccak256('0x03') } } })),
      ],
      [
        'weights root',
        read(evidenceOf({ ...group, key: { ...key, roots: { ...key.roots, weightsRoot: keccak256('0x03') } } })),
      ],
      ['opCount', read(evidenceOf({ ...group, key: { ...key, roots: { ...key.roots, opCount: 4 } } }))],
      [
        'commitment of the model',
        read(evidenceOf({ ...group, key: { ...key, commitments: [new Uint8Array(64).fill(2)] } })),
      ],
      ['program', read(evidenceOf({ ...group, key: { ...key, program: otherProgram } }))],
      ['SRS', read(evidenceOf(), new Uint8Array(32).fill(8))],
      ['n', read(evidenceOf(), SRS_ID, 9)],
      ...[0, 25, 50].map((i): [string, Promise<Read>] => [
        `input element ${i}`,
        read(
          evidenceOf({ ...group, inputs: [group.inputs[0]!.map((v, k) => (k === i ? v ^ 1 : v)), group.inputs[1]!] }),
        ),
      ]),
      ...[0, 5].map((i): [string, Promise<Read>] => [
        `wide input element ${i}`,
        read(evidenceOf({ ...group, inputs: [group.inputs[0]!, group.inputs[1]!.map((v, k) => (k === i ? 5 : v))] })),
      ]),
      ...[0, 4].map((i): [string, Promise<Read>] => [
        `output element ${i}`,
        read(evidenceOf({ ...group, outputs: [group.outputs[0]!.map((v, k) => (k === i ? 5 : v))] })),
      ]),
    ];
    const states = new Set([honest.state]);
    for (const [name, other] of others) {
      const { state } = await other;
      expect(states.has(state), name).toBe(false);
      states.add(state);
    }
    // Two items of the same elements are another statement.
    const two = {
      ...group,
      items: 2,
      inputs: group.inputs.map((v) => Int32Array.of(...v, ...v)),
      outputs: group.outputs.map((v) => Int32Array.of(...v, ...v)),
    };
    expect(states.has((await read(evidenceOf(two))).state)).toBe(false);
  });

  it('the claim of an opening moves it too', async () => {
    const { claim } = known;
    const honest = (await open(claim, proof)).right;
    const others: OpeningClaim[] = [
      { ...claim, value: add(claim.value, 1n) },
      { ...claim, coefficients: claim.coefficients.map((e) => add(e, 1n)) },
      ...claim.point.map((_, i) => ({ ...claim, point: claim.point.map((u, k) => (k === i ? add(u, 1n) : u)) })),
    ];
    for (const other of others) expect((await open(other, proof)).right).not.toBe(honest);
  });
});

describe('E5, E6, E7: a message that no later challenge covers', () => {
  it('every word of an opening moves the last challenge, which joins its equations', async () => {
    // R = W' / rho + t: with W' and t as they were, only another rho gives another R.
    const honest = (await open(known.claim, proof)).right;
    for (const at of SCALARS) {
      const value = add(fromBytes(proof.slice(at, at + 32)), 1n);
      const other = await open(known.claim, changed(proof, at, toBytes(value)));
      expect(other.holds).toBe(false);
      expect(other.right, `byte ${at}`).not.toBe(honest);
    }
    for (const at of POINTS.filter((own) => own !== 512 && own !== 640)) {
      const other = await open(known.claim, changed(proof, at, encodeG1(G1_GENERATOR.multiply(77n))));
      expect(other.holds).toBe(false);
      expect(other.right, `byte ${at}`).not.toBe(honest);
    }
    for (const at of [512, 640])
      expect((await open(known.claim, changed(proof, at, encodeG1(G1_GENERATOR.multiply(77n))))).holds).toBe(false);
  });
});

describe('E8: a round that its challenge does not depend on', () => {
  it.each([2, 3, 5, 6])(
    'degree %i: every coefficient moves the challenge of its round and no earlier one',
    async (degree) => {
      const rounds = 3;
      const scalars = Array.from({ length: rounds * degree }, (_, i) => BigInt(i + 1));
      const run = async (own: readonly bigint[]): Promise<bigint[]> => [
        ...((await opening.call('sumcheck', START, 5n, own, rounds, degree)) as [unknown, unknown, bigint[]])[2],
      ];
      const honest = await run(scalars);
      for (let i = 0; i < scalars.length; i++) {
        const other = await run(scalars.map((v, k) => (k === i ? v + 1n : v)));
        const round = Math.floor(i / degree);
        expect(other.slice(0, round)).toEqual(honest.slice(0, round));
        for (let r = round; r < rounds; r++) expect(other[r]).not.toBe(honest[r]);
      }
    },
  );
});

describe('E12: a commitment of a higher degree than the opening, under a larger SRS', () => {
  it('counts as its first 2^n coefficients and opens to nothing else', async () => {
    const key = openingKey(srs);
    const next = seededScalars('long');
    const f = Array.from({ length: 2 ** (N + 2) }, next);
    const point = Array.from({ length: N }, next);
    const { claim } = knownClaim([commitWithTau(f, DEVELOPMENT_TAU)], [1n], f.slice(0, 2 ** N), point);
    const long = naiveMercury(new KeccakTranscript(), claim, f, DEVELOPMENT_TAU, key.srsId);
    expect((await open(claim, long.proof)).holds).toBe(true);
    for (const value of [add(claim.value, 1n), add(claim.value, f[2 ** N]!), 0n]) {
      const wrong = { ...claim, value };
      const forged = naiveMercury(new KeccakTranscript(), wrong, f, DEVELOPMENT_TAU, key.srsId);
      expect((await open(wrong, forged.proof)).holds).toBe(false);
    }
  });
});

describe('E13: a pairing whose answer nobody looks at', () => {
  it('false equations and failed calls are both false', async () => {
    expect((await open(known.claim, proof)).holds).toBe(true);
    expect((await open({ ...known.claim, value: 1n }, proof)).holds).toBe(false);
    const times = (k: bigint): bigint[] => words(encodeG1(linearCombination([G1_GENERATOR], [k])));
    expect(await opening.call('pairingHolds', times(DEVELOPMENT_TAU), times(1n))).toBe(true);
    expect(await opening.call('pairingHolds', times(1n), times(1n))).toBe(false);
    // The precompile fails: a point off the curve, a coordinate of q.
    expect(await opening.call('pairingHolds', [1n, 1n], times(1n))).toBe(false);
    expect(await opening.call('pairingHolds', times(1n), [1n, 1n])).toBe(false);
    expect(await opening.call('pairingHolds', [FQ_MODULUS, 0n], times(0n))).toBe(false);
  });
});

describe('E14: the zero bug', () => {
  it('a proof of zeros opens the zero polynomial to 0, and nothing else', async () => {
    const zeros = new Uint8Array(704);
    const infinity = encodeG1(G1_INFINITY);
    const zero = { n: N, commitments: [infinity], coefficients: [1n], point: known.claim.point, value: 0n };
    expect((await open(zero, zeros)).holds).toBe(true);
    expect((await open({ ...zero, value: 1n }, zeros)).holds).toBe(false);
    expect((await open({ ...known.claim, value: 0n }, zeros)).holds).toBe(false);
    expect((await open(known.claim, zeros)).holds).toBe(false);
  });

  it('no point of a proof can be infinity, and no scalar 0, instead of what it is', async () => {
    for (const at of POINTS)
      expect((await open(known.claim, changed(proof, at, new Uint8Array(64)))).holds).toBe(false);
    for (const at of SCALARS)
      expect((await open(known.claim, changed(proof, at, new Uint8Array(32)))).holds).toBe(false);
  });
});

describe('E15, R42: points that are none', () => {
  const point = encodeG1(G1_GENERATOR.multiply(5n));
  const [x, y] = words(point) as [bigint, bigint];
  const bad: [string, bigint, bigint][] = [
    ['off the curve', x, y + 1n],
    ['x of q more', x + FQ_MODULUS, y],
    ['y of q more', x, y + FQ_MODULUS],
    ['q, 0', FQ_MODULUS, 0n],
    ['0, q', 0n, FQ_MODULUS],
    ['0, 1', 0n, 1n],
    ['1, 0', 1n, 0n],
  ];

  it.each(bad)('%s: refused in every place of an opening', async (_name, px, py) => {
    const bytes = Uint8Array.of(...toBytes(px), ...toBytes(py));
    for (const at of POINTS)
      expect(await refusal(open(known.claim, changed(proof, at, bytes))), `byte ${at}`).toBe('PointInvalid');
  });

  it('tau H on the twist but outside the subgroup of order r is refused by both', async () => {
    const { Fp2 } = bn254.fields;
    const { BASE } = bn254.G2.Point;
    const affine = BASE.toAffine();
    const b = Fp2.sub(Fp2.sqr(affine.y), Fp2.mul(Fp2.sqr(affine.x), affine.x));
    let found: bigint[] | null = null;
    for (let c0 = 1n; found === null; c0++) {
      const px = Fp2.create({ c0, c1: 1n });
      const square = Fp2.add(Fp2.mul(Fp2.sqr(px), px), b);
      let py;
      try {
        py = Fp2.sqrt(square);
      } catch {
        continue;
      }
      if (!Fp2.eql(Fp2.sqr(py), square)) continue;
      if (!bn254.G2.Point.fromAffine({ x: px, y: py }).isTorsionFree()) found = [px.c1, px.c0, py.c1, py.c0];
    }
    const bytes = Uint8Array.of(...found.flatMap((word) => [...toBytes(word)]));
    expect(() => decodeG2(bytes, 'tau H')).toThrow('subgroup');
    expect(await refusal(deployHarness('OpeningHarness', [words(head.tauG1), found]))).not.toBe('accepted');
  });
});

describe('E16: a verifying key of which a part is missing', () => {
  it('no word of the reference string can be zero', async () => {
    const full = [...words(head.tauG1), ...words(head.tauG2)];
    for (let i = 0; i < full.length; i++) {
      const part = full.map((word, k) => (k === i ? 0n : word));
      expect(await refusal(deployHarness('OpeningHarness', [part.slice(0, 2), part.slice(2)])), `word ${i}`).not.toBe(
        'accepted',
      );
    }
    for (const [from, to] of [
      [0, 2],
      [2, 6],
      [0, 6],
    ] as const) {
      const part = full.map((word, k) => (k >= from && k < to ? 0n : word));
      expect(await refusal(deployHarness('OpeningHarness', [part.slice(0, 2), part.slice(2)]))).not.toBe('accepted');
    }
  });
});

describe('R39: an encoding that two readers read differently', () => {
  const tail = (evidence: Uint8Array): { data: string; arguments: [string, bigint, bigint, bigint[]] } => ({
    data: hexlify(evidence),
    arguments: [hexlify(SRS_ID), 1n, 8n, Array<bigint>(16).fill(5n)],
  });
  const raw = (data: string): Promise<string> =>
    statement.provider.call({ to: statement.contract.target as string, data });

  it('evidence at another offset, with other bytes around it, is the evidence at that offset', async () => {
    const { data, arguments: rest } = tail(evidenceOf());
    const { interface: abi } = statement.contract;
    const canonical = abi.encodeFunctionData('read', [data, ...rest]);
    const selector = canonical.slice(0, 10);
    // Head of five words, then the list, then garbage, then the evidence.
    const list = AbiCoder.defaultAbiCoder().encode(['uint256[]'], [rest[3]]).slice(66);
    const garbage = 'ff'.repeat(96);
    const listOffset = 5n * 32n;
    const dataOffset = listOffset + BigInt(list.length / 2) + 96n;
    const padded = data.slice(2).padEnd(64 * Math.ceil((data.length - 2) / 64), '0');
    const moved = concat([
      selector,
      toBeHex(dataOffset, 32),
      rest[0],
      toBeHex(rest[1], 32),
      toBeHex(rest[2], 32),
      toBeHex(listOffset, 32),
      `0x${list}`,
      `0x${garbage}`,
      toBeHex((data.length - 2) / 2, 32),
      `0x${padded}`,
    ]);
    const results = async (call: string): Promise<unknown[]> => {
      const [found] = abi.decodeFunctionResult('read', await raw(call));
      return [...(found as unknown[])].slice(0, 8).map(String);
    };
    expect(await results(moved)).toEqual(await results(canonical));
  });

  it('offsets and lengths beyond the call are refused', async () => {
    const { data, arguments: rest } = tail(evidenceOf());
    const canonical = statement.contract.interface.encodeFunctionData('read', [data, ...rest]);
    const withWord = (at: number, value: bigint): string =>
      `${canonical.slice(0, 10 + 64 * at)}${toBeHex(value, 32).slice(2)}${canonical.slice(74 + 64 * at)}`;
    for (const value of [2n ** 255n, 2n ** 64n, BigInt(canonical.length), 2n ** 256n - 32n])
      expect(await refusal(raw(withWord(0, value))), `offset ${value}`).not.toBe('accepted');
    for (const value of [2n ** 255n, 2n ** 64n, BigInt(canonical.length)])
      expect(await refusal(raw(withWord(5, value))), `length ${value}`).not.toBe('accepted');
  });

  it('the parts of the evidence have no lengths: those of the program whose hash it names', async () => {
    const evidence = evidenceOf();
    for (let at = 96; at < 128; at += 5) {
      const other = evidence.slice();
      other[at]! ^= 1;
      expect(await refusal(read(other)), `byte ${at}`).not.toBe('accepted');
    }
  });
});

describe('R40: a selector that nobody checks', () => {
  it('a call with another one reverts', async () => {
    const { contract, provider } = statement;
    const data = contract.interface.encodeFunctionData('read', [hexlify(evidenceOf()), hexlify(SRS_ID), 1, 8, []]);
    for (const selector of ['0x00000000', '0xffffffff', '0x12345678'])
      expect(
        await refusal(provider.call({ to: contract.target as string, data: `${selector}${data.slice(10)}` })),
      ).not.toBe('accepted');
  });
});

describe('R43: a check that only one of several ways makes', () => {
  it('rows and single cells, both widths: a changed element changes root and state on every way', async () => {
    const honest = await read(evidenceOf());
    const rowsFirst = { ...ports, inputs: [{ ...ports.inputs[0]!, layout: [1, 0] }, ports.inputs[1]!] };
    const byCells = encodeDirectEvidence(group, rowsFirst, CONTEXT, new Uint8Array(0));
    const same = await read(byCells);
    // Another order of axes is another commitment to the same input: the words are those of before.
    expect(same.state).toBe(honest.state);
    expect(same.inputRoot).not.toBe(honest.inputRoot);
    const other = { ...group, inputs: [group.inputs[0]!.map((v, i) => (i === 20 ? v + 1 : v)), group.inputs[1]!] };
    for (const own of [ports, rowsFirst]) {
      const found = await read(encodeDirectEvidence(other, own, CONTEXT, new Uint8Array(0)));
      expect(found.state).not.toBe(honest.state);
      expect([honest.inputRoot, same.inputRoot]).not.toContain(found.inputRoot);
      expect(found.outputRoot).toBe(honest.outputRoot);
    }
  });
});

describe('R44: settings that an owner changes under a user', () => {
  it('a reference string has no setter: every function of the contract is a view', () => {
    opening.contract.interface.forEachFunction(({ name, constant }) => expect(constant, name).toBe(true));
  });
});
