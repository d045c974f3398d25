/**
 * What a step contract does with the evidence of a fault (verifier-contracts/src/dispute/IntegerStep.sol), in TypeScript: the
 * same verdict from the same evidence. Nothing here comes from whoever built the evidence; all hashes are those of
 * graph/commitment/.
 *
 * A receipt names a model and three roots. The evidence opens pieces under them:
 *   1. The model: graphRoot, weightsRoot and the rest of the preimage hash to modelDigest; each descriptor lies under
 *      graphRoot. Constants lie under the roots that their operator's descriptor holds.
 *   2. Slots: a tensor root from its header and runs of chunks, or the tree's value; the leaf of slot number s with that root
 *      lies under traceRoot, which binds `slotCount` leaves. Or the root stands in a list that the executor stated; then the
 *      finding relies on that statement.
 *   3. Ports: a tensor root under inputRoot or outputRoot, which bind their number.
 * From these, by fault:
 *   Step          the slot's element is not what `computeElement` gives. argMax: the claimed index lies outside the axis, or
 *                 the element there is beaten by that at `witness`: it is larger, or as large and before it.
 *   Part          part `witness` of stated sums is not the sum of its products.
 *   InputBinding, OutputBinding  two roots of what must be one tensor differ.
 *   Header        a slot's header is not the one that descriptor and items give.
 *   InputRange    an element of an input's slot lies outside the declared range.
 *   SlotCount, CommitIndex, OpCount, PortCount  a number differs from the model's.
 * Answers: `fault`, with its name and what it relies on; `right`; and three refusals that are no verdict: `invalid` (the
 * evidence does not open what it must), `undetermined` (the step cannot be computed), `needsSums`. In every step but Header
 * and the roots' own, an opened header must be the model's: another one is a fault of its own.
 * Equal to the contract wherever the operands lie in their ranges. With others it may be undetermined here where there is a
 * verdict there, never the other way: the contract bounds results, but not each partial sum and what is only moved.
 */
import { hexToBytes } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import { decodeElements, elementWidth, Preimage, toHex } from '../../graph/commitment/encoding.js';
import { valueFromOpening } from '../../graph/commitment/merkle.js';
import { digestOfRoots } from '../../graph/commitment/digest-of-roots.js';
import { TAG } from '../../graph/commitment/tags.js';
import {
  CHUNK_ELEMENTS,
  chunkLeaf,
  encodeHeader,
  tensorHeader,
  type CommittedInfo,
} from '../../graph/commitment/tensor-root.js';
import { ACCUMULATOR_LIMIT } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type {
  Fault,
  GameNode,
  ModelOpening,
  SlotOpening,
  StepEvidence,
  SumsOpening,
  TensorOpening,
} from '../../verifier-contracts/dispute-types.js';
import { contentHash, faultIdOf, nodeIdOf, packRoots, packSums } from '../nodes/ids.js';
import { committedPosition, ZERO_HASH } from '../nodes/known-tensor.js';
import {
  DescriptorError,
  NO_SLOT,
  readModelHeader,
  readOutputValue,
  readValueDescriptor,
  type ModelHeader,
  type ValueDescriptor,
} from './descriptors.js';
import {
  argMaxCandidates,
  computeElement,
  contractionLength,
  isContraction,
  longContractions,
  StepUndetermined,
  sumOfTerms,
  type StepReader,
} from './evaluate-element.js';
import { MAX_CONTRACTION } from './sums.js';

/** A statement of the executor that a finding relies on. */
export interface Reliance {
  readonly nodeId: Hex;
  readonly contentHash: Hex;
}

export type StepVerdict =
  | { readonly verdict: 'fault'; readonly faultId: Hex; readonly relies: readonly Reliance[] }
  | { readonly verdict: 'right' }
  | { readonly verdict: 'invalid'; readonly reason: string }
  | { readonly verdict: 'undetermined'; readonly reason: string }
  | { readonly verdict: 'needsSums'; readonly length: number };

