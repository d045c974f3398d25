/** onnxruntime-node as an engine: one engine per execution provider. */
import { createRequire } from 'node:module';
import type { InferenceSession } from 'onnxruntime-node';
import type { Engine, EngineName } from '../engine.js';
import { onnxruntimeEngine } from './onnxruntime-session.js';
import type { ExecutionProvider } from './onnxruntime-probe.js';

const NAMES: Readonly<Record<ExecutionProvider, EngineName>> = {
  cuda: 'onnxruntime-cuda',
  webgpu: 'onnxruntime-webgpu',
  cpu: 'onnxruntime-cpu',
};

export interface OnnxruntimeOptions {
  /** Threads of one operator on the CPU; onnxruntime's own choice (one per core) where not given. */
  readonly threads?: number;
}

/** The caller has made sure by `probeProvider` that the provider works. */
export async function openOnnxruntime(provider: ExecutionProvider, options: OnnxruntimeOptions = {}): Promise<Engine> {
  // Loaded only here: importing it loads a 46 MB library.
  const ort = await import('onnxruntime-node');
  const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string };
  const sessionOptions: InferenceSession.SessionOptions = {
    executionProviders: [provider],
    // Errors are thrown; warnings tell of nodes that a GPU provider leaves to the CPU, which is planned.
    logSeverityLevel: 3,
    ...(options.threads === undefined ? {} : { intraOpNumThreads: options.threads }),
  };
  return onnxruntimeEngine({ name: NAMES[provider], version: `onnxruntime-node ${version}`, api: ort, sessionOptions });
}
