/**
 * From an integer graph to its shape program and the integers of its model key.
 *
 * Every tensor becomes an expression over its axes: sums of views of committed slots, and products (einsums). An
 * expression is consumed in three places only: by a requantisation, by a maximum, and as a public output. There the
 * multipliers of the requantisation are folded into the committed weights (W' = M W, b' = M b), so that a proof sees
 * one linear expression and retraining a model changes its key but not its program.
 */
import { AssayError } from '../../common/errors.js';
import { operandsOf } from '../../graph/integer/operands.js';
import type { IntegerGraph, IntegerNode, TensorId } from '../../graph/integer/types.js';
import { decodeProgram } from './decode-program.js';
import type { Draft, ProgramWithModel } from './drafts.js';
import { encodeProgram } from './encode-program.js';
import { maximum } from './lower-maxima.js';
import { convolution, matmul, matmulActivations, mul, scale } from './lower-products.js';
import { requant } from './lower-requant.js';
import { combine, view } from './lower-views.js';
import { materialise, splitting } from './materialise.js';
import { chooseModelBits } from './model-bits.js';
import { ProgramBuilder } from './program-builder.js';
import type { Program, PublicOutput } from './types.js';

export type { ProgramWithModel, SlotValues, WitnessOrigin } from './drafts.js';

/**
 * @throws AssayError NOT_PROVABLE naming the node and the reason, where the proof system has no form for it.
 */
export function buildProgram(graph: IntegerGraph): ProgramWithModel {
  const builder = new ProgramBuilder(graph);
  for (const id of graph.inputs) builder.addInput(id);
  const tail = publicTail(graph);
  for (const node of graph.nodes) {
    if (tail.has(node.output)) continue;
    try {
      builder.setDraft(node.output, lower(builder, node));
    } catch (error) {
      throw error instanceof AssayError && error.code === 'NOT_PROVABLE'
        ? new AssayError('NOT_PROVABLE', `${node.kind} node '${node.name}': ${error.message}`, { cause: error })
        : error;
    }
  }
  const published = graph.outputs.map((id) => tail.get(id) ?? { tensor: id, argMaxAxis: null });
  const outputs = published.map(({ tensor, argMaxAxis }): PublicOutput => ({
    range: graph.tensors[tensor]!.range,
    expression: splitting(materialise(builder, builder.draft(tensor), null)),
    argMaxAxis,
  }));
  const { witness, model, tables, inputs, requants, maxima, modelValues, origins, requantNodes } = builder;
  const shape = { witness, model, tables, inputs, requants, maxima, outputs };
  return {
    program: withinLimits({ ...shape, modelBits: chooseModelBits(shape) }),
    modelValues,
    origins,
    requantNodes,
    published: published.map(({ tensor }) => tensor),
  };
}

/** What a verifier would refuse to read is not provable; better said before the work than after. */
function withinLimits(program: Program): Program {
  try {
    decodeProgram(encodeProgram(program));
    return program;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'MODEL_KEY_INVALID')
      throw new AssayError('NOT_PROVABLE', error.message, { cause: error });
    throw error;
  }
}

/** The expression of a node's output over its axes. */
function lower(builder: ProgramBuilder, node: IntegerNode): Draft {
  switch (node.kind) {
    case 'matmul':
      return matmul(builder, node);
    case 'conv':
      return convolution(builder, node);
    case 'matmulActivations':
      return matmulActivations(builder, node);
    case 'mul':
      return mul(builder, node);
    case 'scale':
      return scale(builder, node);
    case 'combine':
      return combine(builder, node);
    case 'requant':
      return requant(builder, node);
    case 'maxPool':
    case 'reduceMax':
      return maximum(builder, node);
    case 'argMax':
      throw new AssayError('NOT_PROVABLE', 'an index of a maximum that other nodes read has no proof yet');
    default:
      return view(builder, node);
  }
}

/**
 * Outputs that everybody computes from a published tensor: an ArgMax at the end of the graph, perhaps reshaped.
 * By tensor: what is published instead; the nodes in between have no proof and need none.
 */
function publicTail(graph: IntegerGraph): Map<TensorId, { tensor: TensorId; argMaxAxis: number | null }> {
  const consumers = new Map<TensorId, IntegerNode[]>();
  for (const node of graph.nodes)
    for (const id of operandsOf(node)) consumers.set(id, [...(consumers.get(id) ?? []), node]);
  const tail = new Map<TensorId, { tensor: TensorId; argMaxAxis: number | null }>();
  for (const node of graph.nodes) {
    if (node.kind !== 'argMax') continue;
    const chain = [node.output];
    for (
      let readers = consumers.get(node.output);
      readers?.length === 1 && readers[0]!.kind === 'reshape';
      readers = consumers.get(chain.at(-1)!)
    )
      chain.push(readers[0]!.output);
    const end = chain.at(-1)!;
    if (
      consumers.has(end) ||
      !graph.outputs.includes(end) ||
      chain.slice(0, -1).some((id) => graph.outputs.includes(id))
    )
      continue;
    for (const id of chain) tail.set(id, { tensor: node.x, argMaxAxis: node.axis });
  }
  return tail;
}
