/**
 * A float32 graph: what a model is where its numbers stay floats.
 *
 * Values are numbered: the graph inputs are 0 .. I-1, the output of node j is I + j. Every value is a slot of the trace
 * and its number is the slot's, so that whoever checks a node reads what its executor says it read. Shapes are those of
 * one item; the batch is the outermost axis of every array and is not in them. Arrays are row-major (memory order).
 * What an honest machine may compute for each kind: verifier-contracts/src/dispute/float/FloatStep.sol.
 */
import type { Window2d } from '../../graph/integer/types.js';

export interface FloatConstant {
  readonly shape: readonly number[];
  /** Finite. */
  readonly data: Float32Array;
}

export interface FloatValue {
  /** The ONNX tensor that it came from, for messages. */
  readonly name: string;
  readonly shape: readonly number[];
  /** Axes from the outermost in committed order: channels last ([1, 2, 0]) where a window reads it, else as it is. */
  readonly layout: readonly number[];
}

/** x [C, H, W]; weight [outChannels][kernel row][kernel column][C / groups]. */
export interface FloatConv {
  readonly kind: 'conv';
  readonly x: number;
  readonly window: Window2d;
  readonly groups: number;
  readonly weight: FloatConstant;
  readonly bias: FloatConstant | null;
}

/** x [..., K] gives [..., N]; weight [N][K]. A bias stands only where x is [K]. */
export interface FloatDense {
  readonly kind: 'dense';
  readonly x: number;
  readonly weight: FloatConstant;
  readonly bias: FloatConstant | null;
}

export interface FloatAveragePool {
  readonly kind: 'averagePool';
  readonly x: number;
  readonly window: Window2d;
  /** The divisor is the window's size, not the number of its elements inside the input. */
  readonly countsPadding: boolean;
}

export interface FloatMaxPool {
  readonly kind: 'maxPool';
  readonly x: number;
  readonly window: Window2d;
}

/** A value, or a constant with as many axes as an item of the value; broadcast along axes of side 1. One is a value. */
export type FloatOperand = number | FloatConstant;

export interface FloatBinary {
  readonly kind: 'add' | 'sub' | 'mul';
  readonly a: FloatOperand;
  readonly b: FloatOperand;
}

export interface FloatUnary {
  readonly kind: 'relu' | 'reshape';
  readonly x: number;
}

export type FloatNode = FloatConv | FloatDense | FloatAveragePool | FloatMaxPool | FloatBinary | FloatUnary;

export interface FloatPort {
  readonly name: string;
  readonly value: number;
}

export interface FloatGraph {
  readonly name: string;
  readonly inputs: readonly FloatPort[];
  readonly nodes: readonly FloatNode[];
  /** In order of their numbers. */
  readonly values: readonly FloatValue[];
  readonly outputs: readonly FloatPort[];
}

/** Products of one sum at most: what a step computes in half of the 2^24 gas of a transaction (FloatSum.sol). */
export const MAX_CONTRACTION = 8192;

export const isConstant = (operand: FloatOperand): operand is FloatConstant => typeof operand !== 'number';

/** The values that a node reads, in the order of its descriptor; one may stand twice. */
export function operandsOf(node: FloatNode): number[] {
  return 'x' in node ? [node.x] : [node.a, node.b].filter((operand) => typeof operand === 'number');
}

/** The constants of a node by ordinal; null for a bias that is absent. */
export function constantsOf(node: FloatNode): (FloatConstant | null)[] {
  if (node.kind === 'conv' || node.kind === 'dense') return [node.weight, node.bias];
  return 'a' in node ? [node.a, node.b].filter(isConstant) : [];
}
