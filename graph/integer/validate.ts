/**
 * The rules of an integer graph. Everything downstream (evaluator, export, commitment, prover, contracts) trusts
 * a graph that passed, and nothing that did not.
 *
 * 1. Form. Ids are positions; nodes are in topological order; every tensor is an input or computed by exactly one
 *    node; tensor names are unique; at least one input and one output; an output is computed by a node and listed
 *    once; sides are >= 1 and ranks at most 255; layouts are permutations; shapes are those that the operators give;
 *    all tensors together have fewer than 2^28 elements per item; zero points and steps are int32.
 * 2. Ranges. A declared range holds the proved one. Inputs, and operands of max and argMax, stay below 2^24.
 *    The magnitude of every node (bounds.ts step 3) is below 2^31: sum(|coefficient| * largest operand) + |bias|,
 *    which bounds each term and each partial sum in any order, those inside the operands of combine, pooling sums and
 *    wiring included. The range alone does not do: c*a - c*b may be small where c*a is not, and then int32 wraps and
 *    float64 rounds, each engine in its own way.
 * 3. Products. Operands and weights of matmul, conv, mul, matmulActivations and scale are at most 2^11 in
 *    magnitude, which TF32's significand holds.
 * 4. Requant. 1 <= M < 2^28; |x*M + 2^23| < 2^52; the table's domain qLo..qHi is exactly the proved range of q and
 *    lies inside [-2^15, 2^16); its outputs lie in the declared range.
 * 5. Storage. The classes of operands.ts; a prover has no claim on a product of a product, hence:
 *    - operands of matmul, matmulActivations, conv, mul, scale, sumPool, reduceSum, maxPool, reduceMax and argMax
 *      are stored tensors or views, never accumulators;
 *    - an accumulator is read by requant, combine and wiring only; it is read by some node or is a graph output;
 *    - an accumulator that is a graph output is read by no node.
 *    `scale` counts as a product, since its factors are arbitrary; `combine` (one integer per term, plus a constant)
 *    and `pad` (one constant) are structured.
 * 6. With `realisation: 'float32'` every partial sum in any order is below 2^24. Without it a larger sum is legal;
 *    `exportExact` then splits it into parts that float32 holds and adds those in float64.
 */
import { AssayError } from '../../common/errors.js';
import { sizeOf } from '../tensor.js';
import { hull, proveRanges, quotientRange, uniformRanges, type ChannelRanges } from './bounds.js';
import { operandsOf, storageClass, storageClasses, type StorageClass } from './operands.js';
import { GRAPH_SIZE_LIMIT, graphError, inferShape, isInt32, showShape, type NewNode } from './shapes.js';
import {
  ACCUMULATOR_LIMIT,
  FLOAT32_EXACT_LIMIT,
  MULTIPLIER_LIMIT,
  OPERAND_LIMIT,
  QUOTIENT_HI,
  QUOTIENT_LO,
} from './types.js';
import type { IntRange, IntegerGraph, TensorInfo } from './types.js';

/** A commitment holds a rank as uint8. */
const RANK_LIMIT = 255;

export interface ValidateOptions {
  /**
   * `split` (default): accumulators up to 2^31 are legal. `float32`: refuse those of which a partial sum may reach
   * 2^24, for engines that run the graph in float32 without splitting.
   */
  readonly realisation?: 'split' | 'float32';
}

function boundError(node: NewNode, message: string, meta: Record<string, unknown>, mend?: string): AssayError {
  return new AssayError('BOUND_EXCEEDED', `${node.kind} node '${node.name}': ${message}`, {
    meta: { node: node.name, kind: node.kind, ...meta },
    ...(mend === undefined ? {} : { mend }),
  });
}

const showLimit = (limit: number): string => `2^${Math.log2(limit)}`;

function checkOperand(node: NewNode, what: string, { lo, hi }: IntRange): void {
  const bound = Math.max(Math.abs(lo), Math.abs(hi));
  if (bound > OPERAND_LIMIT)
    throw boundError(
      node,
      `${what} may reach ${bound}, but an operand of a product must stay within ${showLimit(OPERAND_LIMIT)}`,
      { bound, limit: OPERAND_LIMIT },
      'Requantise the operand to fewer bits before the product.',
    );
}

function checkConstant(node: NewNode, what: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++)
    if (Math.abs(values[i]!) > OPERAND_LIMIT)
      throw boundError(
        node,
        `${what} element ${i} is ${values[i]}, but an operand of a product must stay within ${showLimit(OPERAND_LIMIT)}`,
        { bound: Math.abs(values[i]!), limit: OPERAND_LIMIT },
        'Quantise the constant to fewer bits.',
      );
}

