/**
 * A recursive batch before the contract and before its TypeScript counterpart: both accept it and say the same, and both
 * refuse whatever is changed. The attacks on what joins circuit and contract have a test each.
 */
import { bn254 } from '@noble/curves/bn254.js';
import { hexlify } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wrapJoint } from '../../circuits/batch/batch-circuit.js';
import { encodeEvidence } from '../../circuits/batch/evidence.js';
import { batchRho, batchSeed } from '../../circuits/batch/joined.js';
import { proveJoint } from '../../circuits/batch/prove-joint.js';
import { claimedOutputRoot, verifyBatch, type BatchChecker } from '../../circuits/batch/verify-batch.js';
import { joiningValue } from '../../circuits/poseidon/joining.js';
import { AssayError } from '../../common/errors.js';
import { encodeInputs } from '../../graph/index.js';
import { heldOutSamples } from '../../models/index.js';
import { encodeG1, G1_GENERATOR } from '../../prover/curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../prover/curve/g2.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes, toBytes } from '../../prover/field/fr.js';
import {
  checkerOf,
  makeBatch,
  openMaker,
  placeOf,
  prepareBatch,
  recordOf,
  startBatchContract,
  type BatchContract,
  type BatchMaker,
  type BatchModels,
  type MadeBatch,
  type PreparedBatch,
} from './batch-fixture.js';

const BITS = 14;
const MODELS: BatchModels = [['iris', 2]];
const FQ_MODULUS = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const START_TIMEOUT_MS = 600_000;

let maker: BatchMaker;
let prepared: PreparedBatch;
let contract: BatchContract;
let checker: BatchChecker;
let made: MadeBatch;
/** Where the parts begin. */
let at: Readonly<
  Record<'group' | 'receipt' | 'integers' | 'secondContext' | 'columns' | 'coefficients' | 'point' | 'opening', number>
>;

beforeAll(async () => {
  maker = await openMaker(BITS);
  prepared = await prepareBatch(BITS, MODELS);
  // Others that a proof can name instead: of a circuit with more room, and of another key for the same circuit.
  contract = await startBatchContract(maker.srs, [prepared.record, recordWithOtherRoom(), recordWithOtherKey()]);
  const place = placeOf(maker.srs, contract.address, prepared.record);
  checker = checkerOf(maker.srs, prepared, place);
  made = await makeBatch(maker, prepared, MODELS, place);
  const { joint, evidence } = made;
  const models = joint.statement.groups[0]!.key.commitments.length;
  const receipt = 289 + 70 + 64 * models;
  const integers = joint.statement.groups[0]!.outputs[0]!.length / 2;
  const opening = evidence.length - 704;
  const point = opening - 32 * (BITS + 1);
  const coefficients = point - 32 * joint.joined.coefficients.length;
  at = {
    group: 289,
    receipt,
    integers: receipt + 64,
    secondContext: receipt + 64 + 4 * integers,
    columns: coefficients - 64 * joint.joined.commitments.length,
    coefficients,
    point,
    opening,
  };
}, START_TIMEOUT_MS);
afterAll(async () => {
  await contract?.stop();
  await maker?.arithmetic.close();
});

/** Says of the same key that its circuit has room for three. */
function recordWithOtherRoom(): Uint8Array {
  const record = prepared.record.slice();
  record[576 + 3 + 32 + 1] = 3;
  return record;
}

/** Another contribution to the same circuit's key: delta is 3 times as large. */
function recordWithOtherKey(): Uint8Array {
  const { verificationKey: key } = prepared.circuit;
  const [[x0, x1], [y0, y1]] = key.deltaG2;
  const delta = bn254.G2.Point.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } })
    .multiply(3n)
    .toAffine();
  const deltaG2 = [
    [delta.x.c0, delta.x.c1],
    [delta.y.c0, delta.y.c1],
  ] as const;
  return recordOf(prepared.shape, { ...key, deltaG2 }, prepared.bundles);
}

const changed = (change: (bytes: Uint8Array) => void, bytes = made.evidence): Uint8Array => {
  const copy = bytes.slice();
  change(copy);
  return copy;
};
const put = (offset: number, value: bigint) => changed((bytes) => bytes.set(toBytes(value), offset));
const word = (offset: number): bigint => fromBytes(made.evidence.subarray(offset, offset + 32));

function inTypeScript(evidence: Uint8Array, by = checker): string {
  try {
    verifyBatch(by, evidence);
    return 'accepted';
  } catch (error) {
    if (error instanceof AssayError) return error.code;
    throw error;
  }
}

/** Both refuse. @param error of the contract */
async function expectRefused(evidence: Uint8Array, error: string | RegExp): Promise<void> {
  expect(inTypeScript(evidence)).toBe('PROOF_INVALID');
  const answer = await contract.verify(evidence);
  expect(typeof answer === 'string' ? answer : 'accepted').toMatch(error);
}

