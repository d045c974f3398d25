/**
 * Evidence of a fault: as little of the model and of the claim as its check reads.
 *
 * The step is computed over the claim's own tensors, and everything that it looks at is noted: descriptors, chunks of
 * slots and of constants, sums. That is then opened, in the order of numbers: neighbouring chunks as one run, and chunks near
 * each other too where what lies between costs less than two paths.
 */
import { toHex } from '../../graph/commitment/encoding.js';
import { CHUNK_ELEMENTS } from '../../graph/commitment/tensor-root.js';
import type { Hex } from '../../receipts/types.js';
import type {
  ConstantOpening,
  FaultProof,
  SegmentOpening,
  SlotOpening,
  StepEvidence,
  SumsOpening,
  TensorOpening,
} from '../../verifier-contracts/dispute-types.js';
import { faultIdOf } from '../nodes/ids.js';
import { portLeafHash, type KnownClaim } from '../nodes/known-claim.js';
import { committedPosition, ZERO_HASH } from '../nodes/known-tensor.js';
import { SparseTree } from '../nodes/sparse-tree.js';
import { TAG } from '../../graph/commitment/tags.js';
import { claimedSlot, type ClaimedSlot } from './claimed-slot.js';
import type { ValueDescriptor } from './descriptors.js';
import { encodeEvidence } from './encode-evidence.js';
import { argMaxCandidates, computeElement, longContractions, sumOfTerms } from './evaluate-element.js';
import type { StepModel } from './step-model.js';
import { ClaimReader, ElementUnknown, MAX_CONTRACTION } from './sums.js';

/** What to show. */
export type FaultTarget =
  /** @param element in memory order, item outermost. */
  | { readonly fault: 'step'; readonly slot: number; readonly element: number; readonly witness?: number }
  | { readonly fault: 'part'; readonly slot: number; readonly element: number; readonly part: number }
  | { readonly fault: 'inputBinding' | 'outputBinding'; readonly port: number }
  | { readonly fault: 'header'; readonly slot: number }
  | { readonly fault: 'inputRange'; readonly input: number; readonly element: number }
  | { readonly fault: 'commitIndex'; readonly position: number }
  | { readonly fault: 'portCount'; readonly side: 'inputs' | 'outputs' }
  | { readonly fault: 'slotCount' | 'opCount' };

/** What must be opened. @throws ElementUnknown where it is not known */
function must<T>(known: T | null | undefined): T {
  if (known === null || known === undefined) throw new ElementUnknown();
  return known;
}

const NO_TENSOR: TensorOpening = { header: '0x', runs: [], treeValue: ZERO_HASH };

/** A tensor of which only the root is shown. */
const rootOnly = (root: Hex): TensorOpening => ({ ...NO_TENSOR, treeValue: root });

const note = (chunks: Map<string, Set<number>>, key: string, position: number): void => {
  const set = chunks.get(key) ?? new Set<number>();
  chunks.set(key, set.add(Math.floor(position / CHUNK_ELEMENTS)));
};

const ascending = (set: ReadonlySet<number>): number[] => [...set].sort((a, b) => a - b);

/** Notes what is read. */
class NotingReader extends ClaimReader {
  readonly descriptors = new Set<number>();
  /** Chunks by slot, and by "value/ordinal". */
  readonly slots = new Map<string, Set<number>>();
  readonly constants = new Map<string, Set<number>>();
  readonly sums: SumsOpening[] = [];

  constructor(
    model: StepModel,
    claim: KnownClaim,
    maxContraction: number,
    private readonly disputed: { readonly slot: number; readonly element: number },
  ) {
    super(model, claim, maxContraction);
  }

  override descriptor(value: number): ValueDescriptor {
    this.descriptors.add(1 + value);
    return super.descriptor(value);
  }

  override slotElement(value: number, element: number): number {
    const d = this.descriptor(value);
    note(this.slots, String(d.slot), committedPosition(d, element));
    return super.slotElement(value, element);
  }

  override constant(value: number, ordinal: number, position: number): number {
    note(this.constants, `${value}/${ordinal}`, position);
    return super.constant(value, ordinal, position);
  }

  override statedSums(value: number, element: number): readonly bigint[] {
    const { slot, element: disputed } = this.disputed;
    const position = committedPosition(this.model.infoOfSlot(slot), disputed);
    const { node, parts } = must(this.claim.statedSums(slot, position));
    this.sums.push({ node, value, element, parts });
    return parts;
  }
}

class Builder {
  private readonly segments: SegmentOpening[] = [];

  constructor(
    private readonly model: StepModel,
    private readonly claim: KnownClaim,
    private readonly maxContraction: number,
  ) {}

