import { makeBundle, sizeOf } from '../graph/index.js';
import type { Bundle, IntegerGraph, Port, TensorId } from '../graph/index.js';

/** A bundle around a graph that comes from no ONNX file: for the self-test and for tests of engines. */
export function bundleOfGraph(graph: IntegerGraph): Bundle {
  const port = (id: TensorId): Port => {
    const { name, shape } = graph.tensors[id]!;
    return { name, type: 'float32', shape: [1, ...shape], batched: true };
  };
  const empty = { samples: 0, labelAgreement: null, maxAbsError: 0, meanAbsError: 0 };
  return makeBundle({
    graph,
    inputs: graph.inputs.map(port),
    outputs: graph.outputs.map(port),
    sourceHash: `0x${'00'.repeat(32)}`,
    report: {
      modelName: graph.name,
      opset: 0,
      parameters: graph.nodes.reduce((sum, node) => sum + ('weight' in node ? node.weight.length : 0), 0),
      macs: 0,
      nodes: [],
      tensors: [],
      calibration: empty,
      heldOut: null,
      tableRows: [],
      largestAccumulator: {
        tensor: graph.name,
        magnitude: Math.max(...graph.tensors.map(({ range, shape }) => (sizeOf(shape) > 0 ? magnitude(range) : 0))),
      },
      warnings: [],
    },
  });
}

function magnitude({ lo, hi }: { lo: number; hi: number }): number {
  return Math.max(Math.abs(lo), Math.abs(hi));
}
