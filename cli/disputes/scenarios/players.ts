/** Who plays in an arena: watchers and answering services, the real ones, taking turns with time. */
import { readOrder } from '../../../fraud-proofs/watch/read-order.js';
import { AnsweringService, type AnswerReport } from '../../../fraud-proofs/answer/answering-service.js';
import { OpeningJournal } from '../../../fraud-proofs/answer/opening-journal.js';
import { ChainScan } from '../../../fraud-proofs/watch/chain-scan.js';
import { Judge } from '../../../fraud-proofs/watch/judge.js';
import { MemoryKeep, type Keep } from '../../../fraud-proofs/watch/keep.js';
import { Metrics } from '../../../fraud-proofs/watch/metrics.js';
import { Sender } from '../../../fraud-proofs/watch/sender.js';
import type { Engine, FileSource, Models } from '../../../fraud-proofs/watch/sources.js';
import { encodeTensors } from '../../../fraud-proofs/watch/tensor-file.js';
import { Watcher, type PollReport } from '../../../fraud-proofs/watch/watcher.js';
import { committedTensors, evaluateGraph, slotsOf, type Bundle } from '../../../graph/index.js';
import type { Hex } from '../../../receipts/types.js';
import { stepLimits } from '../step-limits.js';
import type { Arena, ArenaClaim, ArenaExecutor, ArenaParty } from './arena.js';

/** The graph's own evaluator: every slot. */
export const evaluator: Engine = async ({ graph }, inputs, items) => {
  const values = evaluateGraph(graph, inputs, items);
  return slotsOf(graph).map((id) => values[id]!);
};

export interface WatcherOptions {
  readonly bundles: readonly Bundle[];
  readonly sources: readonly FileSource[];
  readonly keep?: Keep;
  readonly engine?: Engine;
}

export interface ArenaWatcher {
  readonly party: ArenaParty;
  /** Polls until everything is re-executed. */
  turn(): Promise<PollReport>;
}

function scanOf({ client }: Arena, { address }: ArenaParty, executor: Hex | null): ChainScan {
  const { context, rollup, escrow } = client;
  return new ChainScan({
    context,
    rollup,
    escrow,
    fromBlock: 0,
    mine: ({ demander, answer }, receipt) =>
      demander === address || answer?.sender === address || receipt.executor === executor,
  });
}

const senderOf = ({ wallet, address }: ArenaParty): Sender => new Sender(wallet, address, { replaceAfterMs: 10_000 });

export function models(bundles: readonly Bundle[]): Models {
  const byDigest = new Map(bundles.map((bundle) => [bundle.digest, bundle]));
  return async (digest) => byDigest.get(digest) ?? null;
}

/** A challenger. */
export function watcherIn(arena: Arena, party: ArenaParty, options: WatcherOptions): ArenaWatcher {
  const { client, provider } = arena;
  const judge = new Judge({
    models: models(options.bundles),
    sources: options.sources,
    engine: options.engine ?? evaluator,
    maxContraction: stepLimits(provider),
  });
  const place = { provider, domain: client.domain, escrow: client.escrow.address, fromBlock: 0 };
  const watcher = new Watcher({
    scan: scanOf(arena, party, null),
    escrow: client.escrow,
    judge,
    keep: options.keep ?? new MemoryKeep(),
    orderOf: (orderHash: Hex) => readOrder(place, orderHash),
    metrics: new Metrics(),
    own: party.address,
    sender: senderOf(party),
    dryRun: false,
    defender: null,
  });
  return {
    party,
    turn: async () => {
      for (;;) {
        const report = await watcher.poll();
        if (report.claims.every(({ step }) => step.kind !== 'pending')) return report;
        await judge.settled();
      }
    },
  };
}

export interface ArenaAnswerer {
  readonly party: ArenaParty;
  turn(): Promise<AnswerReport>;
}

/**
 * Answers for claims whose traces it holds: as their executor, or as a helper.
 * @param as the executor; null: a helper, who waits for the second half of the time
 */
export function answererIn(
  arena: Arena,
  party: ArenaParty,
  as: ArenaExecutor | null,
  claims: readonly ArenaClaim[],
  keep: Keep = new MemoryKeep(),
): ArenaAnswerer {
  const executor =
    as === null
      ? null
      : { signer: as.signer, address: as.signer.address.toLowerCase() as Hex, openings: new OpeningJournal(keep) };
  const scan = scanOf(arena, party, executor?.address ?? null);
  const service = new AnsweringService({
    domain: arena.client.domain,
    executor,
    helps: executor === null ? () => true : null,
    traceOf: async ({ claim }) =>
      claims.find((held) => held.claim.receipt.orderHash === claim.receipt.orderHash)?.trace ?? null,
    maxContraction: stepLimits(arena.provider),
    sender: senderOf(party),
  });
  return { party, turn: async () => service.answer(await scan.read()) };
}

/** Serves what an executor of these claims would: inputs, and traces where `traces` is true. */
export function servedBy(claims: readonly ArenaClaim[], traces: boolean): FileSource {
  return async (kind, root) => {
    for (const { bundle, claim, trace } of claims) {
      const { graph, committedSlots } = bundle;
      if (kind === 'inputs' && claim.receipt.inputRoot === root)
        return encodeTensors(
          graph.inputs.map((id) => graph.tensors[id]!),
          trace.slots,
          trace.items,
        );
      if (kind === 'traces' && traces && claim.receipt.traceRoot === root) {
        const committed = trace.model.committed.map((slot) => trace.slots[slot]!);
        return encodeTensors(
          committedTensors(graph, committedSlots).map((id) => graph.tensors[id]!),
          committed,
          trace.items,
        );
      }
    }
    return null;
  };
}

export interface Player {
  turn(): Promise<unknown>;
}

/**
 * Lets players take turns, and time go on between the rounds.
 * @param step how much time a round takes
 * @returns whether `done` came true within `rounds`
 */
export async function takeTurns(
  arena: Arena,
  players: readonly Player[],
  done: () => Promise<boolean>,
  step: number,
  rounds: number,
): Promise<boolean> {
  for (let round = 0; round < rounds; round++) {
    for (const player of players) await player.turn();
    if (await done()) return true;
    await arena.advance(step);
  }
  return done();
}