  evidence(target: FaultTarget): StepEvidence {
    const { model, claim } = this;
    switch (target.fault) {
      case 'step':
        return this.step(target);
      case 'part':
        return this.part(target);
      case 'inputBinding': {
        const slots = [this.slot(target.port, null)];
        return this.with([1 + target.port], { value: target.port, slots, ...this.port(0, target.port) });
      }
      case 'outputBinding': {
        const { value, slot } = model.outputs[target.port]!;
        const output = 1 + model.header.inputs + model.header.nodes + target.port;
        const slots = [this.slot(slot, null)];
        return this.with([1 + value, output], { value: target.port, slots, ...this.port(1, target.port) });
      }
      case 'header': {
        const claimed = must(claimedSlot(model, claim, target.slot));
        const tensor = must(claim.foreign.get(claimed.root));
        const value = model.valueOfSlot[target.slot]!;
        return this.with([1 + value], { value, slots: [this.slotWith(claimed, { ...tensor, runs: [] })] });
      }
      case 'inputRange': {
        const { input, element } = target;
        const chunk = Math.floor(committedPosition(model.infoOfSlot(input), element) / CHUNK_ELEMENTS);
        return this.with([1 + input], { value: input, element, slots: [this.slot(input, [chunk])] });
      }
      case 'commitIndex':
        return this.commitIndex(target.position);
      case 'portCount': {
        const side = target.side === 'inputs' ? 0 : 1;
        const roots = must(side === 0 ? claim.inputs : claim.outputs);
        const portPath = [toHex(portTree(side, roots).value()!) as Hex];
        return this.with([], { value: side, portCount: roots.length, portPath });
      }
      case 'slotCount':
        return this.with([], { portPath: [toHex(must(must(claim.trace).tree.value())) as Hex] });
      case 'opCount':
        return this.with([], {});
    }
  }

  private step({ slot, element, witness }: Extract<FaultTarget, { fault: 'step' }>): StepEvidence {
    const { model } = this;
    const value = model.valueOfSlot[slot]!;
    const reader = this.reader(slot, element);
    const claimed = reader.slotElement(value, element);
    const d = reader.descriptor(value);
    let beaten = 0;
    if (d.kind !== 'argMax') computeElement(reader, value, element);
    else if (claimed >= 0 && claimed < reader.descriptor(d.operands[0]!).shape[d.axis]!) {
      beaten = witness ?? computeElement(this.reader(slot, element), value, element);
      argMaxCandidates(reader, d, element, [claimed, beaten]);
    }
    return this.noted(reader, { value, element, witness: beaten });
  }

  private part({ slot, element, part }: Extract<FaultTarget, { fault: 'part' }>): StepEvidence {
    const reader = this.reader(slot, element);
    const [long] = longContractions(reader, this.model.valueOfSlot[slot]!, element);
    const { value, element: at, length } = must(long);
    reader.statedSums(value, at);
    const first = part * this.maxContraction;
    sumOfTerms(reader, value, at, first, Math.min(first + this.maxContraction, length));
    return this.noted(reader, { value, element, witness: part });
  }

  private commitIndex(position: number): StepEvidence {
    const { model, claim } = this;
    const trace = must(claim.trace);
    const leaf = must(trace.leaves[position]);
    const path = must(trace.tree.opening(0, position, position)).map((hash) => toHex(hash) as Hex);
    const slots = [{ slot: leaf.slot, position, segment: 0, path, tensor: rootOnly(leaf.root) }];
    const commitTable = model.hasBoundaries ? openEntries(model, [position]) : NO_TENSOR;
    return this.with([], { value: position, slots, commitTable });
  }

  private reader(slot: number, element: number): NotingReader {
    return new NotingReader(this.model, this.claim, this.maxContraction, { slot, element });
  }

  /** Opens what was read. */
  private noted(reader: NotingReader, fields: Partial<StepEvidence>): StepEvidence {
    const slots = [...reader.slots]
      .map(([slot, chunks]): [number, number[]] => [Number(slot), ascending(chunks)])
      .sort(([a], [b]) => a - b)
      .map(([slot, chunks]) => this.slot(slot, chunks));
    const constants = [...reader.constants]
      .map(([key, chunks]): ConstantOpening => {
        const [value, ordinal] = key.split('/').map(Number) as [number, number];
        const tensor = this.model.constant(value, ordinal).open(ascending(chunks))!;
        return { descriptor: 1 + value, ordinal, tensor };
      })
      .sort((a, b) => a.descriptor - b.descriptor || a.ordinal - b.ordinal);
    return this.with(reader.descriptors, { ...fields, slots, constants, sums: reader.sums });
  }

  /** @param chunks null: only the root is shown. */
  private slot(slot: number, chunks: readonly number[] | null): SlotOpening {
    const claimed = must(claimedSlot(this.model, this.claim, slot));
    return this.slotWith(claimed, chunks === null ? rootOnly(claimed.root) : must(must(claimed.tensor).open(chunks)));
  }

