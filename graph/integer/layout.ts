/** Axis order of tensors in commitments. */
import { operandsOf } from './operands.js';
import type { IntegerGraph, IntegerNode } from './types.js';

const identity = (shape: readonly number[]): number[] => shape.map((_, axis) => axis);

/** The layout that a node wants of its operands, given that of its output; null where it does not matter. */
function wantedLayout(node: IntegerNode, output: readonly number[] | null): readonly number[] | null {
  switch (node.kind) {
    case 'conv':
    case 'sumPool':
    case 'maxPool':
      return [1, 2, 0];
    case 'combine':
    case 'concat':
    case 'slice':
    case 'pad':
    case 'expand':
      return output;
    case 'transpose':
      return output && output.map((axis) => node.permutation[axis]!);
    default:
      return null;
  }
}

/**
 * The graph with the layout of every tensor set by its first consumer in node order that cares, seen through views:
 * channels-last ([1, 2, 0]) where that is a convolution or a pooling, so that one window is a few contiguous runs
 * of chunks; as in memory everywhere else. A matrix product reads its operands along their last axis already.
 */
export function withLayouts(graph: IntegerGraph): IntegerGraph {
  const wanted = new Array<readonly number[] | null>(graph.tensors.length).fill(null);
  for (const node of [...graph.nodes].reverse()) {
    const layout = wantedLayout(node, wanted[node.output]!);
    if (layout) for (const id of operandsOf(node)) wanted[id] = layout;
  }
  const tensors = graph.tensors.map((info, id) => ({ ...info, layout: wanted[id] ?? identity(info.shape) }));
  return { ...graph, tensors };
}
