/**
 * What a step of each slot costs at most on chain, and whether a model can be disputed at all: every step must fit half of a
 * transaction's gas, so that the game's own work, dearer calldata and a few per cent of drift have room in the other half.
 *
 * An upper estimate, from the graph alone, of the gas of a transaction that proves the dearest element of a slot:
 *   1. Reads. Going down from the slot as evaluate-element.ts does, elements that are read one by one, and operators
 *      applied. Contractions over a slot, also through wiring and unpadded sums, run along the bytes: `products`; with any
 *      other operand each term is evaluated: `reads` and `operators`.
 *   2. Openings. The evidence of the first, the middle and the last element is drawn up without its values: its bytes are
 *      the calldata, its chunks and siblings are hashed.
 * The constants are upper bounds measured on IntegerStep: supports.slow.test.ts compares them with the contract for both
 * shipped CNNs, long contractions and random graphs, and holds that no step costs more than is estimated.
 */
import { AssayError } from '../../common/errors.js';
import { elementWidth } from '../../graph/commitment/encoding.js';
import { HASH_BYTES } from '../../graph/commitment/merkle.js';
import { CHUNK_ELEMENTS, tensorHeader } from '../../graph/commitment/tensor-root.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { committedPosition, joinedRuns, pathLength } from '../nodes/known-tensor.js';
import { NO_SLOT, type ValueDescriptor } from './descriptors.js';
import {
  argMaxCandidates,
  computeElement,
  contractionLength,
  longContractions,
  StepUndetermined,
  type StepReader,
} from './evaluate-element.js';
import { StepModel } from './step-model.js';
import { MAX_CONTRACTION } from './sums.js';

/** Of a transaction (EIP-7825). */
const TRANSACTION_GAS = 2 ** 24;
export const STEP_GAS_LIMIT = TRANSACTION_GAS / 2;
/** Parts that an answer may have. */
const MAX_PARTS = 512;
/** Operators applied inside one another, as the contract allows it. */
const MAX_DEPTH = 24;

/** Gas; see above. */
const GAS = {
  /** Transaction, receipt, model's preimage, two calls. */
  base: 70_000,
  /** A byte of the evidence: 16 for calldata, the rest for copying, hashing and decoding it. */
  byte: 20,
  /** A sibling or leaf that is hashed. */
  hash: 300,
  descriptor: 8_000,
  product: 80,
  read: 1_500,
  operator: 2_500,
} as const;

/** An element of a slot that a contraction reads through wiring or sums costs as much as so many that it reads itself. */
const WINDOWED = 6;

/** Bytes that ABI adds to a run, to a descriptor, and to a tensor's opening. */
const RUN_WORDS = 5 * 32;
const DESCRIPTOR_WORDS = 6 * 32;
const TENSOR_WORDS = 12 * 32;
/** Receipt, node, model and the empty fields. */
const FIXED_WORDS = 48 * 32;

export interface StepCost {
  readonly slot: number;
  readonly operator: string;
  readonly gas: number;
  readonly evidenceBytes: number;
}

interface Work {
  readonly products: number;
  readonly reads: number;
  readonly operators: number;
  readonly depth: number;
}

const NO_WORK: Work = { products: 0, reads: 0, operators: 0, depth: 0 };

const add = (a: Work, b: Work): Work => ({
  products: a.products + b.products,
  reads: a.reads + b.reads,
  operators: a.operators + b.operators,
  depth: Math.max(a.depth, b.depth),
});

const times = (n: number, { products, reads, operators, depth }: Work): Work => ({
  products: n * products,
  reads: n * reads,
  operators: n * operators,
  depth,
});

/** Part 1. Values do not matter, only how many of them are looked at. */
class Estimator {
  private readonly known = new Map<number, Work>();

  constructor(
    private readonly model: StepModel,
    private readonly maxContraction: number,
  ) {}

