/** A private chain with FloatStep and the harness of this folder on it. */
import { ContractFactory, Wallet, type Contract, type InterfaceAbi } from 'ethers';
import { anvilKey, startAnvil } from '../../anvil.js';
import { compileContracts } from '../../build.js';
import { connectChain } from '../../connect-chain.js';

export interface FloatChain {
  readonly harness: Contract;
  readonly step: Contract;
  readonly stepBytes: number;
  stop(): Promise<void>;
}

export async function deployFloat(): Promise<FloatChain> {
  const artifacts = await compileContracts({ folders: ['src/dispute/float', 'harness/float'] });
  const anvil = await startAnvil();
  const provider = await connectChain(anvil.url);
  const stop = async (): Promise<void> => {
    provider.destroy();
    await anvil.stop();
  };
  try {
    const signer = new Wallet(anvilKey(0), provider);
    const deploy = async (name: string): Promise<Contract> => {
      const { abi, bytecode } = artifacts[name]!;
      const contract = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy()) as Contract;
      await contract.waitForDeployment();
      return contract;
    };
    const step = await deploy('FloatStep');
    return { harness: await deploy('FloatHarness'), step, stepBytes: artifacts['FloatStep']!.deployedBytes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
