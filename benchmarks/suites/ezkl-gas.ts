/** Gas of the contract that EZKL writes for a model, on a chain of its own. */
import { hexlify } from 'ethers';
import { compileSolidity } from '../compile-solidity.js';
import { onGasChain } from './gas-chain.js';

export interface ContractGas {
  readonly deployGas: number;
  /** Of the transaction that checks one proof, its calldata included. */
  readonly verifyGas: number;
  readonly calldataBytes: number;
}

/** @throws AssayError INTERNAL where the contract refuses the proof. */
export function ezklGas(solidity: string, calldata: Uint8Array): Promise<ContractGas> {
  const bytecode = compileSolidity('EzklVerifier.sol', solidity, 'Halo2Verifier');
  return onGasChain(async ({ send }) => {
    const deployed = await send(null, bytecode);
    const verified = await send(deployed.contractAddress, hexlify(calldata));
    return {
      deployGas: Number(deployed.gasUsed),
      verifyGas: Number(verified.gasUsed),
      calldataBytes: calldata.length,
    };
  });
}
