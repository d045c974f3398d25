import type { Engine } from '../../executor/engine.js';
import { openOnnxruntime } from '../../executor/engines/onnxruntime.js';
import { openTfjsWasm } from '../../executor/engines/tfjs.js';
import { onnxruntimeWebEngine } from './onnxruntime-web.js';

/** The engines that need nothing but npm packages, each held against the reference; one of them on 1 and 2 threads. */
export const ENGINES: Readonly<Record<string, () => Engine | Promise<Engine>>> = {
  'onnxruntime-cpu, 1 thread': () => openOnnxruntime('cpu', { threads: 1 }),
  'onnxruntime-cpu, 2 threads': () => openOnnxruntime('cpu', { threads: 2 }),
  'onnxruntime-web': () => onnxruntimeWebEngine(),
  'tfjs-wasm': () => openTfjsWasm(),
};
