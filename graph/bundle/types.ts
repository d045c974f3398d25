/** A compiled model: what requesters, executors, checkers, provers and challengers all hold. */
import type { ElementType } from '../tensor.js';
import type { IntegerGraph } from '../integer/types.js';
import type { CompileReport } from './report.js';

/** How a real tensor of the ONNX model enters or leaves the integer graph. */
export interface Port {
  /** Name in the ONNX model. */
  readonly name: string;
  /** Element type in the ONNX model. */
  readonly type: ElementType;
  /** Shape in the ONNX model with batch 1. */
  readonly shape: readonly number[];
  /** True where axis 0 of `shape` is the batch, and so stands in no item shape. */
  readonly batched: boolean;
}

export interface Bundle {
  readonly graph: IntegerGraph;
  /** One per graph input, same order. */
  readonly inputs: readonly Port[];
  /** One per graph output, same order. */
  readonly outputs: readonly Port[];
  /** keccak256 of the ONNX file it was compiled from, 0x-hex. */
  readonly sourceHash: string;
  readonly report: CompileReport;
  /** Hash of the key that proofs about this model are checked with, 0x-hex of 32 bytes; absent where it has none. */
  readonly modelKeyHash?: string;
  /**
   * Numbers of the slots that a trace of the model commits, strictly ascending (commitment/commit-table.ts); absent
   * where it commits every slot.
   */
  readonly committedSlots?: readonly number[];
  /** Identity of the model in receipts and contracts, 0x-hex of 32 bytes; recomputed on reading, never trusted. */
  readonly digest: string;
}
