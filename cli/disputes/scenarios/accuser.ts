/** Somebody accuses an honest executor of everything: the claim is late, and he pays. */
import { evaluateGraph, slotsOf } from '../../../graph/index.js';
import { disputeCapacity } from '../../../fraud-proofs/answer/capacity.js';
import { nodePath } from '../../../fraud-proofs/nodes/answer-node.js';
import { FullTrace } from '../../../fraud-proofs/nodes/full-trace.js';
import { chunksNode, depthOf, INPUTS, OUTPUTS, tensorNode, TRACE_ROOT } from '../../../fraud-proofs/nodes/places.js';
import { buildEvidence, faultProof } from '../../../fraud-proofs/step/build-evidence.js';
import { StepModel } from '../../../fraud-proofs/step/step-model.js';
import { Sender } from '../../../fraud-proofs/watch/sender.js';
import type { Hex } from '../../../receipts/types.js';
import type { GameNode } from '../../../verifier-contracts/dispute-types.js';
import { nodeId } from '../../../verifier-contracts/game-client.js';
import type { Arena, ArenaClaim, ArenaTransaction } from './arena.js';
import { answererIn, takeTurns } from './players.js';
import { gainOf, orderState, Recording, type Scenario } from './scenario.js';

const DEMANDS = 20;
const ROUNDS_AN_ANSWER = 8;
const MOST_ROUNDS = 400;
/** A small chain: what a deployment must be able to bear. Time in an arena leaps, so that its own pace says nothing. */
const [BLOCK_GAS, BLOCK_SECONDS] = [30_000_000, 12];

export const falseAccuser: Scenario = {
  name: 'accuser',
  title: `an honest claim under ${DEMANDS} demands and a false proof`,
  play: async ({ arena, bundle, inputs, items }) => {
    const { client, game, options } = arena;
    const { policy, window } = options;
    const model = new StepModel(bundle);
    const values = evaluateGraph(bundle.graph, inputs, items);
    const trace = new FullTrace(
      model,
      slotsOf(bundle.graph).map((id) => values[id]!),
      items,
    );
    const executor = await arena.executor('honest executor');
    const accuser = await arena.party('accuser');
    await arena.party('requester');
    await arena.party('poster');
    const recording = await Recording.start(arena);
    const claim = await arena.claim(executor, bundle, trace);

    const known = trace.asClaim(claim.claim.receipt, 'own');
    const nodes = nodesOf(model, trace).slice(0, DEMANDS);
    for (const node of nodes)
      await arena.send(accuser, game.demandCall(claim.claim, node, nodePath(model, known, node)!));
    // A step that is right, as if it were not.
    const target = { fault: 'step', slot: model.slotCount - 1, element: 0 } as const;
    const proof = faultProof(model, target, buildEvidence(model, known, target, options.maxContraction)!);
    const bound = { order: claim.order, ...claim.claim };
    const announced = { beneficiary: accuser.address, salt: `0x${'00'.repeat(32)}` as Hex };
    const sender = new Sender(accuser.wallet, accuser.address);
    const [accused] = await sender.send([game.proveFaultCall(bound, proof, announced)]);

    const service = answererIn(arena, executor, executor, [claim]);
    const isFinal = async (): Promise<boolean> => (await leafState(arena, claim)) === 'final';
    const step = Math.floor(policy.answerTime / ROUNDS_AN_ANSWER);
    const stood = await takeTurns(arena, [service], isFinal, step, MOST_ROUNDS);
    const finalAt = await arena.clock();
    await arena.advance(claim.claim.header.committedAt + policy.deliveryWindow + 1 - finalAt);
    await arena.send(executor, client.escrow.settleCall([bound]));
    await arena.send(accuser, game.closeDemandsCall(claim.claim, nodes.map(nodeId)));

    const after = await arena.balances();
    const { before } = recording;
    const price = claim.order.price - (claim.order.price * BigInt(policy.protocolFeeBps)) / 10_000n;
    const earned = gainOf({ before, after }, executor.name) - price;
    const answers = await answersTo(arena, claim);
    const repaid = answers.reduce((sum, { gasUsed }) => sum + gasUsed, 0n) * policy.unitPrice;
    const gasPerTick = options.clock === 'blocknumber' ? BLOCK_GAS : BLOCK_GAS / BLOCK_SECONDS;
    const { answerGas, most } = disputeCapacity(policy, bundle.graph, items, gasPerTick);
    const levels = depthOf(model.slotCount) + 1 + depthOf(largestChunks(trace)) + 1;
    const latest = claim.claim.header.committedAt + window + levels * (policy.answerTime + policy.responseTime);
    return recording.report(
      falseAccuser,
      claim,
      `${nodes.length} demands; ${stood ? 'the claim stands' : 'the claim DIED'}`,
      [
        { what: 'the false proof is refused', ok: accused!.end === 'refused' },
        { what: 'the claim stands and its executor is paid', ok: stood && (await orderState(arena, claim)) === 'paid' },
        {
          what: `final at most ${levels} times answer and response time after its window`,
          ok: finalAt <= latest + step,
        },
        { what: 'the accuser has paid', ok: gainOf({ before, after }, accuser.name) < 0n },
        { what: 'the executor has earned its price, and what its answers cost', ok: earned >= repaid && repaid > 0n },
        {
          what: `no answer took more than the ${answerGas} gas that an executor reckons with`,
          ok: answers.every(({ gasUsed }) => gasUsed <= BigInt(answerGas)),
        },
        { what: `so it could answer for ${most} such claims at once`, ok: most >= 1 },
        { what: 'nothing is left in the game', ok: after.game === before.game },
      ],
    );
  },
};

/** Everything that can be demanded of a claim, from the roots down. */
function nodesOf(model: StepModel, trace: FullTrace): GameNode[] {
  const nodes: GameNode[] = [TRACE_ROOT, INPUTS, OUTPUTS];
  for (const slot of model.committed) nodes.push(tensorNode(slot));
  for (const slot of model.committed)
    for (let chunk = 0; chunk < trace.tensor(slot).header.chunkCount; chunk++) nodes.push(chunksNode(slot, chunk));
  return nodes;
}

const largestChunks = (trace: FullTrace): number =>
  Math.max(...trace.model.committed.map((slot) => trace.tensor(slot).header.chunkCount));

/** The executor's. */
async function answersTo(arena: Arena, { claim, executor }: ArenaClaim): Promise<ArenaTransaction[]> {
  const all = await arena.transactionsFrom(claim.header.committedBlock);
  return all.filter(({ who, what }) => who === executor.name && what === 'answer');
}

const leafState = ({ client }: Arena, { claim }: ArenaClaim): Promise<string> =>
  client.rollup.leafStateOf(claim.header, claim.index);