/** The evidence does not open what it must. */
class Invalid extends Error {}

/** A contraction is too long and its sums are not there. */
class NeedsSums extends Error {
  constructor(readonly length: number) {
    super();
  }
}

function require(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Invalid(what);
}

const hash = (hex: Hex): Uint8Array => {
  require(/^0x[0-9a-f]{64}$/.test(hex), 'a hash is not 32 bytes');
  return hexToBytes(hex.slice(2));
};

const bytesOf = (hex: Hex): Uint8Array => {
  require(/^0x(?:[0-9a-f]{2})*$/.test(hex), 'bytes are no hex');
  return hexToBytes(hex.slice(2));
};

/** Value of a tree from consecutive leaves and their siblings. */
function treeValue(
  tag: number,
  opened: Uint8Array[],
  first: number,
  count: number,
  path: readonly Hex[],
  what: string,
): Uint8Array {
  const value = valueFromOpening(tag, opened, first, count, path.map(hash));
  require(value !== null, what);
  return value;
}

/** Part 1: what of the model is open. */
class OpenModel {
  readonly header: ModelHeader;
  private readonly descriptors = new Map<number, Uint8Array>();

  constructor(opening: ModelOpening, modelDigest: Hex) {
    const { graphRoot, weightsRoot, opCount, modelKeyHash, descriptorCount } = opening;
    for (const root of [graphRoot, weightsRoot, modelKeyHash]) hash(root);
    require(digestOfRoots({ graphRoot, weightsRoot, opCount }, modelKeyHash) === modelDigest, 'model');
    let last = -1;
    for (const { index, encoded, path } of opening.descriptors) {
      require(last < 0 ? index === 0 : index > last, 'descriptor order');
      last = index;
      const bytes = bytesOf(encoded);
      const leaf = new Preimage().u8(TAG.descriptor).u32(index).u32(bytes.length).raw(bytes).hash();
      const value = treeValue(TAG.graphNode, [leaf], index, descriptorCount, path, 'descriptor');
      const root = new Preimage().u8(TAG.graphRoot).u32(descriptorCount).raw(value).hash();
      require(toHex(root) === graphRoot, 'descriptor');
      this.descriptors.set(index, bytes);
    }
    this.header = readModelHeader(this.bytes(0));
  }

  bytes(index: number): Uint8Array {
    const bytes = this.descriptors.get(index);
    require(bytes !== undefined, 'descriptor missing');
    return bytes;
  }

  value(value: number): ValueDescriptor {
    require(value < this.header.inputs + this.header.nodes, 'value');
    return readValueDescriptor(this.bytes(1 + value), value < this.header.inputs);
  }

  /** Value indices of the inputs and nodes that are open. */
  openValues(): number[] {
    const end = this.header.inputs + this.header.nodes;
    return [...this.descriptors.keys()].map((index) => index - 1).filter((value) => value >= 0 && value < end);
  }

  /** Value index of an output. */
  output(output: number): number {
    return readOutputValue(this.bytes(1 + this.header.inputs + this.header.nodes + output));
  }
}

/** A tensor of which some elements are open; positions are those of committed order. */
class OpenTensor {
  private readonly elements = new Map<number, Int32Array>();
  readonly root: Hex;

