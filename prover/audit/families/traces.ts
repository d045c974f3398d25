/** False traces: an operator that gives something else than its definition says, and everything after it consistent. */
import type { IntegerGraph, IntegerNode } from '../../../graph/integer/types.js';
import type { Attempt, TamperFamily } from '../attack.js';
import { makeJob, proveJob, type AuditJob } from '../audited-prover.js';
import { CASE_KINDS, randomCase } from '../cases.js';
import type { Draw } from '../draw.js';
import { attempt, evaluateAny, isHonest, retrace, witnessFor, withTrace } from '../lies.js';
import { buildProgram } from '../../program/build-program.js';

/** Proves a false trace, unless it is a true one after all or the prover's own checks stop it. */
async function proveTrace(honest: AuditJob, job: AuditJob, what: string): Promise<Attempt[]> {
  if (witnessFor(job) === null || isHonest(honest, job)) return [];
  return attempt(what, job);
}

const bump = (values: Int32Array, at: number, delta: number): Int32Array =>
  values.map((v, i) => (i === at ? v + delta : v));

/** A graph with one attribute or constant of one node changed; null where this node has nothing to change. */
function otherNode(node: IntegerNode, draw: Draw): IntegerNode | null {
  const one = <T extends Int8Array | Int16Array | Int32Array>(values: T): T => {
    const copy = values.slice() as T;
    const at = draw.int(0, copy.length - 1);
    copy[at] = copy[at]! + (copy[at]! > 0 ? -1 : 1);
    return copy;
  };
  switch (node.kind) {
    case 'matmul':
    case 'conv':
      if (node.bias && draw.chance(0.4)) return { ...node, bias: one(node.bias) };
      if (node.kind === 'conv' && draw.chance(0.4)) {
        const [top, left, bottom, right] = node.window.pads;
        if (top !== bottom || left !== right)
          return { ...node, window: { ...node.window, pads: [bottom, right, top, left] } };
      }
      return { ...node, weight: one(node.weight) };
    case 'combine': {
      const at = draw.int(0, node.terms.length - 1);
      return {
        ...node,
        terms: node.terms.map((term, i) => (i === at ? { ...term, coefficient: -term.coefficient } : term)),
      };
    }
    case 'scale':
      return { ...node, factor: { ...node.factor, data: one(node.factor.data) } };
    case 'requant': {
      if (draw.chance(0.4)) return { ...node, multipliers: node.multipliers.map((m) => Math.ceil(m * 0.7)) };
      const { table } = node;
      return {
        ...node,
        table:
          table.kind === 'clamp'
            ? { ...table, lo: table.lo - 2, hi: table.hi + 2 }
            : { ...table, values: one(table.values) },
      };
    }
    case 'slice':
      return {
        ...node,
        starts: node.starts.map((start, i) => (node.steps[i]! === 1 && start > 0 ? start - 1 : start)),
      };
    case 'pad':
      return { ...node, value: node.value + 1 };
    case 'transpose':
      return { ...node, permutation: [...node.permutation].reverse() };
    default:
      return null;
  }
}

/** Every graph that differs from the given one in one node and still has its shapes. */
function otherGraph(graph: IntegerGraph, draw: Draw): { graph: IntegerGraph; what: string } | null {
  for (const node of draw.shuffled(graph.nodes)) {
    const other = otherNode(node, draw);
    if (other === null) continue;
    if (
      other.kind === 'transpose' &&
      other.permutation.some((axis, i) => shapeOf(graph, node)[i] !== sourceShape(graph, other)[axis])
    )
      continue;
    return {
      graph: { ...graph, nodes: graph.nodes.map((own) => (own === node ? other : own)) },
      what: `${node.kind} '${node.name}'`,
    };
  }
  return null;
}
const shapeOf = (graph: IntegerGraph, node: IntegerNode): readonly number[] => graph.tensors[node.output]!.shape;
const sourceShape = (graph: IntegerGraph, node: Extract<IntegerNode, { kind: 'transpose' }>): readonly number[] =>
  graph.tensors[node.x]!.shape;

