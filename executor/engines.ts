/** Which engines this machine has, and opening one. */
import { AssayError } from '../common/errors.js';
import type { Engine, EngineName } from './engine.js';
import { openOnnxruntime } from './engines/onnxruntime.js';
import type { OnnxruntimeOptions } from './engines/onnxruntime.js';
import { probeProvider } from './engines/onnxruntime-probe.js';
import type { ExecutionProvider, Probe } from './engines/onnxruntime-probe.js';
import { referenceEngine } from './engines/reference.js';
import { openTfjsNodeGpu, openTfjsWasm, probeTfjsNodeGpu } from './engines/tfjs.js';

export type ProductionEngineName = Exclude<EngineName, 'onnxruntime-web'>;

/** In order of preference. */
export const ENGINE_NAMES: readonly ProductionEngineName[] = [
  'onnxruntime-cuda',
  'onnxruntime-webgpu',
  'onnxruntime-cpu',
  'tfjs-node-gpu',
  'tfjs-wasm',
  'reference',
];

export type EngineOptions = OnnxruntimeOptions;

export interface MissingEngine {
  readonly name: EngineName;
  readonly reason: string;
  readonly mend: string;
}

export interface AvailableEngines {
  /** In order of preference: GPU first, the reference last. */
  readonly engines: Engine[];
  readonly missing: MissingEngine[];
}

/** Tries every engine once. Says nothing on the console; what is missing is in the answer, with its reason. */
export async function availableEngines(options: EngineOptions = {}): Promise<AvailableEngines> {
  const engines: Engine[] = [];
  const missing: MissingEngine[] = [];
  for (const name of ENGINE_NAMES) {
    if (name === 'tfjs-wasm' && engines.some((engine) => engine.name === 'tfjs-node-gpu')) {
      const reason = 'TensorFlow.js has one backend per process, and tfjs-node-gpu is it';
      missing.push({ name, reason, mend: 'Name the engine to use it: --engine tfjs-wasm.' });
      continue;
    }
    const probe = await probeEngine(name);
    if (probe.usable) engines.push(await open(name, options));
    else missing.push({ name, reason: probe.reason, mend: probe.mend });
  }
  return { engines, missing };
}

/** @throws AssayError ENGINE_UNAVAILABLE with the reason and what would mend it. */
export async function openEngine(name: EngineName, options: EngineOptions = {}): Promise<Engine> {
  if (!isProductionEngine(name)) {
    throw new AssayError(
      'ENGINE_UNAVAILABLE',
      `there is no engine ${name}; the engines are ${ENGINE_NAMES.join(', ')}`,
    );
  }
  const probe = await probeEngine(name);
  if (!probe.usable) {
    throw new AssayError('ENGINE_UNAVAILABLE', `engine ${name} cannot run here: ${probe.reason}`, {
      mend: probe.mend,
      meta: { engine: name, reason: probe.reason },
    });
  }
  return open(name, options);
}

function isProductionEngine(name: string): name is ProductionEngineName {
  return (ENGINE_NAMES as readonly string[]).includes(name);
}

async function probeEngine(name: ProductionEngineName): Promise<Probe> {
  switch (name) {
    case 'onnxruntime-cuda':
    case 'onnxruntime-webgpu':
    case 'onnxruntime-cpu':
      return probeProvider(name.slice('onnxruntime-'.length) as ExecutionProvider);
    case 'tfjs-node-gpu':
      return probeTfjsNodeGpu();
    case 'tfjs-wasm':
    case 'reference':
      return { usable: true };
  }
}

async function open(name: ProductionEngineName, options: EngineOptions): Promise<Engine> {
  switch (name) {
    case 'onnxruntime-cuda':
      return openOnnxruntime('cuda', options);
    case 'onnxruntime-webgpu':
      return openOnnxruntime('webgpu', options);
    case 'onnxruntime-cpu':
      return openOnnxruntime('cpu', options);
    case 'tfjs-node-gpu':
      return openTfjsNodeGpu();
    case 'tfjs-wasm':
      return openTfjsWasm();
    case 'reference':
      return referenceEngine();
  }
}
