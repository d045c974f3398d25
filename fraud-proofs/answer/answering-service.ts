/**
 * Answers demands: an executor's on its own claims, a helper's on anybody's whose trace it holds.
 *
 *   1. Own open demands come first, before anything else, when the process starts and in every poll; earliest deadline first.
 *   2. An executor answers at once, in the first half of the answer time: then the table cost is its own, whoever copies the
 *      answer. A helper waits for the second half, in which the sender earns, and answers for claims that it takes for right.
 *   3. Segments and sums only the executor can say: they are signed once per order and node (opening-journal.ts), and the
 *      signature is durable before it is sent.
 *   4. When a claim has ended, the deposits that pay this account are paid out.
 * Which demands there are, and which are answered, the chain says; a service that is killed anywhere goes on from there.
 */
import type { Signer } from 'ethers';
import { asAssayError } from '../../common/errors.js';
import { signOpening } from '../../receipts/signature.js';
import type { Hex, ReceiptDomain } from '../../receipts/types.js';
import { nodeContent } from '../nodes/answer-node.js';
import { contentHash } from '../nodes/ids.js';
import type { FullTrace } from '../nodes/full-trace.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import type { Move } from '../watch/plan.js';
import { byDeadline } from '../watch/plan.js';
import type { Sender, Sent } from '../watch/sender.js';
import type { ClaimSeen, DemandSeen, World } from '../watch/world.js';
import type { OpeningJournal } from './opening-journal.js';

export interface ExecutorRole {
  /** The key that signed the receipts. */
  readonly signer: Signer;
  /** Its address. */
  readonly address: Hex;
  readonly openings: OpeningJournal;
}

export interface AnsweringParts {
  readonly domain: ReceiptDomain;
  /** Null: as a helper only. */
  readonly executor: ExecutorRole | null;
  /** Answers for others' claims too, in the second half of the time; asked whether a claim is right. Null: own claims only. */
  readonly helps: ((seen: ClaimSeen) => boolean) | null;
  /** The trace that a claim was made from, with every slot; null where it is not held. */
  readonly traceOf: (seen: ClaimSeen) => Promise<FullTrace | null>;
  /** Longest contraction of one step, as the claim's game has it. */
  readonly maxContraction: (seen: ClaimSeen) => Promise<number>;
  readonly sender: Sender;
}

export interface AnswerReport {
  readonly moves: readonly (Move & { readonly sent: Sent })[];
  /** Open demands on own claims that this service cannot answer, and why. */
  readonly unanswerable: readonly {
    readonly claim: Hex;
    readonly nodeId: Hex;
    readonly answerBy: number;
    readonly reason: string;
  }[];
}

/** Claims whose trees are kept at hand: each holds a whole trace. */
const CLAIMS_AT_HAND = 4;

export class AnsweringService {
  readonly #claims = new Map<Hex, { readonly trace: FullTrace; readonly known: KnownClaim }>();

  constructor(private readonly parts: AnsweringParts) {}

  /** @throws AssayError CHAIN_UNAVAILABLE */
  async answer(world: World): Promise<AnswerReport> {
    if (world.frozen) return { moves: [], unanswerable: [] };
    const moves: Move[] = [];
    const unanswerable: AnswerReport['unanswerable'][number][] = [];
    for (const seen of world.claims) {
      const own = seen.claim.receipt.executor === this.parts.executor?.address;
      for (const demand of seen.demands) {
        if (!this.#isDue(seen, demand, own, world.clock)) continue;
        try {
          const move = await this.#moveOf(seen, demand, own, world.clock);
          if (move !== null) moves.push(move);
          else if (own) unanswerable.push({ ...named(seen, demand), reason: 'its trace is not held here' });
        } catch (error) {
          const failure = asAssayError(error);
          if (failure.kind === 'internal') throw failure;
          // One that cannot be answered must not keep the others waiting.
          unanswerable.push({ ...named(seen, demand), reason: failure.message });
        }
      }
      const closing = this.#closingOf(seen, own, world);
      if (closing !== null) moves.push(closing);
    }
    moves.sort(byDeadline);
    const ends = await this.parts.sender.send(moves.map(({ call }) => call));
    return { moves: moves.map((move, i) => ({ ...move, sent: ends[i]! })), unanswerable };
  }

  #isDue(seen: ClaimSeen, { answer, answerBy }: DemandSeen, own: boolean, clock: number): boolean {
    if (answer !== null || clock > answerBy || seen.state !== 'challengeable') return false;
    if (own) return true;
    const half = seen.game.policy.answerTime / 2;
    return clock > answerBy - half && this.parts.helps?.(seen) === true;
  }

  async #moveOf(
    seen: ClaimSeen,
    { node, nodeId, answerBy }: DemandSeen,
    own: boolean,
    clock: number,
  ): Promise<Move | null> {
    const statement = node.kind === 'segment' || node.kind === 'sums';
    if (statement && !own) return null;
    const held = await this.#held(seen);
    if (held === null) return null;
    const { model } = held.trace;
    const content = nodeContent(model, held.known, node, await this.parts.maxContraction(seen));
    if (content === null) return null;
    const { client } = seen.game;
    return {
      kind: 'answer',
      claim: seen.id,
      what: `answer the demand for ${node.kind} ${node.slot}/${node.first}`,
      call: statement
        ? client.stateCall(seen.claim, node, content, await this.#sign(seen, nodeId, content))
        : client.answerCall(seen.claim, node, content),
      at: clock,
      deadline: answerBy,
      deposit: 0n,
      payout: 0n,
    };
  }

  async #held(seen: ClaimSeen): Promise<{ trace: FullTrace; known: KnownClaim } | null> {
    const known = this.#claims.get(seen.id);
    if (known !== undefined) return known;
    const trace = await this.parts.traceOf(seen);
    if (trace === null) return null;
    const held = { trace, known: trace.asClaim(seen.claim.receipt, 'own') };
    this.#claims.set(seen.id, held);
    if (this.#claims.size > CLAIMS_AT_HAND) this.#claims.delete(this.#claims.keys().next().value!);
    return held;
  }

  #sign(seen: ClaimSeen, nodeId: Hex, content: Hex): Promise<Hex> {
    const { signer, openings } = this.parts.executor!;
    const { orderHash } = seen.claim.receipt;
    const said = contentHash(content);
    const opening = { orderHash, batchHash: seen.batchHash, index: seen.claim.index, nodeId, contentHash: said };
    return openings.signOnce(orderHash, nodeId, said, () => signOpening(opening, this.parts.domain, signer));
  }

  /** Answers of a claim that stands earn when its deposits are paid out; of a dead one nobody but the demander does. */
  #closingOf({ state, demands, claim, game, id }: ClaimSeen, own: boolean, world: World): Move | null {
    const sender = this.parts.sender.address;
    const open = demands.filter(
      ({ answer, closed }) => !closed && answer !== null && (own || answer.sender === sender),
    );
    if (state !== 'final' || open.length === 0) return null;
    return {
      kind: 'close',
      claim: id,
      what: `pay out ${open.length} answered demands`,
      call: game.client.closeDemandsCall(
        claim,
        open.map(({ nodeId }) => nodeId),
      ),
      at: world.clock,
      deadline: null,
      deposit: 0n,
      payout: 0n,
    };
  }
}

const named = (seen: ClaimSeen, { nodeId, answerBy }: DemandSeen) => ({ claim: seen.id, nodeId, answerBy });