export const traceFamilies: readonly TamperFamily[] = [
  {
    name: 'output of an operator off by one, everything after it consistent',
    kinds: CASE_KINDS,
    async attack(job, draw) {
      const group = job.groups[0]!;
      for (const node of draw.shuffled(group.graph.nodes)) {
        if (node.kind === 'argMax') continue;
        const honest = group.values[node.output]!;
        for (const delta of draw.shuffled([1, -1])) {
          const at = draw.int(0, honest.length - 1);
          const trace = retrace(group, node.output, bump(honest, at, delta));
          if (trace === null) continue;
          const what = `${node.kind} '${node.name}' element ${at} ${delta > 0 ? '+' : '-'} 1`;
          const attempts = await proveTrace(job, withTrace(job, 0, trace), what);
          if (attempts.length > 0) return attempts;
        }
      }
      return [];
    },
  },
  {
    name: 'another function: one attribute or constant of one operator changed in the trace',
    kinds: CASE_KINDS,
    async attack(job, draw) {
      const group = job.groups[0]!;
      const other = otherGraph(group.graph, draw);
      const trace = other && evaluateAny(other.graph, group.inputs, group.items);
      return trace ? proveTrace(job, withTrace(job, 0, trace), `another ${other.what}`) : [];
    },
  },
  {
    name: 'the elements of a reshape in another order',
    kinds: ['flattenMatmul', 'reshapeRequant', 'maxPool3x3', 'network'],
    async attack(job, draw) {
      const group = job.groups[0]!;
      const reshapes = group.graph.nodes.filter(({ kind }) => kind === 'reshape');
      const { output } = draw.pick(reshapes);
      const honest = group.values[output]!;
      const size = honest.length / group.items;
      // Within each item two elements change places.
      const [a, b] = [draw.int(0, size - 1), draw.int(0, size - 1)];
      const moved = honest.map((v, i) =>
        i % size === a ? honest[i - a + b]! : i % size === b ? honest[i - b + a]! : v,
      );
      const trace = retrace(group, output, moved);
      return trace ? proveTrace(job, withTrace(job, 0, trace), `elements ${a} and ${b}`) : [];
    },
  },
  {
    name: 'the padding of a convolution of another value than 0',
    kinds: ['conv', 'convDilated', 'depthwise', 'network'],
    async attack(job, draw) {
      const group = job.groups[0]!;
      const node = draw.pick(
        group.graph.nodes.filter((own) => own.kind === 'conv' && own.window.pads.some((pad) => pad > 0)),
      );
      if (node?.kind !== 'conv') return [];
      const [top, left, bottom, right] = node.window.pads;
      const { tensors, nodes } = group.graph;
      const info = tensors[node.x]!;
      const [channels, height, width] = info.shape as [number, number, number];
      const padded = { ...info, shape: [channels, height + top + bottom, width + left + right] };
      const graph: IntegerGraph = {
        ...group.graph,
        tensors: [...tensors, padded],
        nodes: nodes.flatMap((own): IntegerNode[] =>
          own !== node
            ? [own]
            : [
                {
                  kind: 'pad',
                  name: 'padding',
                  x: node.x,
                  output: tensors.length,
                  before: [0, top, left],
                  after: [0, bottom, right],
                  value: draw.pick([3, -7]),
                },
                { ...node, x: tensors.length, window: { ...node.window, pads: [0, 0, 0, 0] } },
              ],
        ),
      };
      const trace = evaluateAny(graph, group.inputs, group.items);
      return trace ? proveTrace(job, withTrace(job, 0, trace), `conv '${node.name}'`) : [];
    },
  },
  {
    name: 'another model: its weights, biases and tables proved under the key of the first',
    kinds: CASE_KINDS,
    groups: 1,
    async attack(job, draw) {
      const group = job.groups[0]!;
      const other = otherGraph(group.graph, draw);
      const trace = other && evaluateAny(other.graph, group.inputs, group.items);
      if (!trace) return [];
      const built = { ...buildProgram(other.graph), program: group.built.program };
      if (built.modelValues.every((values, slot) => values.every((v, i) => v === group.built.modelValues[slot]![i])))
        return [];
      const lie = withTrace(job, 0, trace);
      const witnesses = [{ built, tensor: (id: number): Int32Array => trace[id]! }];
      if (witnessFor({ ...lie, witnesses }) === null) return [];
      return attempt(`another ${other.what}`, { ...lie, witnesses });
    },
  },
  {
    name: 'a proof of another model, item or input',
    kinds: CASE_KINDS,
    groups: 1,
    async attack(job, draw) {
      const group = job.groups[0]!;
      const kind = draw.pick(CASE_KINDS);
      const other = await makeJob(job.prover, [randomCase(kind, draw)], job.bound);
      const again = {
        ...group,
        inputs: group.inputs.map((values) => values.map((_, i) => values[(i + 1) % values.length]!)),
      };
      const values = evaluateAny(again.graph, again.inputs, again.items)!;
      const rotated = await makeJob(job.prover, [{ ...again, values }], job.bound);
      const attempts: Attempt[] = [];
      if (other.n !== job.n || kind !== group.graph.name)
        attempts.push({ what: `of ${kind}`, proof: await proveJob(other) });
      if (again.inputs.some((own, i) => own.some((v, k) => v !== group.inputs[i]![k])))
        attempts.push({ what: 'of rotated inputs', proof: await proveJob(rotated) });
      return attempts;
    },
  },
];