  /** Elements of slots that an element of this value sums, where it is nothing but such a sum; else null. */
  private taps(value: number): number | null {
    const d = this.model.value(value);
    if (d.slot !== NO_SLOT) return 1;
    const below = d.operands.length === 1 ? this.taps(d.operands[0]!) : null;
    if (below === null) return null;
    switch (d.kind) {
      case 'reshape':
      case 'transpose':
      case 'slice':
      case 'expand':
        return below;
      case 'reduceSum':
        return below * this.gathered(d);
      case 'sumPool':
        return d.window.pads.some((pad) => pad > 0) ? null : below * this.gathered(d);
      default:
        return null;
    }
  }

  /** Elements of the operand that meet in one. */
  private gathered(d: ValueDescriptor): number {
    if (d.kind === 'sumPool' || d.kind === 'maxPool') return d.window.kernel[0] * d.window.kernel[1];
    const x = this.model.value(d.operands[0]!);
    return 'axes' in d ? sizeOf(d.axes.map((axis) => x.shape[axis]!)) : 1;
  }

  /** Of reading an element. */
  private read(value: number): Work {
    if (this.model.value(value).slot !== NO_SLOT) return { ...NO_WORK, reads: 1 };
    const known = this.known.get(value);
    if (known !== undefined) return known;
    const work = this.compute(value);
    this.known.set(value, work);
    return work;
  }

  /** Of applying an operator. */
  compute(value: number): Work {
    const d = this.model.value(value);
    const operands = d.operands.map((operand) => (): Work => this.read(operand));
    const below = this.below(d, operands);
    return { ...below, operators: below.operators + 1, depth: below.depth + 1 };
  }

  private below(d: ValueDescriptor, operands: readonly (() => Work)[]): Work {
    switch (d.kind) {
      case 'matmul':
      case 'matmulActivations':
      case 'conv': {
        const length = contractionLength(this.reader(), d);
        const terms = Math.min(length, this.maxContraction);
        return d.operands
          .map((operand, i) => {
            const taps = this.taps(operand);
            return taps === null
              ? times(terms, operands[i]!())
              : { ...NO_WORK, products: terms * (this.model.value(operand).slot === NO_SLOT ? WINDOWED * taps : 1) };
          })
          .reduce(add);
      }
      case 'concat': {
        // The dearest of them.
        const gas = (work: Work): number =>
          work.products * GAS.product + work.reads * GAS.read + work.operators * GAS.operator;
        return operands.map((read) => read()).reduce((most, work) => (gas(work) > gas(most) ? work : most));
      }
      case 'sumPool':
      case 'maxPool':
      case 'reduceSum':
      case 'reduceMax':
        return times(this.gathered(d), operands[0]!());
      case 'argMax':
        return times(2, operands[0]!());
      default:
        return operands.reduce((sum, read) => add(sum, read()), NO_WORK);
    }
  }

  private reader(): StepReader {
    return new OutlineReader(this.model, this.maxContraction);
  }
}

/** Part 2: notes what a step opens. Its elements are not known: each stands for the smallest number that it may be. */
class OutlineReader implements StepReader {
  readonly descriptors = new Set<number>();
  readonly slots = new Map<number, Set<number>>();
  readonly constants = new Map<string, Set<number>>();
  /** Parts that are stated. */
  sums = 0;

  constructor(
    private readonly model: StepModel,
    readonly maxContraction: number,
  ) {}

  descriptor(value: number): ValueDescriptor {
    this.descriptors.add(1 + value);
    return this.model.value(value);
  }

  slotElement(value: number, element: number): number {
    const d = this.descriptor(value);
    noteChunk(this.slots, value, committedPosition(d, element));
    return d.range.lo;
  }

  constantShape(value: number, ordinal: number): readonly number[] {
    return this.model.constant(value, ordinal).info.shape;
  }

  constant(value: number, ordinal: number, position: number): number {
    noteChunk(this.constants, `${value}/${ordinal}`, position);
    return this.model.constant(value, ordinal).at(position)!;
  }

