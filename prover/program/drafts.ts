/**
 * Expressions while a program is being built: constants are not committed yet, since the multipliers of the
 * requantisation that will consume them are folded in first.
 */
import type { BroadcastConstant, RequantNode, TensorId, Window2d } from '../../graph/integer/types.js';
import { axisBlock, type Block, type Entry } from './blocks.js';
import type { LinearTerm, Product, Program } from './types.js';

/** Integers of a model slot, row-major over its axes; magnitudes below 2^52. */
export type SlotValues = Float64Array;

/** Where the values of a witness slot come from. */
export type WitnessOrigin =
  | {
      readonly kind: 'tensor';
      readonly tensor: TensorId;
      readonly shape: readonly number[];
      readonly toSlot: readonly Block[];
    }
  /** A step of a maximum over more than four taps: computed from the taps of the slot. */
  | { readonly kind: 'maximum' };

export interface ProgramWithModel {
  readonly program: Program;
  /** By model slot. */
  readonly modelValues: readonly SlotValues[];
  /** By witness slot; `toSlot` leads from the axes of the tensor to those of the slot, one to one. */
  readonly origins: readonly WitnessOrigin[];
  /** By requant slot: the graph's node, from whose operand the remainder follows. */
  readonly requantNodes: readonly RequantNode[];
  /** By public output: the tensor that is published, which the graph's output follows from. */
  readonly published: readonly TensorId[];
}

/** A constant or weight before it is known which multiplier it is scaled by. */
export interface RawConstant {
  readonly name: string;
  readonly axes: readonly number[];
  readonly data: ArrayLike<number>;
}
export type DraftSource = LinearTerm['source'] | { readonly kind: 'raw'; readonly constant: RawConstant };
export interface DraftTerm {
  readonly coefficient: bigint;
  readonly source: DraftSource;
  readonly blocks: readonly Block[];
}
export interface DraftProduct extends Omit<Product, 'p'> {
  readonly p: Product['p'] | { readonly labels: readonly number[]; readonly constant: RawConstant };
}
export interface Draft {
  readonly axes: readonly number[];
  readonly linear: readonly DraftTerm[];
  readonly products: readonly DraftProduct[];
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
export const diagonal = (side: number): Entry[] => range(side).map((i) => ({ t: i, s: i, weight: 1 }));

/** Axis of the target along which the source repeats. */
export const broadcastAxis = (axis: number, side: number): Block[] =>
  axisBlock(
    axis,
    side,
    0,
    1,
    range(side).map((t) => ({ t, s: 0, weight: 1 })),
  );
export const broadcastBlocks = (axes: readonly number[]): Block[] =>
  axes.flatMap((side, axis) => broadcastAxis(axis, side));

export function constantTerms(constant: BroadcastConstant | null, axes: readonly number[], name: string): DraftTerm[] {
  if (constant === null) return [];
  const own = alignedAxes(constant, axes);
  return [
    {
      coefficient: 1n,
      source: { kind: 'raw', constant: { name, axes: own.axes.map((axis) => axes[axis]!), data: constant.data } },
      blocks: axes.flatMap((side, axis) => {
        const place = own.axes.indexOf(axis);
        return place < 0 ? broadcastAxis(axis, side) : axisBlock(axis, side, place, side, diagonal(side));
      }),
    },
  ];
}

/** The axes of a tensor along which a broadcast constant varies. */
export function alignedAxes(constant: BroadcastConstant, axes: readonly number[]): { axes: number[] } {
  const offset = axes.length - constant.shape.length;
  return { axes: range(axes.length).filter((axis) => axis >= offset && constant.shape[axis - offset]! > 1) };
}

/** Index that tap k of output o reads along spatial dimension d; may lie outside the plane. */
export function sourceIndex(window: Window2d, d: 0 | 1, k: number, o: number): number {
  return o * window.strides[d] + k * window.dilations[d] - window.pads[d];
}
