/**
 * Convolutions as matrix products (im2col), written in the integer graph's own operators.
 *
 * Why: some runtimes compute a convolution by Winograd's or an FFT algorithm, whose partial results are fractions
 * that float32 rounds. A matrix product is a plain sum of products everywhere, so an engine that fails the self-test
 * on convolutions may pass it on this form.
 *
 * Statement. For y[n, i, j] = bias[n] + sum over (r, s, c) of w[n, r, s, c] * x[c, i*S + r*D - P, j*S + s*D - P]:
 * 1. pad x with the integer 0;
 * 2. for every window cell (r, s) take the strided slice x_rs [C/groups, OH, OW];
 * 3. lay the slices one after another: [R*S*C/groups, OH, OW], in the order in which `weight` is stored;
 * 4. reshape and transpose to [OH*OW, R*S*C/groups] and multiply by the weight matrix [outChannels/groups, R*S*C/groups];
 * 5. transpose and reshape back to [outChannels/groups, OH, OW]; concatenate the groups.
 *
 * A depthwise convolution (one channel per group) would become one tiny product per channel; instead each x_rs is
 * scaled by its weight per channel and the cells are summed by one `combine`.
 *
 * The sums are the same sums, so the values and the proved bounds are the same. Every tensor of the given graph keeps
 * its id; new tensors come after them.
 */
import { sizeOf } from '../../graph/index.js';
import type {
  ConvNode,
  IntegerGraph,
  IntegerNode,
  IntRange,
  TensorId,
  TensorInfo,
  Window2d,
} from '../../graph/index.js';

/** @param only rewrites these convolutions; all of them by default. */
export function convolutionsAsMatMul(
  graph: IntegerGraph,
  only: (node: ConvNode) => boolean = () => true,
): IntegerGraph {
  const writer = new Writer(graph);
  for (const node of graph.nodes) {
    if (node.kind === 'conv' && only(node)) rewrite(node, writer);
    else writer.nodes.push(node);
  }
  return { ...graph, tensors: writer.tensors, nodes: writer.nodes };
}

class Writer {
  readonly tensors: TensorInfo[];
  readonly nodes: IntegerNode[] = [];

  constructor(graph: IntegerGraph) {
    this.tensors = [...graph.tensors];
  }

  /** A new tensor with the scale of `like`. */
  tensor(name: string, shape: readonly number[], range: IntRange, like: TensorInfo): TensorId {
    const layout = shape.map((_, axis) => axis);
    this.tensors.push({ name, shape, range, layout, scale: like.scale, zeroPoint: 0 });
    return this.tensors.length - 1;
  }
}

function rewrite(node: ConvNode, writer: Writer): void {
  const x = writer.tensors[node.x]!;
  const y = writer.tensors[node.output]!;
  const channels = x.shape[0]!;
  const [, outHeight, outWidth] = y.shape as [number, number, number];
  const [kernelHeight, kernelWidth] = node.window.kernel;
  const padded = pad(node, writer);
  const groupChannels = channels / node.groups;
  const groupOutputs = node.outChannels / node.groups;

  if (groupChannels === 1 && groupOutputs === 1) {
    depthwise(node, padded, writer);
    return;
  }

  const pixels = outHeight * outWidth;
  const taps = kernelHeight * kernelWidth * groupChannels;
  const parts: TensorId[] = [];
  for (let group = 0; group < node.groups; group++) {
    const label = node.groups === 1 ? node.name : `${node.name}/group${group}`;
    const range = writer.tensors[padded]!.range;
    const cells = windowCells(node, padded, group * groupChannels, groupChannels, writer);
    let columns = cells[0]!;
    if (cells.length > 1) {
      columns = writer.tensor(`${label}/columns`, [taps, outHeight, outWidth], range, x);
      writer.nodes.push({ kind: 'concat', name: `${label}/columns`, xs: cells, axis: 0, output: columns });
    }
    const flat = writer.tensor(`${label}/flat`, [taps, pixels], range, x);
    writer.nodes.push({ kind: 'reshape', name: `${label}/flat`, x: columns, output: flat });
    const rows = writer.tensor(`${label}/rows`, [pixels, taps], range, x);
    writer.nodes.push({ kind: 'transpose', name: `${label}/rows`, x: flat, permutation: [1, 0], output: rows });
    const product = writer.tensor(`${label}/product`, [pixels, groupOutputs], y.range, y);
    writer.nodes.push({
      kind: 'matmul',
      name: `${label}/product`,
      x: rows,
      outFeatures: groupOutputs,
      inFeatures: taps,
      weight: node.weight.subarray(group * groupOutputs * taps, (group + 1) * groupOutputs * taps),
      bias: node.bias?.subarray(group * groupOutputs, (group + 1) * groupOutputs) ?? null,
      output: product,
    });
    const turned = writer.tensor(`${label}/turned`, [groupOutputs, pixels], y.range, y);
    writer.nodes.push({ kind: 'transpose', name: `${label}/turned`, x: product, permutation: [1, 0], output: turned });
    const shape = [groupOutputs, outHeight, outWidth];
    const part = node.groups === 1 ? node.output : writer.tensor(`${label}/part`, shape, y.range, y);
    writer.nodes.push({ kind: 'reshape', name: `${label}/part`, x: turned, output: part });
    parts.push(part);
  }
  if (node.groups > 1) {
    writer.nodes.push({ kind: 'concat', name: node.name, xs: parts, axis: 0, output: node.output });
  }
}

