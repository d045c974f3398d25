/**
 * The watcher's own opinion of claims. One claim:
 *   1. The model, by its digest.
 *   2. What is known: the trace that somebody serves, and every answer on chain, each checked against the hash above it.
 *   3. The inputs, from a file or server, or from the chain (find-inputs.ts).
 *   4. The own execution: heavy, once for a claim, one after the other.
 *   5. What follows from these (step/find-fault.ts): everything is as claimed, a fault that can be shown, or what must be
 *      revealed first.
 * 5 is asked again in every poll, since answers come in. What may go wrong on the way (no model, an engine that fails, a
 * served file that is none) leaves the claim unknown, with the reason, and is tried again. Unknown never becomes valid.
 */
import { asAssayError } from '../../common/errors.js';
import { checkInputs, slotsOf, type Bundle } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import type { GameNode } from '../../verifier-contracts/dispute-types.js';
import { nodePath } from '../nodes/answer-node.js';
import { FullTrace } from '../nodes/full-trace.js';
import { nodeIdOf } from '../nodes/ids.js';
import { KnownClaim } from '../nodes/known-claim.js';
import { learnAnswer, learnServedTrace } from '../nodes/learn-answer.js';
import { placeOf } from '../nodes/places.js';
import { buildEvidence, faultProof, type FaultTarget } from '../step/build-evidence.js';
import { findFault } from '../step/find-fault.js';
import { StepModel } from '../step/step-model.js';
import { inputsFromChain } from './find-inputs.js';
import type { Demand, NextStep } from './next-step.js';
import { findInputs, findTrace, type Engine, type FileSource, type Models } from './sources.js';
import type { ClaimSeen } from './world.js';

export interface JudgeParts {
  readonly models: Models;
  readonly sources: readonly FileSource[];
  readonly engine: Engine;
  /** Longest contraction of one step, as the claim's game has it. */
  readonly maxContraction: (seen: ClaimSeen) => Promise<number>;
}

interface Opinion {
  readonly bundle: Bundle;
  readonly model: StepModel;
  known: KnownClaim;
  /** Answers that were taken in, by node and content. */
  learned: Set<string>;
  /** The right execution; where an input is out of its range, the inputs alone. */
  own: FullTrace | null;
  running: boolean;
  failure: string | null;
  served: boolean;
  right: boolean;
}

const empty = { slot: null, element: null, committed: null, recomputed: null };

export class Judge {
  readonly #models = new Map<Hex, StepModel>();
  readonly #opinions = new Map<Hex, Opinion>();
  /** Ends when the last execution that was asked for has. */
  #queue: Promise<void> = Promise.resolve();

  constructor(private readonly parts: JudgeParts) {}

  /** Never throws for what it finds. @throws AssayError CHAIN_UNAVAILABLE */
  async stepOf(seen: ClaimSeen): Promise<NextStep> {
    const opinion = await this.#opinionOf(seen);
    if (opinion === null)
      return { kind: 'unknown', reason: `no bundle with digest ${seen.claim.receipt.modelDigest} is at hand` };
    // The receipt is what it is: no later answer makes it wrong.
    if (opinion.right) return { kind: 'right' };
    this.#learn(opinion, seen);
    await this.#serve(opinion, seen);
    if (opinion.own === null) {
      const inputs = await this.#inputsOf(opinion, seen);
      if (!Array.isArray(inputs)) return inputs;
      this.#execute(opinion, inputs, seen.claim.receipt.items);
      if (opinion.own === null)
        return opinion.failure === null ? { kind: 'pending' } : { kind: 'unknown', reason: opinion.failure };
    }
    return this.#find(opinion, opinion.own, seen);
  }

  /** The own execution of a claim that was last found right: its trace is the claim's. Null for any other. */
  traceOf({ id }: ClaimSeen): FullTrace | null {
    const opinion = this.#opinions.get(id);
    return opinion?.right === true ? opinion.own : null;
  }

  /** Waits until no execution is under way. */
  settled(): Promise<void> {
    return this.#queue;
  }

  /** Forgets claims that are not among these. */
  keepOnly(ids: ReadonlySet<Hex>): void {
    for (const id of this.#opinions.keys()) if (!ids.has(id)) this.#opinions.delete(id);
  }

  async #opinionOf({ id, claim }: ClaimSeen): Promise<Opinion | null> {
    const known = this.#opinions.get(id);
    if (known !== undefined) return known;
    const { modelDigest } = claim.receipt;
    const bundle = await this.parts.models(modelDigest);
    if (bundle === null) return null;
    let model = this.#models.get(modelDigest);
    if (model === undefined) {
      model = new StepModel(bundle);
      this.#models.set(modelDigest, model);
    }
    const opinion: Opinion = {
      bundle,
      model,
      known: new KnownClaim(claim.receipt),
      learned: new Set(),
      own: null,
      running: false,
      failure: null,
      served: false,
      right: false,
    };
    this.#opinions.set(id, opinion);
    return opinion;
  }

