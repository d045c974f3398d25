/** The contract against verifyProof(): what one accepts the other accepts, what one refuses the other refuses. */
import { ContractFactory, Wallet, id, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASE_KINDS, randomCase } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { kzgProver } from '../../prover/audit/testing/kzg-prover.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes, toBytes } from '../../prover/field/fr.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { developmentHead } from '../../prover/srs/development-srs.js';
import { openingKey } from '../../prover/srs/srs.js';
import { kzgScheme } from '../../prover/verifier/kzg-scheme.js';
import { readProofHeader } from '../../prover/verifier/proof.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import type { AuditedProver } from '../../prover/audit/audited-prover.js';
import { startAnvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import {
  claimOf,
  COMPILE_TIMEOUT_MS,
  evidenceOf,
  proveGroup,
  proveModel,
  publishFor,
  publishIfTaken,
  startDirect,
  wordsOf,
  type DirectFixture,
  type DirectJob,
} from './direct-fixture.js';
import { acceptedByTypeScript, mutateJob } from './mutate-job.js';

const MODELS = ['iris', 'mnist-mlp', 'lenet5', 'mnist-dwcnn'];
const scheme = kzgScheme('mercury', openingKey(developmentHead()));
const contextOf = (seed: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, i) => (i * 7 + seed) & 0xff);

let direct: DirectFixture;
let arithmetic: Arithmetic;
let prover: AuditedProver;
beforeAll(async () => {
  direct = await startDirect();
  arithmetic = await openArithmetic({ threads: 1 });
  prover = kzgProver(arithmetic);
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  await arithmetic?.close();
  await direct?.stop();
});

describe('accepts what verifyProof() accepts', () => {
  it.each(MODELS)('%s', async (name) => {
    for (const items of name === 'iris' ? [1, 3] : [1]) {
      const job = proveModel(arithmetic, name, items, contextOf(items));
      expect(acceptedByTypeScript(job, scheme)).toBe(true);
      await publishFor(direct, job);
      expect(await direct.verify(evidenceOf(job)), `${items} items`).toEqual(claimOf(job));
    }
  });

  it('slots over several columns', async () => {
    const job = proveModel(arithmetic, 'lenet5', 8, contextOf(8), 16);
    await publishFor(direct, job);
    expect(await direct.verify(evidenceOf(job))).toEqual(claimOf(job));
  });

  // One to three items, by turns; more seeds of every kind are in the slow suite.
  it.each(CASE_KINDS.map((kind, i) => [kind, 1 + (i % 3)] as const))('%s, %i items', async (kind, items) => {
    const job = await proveGroup(prover, randomCase(kind, new Draw('direct', items), items), contextOf(items));
    await publishFor(direct, job);
    expect(await direct.verify(evidenceOf(job))).toEqual(claimOf(job));
  });
});

// Gas of a whole transaction is the same on every machine; bounds some percent above what was measured.
it.each([
  { name: 'mnist-mlp', most: 530_000n },
  { name: 'iris', most: 580_000n },
  { name: 'lenet5', most: 645_000n },
  { name: 'mnist-dwcnn', most: 840_000n },
])('$name costs at most $most gas', async ({ name, most }) => {
  const job = proveModel(arithmetic, name, 1, contextOf(1));
  await publishFor(direct, job);
  const gas = await direct.gasOf(evidenceOf(job));
  expect(gas).toBeLessThan(most);
});