  statedSums(_value: number, _element: number, parts: number): readonly bigint[] {
    this.sums = parts;
    return [];
  }
}

function noteChunk<K>(chunks: Map<K, Set<number>>, key: K, position: number): void {
  const set = chunks.get(key) ?? new Set<number>();
  chunks.set(key, set.add(Math.floor(position / CHUNK_ELEMENTS)));
}

/** Bytes and hashes of opening these chunks of a tensor. */
function opening(
  chunkCount: number,
  width: number,
  rank: number,
  chunks: ReadonlySet<number>,
): { bytes: number; hashes: number } {
  let [bytes, hashes] = [TENSOR_WORDS + 17 + 5 * rank, 0];
  const ascending = [...chunks].sort((a, b) => a - b);
  for (const [first, last] of joinedRuns(chunkCount, width, ascending, () => true)) {
    const path = pathLength(chunkCount, first, last);
    bytes += RUN_WORDS + (last - first + 1) * CHUNK_ELEMENTS * width + path * HASH_BYTES;
    hashes += 2 * (last - first + 1) + path;
  }
  return { bytes, hashes };
}

/** @param items of a claim, at most: they lengthen paths by their logarithm. */
function outline(
  model: StepModel,
  slot: number,
  element: number,
  maxContraction: number,
  items: number,
): { bytes: number; hashes: number } {
  const reader = new OutlineReader(model, maxContraction);
  const value = model.valueOfSlot[slot]!;
  const d = reader.descriptor(value);
  reader.slotElement(value, element);
  try {
    if (d.kind === 'argMax')
      argMaxCandidates(reader, d, element, [0, reader.descriptor(d.operands[0]!).shape[d.axis]! - 1]);
    else computeElement(reader, value, element);
  } catch (error) {
    // Made-up elements may lie outside of a table: what was read so far is nearly all.
    if (!(error instanceof StepUndetermined)) throw error;
  }
  const tracePath = Math.ceil(Math.log2(Math.max(2, model.committed.length)));
  let [bytes, hashes] = [FIXED_WORDS + reader.sums * 32, 0];
  const count = ({ bytes: b, hashes: h }: { bytes: number; hashes: number }, path: number): void => {
    bytes += b + path * HASH_BYTES;
    hashes += h + path;
  };
  for (const [of, chunks] of reader.slots) {
    const info = model.value(of);
    const { chunkCount } = tensorHeader(info, items);
    count(opening(chunkCount, elementWidth(info.range), info.shape.length, chunks), tracePath);
  }
  for (const [key, chunks] of reader.constants) {
    const [of, ordinal] = key.split('/').map(Number) as [number, number];
    const { header, width, info } = model.constant(of, ordinal);
    count(opening(header.chunkCount, width, info.shape.length, chunks), 0);
  }
  for (const { encoded, path } of model.open(reader.descriptors).descriptors)
    count({ bytes: DESCRIPTOR_WORDS + encoded.length / 2, hashes: 0 }, path.length);
  return { bytes, hashes: hashes + reader.descriptors.size * (GAS.descriptor / GAS.hash) };
}

/** First, middle and last element of an item; the middle is inside of every padding. */
function typicalElements({ shape }: ValueDescriptor): number[] {
  const middle = shape.reduce((position, side) => position * side + Math.floor(side / 2), 0);
  return [...new Set([0, middle, sizeOf(shape) - 1])];
}

const operatorName = (model: StepModel, slot: number): string => {
  const node = model.model.graph.nodes[model.valueOfSlot[slot]! - model.header.inputs];
  return node === undefined ? 'input' : `${node.kind} '${node.name}'`;
};

/** Items of a claim that the estimates allow for. */
const ITEMS = 4096;

/**
 * Estimates for every computed slot.
 * @throws AssayError DISPUTE_UNSUPPORTED where a slot has no step at all: two long contractions, too many parts, too deep.
 */
