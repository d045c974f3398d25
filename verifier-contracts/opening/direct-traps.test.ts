/**
 * The traps of traps.test.ts for which a whole proof is needed, against DirectVerifier. Proofs are of small random graphs
 * under real commitments.
 */
import {
  AbiCoder,
  concat,
  ContractFactory,
  hexlify,
  Wallet,
  type Contract,
  type ContractTransactionResponse,
  type InterfaceAbi,
  type JsonRpcProvider,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inputRoot, outputRoot } from '../../graph/commitment/index.js';
import { makeJob, proveJob } from '../../prover/audit/audited-prover.js';
import { randomCase, type AuditGroup } from '../../prover/audit/cases.js';
import { Draw } from '../../prover/audit/draw.js';
import { kzgProver } from '../../prover/audit/testing/kzg-prover.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { fromBytes, toBytes } from '../../prover/field/fr.js';
import { encodeDirectEvidence } from '../../prover/files/direct-evidence.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { makePlan, columnsOf } from '../../prover/plan/plan.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { modelKeyDigest } from '../../prover/verifier/model-key.js';
import { HEADER_BYTES, proofShape } from '../../prover/verifier/proof.js';
import type { GroupStatement } from '../../prover/verifier/statement.js';
import { encodeG1, G1_GENERATOR } from '../../prover/curve/g1.js';
import { developmentHead } from '../../prover/srs/development-srs.js';
import type { SrsHead } from '../../prover/srs/srs.js';
import { referenceSrs } from '../../prover/srs/testing/reference-srs.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import { anvilKey, startAnvil, type Anvil } from '../anvil.js';
import { compileContracts } from '../build.js';
import { connectChain } from '../connect-chain.js';
import { COMPILE_TIMEOUT_MS } from '../harness/opening/deploy-harness.js';

const CONTEXT = Uint8Array.from({ length: 32 }, (_, i) => i + 1);
const OPENING_BYTES = 704;
// Some hundred verifications a test, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 });

interface Case {
  readonly own: AuditGroup;
  readonly group: GroupStatement;
  readonly ports: Parameters<typeof encodeDirectEvidence>[1];
  readonly proof: Uint8Array;
  readonly n: number;
  readonly evidence: Uint8Array;
  /** Where the proof begins in the evidence, and where its points end and its scalars. */
  readonly start: number;
  readonly points: readonly number[];
  readonly scalars: readonly number[];
}

let anvil: Anvil;
let provider: JsonRpcProvider;
let verifier: Contract;
/** Of another SRS. */
let foreign: Contract;
let many: Contract;
let cases: Case[];

async function caseOf(
  prover: ReturnType<typeof kzgProver>,
  kind: Parameters<typeof randomCase>[0],
  items: number,
): Promise<Case> {
  const own = randomCase(kind, new Draw(`direct ${kind}`, items), items);
  const job = await makeJob(prover, [own], CONTEXT);
  const group = job.statement.groups[0]!;
  const proof = await proveJob(job);
  job.prover.verify(job.statement, proof, CONTEXT);
  const ports = {
    inputs: own.graph.inputs.map((id) => own.graph.tensors[id]!),
    outputs: own.graph.outputs.map((id) => own.graph.tensors[id]!),
  };
  const evidence = encodeDirectEvidence(group, ports, CONTEXT, proof);
  const start = evidence.length - proof.length;
  const plan = makePlan([{ program: own.built.program, items }], job.n);
  const shape = proofShape(plan, productShape(plan), OPENING_BYTES);
  const commitments = shape.witness + shape.helpers;
  expect(columnsOf(plan).length).toBe(commitments + group.key.commitments.length);
  const opening = evidence.length - OPENING_BYTES;
  const firstScalar = start + HEADER_BYTES + 64 * commitments;
  return {
    own,
    group,
    ports,
    proof,
    n: job.n,
    evidence,
    start,
    points: [
      ...Array.from({ length: commitments }, (_, i) => start + HEADER_BYTES + 64 * i),
      ...Array.from({ length: group.key.commitments.length }, (_, i) => 137 + 64 * i),
      ...[0, 64, 128, 192, 256, 512, 576, 640].map((at) => opening + at),
    ],
    scalars: [
      ...Array.from({ length: (opening - firstScalar) / 32 }, (_, i) => firstScalar + 32 * i),
      ...Array.from({ length: 6 }, (_, i) => opening + 320 + 32 * i),
    ],
  };
}

