/**
 * What is wrong with a claim, or what must be revealed to say so. The watcher holds his own execution, which is right, and
 * knows of the claim what was served or answered. In canonical order:
 *   1. opCount; numbers and ranges of inputs.
 *   2. Where traceRoot is not his: number of slots; the first leaf that is not his; its slot's number; an input's tensor.
 *   3. With boundaries: the segment before that leaf, and the first root in it that is not his. So all that the slot found is
 *      computed from is as he has it, and its operator must be what is wrong.
 *   4. That tensor: header, first chunk, first element that is not his.
 *   5. Where a contraction under that element is too long for one step: its stated sums; the first part that is wrong, or the
 *      total.
 *   6. Where the trace is his: number of outputs, and the first that is not its slot's tensor.
 * Where the next piece is not known, it is the node to demand. What differs from a right execution is wrong, whether it
 * can be shown yet or not; and nothing else is: whoever does not hold a right execution of these inputs gets `unknown`.
 * Evidence is handed out only after the mirror of the step contract has found the fault in it.
 */
import { CHUNK_ELEMENTS } from '../../graph/commitment/tensor-root.js';
import type { Hex } from '../../receipts/types.js';
import {
  HEIGHTS_AT_ONCE,
  ROOT_HEIGHT,
  type FaultProof,
  type GameNode,
  type NodePath,
  type StepEvidence,
} from '../../verifier-contracts/dispute-types.js';
import { nodePath } from '../nodes/answer-node.js';
import type { FullTrace } from '../nodes/full-trace.js';
import type { KnownClaim, KnownTrace, TraceLeaf } from '../nodes/known-claim.js';
import { committedPosition, type KnownTensor } from '../nodes/known-tensor.js';
import { chunksNode, depthOf, OUTPUTS, placeOf, tensorNode, TRACE_ROOT, type NodePlace } from '../nodes/places.js';
import type { SparseTree } from '../nodes/sparse-tree.js';
import { buildEvidence, faultProof, segmentEvidence, sumsEvidence, type FaultTarget } from './build-evidence.js';
import { checkStep, type Reliance } from './check-step.js';
import { claimedSlot, type ClaimedSlot } from './claimed-slot.js';
import { encodeEvidence } from './encode-evidence.js';
import { longContractions, StepUndetermined } from './evaluate-element.js';
import type { StepModel } from './step-model.js';
import { ClaimReader, MAX_CONTRACTION, memoryElement, ownSums } from './sums.js';

/** Where a claim is wrong, in the model's own terms. */
export interface FaultPlace {
  /** The operator that gives the slot, as in `conv 'conv1'`; or the part of the receipt that is wrong. */
  readonly operator: string;
  readonly slot: number | null;
  /** In memory order, item outermost; null where the fault is in no element. */
  readonly element: number | null;
  readonly committed: string | null;
  readonly recomputed: string | null;
}

export type FaultFinding =
  /** Everything is as the own execution gives it. */
  | { readonly kind: 'right' }
  /** Wrong, and everything that shows it is known. */
  | {
      readonly kind: 'fault';
      readonly target: FaultTarget;
      readonly evidence: StepEvidence;
      readonly proof: FaultProof;
      readonly relies: readonly Reliance[];
      readonly place: FaultPlace;
    }
  /** Wrong; this must be revealed to show it. */
  | {
      readonly kind: 'demand';
      readonly node: GameNode;
      readonly path: NodePath;
      /** For the step contract (segment, sums); else empty. */
      readonly evidence: Hex;
      readonly place: NodePlace;
      readonly why: string;
    }
  | { readonly kind: 'unknown'; readonly reason: string };

/** The node that would say more. */
interface Demand {
  readonly node: GameNode;
  readonly why: string;
}

type Step =
  { readonly target: FaultTarget; readonly place: FaultPlace } | Demand | { readonly reason: string } | 'right';

/**
 * @param own the right execution of the claim's inputs. Where an input is out of its range nothing can be executed: then
 * the inputs alone.
 * @param claim gets to know, of what it commits, whatever is as in `own`.
 * @param maxContraction of the step contract.
 */