  private slotWith({ slot, position, segment }: ClaimedSlot, tensor: TensorOpening): SlotOpening {
    if (segment !== null) {
      if (!this.segments.includes(segment)) this.segments.push(segment);
      return { slot, position, segment: 1 + this.segments.indexOf(segment), path: [], tensor };
    }
    const path = must(must(this.claim.trace).tree.opening(0, position, position));
    return { slot, position, segment: 0, path: path.map((hash) => toHex(hash) as Hex), tensor };
  }

  private port(side: 0 | 1, port: number): Pick<StepEvidence, 'portCount' | 'portTensor' | 'portPath'> {
    const roots = must(side === 0 ? this.claim.inputs : this.claim.outputs);
    const path = must(portTree(side, roots).opening(0, port, port));
    return {
      portCount: roots.length,
      portTensor: must(roots[port]),
      portPath: path.map((hash) => toHex(hash) as Hex),
    };
  }

  private with(descriptors: Iterable<number>, fields: Partial<StepEvidence>): StepEvidence {
    return {
      model: this.model.open(descriptors),
      slotCount: this.claim.trace?.slotCount ?? 0,
      value: 0,
      element: 0,
      witness: 0,
      slots: [],
      constants: [],
      portCount: 0,
      portTensor: ZERO_HASH,
      portPath: [],
      commitTable: NO_TENSOR,
      segments: this.segments,
      sums: [],
      ...fields,
    };
  }
}

const portTree = (side: 0 | 1, roots: readonly Hex[]): SparseTree =>
  SparseTree.of(
    TAG.portNode,
    roots.map((root, i) => portLeafHash(side, i, root)),
  );

/** The table of committed slots with these entries open. */
function openEntries(model: StepModel, entries: readonly number[]): TensorOpening {
  const last = model.committed.length - 1;
  // An entry that there is not has no chunk: then any shows how long the table is.
  const chunks = new Set(entries.map((entry) => Math.floor(Math.min(entry, last) / CHUNK_ELEMENTS)));
  return model.commitTable().open(ascending(chunks))!;
}

/**
 * Evidence of a fault as far as the claim is known; null where something must be opened that is not. It is not judged here
 * whether there is a fault: checkStep says so, as the contract would.
 * @throws StepUndetermined where an operand of the step is none that a right claim has.
 */
export function buildEvidence(
  model: StepModel,
  claim: KnownClaim,
  target: FaultTarget,
  maxContraction = MAX_CONTRACTION,
): StepEvidence | null {
  try {
    return new Builder(model, claim, maxContraction).evidence(target);
  } catch (error) {
    if (error instanceof ElementUnknown) return null;
    throw error;
  }
}

/** Evidence for asking a claim's executor for a segment: the table's entries on both sides of it. */
export function segmentEvidence(model: StepModel, claim: KnownClaim, k: number): StepEvidence {
  const blank = buildEvidence(model, claim, { fault: 'opCount' })!;
  return { ...blank, commitTable: openEntries(model, [k, k + 1]) };
}

/** Evidence for asking for the sums of a slot's element: the descriptors from the slot to the long contraction. */
export function sumsEvidence(
  model: StepModel,
  claim: KnownClaim,
  slot: number,
  element: number,
  maxContraction = MAX_CONTRACTION,
): StepEvidence {
  const value = model.valueOfSlot[slot]!;
  const reader = new NotingReader(model, claim, maxContraction, { slot, element });
  longContractions(reader, value, element);
  const blank = buildEvidence(model, claim, { fault: 'opCount' })!;
  return { ...blank, model: model.open(reader.descriptors), value, element };
}

/** A fault with its evidence, encoded, as the game takes it. */
export function faultProof(model: StepModel, target: FaultTarget, evidence: StepEvidence): FaultProof {
  return { fault: target.fault, evidence: encodeEvidence(evidence), faultId: targetFaultId(model, target, evidence) };
}

function targetFaultId(model: StepModel, target: FaultTarget, { value, element, sums }: StepEvidence): Hex {
  switch (target.fault) {
    case 'inputBinding':
      return faultIdOf(target.fault, value, target.port, 0);
    case 'outputBinding':
      return faultIdOf(target.fault, value, model.outputs[target.port]!.slot, 0);
    case 'inputRange':
      return faultIdOf(target.fault, value, target.input, element);
    case 'step':
    case 'header':
      return faultIdOf(target.fault, value, target.slot, element);
    case 'part':
      return faultIdOf(target.fault, value, target.slot, sums[0]!.node.first);
    default:
      return faultIdOf(target.fault, value, 0, 0);
  }
}
