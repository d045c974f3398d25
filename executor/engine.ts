/**
 * One interface over everything that can run a model: onnxruntime (CUDA, WebGPU, CPU), TensorFlow.js and the
 * reference evaluator. A session belongs to one model; an engine makes sessions.
 */
import type { Bundle, OnnxModel, Tensor } from '../graph/index.js';

export type EngineName =
  | 'onnxruntime-cuda'
  | 'onnxruntime-webgpu'
  | 'onnxruntime-cpu'
  | 'tfjs-node-gpu'
  | 'tfjs-wasm'
  | 'reference'
  /** A development dependency: the cross-engine tests alone run it. */
  | 'onnxruntime-web';

/**
 * What a device may be used for, earned by the start-up self-test: `exact` runs the integer graph as it stands,
 * `exact-im2col` only with its convolutions rewritten as matrix products, `float-only` not at all.
 */
export type DeviceClass = 'exact' | 'exact-im2col' | 'float-only';

/** How convolutions of the integer graph reach the engine; both give the same integers on a sound engine. */
export type ConvolutionForm = 'conv' | 'im2col';

export interface ExactOptions {
  /** Default `conv`. */
  readonly convolution?: ConvolutionForm;
}

/** @param position among what `run` returns. @param values the same array as `run` returns there, complete. */
export type TensorSink = (position: number, values: Int32Array) => void;

export interface ExactSession {
  /**
   * Runs the integer graph on B items. A session may hand tensors to `onTensor` as soon as it has them, inputs included.
   * @param inputs one array per graph input, B * size(item shape) integers each, within the tensor's range.
   * @throws AssayError ENGINE_NOT_EXACT where the device returns anything but integers, ENGINE_FAILED where it fails.
   * @returns the value of every slot that a trace of the bundle commits (`committedTensors` order), B * size(item shape)
   *   integers each.
   */
  run(inputs: readonly Int32Array[], items: number, onTensor?: TensorSink): Promise<Int32Array[]>;
  /** Predicted resident size. */
  readonly sizeBytes: number;
  close(): Promise<void>;
}

export interface FloatSession {
  /** Runs the float model on one set of input tensors; returns the graph outputs by name. */
  run(inputs: ReadonlyMap<string, Tensor>): Promise<Map<string, Tensor>>;
  readonly sizeBytes: number;
  close(): Promise<void>;
}

export interface Engine {
  readonly name: EngineName;
  /** Package and version behind it, for example `onnxruntime-node 1.29.0`. */
  readonly version: string;
  /** @throws AssayError ENGINE_FAILED where the runtime refuses the model. */
  loadExact(bundle: Bundle, options?: ExactOptions): Promise<ExactSession>;
  /** @param bytes the ONNX file; @param model the same, read. */
  loadFloat(bytes: Uint8Array, model: OnnxModel): Promise<FloatSession>;
  close(): Promise<void>;
}
