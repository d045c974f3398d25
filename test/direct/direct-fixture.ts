/** A private chain with a DirectVerifier for the development SRS, and proofs to give it. */
import { readFileSync } from 'node:fs';
import {
  Contract,
  ContractFactory,
  hexlify,
  Wallet,
  type ContractTransactionResponse,
  type InterfaceAbi,
  type JsonRpcProvider,
} from 'ethers';
import { inputRoot, outputRoot } from '../../graph/commitment/trace-root.js';
import { compileModel, encodeInputs, readOnnx } from '../../graph/index.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { makeJob, proveJob, type AuditedProver } from '../../prover/audit/audited-prover.js';
import type { AuditGroup } from '../../prover/audit/cases.js';
import { encodeDirectEvidence, type CommittedPorts } from '../../prover/files/direct-evidence.js';
import { mercuryProver } from '../../prover/opening/mercury-prover.js';
import { wasmBackend } from '../../prover/opening/wasm-backend.js';
import { buildProgram } from '../../prover/program/build-program.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { makeModelKey } from '../../prover/prover/make-key.js';
import { chooseColumnBits } from '../../prover/prover/predict.js';
import { proveStatement } from '../../prover/prover/prove.js';
import { developmentSrs } from '../../prover/srs/development-cache.js';
import { developmentHead } from '../../prover/srs/development-srs.js';
import { requestedOutputs } from '../../prover/verifier/check-outputs.js';
import { SCHEME_CODE } from '../../prover/verifier/kzg-scheme.js';
import { modelKeyDigest } from '../../prover/verifier/model-key.js';
import { readProofHeader } from '../../prover/verifier/proof.js';
import type { GroupStatement } from '../../prover/verifier/statement.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { anvilKey, startAnvil, type AnvilOptions } from '../../verifier-contracts/anvil.js';
import { compileContracts, type Artifacts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';

/** Compiling these contracts takes a minute of a core, on a machine that may be busy with other tests. */
export const COMPILE_TIMEOUT_MS = 600_000;

export const wordsOf = (bytes: Uint8Array): string[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => hexlify(bytes.subarray(32 * i, 32 * i + 32)));

/** A proof of one group with all that the evidence takes. */
export interface DirectJob {
  readonly graph: IntegerGraph;
  readonly group: GroupStatement;
  readonly context: Uint8Array;
  readonly proof: Uint8Array;
}

export const portsOf = ({ tensors, inputs, outputs }: IntegerGraph): CommittedPorts => ({
  inputs: inputs.map((id) => tensors[id]!),
  outputs: outputs.map((id) => tensors[id]!),
});

export const evidenceOf = ({ graph, group, context, proof }: DirectJob): Uint8Array =>
  encodeDirectEvidence(group, portsOf(graph), context, proof);

/** Makes the contract ready for proofs like this one. */
export const publishFor = (direct: DirectFixture, { group: { key, items }, proof }: DirectJob): Promise<bigint> =>
  direct.publish(encodeProgram(key.program), items, readProofHeader(proof).n);

/** Publishes whatever bytes, where the store takes them. */
export async function publishIfTaken(
  direct: DirectFixture,
  program: Uint8Array,
  items: number,
  n: number,
): Promise<boolean> {
  try {
    await direct.programs.getFunction('publish').staticCall(hexlify(program), items, n);
  } catch (error) {
    if ((error as { code?: string }).code !== 'CALL_EXCEPTION') throw error;
    return false;
  }
  await direct.publish(program, items, n);
  return true;
}

/** What the contract must answer. */
export function claimOf({ graph, group: { key, items, inputs, outputs }, context }: DirectJob): unknown[] {
  const requested = requestedOutputs(key.program, items, outputs);
  return [
    modelKeyDigest(key),
    BigInt(items),
    inputRoot(graph, inputs, items),
    outputRoot(graph, requested, items),
    hexlify(context),
  ];
}

export interface DirectFixture {
  readonly provider: JsonRpcProvider;
  readonly signer: Wallet;
  readonly artifacts: Artifacts;
  readonly address: string;
  /** The ProgramStore. */
  readonly programs: Contract;
  /** The gas that it took. */
  publish(program: Uint8Array, items: number, n: number): Promise<bigint>;
  /** The claim's fields, or the name of the error. */
  verify(evidence: Uint8Array): Promise<unknown[] | string>;
  /** Of a transaction that calls the verifier and nothing else. */
  gasOf(evidence: Uint8Array): Promise<bigint>;
  /** For each whether it was accepted, asked in one request. */
  accepted(evidences: readonly Uint8Array[]): Promise<boolean[]>;
  stop(): Promise<void>;
}

export async function startDirect(options: AnvilOptions = {}): Promise<DirectFixture> {
  const anvil = await startAnvil(options);
  const provider = await connectChain(anvil.url);
  const stop = async (): Promise<void> => {
    provider.destroy();
    await anvil.stop();
  };
  try {
    const artifacts = await compileContracts({ folders: ['src/direct'] });
    const signer = new Wallet(anvilKey(0), provider);
    const deploy = async (name: string, args: readonly unknown[]): Promise<string> => {
      const { abi, bytecode } = artifacts[name]!;
      const contract = await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args);
      await contract.waitForDeployment();
      return contract.getAddress();
    };
    const head = developmentHead();
    const store = await deploy('ProgramStore', [await deploy('TapeMaker', [])]);
    const address = await deploy('DirectVerifier', [wordsOf(head.tauG1), wordsOf(head.tauG2), store]);
    const contract = new Contract(address, artifacts['DirectVerifier']!.abi as InterfaceAbi, signer);
    const programs = new Contract(store, artifacts['ProgramStore']!.abi as InterfaceAbi, signer);
    const dataOf = (evidence: Uint8Array): string => contract.interface.encodeFunctionData('verify', [evidence]);
    return {
      provider,
      signer,
      artifacts,
      address,
      programs,
      publish: async (program, items, n) => {
        const sent = await programs.getFunction('publish')(hexlify(program), items, n, { gasLimit: 16_000_000 });
        return (await (sent as ContractTransactionResponse).wait())!.gasUsed;
      },
      verify: async (evidence) => {
        try {
          const [claims] = contract.interface.decodeFunctionResult(
            'verify',
            await provider.call({ to: address, data: dataOf(evidence) }),
          ) as unknown as [unknown[][]];
          return [...claims[0]!];
        } catch (error) {
          const { data, code } = error as { data?: string | null; code?: string };
          if (code !== 'CALL_EXCEPTION') throw error;
          return (data && contract.interface.parseError(data)?.name) ?? `reverted: ${data}`;
        }
      },
      gasOf: async (evidence) => {
        const sent = await signer.sendTransaction({ to: address, data: dataOf(evidence), gasLimit: 16_000_000 });
        return (await sent.wait())!.gasUsed;
      },
      accepted: async (evidences) => {
        const response = await fetch(anvil.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(
            evidences.map((evidence, id) => ({
              jsonrpc: '2.0',
              id,
              method: 'eth_call',
              params: [{ to: address, data: dataOf(evidence), gas: '0x1000000' }, 'latest'],
            })),
          ),
        });
        const answers = (await response.json()) as { id: number; result?: string }[];
        return evidences.map((_, id) => answers.find((answer) => answer.id === id)!.result !== undefined);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A proof of one random group by the reference prover. */
export async function proveGroup(prover: AuditedProver, own: AuditGroup, context: Uint8Array): Promise<DirectJob> {
  const job = await makeJob(prover, [own], context);
  return { graph: own.graph, group: job.statement.groups[0]!, context, proof: await proveJob(job) };
}

/**
 * A real proof of a shipped model over its first held-out samples.
 * @param maxColumns of the witness. With one column a proof costs a contract least.
 */
export function proveModel(
  arithmetic: Arithmetic,
  name: string,
  items: number,
  context: Uint8Array,
  maxColumns = 1,
  samples = 40,
): DirectJob {
  const model = shippedModel(name);
  const bundle = compileModel(readOnnx(readFileSync(model.file), model.file), {
    calibration: calibrationSamples(name, samples),
  });
  const built = buildProgram(bundle.graph);
  const n = chooseColumnBits([{ program: built.program, items }], maxColumns);
  const srs = developmentSrs(2 ** n, { arithmetic });
  const backend = wasmBackend(arithmetic, srs);
  const key = makeModelKey(bundle, built, { arithmetic, backend });
  const encoded = heldOutSamples(name, items).samples.map((sample) => encodeInputs(bundle, sample).values);
  const inputs = bundle.inputs.map((_, i) => Int32Array.from(encoded.flatMap((values) => [...values[i]!])));
  const trace = evaluateGraph(bundle.graph, inputs, items);
  const group = { key, items, inputs, outputs: built.published.map((id) => trace[id]!) };
  const { proof } = proveStatement(
    { groups: [group] },
    [{ built, tensor: (id) => trace[id]! }],
    n,
    { arithmetic, backend, scheme: { name: 'mercury', code: SCHEME_CODE.mercury, prover: mercuryProver } },
    context,
  );
  return { graph: bundle.graph, group, context, proof };
}