  /** @param info what the header says; of items. */
  constructor(opening: TensorOpening, info: CommittedInfo, items: number) {
    const header = tensorHeader(info, items);
    const width = elementWidth(info.range);
    require(opening.header === toHex(encodeHeader(header)), 'header');
    require(opening.runs.length === 0 || opening.treeValue === ZERO_HASH, 'tree value');
    let value = hash(opening.treeValue);
    let free = 0;
    opening.runs.forEach(({ firstChunk, elements, path }, i) => {
      const bytes = bytesOf(elements);
      // Runs that touch would be one run.
      require(firstChunk >= free, 'run order');
      const step = CHUNK_ELEMENTS * width;
      const leaves: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += step) {
        const chunk = bytes.subarray(at, at + step);
        const index = firstChunk + at / step;
        const length = Math.min(CHUNK_ELEMENTS, items * sizeOf(info.shape) - CHUNK_ELEMENTS * index);
        require(chunk.length === length * width, 'elements');
        leaves.push(chunkLeaf(index, length, chunk));
        this.elements.set(index, decodeElements(chunk, width, info.range.lo < 0));
        free = index + 2;
      }
      const found = treeValue(TAG.tensorNode, leaves, firstChunk, header.chunkCount, path, 'run');
      require(i === 0 || toHex(found) === toHex(value), 'run');
      value = found;
    });
    this.root = rootOf(opening.header, value);
  }

  at(position: number): number {
    const chunk = this.elements.get(Math.floor(position / CHUNK_ELEMENTS));
    require(chunk !== undefined, 'element not opened');
    return chunk[position % CHUNK_ELEMENTS]!;
  }
}

const rootOf = (header: Hex, value: Uint8Array): Hex =>
  toHex(new Preimage().u8(TAG.tensorRoot).raw(bytesOf(header)).raw(value).hash()) as Hex;

/** The root of a tensor without runs; with an empty header the root is shown itself. */
function bareRoot({ header, runs, treeValue: value }: TensorOpening): Hex {
  require(runs.length === 0, 'runs');
  return header === '0x' ? value : rootOf(header, hash(value));
}

const itemOf = ({ shape }: ValueDescriptor, element: number): number => Math.floor(element / sizeOf(shape));

const reliance = (node: GameNode, content: Hex): Reliance => ({
  nodeId: nodeIdOf(node),
  contentHash: contentHash(content),
});

/** The evidence as a step reads it. */
class OpenEvidence implements StepReader {
  readonly model: OpenModel;
  private readonly slots = new Map<number, OpenTensor>();
  private readonly constants = new Map<string, { tensor: OpenTensor; shape: readonly number[] }>();
  private opened = false;

  constructor(
    private readonly receipt: Receipt,
    readonly evidence: StepEvidence,
    readonly maxContraction: number,
  ) {
    this.model = new OpenModel(evidence.model, receipt.modelDigest);
  }

  descriptor(value: number): ValueDescriptor {
    return this.model.value(value);
  }

  /** Part 2: that the slot has this tensor root. */
  requireSlot({ slot, position, segment, path }: SlotOpening, root: Hex): void {
    const { segments, slotCount } = this.evidence;
    if (segment > 0) {
      const list = segments[segment - 1];
      require(list !== undefined && list.node.kind === 'segment' && path.length === 0, 'segment');
      require(list.node.count === list.roots.length, 'segment');
      require(slot === list.node.first + position && list.roots[position] === root, 'segment');
      return;
    }
    const leaf = new Preimage().u8(TAG.slot).u32(slot).raw(hash(root)).hash();
    this.requireTrace(treeValue(TAG.traceNode, [leaf], position, slotCount, path, 'trace path'));
  }

  onlySlot(): SlotOpening {
    const { slots } = this.evidence;
    require(slots.length === 1, 'slots');
    return slots[0]!;
  }

  requireTrace(value: Uint8Array): void {
    const root = new Preimage().u8(TAG.traceRoot).u32(this.evidence.slotCount).raw(value).hash();
    require(toHex(root) === this.receipt.traceRoot, 'traceRoot');
  }

  /** Part 3. */
  requirePorts(role: 0 | 1, value: Uint8Array): void {
    const root = new Preimage().u8(TAG.portRoot).u8(role).u32(this.evidence.portCount).raw(value).hash();
    require(toHex(root) === (role === 0 ? this.receipt.inputRoot : this.receipt.outputRoot), 'ports');
  }

