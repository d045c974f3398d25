import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors } from '../../verifier-contracts/contract-client.js';
import { escrowInterface, type OutputRange } from '../../verifier-contracts/escrow-client.js';
import type { Deployment } from './open-deployment.js';

export interface Demand {
  readonly range: OutputRange;
  /** By the contract's clock. */
  readonly answerBy: number;
  /** The transaction that answered it; null until then. */
  readonly answered: Hex | null;
}

/** The demands for the output of an order, in the order in which they were made. @throws AssayError CHAIN_UNAVAILABLE */
export async function demandsOf({ provider, escrow }: Deployment, orderHash: Hex): Promise<Demand[]> {
  const eventsOf = async (name: 'OutputDemanded' | 'OutputAnswered') => {
    const topics = escrowInterface.encodeFilterTopics(name, [orderHash]);
    try {
      const logs = await provider.getLogs({ address: escrow.address, topics, fromBlock: 0, toBlock: 'latest' });
      return logs.map((log) => ({ log, args: escrowInterface.parseLog(log)!.args }));
    } catch (error) {
      throw chainError(error, settlementErrors, `demands of order ${orderHash}`);
    }
  };
  const answers = new Map(
    (await eventsOf('OutputAnswered')).map(({ log, args }) => [args['demand'] as bigint, log.transactionHash as Hex]),
  );
  return (await eventsOf('OutputDemanded')).map(({ args }) => {
    const range = args['range'] as Record<keyof OutputRange, bigint>;
    return {
      range: {
        tensor: Number(range.tensor),
        firstChunk: Number(range.firstChunk),
        chunkCount: Number(range.chunkCount),
      },
      answerBy: Number(args['answerBy']),
      answered: answers.get(args['demand'] as bigint) ?? null,
    };
  });
}
