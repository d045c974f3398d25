/** A BatchVerifier on a chain of its own, and batches to put before it. */
import { Contract, ContractFactory, hexlify, Interface, Wallet, type InterfaceAbi, type JsonRpcProvider } from 'ethers';
import { readFileSync } from 'node:fs';
import { openBatchCircuit, wrapJoint, type BatchCircuit } from '../../circuits/batch/batch-circuit.js';
import { encodeEvidence } from '../../circuits/batch/evidence.js';
import type { BatchPlace } from '../../circuits/batch/joined.js';
import { proveJoint, type JointProof } from '../../circuits/batch/prove-joint.js';
import { encodeRecord, recordHash } from '../../circuits/batch/record.js';
import type { BatchShape } from '../../circuits/batch/types.js';
import type { BatchChecker } from '../../circuits/batch/verify-batch.js';
import type { Groth16Proof } from '../../circuits/prove/groth16-proof.js';
import type { VerificationKey } from '../../circuits/setup/read-zkey.js';
import { compileModel, encodeInputs, readOnnx, type Bundle } from '../../graph/index.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { openingKey, srsIdOf, type Srs } from '../../prover/srs/srs.js';
import { ZkProver } from '../../prover/prover/zk-prover.js';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { anvilKey, startAnvil, type AnvilOptions } from '../../verifier-contracts/anvil.js';
import { compileContracts, type Artifacts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { wordsOf } from '../direct/direct-fixture.js';

/** Models by name, with how many receipts of one item each. */
export type BatchModels = readonly (readonly [name: string, receipts: number])[];

export interface BatchMaker {
  readonly arithmetic: Arithmetic;
  readonly srs: Srs;
  readonly prover: ZkProver;
}

export async function openMaker(n: number): Promise<BatchMaker> {
  const arithmetic = await openArithmetic({ threads: 2 });
  const srs = developmentSrs(2 ** n, { arithmetic });
  return { arithmetic, srs, prover: new ZkProver({ arithmetic, srs }) };
}

export interface PreparedBatch {
  readonly shape: BatchShape;
  readonly bundles: readonly Bundle[];
  readonly circuit: BatchCircuit;
  readonly record: Uint8Array;
}

export function bundleOf(name: string): Bundle {
  const { file } = shippedModel(name);
  return compileModel(readOnnx(readFileSync(file), name), { calibration: calibrationSamples(name, 40) });
}

export async function prepareBatch(n: number, models: BatchModels): Promise<PreparedBatch> {
  const bundles = models.map(([name]) => bundleOf(name));
  const groups = models.map(([, receipts], g) => ({
    program: buildProgram(bundles[g]!.graph).program,
    receipts,
    itemsPerReceipt: 1,
  }));
  const shape: BatchShape = { n, groups };
  const circuit = await openBatchCircuit(shape);
  return { shape, bundles, circuit, record: recordOf(shape, circuit.verificationKey, bundles) };
}

export const recordOf = (shape: BatchShape, key: VerificationKey, bundles: readonly Bundle[]): Uint8Array =>
  encodeRecord(
    shape,
    key,
    bundles.map(({ graph }) => graph.outputs.map((id) => graph.tensors[id]!)),
  );

export interface BatchContract {
  readonly provider: JsonRpcProvider;
  readonly signer: Wallet;
  readonly artifacts: Artifacts;
  readonly address: string;
  /** The claims' fields, or the name of the error. @param at another contract */
  verify(evidence: Uint8Array, at?: string): Promise<unknown[] | string>;
  /** Of a transaction that calls the verifier and nothing else. */
  gasOf(evidence: Uint8Array): Promise<bigint>;
  /** Another one, or the name of the error. */
  deploy(records: readonly Uint8Array[]): Promise<string>;
  stop(): Promise<void>;
}

export async function startBatchContract(
  srs: Srs,
  records: readonly Uint8Array[],
  options: AnvilOptions = {},
): Promise<BatchContract> {
  const anvil = await startAnvil(options);
  const provider = await connectChain(anvil.url);
  const artifacts = await compileContracts({ folders: ['src/batch'] });
  const signer = new Wallet(anvilKey(0), provider);
  const { abi, bytecode } = artifacts['BatchVerifier']!;
  const errors = new Interface(abi as InterfaceAbi);
  const nameOf = (error: unknown): string => {
    const { data } = error as { data?: string };
    if (typeof data !== 'string') throw error;
    return errors.parseError(data)?.name ?? data;
  };
  const factory = new ContractFactory(abi as InterfaceAbi, bytecode, signer);
  const args = (own: readonly Uint8Array[]) => [
    wordsOf(srs.tauG1),
    wordsOf(srs.tauG2),
    own.map((record) => hexlify(record)),
  ];
  const deploy = async (own: readonly Uint8Array[]): Promise<string> => {
    try {
      const made = await factory.deploy(...args(own));
      await made.waitForDeployment();
      return await made.getAddress();
    } catch (error) {
      return nameOf(error);
    }
  };
  const address = await deploy(records);
  // Nobody asks one that was not deployed.
  const contract = new Contract(address.startsWith('0x') ? address : signer.address, abi as InterfaceAbi, signer);
  return {
    provider,
    signer,
    artifacts,
    address,
    deploy,
    verify: async (evidence, at = address) => {
      try {
        const claims = (await (contract.attach(at) as Contract)
          .getFunction('verify')
          .staticCall(hexlify(evidence))) as {
          toArray(): unknown[];
        }[];
        return claims.map((claim) => claim.toArray());
      } catch (error) {
        return nameOf(error);
      }
    },
    gasOf: async (evidence) => {
      const data = errors.encodeFunctionData('verify', [hexlify(evidence)]);
      const sent = await signer.sendTransaction({ to: address, data, gasLimit: 16_000_000n });
      return (await sent.wait())!.gasUsed;
    },
    stop: async () => {
      provider.destroy();
      await anvil.stop();
    },
  };
}

export const placeOf = (srs: Srs, contract: string, record: Uint8Array): BatchPlace => ({
  chainId: 31337,
  contract,
  keyHash: recordHash(record),
  srsId: srsIdOf(srs),
});

export const checkerOf = (srs: Srs, prepared: PreparedBatch, place: BatchPlace, record = 0): BatchChecker => ({
  shape: prepared.shape,
  key: prepared.circuit.verificationKey,
  openingKey: openingKey(srs),
  place,
  record,
});

export interface MadeBatch {
  readonly joint: JointProof;
  readonly proof: Groth16Proof;
  readonly contexts: readonly (readonly Uint8Array[])[];
  readonly evidence: Uint8Array;
  readonly wrapMs: number;
  readonly peakBytes: number;
}

/** @param counting receipts of each group that count. @default all */
export async function makeBatch(
  { prover }: BatchMaker,
  { shape, bundles, circuit }: PreparedBatch,
  models: BatchModels,
  place: BatchPlace,
  counting: readonly number[] = models.map(([, receipts]) => receipts),
): Promise<MadeBatch> {
  const groups = models.map(([name], g) => {
    const samples = heldOutSamples(name, counting[g]!).samples;
    return {
      bundle: bundles[g]!,
      receipts: samples.map((sample) => encodeInputs(bundles[g]!, sample).values),
      contexts: samples.map((_, r) => Uint8Array.from({ length: 32 }, (_unused, i) => 1 + 16 * g + r + i)),
    };
  });
  const joint = proveJoint(prover, shape, groups, place);
  const { proof, proveMs, peakBytes } = await wrapJoint(circuit, joint);
  return {
    joint,
    proof,
    contexts: groups.map((group) => group.contexts),
    evidence: encodeEvidence(0, shape, joint, proof, groups),
    wrapMs: proveMs,
    peakBytes,
  };
}