export function findFault(own: FullTrace, claim: KnownClaim, maxContraction = MAX_CONTRACTION): FaultFinding {
  const { model } = own;
  const step = new Search(own, claim, maxContraction).next();
  if (step === 'right') return { kind: 'right' };
  if ('reason' in step) return { kind: 'unknown', reason: step.reason };
  if ('node' in step) return demandOf(model, claim, step, maxContraction);
  try {
    const { target, place } = step;
    const evidence = buildEvidence(model, claim, target, maxContraction);
    if (evidence === null) return { kind: 'unknown', reason: 'an operand of the step cannot be opened' };
    const verdict = checkStep(claim.receipt, target.fault, evidence, maxContraction);
    if (verdict.verdict !== 'fault') {
      const why = 'reason' in verdict ? `: ${verdict.reason}` : '';
      return { kind: 'unknown', reason: `the check of the evidence answers ${verdict.verdict}${why}` };
    }
    const proof = faultProof(model, target, evidence);
    return { kind: 'fault', target, evidence, proof, relies: verdict.relies, place };
  } catch (error) {
    if (error instanceof StepUndetermined) return { kind: 'unknown', reason: error.message };
    throw error;
  }
}

function demandOf(model: StepModel, claim: KnownClaim, { node, why }: Demand, maxContraction: number): FaultFinding {
  const path = nodePath(model, claim, node);
  if (path === null) return { kind: 'unknown', reason: `no path shows the ${node.kind} that is to be demanded` };
  const segmentLevel = claim.trace === null ? 0 : depthOf(claim.trace.slotCount);
  let evidence: Hex = '0x';
  if (node.kind === 'segment') evidence = encodeEvidence(segmentEvidence(model, claim, node.slot));
  if (node.kind === 'sums') {
    const element = memoryElement(model.infoOfSlot(node.slot), node.first);
    evidence = encodeEvidence(sumsEvidence(model, claim, node.slot, element, maxContraction));
  }
  return { kind: 'demand', node, path, evidence, place: placeOf(node, path, claim.receipt.opCount, segmentLevel), why };
}

const nothing = { slot: null, element: null, committed: null, recomputed: null };

const numberPlace = (operator: string, committed: number, recomputed: number): FaultPlace => ({
  ...nothing,
  operator,
  committed: String(committed),
  recomputed: String(recomputed),
});

class Search {
  private readonly model: StepModel;

  constructor(
    private readonly own: FullTrace,
    private readonly claim: KnownClaim,
    private readonly maxContraction: number,
  ) {
    this.model = own.model;
  }

  next(): Step {
    const { own, claim, model } = this;
    const { receipt } = claim;
    if (receipt.modelDigest !== model.digest) return { reason: `the claim is about model ${receipt.modelDigest}` };
    if (receipt.opCount !== model.slotCount)
      return { target: { fault: 'opCount' }, place: numberPlace('number of slots', receipt.opCount, model.slotCount) };
    if (claim.inputs !== null && claim.inputs.length !== model.header.inputs) {
      const place = numberPlace('number of inputs', claim.inputs.length, model.header.inputs);
      return { target: { fault: 'portCount', side: 'inputs' }, place };
    }
    if (receipt.items !== own.items || own.inputRoot() !== receipt.inputRoot)
      return { reason: 'the execution at hand is of other inputs' };
    claim.inputs = own.inputRoots;
    const outside = this.inputOutOfRange();
    if (outside !== null) return this.badInput(outside);
    if (!own.complete) return { reason: 'the execution at hand ends at the inputs' };
    const roots = own.claimRoots();
    if (roots.traceRoot !== receipt.traceRoot) return this.inTrace();
    // The same root: the same trace, known altogether. Segments are as right as what was computed from them.
    return roots.outputRoot === receipt.outputRoot ? 'right' : this.inOutputs();
  }

  private inputOutOfRange(): { input: number; element: number } | null {
    for (const [input, id] of this.model.model.graph.inputs.entries()) {
      const { lo, hi } = this.model.model.graph.tensors[id]!.range;
      const element = this.own.slots[input]!.findIndex((v) => v < lo || v > hi);
      if (element >= 0) return { input, element };
    }
    return null;
  }

  /** An input that no executor may run: its slot in the trace shows it, or holds something else. */
  private badInput({ input, element }: { input: number; element: number }): Step {
    const { claim, own, model } = this;
    if (claim.trace === null) return { node: TRACE_ROOT, why: 'an input is out of its range' };
    const leaf = this.leaf(claim.trace, model.positionOf(input)!);
    if ('node' in leaf) return leaf;
    if (leaf.root !== own.root(input)) return this.wrongInput(input);
    claim.tensors.set(leaf.root, own.tensor(input));
    const place = { ...this.placeOfSlot(input), element, committed: String(own.slots[input]![element]!) };
    return { target: { fault: 'inputRange', input, element }, place };
  }

