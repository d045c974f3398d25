/** A challenger of the cheat's own opens first and goes silent: nobody's seat is taken, and the honest watcher goes on. */
import { StepModel } from '../../../fraud-proofs/step/step-model.js';
import { tamperTrace } from '../../../fraud-proofs/step/inject.js';
import { nodePath } from '../../../fraud-proofs/nodes/answer-node.js';
import { INPUTS, OUTPUTS, TRACE_ROOT } from '../../../fraud-proofs/nodes/places.js';
import { nodeId } from '../../../verifier-contracts/game-client.js';
import { answererIn, servedBy, takeTurns, watcherIn } from './players.js';
import { endOfDispute, gainOf, orderState, Recording, type Scenario } from './scenario.js';

const ROUNDS_AN_ANSWER = 16;
const MOST_ROUNDS = 300;

export const shillChallenger: Scenario = {
  name: 'shill',
  title: 'a challenger who belongs to the cheat opens first and goes silent',
  play: async ({ arena, bundle, inputs, items, lie }) => {
    const { game, options } = arena;
    const model = new StepModel(bundle);
    const told = tamperTrace(model, inputs, items, lie);
    const executor = await arena.executor('cheat: shill');
    const shill = await arena.party('shill');
    const honest = await arena.party('watcher: shill');
    await arena.party('requester');
    await arena.party('poster');
    const recording = await Recording.start(arena);
    const claim = await arena.claim(executor, bundle, told.trace);
    const known = told.trace.asClaim(claim.claim.receipt, 'own');
    // In the block after the commit, before anybody can have re-executed anything.
    for (const node of [TRACE_ROOT, INPUTS, OUTPUTS])
      await arena.send(shill, game.demandCall(claim.claim, node, nodePath(model, known, node)!));

    const watcher = watcherIn(arena, honest, { bundles: [bundle], sources: [servedBy([claim], false)] });
    const cheat = answererIn(arena, executor, executor, [claim]);
    const step = Math.floor(options.policy.answerTime / ROUNDS_AN_ANSWER);
    const ended = async (): Promise<boolean> => (await orderState(arena, claim)) === 'slashed';
    const killed = await takeTurns(arena, [cheat, watcher], ended, step, MOST_ROUNDS);
    await watcher.turn();
    const shills = (await arena.balances()).parties[shill.name]!;
    const { before } = recording;
    const checks = await endOfDispute(arena, claim, before, honest.name);
    checks.push({ what: 'the shill has gained nothing', ok: shills <= before.parties[shill.name]! });
    // Its deposits come back to it, whenever it asks.
    const own = [TRACE_ROOT, INPUTS, OUTPUTS].map(nodeId);
    await arena.send(shill, game.closeDemandsCall(claim.claim, own));
    const after = await arena.balances();
    checks.splice(
      checks.findIndex(({ what }) => what === 'nothing is left in the game'),
      1,
      { what: 'nothing is left in the game', ok: after.game === before.game },
    );
    checks.push({
      what: 'its deposits came back, since the claim is dead',
      ok: gainOf({ before, after }, shill.name) === 0n,
    });
    return recording.report(
      shillChallenger,
      claim,
      killed ? 'the honest watcher found it, and was paid' : 'NOT slashed',
      checks,
    );
  },
};
