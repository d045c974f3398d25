/**
 * The integer graph: one arithmetic that an ordinary ML runtime, a SNARK, a contract and a plain
 * loop all compute to the same bit. This file is its vocabulary; `evaluate.ts` is its meaning.
 *
 * Shapes are *item shapes*: the batch is a free leading dimension that stands in no shape here.
 * An array of B items of shape S holds B * size(S) elements, row-major.
 *
 * Every tensor is computed by exactly one node or is an input. Scales and names are metadata: they say
 * what the integers mean to a person and never enter the arithmetic.
 */

/** Index into `IntegerGraph.tensors`. */
export type TensorId = number;

/** Inclusive integer interval. */
export interface IntRange {
  readonly lo: number;
  readonly hi: number;
}

export interface TensorInfo {
  readonly name: string;
  /** Item shape, without the batch dimension. */
  readonly shape: readonly number[];
  /** Proved bounds of every element. */
  readonly range: IntRange;
  /** Real value = scale * (integer + zeroPoint). Metadata. A stored integer is minus its zero point already. */
  readonly scale: number;
  /** What was subtracted when an asymmetric activation was stored; 0 for symmetric ones. Metadata. */
  readonly zeroPoint: number;
  /**
   * Order of axes in the tensor's commitment, outermost first: the consumer's contraction axis is innermost
   * ([1, 2, 0] commits a [channel, row, column] tensor channels-last). Arrays in memory always follow `shape`.
   */
  readonly layout: readonly number[];
}

/** Small constant operand: weights. Kept narrow so that a product with an activation is exact in float32 and TF32. */
export type WeightArray = Int8Array | Int16Array;

/** A constant that is broadcast against an item shape (ONNX rules: right-aligned, side 1 repeats). */
export interface BroadcastConstant {
  readonly shape: readonly number[];
  readonly data: Int32Array;
}

/**
 * The function behind a requantisation, from the quotient q to the stored integer.
 * It is defined exactly on qLo..qHi, the proved range of q.
 */
export type RequantTable =
  | { readonly kind: 'clamp'; readonly qLo: number; readonly qHi: number; readonly lo: number; readonly hi: number }
  | {
      readonly kind: 'values';
      readonly qLo: number;
      readonly qHi: number;
      readonly values: Int16Array;
      readonly label: string;
    };

/** Spatial window of convolution and pooling over an item of shape [channel, row, column]. */
export interface Window2d {
  readonly kernel: readonly [number, number];
  readonly strides: readonly [number, number];
  readonly dilations: readonly [number, number];
  /** top, left, bottom, right. The padding value is the integer 0 (for maxPool: never chosen). */
  readonly pads: readonly [number, number, number, number];
}

interface NodeBase {
  /** Name of the ONNX node it came from, for messages. */
  readonly name: string;
  readonly output: TensorId;
}

/** x [..., K] times weight [N][K] plus bias [N] -> [..., N]. */
export interface MatMulNode extends NodeBase {
  readonly kind: 'matmul';
  readonly x: TensorId;
  readonly outFeatures: number;
  readonly inFeatures: number;
  /** Row-major [outFeatures][inFeatures]. */
  readonly weight: WeightArray;
  readonly bias: Int32Array | null;
}

/** a [..., M, K] times the transpose of b [..., N, K] -> [..., M, N], leading axes equal. */
export interface MatMulActivationsNode extends NodeBase {
  readonly kind: 'matmulActivations';
  readonly a: TensorId;
  readonly b: TensorId;
}

/** x [C, H, W] -> [outChannels, OH, OW]; cross-correlation as in ONNX Conv. */
export interface ConvNode extends NodeBase {
  readonly kind: 'conv';
  readonly x: TensorId;
  readonly window: Window2d;
  readonly groups: number;
  readonly outChannels: number;
  /** Row-major [outChannels][kernelRow][kernelColumn][C / groups]: contraction contiguous, channels innermost. */
  readonly weight: WeightArray;
  readonly bias: Int32Array | null;
}

/** sum over terms of coefficient * x, plus a constant; all x have the output's shape. Add, Sub, Neg, residuals. */
export interface CombineNode extends NodeBase {
  readonly kind: 'combine';
  readonly terms: readonly { readonly x: TensorId; readonly coefficient: number }[];
  readonly bias: BroadcastConstant | null;
}

/** x times a broadcast constant, plus a broadcast constant. Mul by a constant, unfolded BatchNormalization. */
export interface ScaleNode extends NodeBase {
  readonly kind: 'scale';
  readonly x: TensorId;
  readonly factor: BroadcastConstant;
  readonly bias: BroadcastConstant | null;
}

