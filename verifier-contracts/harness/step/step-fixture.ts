/** A private chain with IntegerStep on it, and what its tests ask of it. */
import { AbiCoder, ContractFactory, Interface, Wallet, type Contract, type InterfaceAbi } from 'ethers';
import { LANES, type Hex, type Receipt } from '../../../receipts/types.js';
import { anvilKey, startAnvil } from '../../anvil.js';
import { compileContracts } from '../../build.js';
import { connectChain } from '../../connect-chain.js';
import { FAULTS, type Fault } from '../../dispute-types.js';

/** Compiling these contracts takes a minute of a core, on a machine that may be busy with other tests. */
export const COMPILE_TIMEOUT_MS = 300_000;

/** Gas of a call that no block would hold: many steps are asked in one. */
const CALL_GAS = 2n ** 40n;

export interface StepCase {
  readonly receipt: Receipt;
  readonly fault: Fault;
  readonly evidence: Hex;
}

export type StepAnswer =
  | { readonly verdict: 'fault'; readonly faultId: Hex; readonly relies: readonly { nodeId: Hex; contentHash: Hex }[] }
  | { readonly verdict: 'right' }
  | { readonly verdict: 'invalid' | 'undetermined'; readonly reason: string }
  | { readonly verdict: 'needsSums'; readonly length: number };

/** Steps of several elements on one piece of evidence. */
export interface StepQuestions {
  readonly receipt: Receipt;
  readonly evidence: Hex;
  readonly questions: readonly { readonly element: number; readonly witness: number }[];
}

/** Of a finding the first 7 bytes of its fault's name, in hex. */
export type ShortAnswer =
  | { readonly verdict: 'fault'; readonly faultId: string }
  | { readonly verdict: 'right' | 'invalid' | 'undetermined' | 'needsSums' };

export interface StepChain {
  readonly harness: Contract;
  /** Answers of IStep.judge for fault Step, all questions of all groups in a row. */
  judgeGroups(groups: readonly StepQuestions[]): Promise<ShortAnswer[]>;
  /** Answers of IStep.judge. */
  judge(cases: readonly StepCase[]): Promise<StepAnswer[]>;
  /** Gas of a transaction that calls judge and nothing else, calldata counted. */
  transactionGas(given: StepCase): Promise<number>;
  /** Name of the error of requireStatement, or null. */
  requireStatement(receipt: Receipt, node: readonly unknown[], evidence: Hex): Promise<string | null>;
  stop(): Promise<void>;
}

export const onChain = (receipt: Receipt): unknown => ({ ...receipt, lane: LANES[receipt.lane] });

/** @param maxContraction of the step contract. */
export async function deployStep(maxContraction: number): Promise<StepChain> {
  const anvil = await startAnvil();
  const provider = await connectChain(anvil.url);
  const stop = async (): Promise<void> => {
    provider.destroy();
    await anvil.stop();
  };
  try {
    const artifacts = await compileContracts({
      folders: ['src/dispute', 'harness/step'],
    });
    const signer = new Wallet(anvilKey(0), provider);
    const deploy = async (name: string, ...args: unknown[]): Promise<Contract> => {
      const { abi, bytecode } = artifacts[name]!;
      const contract = await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args);
      return (await contract.waitForDeployment()) as Contract;
    };
    const step = await deploy('IntegerStep', maxContraction);
    const harness = await deploy('StepHarness', await step.getAddress());
    const errors = new Interface(artifacts['IntegerStep']!.abi as InterfaceAbi);
    const to = await harness.getAddress();
    return {
      harness,
      judge: async (cases) => {
        const data = harness.interface.encodeFunctionData('judgeMany', [
          cases.map(({ receipt, fault, evidence }) => [onChain(receipt), FAULTS.indexOf(fault), evidence]),
        ]);
        const result = await provider.call({ to, data, gasLimit: CALL_GAS });
        const [answers] = harness.interface.decodeFunctionResult('judgeMany', result) as unknown as [
          { found: boolean; data: string }[],
        ];
        return answers.map(({ found, data: answer }) => answerOf(errors, found, answer));
      },
      judgeGroups: async (groups) => {
        const data = harness.interface.encodeFunctionData('judgeGroups', [
          groups.map(({ receipt, evidence, questions }) => [onChain(receipt), evidence, packed(questions)]),
        ]);
        const result = await provider.call({ to, data, gasLimit: CALL_GAS });
        const [answers] = harness.interface.decodeFunctionResult('judgeGroups', result) as unknown as [string];
        return (answers.slice(2).match(/.{16}/g) ?? []).map((answer) => shortAnswerOf(errors, answer));
      },
      transactionGas: async ({ receipt, fault, evidence }) =>
        Number(await step.getFunction('judge').estimateGas(onChain(receipt), FAULTS.indexOf(fault), evidence)),
      requireStatement: async (receipt, node, evidence) => {
        const call = errors.encodeFunctionData('requireStatement', [onChain(receipt), node, evidence]);
        try {
          await provider.call({ to: await step.getAddress(), data: call });
          return null;
        } catch (error) {
          const { data } = error as { data?: string };
          return errors.parseError(data ?? '0x')?.name ?? `unnamed: ${data}`;
        }
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const packed = (questions: StepQuestions['questions']): Hex => {
  const bytes = Buffer.alloc(16 * questions.length);
  questions.forEach(({ element, witness }, i) => {
    bytes.writeBigUInt64BE(BigInt(element), 16 * i);
    bytes.writeBigUInt64BE(BigInt(witness), 16 * i + 8);
  });
  return `0x${bytes.toString('hex')}`;
};

/** @param answer 8 bytes in hex, as StepHarness.sol gives them. */
function shortAnswerOf(errors: Interface, answer: string): ShortAnswer {
  if (answer.startsWith('01')) return { verdict: 'fault', faultId: answer.slice(2) };
  switch (errors.getError(`0x${answer.slice(2, 10)}`)?.name) {
    case 'NoFault':
      return { verdict: 'right' };
    case 'Undetermined':
      return { verdict: 'undetermined' };
    case 'NeedsSums':
      return { verdict: 'needsSums' };
    default:
      return { verdict: 'invalid' };
  }
}

function answerOf(errors: Interface, found: boolean, data: string): StepAnswer {
  if (found) {
    const [finding] = AbiCoder.defaultAbiCoder().decode(
      ['tuple(bytes32 faultId, tuple(bytes32 nodeId, bytes32 contentHash)[] relies)'],
      data,
    ) as unknown as [{ faultId: Hex; relies: { nodeId: Hex; contentHash: Hex }[] }];
    const relies = finding.relies.map(({ nodeId, contentHash }) => ({ nodeId, contentHash }));
    return { verdict: 'fault', faultId: finding.faultId, relies };
  }
  const error = data === '0x' ? null : errors.parseError(data);
  switch (error?.name) {
    case 'NoFault':
      return { verdict: 'right' };
    case 'EvidenceInvalid':
      return { verdict: 'invalid', reason: error.args[0] as string };
    case 'Undetermined':
      return { verdict: 'undetermined', reason: error.args[0] as string };
    case 'NeedsSums':
      return { verdict: 'needsSums', length: Number(error.args[0]) };
    default:
      // A panic, a call that the encoding cannot be read for, or gas that ran out.
      return { verdict: 'invalid', reason: `revert ${data.slice(0, 74)}` };
  }
}