function checkRequant(node: Extract<NewNode, { kind: 'requant' }>, operand: ChannelRanges): void {
  node.multipliers.forEach((multiplier, channel) => {
    if (multiplier < 1 || multiplier >= MULTIPLIER_LIMIT)
      throw graphError(node, `channel ${channel}: multiplier ${multiplier} is outside 1..2^28-1`, {
        channel,
        multiplier,
      });
  });
  const { table } = node;
  const proved = quotientRange(operand, node.multipliers, node.channelAxis, node);
  if (proved.lo < QUOTIENT_LO || proved.hi >= QUOTIENT_HI)
    throw boundError(
      node,
      `q lies in ${proved.lo}..${proved.hi}, but tables cover at most [-2^15, 2^16)`,
      { bound: proved, limit: [QUOTIENT_LO, QUOTIENT_HI] },
      'Use a smaller multiplier, that is a coarser output scale.',
    );
  if (table.qLo !== proved.lo || table.qHi !== proved.hi)
    throw graphError(
      node,
      `its table covers q in ${table.qLo}..${table.qHi}, but the proved range is ${proved.lo}..${proved.hi}`,
      { table: [table.qLo, table.qHi], proved: [proved.lo, proved.hi] },
    );
  if (table.kind === 'values' && table.values.length !== table.qHi - table.qLo + 1)
    throw graphError(node, `its table has ${table.values.length} values for ${table.qHi - table.qLo + 1} quotients`);
  if (table.kind === 'clamp') {
    const ordered = Number.isInteger(table.lo) && Number.isInteger(table.hi) && table.lo <= table.hi;
    if (!ordered) throw graphError(node, `clamp ${table.lo}..${table.hi} must have integer ends, the lower one first`);
    if (table.lo < -(2 ** 15) || table.hi >= QUOTIENT_HI)
      throw graphError(node, `clamp ${table.lo}..${table.hi} leaves [-2^15, 2^16)`);
  }
}

/** Everything that can be said of one node from its operands; shared by the builder and the validator. */
export interface CheckedNode {
  readonly shape: number[];
  readonly ranges: ChannelRanges;
  readonly storage: StorageClass;
}

/**
 * Applies the rules 1 to 5 that concern one node and its operands.
 * @param given the output shape wanted, for reshape, slice and expand.
 * @throws AssayError GRAPH_INVALID, BOUND_EXCEEDED
 */
export function checkNode(
  node: NewNode,
  tensors: readonly Pick<TensorInfo, 'name' | 'shape' | 'range'>[],
  ranges: readonly ChannelRanges[],
  classes: readonly StorageClass[],
  given: readonly number[] | undefined,
): CheckedNode {
  const operands = operandsOf({ ...node, output: -1 });
  for (const id of operands)
    if (!Number.isInteger(id) || ranges[id] === undefined)
      throw graphError(node, `reads tensor ${id}, which no input or earlier node computes`);
  const shapeOf = (id: number): readonly number[] => tensors[id]!.shape;
  const shape = inferShape(node, shapeOf, given);
  const operandRanges = operands.map((id) => ranges[id]!);
  const reads = operands.map((id) => classes[id]!);

  const product = ['matmul', 'matmulActivations', 'conv', 'mul', 'scale'].includes(node.kind);
  if (product || ['sumPool', 'reduceSum', 'maxPool', 'reduceMax', 'argMax'].includes(node.kind)) {
    const position = reads.indexOf('accumulator');
    if (position >= 0)
      throw new AssayError(
        'GRAPH_INVALID',
        `${node.kind} node '${node.name}': reads '${tensors[operands[position]!]!.name}', an accumulator that was not requantised`,
        {
          mend: 'Put a requant between the two; only requant, combine and wiring may read an accumulator.',
          meta: { node: node.name, kind: node.kind, tensor: tensors[operands[position]!]!.name },
        },
      );
  }
  if (product)
    operands.forEach((id, i) => checkOperand(node, `operand '${tensors[id]!.name}'`, hull(operandRanges[i]!)));
  switch (node.kind) {
    case 'matmul':
    case 'conv':
      checkConstant(node, 'weight', node.weight);
      break;
    case 'scale':
      checkConstant(node, 'factor', node.factor.data);
      break;
    case 'combine':
      for (const { coefficient } of node.terms)
        if (!Number.isInteger(coefficient) || Math.abs(coefficient) >= ACCUMULATOR_LIMIT)
          throw graphError(node, `coefficient ${coefficient} must be an integer below 2^31 in magnitude`);
      break;
    case 'pad':
      // Also where nothing is padded and no bound of an element sees it.
      if (!Number.isInteger(node.value) || Math.abs(node.value) >= ACCUMULATOR_LIMIT)
        throw graphError(node, `padding value ${node.value} must be an integer below 2^31 in magnitude`);
      break;
    case 'requant':
      checkRequant(node, operandRanges[0]!);
      break;
    case 'maxPool':
    case 'reduceMax':
    case 'argMax': {
      const { lo, hi } = hull(operandRanges[0]!);
      const bound = Math.max(-lo, hi);
      if (bound >= FLOAT32_EXACT_LIMIT)
        throw boundError(
          node,
          `operand may reach ${bound}, but values to compare must stay below 2^24`,
          { bound, limit: FLOAT32_EXACT_LIMIT },
          'Requantise the operand first.',
        );
      break;
    }
  }

  const proved = proveRanges(node, shapeOf, shape, operandRanges);
  proved.magnitude.forEach((bound, channel) => {
    if (bound >= ACCUMULATOR_LIMIT)
      throw boundError(
        node,
        `channel ${channel}: a partial sum may reach ${bound}, but must stay below 2^31`,
        { channel, bound, limit: ACCUMULATOR_LIMIT },
        node.kind === 'combine' ? 'Use smaller coefficients, or requantise the operands first.' : undefined,
      );
  });
  return { shape, ranges: proved, storage: storageClass({ ...node, output: -1 }, reads) };
}

