/** A private chain with one of the harness contracts of this folder on it. */
import {
  ContractFactory,
  Wallet,
  type Contract,
  type ContractTransactionResponse,
  type InterfaceAbi,
  type JsonRpcProvider,
} from 'ethers';
import { anvilKey, startAnvil, type AnvilOptions } from '../../anvil.js';
import { compileContracts } from '../../build.js';
import { connectChain } from '../../connect-chain.js';

/** Compiling these contracts takes half a minute of a core, on a machine that may be busy with other tests. */
export const COMPILE_TIMEOUT_MS = 300_000;

export interface Harness {
  readonly contract: Contract;
  readonly provider: JsonRpcProvider;
  /** Answer of a view. */
  call(name: string, ...args: unknown[]): Promise<unknown>;
  /** Sends a transaction and waits until it is mined. */
  send(name: string, ...args: unknown[]): Promise<void>;
  stop(): Promise<void>;
}

/** @param args of the constructor. */
export async function deployHarness(
  name: string,
  args: readonly unknown[] = [],
  options: AnvilOptions = {},
): Promise<Harness> {
  const anvil = await startAnvil(options);
  const provider = await connectChain(anvil.url);
  const stop = async (): Promise<void> => {
    provider.destroy();
    await anvil.stop();
  };
  try {
    const { abi, bytecode } = (await compileContracts({ folders: ['harness/opening'] }))[name]!;
    const signer = new Wallet(anvilKey(0), provider);
    const contract = (await new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args)) as Contract;
    await contract.waitForDeployment();
    return {
      contract,
      provider,
      call: (method, ...given) => contract.getFunction(method)(...given),
      send: async (method, ...given) => {
        await ((await contract.getFunction(method)(...given)) as ContractTransactionResponse).wait();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