  private wrongInput(input: number): Step {
    return { target: { fault: 'inputBinding', port: input }, place: this.placeOfSlot(input) };
  }

  /** A leaf of the claim's trace, or what reveals it. */
  private leaf(trace: KnownTrace, position: number): TraceLeaf | Demand {
    const known = trace.leaves[position];
    if (known !== undefined) return known;
    return { node: unrevealed(trace.tree, 'trace', 0, position), why: 'the trace differs' };
  }

  private inTrace(): Step {
    const { claim, own, model } = this;
    const { trace } = claim;
    if (trace === null) return { node: TRACE_ROOT, why: 'the trace differs' };
    if (trace.slotCount !== model.committed.length) {
      const place = numberPlace('number of committed slots', trace.slotCount, model.committed.length);
      return { target: { fault: 'slotCount' }, place };
    }
    const mine = own.trace();
    const position = firstDifference(mine.tree, trace.tree, (same) => {
      if (mine.leaves[same] !== undefined) trace.learnLeaf(same, mine.leaves[same]!);
    });
    if (position === null) return { reason: 'the trace at hand has another root than the claim' };
    const leaf = this.leaf(trace, position);
    if ('node' in leaf) return leaf;
    const slot = model.committed[position]!;
    if (leaf.slot !== slot) {
      const place = numberPlace(`number of committed slot ${position}`, leaf.slot, slot);
      return { target: { fault: 'commitIndex', position }, place };
    }
    if (slot < model.header.inputs) return this.wrongInput(slot);
    return this.inSegment(position - 1, slot);
  }

  /** The first wrong slot is the committed one behind this segment, or in it. */
  private inSegment(k: number, boundary: number): Step {
    const { claim, own, model } = this;
    const { first, count } = model.segment(k);
    if (count === 0) return this.inSlot(boundary);
    const stated = claim.segments.get(k);
    if (stated === undefined)
      return { node: { kind: 'segment', slot: k, height: 0, first, count }, why: `slot ${boundary} differs` };
    const wrong = stated.roots.findIndex((root, i) => root !== own.root(first + i));
    return this.inSlot(wrong < 0 ? boundary : first + wrong);
  }

  /** All that this slot is computed from is right. */
  private inSlot(slot: number): Step {
    const { claim, own, model } = this;
    const claimed = claimedSlot(model, claim, slot)!;
    if (claim.foreign.has(claimed.root))
      return {
        target: { fault: 'header', slot },
        place: { ...this.placeOfSlot(slot), operator: `header of slot ${slot}` },
      };
    const why = `slot ${slot} differs`;
    if (claimed.tensor === null) return { node: tensorNode(slot), why };
    const mine = own.tensor(slot);
    const chunk = firstDifference(mine.hashes(), claimed.tensor.hashes(), () => undefined);
    if (chunk === null) return { reason: `slot ${slot} has another root and the same chunks` };
    if (claimed.tensor.hashes().get(0, chunk) === null)
      return { node: unrevealed(claimed.tensor.hashes(), 'tensor', slot, chunk), why };
    if (claimed.tensor.chunk(chunk) === null) return { node: chunksNode(slot, chunk), why: `chunk ${chunk} of ${why}` };
    return this.inChunk(claimed, mine, chunk);
  }

  private inChunk({ slot, tensor }: ClaimedSlot, mine: KnownTensor, chunk: number): Step {
    const { model } = this;
    const first = chunk * CHUNK_ELEMENTS;
    const positions = Array.from({ length: CHUNK_ELEMENTS }, (_, i) => first + i);
    const position = positions.find((at) => mine.at(at) !== tensor!.at(at))!;
    const info = model.infoOfSlot(slot);
    const element = memoryElement(info, position);
    const place = {
      ...this.placeOfSlot(slot),
      element,
      committed: String(tensor!.at(position)),
      recomputed: String(mine.at(position)),
    };
    this.adoptOwn();
    const long = longContractions(
      new ClaimReader(model, this.claim, this.maxContraction),
      model.valueOfSlot[slot]!,
      element,
    );
    if (long.length === 0) {
      // Of argMax the right index is the witness: what stands there beats what stands anywhere else.
      const witness = mine.at(position)!;
      const isArgMax = model.value(model.valueOfSlot[slot]!).kind === 'argMax';
      return { target: { fault: 'step', slot, element, ...(isArgMax ? { witness } : {}) }, place };
    }
    if (long.length > 1) return { reason: `element ${element} of slot ${slot} rests on two long contractions` };
    const count = Math.ceil(long[0]!.length / this.maxContraction);
    const stated = this.claim.statedSums(slot, committedPosition(info, element));
    if (stated === null) {
      const node: GameNode = { kind: 'sums', slot, height: 0, first: position, count };
      return { node, why: `element ${element} of slot ${slot} differs` };
    }
    const right = ownSums(model, this.claim, slot, position, this.maxContraction);
    const part = right?.findIndex((sum, i) => sum !== stated.parts[i]) ?? -1;
    if (part < 0) return { target: { fault: 'step', slot, element }, place };
    const sums = { committed: String(stated.parts[part]), recomputed: String(right![part]) };
    return {
      target: { fault: 'part', slot, element, part },
      place: { ...place, ...sums, operator: `part ${part} of ${place.operator}` },
    };
  }