  /** Opens what the evidence holds of slots and constants: nothing in it may be anything else than it says. */
  openAll(): void {
    if (this.opened) return;
    const { slots, constants } = this.evidence;
    const valueOf = new Map(this.model.openValues().map((value) => [this.descriptor(value).slot, value]));
    slots.forEach((opening, i) => {
      require(i === 0 || opening.slot > slots[i - 1]!.slot, 'slot order');
      const value = valueOf.get(opening.slot);
      require(value !== undefined && opening.slot !== NO_SLOT, 'descriptor missing');
      const d = this.descriptor(value);
      const { items } = this.receipt;
      if (opening.tensor.header !== toHex(encodeHeader(tensorHeader(d, items))))
        throw new StepUndetermined(`slot ${d.slot} has another header, which is a fault of its own`);
      const tensor = new OpenTensor(opening.tensor, d, items);
      this.requireSlot(opening, tensor.root);
      this.slots.set(opening.slot, tensor);
    });
    for (const { descriptor, ordinal, tensor: opening } of constants) {
      const key = `${descriptor - 1}/${ordinal}`;
      require(this.model.openValues().includes(descriptor - 1) && !this.constants.has(key), 'constant');
      // Its root fixes the header, which says the shape; constants have one item and no layout of their own.
      const { shape, range } = constantInfo(opening.header);
      const tensor = new OpenTensor(opening, { shape, range, layout: [...shape.keys()] }, 1);
      require(tensor.root === this.descriptor(descriptor - 1).constants[ordinal], 'constant');
      this.constants.set(key, { tensor, shape });
    }
    this.opened = true;
  }

  slotElement(value: number, element: number): number {
    const d = this.descriptor(value);
    const tensor = this.slots.get(d.slot);
    require(tensor !== undefined, 'slot not opened');
    return tensor.at(committedPosition(d, element));
  }

  private constantTensor(value: number, ordinal: number): { tensor: OpenTensor; shape: readonly number[] } {
    const found = this.constants.get(`${value}/${ordinal}`);
    require(found !== undefined, 'constant not opened');
    return found;
  }

  constantShape(value: number, ordinal: number): readonly number[] {
    return this.constantTensor(value, ordinal).shape;
  }

  constant(value: number, ordinal: number, position: number): number {
    return this.constantTensor(value, ordinal).tensor.at(position);
  }

  statedSums(value: number, element: number): readonly bigint[] {
    const [sums] = this.evidence.sums;
    const d = this.descriptor(value);
    if (sums === undefined) throw new NeedsSums(isContraction(d) ? contractionLength(this, d) : 0);
    require(sums.value === value && sums.element === element, 'sums');
    return sums.parts;
  }

  /**
   * That the sums, where there are some, are those of a contraction for this element of this slot, as many as there must be.
   * Their node names the element by its position in committed order.
   */
  requireSums(top: ValueDescriptor, element: number): void {
    const { sums: all } = this.evidence;
    if (all.length === 0) return;
    const [sums] = all as [SumsOpening];
    require(all.length === 1, 'sums');
    const { node, parts } = sums;
    const d = this.descriptor(sums.value);
    const length = isContraction(d) ? contractionLength(this, d) : 0;
    require(node.kind === 'sums' && node.slot === top.slot && node.first === committedPosition(top, element), 'sums');
    require(node.count === parts.length && parts.length === Math.ceil(length / this.maxContraction), 'sums');
    require(itemOf(d, sums.element) === itemOf(top, element), 'sums');
  }

  /** What the finding relies on: of what the evidence holds nothing is left out. */
  reliances(): Reliance[] {
    const { segments, sums } = this.evidence;
    return [
      ...segments.map(({ node, roots }) => reliance(node, packRoots(roots))),
      ...sums.map(({ node, parts }) => reliance(node, packSums(parts))),
    ];
  }
}

/** Shape and range in a constant's header. */
function constantInfo(header: Hex): { shape: number[]; range: { lo: number; hi: number } } {
  const bytes = bytesOf(header);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const rank = bytes.length < 9 ? 0 : bytes[8]!;
  require(bytes.length === 17 + 5 * rank, 'constant header');
  const shape = Array.from({ length: rank }, (_, axis) => view.getUint32(9 + 4 * axis));
  return { shape, range: { lo: view.getInt32(0), hi: view.getInt32(4) } };
}