  /** Step 2. Nodes above are answered before those below them, so that the order of demands serves. */
  #learn(opinion: Opinion, { demands, claim }: ClaimSeen): void {
    const answered = demands.flatMap(({ nodeId, node, answer }) => (answer === null ? [] : [{ nodeId, node, answer }]));
    const key = ({ nodeId, answer }: (typeof answered)[number]): string => `${nodeId}:${answer.contentHash}`;
    const there = new Set(answered.map(key));
    // A reorganisation may have put another segment in the place of one.
    if ([...opinion.learned].some((one) => !there.has(one))) {
      opinion.known = new KnownClaim(claim.receipt);
      opinion.learned = new Set();
      opinion.served = false;
    }
    for (const one of answered) {
      if (opinion.learned.has(key(one))) continue;
      if (learnAnswer(opinion.model, opinion.known, one.node, one.answer.content).learned)
        opinion.learned.add(key(one));
    }
  }

  /** Step 2. Asked for again as long as nobody has it: a server may have been down. */
  async #serve(opinion: Opinion, { claim: { receipt } }: ClaimSeen): Promise<void> {
    if (opinion.served || opinion.own === null) return;
    // What agrees needs no trace but the own; there is none where nothing could be executed.
    const whole = opinion.own.slots.length === opinion.model.slotCount;
    if (whole && opinion.own.claimRoots().traceRoot === receipt.traceRoot) return;
    const found = await findTrace(this.parts.sources, opinion.bundle, receipt.traceRoot);
    if (found === null) return;
    opinion.served = learnServedTrace(opinion.model, opinion.known, found.tensors, found.items);
  }

  /** Step 3. */
  async #inputsOf({ bundle, model, known }: Opinion, seen: ClaimSeen): Promise<Int32Array[] | NextStep> {
    const { receipt } = seen.claim;
    const found = await findInputs(this.parts.sources, bundle, receipt.inputRoot);
    if (found !== null && found.items === receipt.items) return found.tensors;
    const fromChain = inputsFromChain(model, known);
    if (fromChain.kind === 'known') return fromChain.tensors;
    if (fromChain.kind === 'missing')
      return this.#demands(model, known, seen, fromChain.nodes, 'the inputs are not at hand', false);
    const { input, what } = fromChain;
    const target: FaultTarget =
      what === 'binding' ? { fault: 'inputBinding', port: input } : { fault: 'header', slot: input };
    const evidence = buildEvidence(model, known, target);
    if (evidence === null) return { kind: 'unknown', reason: `what is wrong with input ${input} cannot be opened` };
    const operator = what === 'binding' ? `input ${input}` : `header of input ${input}`;
    return { kind: 'prove', proof: faultProof(model, target, evidence), place: { ...empty, operator, slot: input } };
  }

  /** Step 4. */
  #execute(opinion: Opinion, inputs: readonly Int32Array[], items: number): void {
    if (opinion.running) return;
    const { bundle, model } = opinion;
    try {
      checkInputs(bundle.graph, inputs, items);
    } catch {
      // No executor may run these; that they were committed to is the fault.
      opinion.own = new FullTrace(model, inputs, items);
      return;
    }
    opinion.running = true;
    this.#queue = this.#queue.then(async () => {
      try {
        const slots = await this.parts.engine(bundle, inputs, items);
        if (slots.length !== slotsOf(bundle.graph).length) throw new Error('the engine did not give every slot');
        opinion.own = new FullTrace(model, slots, items);
        opinion.failure = null;
      } catch (error) {
        opinion.failure = `it could not be re-executed: ${asAssayError(error).message}`;
      } finally {
        opinion.running = false;
      }
    });
  }

  /** Step 5. */
  async #find(opinion: Opinion, own: FullTrace, seen: ClaimSeen): Promise<NextStep> {
    const { model, known } = opinion;
    const finding = findFault(own, known, await this.parts.maxContraction(seen));
    opinion.right = finding.kind === 'right';
    switch (finding.kind) {
      case 'right':
      case 'unknown':
        return finding;
      case 'fault':
        return { kind: 'prove', proof: finding.proof, place: finding.place };
      case 'demand':
        return this.#demands(model, known, seen, [finding.node], finding.why, true, finding.evidence);
    }
  }

  /** Those of the nodes that nobody has demanded yet. */
  #demands(
    model: StepModel,
    known: KnownClaim,
    seen: ClaimSeen,
    nodes: readonly GameNode[],
    why: string,
    wrong: boolean,
    evidence: Hex = '0x',
  ): NextStep {
    const made = new Map(seen.demands.map((demand) => [demand.nodeId, demand]));
    const fresh = nodes.filter((node) => !made.has(nodeIdOf(node)));
    if (fresh.length === 0) {
      const waits = nodes.some((node) => made.get(nodeIdOf(node))!.answer === null);
      return waits ? { kind: 'wait', why, wrong } : { kind: 'unknown', reason: `answered, and not to be read: ${why}` };
    }
    const demands: Demand[] = [];
    for (const node of fresh) {
      const path = nodePath(model, known, node);
      if (path === null) return { kind: 'unknown', reason: `no path shows the ${node.kind} that is to be demanded` };
      const segment = made.get(nodeIdOf(path.segment));
      const segmentLevel = segment === undefined ? 0 : levelOf(model, known, seen, segment.node);
      const { level, parent } = placeOf(node, path, seen.claim.receipt.opCount, segmentLevel);
      const parentAnswered = parent !== null && (made.get(nodeIdOf(parent))?.answer ?? null) !== null;
      demands.push({ node, path, evidence, level, parentAnswered });
    }
    return { kind: 'demand', demands, why, wrong };
  }
}

function levelOf(model: StepModel, known: KnownClaim, seen: ClaimSeen, node: GameNode): number {
  const path = nodePath(model, known, node);
  return path === null ? 0 : placeOf(node, path, seen.claim.receipt.opCount).level;
}