describe('refuses what verifyProof() refuses', () => {
  it('any change of one place', async () => {
    for (const [seed, kind] of (['network', 'attentionHeads', 'maxPoolBias', 'concatMax', 'mul'] as const).entries()) {
      const job = await proveGroup(
        prover,
        randomCase(kind, new Draw('mutated', seed), (seed % 3) + 1),
        contextOf(seed),
      );
      const mutations = Array.from({ length: 60 }, (_, i) => mutateJob(job, new Draw(`mutation ${kind}`, i), scheme));
      await publishFor(direct, job);
      const { n } = readProofHeader(job.proof);
      for (const { program } of mutations)
        if (program !== undefined) await publishIfTaken(direct, program, job.group.items, n);
      const accepted = await direct.accepted(mutations.map(({ evidence }) => evidence));
      mutations.forEach(({ what, isAccepted }, i) =>
        expect(accepted[i], `${kind}, mutation ${i}: ${what}`).toBe(isAccepted),
      );
    }
  });

  describe('by the name of the check', () => {
    let job: DirectJob;
    beforeAll(async () => {
      job = await proveGroup(prover, randomCase('conv', new Draw('named', 1), 2), contextOf(5));
      await publishFor(direct, job);
    });
    const changedAt = (at: number, change: (word: bigint) => bigint): Uint8Array => {
      const proof = job.proof.slice();
      const place = at < 0 ? proof.length + at : at;
      proof.set(toBytes(change(fromBytes(proof.subarray(place, place + 32)))), place);
      return evidenceOf({ ...job, proof });
    };
    const next = (word: bigint): bigint => (word + 1n) % FR_MODULUS;
    /** Bytes of the proof up to the rounds of L, from the number of its columns and their length. */
    const roundsAt = (): number => 11 + 64 * columns();
    const columns = (): number => {
      // The first words that are no coordinates of points are found by the curve's equation.
      const q = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
      for (let c = 0; ; c++) {
        const [x, y] = [0, 32].map((i) => fromBytes(job.proof.subarray(11 + 64 * c + i, 43 + 64 * c + i)));
        const isPoint = (x === 0n && y === 0n) || (y! * y! - x! * x! * x! - 3n) % q === 0n;
        if (!isPoint) return c;
      }
    };

    it('header and length', async () => {
      const header = (at: number, value: number): Uint8Array => {
        const proof = job.proof.slice();
        proof[at] = value;
        return evidenceOf({ ...job, proof });
      };
      expect(await direct.verify(header(0, 0x42))).toBe('ProofHeader');
      expect(await direct.verify(header(8, 2))).toBe('ProofHeader');
      // HyperKZG.
      expect(await direct.verify(header(9, 2))).toBe('ProofHeader');
      // Another n is that of another tape.
      for (const n of [7, 9, 25]) expect(await direct.verify(header(10, n))).toBe('ProgramNotPublished');
      await direct.publish(encodeProgram(job.group.key.program), job.group.items, 9);
      expect(await direct.verify(header(10, 9))).toBe('ProofLength');
      // The evidence names one n, the proof another.
      const evidence = evidenceOf(job);
      evidence[136] = 9;
      expect(await direct.verify(evidence)).toBe('ProofHeader');
      expect(await direct.verify(evidenceOf({ ...job, proof: job.proof.subarray(0, job.proof.length - 1) }))).toBe(
        'ProofLength',
      );
      expect(await direct.verify(evidenceOf({ ...job, proof: Uint8Array.of(...job.proof, 0) }))).toBe('ProofLength');
      expect(await direct.verify(evidenceOf(job).subarray(0, 60))).toBe('EvidenceTooShort');
    });

    it('scalars that are not canonical', async () => {
      for (const at of [roundsAt(), roundsAt() + 32 * 8 * 5, -704 - 32, -704 + 320])
        expect(await direct.verify(changedAt(at, (word) => word + FR_MODULUS))).toBe('ScalarNotCanonical');
    });

    it('phases', async () => {
      expect(await direct.verify(changedAt(roundsAt(), next))).toBe('PhaseL');
      // D and the rounds of phase A stand before operands and rounds of phase O, of which a convolution has one pair.
      expect(await direct.verify(changedAt(-704 - 32 * 16 - 64, next))).toBe('PhaseA');
      expect(await direct.verify(changedAt(-704 - 32, next))).toBe('OpeningInvalid');
      expect(await direct.verify(changedAt(-704 + 320, next))).toBe('OpeningInvalid');
    });

    it('points off the curve', async () => {
      // A commitment of the proof takes part in the transcript first.
      expect(await direct.verify(changedAt(-64, next))).toBe('PointInvalid');
      expect(await direct.verify(changedAt(-704, next))).toBe('PointInvalid');
    });

    it('programs that nobody has published', async () => {
      for (const at of [96, 127, 132 + 3]) {
        const evidence = evidenceOf(job);
        evidence[at]! ^= 1;
        expect(await direct.verify(evidence), `byte ${at}`).toBe('ProgramNotPublished');
      }
    });
  });
});

describe('the constructor', () => {
  const deployAt = async (chainId: bigint | undefined, args: (store: string) => unknown[]): Promise<string> => {
    const anvil = await startAnvil(chainId === undefined ? {} : { chainId });
    const provider = await connectChain(anvil.url);
    try {
      const signer = new Wallet(id('deployer'), provider);
      await provider.send('anvil_setBalance', [signer.address, '0xffffffffffffffffffff']);
      const maker = direct.artifacts['TapeMaker']!;
      // Any contract: it is not asked.
      const deployed = await new ContractFactory(maker.abi as InterfaceAbi, maker.bytecode, signer).deploy();
      await deployed.waitForDeployment();
      const { abi, bytecode } = direct.artifacts['DirectVerifier']!;
      const factory = new ContractFactory(abi as InterfaceAbi, bytecode, signer);
      const tx = await factory.getDeployTransaction(...args(await deployed.getAddress()));
      try {
        await provider.call(tx);
        return 'accepted';
      } catch (error) {
        return factory.interface.parseError((error as { data: string }).data)?.name ?? 'reverted';
      }
    } finally {
      provider.destroy();
      await anvil.stop();
    }
  };
  const head = developmentHead();
  const [tauG1, tauG2] = [wordsOf(head.tauG1), wordsOf(head.tauG2)];

  it('takes the development SRS on the development chain alone', async () => {
    expect(await deployAt(undefined, (store) => [tauG1, tauG2, store])).toBe('accepted');
    expect(await deployAt(4242n, (store) => [tauG1, tauG2, store])).toBe('SrsDevelopment');
  });

  it('takes no broken SRS and no address without code', async () => {
    const zero = `0x${'00'.repeat(32)}`;
    expect(await deployAt(undefined, (store) => [[zero, zero], tauG2, store])).toBe('SrsInvalid');
    expect(await deployAt(undefined, (store) => [[1n, 2n], tauG2, store])).toBe('SrsInvalid');
    expect(await deployAt(undefined, (store) => [[tauG1[0], tauG1[0]], tauG2, store])).toBe('SrsInvalid');
    expect(await deployAt(undefined, () => [tauG1, tauG2, '0x00000000000000000000000000000000000000ff'])).toBe(
      'StoreMissing',
    );
  });
});
