/**
 * Long work apart from the caller: one thread or process, one task, progress on the way, and everything it held given back
 * at its end. The module that does the work calls `serveTask`; it is found beside its caller, compiled, or from source
 * through tsx.
 *
 * A process is for snarkjs, which starts threads of its own, cannot do so inside a thread, and never ends them.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { AssayError, asAssayError, type AssayErrorOptions, type ErrorCode } from '../common/errors.js';

type Message<Result> =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'done'; readonly result: Result }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly options: AssayErrorOptions;
    };

/** @param text what the task says of itself. */
export type OnProgress = (text: string) => void;

const fromSource = import.meta.url.endsWith('.ts');

/**
 * @param file URL of the module without its ending, from `import.meta.url`.
 * @throws AssayError as the task threw it; INTERNAL where the thread ends without an answer.
 */
export async function runInThread<Task, Result>(file: URL, task: Task, onProgress?: OnProgress): Promise<Result> {
  const worker = new Worker(...threadEntry(file, task));
  try {
    return await answerOf<Result>(worker, onProgress);
  } finally {
    await worker.terminate();
  }
}

/**
 * As runInThread, in a process. Tasks and results are copied between processes: large things go through files.
 * @throws AssayError as the task threw it; INTERNAL where the process ends without an answer.
 */
export async function runInProcess<Task, Result>(file: URL, task: Task, onProgress?: OnProgress): Promise<Result> {
  const child = fork(fileURLToPath(`${file.href}${fromSource ? '.ts' : '.js'}`), {
    execArgv: fromSource ? ['--import', import.meta.resolve('tsx')] : [],
    serialization: 'advanced',
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  try {
    child.send({ task });
    return await answerOf<Result>(child, onProgress);
  } finally {
    process.off('exit', kill);
    kill();
  }
}

interface Apart<Result> {
  on(event: 'message', act: (message: Message<Result>) => void): unknown;
  on(event: 'error', act: (cause: Error) => void): unknown;
  on(event: 'exit', act: () => void): unknown;
}

function answerOf<Result>(apart: Apart<Result>, onProgress?: OnProgress): Promise<Result> {
  return new Promise((resolve, reject) => {
    const broken = (message: string, cause?: Error): void => reject(new AssayError('INTERNAL', message, { cause }));
    apart.on('message', (message) => {
      if (message.kind === 'progress') onProgress?.(message.text);
      else if (message.kind === 'done') resolve(message.result);
      else reject(new AssayError(message.code, message.message, message.options));
    });
    apart.on('error', (cause) => broken(`work that ran apart failed: ${cause.message}`, cause));
    apart.on('exit', () => broken('work that ran apart ended without an answer; it may have run out of memory'));
  });
}

/** What this process has used since it began; a process that does one task states with it what the task took. */
export function resourcesUsed(): { readonly cpuSeconds: number; readonly peakBytes: number } {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024 };
}

/** The other side: runs the task that this thread or process was started with. */
export function serveTask<Task, Result>(run: (task: Task, progress: OnProgress) => Promise<Result>): void {
  const serve = (task: Task, post: (message: Message<Result>) => void): void => {
    run(task, (text) => post({ kind: 'progress', text })).then(
      (result) => post({ kind: 'done', result }),
      (error: unknown) => {
        const { code, message, mend, meta } = asAssayError(error);
        post({ kind: 'failed', code, message, options: { mend, meta } });
      },
    );
  };
  if (parentPort !== null) {
    const port = parentPort;
    serve(workerData as Task, (message) => port.postMessage(message));
  } else if (process.send !== undefined) {
    const send = process.send.bind(process);
    process.once('message', ({ task }: { task: Task }) => serve(task, (message) => void send(message)));
    process.once('disconnect', () => process.exit());
  }
}

function threadEntry(file: URL, task: unknown): ConstructorParameters<typeof Worker> {
  if (!fromSource) return [new URL(`${file.href}.js`), { workerData: task, execArgv: [] }];
  const source = JSON.stringify(`${file.href}.ts`);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const line = `import(${loader}).then(({ register }) => (register(), import(${source})))`;
  return [line, { workerData: task, eval: true, execArgv: [] }];
}