beforeAll(async () => {
  const arithmetic = await openArithmetic({ threads: 1 });
  const prover = kzgProver(arithmetic);
  cases = [await caseOf(prover, 'denseLayers', 1), await caseOf(prover, 'maxPool', 2)];
  await arithmetic.close();

  const artifacts = await compileContracts({ folders: ['src/direct', 'harness/opening'] });
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  const signer = new Wallet(anvilKey(0), provider);
  const deploy = async (name: string, ...args: unknown[]): Promise<Contract> => {
    const { abi, bytecode } = artifacts[name]!;
    const contract = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args)) as Contract;
    await contract.waitForDeployment();
    return contract;
  };
  const store = await deploy('ProgramStore', await (await deploy('TapeMaker')).getAddress());
  for (const { group, n } of cases)
    await (
      (await store.getFunction('publish')(
        hexlify(encodeProgram(group.key.program)),
        group.items,
        n,
      )) as ContractTransactionResponse
    ).wait();
  const words = (bytes: Uint8Array): bigint[] =>
    Array.from({ length: bytes.length / 32 }, (_, i) => fromBytes(bytes.subarray(32 * i, 32 * i + 32)));
  const verifierOf = async ({ tauG1, tauG2 }: SrsHead): Promise<Contract> =>
    deploy('DirectVerifier', words(tauG1), words(tauG2), await store.getAddress());
  verifier = await verifierOf(developmentHead());
  foreign = await verifierOf(referenceSrs(5n, 2));
  many = await deploy('ManyProofsHarness');
}, COMPILE_TIMEOUT_MS);
afterAll(async () => {
  provider?.destroy();
  await anvil?.stop();
});

const verify = (evidence: Uint8Array): Promise<unknown> => verifier.getFunction('verify')(hexlify(evidence));

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

const replaced = (evidence: Uint8Array, at: number, bytes: Uint8Array): Uint8Array => {
  const copy = evidence.slice();
  copy.set(bytes, at);
  return copy;
};
const wordAt = (evidence: Uint8Array, at: number): bigint => fromBytes(evidence.slice(at, at + 32));

describe('a whole proof', () => {
  it('is accepted, and says what TypeScript says', async () => {
    for (const { own, group, evidence } of cases) {
      const [claim] = (await verify(evidence)) as Record<string, unknown>[];
      const outputs = own.graph.outputs.map((id) => own.values[id]!);
      expect(claim!['modelDigest']).toBe(modelKeyDigest(group.key));
      expect(claim!['items']).toBe(BigInt(group.items));
      expect(claim!['inputRoot']).toBe(inputRoot(own.graph, own.inputs, own.items));
      expect(claim!['outputRoot']).toBe(outputRoot(own.graph, outputs, own.items));
      expect(claim!['context']).toBe(hexlify(CONTEXT));
      const gas = await provider.estimateGas({
        to: verifier.target as string,
        data: verifier.interface.encodeFunctionData('verify', [hexlify(evidence)]),
      });
      console.log(`${own.graph.name}, ${group.items} items: ${gas} gas, ${evidence.length} bytes`);
    }
  });

  it('replay: bound to another order, it is refused', async () => {
    for (const { group, ports, proof } of cases)
      expect(
        await refusal(
          verify(
            encodeDirectEvidence(
              group,
              ports,
              CONTEXT.map((byte) => byte ^ 1),
              proof,
            ),
          ),
        ),
      ).not.toBe('accepted');
  });

  it('replay: under the verifier of another SRS, or as a proof about another model, it is refused', async () => {
    const [{ group, ports, proof, evidence }] = cases as [Case];
    expect(await refusal(foreign.getFunction('verify')(hexlify(evidence)))).not.toBe('accepted');
    const { key } = group;
    expect(key.commitments.length).toBeGreaterThan(0);
    const others = [
      { ...key, commitments: key.commitments.map(() => encodeG1(G1_GENERATOR)) },
      { ...key, roots: { ...key.roots, graphRoot: hexlify(CONTEXT) } },
      { ...key, roots: { ...key.roots, weightsRoot: hexlify(CONTEXT) } },
      { ...key, roots: { ...key.roots, opCount: key.roots.opCount + 1 } },
    ];
    for (const other of others) {
      expect(modelKeyDigest(other)).not.toBe(modelKeyDigest(key));
      const about = encodeDirectEvidence({ ...group, key: other }, ports, CONTEXT, proof);
      expect(await refusal(verify(about))).not.toBe('accepted');
    }
  });

  it('E1, R42: with any scalar raised by r it is refused for that', async () => {
    for (const { evidence, scalars } of cases)
      for (const at of scalars) {
        const raised = replaced(evidence, at, toBytes(wordAt(evidence, at) + FR_MODULUS));
        expect(await refusal(verify(raised)), `byte ${at}`).toBe('ScalarNotCanonical');
      }
  });

  it('E5 to E8: with any scalar changed it is refused', async () => {
    for (const { evidence, scalars } of cases)
      for (const at of scalars) {
        const value = wordAt(evidence, at);
        for (const other of [value === 0n ? 1n : value - 1n, value === 0n ? 2n : 0n])
          expect(await refusal(verify(replaced(evidence, at, toBytes(other)))), `byte ${at}`).not.toBe('accepted');
      }
  });

  it('E14, E15: with any point off the curve, infinity or another it is refused', async () => {
    for (const { evidence, points } of cases)
      for (const at of points) {
        const other = points.find(
          (own) => hexlify(evidence.slice(own, own + 64)) !== hexlify(evidence.slice(at, at + 64)),
        )!;
        const off = evidence.slice(at, at + 64);
        off[63]! ^= 1;
        expect(await refusal(verify(replaced(evidence, at, off))), `byte ${at}`).not.toBe('accepted');
        const own = hexlify(evidence.slice(at, at + 64));
        for (const point of [new Uint8Array(64), evidence.slice(other, other + 64)])
          if (hexlify(point) !== own)
            expect(await refusal(verify(replaced(evidence, at, point))), `byte ${at}`).not.toBe('accepted');
      }
  });

  it('E11: a proof that names another scheme, version or format is refused', async () => {
    for (const { evidence, start } of cases)
      for (let at = start; at < start + 10; at++)
        expect(
          await refusal(verify(replaced(evidence, at, Uint8Array.of(evidence[at]! ^ 3)))),
          `byte ${at - start}`,
        ).toBe('ProofHeader');
    for (const { evidence, start } of cases)
      for (const n of [0, 7, evidence[start + 10]! + 1, 24, 25, 255])
        expect(await refusal(verify(replaced(evidence, start + 10, Uint8Array.of(n)))), `n = ${n}`).not.toBe(
          'accepted',
        );
  });

  it('there is no byte more and none less', async () => {
    for (const { evidence } of cases) {
      expect(await refusal(verify(Uint8Array.of(...evidence, 0)))).not.toBe('accepted');
      for (const cut of [1, 31, 32, 64, 704, evidence.length - 1, evidence.length])
        expect(await refusal(verify(evidence.slice(0, evidence.length - cut))), `${cut}`).not.toBe('accepted');
    }
  });

  it('E4: other inputs, outputs, items, roots and programs are other statements', async () => {
    for (const { evidence, start } of cases) {
      const step = Math.max(1, Math.floor(start / 150));
      for (let at = 0; at < start; at += step)
        expect(await refusal(verify(replaced(evidence, at, Uint8Array.of(evidence[at]! ^ 1)))), `byte ${at}`).not.toBe(
          'accepted',
        );
    }
  });
});

