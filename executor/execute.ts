/**
 * One job on one session: inputs in, integers and the commitments to them out.
 *
 *   1. The inputs are checked: one array per graph input, `items` whole items, every element in its range. An input out
 *      of range would make every proved bound void, so nothing is run and nothing can be signed for it.
 *   2. The session gives every slot.
 *   3. The roots are computed over exactly what is returned; a value that a tensor's range rules out is refused there.
 */
import { asAssayError, AssayError } from '../common/errors.js';
import { checkInputs, inputRoot, outputRoot, slotsOf, traceRoot } from '../graph/index.js';
import type { Bundle } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import type { ExactSession } from './engine.js';

/** The part of a result that a receipt states. */
export interface ExecutionRoots {
  readonly inputRoot: Hex;
  readonly outputRoot: Hex;
  readonly traceRoot: Hex;
  /** Number of slots under traceRoot. */
  readonly opCount: number;
}

export interface Execution extends ExecutionRoots {
  /** One array per graph output, items * size(item shape) integers. */
  readonly outputs: Int32Array[];
  /** One array per slot, in the order of `slotsOf(graph)`. */
  readonly slots: Int32Array[];
}

/**
 * @param inputs one array per graph input, items * size(item shape) integers each.
 * @throws AssayError INPUT_RANGE before anything runs; ENGINE_NOT_EXACT, ENGINE_FAILED from the engine.
 */
export async function executeJob(
  session: ExactSession,
  bundle: Bundle,
  inputs: readonly Int32Array[],
  items: number,
): Promise<Execution> {
  const { graph } = bundle;
  checkInputs(graph, inputs, items);
  const slots = await session.run(inputs, items);
  return { ...commit(bundle, slots, items), outputs: outputsFrom(bundle, slots), slots };
}

/**
 * The commitments to the slots of an execution.
 * @throws AssayError ENGINE_NOT_EXACT where a slot holds a value outside its tensor's range.
 */
export function commit(bundle: Bundle, slots: readonly Int32Array[], items: number): ExecutionRoots {
  const { graph } = bundle;
  try {
    return {
      inputRoot: inputRoot(graph, slots.slice(0, graph.inputs.length), items) as Hex,
      outputRoot: outputRoot(graph, outputsFrom(bundle, slots), items) as Hex,
      traceRoot: traceRoot(graph, slots, items) as Hex,
      opCount: slots.length,
    };
  } catch (error) {
    const cause = asAssayError(error);
    throw new AssayError('ENGINE_NOT_EXACT', `model ${graph.name}: ${cause.message}`, { meta: cause.meta, cause });
  }
}

/** The graph outputs among the slots. */
export function outputsFrom(bundle: Bundle, slots: readonly Int32Array[]): Int32Array[] {
  const ids = slotsOf(bundle.graph);
  return bundle.graph.outputs.map((output) => slots[ids.indexOf(output)]!);
}
