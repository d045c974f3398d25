/** Gas of a proof that our contract checks: DirectVerifier, in a transaction that calls it and nothing else. */
import { ContractFactory, hexlify, Interface, type InterfaceAbi } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { outputRoot, type Bundle } from '../../graph/index.js';
import { developmentSrs, modelKeyDigest, openArithmetic, predictJob, ZkProver } from '../../prover/index.js';
import { encodeDirectEvidence } from '../../prover/files/direct-evidence.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import { readProofHeader } from '../../prover/verifier/proof.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import { onGasChain } from './gas-chain.js';

export interface DirectGas {
  /** Store, tapes and verifier: once for all models. */
  readonly deployGas: number;
  /** Of a model's program, once by anybody. */
  readonly publishGas: number;
  readonly verifyGas: number;
  readonly evidenceBytes: number;
}

const CONTEXT = new Uint8Array(32).fill(7);

/**
 * @param inputs one array per graph input, of one item.
 * @param expected what onnxruntime says.
 * @throws AssayError INTERNAL where the contract refuses the proof or reads another answer out of it.
 */
export async function directGas(
  bundle: Bundle,
  inputs: readonly Int32Array[],
  expected: readonly Int32Array[],
): Promise<DirectGas> {
  const { graph } = bundle;
  const arithmetic = await openArithmetic();
  try {
    const srs = developmentSrs(predictJob(graph, 1).srsPoints, { arithmetic });
    const { statement, proof } = new ZkProver({ arithmetic, srs }).prove([{ bundle, items: 1, inputs }], CONTEXT);
    const [group] = statement.groups;
    const ports = {
      inputs: graph.inputs.map((id) => graph.tensors[id]!),
      outputs: graph.outputs.map((id) => graph.tensors[id]!),
    };
    const evidence = encodeDirectEvidence(group!, ports, CONTEXT, proof);
    const artifacts = await compileContracts({ folders: ['src/direct'] });
    return await onGasChain(async ({ provider, send }) => {
      let deployGas = 0;
      const deploy = async (name: string, args: readonly unknown[]): Promise<string> => {
        const { abi, bytecode } = artifacts[name]!;
        const { data } = await new ContractFactory(abi as InterfaceAbi, bytecode).getDeployTransaction(...args);
        const { contractAddress, gasUsed } = await send(null, data);
        deployGas += Number(gasUsed);
        return contractAddress!;
      };
      const store = await deploy('ProgramStore', [await deploy('TapeMaker', [])]);
      const verifier = await deploy('DirectVerifier', [wordsOf(srs.tauG1), wordsOf(srs.tauG2), store]);
      const [programs, direct] = ['ProgramStore', 'DirectVerifier'].map(
        (name) => new Interface(artifacts[name]!.abi as InterfaceAbi),
      );
      const program = hexlify(encodeProgram(group!.key.program));
      const published = await send(
        store,
        programs!.encodeFunctionData('publish', [program, 1, readProofHeader(proof).n]),
      );
      const data = direct!.encodeFunctionData('verify', [hexlify(evidence)]);
      const [claims] = direct!.decodeFunctionResult('verify', await provider.call({ to: verifier, data }));
      const [digest, items, , outputs] = (claims as [string, bigint, string, string][])[0]!;
      if (digest !== modelKeyDigest(group!.key) || items !== 1n || outputs !== outputRoot(graph, [...expected], 1))
        throw new AssayError('INTERNAL', 'DirectVerifier reads another answer out of the proof than onnxruntime gives');
      const verified = await send(verifier, data);
      return {
        deployGas,
        publishGas: Number(published.gasUsed),
        verifyGas: Number(verified.gasUsed),
        evidenceBytes: evidence.length,
      };
    });
  } finally {
    await arithmetic.close();
  }
}

const wordsOf = (bytes: Uint8Array): string[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => hexlify(bytes.subarray(32 * i, 32 * i + 32)));
