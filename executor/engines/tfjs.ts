/**
 * TensorFlow.js as an engine: `@tensorflow/tfjs-node-gpu` where it is installed, else tfjs-core with the wasm backend.
 * TensorFlow.js has one current backend per process, so a process opens one of the two.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import type { Engine, EngineName } from '../engine.js';
import { isInstalled } from './onnxruntime-probe.js';
import type { Probe } from './onnxruntime-probe.js';
import { loadExactTfjs } from './tfjs-exact.js';
import { loadFloatTfjs } from './tfjs-float.js';
import type { TensorFlow, TensorFlowRunner } from './tfjs-kernels.js';

/** An optional extra: its install script downloads libtensorflow from outside npm. */
export const TFJS_GPU_PACKAGE = '@tensorflow/tfjs-node-gpu';

const PROBE_TIMEOUT_MS = 60_000;
const require = createRequire(import.meta.url);

/** In a child process: a libtensorflow that does not fit the machine's CUDA libraries may end the process. */
export async function probeTfjsNodeGpu(): Promise<Probe> {
  const mend = `Run npm install --no-save --ignore-scripts=false ${TFJS_GPU_PACKAGE}@4.22.0 where its download of libtensorflow is reachable.`;
  if (!isInstalled(TFJS_GPU_PACKAGE)) return { usable: false, reason: `${TFJS_GPU_PACKAGE} is not installed`, mend };
  const script = 'const tf = require(process.argv[1]); process.exit(tf.scalar(2).square().dataSync()[0] === 4 ? 0 : 1)';
  const child = spawn(process.execPath, ['-e', script, require.resolve(TFJS_GPU_PACKAGE)], { stdio: 'ignore' });
  const timer = setTimeout(() => child.kill('SIGKILL'), PROBE_TIMEOUT_MS);
  const ended = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearTimeout(timer);
  if (ended === 'exit code 0') return { usable: true };
  return { usable: false, reason: `trying ${TFJS_GPU_PACKAGE} ended with ${ended}`, mend };
}

/** The caller has made sure by `probeTfjsNodeGpu` that the package works. */
export async function openTfjsNodeGpu(): Promise<Engine> {
  const { version } = require(`${TFJS_GPU_PACKAGE}/package.json`) as { version: string };
  const tf = (await import(TFJS_GPU_PACKAGE)) as TensorFlow;
  return tfjsEngine(tf, 'tfjs-node-gpu', 'tensorflow', `${TFJS_GPU_PACKAGE} ${version}`);
}

/** Outside browsers the wasm backend takes its single-threaded SIMD build by itself, or the plain one without SIMD. */
export async function openTfjsWasm(): Promise<Engine> {
  const tf = await import('@tensorflow/tfjs-core');
  const wasm = await import('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(dirname(require.resolve('@tensorflow/tfjs-backend-wasm')) + sep);
  return tfjsEngine(tf, 'tfjs-wasm', 'wasm', `@tensorflow/tfjs-backend-wasm ${wasm.version_wasm}`);
}

async function tfjsEngine(tf: TensorFlow, name: EngineName, backend: string, version: string): Promise<Engine> {
  const select = async (): Promise<void> => {
    while (tf.getBackend() !== backend) {
      if (!(await tf.setBackend(backend))) throw new Error(`TensorFlow.js cannot start its backend ${backend}`);
    }
  };
  await select();
  const runner: TensorFlowRunner = {
    tf,
    name,
    exclusively: async (work) => {
      await select();
      return work();
    },
  };
  return {
    name,
    version,
    loadExact: (bundle, options) => loadExactTfjs(runner, bundle, options?.convolution ?? 'conv'),
    loadFloat: (bytes, model) => loadFloatTfjs(runner, bytes, model),
    close: () => Promise.resolve(),
  };
}
