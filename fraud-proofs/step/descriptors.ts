/**
 * Descriptors of a model's graph, read back from the bytes under graphRoot; graph/commitment/model-digest.ts writes them
 * and states every field. Whoever checks a step sees the model only so: the values and operators that the step reads.
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { KIND_CODE, NO_SLOT } from '../../graph/commitment/model-digest.js';
import type { IntegerNodeKind, IntRange, Window2d } from '../../graph/integer/types.js';
import type { Hex } from '../../receipts/types.js';

export { NO_SLOT };

/** Descriptor number 0. */
export interface ModelHeader {
  readonly inputs: number;
  readonly nodes: number;
  readonly outputs: number;
  readonly slots: number;
  /** Slots that a trace commits. */
  readonly committed: number;
  /** Root of the table of committed slots; zero where all are committed. */
  readonly tableRoot: Hex;
}

interface Value {
  readonly range: IntRange;
  readonly shape: readonly number[];
  readonly layout: readonly number[];
  /** Number in the trace, or NO_SLOT. */
  readonly slot: number;
  /** Value indices. */
  readonly operands: readonly number[];
  /** Roots of the operator's constants in the order of its fields; null for an absent bias. */
  readonly constants: readonly (Hex | null)[];
}

/** What of an operator its descriptor holds beside `Value`. */
type Attributes =
  | { readonly kind: 'input' | 'matmul' | 'matmulActivations' | 'scale' | 'mul' | 'reshape' | 'expand' }
  | { readonly kind: 'conv'; readonly window: Window2d; readonly groups: number }
  | { readonly kind: 'sumPool' | 'maxPool'; readonly window: Window2d }
  | { readonly kind: 'combine'; readonly coefficients: readonly number[] }
  | {
      readonly kind: 'requant';
      readonly channelAxis: number | null;
      readonly qLo: number;
      readonly qHi: number;
      /** Null: a table of values. */
      readonly clamp: IntRange | null;
    }
  | { readonly kind: 'reduceSum' | 'reduceMax'; readonly axes: readonly number[] }
  | { readonly kind: 'argMax' | 'concat'; readonly axis: number }
  | { readonly kind: 'transpose'; readonly permutation: readonly number[] }
  | { readonly kind: 'slice'; readonly starts: readonly number[]; readonly steps: readonly number[] }
  | {
      readonly kind: 'pad';
      readonly before: readonly number[];
      readonly after: readonly number[];
      readonly value: number;
    };

/** One member per kind, so that a kind can be told from the others. */
type EachKind<A extends { readonly kind: string }> = A extends unknown
  ? { [K in A['kind']]: Omit<A, 'kind'> & { readonly kind: K } }[A['kind']]
  : never;

export type ValueDescriptor = Value & EachKind<Attributes>;

/** Of the kind, whatever its attributes. */
export type DescriptorOf<K extends ValueDescriptor['kind']> = Extract<ValueDescriptor, { readonly kind: K }>;

/** The bytes are no descriptor of the sort that was read. */
export class DescriptorError extends Error {}

const KIND_OF = new Map(Object.entries(KIND_CODE).map(([kind, code]) => [code, kind as IntegerNodeKind]));
const ZERO: Hex = `0x${'00'.repeat(32)}`;

class Reader {
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    return this.view.getUint8(this.take(1));
  }

  u32(): number {
    return this.view.getUint32(this.take(4));
  }

  i32(): number {
    return this.view.getInt32(this.take(4));
  }

  root(): Hex {
    const at = this.take(32);
    return `0x${bytesToHex(this.bytes.subarray(at, at + 32))}`;
  }

  list(count: number, one: () => number): number[] {
    // Before anything is allocated: a count may say anything.
    if (4 * count > this.bytes.length) throw new DescriptorError('a list is longer than its descriptor');
    return Array.from({ length: count }, one);
  }

  u32s(): number[] {
    return this.list(this.u32(), () => this.u32());
  }

  window(): Window2d {
    const [a, b, c, d, e, f, g, h, i, j] = this.list(10, () => this.u32()) as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return { kernel: [a, b], strides: [c, d], dilations: [e, f], pads: [g, h, i, j] };
  }

  private take(count: number): number {
    const at = this.at;
    this.at += count;
    if (this.at > this.bytes.length) throw new DescriptorError('a descriptor ends early');
    return at;
  }

  /** @throws DescriptorError where bytes are left. */
  end(): void {
    if (this.at !== this.bytes.length) throw new DescriptorError('a descriptor has surplus bytes');
  }
}

