/** Test helpers: ONNX models built node by node, and random tensors from a seed. */
import type { AttributeValue, Dimension, OnnxModel, OnnxNode } from '../../onnx/model.js';
import { readOnnx } from '../../onnx/read-onnx.js';
import { writeOnnx } from '../../onnx/write-onnx.js';
import { sizeOf, type ElementType, type Tensor } from '../../tensor.js';
import type { Samples } from '../options.js';

/** Deterministic numbers in [0, 1): mulberry32. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Roughly normal numbers. */
export function normal(next: () => number): number {
  return next() + next() + next() + next() + next() + next() - 3;
}

export function floats(shape: readonly number[], fill: (index: number) => number): Tensor<'float32'> {
  return { type: 'float32', shape: [...shape], data: Float32Array.from({ length: sizeOf(shape) }, (_, i) => fill(i)) };
}

export function randomFloats(shape: readonly number[], next: () => number, scale = 1): Tensor<'float32'> {
  return floats(shape, () => scale * normal(next));
}

export function int64s(values: readonly number[], shape: readonly number[] = [values.length]): Tensor<'int64'> {
  return { type: 'int64', shape: [...shape], data: BigInt64Array.from(values, BigInt) };
}

export interface NodeSpec {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly name?: string;
}

export interface ModelSpec {
  readonly opset?: number;
  readonly inputs: Readonly<Record<string, readonly Dimension[] | { type: ElementType; shape: readonly Dimension[] }>>;
  readonly outputs: Readonly<Record<string, readonly Dimension[] | { type: ElementType; shape: readonly Dimension[] }>>;
  readonly nodes: readonly NodeSpec[];
  readonly constants?: Readonly<Record<string, Tensor>>;
}

/** The model after a round through the file format. */
export function buildModel(spec: ModelSpec): OnnxModel {
  const infos = (values: ModelSpec['inputs']) =>
    Object.entries(values).map(([name, given]) =>
      'type' in given ? { name, ...given } : { name, type: 'float32' as const, shape: given },
    );
  const nodes: OnnxNode[] = spec.nodes.map((node, i) => ({
    name: node.name ?? `${node.op}_${i}`,
    op: node.op,
    domain: '',
    inputs: node.inputs,
    outputs: node.outputs,
    attributes: new Map(Object.entries(node.attributes ?? {})),
  }));
  const bytes = writeOnnx({
    name: 'test',
    opset: spec.opset ?? 17,
    inputs: infos(spec.inputs),
    outputs: infos(spec.outputs),
    nodes,
    initializers: new Map(Object.entries(spec.constants ?? {})),
  });
  return readOnnx(bytes, 'test.onnx');
}

/** Random samples of float inputs. */
export function samplesOf(
  shapes: Readonly<Record<string, readonly number[]>>,
  count: number,
  next: () => number,
  scale = 1,
): Samples {
  return Array.from(
    { length: count },
    () => new Map(Object.entries(shapes).map(([name, shape]) => [name, randomFloats(shape, next, scale)])),
  );
}

/**
 * Samples whose inputs are multiples of 1/32 with the largest magnitude 127/32, so that with the calibration method
 * 'max' the input is stored without any error and what is measured is the graph's own.
 */
export function gridSamples(
  shapes: Readonly<Record<string, readonly number[]>>,
  count: number,
  next: () => number,
): Samples {
  return samplesOf(shapes, count, next).map(
    (sample, index) =>
      new Map(
        [...sample].map(([name, { shape, data }]) => {
          const on = Float32Array.from(
            data as Float32Array,
            (x) => Math.round(Math.min(Math.max(x, -3.9), 3.9) * 32) / 32,
          );
          if (index === 0) on[0] = 127 / 32;
          return [name, { type: 'float32' as const, shape, data: on }];
        }),
      ),
  );
}
