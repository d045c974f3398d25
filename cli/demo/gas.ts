/** What the calls to the contracts cost, found by the events that they left. */
import type { Interface, Log } from 'ethers';
import { LANES } from '../../receipts/index.js';
import { courtInterface } from '../../verifier-contracts/court-client.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import { gameInterface } from '../../verifier-contracts/game-client.js';
import { ProgramStoreClient, storeInterface } from '../../verifier-contracts/program-store-client.js';
import { rollupInterface } from '../../verifier-contracts/rollup-client.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';

export interface CallGas {
  readonly call: string;
  readonly transactions: number;
  readonly gas: number;
  /** Orders or receipts that they were for; null where a call is for a whole batch. */
  readonly units: number | null;
}

type EventArgs = Readonly<Record<string, unknown>>;

interface Source {
  readonly call: string;
  readonly address: string;
  readonly abi: Interface;
  readonly event: string;
  /** What the event counts for; 0: it is another call's. Absent: for a whole batch. */
  readonly units?: (args: EventArgs) => number;
}

const PROVE_FAULT = 'proveFault';

function logsOf({ provider, context }: SettlementClient, { address, abi, event }: Source): Promise<Log[]> {
  const topics = abi.encodeFilterTopics(event, []);
  return provider.getLogs({ address, topics, fromBlock: context.fromBlock, toBlock: 'latest' });
}

/** Calls in the order of an order's life. */
export async function gasOfCalls(client: SettlementClient): Promise<CallGas[]> {
  const { provider, escrow, rollup, court, game, context } = client;
  const store = await ProgramStoreClient.of(context, client.policy.verifier);
  const one = (): number => 1;
  const committed =
    (zk: boolean) =>
    (args: EventArgs): number => {
      const { lane, count } = args['header'] as { lane: bigint; count: bigint };
      return (Number(lane) === LANES.zk) === zk ? Number(count) : 0;
    };
  const ofRollup = { address: rollup.address, abi: rollupInterface, event: 'BatchCommitted' };
  const ofGame = { address: game?.address ?? '', abi: gameInterface };
  const ofCourt = { address: court?.address ?? '', abi: courtInterface };
  const sources: Source[] = [
    { call: 'open', address: escrow.address, abi: escrowInterface, event: 'OrderOpened', units: one },
    { call: 'commit', ...ofRollup, units: committed(false) },
    { call: 'fixSeed', ...ofCourt, event: 'SeedFixed' },
    { call: 'reportAudit', ...ofCourt, event: 'AuditReported' },
    ...(store === null
      ? []
      : [{ call: 'publish', address: store.address, abi: storeInterface, event: 'ProgramPublished' }]),
    { call: 'commitProved', ...ofRollup, units: committed(true) },
    { call: 'precommit', ...ofGame, event: 'Precommitted', units: one },
    { call: PROVE_FAULT, ...ofGame, event: 'FaultProved', units: one },
    { call: 'settle', address: escrow.address, abi: escrowInterface, event: 'OrderEnded', units: one },
  ];
  // Whoever proves a fault has the order settled in the same call.
  const proved = new Set(
    (
      await logsOf(
        client,
        sources.find(({ call }) => call === PROVE_FAULT)!,
      )
    ).map(({ transactionHash }) => transactionHash),
  );
  return Promise.all(
    sources.map(async (source) => {
      const { call, abi, units } = source;
      const logs = await logsOf(client, source);
      const own = logs.flatMap((log) => {
        if (call !== PROVE_FAULT && proved.has(log.transactionHash)) return [];
        const count = units?.(abi.parseLog(log)!.args as unknown as EventArgs) ?? null;
        return count === 0 ? [] : [{ hash: log.transactionHash, count }];
      });
      const hashes = [...new Set(own.map(({ hash }) => hash))];
      const mined = await Promise.all(hashes.map((hash) => provider.getTransactionReceipt(hash)));
      return {
        call,
        transactions: hashes.length,
        gas: mined.reduce((sum, receipt) => sum + Number(receipt!.gasUsed), 0),
        units: units === undefined ? null : own.reduce((sum, { count }) => sum + count!, 0),
      };
    }),
  );
}
