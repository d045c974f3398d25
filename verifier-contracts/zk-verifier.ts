/**
 * Evidence of the zk lane as a policy's verifier reads it: a ZkVerifier takes proofs by themselves and recursive batches,
 * told apart by the first byte; any other verifier takes its one kind as it is.
 */
import { Interface } from 'ethers';
import type { Hex } from '../receipts/types.js';
import { zkVerifierAbi } from './bindings/ZkVerifier.js';
import { chainError } from './chain-error.js';
import { settlementErrors, type ChainContext } from './contract-client.js';

export type EvidenceKind = 'direct' | 'batch';
const KIND_BYTES: Readonly<Record<EvidenceKind, string>> = { direct: '01', batch: '02' };
const verifierInterface = new Interface(zkVerifierAbi);

/**
 * The BatchVerifier behind a policy's verifier; null where it takes no batches.
 * @throws AssayError CHAIN_UNAVAILABLE
 */
export async function batchVerifierOf(context: ChainContext, verifier: Hex): Promise<Hex | null> {
  try {
    const data = await context.provider.call({ to: verifier, data: verifierInterface.encodeFunctionData('batch') });
    const [address] = verifierInterface.decodeFunctionResult('batch', data) as unknown as [string];
    return address.toLowerCase() as Hex;
  } catch (error) {
    const failure = chainError(error, settlementErrors, `verifier ${verifier}`);
    if (failure.code === 'CHAIN_UNAVAILABLE') throw failure;
    return null;
  }
}

/** @throws AssayError CHAIN_UNAVAILABLE */
export async function evidenceFor(
  context: ChainContext,
  verifier: Hex,
  kind: EvidenceKind,
  evidence: Hex,
): Promise<Hex> {
  return (await batchVerifierOf(context, verifier)) === null ? evidence : `0x${KIND_BYTES[kind]}${evidence.slice(2)}`;
}
