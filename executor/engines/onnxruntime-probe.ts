/**
 * Whether an execution provider of onnxruntime-node works on this machine.
 *
 * A provider is tried in a child process first. Where the hardware is missing, creating a session throws; where a
 * driver or a CUDA library is broken, it may abort the process, and its messages go straight to the console. The
 * child takes both. It costs about 0.15 s; on a machine with a GPU, as long as the first use of the device takes.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { writeOnnx } from '../../graph/index.js';

export type ExecutionProvider = 'cuda' | 'webgpu' | 'cpu';

export type Probe =
  { readonly usable: true } | { readonly usable: false; readonly reason: string; readonly mend: string };

/** The provider libraries that onnxruntime-node loads from beside its own `libonnxruntime.so.1`. */
export const CUDA_PROVIDER_FILES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'] as const;

/** The npm package that carries them, built for onnxruntime 1.29.0 and CUDA 13, and where it keeps them. */
export const CUDA_PACKAGE = {
  name: 'com.github.asus4.onnxruntime.linux-x64-gpu',
  version: '0.4.9',
  folder: 'Plugins/Linux/x64',
} as const;

const PROBE_TIMEOUT_MS = 60_000;
const require = createRequire(import.meta.url);

export async function probeProvider(provider: ExecutionProvider): Promise<Probe> {
  if (!isInstalled('onnxruntime-node')) {
    return { usable: false, reason: 'the package onnxruntime-node is not installed', mend: 'Run npm ci.' };
  }
  if (provider === 'cuda') {
    const files = placeCudaProvider();
    if (!files.usable) return files;
  }
  const outcome = await runChild(provider);
  if (outcome === null) return { usable: true };
  return { usable: false, reason: outcome, mend: MENDS[provider] };
}

const MENDS: Readonly<Record<ExecutionProvider, string>> = {
  cuda:
    'Needs an NVIDIA GPU with its driver, and cuBLAS 13, cudart 13, cuRAND 10, cuFFT 12 and cuDNN 9 on the library path ' +
    '(LD_LIBRARY_PATH).',
  webgpu: 'Needs a GPU with a Vulkan driver and libvulkan.so.1 (on macOS Metal, on Windows Direct3D 12).',
  cpu: 'Install onnxruntime-node again on this platform: npm ci.',
};

/** Sees to it that the CUDA provider's files lie where onnxruntime-node looks for them, linking those of the npm package. */
function placeCudaProvider(): Probe {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    const found = `${process.platform}-${process.arch}`;
    return {
      usable: false,
      reason: `CUDA works on linux-x64 only, this is ${found}`,
      mend: 'Use the webgpu or cpu engine.',
    };
  }
  const folder = join(dirname(require.resolve('onnxruntime-node/package.json')), 'bin/napi-v6/linux/x64');
  const missing = CUDA_PROVIDER_FILES.filter((file) => !existsSync(join(folder, file)));
  if (missing.length === 0) return { usable: true };

  const install = `Run npm install --no-save ${CUDA_PACKAGE.name}@${CUDA_PACKAGE.version} beside an NVIDIA driver and CUDA 13.`;
  if (!isInstalled(CUDA_PACKAGE.name)) {
    return { usable: false, reason: `${missing.join(' and ')} not installed`, mend: install };
  }
  const manifest = require.resolve(`${CUDA_PACKAGE.name}/package.json`);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  if (version !== CUDA_PACKAGE.version) {
    const reason = `${CUDA_PACKAGE.name} is ${version}, only ${CUDA_PACKAGE.version} is built for onnxruntime 1.29.0`;
    return { usable: false, reason, mend: install };
  }
  for (const file of missing) {
    const source = join(dirname(manifest), CUDA_PACKAGE.folder, file);
    const target = join(folder, file);
    try {
      symlinkSync(source, target);
    } catch (error) {
      // Two processes may do this at once; whoever comes second finds the link.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      return {
        usable: false,
        reason: `cannot link ${file} into the folder of onnxruntime-node: ${(error as Error).message}`,
        mend: `Run once, as the owner of node_modules: ln -s ${source} ${target}`,
      };
    }
  }
  return { usable: true };
}

/** @returns null where the tiny session ran, else the reason why it did not. */
async function runChild(provider: ExecutionProvider): Promise<string | null> {
  const model = Buffer.from(tinyModel()).toString('base64');
  const script = PROBE_SCRIPT;
  const child = spawn(process.execPath, ['-e', script, require.resolve('onnxruntime-node'), provider, model], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), PROBE_TIMEOUT_MS);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.on('error', (error) => {
      output += `\n${RESULT_MARK}${error.message}`;
      resolve([1, null]);
    });
    child.on('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal]));
  });
  clearTimeout(timer);
  if (code === 0) return null;
  if (signal !== null) return `trying it ended the process with ${signal}`;
  const marked = output.split('\n').find((line) => line.startsWith(RESULT_MARK));
  return marked?.slice(RESULT_MARK.length).trim() ?? `trying it ended the process with exit code ${code}`;
}

const RESULT_MARK = 'assay-probe: ';

/** CommonJS, run by `node -e`: create the session, run it once, check the sum. */
const PROBE_SCRIPT = `
const [path, provider, model] = process.argv.slice(1);
(async () => {
  const ort = require(path);
  const options = { executionProviders: [provider], logSeverityLevel: 4 };
  const session = await ort.InferenceSession.create(Buffer.from(model, 'base64'), options);
  const x = new ort.Tensor('float32', new Float32Array(16).fill(1), [1, 1, 4, 4]);
  const { y } = await session.run({ x });
  if (y.data[0] !== 9) throw new Error('a convolution of ones gave ' + y.data[0] + ', expected 9');
})().then(
  () => process.exit(0),
  (error) => {
    // The useful part of onnxruntime's messages stands at their end, behind a source location.
    const text = String(error.message).split(' was false. ').pop().trim().replace(/\\n/g, ' ');
    process.stderr.write('\\n${RESULT_MARK}' + text + '\\n');
    process.exit(1);
  },
);
`;

/** y = Conv(x, ones 3x3): makes a GPU provider load its convolution library too. */
function tinyModel(): Uint8Array {
  return writeOnnx({
    name: 'probe',
    opset: 13,
    inputs: [{ name: 'x', type: 'float32', shape: [1, 1, 4, 4] }],
    outputs: [{ name: 'y', type: 'float32', shape: [1, 1, 2, 2] }],
    nodes: [{ name: 'conv', op: 'Conv', domain: '', inputs: ['x', 'w'], outputs: ['y'], attributes: new Map() }],
    initializers: new Map([['w', { type: 'float32', shape: [1, 1, 3, 3], data: new Float32Array(9).fill(1) }]]),
  });
}

export function isInstalled(name: string): boolean {
  try {
    require.resolve(`${name}/package.json`);
    return true;
  } catch {
    return false;
  }
}