const REFUSALS =
  /^(ProofInvalid|PointInvalid|ScalarNotCanonical|DegenerateChallenge|RecordUnknown|EvidenceLength|ReceiptsOutOfRange)$/;

describe('a batch', () => {
  it('is accepted, with the claims that its receipts make', async () => {
    const claims = verifyBatch(checker, made.evidence);
    const [bundle] = prepared.bundles;
    expect(await contract.verify(made.evidence)).toEqual(
      claims.map((claim) => [
        claim.modelDigest,
        BigInt(claim.items),
        claim.inputRoot,
        claimedOutputRoot(prepared.shape, 0, bundle!.graph, claim),
        hexlify(claim.context),
      ]),
    );
    expect(claims.map(({ context }) => context)).toEqual(made.contexts.flat());
  });

  it('with room to spare counts the receipts that are there', async () => {
    const small = await makeBatch(maker, prepared, MODELS, checker.place, [1]);
    const claims = await contract.verify(small.evidence);
    expect(claims).toHaveLength(1);
    expect(verifyBatch(checker, small.evidence)).toHaveLength(1);
    // The repeated receipt has no context; one cannot be added.
    const grown = changed((bytes) => bytes.set([0, 2], at.group), small.evidence);
    await expectRefused(grown, /EvidenceLength/);
  }, 120_000);

  it('is refused with a bit of a word changed, wherever', async () => {
    // Every third word: all of them take a minute.
    for (let offset = 1; offset < made.evidence.length; offset += 96) {
      const evidence = changed((bytes) => {
        bytes[offset]! ^= 1;
      });
      await expectRefused(evidence, REFUSALS);
    }
  }, 120_000);

  it.each([0, 1, 288, 2000])('is refused cut at byte %i, and with a byte more', async (length) => {
    await expectRefused(made.evidence.slice(0, length), REFUSALS);
    await expectRefused(
      changed(() => undefined, Uint8Array.from([...made.evidence, 0])),
      'EvidenceLength',
    );
  });
});

describe('what joins circuit and contract', () => {
  it('x changed after c', async () => {
    for (const offset of [at.coefficients, at.point, at.point + 32 * BITS])
      await expectRefused(put(offset, (word(offset) + 1n) % FR_MODULUS), 'ProofInvalid');
  });

  it('rho that was drawn without c', async () => {
    const { joint } = made;
    const rho = batchRho(batchSeed(checker.place, 0n, made.contexts.flat(), joint.x));
    const e = joiningValue(joint.x, rho);
    const { proof } = await wrapJoint(prepared.circuit, { inputs: { ...joint.inputs, rho }, c: joint.c, e, rho });
    const evidence = encodeEvidence(0, prepared.shape, joint, proof, [{ contexts: made.contexts[0]! }]);
    await expectRefused(evidence, 'ProofInvalid');
  }, 120_000);

  it('a proof under the key of another record', async () => {
    await expectRefused(
      changed((bytes) => bytes.set([1], 0)),
      'EvidenceLength',
    );
    // The same layout: only the key differs, and with it the seed.
    await expectRefused(
      changed((bytes) => bytes.set([2], 0)),
      'ProofInvalid',
    );
    await expectRefused(
      changed((bytes) => bytes.set([3], 0)),
      'RecordUnknown',
    );
  });

  it('an opening of another batch, at another u', async () => {
    const other = await makeBatch(maker, prepared, MODELS, { ...checker.place, keyHash: new Uint8Array(32).fill(3) });
    const evidence = changed((bytes) => bytes.set(other.evidence.subarray(at.opening), at.opening));
    await expectRefused(evidence, 'ProofInvalid');
    // The other batch's wrapped proof on this batch's x.
    await expectRefused(
      changed((bytes) => bytes.set(other.evidence.subarray(33, 289), 33)),
      'ProofInvalid',
    );
  }, 120_000);

  it('a scalar plus r', async () => {
    for (const offset of [1, at.receipt + 32, at.coefficients, at.point]) {
      const value = word(offset) + FR_MODULUS;
      if (value < 2n ** 256n) await expectRefused(put(offset, value), 'ScalarNotCanonical');
    }
  });

  it('a coordinate plus q: no other limbs for the same point', async () => {
    for (const offset of [at.columns, at.columns + 32, at.group + 70]) {
      const value = word(offset) + FQ_MODULUS;
      if (value < 2n ** 256n) await expectRefused(put(offset, value), 'PointInvalid');
    }
  });

  it('contexts in another order, or of another order', async () => {
    const [first, second] = made.contexts[0]!;
    const swapped = changed((bytes) => {
      bytes.set(second!, at.receipt);
      bytes.set(first!, at.secondContext);
    });
    await expectRefused(swapped, 'ProofInvalid');
    await expectRefused(put(at.receipt, 1n), 'ProofInvalid');
  });

  it('outputs or input of another job', async () => {
    await expectRefused(
      changed((bytes) => {
        bytes[at.integers + 3]! ^= 1;
      }),
      'ProofInvalid',
    );
    await expectRefused(put(at.receipt + 32, 5n), 'ProofInvalid');
  });

  it('a model with the same program and other weights', async () => {
    await expectRefused(
      changed((bytes) => {
        bytes[at.group + 40]! ^= 1;
      }),
      'ProofInvalid',
    );
  });

  it('no receipts, or more than there is room for', async () => {
    for (const count of [0, 3])
      await expectRefused(
        changed((bytes) => bytes.set([0, count], at.group)),
        'ReceiptsOutOfRange',
      );
  });

  it('the same evidence before another contract', async () => {
    const other = await contract.deploy([prepared.record]);
    expect(await contract.verify(made.evidence, other)).toBe('ProofInvalid');
    expect(inTypeScript(made.evidence, { ...checker, place: { ...checker.place, contract: other } })).toBe(
      'PROOF_INVALID',
    );
    expect(inTypeScript(made.evidence, { ...checker, place: { ...checker.place, chainId: 1 } })).toBe('PROOF_INVALID');
  });
});