interface Judgement {
  readonly found: boolean;
  /** What the fault is named after beside its kind; 0 where it has none. */
  readonly value?: number;
  readonly slot?: number;
  readonly element?: number;
}

/** What is asked of evidence: its own fields, or others in their place. */
export type StepQuestion = Pick<StepEvidence, 'element' | 'witness'>;

function judge(fault: Fault, open: OpenEvidence, receipt: Receipt, { element, witness }: StepQuestion): Judgement {
  const { model, evidence } = open;
  const { value } = evidence;
  switch (fault) {
    case 'step': {
      const d = open.descriptor(value);
      require(d.slot !== NO_SLOT && d.kind !== 'input', 'value is no computed slot');
      require(element < receipt.items * sizeOf(d.shape), 'element');
      open.openAll();
      open.requireSums(d, element);
      const claimed = open.slotElement(value, element);
      if (d.kind !== 'argMax') {
        const found = claimed !== computeElement(open, value, element);
        return { found, value, slot: d.slot, element };
      }
      const side = open.descriptor(d.operands[0]!).shape[d.axis]!;
      if (claimed < 0 || claimed >= side) return { found: true, value, slot: d.slot, element };
      require(witness < side, 'witness');
      const [own, other] = argMaxCandidates(open, d, element, [claimed, witness]) as [number, number];
      const found = other > own || (other === own && witness < claimed);
      return { found, value, slot: d.slot, element };
    }
    case 'part': {
      const [sums] = evidence.sums;
      require(sums !== undefined && sums.value === value, 'sums');
      const top = slotValue(open, sums.node.slot);
      const d = open.descriptor(top);
      require(element < receipt.items * sizeOf(d.shape), 'element');
      open.openAll();
      open.requireSums(d, element);
      const long = longContractions(open, top, element);
      require(long.length === 1 && long[0]!.value === value && long[0]!.element === sums.element, 'sums');
      const { length } = long[0]!;
      require(witness < sums.parts.length, 'part');
      const first = witness * open.maxContraction;
      const right = sumOfTerms(open, value, sums.element, first, Math.min(first + open.maxContraction, length));
      if (Math.abs(right) >= ACCUMULATOR_LIMIT) throw new StepUndetermined(`part ${witness} is ${right}`);
      return { found: sums.parts[witness] !== BigInt(right), value, slot: d.slot, element: sums.node.first };
    }
    case 'inputBinding':
      require(value < model.header.inputs, 'value');
      return bindingFault(open, 0, value);
    case 'outputBinding':
      require(value < model.header.outputs, 'value');
      return bindingFault(open, 1, model.output(value));
    case 'header': {
      const d = open.descriptor(value);
      require(d.slot !== NO_SLOT, 'value');
      const slot = open.onlySlot();
      require(slot.slot === d.slot && slot.tensor.header !== '0x', 'slot not opened');
      open.requireSlot(slot, bareRoot(slot.tensor));
      const right = toHex(encodeHeader(tensorHeader(d, receipt.items)));
      return { found: slot.tensor.header !== right, value, slot: d.slot };
    }
    case 'inputRange': {
      const d = open.descriptor(value);
      require(d.kind === 'input' && element < receipt.items * sizeOf(d.shape), 'element');
      open.openAll();
      const v = open.slotElement(value, element);
      return { found: v < d.range.lo || v > d.range.hi, value, slot: d.slot, element };
    }
    case 'slotCount':
      require(evidence.portPath.length === 1, 'portPath');
      open.requireTrace(hash(evidence.portPath[0]!));
      return { found: evidence.slotCount !== model.header.committed };
    case 'commitIndex': {
      const slot = open.onlySlot();
      require(slot.segment === 0 && slot.position === value, 'slot not opened');
      open.requireSlot(slot, bareRoot(slot.tensor));
      return { found: slot.slot !== committedSlot(open, value), value };
    }
    case 'opCount':
      return { found: receipt.opCount !== model.header.slots };
    case 'portCount': {
      require(value <= 1 && evidence.portPath.length === 1, 'portPath');
      open.requirePorts(value as 0 | 1, hash(evidence.portPath[0]!));
      const right = value === 0 ? model.header.inputs : model.header.outputs;
      return { found: evidence.portCount !== right, value };
    }
  }
}