/** @throws DescriptorError */
export function readModelHeader(bytes: Uint8Array): ModelHeader {
  const r = new Reader(bytes);
  const header = {
    inputs: r.u32(),
    nodes: r.u32(),
    outputs: r.u32(),
    slots: r.u32(),
    committed: r.u32(),
    tableRoot: r.root(),
  };
  r.end();
  return header;
}

function readTensor(r: Reader): Omit<Value, 'operands' | 'constants'> {
  const range = { lo: r.i32(), hi: r.i32() };
  const [shape, layout, slot] = [r.u32s(), r.u32s(), r.u32()];
  return { range, shape, layout, slot };
}

/**
 * The value that an input's or node's descriptor describes.
 * @param input true for a graph input, whose meaning as a port is not read.
 * @throws DescriptorError
 */
export function readValueDescriptor(bytes: Uint8Array, input: boolean): ValueDescriptor {
  const r = new Reader(bytes);
  if (input) return { ...readTensor(r), operands: [], kind: 'input', constants: [] };
  const code = r.u8();
  const kind = KIND_OF.get(code);
  if (kind === undefined) throw new DescriptorError(`no operator has the code ${code}`);
  const tensor = readTensor(r);
  const operands = r.u32s();
  const constants: (Hex | null)[] = [];
  const attributes = readAttributes(r, kind, tensor.shape.length, operands.length, () => {
    const root = r.root();
    constants.push(root === ZERO ? null : root);
  });
  r.end();
  return { ...tensor, operands, constants, ...attributes };
}

function readAttributes(
  r: Reader,
  kind: IntegerNodeKind,
  rank: number,
  operands: number,
  constant: () => void,
): Attributes {
  switch (kind) {
    case 'matmul':
    case 'scale':
      constant();
      constant();
      return { kind };
    case 'conv': {
      const [window, groups] = [r.window(), r.u32()];
      constant();
      constant();
      return { kind, window, groups };
    }
    case 'sumPool':
    case 'maxPool':
      return { kind, window: r.window() };
    case 'combine': {
      const coefficients = r.list(operands, () => r.i32());
      constant();
      return { kind, coefficients };
    }
    case 'requant': {
      const channelAxis = r.u8() === 1 ? r.u32() : null;
      constant();
      const values = r.u8() === 1;
      const [qLo, qHi] = [r.i32(), r.i32()];
      if (!values) return { kind, channelAxis, qLo, qHi, clamp: { lo: r.i32(), hi: r.i32() } };
      constant();
      return { kind, channelAxis, qLo, qHi, clamp: null };
    }
    case 'reduceSum':
    case 'reduceMax':
      return { kind, axes: r.u32s() };
    case 'argMax':
    case 'concat':
      return { kind, axis: r.u32() };
    case 'transpose':
      return { kind, permutation: r.u32s() };
    case 'slice': {
      const starts = r.u32s();
      return { kind, starts, steps: r.list(rank, () => r.i32()) };
    }
    case 'pad':
      return { kind, before: r.u32s(), after: r.u32s(), value: r.i32() };
    case 'matmulActivations':
    case 'mul':
    case 'reshape':
    case 'expand':
      return { kind };
  }
}

/** Value index of an output, from its descriptor; what it means as a port is not read. @throws DescriptorError */
export function readOutputValue(bytes: Uint8Array): number {
  return new Reader(bytes).u32();
}
