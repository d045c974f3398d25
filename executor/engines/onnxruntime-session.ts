/**
 * Sessions over the onnxruntime JavaScript API, which onnxruntime-node and onnxruntime-web share.
 * The exact lane runs `exportExact(graph)`: an ordinary ONNX model whose float tensors hold the integers.
 */
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import { AssayError } from '../../common/errors.js';
import { committedTensors, exportExact, sizeOf } from '../../graph/index.js';
import type { Bundle, IntegerGraph, OnnxModel, Tensor, TensorId } from '../../graph/index.js';
import type { ConvolutionForm, Engine, EngineName, ExactSession, FloatSession } from '../engine.js';
import { predictExactBytes, predictFloatBytes } from '../session-size.js';
import { integersOf } from './integers-of.js';

/** The part of the onnxruntime API that is used. */
export interface OnnxruntimeApi {
  readonly InferenceSession: {
    create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  readonly Tensor: typeof OrtTensor;
}

export interface OnnxruntimeEngineSpec {
  readonly name: EngineName;
  readonly version: string;
  readonly api: OnnxruntimeApi;
  readonly sessionOptions: InferenceSession.SessionOptions;
}

/**
 * onnxruntime merges a Pad into the convolution or pooling that follows, and loses the tensor before the Pad where
 * that is a graph output as well ("Node input ... is not a graph input, initializer, or output of a previous node";
 * seen in 1.29.0 and 1.30.0). In the exact export nearly every tensor is an output.
 */
const WITHOUT_PAD_FUSION = { optimization: { disable_specified_optimizers: 'Pad_Fusion' } };

export function onnxruntimeEngine(spec: OnnxruntimeEngineSpec): Engine {
  return {
    name: spec.name,
    version: spec.version,
    loadExact: (bundle, options) => loadExact(spec, bundle, options?.convolution ?? 'conv'),
    loadFloat: (bytes, model) => loadFloat(spec, bytes, model),
    close: () => Promise.resolve(),
  };
}

async function loadExact(
  spec: OnnxruntimeEngineSpec,
  bundle: Bundle,
  convolution: ConvolutionForm,
): Promise<ExactSession> {
  const { graph } = bundle;
  const slots = committedTensors(graph, bundle.committedSlots);
  // An input that is a slot is known already; an ONNX graph output that is an input would need a node of its own.
  const computed = slots.filter((slot) => !graph.inputs.includes(slot));
  const exact = { ...spec, sessionOptions: { ...spec.sessionOptions, extra: WITHOUT_PAD_FUSION } };
  const session = await create(exact, exportExact(graph, { outputs: computed, convolution }), graph.name);
  return {
    sizeBytes: predictExactBytes(graph),
    run: async (inputs, items, onTensor) => {
      const feeds: Record<string, OrtTensor> = {};
      graph.inputs.forEach((id, index) => {
        onTensor?.(slots.indexOf(id), inputs[index]!);
        feeds[`t${id}`] = new spec.api.Tensor(
          'float32',
          new Float32Array(inputs[index]!),
          batchShape(graph, id, items),
        );
      });
      const results = await run(spec, session, feeds, graph.name);
      return slots.map((slot, position) => {
        const input = graph.inputs.indexOf(slot);
        if (input >= 0) return inputs[input]!;
        const { type, data } = results[`t${slot}`]!;
        if (type !== 'float32' && type !== 'float64') {
          throw new AssayError(
            'INTERNAL',
            `${graph.name}: output t${slot} of the exact export is ${type}, expected float`,
          );
        }
        const size = sizeOf(batchShape(graph, slot, items));
        const at = { engine: spec.name, tensor: graph.tensors[slot]!.name };
        const values = integersOf(data as Float32Array | Float64Array, size, at);
        onTensor?.(position, values);
        return values;
      });
    },
    close: () => session.release(),
  };
}

async function loadFloat(spec: OnnxruntimeEngineSpec, bytes: Uint8Array, model: OnnxModel): Promise<FloatSession> {
  const session = await create(spec, bytes, model.name);
  return {
    sizeBytes: predictFloatBytes(bytes),
    run: async (inputs) => {
      const feeds: Record<string, OrtTensor> = {};
      for (const { name } of model.inputs) {
        const tensor = inputs.get(name);
        if (tensor === undefined) {
          throw new AssayError('ONNX_INPUT_INVALID', `${model.name}: input ${name} is missing`, {
            meta: { input: name },
          });
        }
        feeds[name] = toOrt(spec, name, tensor);
      }
      const results = await run(spec, session, feeds, model.name);
      return new Map(model.outputs.map(({ name }): [string, Tensor] => [name, fromOrt(name, results[name]!)]));
    },
    close: () => session.release(),
  };
}

function batchShape(graph: IntegerGraph, id: TensorId, items: number): number[] {
  return [items, ...graph.tensors[id]!.shape];
}

function toOrt(spec: OnnxruntimeEngineSpec, name: string, tensor: Tensor): OrtTensor {
  if (tensor.type === 'bfloat16') {
    throw new AssayError('ENGINE_FAILED', `input ${name}: ${spec.name} has no bfloat16 tensors`);
  }
  return new spec.api.Tensor(tensor.type as 'float32', tensor.data as Float32Array, tensor.shape);
}

function fromOrt(name: string, value: OrtTensor): Tensor {
  if (value.type === 'int4' || value.type === 'uint4') {
    throw new AssayError('ENGINE_FAILED', `output ${name}: tensors of type ${value.type} are not supported`);
  }
  return { type: value.type, shape: [...value.dims], data: value.data } as Tensor;
}

async function create(spec: OnnxruntimeEngineSpec, bytes: Uint8Array, model: string): Promise<InferenceSession> {
  try {
    return await spec.api.InferenceSession.create(bytes, spec.sessionOptions);
  } catch (cause) {
    throw new AssayError('ENGINE_FAILED', `${spec.name} refuses model ${model}: ${messageOf(cause)}`, {
      meta: { engine: spec.name, model },
      cause,
    });
  }
}

async function run(
  spec: OnnxruntimeEngineSpec,
  session: InferenceSession,
  feeds: Record<string, OrtTensor>,
  model: string,
): Promise<InferenceSession.OnnxValueMapType> {
  try {
    return await session.run(feeds);
  } catch (cause) {
    throw new AssayError('ENGINE_FAILED', `${spec.name} failed while running model ${model}: ${messageOf(cause)}`, {
      meta: { engine: spec.name, model },
      cause,
    });
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
