/**
 * The attributes of each operator, over all opsets. An attribute that stands here for no operator would be
 * ignored in silence (a misspelt `alpha`, a feature of a newer opset), so such a node is refused.
 */

const POOL = ['auto_pad', 'ceil_mode', 'dilations', 'kernel_shape', 'pads', 'strides'];
const CONVOLUTION = ['auto_pad', 'dilations', 'group', 'kernel_shape', 'pads', 'strides'];
const REDUCTION = ['axes', 'keepdims', 'noop_with_empty_axes'];
const ARG = ['axis', 'keepdims', 'select_last_index'];

/** Operators that are not listed have none. */
export const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  ArgMax: ARG,
  ArgMin: ARG,
  AveragePool: [...POOL, 'count_include_pad'],
  BatchNormalization: ['epsilon', 'momentum', 'spatial', 'training_mode'],
  Cast: ['round_mode', 'saturate', 'to'],
  CastLike: ['round_mode', 'saturate'],
  Celu: ['alpha'],
  Clip: ['max', 'min'],
  Concat: ['axis'],
  Constant: [
    'sparse_value',
    'value',
    'value_float',
    'value_floats',
    'value_int',
    'value_ints',
    'value_string',
    'value_strings',
  ],
  ConstantOfShape: ['value'],
  Conv: CONVOLUTION,
  ConvInteger: CONVOLUTION,
  DequantizeLinear: ['axis', 'block_size', 'output_dtype'],
  Dropout: ['ratio', 'seed'],
  Elu: ['alpha'],
  Flatten: ['axis'],
  Gather: ['axis'],
  GatherElements: ['axis'],
  Gelu: ['approximate'],
  Gemm: ['alpha', 'beta', 'transA', 'transB'],
  HardSigmoid: ['alpha', 'beta'],
  LayerNormalization: ['axis', 'epsilon', 'stash_type'],
  LeakyRelu: ['alpha'],
  LogSoftmax: ['axis'],
  MaxPool: [...POOL, 'storage_order'],
  Mod: ['fmod'],
  Pad: ['mode', 'pads', 'value'],
  QLinearConv: CONVOLUTION,
  QuantizeLinear: ['axis', 'block_size', 'output_dtype', 'precision', 'saturate'],
  ReduceL1: REDUCTION,
  ReduceL2: REDUCTION,
  ReduceLogSum: REDUCTION,
  ReduceLogSumExp: REDUCTION,
  ReduceMax: REDUCTION,
  ReduceMean: REDUCTION,
  ReduceMin: REDUCTION,
  ReduceProd: REDUCTION,
  ReduceSum: REDUCTION,
  ReduceSumSquare: REDUCTION,
  Reshape: ['allowzero'],
  Selu: ['alpha', 'gamma'],
  Shape: ['end', 'start'],
  Slice: ['axes', 'ends', 'starts'],
  Softmax: ['axis'],
  Split: ['axis', 'num_outputs', 'split'],
  Squeeze: ['axes'],
  Swish: ['alpha'],
  ThresholdedRelu: ['alpha'],
  Transpose: ['perm'],
  Unsqueeze: ['axes'],
};

/** Attributes of a node that its operator does not have. */
export function unknownAttributes(op: string, names: Iterable<string>): string[] {
  const known = Object.hasOwn(ATTRIBUTES, op) ? ATTRIBUTES[op]! : [];
  return [...names].filter((name) => !known.includes(name));
}
