/** Cheats of all sorts, each against one honest watcher who knows the chain, the model and the inputs. */
import { serveTraces } from '../../../fraud-proofs/answer/serve-traces.js';
import { StepModel } from '../../../fraud-proofs/step/step-model.js';
import { tamperTrace } from '../../../fraud-proofs/step/inject.js';
import { commitTable, makeBundle, type Bundle } from '../../../graph/index.js';
import type { AddressInfo } from 'node:net';
import { claimId } from '../../../verifier-contracts/game-client.js';
import type { Arena, ArenaClaim, ArenaParty } from './arena.js';
import { answererIn, servedBy, takeTurns, watcherIn, type Player } from './players.js';
import {
  endOfDispute,
  orderState,
  Recording,
  type Scenario,
  type ScenarioContext,
  type ScenarioReport,
} from './scenario.js';
import { startWatchProcess } from './watch-process.js';

interface Cheat {
  readonly name: string;
  readonly title: string;
  /** Does it serve its trace to whoever asks? */
  readonly serves: boolean;
  /** Does it answer demands on chain? */
  readonly answers: boolean;
  /** Its model, if it is not the context's own. */
  readonly model?: (bundle: Bundle) => Bundle;
  /** What must have been demanded. */
  readonly shows?: { readonly what: string; readonly kind: string };
}

/** So much of an answer time goes by in a round. */
const ROUNDS_AN_ANSWER = 16;
const MOST_ROUNDS = 300;

export const servingCheat = cheat({
  name: 'serves',
  title: 'the cheat who serves his trace',
  serves: true,
  answers: false,
});

export const answeringCheat = cheat({
  name: 'answers',
  title: 'the cheat who serves nothing and answers every demand',
  serves: false,
  answers: true,
});

export const withholdingCheat = cheat({
  name: 'withholds',
  title: 'the cheat who withholds',
  serves: false,
  answers: false,
});

/** Every how-manieth slot a trace with boundaries commits. */
const BOUNDARY = 8;

export const withBoundaries = (bundle: Bundle): Bundle => {
  const committedSlots = commitTable(bundle.graph, BOUNDARY);
  return committedSlots === undefined ? bundle : makeBundle({ ...bundle, committedSlots });
};

export const boundaryCheat = cheat({
  name: 'boundaries',
  title: 'the cheat behind boundaries: only some slots are committed',
  serves: false,
  answers: true,
  model: withBoundaries,
  shows: { what: 'the slots between two boundaries were asked for', kind: 'segment' },
});

/** In an arena whose step contract takes short contractions alone. */
export const sumsCheat = cheat({
  name: 'sums',
  title: 'a contraction too long for one step: its partial sums are asked for',
  serves: false,
  answers: true,
  shows: { what: 'partial sums were asked for', kind: 'sums' },
});

function cheat({ name, title, serves, answers, model = (bundle) => bundle, shows }: Cheat): Scenario {
  return {
    name,
    title,
    play: async ({ arena, bundle: given, inputs, items, lie, separate }: ScenarioContext): Promise<ScenarioReport> => {
      const bundle = model(given);
      const told = tamperTrace(new StepModel(bundle), inputs, items, lie);
      const executor = await arena.executor(`cheat: ${name}`);
      const party = await arena.party(`watcher: ${name}`);
      await arena.party('requester');
      await arena.party('poster');
      const recording = await Recording.start(arena);
      const claim = await arena.claim(executor, bundle, told.trace);
      const opened = await openWatcher(arena, party, claim, serves, separate);
      try {
        const players: Player[] = [opened.player, ...(answers ? [answererIn(arena, executor, executor, [claim])] : [])];
        const step = Math.floor(arena.options.policy.answerTime / ROUNDS_AN_ANSWER);
        const ended = async (): Promise<boolean> => (await orderState(arena, claim)) === 'slashed';
        const killed = await takeTurns(arena, players, ended, step, MOST_ROUNDS);
        // Deposits are paid out behind the end.
        await opened.player.turn();
        const checks = await endOfDispute(arena, claim, recording.before, party.name);
        if (shows !== undefined)
          checks.push({ what: shows.what, ok: (await demandedKinds(arena, claim)).includes(shows.kind) });
        const lieText = `slot ${told.slot}, element ${lie.element}: ${told.is} instead of ${told.was}`;
        return await recording.report(
          { name, title },
          claim,
          `${lieText}; ${killed ? 'found and slashed' : 'NOT slashed'}`,
          checks,
        );
      } finally {
        await opened.close();
      }
    },
  };
}

async function openWatcher(
  arena: Arena,
  party: ArenaParty,
  claim: ArenaClaim,
  traces: boolean,
  separate: boolean,
): Promise<{ player: Player; close(): Promise<void> }> {
  const files = servedBy([claim], traces);
  if (!separate) {
    const player = watcherIn(arena, party, { bundles: [claim.bundle], sources: [files] });
    return { player, close: () => Promise.resolve() };
  }
  const server = await serveTraces(files, { port: 0 });
  const tracesUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const player = startWatchProcess(arena, party, { bundles: [claim.bundle], tracesUrl });
  return {
    player,
    close: async () => {
      await player.stop();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Kinds of the nodes that were demanded of a claim. */
export async function demandedKinds({ game, client }: Arena, { claim, batchHash }: ArenaClaim): Promise<string[]> {
  const events = await game.eventsBetween(claim.header.committedBlock, await client.provider.getBlockNumber());
  const id = claimId(batchHash, claim.index);
  return events.flatMap((event) => (event.kind === 'demanded' && event.claim === id ? [event.node.kind] : []));
}
