import type { BatchHeader } from '../../receipts/index.js';
import type { ChainPort, CourtPort } from '../ports.js';

/** Is it too late for a verdict, even in the next block? @throws AssayError CHAIN_UNAVAILABLE */
export async function windowClosed(
  chain: Pick<ChainPort, 'clock'>,
  court: Pick<CourtPort, 'auditDeadlineOf'>,
  header: BatchHeader,
): Promise<boolean> {
  return (await chain.clock()) >= court.auditDeadlineOf(header);
}