describe('a key', () => {
  const deploy = (change: (key: typeof prepared.circuit.verificationKey) => typeof prepared.circuit.verificationKey) =>
    contract.deploy([recordOf(prepared.shape, change(prepared.circuit.verificationKey), prepared.bundles)]);

  it('whose delta is gamma is refused', async () => {
    expect(await deploy((key) => ({ ...key, deltaG2: key.gammaG2 }))).toBe('KeyInvalid');
  });

  it('in a record that is cut, longer or names no group is refused', async () => {
    const { record } = prepared;
    expect(await contract.deploy([record.slice(0, -1)])).toBe('RecordInvalid');
    expect(await contract.deploy([Uint8Array.from([...record, 0])])).toBe('RecordInvalid');
    expect(await contract.deploy([record.slice(0, 100)])).toBe('RecordInvalid');
    const none = record.slice(0, 579);
    none[578] = 0;
    expect(await contract.deploy([none])).toBe('RecordInvalid');
  });

  it('without a contribution to its powers of tau is refused', async () => {
    expect(await deploy((key) => ({ ...key, alphaG1: [1n, 2n] }))).toBe('KeyInvalid');
    expect(await deploy((key) => ({ ...key, betaG2: key.gammaG2 }))).toBe('KeyInvalid');
  });

  it('with a point that is none is refused', async () => {
    expect(await deploy((key) => ({ ...key, alphaG1: [1n, 3n] }))).toBe('KeyInvalid');
    expect(await deploy((key) => ({ ...key, publicPoints: [...key.publicPoints.slice(0, 3), [1n, 3n]] }))).toBe(
      'KeyInvalid',
    );
    const [x, y] = prepared.circuit.verificationKey.deltaG2;
    expect(await deploy((key) => ({ ...key, deltaG2: [[x[1], x[0]], y] }))).toBe('KeyInvalid');
  });

  it('of the development set-up is refused on any other chain, and so is its reference string', async () => {
    // A reference string whose secret is not the development one.
    const secret = 123456789n;
    const srs = { tauG1: encodeG1(G1_GENERATOR.multiply(secret)), tauG2: encodeG2(G2_GENERATOR.multiply(secret)) };
    const elsewhere = await startBatchContract({ ...maker.srs, ...srs }, [prepared.record], { chainId: 1n });
    try {
      expect(elsewhere.address).toBe('KeyDevelopment');
    } finally {
      await elsewhere.stop();
    }
    const development = await startBatchContract(maker.srs, [prepared.record], { chainId: 1n });
    try {
      expect(development.address).toBe('SrsDevelopment');
    } finally {
      await development.stop();
    }
  });
});

describe('jobs that do not fit the circuit', () => {
  it('are refused before any work', () => {
    const [bundle] = prepared.bundles;
    const receipts = heldOutSamples('iris', 3).samples.map((sample) => encodeInputs(bundle!, sample).values);
    const contexts = receipts.map(() => new Uint8Array(32));
    const attempt = (groups: Parameters<typeof proveJoint>[2]) => () =>
      proveJoint(maker.prover, prepared.shape, groups, checker.place);
    expect(attempt([{ bundle: bundle!, receipts, contexts }])).toThrow('has room for 1 to 2');
    expect(attempt([{ bundle: bundle!, receipts: [], contexts: [] }])).toThrow('has room for 1 to 2');
    expect(attempt([])).toThrow('the circuit is made for 1');
    expect(attempt([{ bundle: bundle!, receipts: receipts.slice(0, 1), contexts: [] }])).toThrow(
      '0 contexts for 1 receipts',
    );
  });
});
