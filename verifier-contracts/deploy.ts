import { ContractFactory, Interface, type InterfaceAbi, type Signer } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { compileContracts, type CompileOptions } from './build.js';
import { chainError } from './chain-error.js';
import { checkPolicy, type RollupPolicy } from './policy.js';
import { refuseDevelopmentKeys } from './refuse-development-keys.js';

export interface Deployment {
  readonly address: Hex;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
}

/**
 * Deploys the receipt rollup and waits until it is mined.
 * @param signer with a provider; pays for the deployment and has no rights afterwards
 * @throws AssayError ROLLUP_POLICY_INVALID, DEV_KEY_REFUSED (an anvil account as signer or auditor on a real chain),
 *   CONTRACT_BUILD_FAILED, CHAIN_REVERTED, CHAIN_UNAVAILABLE
 */
export async function deployRollup(
  signer: Signer,
  policy: RollupPolicy,
  compile: CompileOptions = {},
): Promise<Deployment> {
  checkPolicy(policy);
  if (signer.provider === null) throw new AssayError('INTERNAL', 'deployRollup: the signer has no provider');
  const { abi, bytecode } = (await compileContracts(compile))['ReceiptRollup']!;
  const contractInterface = new Interface(abi as InterfaceAbi);
  try {
    const { chainId } = await signer.provider.getNetwork();
    refuseDevelopmentKeys(chainId, [await signer.getAddress(), ...policy.auditors]);
    const contract = await new ContractFactory(contractInterface, bytecode, signer).deploy(policy);
    const receipt = await contract.deploymentTransaction()!.wait();
    return {
      address: receipt!.contractAddress!.toLowerCase() as Hex,
      transactionHash: receipt!.hash as Hex,
      blockNumber: receipt!.blockNumber,
      gasUsed: receipt!.gasUsed,
    };
  } catch (error) {
    throw chainError(error, contractInterface, 'deploying ReceiptRollup');
  }
}