/** The opened descriptor of the value that a slot holds. */
function slotValue(open: OpenEvidence, slot: number): number {
  const value = open.model.openValues().find((v) => open.descriptor(v).slot === slot);
  require(value !== undefined && slot !== NO_SLOT, 'slot not opened');
  return value;
}

function bindingFault(open: OpenEvidence, role: 0 | 1, valueAtPort: number): Judgement {
  const { value: port, portCount, portTensor, portPath } = open.evidence;
  const d = open.descriptor(valueAtPort);
  const slot = open.onlySlot();
  require(slot.slot === d.slot && d.slot !== NO_SLOT, 'slot not opened');
  const root = bareRoot(slot.tensor);
  open.requireSlot(slot, root);
  const leaf = new Preimage().u8(TAG.port).u8(role).u32(port).raw(hash(portTensor)).hash();
  open.requirePorts(role, treeValue(TAG.portNode, [leaf], port, portCount, portPath, 'portPath'));
  return { found: root !== portTensor, value: port, slot: d.slot };
}

/** Number of the slot that the model commits at a position. */
function committedSlot(open: OpenEvidence, position: number): number {
  const { committed, tableRoot } = open.model.header;
  require(position < committed, 'position');
  if (tableRoot === ZERO_HASH) return position;
  const info = { shape: [committed], range: { lo: -(2 ** 31), hi: 2 ** 31 - 1 }, layout: [0] };
  const table = new OpenTensor(open.evidence.commitTable, info, 1);
  require(table.root === tableRoot, 'commit table');
  return table.at(position);
}

/** What a check says, or by which of its refusals it ends. */
function verdictOf(check: () => StepVerdict): StepVerdict {
  try {
    return check();
  } catch (error) {
    // A number that no field of a preimage holds is refused where it would be hashed.
    if (error instanceof Invalid || error instanceof DescriptorError || error instanceof AssayError)
      return { verdict: 'invalid', reason: error.message };
    if (error instanceof StepUndetermined) return { verdict: 'undetermined', reason: error.message };
    if (error instanceof NeedsSums) return { verdict: 'needsSums', length: error.length };
    throw error;
  }
}

function checkOpen(fault: Fault, open: OpenEvidence, receipt: Receipt, question: StepQuestion): StepVerdict {
  const { found, value = 0, slot = 0, element = 0 } = judge(fault, open, receipt, question);
  if (!found) return { verdict: 'right' };
  return { verdict: 'fault', faultId: faultIdOf(fault, value, slot, element), relies: open.reliances() };
}

/**
 * @param receipt of the claim that is accused.
 * @param maxContraction of the step contract.
 */
export const checkStep = (
  receipt: Receipt,
  fault: Fault,
  evidence: StepEvidence,
  maxContraction = MAX_CONTRACTION,
): StepVerdict =>
  verdictOf(() => checkOpen(fault, new OpenEvidence(receipt, evidence, maxContraction), receipt, evidence));

/**
 * Verdicts on several elements of one slot, by evidence that opens what each of them reads: as checkStep of fault `step` for
 * the evidence with each question's fields, but opened once.
 */
export function checkElements(
  receipt: Receipt,
  evidence: StepEvidence,
  questions: readonly StepQuestion[],
  maxContraction = MAX_CONTRACTION,
): StepVerdict[] {
  let open: OpenEvidence | null = null;
  return questions.map((question) =>
    verdictOf(() => {
      open ??= new OpenEvidence(receipt, evidence, maxContraction);
      return checkOpen('step', open, receipt, question);
    }),
  );
}
