/**
 * What commitments to a trace cost beside the inference that they are about, in one process and by turns, so that both
 * meet the same machine.
 *
 * Answers first: the slots of item 0 equal those of the reference evaluator, and the roots those of the slow hash in
 * JavaScript. Then, for each repetition: inference alone, the session that hands out the committed tensors, and a whole
 * job with its hashing timed inside it, where caches are as they are then.
 */
import { AssayError } from '../../common/errors.js';
import { commit, executeJob, openEngine } from '../../executor/index.js';
import { rootFromTree, slowTreeValue, tensorHeader } from '../../graph/commitment/tensor-root.js';
import { TraceHasher } from '../../graph/commitment/wasm/trace-hasher.js';
import { committedTensors, decodeBundle, evaluateGraph, makeBundle, sizeOf, traceRootOf } from '../../graph/index.js';
import type { Bundle, CommittedInfo, TraceRun } from '../../graph/index.js';
import { timed, timedAsync } from '../timing.js';
import { openInference, type InferenceTask } from './inference-measure.js';

const WARM_UP_MS = 500;

/** The bundle commits every slot. */
export interface CommitmentTask extends InferenceTask {
  /** Committed slots of the second measurement; undefined where no slot can be left out. */
  readonly boundaries: readonly number[] | undefined;
}

/** Milliseconds of each repetition. */
export interface CommitmentMeasured {
  readonly elements: number;
  /** The session, all committed tensors as integers included. */
  readonly runMs: number[];
  /** What an executor does: checks inputs, runs the session, hashes. */
  readonly jobMs: number[];
  /** Of the job: its thread's time from integers to the roots of inputs, outputs and trace. */
  readonly hashingMs: number[];
}

export interface CommitmentsMeasured {
  readonly inferenceMs: readonly number[];
  readonly every: CommitmentMeasured;
  readonly boundaries: CommitmentMeasured;
}

export async function measureCommitment(task: CommitmentTask): Promise<CommitmentsMeasured> {
  const every = decodeBundle(task.bundle, 'bundle');
  const bounded = task.boundaries === undefined ? every : makeBundle({ ...every, committedSlots: task.boundaries });
  const inference = await openInference(task);
  const hasher = await TraceHasher.open(task.threads);
  const measured = [];
  for (const bundle of [every, bounded]) measured.push(await openMeasured(task, bundle, hasher));
  const inferenceMs: number[] = [];
  // The first repetition fills caches and is not counted.
  for (let i = 0; i <= task.repeat; i++) {
    const { ms } = await timedAsync(() => inference.run());
    if (i > 0) inferenceMs.push(ms);
    for (const one of measured) await one.repeat(i > 0);
  }
  for (const one of measured) await one.close();
  await hasher.close();
  await inference.close();
  return { inferenceMs, every: measured[0]!.result, boundaries: measured[1]!.result };
}

async function openMeasured({ inputs, items, threads }: CommitmentTask, bundle: Bundle, hasher: TraceHasher) {
  const { graph, committedSlots } = bundle;
  const ids = committedTensors(graph, committedSlots);
  const infos = ids.map((id) => graph.tensors[id]!);
  const engine = await openEngine('onnxruntime-cpu', { threads });
  const session = await engine.loadExact(bundle);
  const slots = await session.run(inputs, items);
  const firstItem = inputs.map((values, i) => values.subarray(0, sizeOf(graph.tensors[graph.inputs[i]!]!.shape)));
  const expected = evaluateGraph(graph, firstItem, 1);
  ids.forEach((id, position) => {
    if (!expected[id]!.every((value, at) => slots[position]![at] === value))
      throw new AssayError('INTERNAL', `tensor ${graph.tensors[id]!.name} differs from the reference`);
  });
  const slow = infos.map((info, position) =>
    rootFromTree(tensorHeader(info, items), slowTreeValue(info, slots[position]!, items)),
  );
  const root = traceRootOf(slow, committedSlots);
  const check = (found: string): void => {
    if (found !== root) throw new AssayError('INTERNAL', `trace root ${found}, expected ${root}`);
  };
  // An executor lives long: its code is compiled. What a few repetitions would measure is the interpreter.
  const warmBy = performance.now() + WARM_UP_MS;
  do check(commit(bundle, slots, items).traceRoot);
  while (performance.now() < warmBy);
  const result: CommitmentMeasured = {
    elements: slots.reduce((sum, { length }) => sum + length, 0),
    runMs: [],
    hashingMs: [],
    jobMs: [],
  };
  return {
    result,
    repeat: async (counted: boolean): Promise<void> => {
      const run = await timedAsync(() => session.run(inputs, items));
      const clock = new HashingClock(hasher);
      const job = await timedAsync(() => executeJob(session, bundle, inputs, items, clock));
      const hashingMs = clock.elapsedMs();
      check(job.value.traceRoot);
      if (!counted) return;
      result.runMs.push(run.ms);
      result.jobMs.push(job.ms);
      result.hashingMs.push(hashingMs);
    },
    close: async (): Promise<void> => {
      await session.close();
      await engine.close();
    },
  };
}

/** A hasher that knows how long its caller has been with it: in `add`, and from `roots` on. */
class HashingClock implements Pick<TraceHasher, 'begin'> {
  #addMs = 0;
  #rootsAt = 0;

  constructor(readonly hasher: TraceHasher) {}

  begin(infos: readonly CommittedInfo[], items: number): TraceRun {
    const run = this.hasher.begin(infos, items);
    return {
      add: (position, values) => {
        this.#addMs += timed(() => run.add(position, values)).ms;
      },
      roots: () => {
        this.#rootsAt = performance.now();
        return run.roots();
      },
    };
  }

  /** To be asked when the job is done: the roots of inputs, outputs and trace come last. */
  elapsedMs(): number {
    return this.#addMs + performance.now() - this.#rootsAt;
  }
}
