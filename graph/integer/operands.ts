/** What a node reads, and the three classes of tensor that follow from it. */
import type { IntegerGraph, IntegerNode, TensorId } from './types.js';

/** The tensors a node reads, by operand position; the same tensor may stand twice. */
export function operandsOf(node: IntegerNode): readonly TensorId[] {
  switch (node.kind) {
    case 'matmulActivations':
    case 'mul':
      return [node.a, node.b];
    case 'combine':
      return node.terms.map((term) => term.x);
    case 'concat':
      return node.xs;
    default:
      return [node.x];
  }
}

/**
 * - `stored`: an input, or the output of requant, maxPool, reduceMax or argMax. It is committed, so that a prover
 *   and a dispute know its elements to be bounded whatever computed them.
 * - `view`: a fixed structured map of stored tensors (combine, sumPool, reduceSum, wiring). Whoever reads it reads
 *   the stored tensors through the map; it is not committed unless it is a graph output.
 * - `accumulator`: an exact sum of products not yet requantised (matmul, matmulActivations, conv, mul, scale),
 *   or a combine or wiring of such. It is not committed unless it is a graph output.
 */
export type StorageClass = 'stored' | 'view' | 'accumulator';

/** Storage class of a node's output, from the classes of its operands. */
export function storageClass(node: IntegerNode, operands: readonly StorageClass[]): StorageClass {
  switch (node.kind) {
    case 'requant':
    case 'maxPool':
    case 'reduceMax':
    case 'argMax':
      return 'stored';
    case 'matmul':
    case 'matmulActivations':
    case 'conv':
    case 'mul':
    case 'scale':
      return 'accumulator';
    case 'sumPool':
    case 'reduceSum':
      return 'view';
    case 'combine':
    case 'reshape':
    case 'transpose':
    case 'concat':
    case 'slice':
    case 'pad':
    case 'expand':
      return operands.includes('accumulator') ? 'accumulator' : 'view';
  }
}

/** Storage class of every tensor, by id. */
export function storageClasses(graph: Pick<IntegerGraph, 'tensors' | 'nodes' | 'inputs'>): StorageClass[] {
  const classes = new Array<StorageClass>(graph.tensors.length).fill('stored');
  for (const node of graph.nodes)
    classes[node.output] = storageClass(
      node,
      operandsOf(node).map((id) => classes[id]!),
    );
  return classes;
}

/**
 * The materialised tensors in canonical order, which is the order of slots in a trace: the graph inputs, then in
 * node order every output that is stored (requant, maxPool, reduceMax, argMax) or is a graph output.
 */
export function slotsOf(graph: IntegerGraph): TensorId[] {
  const classes = storageClasses(graph);
  const outputs = new Set(graph.outputs);
  const computed = graph.nodes.map((node) => node.output);
  return [...graph.inputs, ...computed.filter((id) => classes[id] === 'stored' || outputs.has(id))];
}
