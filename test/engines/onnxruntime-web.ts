/** onnxruntime-web (WebAssembly) as an engine: for tests only, a second build of onnxruntime with other kernels. */
import * as ort from 'onnxruntime-web';
import type { Engine } from '../../executor/engine.js';
import { onnxruntimeEngine } from '../../executor/engines/onnxruntime-session.js';
import type { OnnxruntimeApi } from '../../executor/engines/onnxruntime-session.js';

/** @param threads of one operator; fixed at the first session of a process. */
export function onnxruntimeWebEngine(threads = 1): Engine {
  ort.env.wasm.numThreads = threads;
  return onnxruntimeEngine({
    name: 'onnxruntime-web',
    version: `onnxruntime-web ${ort.env.versions.web}`,
    api: ort as OnnxruntimeApi,
    sessionOptions: { executionProviders: ['wasm'], logSeverityLevel: 3 },
  });
}
