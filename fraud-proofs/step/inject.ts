/**
 * Lies, for tests, the demo and drills: a trace with one element changed at one operator, as a cheat would commit it.
 * A clever cheat computes everything behind the lie from it, so that nothing but that element is wrong; a sloppy one leaves
 * the rest as it was, so that the next operators do not fit either.
 */
import { AssayError } from '../../common/errors.js';
import { elementWidth } from '../../graph/commitment/encoding.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import { operandsOf } from '../../graph/integer/operands.js';
import type { IntegerGraph, TensorId } from '../../graph/integer/types.js';
import { FullTrace } from '../nodes/full-trace.js';
import type { StepModel } from './step-model.js';

/** One element, moved by `delta`. */
export interface Tamper {
  /** Number of a slot; or number or name of an operator: then the slot that it gives, or the first that is computed from it. */
  readonly at: { readonly slot: number } | { readonly op: number | string };
  /** In memory order, item outermost. */
  readonly element: number;
  readonly delta: number;
  /** True: what lies behind is computed from the lie. */
  readonly downstream: boolean;
}

export interface TamperedTrace {
  readonly trace: FullTrace;
  readonly slot: number;
  readonly was: number;
  readonly is: number;
}

/**
 * @param inputs one array per graph input, right ones.
 * @throws AssayError TAMPER_INVALID where there is no such element, or its value would leave its range (with `downstream`) or
 * its encoding.
 */
export function tamperTrace(
  model: StepModel,
  inputs: readonly Int32Array[],
  items: number,
  lie: Tamper,
): TamperedTrace {
  const { graph } = model.model;
  const slot = 'slot' in lie.at ? lie.at.slot : slotBehind(model, lie.at.op);
  const id = model.slots[slot];
  if (id === undefined || slot < graph.inputs.length)
    throw invalid(
      `slot ${slot} is not computed: those that are have the numbers ${graph.inputs.length} to ${model.slotCount - 1}`,
    );
  const values = evaluateGraph(graph, inputs, items);
  const changed = values[id]!.slice();
  const was = changed[lie.element];
  if (was === undefined) throw invalid(`slot ${slot} has ${changed.length} elements, and no element ${lie.element}`);
  const is = was + lie.delta;
  const { range } = graph.tensors[id]!;
  const bits = 8 * elementWidth(range);
  const [least, most] = range.lo < 0 ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** Math.min(bits, 31) - 1];
  const [lo, hi] = lie.downstream ? [range.lo, range.hi] : [least, most];
  if (!Number.isInteger(is) || is === was || is < lo || is > hi)
    throw invalid(
      `element ${lie.element} of slot ${slot} is ${was} and would be ${is}; it must change, and stay in ${lo}..${hi}`,
    );
  changed[lie.element] = is;
  const told = lie.downstream ? evaluateGraph(...withTensorGiven(graph, id, inputs, changed), items) : [...values];
  told[id] = changed;
  return {
    trace: new FullTrace(
      model,
      model.slots.map((tensor) => told[tensor]!),
      items,
    ),
    slot,
    was,
    is,
  };
}

const invalid = (message: string): AssayError => new AssayError('TAMPER_INVALID', message);

/** The graph in which a tensor is given instead of computed, and its inputs. */
function withTensorGiven(
  graph: IntegerGraph,
  id: TensorId,
  inputs: readonly Int32Array[],
  data: Int32Array,
): [IntegerGraph, Int32Array[]] {
  const nodes = graph.nodes.filter((node) => node.output !== id);
  return [{ ...graph, nodes, inputs: [...graph.inputs, id] }, [...inputs, data]];
}

function slotBehind(model: StepModel, op: number | string): number {
  const { graph } = model.model;
  const first = typeof op === 'number' ? op : graph.nodes.findIndex(({ name }) => name === op);
  if (graph.nodes[first] === undefined) throw invalid(`the model has no operator ${op}; it has ${graph.nodes.length}`);
  const behind = new Set([graph.nodes[first]!.output]);
  for (const node of graph.nodes.slice(first)) {
    if (!behind.has(node.output) && !operandsOf(node).some((id) => behind.has(id))) continue;
    behind.add(node.output);
    const slot = model.slots.indexOf(node.output);
    if (slot >= 0) return slot;
  }
  throw invalid(`nothing is committed behind operator ${op}`);
}
