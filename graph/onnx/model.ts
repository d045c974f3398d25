/**
 * An ONNX model after reading: one flat list of nodes in topological order, every name resolved.
 * Made by `readOnnx`, completed (shapes, folded constants) by `prepareModel`, evaluated by `evaluateModel`,
 * written by `writeOnnx`.
 */
import type { ElementType, Tensor } from '../tensor.js';

export type AttributeValue = number | string | Tensor | readonly number[] | readonly string[];

export interface OnnxNode {
  /** The file's name for the node, or `Op_index` where the file gives none; unique in the model. */
  readonly name: string;
  /** Operator type, for example `Conv`. */
  readonly op: string;
  /** '' for the standard domain. */
  readonly domain: string;
  /** '' for an omitted optional input. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** ints and floats become number arrays; int64 attributes are read as numbers, saturated at +-2^53. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

/** A dimension: a number, or a symbol not yet bound, or null where the file says nothing. */
export type Dimension = number | string | null;

export interface ValueInfo {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly Dimension[];
}

export interface OnnxModel {
  readonly name: string;
  readonly producer: string;
  readonly irVersion: number;
  /** Version of the standard domain. */
  readonly opset: number;
  /** Graph inputs that are not initializers, in file order. */
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, Tensor>;
  /** keccak256 of the file's bytes, 0x-prefixed hex: the source model hash of a bundle. */
  readonly sourceHash: string;
}

/** A value whose type and shape are known. */
export interface KnownValue {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
}

/** A model with every dimension bound, every shape inferred, every constant folded. */
export interface PreparedModel extends OnnxModel {
  readonly inputs: readonly KnownValue[];
  readonly outputs: readonly KnownValue[];
  /** Type and shape of every input, initializer and node output. */
  readonly values: ReadonlyMap<string, KnownValue>;
}
