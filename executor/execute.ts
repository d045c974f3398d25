/**
 * One job on one session: inputs in, integers and the commitments to them out.
 *
 *   1. The inputs are checked: one array per graph input, `items` whole items, every element in its range. An input out
 *      of range would make every proved bound void, so nothing is run and nothing can be signed for it.
 *   2. The session gives every slot that the model's traces commit; the inputs are among them. What lies between is
 *      computed again where it is asked for.
 *   3. Each tensor is hashed as soon as the session has it. The roots are computed over exactly what is returned; a value
 *      that a tensor's range rules out is refused there.
 */
import { asAssayError, AssayError } from '../common/errors.js';
import {
  checkInputs,
  committedTensors,
  directRun,
  inputRootOf,
  outputRootOf,
  slotsOf,
  traceRootOf,
} from '../graph/index.js';
import type { TraceHasher } from '../graph/commitment/wasm/trace-hasher.js';
import type { Bundle, TensorId, TraceRun } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import type { ExactSession } from './engine.js';

/** The part of a result that a receipt states. */
export interface ExecutionRoots {
  readonly inputRoot: Hex;
  readonly outputRoot: Hex;
  readonly traceRoot: Hex;
  /** Number of the model's slots, whatever of them is committed. */
  readonly opCount: number;
}

export interface Execution extends ExecutionRoots {
  /** One array per graph output, items * size(item shape) integers. */
  readonly outputs: Int32Array[];
  /** One array per committed slot, in the order of the trace's leaves. */
  readonly slots: Int32Array[];
}

/**
 * @param inputs one array per graph input, items * size(item shape) integers each.
 * @param hasher hashes tensors on other threads while the session goes on; one job at a time.
 * @throws AssayError INPUT_RANGE before anything runs; ENGINE_NOT_EXACT, ENGINE_FAILED from the engine.
 */
export async function executeJob(
  session: ExactSession,
  bundle: Bundle,
  inputs: readonly Int32Array[],
  items: number,
  hasher?: Pick<TraceHasher, 'begin'>,
): Promise<Execution> {
  const { graph } = bundle;
  checkInputs(graph, inputs, items);
  const committing = new Committing(bundle, items, hasher);
  const slots = await session.run(inputs, items, (position, values) => committing.add(position, values));
  return { ...committing.roots(slots), outputs: outputsFrom(bundle, slots), slots };
}

/**
 * The commitments to the slots of an execution.
 * @param slots one array per committed slot.
 * @throws AssayError ENGINE_NOT_EXACT where a slot holds a value outside its tensor's range.
 */
export function commit(bundle: Bundle, slots: readonly Int32Array[], items: number): ExecutionRoots {
  return new Committing(bundle, items).roots(slots);
}

/** Tensors are hashed as they come; what has not come by then, when the roots are asked for. */
class Committing {
  readonly #ids: readonly TensorId[];
  readonly #run: TraceRun;
  readonly #added = new Map<number, Int32Array>();

  constructor(
    readonly bundle: Bundle,
    items: number,
    hasher?: Pick<TraceHasher, 'begin'>,
  ) {
    const { graph, committedSlots } = bundle;
    this.#ids = committedTensors(graph, committedSlots);
    const infos = this.#ids.map((id) => graph.tensors[id]!);
    this.#run = hasher === undefined ? directRun(infos, items) : hasher.begin(infos, items);
  }

  add(position: number, values: Int32Array): void {
    this.#exact(() => this.#run.add(position, values));
    this.#added.set(position, values);
  }

  roots(slots: readonly Int32Array[]): ExecutionRoots {
    const { graph, committedSlots } = this.bundle;
    if (slots.length !== this.#ids.length)
      throw new AssayError(
        'ENGINE_NOT_EXACT',
        `model ${graph.name} commits ${this.#ids.length} slots, ${slots.length} were computed`,
      );
    // What is returned is what is committed: a tensor that is another one than the session handed over is hashed again.
    slots.forEach((values, position) => {
      if (this.#added.get(position) !== values) this.add(position, values);
    });
    const roots = this.#exact(() => this.#run.roots());
    return {
      // Graph inputs are the first slots, and every table holds them.
      inputRoot: inputRootOf(roots.slice(0, graph.inputs.length)) as Hex,
      outputRoot: outputRootOf(graph.outputs.map((id) => roots[this.#ids.indexOf(id)]!)) as Hex,
      traceRoot: traceRootOf(roots, committedSlots) as Hex,
      opCount: slotsOf(graph).length,
    };
  }

  #exact<T>(hash: () => T): T {
    try {
      return hash();
    } catch (error) {
      const { name } = this.bundle.graph;
      const cause = asAssayError(error);
      throw new AssayError('ENGINE_NOT_EXACT', `model ${name}: ${cause.message}`, { meta: cause.meta, cause });
    }
  }
}

/** The graph outputs among the committed slots. */
export function outputsFrom(bundle: Bundle, slots: readonly Int32Array[]): Int32Array[] {
  const ids = committedTensors(bundle.graph, bundle.committedSlots);
  return bundle.graph.outputs.map((output) => slots[ids.indexOf(output)]!);
}
