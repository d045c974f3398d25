/** Many small cases in one session: engines spend more time on making a session than on running a small graph. */
import type { ConvolutionForm, Engine } from '../../executor/engine.js';
import { bundleOfGraph } from '../../executor/graph-bundle.js';
import { evaluateGraph, sizeOf, slotsOf } from '../../graph/index.js';
import type { Bundle, IntegerGraph, IntegerNode } from '../../graph/index.js';

export interface Case {
  /** Says how to make it again. */
  readonly name: string;
  readonly graph: IntegerGraph;
  readonly inputs: readonly Int32Array[];
  readonly items: number;
}

export interface Difference {
  readonly case: string;
  readonly tensor: string;
  readonly element: number;
  readonly expected: number;
  readonly found: number | undefined;
}

/** Cases joined into one graph, with what the reference computes for each. */
export interface PreparedCases {
  readonly cases: readonly Case[];
  readonly bundle: Bundle;
  readonly inputs: readonly Int32Array[];
  readonly items: number;
  /** Per case, the value of every tensor. */
  readonly expected: readonly (readonly Int32Array[])[];
}

export function prepareCases(cases: readonly Case[]): PreparedCases {
  const items = Math.max(...cases.map((one) => one.items));
  const inputs = cases.flatMap((one) =>
    one.inputs.map((values, index) => {
      // Shorter batches repeat their last item.
      const size = sizeOf(one.graph.tensors[one.graph.inputs[index]!]!.shape);
      return Int32Array.from({ length: size * items }, (_, at) => {
        const item = Math.min(Math.floor(at / size), one.items - 1);
        return values[item * size + (at % size)]!;
      });
    }),
  );
  return {
    cases,
    bundle: bundleOfGraph(sideBySide(cases.map((one) => one.graph))),
    inputs,
    items,
    expected: cases.map((one) => evaluateGraph(one.graph, one.inputs, one.items)),
  };
}

/** Runs the cases on the engine, all in one session, and lists the first difference of every case. */
export async function differences(
  engine: Engine,
  { cases, bundle, inputs, items, expected }: PreparedCases,
  convolution: ConvolutionForm,
): Promise<Difference[]> {
  const session = await engine.loadExact(bundle, { convolution });
  let found: Int32Array[];
  try {
    found = await session.run(inputs, items);
  } finally {
    await session.close();
  }
  const byTensor = new Map(slotsOf(bundle.graph).map((slot, index) => [slot, found[index]!]));
  const list: Difference[] = [];
  let offset = 0;
  cases.forEach((one, index) => {
    for (const slot of slotsOf(one.graph)) {
      const right = expected[index]![slot]!;
      const values = byTensor.get(slot + offset)!;
      const element = right.findIndex((value, at) => values[at] !== value);
      if (element < 0) continue;
      const tensor = one.graph.tensors[slot]!.name;
      list.push({ case: one.name, tensor, element, expected: right[element]!, found: values[element] });
      break;
    }
    offset += one.graph.tensors.length;
  });
  return list;
}

/** The graphs as one, none touching another; tensor ids of graph k are moved behind those of the graphs before it. */
function sideBySide(graphs: readonly IntegerGraph[]): IntegerGraph {
  const joined = { tensors: [], nodes: [], inputs: [], outputs: [] } as {
    [key in 'tensors' | 'nodes' | 'inputs' | 'outputs']: IntegerGraph[key][number][];
  };
  graphs.forEach((graph, index) => {
    const by = joined.tensors.length;
    joined.tensors.push(...graph.tensors.map((info) => ({ ...info, name: `${index}/${info.name}` })));
    joined.nodes.push(...graph.nodes.map((node) => shifted(node, by, index)));
    joined.inputs.push(...graph.inputs.map((id) => id + by));
    joined.outputs.push(...graph.outputs.map((id) => id + by));
  });
  return { name: 'cases', ...joined };
}

function shifted(node: IntegerNode, by: number, index: number): IntegerNode {
  const moved = { ...node, name: `${index}/${node.name}`, output: node.output + by };
  switch (moved.kind) {
    case 'matmulActivations':
    case 'mul':
      return { ...moved, a: moved.a + by, b: moved.b + by };
    case 'combine':
      return { ...moved, terms: moved.terms.map(({ x, coefficient }) => ({ x: x + by, coefficient })) };
    case 'concat':
      return { ...moved, xs: moved.xs.map((x) => x + by) };
    default:
      return { ...moved, x: moved.x + by };
  }
}