export function stepCosts(model: StepModel, maxContraction = MAX_CONTRACTION): StepCost[] {
  const estimator = new Estimator(model, maxContraction);
  return Array.from({ length: model.slotCount - model.header.inputs }, (_, i): StepCost => {
    const slot = model.header.inputs + i;
    const operator = operatorName(model, slot);
    const value = model.valueOfSlot[slot]!;
    const { products, reads, operators, depth } = estimator.compute(value);
    const refuse = (cost: number, limit: number, what: string, mend: string): AssayError =>
      new AssayError('DISPUTE_UNSUPPORTED', `${operator} (slot ${slot}): ${what}; at most ${limit} can be stepped`, {
        mend,
        meta: { operator, slot, cost, limit },
      });
    if (depth > MAX_DEPTH)
      throw refuse(
        depth,
        MAX_DEPTH,
        `${depth} operators read one another without a slot in between`,
        'Requantise in between.',
      );
    const work = products * GAS.product + reads * GAS.read + operators * GAS.operator;
    // Drawing up what nobody could send would take as long as it has reads.
    if (work > STEP_GAS_LIMIT) return { slot, operator, gas: GAS.base + work, evidenceBytes: 0 };
    const elements = typicalElements(model.value(value));
    for (const element of elements) {
      const long = longContractions(new OutlineReader(model, maxContraction), value, element);
      if (long.length > 1)
        throw refuse(
          long.length,
          1,
          `an element rests on ${long.length} contractions of more than ${maxContraction} products`,
          'Requantise each before they are added.',
        );
      const parts = Math.ceil((long[0]?.length ?? 0) / maxContraction);
      if (parts > MAX_PARTS)
        throw refuse(
          parts,
          MAX_PARTS,
          `a contraction has ${parts} parts of ${maxContraction} products`,
          'Split the contraction axis.',
        );
    }
    const outlines = elements.map((element) => outline(model, slot, element, maxContraction, ITEMS));
    const bytes = Math.max(...outlines.map((one) => one.bytes));
    const hashes = Math.max(...outlines.map((one) => one.hashes));
    return {
      slot,
      operator,
      gas: Math.ceil(GAS.base + work + bytes * GAS.byte + hashes * GAS.hash),
      evidenceBytes: bytes,
    };
  });
}

/** A graph as a model whose ports are nobody's: costs do not depend on them. */
function modelOf(graph: IntegerGraph): StepModel {
  const port = (id: number) => ({
    name: String(id),
    type: 'float32' as const,
    shape: graph.tensors[id]!.shape,
    batched: false,
  });
  return new StepModel({ graph, inputs: graph.inputs.map(port), outputs: graph.outputs.map(port) });
}

/**
 * Requires that every step of a model can be recomputed on chain; to be asked before a model is admitted to the optimistic
 * lane.
 * @throws AssayError DISPUTE_UNSUPPORTED naming operator, cost and limit, with the mend.
 */
export function requireSupported(graph: IntegerGraph | StepModel, maxContraction = MAX_CONTRACTION): void {
  const model = graph instanceof StepModel ? graph : modelOf(graph);
  for (const { slot, operator, gas } of stepCosts(model, maxContraction))
    if (gas > STEP_GAS_LIMIT)
      throw new AssayError(
        'DISPUTE_UNSUPPORTED',
        `${operator} (slot ${slot}): a step may cost ${gas} gas; at most ${STEP_GAS_LIMIT} can be stepped`,
        {
          mend: 'Put a requantisation in front of the operator, so that it reads a slot.',
          meta: { operator, slot, cost: gas, limit: STEP_GAS_LIMIT },
        },
      );
}

/** Why a model cannot be disputed; null where it can. */
export function supports(graph: IntegerGraph | StepModel, maxContraction = MAX_CONTRACTION): string | null {
  try {
    requireSupported(graph, maxContraction);
    return null;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'DISPUTE_UNSUPPORTED') return error.message;
    throw error;
  }
}
