import type { BatchHeader } from '../../receipts/index.js';
import type { ChainPort } from '../ports.js';

/** Is it too late for a verdict, even in the next block? @throws AssayError CHAIN_UNAVAILABLE */
export async function windowClosed(
  chain: Pick<ChainPort, 'blockNumber' | 'auditDeadlineOf'>,
  header: BatchHeader,
): Promise<boolean> {
  return (await chain.blockNumber()) >= chain.auditDeadlineOf(header);
}