  private inOutputs(): Step {
    const { claim, own, model } = this;
    if (claim.outputs === null) return { node: OUTPUTS, why: 'the outputs differ' };
    if (claim.outputs.length !== model.outputs.length) {
      const place = numberPlace('number of outputs', claim.outputs.length, model.outputs.length);
      return { target: { fault: 'portCount', side: 'outputs' }, place };
    }
    const right = own.outputRoots;
    const port = claim.outputs.findIndex((root, i) => root !== right[i]);
    if (port < 0) return { reason: 'the outputs at hand have another root than the claim' };
    claim.trace = own.trace();
    const { slot } = model.outputs[port]!;
    return {
      target: { fault: 'outputBinding', port },
      place: {
        ...this.placeOfSlot(slot),
        operator: `output ${port}`,
        committed: claim.outputs[port]!,
        recomputed: right[port]!,
      },
    };
  }

  /** Roots name tensors: what the claim has under a root that is one of his the watcher holds. */
  private adoptOwn(): void {
    const { claim, own, model } = this;
    for (let slot = 0; slot < model.slotCount; slot++) {
      const claimed = claimedSlot(model, claim, slot);
      if (claimed?.root === own.root(slot)) claim.tensors.set(claimed.root, own.tensor(slot));
    }
  }

  private placeOfSlot(slot: number): FaultPlace {
    const value = this.model.valueOfSlot[slot]!;
    const { graph } = this.model.model;
    const node = graph.nodes[value - graph.inputs.length];
    const operator =
      node === undefined ? `input '${graph.tensors[graph.inputs[value]!]!.name}'` : `${node.kind} '${node.name}'`;
    return { ...nothing, operator, slot };
  }
}

/**
 * The first leaf at which two trees of as many leaves differ, or the first of the smallest known subtree that differs and
 * of whose children nothing is known; null where the trees are the same.
 * @param same called for every leaf before it.
 */
function firstDifference(mine: SparseTree, other: SparseTree, same: (leaf: number) => void): number | null {
  const visit = (height: number, index: number): number | null => {
    const theirs = other.get(height, index);
    if (theirs !== null && Buffer.compare(theirs, mine.get(height, index)!) === 0) {
      const end = Math.min((index + 1) * 2 ** height, mine.count);
      for (let leaf = index * 2 ** height; leaf < end; leaf++) same(leaf);
      return null;
    }
    if (height === 0) return index;
    const children = [2 * index, 2 * index + 1].filter((child) => child < mine.width(height - 1));
    // Nothing below is known: its first leaf stands for it.
    if (theirs !== null && children.every((child) => other.get(height - 1, child) === null)) {
      return index * 2 ** height;
    }
    for (const child of children) {
      const found = visit(height - 1, child);
      if (found !== null) return found;
    }
    return null;
  };
  return mine.count === 0 ? null : visit(mine.top, 0);
}

/** The node whose answer would reveal most of the way to a leaf: the lowest on it whose own value is known. */
function unrevealed(tree: SparseTree, kind: 'trace' | 'tensor', slot: number, leaf: number): GameNode {
  for (let height = HEIGHTS_AT_ONCE; height < HEIGHTS_AT_ONCE * depthOf(tree.count); height += HEIGHTS_AT_ONCE) {
    const index = Math.floor(leaf / 2 ** height);
    if (tree.get(height, index) !== null) return { kind, slot, height, first: index, count: 0 };
  }
  return { kind, slot, height: ROOT_HEIGHT, first: 0, count: 0 };
}
