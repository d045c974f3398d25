/** Test helpers: models of one node, tensors of random data, and onnxruntime's answer to a model. */
import ort from 'onnxruntime-node';
import type { Tensor } from '../../tensor.js';
import type { AttributeValue, KnownValue, OnnxModel } from '../model.js';
import { writeOnnx } from '../write-onnx.js';

ort.env.logLevel = 'error';

export interface OneNode {
  readonly op: string;
  readonly opset: number;
  /** Operands in order: null omitted, 'input' kind fed at run time, 'constant' kind held as an initializer. */
  readonly operands: readonly ({ readonly kind: 'input' | 'constant'; readonly tensor: Tensor } | null)[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** Type and shape of each output. */
  readonly outputs: readonly Omit<KnownValue, 'name'>[];
}

export const input = (tensor: Tensor): { kind: 'input'; tensor: Tensor } => ({ kind: 'input', tensor });
export const constant = (tensor: Tensor): { kind: 'constant'; tensor: Tensor } => ({ kind: 'constant', tensor });

/** The model, and the tensors to feed. Values are called x0, x1, ... and y0, y1, ... */
export function oneNodeModel(spec: OneNode): { model: OnnxModel; feeds: Map<string, Tensor> } {
  const feeds = new Map<string, Tensor>();
  const initializers = new Map<string, Tensor>();
  spec.operands.forEach((operand, index) => {
    if (operand !== null) (operand.kind === 'input' ? feeds : initializers).set(`x${index}`, operand.tensor);
  });
  const model: OnnxModel = {
    name: 'one',
    producer: 'test',
    irVersion: 8,
    opset: spec.opset,
    inputs: [...feeds].map(([name, { type, shape }]) => ({ name, type, shape })),
    outputs: spec.outputs.map((output, index) => ({ ...output, name: `y${index}` })),
    nodes: [
      {
        name: 'node',
        op: spec.op,
        domain: '',
        inputs: spec.operands.map((operand, index) => (operand === null ? '' : `x${index}`)),
        outputs: spec.outputs.map((_, index) => `y${index}`),
        attributes: new Map(Object.entries(spec.attributes ?? {})),
      },
    ],
    initializers,
    sourceHash: '0x',
  };
  return { model, feeds };
}

/** Outputs of onnxruntime's CPU engine, as computed without its graph optimisations. */
export async function runOnnxruntime(
  bytes: Uint8Array,
  feeds: ReadonlyMap<string, Tensor>,
): Promise<Map<string, Tensor>> {
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'disabled',
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  try {
    const given: Record<string, ort.Tensor> = {};
    for (const [name, { type, data, shape }] of feeds) {
      given[name] = new ort.Tensor(type as 'float32', data as Float32Array, [...shape]);
    }
    const results = await session.run(given);
    const outputs = new Map<string, Tensor>();
    for (const name of session.outputNames) {
      const { type, data, dims } = results[name]!;
      outputs.set(name, { type: type as 'float32', data: data as Float32Array, shape: dims });
    }
    return outputs;
  } finally {
    await session.release();
  }
}

/** Outputs of onnxruntime for a model in memory. */
export function runModel(model: OnnxModel, feeds: ReadonlyMap<string, Tensor>): Promise<Map<string, Tensor>> {
  return runOnnxruntime(writeOnnx(model), feeds);
}
