/**
 * Where proofs' programs are published: the ProgramStore that a DirectVerifier reads. A proof of a model is refused on
 * chain until the model's program has been published for the proof's number of items and its n, once and by anybody.
 */
import { hexlify, Interface } from 'ethers';
import type { Hex } from '../receipts/types.js';
import { directVerifierAbi } from './bindings/DirectVerifier.js';
import { programStoreAbi } from './bindings/ProgramStore.js';
import { chainError } from './chain-error.js';
import {
  ContractClient,
  settlementErrors,
  type Call,
  type ChainContext,
  type SentTransaction,
} from './contract-client.js';

export const storeInterface = new Interface(programStoreAbi);
const verifierInterface = new Interface(directVerifierAbi);

/** A program, and the proofs that it is published for. */
export interface Publication {
  /** Canonical bytes. */
  readonly program: Uint8Array;
  /** Hash of the program. */
  readonly programHash: Hex;
  /** Of a batch. */
  readonly items: number;
  /** log2 of the cells of a column. */
  readonly n: number;
}

export class ProgramStoreClient extends ContractClient {
  /**
   * The store of a policy's verifier; null where the verifier names none: it is another contract, with evidence of its own.
   * @throws AssayError CHAIN_UNAVAILABLE
   */
  static async of(context: ChainContext, verifier: Hex): Promise<ProgramStoreClient | null> {
    try {
      const data = await context.provider.call({ to: verifier, data: verifierInterface.encodeFunctionData('store') });
      const [address] = verifierInterface.decodeFunctionResult('store', data) as unknown as [string];
      return new ProgramStoreClient(context, address.toLowerCase() as Hex, storeInterface);
    } catch (error) {
      const failure = chainError(error, settlementErrors, `verifier ${verifier}`);
      if (failure.code === 'CHAIN_UNAVAILABLE') throw failure;
      return null;
    }
  }

  publishCall({ program, items, n }: Publication): Call {
    return this.callOf('publish', [hexlify(program), items, n]);
  }

  /** @throws AssayError CHAIN_UNAVAILABLE */
  async isPublished({ programHash, items, n }: Publication): Promise<boolean> {
    return (await this.view('isPublished', [programHash, items, n])) as boolean;
  }

  /**
   * Publishes through the client's signer, where nobody has.
   * @returns null where somebody has
   * @throws AssayError CHAIN_REVERTED, CHAIN_UNAVAILABLE
   */
  async publish(publication: Publication): Promise<SentTransaction | null> {
    if (await this.isPublished(publication)) return null;
    const mined = await this.send(this.publishCall(publication), 'publishing a program');
    return { transactionHash: mined.hash as Hex, blockNumber: mined.blockNumber, gasUsed: mined.gasUsed };
  }
}