describe('R39 to R41, R44', () => {
  it('R39: evidence at another offset is read there and nowhere else', async () => {
    const [{ evidence }] = cases as [Case];
    const encoded = AbiCoder.defaultAbiCoder().encode(['bytes'], [evidence]);
    const canonical = verifier.interface.encodeFunctionData('verify', [hexlify(evidence)]);
    const moved = concat([
      canonical.slice(0, 10),
      `0x${(96).toString(16).padStart(64, '0')}`,
      `0x${'ff'.repeat(64)}`,
      `0x${encoded.slice(66)}`,
    ]);
    const call = (data: string): Promise<string> => provider.call({ to: verifier.target as string, data });
    expect(await call(moved)).toBe(await call(canonical));
    for (const offset of [0n, 31n, 2n ** 64n, 2n ** 255n])
      expect(
        await refusal(
          call(
            concat([canonical.slice(0, 10), `0x${offset.toString(16).padStart(64, '0')}`, `0x${encoded.slice(66)}`]),
          ),
        ),
      ).not.toBe('accepted');
  });

  it('R40: other selectors, and no selector, are no verification', async () => {
    const [{ evidence }] = cases as [Case];
    const data = verifier.interface.encodeFunctionData('verify', [hexlify(evidence)]);
    for (const other of ['0x', '0x00', data.slice(0, 8), `0x12345678${data.slice(10)}`, `0x00000000${data.slice(10)}`])
      expect(await refusal(provider.call({ to: verifier.target as string, data: other }))).not.toBe('accepted');
  });

  it('R41: a refused proof ends its own call and not its caller', async () => {
    const good = cases.map(({ evidence }) => hexlify(evidence));
    const bad = cases.map(({ evidence, scalars }) =>
      hexlify(replaced(evidence, scalars[0]!, toBytes(wordAt(evidence, scalars[0]!) + 1n))),
    );
    const verdicts = (await many.getFunction('verifyAll')(verifier.target, [
      bad[0],
      good[0],
      '0x',
      good[1],
      bad[1],
      good[0],
    ])) as boolean[];
    expect([...verdicts]).toEqual([false, true, false, true, false, true]);
  });

  it('R44: nobody can change the verifier: all its functions are views', () => {
    verifier.interface.forEachFunction(({ name, constant }) => expect(constant, name).toBe(true));
  });
});