/** Rule 6 for one node. */
function checkFloat32(node: NewNode, { magnitude }: ChannelRanges): void {
  magnitude.forEach((bound, channel) => {
    if (bound >= FLOAT32_EXACT_LIMIT)
      throw boundError(
        node,
        `channel ${channel}: a partial sum may reach ${bound}, but float32 is exact only below 2^24`,
        { channel, bound, limit: FLOAT32_EXACT_LIMIT },
      );
  });
}

export function checkTensor(info: TensorInfo): void {
  const { name, shape, range, layout } = info;
  const fail = (message: string): AssayError =>
    new AssayError('GRAPH_INVALID', `tensor '${name}': ${message}`, { meta: { tensor: name } });
  if (name === '') throw fail('a tensor needs a name');
  if (!shape.every((side) => Number.isInteger(side) && side >= 1))
    throw fail(`shape ${showShape(shape)} must have sides >= 1`);
  if (shape.length > RANK_LIMIT) throw fail(`its rank is ${shape.length}, at most ${RANK_LIMIT} is allowed`);
  if (sizeOf(shape) >= GRAPH_SIZE_LIMIT) throw fail(`shape ${showShape(shape)} must have fewer than 2^28 elements`);
  if (!Number.isInteger(range.lo) || !Number.isInteger(range.hi) || range.lo > range.hi)
    throw fail(`range ${range.lo}..${range.hi} must have integer ends, the lower one first`);
  if (Math.max(-range.lo, range.hi) >= ACCUMULATOR_LIMIT)
    throw fail(`range ${range.lo}..${range.hi} must stay below 2^31 in magnitude`);
  if (!(Number.isFinite(info.scale) && info.scale > 0))
    throw fail(`scale ${info.scale} must be a positive finite number`);
  if (!isInt32(info.zeroPoint)) throw fail(`zero point ${info.zeroPoint} must be an int32`);
  const axes = [...layout].sort((p, q) => p - q);
  if (axes.length !== shape.length || axes.some((axis, i) => axis !== i))
    throw fail(`layout [${layout.join(', ')}] is no permutation of the axes of ${showShape(shape)}`);
}

/** @throws AssayError GRAPH_INVALID where an input's range is too wide for float32. */
export function checkInput(info: TensorInfo): void {
  if (Math.max(-info.range.lo, info.range.hi) >= FLOAT32_EXACT_LIMIT)
    throw new AssayError(
      'GRAPH_INVALID',
      `input '${info.name}': range ${info.range.lo}..${info.range.hi} must stay below 2^24 in magnitude`,
      { meta: { tensor: info.name } },
    );
}

/**
 * Proved bounds of every tensor, by id, propagated per channel through views and accumulators.
 * @throws AssayError where a node breaks a rule that concerns it alone.
 */