/** Elementwise product of two activations of equal shape. */
export interface MulNode extends NodeBase {
  readonly kind: 'mul';
  readonly a: TensorId;
  readonly b: TensorId;
}

/** Sum over a spatial window: x [C, H, W] -> [C, OH, OW]; padding adds 0. */
export interface SumPoolNode extends NodeBase {
  readonly kind: 'sumPool';
  readonly x: TensorId;
  readonly window: Window2d;
}

/** Sum over the axes (sorted, item axes), which become side 1. */
export interface ReduceSumNode extends NodeBase {
  readonly kind: 'reduceSum';
  readonly x: TensorId;
  readonly axes: readonly number[];
}

/**
 * q = floor((x * M + 2^23) / 2^24): round half up, towards minus infinity. y = table(q).
 * M is `multipliers[c]` with c the index along `channelAxis`, or `multipliers[0]` where channelAxis is null.
 */
export interface RequantNode extends NodeBase {
  readonly kind: 'requant';
  readonly x: TensorId;
  /** Each 1 <= M < 2^28, and |x * M + 2^23| < 2^52 is proved. */
  readonly multipliers: Int32Array;
  readonly channelAxis: number | null;
  readonly table: RequantTable;
}

/** Maximum over a spatial window; padded cells are never chosen. */
export interface MaxPoolNode extends NodeBase {
  readonly kind: 'maxPool';
  readonly x: TensorId;
  readonly window: Window2d;
}

/** Maximum over the axes (sorted), which become side 1. */
export interface ReduceMaxNode extends NodeBase {
  readonly kind: 'reduceMax';
  readonly x: TensorId;
  readonly axes: readonly number[];
}

/** Index of the maximum along one axis, which becomes side 1; ties go to the smallest index. */
export interface ArgMaxNode extends NodeBase {
  readonly kind: 'argMax';
  readonly x: TensorId;
  readonly axis: number;
}

/** Wiring: moves elements, computes nothing. */
export type WiringNode =
  | (NodeBase & { readonly kind: 'reshape'; readonly x: TensorId })
  | (NodeBase & { readonly kind: 'transpose'; readonly x: TensorId; readonly permutation: readonly number[] })
  | (NodeBase & { readonly kind: 'concat'; readonly xs: readonly TensorId[]; readonly axis: number })
  /** Output element i along axis a is input element starts[a] + i * steps[a]; steps may be negative. */
  | (NodeBase & {
      readonly kind: 'slice';
      readonly x: TensorId;
      readonly starts: readonly number[];
      readonly steps: readonly number[];
    })
  | (NodeBase & {
      readonly kind: 'pad';
      readonly x: TensorId;
      readonly before: readonly number[];
      readonly after: readonly number[];
      readonly value: number;
    })
  /** Broadcast of side-1 axes to the output's shape; ranks are equal. */
  | (NodeBase & { readonly kind: 'expand'; readonly x: TensorId });

export type IntegerNode =
  | MatMulNode
  | MatMulActivationsNode
  | ConvNode
  | CombineNode
  | ScaleNode
  | MulNode
  | SumPoolNode
  | ReduceSumNode
  | RequantNode
  | MaxPoolNode
  | ReduceMaxNode
  | ArgMaxNode
  | WiringNode;

export type IntegerNodeKind = IntegerNode['kind'];

export interface IntegerGraph {
  readonly name: string;
  readonly tensors: readonly TensorInfo[];
  /** Topological order. */
  readonly nodes: readonly IntegerNode[];
  readonly inputs: readonly TensorId[];
  readonly outputs: readonly TensorId[];
}

/** Largest magnitude of an accumulator that float32 holds exactly whatever the order of summation. */
export const FLOAT32_EXACT_LIMIT = 2 ** 24;
/** Every integer of a graph, and every partial sum in any order that makes it, is below this in magnitude. */
export const ACCUMULATOR_LIMIT = 2 ** 31;
/** Operands of products stay within 11 bits plus sign, so that TF32 holds them exactly. */
export const OPERAND_LIMIT = 2 ** 11;
/** The shift of every requantisation: the prover needs one. */
export const REQUANT_SHIFT = 24;
export const MULTIPLIER_LIMIT = 2 ** 28;
/** Quotients lie in [QUOTIENT_LO, QUOTIENT_HI). */
export const QUOTIENT_LO = -(2 ** 15);
export const QUOTIENT_HI = 2 ** 16;
