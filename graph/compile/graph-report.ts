/** What can be read off the finished integer graph. */
import { sizeOf } from '../tensor.js';
import { storageClasses } from '../integer/operands.js';
import type { IntegerGraph, IntegerNode } from '../integer/types.js';
import type { CompileReport } from '../bundle/report.js';
import { MANY_ROWS } from './requant-table.js';

/** Models below this many parameters are proved, and a large table then sets the size of a proof. */
const SMALL_MODEL = 1_000_000;

export type GraphReport = Pick<CompileReport, 'parameters' | 'macs' | 'tableRows' | 'largestAccumulator'> & {
  readonly warnings: readonly string[];
};

export function graphReport(graph: IntegerGraph): GraphReport {
  const parameters = graph.nodes.reduce((sum, node) => sum + parametersOf(node), 0);
  const macs = graph.nodes.reduce((sum, node) => sum + macsOf(node, graph), 0);
  const tableRows = graph.nodes.flatMap((node) =>
    node.kind === 'requant'
      ? [{ tensor: graph.tensors[node.output]!.name, rows: node.table.qHi - node.table.qLo + 1 }]
      : [],
  );
  const classes = storageClasses(graph);
  let largestAccumulator = { tensor: graph.tensors[graph.outputs[0]!]!.name, magnitude: 0 };
  graph.tensors.forEach(({ name, range }, id) => {
    const magnitude = Math.max(-range.lo, range.hi);
    if (classes[id] !== 'stored' && magnitude > largestAccumulator.magnitude)
      largestAccumulator = { tensor: name, magnitude };
  });
  const warnings =
    parameters >= SMALL_MODEL
      ? []
      : tableRows
          .filter(({ rows }) => rows > MANY_ROWS)
          .map(
            ({ tensor, rows }) =>
              `${tensor}: its table has ${rows} rows, more than ${MANY_ROWS}; it sets the column size of a proof`,
          );
  return { parameters, macs, tableRows, largestAccumulator, warnings };
}

function parametersOf(node: IntegerNode): number {
  switch (node.kind) {
    case 'matmul':
    case 'conv':
      return node.weight.length + (node.bias?.length ?? 0);
    case 'scale':
      return node.factor.data.length + (node.bias?.data.length ?? 0);
    case 'combine':
      return node.bias?.data.length ?? 0;
    default:
      return 0;
  }
}

/** Multiply-accumulates of products, per item. */
function macsOf(node: IntegerNode, graph: IntegerGraph): number {
  const out = graph.tensors[node.output]!.shape;
  switch (node.kind) {
    case 'matmul':
      return sizeOf(out) * node.inFeatures;
    case 'conv':
      return (sizeOf(out) * node.weight.length) / node.outChannels;
    case 'matmulActivations':
      return sizeOf(out) * graph.tensors[node.a]!.shape.at(-1)!;
    case 'mul':
    case 'scale':
      return sizeOf(out);
    default:
      return 0;
  }
}
