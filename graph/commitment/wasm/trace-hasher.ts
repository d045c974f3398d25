/**
 * Roots of the tensors of a trace on several threads: helpers hash the tensors that are there while the caller fetches the
 * next ones. In Node only.
 */
import { Worker } from 'node:worker_threads';
import { AssayError } from '../../../common/errors.js';
import { sizeOf } from '../../tensor.js';
import { CHUNK_ELEMENTS } from '../chunk-size.js';
import { TAG } from '../tags.js';
import { checkLength, rootFromTree, tensorHeader, tensorRootBytes, type CommittedInfo } from '../tensor-root.js';
import { directRun, missingTensor, type TraceRun } from '../trace-run.js';
import { BlockQueue, queueMemory } from './block-queue.js';
import { arenaAt, hashKernels, hashMemory, hashModule, PAGE_BYTES, scratchAt } from './hash-kernels.js';
import type { HashKernels, HashMemory, HashModule } from './hash-kernels.js';
import type { HashWorkerSettings } from './hash-worker.js';
import { BLOCK_CHUNKS, JOB_BYTES } from './layout.js';
import { fits, orderOf, writeJob } from './tensor-job.js';

const BLOCK_ELEMENTS = BLOCK_CHUNKS * CHUNK_ELEMENTS;
/** Bytes that the memory of the kernels may reach. */
const MOST_BYTES = 2 ** 32 - PAGE_BYTES;
/** Below two blocks there is nothing to share out. */
const LEAST_ELEMENTS = 2 * BLOCK_ELEMENTS;

const align = (bytes: number): number => Math.ceil(bytes / 16) * 16;

/** Bytes that an element takes in the kernels' memory, which never shrinks: what the largest trace needed stays. */
export const HASHING_BYTES_PER_ELEMENT = 4;
/** Job, hash of a last block and alignments; full blocks have 32 bytes for their 32,768 elements. */
const BYTES_PER_TENSOR = JOB_BYTES + 128;

export class TraceHasher {
  readonly #shared: SharedKernels | null;

  private constructor(shared: SharedKernels | null) {
    this.#shared = shared;
  }

  /**
   * @param threads that hash, the calling one included; 1 hashes each tensor when it is added.
   * @throws AssayError INTERNAL where a helper does not start.
   */
  static async open(threads: number): Promise<TraceHasher> {
    const code = hashModule();
    if (code === null || threads <= 1) return new TraceHasher(null);
    return new TraceHasher(await SharedKernels.open(code, threads));
  }

  /** Begins a trace of tensors with `items` items each. One at a time: it ends the one before, finished or not. */
  begin(infos: readonly CommittedInfo[], items: number): TraceRun {
    const elements = infos.reduce((sum, { shape }) => sum + items * sizeOf(shape), 0);
    const alone =
      this.#shared === null ||
      elements < LEAST_ELEMENTS ||
      arenaAt(this.#shared.threads) +
        (HASHING_BYTES_PER_ELEMENT + 2 ** -10) * elements +
        BYTES_PER_TENSOR * infos.length >
        MOST_BYTES;
    return alone ? directRun(infos, items) : this.#shared!.begin(infos, items);
  }

  /** Ends the helpers. */
  async close(): Promise<void> {
    await this.#shared?.close();
  }
}

/** A tensor in the kernels' memory. */
interface Placed {
  readonly results: number;
  readonly blocks: number;
  readonly values: Int32Array;
}

class SharedKernels {
  readonly #kernels: HashKernels;
  readonly #queue: BlockQueue;
  readonly #helpers: readonly Worker[];
  #top = 0;
  #run = 0;

  private constructor(
    readonly threads: number,
    readonly memory: HashMemory,
    kernels: HashKernels,
    queue: Int32Array,
    helpers: readonly Worker[],
  ) {
    this.#kernels = kernels;
    this.#queue = new BlockQueue(queue, kernels, scratchAt(0));
    this.#helpers = helpers;
  }

  static async open(code: HashModule, threads: number): Promise<SharedKernels> {
    const memory = hashMemory(threads);
    const queue = queueMemory();
    const helpers = await Promise.all(
      Array.from({ length: threads - 1 }, (_, i) => startHelper({ code, memory, queue, thread: i + 1 })),
    );
    return new SharedKernels(threads, memory, hashKernels(code, memory), queue, helpers);
  }

  begin(infos: readonly CommittedInfo[], items: number): TraceRun {
    // What an abandoned trace left in the queue still reads its place in memory.
    this.#queue.finish();
    this.#top = arenaAt(this.threads);
    const run = ++this.#run;
    const tensors: (Placed | Uint8Array)[] = [];
    return {
      add: (position, values) => {
        this.#check(run);
        const info = infos[position]!;
        checkLength(info, values, items);
        // What has more dimensions than a job is hashed here and now.
        tensors[position] = this.#place(info, values, items) ?? tensorRootBytes(info, values, items);
      },
      roots: () => {
        this.#check(run);
        const failed = this.#queue.finish();
        return infos.map((info, position) => {
          const tensor = tensors[position];
          if (tensor === undefined) throw missingTensor(position);
          if (tensor instanceof Uint8Array) return tensor;
          // Some block was refused: the calling thread names the element.
          if (failed) return tensorRootBytes(info, tensor.values, items);
          return rootFromTree(tensorHeader(info, items), this.#value(tensor));
        });
      },
    };
  }

  async close(): Promise<void> {
    this.#queue.finish();
    await Promise.all(this.#helpers.map((helper) => helper.terminate()));
  }

  #check(run: number): void {
    if (run !== this.#run) throw new AssayError('INTERNAL', 'a trace was begun while another one was hashed');
  }

  #place(info: CommittedInfo, values: Int32Array, items: number): Placed | null {
    const order = orderOf(info, items);
    if (!fits(order)) return null;
    const blocks = Math.ceil(values.length / BLOCK_ELEMENTS);
    const job = this.#top;
    const results = align(job + JOB_BYTES);
    const data = align(results + 32 * blocks);
    this.#top = align(data + 4 * values.length);
    this.#reserve(this.#top);
    const words = new Int32Array(this.memory.buffer);
    words.set(values, data >> 2);
    writeJob(words, job, info, order, { data, elements: values.length, out: results });
    for (let block = 0; block < blocks; block++) this.#queue.publish(job, block);
    return { results, blocks, values };
  }

  #value({ results, blocks }: Placed): Uint8Array {
    this.#kernels.treeValue(scratchAt(0), TAG.tensorNode, results, blocks);
    return new Uint8Array(this.memory.buffer, results, 32).slice();
  }

  #reserve(bytes: number): void {
    const missing = bytes - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
  }
}

function startHelper(settings: HashWorkerSettings): Promise<Worker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(...entryOf(settings));
    // Only a thread that is ready lets the process end: before that, its start is what the caller waits for.
    worker.once('message', () => {
      worker.unref();
      resolve(worker);
    });
    worker.on('error', (cause) =>
      reject(new AssayError('INTERNAL', `a thread that hashes traces did not start: ${cause.message}`, { cause })),
    );
  });
}

/** The thread's file: compiled beside this one, or, where this runs from source, through tsx. */
function entryOf(workerData: HashWorkerSettings): ConstructorParameters<typeof Worker> {
  if (!import.meta.url.endsWith('.ts'))
    return [new URL('./hash-worker.js', import.meta.url), { workerData, execArgv: [] }];
  const source = JSON.stringify(new URL('./hash-worker.ts', import.meta.url).href);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const line = `import(${loader}).then(({ register }) => (register(), import(${source})))`;
  return [line, { workerData, eval: true, execArgv: [] }];
}