function depthwise(node: ConvNode, padded: TensorId, writer: Writer): void {
  const channels = node.groups;
  const cells = windowCells(node, padded, 0, channels, writer);
  const y = writer.tensors[node.output]!;
  const products = cells.map((cell, index) => {
    const factor = Int32Array.from({ length: channels }, (_, channel) => node.weight[channel * cells.length + index]!);
    const info = writer.tensors[cell]!;
    const range = productRange(info.range, factor);
    const product = writer.tensor(`${info.name}/product`, info.shape, range, y);
    writer.nodes.push({
      kind: 'scale',
      name: `${info.name}/product`,
      x: cell,
      factor: { shape: [channels, 1, 1], data: factor },
      bias: null,
      output: product,
    });
    return product;
  });
  writer.nodes.push({
    kind: 'combine',
    name: node.name,
    terms: products.map((x) => ({ x, coefficient: 1 })),
    bias: node.bias === null ? null : { shape: [channels, 1, 1], data: node.bias },
    output: node.output,
  });
}

/** Step 1. The whole padded input; `node.x` itself where nothing is padded. */
function pad(node: ConvNode, writer: Writer): TensorId {
  const [top, left, bottom, right] = node.window.pads;
  if (top + left + bottom + right === 0) return node.x;
  const x = writer.tensors[node.x]!;
  const [channels, height, width] = x.shape as [number, number, number];
  const shape = [channels, height + top + bottom, width + left + right];
  const range = { lo: Math.min(x.range.lo, 0), hi: Math.max(x.range.hi, 0) };
  const output = writer.tensor(`${node.name}/padded`, shape, range, x);
  writer.nodes.push({
    kind: 'pad',
    name: `${node.name}/padded`,
    x: node.x,
    before: [0, top, left],
    after: [0, bottom, right],
    value: 0,
    output,
  });
  return output;
}

/** Step 2. One slice [count, OH, OW] per window cell, row by row, of the channels from `first` on. */
function windowCells(node: ConvNode, padded: TensorId, first: number, count: number, writer: Writer): TensorId[] {
  const { kernel, strides, dilations }: Window2d = node.window;
  const [, outHeight, outWidth] = writer.tensors[node.output]!.shape as [number, number, number];
  const source = writer.tensors[padded]!;
  const shape = [count, outHeight, outWidth];
  const cells: TensorId[] = [];
  for (let row = 0; row < kernel[0]; row++) {
    for (let column = 0; column < kernel[1]; column++) {
      if (sizeOf(shape) === sizeOf(source.shape)) {
        cells.push(padded);
        continue;
      }
      const name = `${node.name}/cell${row}.${column}@${first}`;
      const output = writer.tensor(name, shape, source.range, source);
      writer.nodes.push({
        kind: 'slice',
        name,
        x: padded,
        starts: [first, row * dilations[0], column * dilations[1]],
        steps: [1, strides[0], strides[1]],
        output,
      });
      cells.push(output);
    }
  }
  return cells;
}

function productRange(range: IntRange, factor: Int32Array): IntRange {
  let lo = Infinity;
  let hi = -Infinity;
  for (const value of factor) {
    lo = Math.min(lo, value * range.lo, value * range.hi);
    hi = Math.max(hi, value * range.lo, value * range.hi);
  }
  return { lo, hi };
}
