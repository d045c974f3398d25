/** Test helper: executors that run something else than the model, and commit to what they got. */
import { elementReads } from '../element-reads.js';
import { sumOf } from '../judge-element.js';
import type { FloatGraph, FloatNode } from '../types.js';
import { numberOfBits } from './random-sums.js';

/** Every slot, from the inputs; `run` runs a graph as an engine does. */
export type Lie = (
  graph: FloatGraph,
  inputs: readonly Float32Array[],
  items: number,
  run: (graph: FloatGraph) => Promise<Float32Array[]>,
) => Promise<Float32Array[]>;

/** A float rounded to `bits` bits of mantissa, the hidden one included; to nearest, ties to even. */
export function roundTo(bits: number, value: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - bits + 1);
  const scaled = value / unit;
  const near = Math.round(scaled);
  return (Math.abs(scaled - Math.trunc(scaled)) === 0.5 && near % 2 !== 0 ? near - 1 : near) * unit;
}

const BF16_BITS = 8;
const TF32_BITS = 11;

function withWeights(graph: FloatGraph, change: (data: Float32Array, node: number) => Float32Array): FloatGraph {
  const nodes = graph.nodes.map((node, j): FloatNode =>
    node.kind === 'conv' || node.kind === 'dense'
      ? { ...node, weight: { ...node.weight, data: change(node.weight.data, j) } }
      : node,
  );
  return { ...graph, nodes };
}

/** Symmetric, one scale a tensor, the way back in float32. */
function int8(data: Float32Array): Float32Array {
  const scale = Math.fround(data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127);
  return data.map((value) => Math.round(value / scale) * scale);
}

/** The first node of one of the kinds. */
const firstOf = (graph: FloatGraph, kinds: readonly FloatNode['kind'][]): number =>
  graph.nodes.findIndex(({ kind }) => kinds.includes(kind));

/** Every sum of products over rounded operands, as a tensor core takes them; accumulated in float64. */
function withRoundedOperands(bits: number): Lie {
  return async (graph, inputs, items) => {
    const slots = [...inputs];
    for (const [j, node] of graph.nodes.entries()) {
      const value = graph.inputs.length + j;
      const size = graph.values[value]!.shape.reduce((product, side) => product * side, items);
      const made = new Float32Array(size);
      for (let element = 0; element < size; element++) {
        const reads = elementReads(graph, value, element);
        const sum = sumOf(reads, slots);
        const rounded = node.kind === 'conv' || node.kind === 'dense' ? bits : 24;
        if (sum !== null) {
          let total = 0;
          sum.x.forEach((x, i) => {
            // The bias is added as it is.
            const width = sum.x.length - i === 1 && 'bias' in reads && reads.bias !== null ? 24 : rounded;
            total += roundTo(width, numberOfBits(x)) * roundTo(width, numberOfBits(sum.w[i]!));
          });
          made[element] = total / sum.divisor;
        } else if (reads.rule === 'max')
          made[element] = reads.at.reduce((best, index) => Math.max(best, slots[reads.x]![index]!), -Infinity);
        else if (reads.rule === 'relu' || reads.rule === 'copy') {
          const x = slots[reads.x]![reads.index]!;
          made[element] = reads.rule === 'relu' ? Math.max(0, x) : x;
        }
      }
      slots.push(made);
    }
    return slots;
  };
}

export const LIES: Readonly<Record<string, Lie>> = {
  'two weights exchanged': (graph, _inputs, _items, run) => {
    const target = firstOf(graph, ['conv', 'dense']);
    return run(
      withWeights(graph, (data, j) => {
        if (j !== target) return data;
        // A little behind the middle of the first row: at the border of a digit there is nothing to weigh.
        const middle = Math.floor((0.52 * data.length) / graph.values[graph.inputs.length + j]!.shape[0]!);
        const changed = Float32Array.from(data);
        [changed[middle], changed[middle + 1]] = [data[middle + 1]!, data[middle]!];
        return changed;
      }),
    );
  },
  'rows of the last layer exchanged': (graph, _inputs, _items, run) => {
    const target = graph.nodes.length - 1;
    return run(
      withWeights(graph, (data, j) => {
        if (j !== target) return data;
        const row = data.length / graph.values.at(-1)!.shape.at(-1)!;
        return Float32Array.from(data, (_, i) => data[(i + row) % data.length]!);
      }),
    );
  },
  'first Relu left out': (graph, _inputs, _items, run) => {
    const target = firstOf(graph, ['relu']);
    const nodes = graph.nodes.map((node, j): FloatNode =>
      j === target && node.kind === 'relu' ? { kind: 'reshape', x: node.x } : node,
    );
    return run({ ...graph, nodes });
  },
  'int8 weights': (graph, _inputs, _items, run) => run(withWeights(graph, int8)),
  'bfloat16 weights': (graph, _inputs, _items, run) =>
    run(withWeights(graph, (data) => data.map((value) => roundTo(BF16_BITS, value)))),
  'bfloat16 operands': withRoundedOperands(BF16_BITS),
  'TF32 operands': withRoundedOperands(TF32_BITS),
};