export function rangesOfTensors(
  graph: Pick<IntegerGraph, 'tensors' | 'nodes' | 'inputs'>,
  options: ValidateOptions = {},
): ChannelRanges[] {
  const ranges: ChannelRanges[] = [];
  const classes: StorageClass[] = [];
  for (const id of graph.inputs) {
    ranges[id] = uniformRanges(graph.tensors[id]!.range);
    classes[id] = 'stored';
  }
  for (const node of graph.nodes) {
    const info = graph.tensors[node.output]!;
    const checked = checkNode(node, graph.tensors, ranges, classes, info.shape);
    if (checked.shape.length !== info.shape.length || checked.shape.some((side, axis) => side !== info.shape[axis]))
      throw graphError(
        node,
        `output '${info.name}' has shape ${showShape(info.shape)}, the operator gives ${showShape(checked.shape)}`,
      );
    const proved = hull(checked.ranges);
    if (info.range.lo > proved.lo || info.range.hi < proved.hi)
      throw graphError(
        node,
        `output '${info.name}' declares the range ${info.range.lo}..${info.range.hi}, but ${proved.lo}..${proved.hi} is what is proved`,
        { declared: info.range, proved },
      );
    if (options.realisation === 'float32') checkFloat32(node, checked.ranges);
    classes[node.output] = checked.storage;
    ranges[node.output] = checked.storage === 'stored' ? uniformRanges(info.range) : checked.ranges;
  }
  return ranges;
}

function checkForm(graph: IntegerGraph): void {
  const { tensors, nodes, inputs, outputs } = graph;
  const fail = (message: string): AssayError => graphError(null, message, { graph: graph.name });
  if (inputs.length === 0 || outputs.length === 0) throw fail('needs at least one input and one output');
  const definedBy = new Map<number, string>();
  const define = (id: number, by: string): void => {
    if (!Number.isInteger(id) || id < 0 || id >= tensors.length)
      throw fail(`${by} has tensor id ${id}, outside 0..${tensors.length - 1}`);
    if (definedBy.has(id))
      throw fail(`tensor '${tensors[id]!.name}' is computed twice, by ${definedBy.get(id)} and ${by}`);
    definedBy.set(id, by);
  };
  inputs.forEach((id, i) => define(id, `input ${i}`));
  for (const node of nodes) define(node.output, `${node.kind} node '${node.name}'`);
  if (definedBy.size !== tensors.length) {
    const orphan = tensors.findIndex((_, id) => !definedBy.has(id));
    throw fail(`tensor '${tensors[orphan]!.name}' is neither an input nor computed by a node`);
  }
  const names = new Set<string>();
  for (const info of tensors) {
    checkTensor(info);
    if (names.has(info.name)) throw fail(`two tensors are named '${info.name}'`);
    names.add(info.name);
  }
  const elements = tensors.reduce((total, { shape }) => total + sizeOf(shape), 0);
  if (elements >= GRAPH_SIZE_LIMIT)
    throw fail(`its tensors have ${elements} elements per item together, must have fewer than 2^28`);
  for (const id of inputs) checkInput(tensors[id]!);
  if (new Set(outputs).size !== outputs.length) throw fail('an output is listed twice');
  const given = new Set(inputs);
  for (const id of outputs) {
    if (!definedBy.has(id)) throw fail(`output ${id} is no tensor`);
    if (given.has(id)) throw fail(`output '${tensors[id]!.name}' is an input; put a reshape between them`);
  }
}

/** The part of rule 5 that concerns all readers of a tensor. */
function checkAccumulators(graph: IntegerGraph): void {
  const classes = storageClasses(graph);
  const read = new Set(graph.nodes.flatMap((node) => operandsOf(node)));
  const outputs = new Set(graph.outputs);
  for (const node of graph.nodes) {
    if (classes[node.output] !== 'accumulator') continue;
    const published = outputs.has(node.output);
    const name = graph.tensors[node.output]!.name;
    if (published && read.has(node.output))
      throw graphError(
        node,
        `accumulator '${name}' is a graph output and read by a node; requantise it for the reader`,
      );
    if (!published && !read.has(node.output))
      throw graphError(node, `accumulator '${name}' is neither read nor a graph output`);
  }
}

/**
 * Checks every rule above.
 * @throws AssayError GRAPH_INVALID, or BOUND_EXCEEDED with node, channel, bound and limit.
 */
export function validateGraph(graph: IntegerGraph, options: ValidateOptions = {}): void {
  checkForm(graph);
  rangesOfTensors(graph, options);
  checkAccumulators(graph);
}
