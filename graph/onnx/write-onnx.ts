import { dataTypeOf } from './element-types.js';
import type { AttributeValue, Dimension, OnnxModel, OnnxNode, ValueInfo } from './model.js';
import { ATTRIBUTE_TYPES, ModelProtoType, fromBigInt } from './schema.js';
import type { AttributeProto, DimensionProto, ModelProto, NodeProto, ValueInfoProto } from './schema.js';
import { UNKNOWN_SHAPE } from './read-onnx.js';
import { encodeTensor } from './tensor-proto.js';
import { AssayError } from '../../common/errors.js';

/** The parts of a model that a file holds. */
export type WritableModel = Pick<OnnxModel, 'name' | 'opset' | 'inputs' | 'outputs' | 'nodes' | 'initializers'>;

/** onnx 1.13 to 1.14: old enough for every runtime in use. */
const IR_VERSION = 8;
/** First opset that belongs to a newer IR version than 8, and that IR version (table of onnx/docs/Versioning.md). */
const NEWER_IR: readonly (readonly [opset: number, ir: number])[] = [
  [19, 9],
  [21, 10],
  [23, 11],
  [24, 12],
  [25, 13],
];

/**
 * Attributes of the standard domain that are floats. A model in memory holds plain numbers, and the file must
 * say FLOAT or INT; onnx names float attributes consistently but for the exceptions in `isFloat`.
 */
const FLOAT_ATTRIBUTES: ReadonlySet<string> = new Set([
  'activation_alpha',
  'activation_beta',
  'alpha',
  'beta',
  'bias',
  'clip',
  'cubic_coeff_a',
  'epsilon',
  'extrapolation_value',
  'gamma',
  'high',
  'lambd',
  'low',
  'max',
  'mean',
  'min',
  'momentum',
  'norm_coefficient',
  'norm_coefficient_post',
  'ratio',
  'scale',
  'scales',
  'seed',
  'softcap',
  'spatial_scale',
  'value_float',
  'value_floats',
]);

/** Attributes that are lists of strings; only their emptiness makes the question arise. */
const STRINGS_ATTRIBUTES: ReadonlySet<string> = new Set(['activations', 'value_strings']);

/**
 * Serializes a model. Equal models give equal bytes: fields in the order of their numbers, initializers and
 * attributes in the order of the model, tensors as raw data.
 *
 * @param model nodes in topological order; dimensions are numbers, symbols or null. Nodes outside the standard
 * domain are written with version 1 of their domain.
 * @returns the bytes of a ModelProto of IR version 8 (or the lowest that the opset asks for).
 * @throws INTERNAL where an integer attribute is no integer.
 */
export function writeOnnx(model: WritableModel): Uint8Array {
  const domains = [...new Set(model.nodes.map((node) => node.domain).filter((domain) => domain !== ''))].sort();
  const ir = NEWER_IR.reduce((version, [opset, newer]) => (model.opset >= opset ? newer : version), IR_VERSION);
  const proto: ModelProto = {
    irVersion: fromBigInt(BigInt(ir)),
    producerName: 'assay',
    graph: {
      node: model.nodes.map(writeNode),
      name: model.name === '' ? 'graph' : model.name, // onnxruntime wants a name
      initializer: [...model.initializers].map(([name, tensor]) => encodeTensor(name, tensor)),
      input: model.inputs.map(writeValueInfo),
      output: model.outputs.map(writeValueInfo),
    },
    opsetImport: [
      { domain: '', version: fromBigInt(BigInt(model.opset)) },
      ...domains.map((domain) => ({ domain, version: fromBigInt(1n) })),
    ],
  };
  // A copy of exact length: the writer hands out a view of its pool.
  return Uint8Array.from(ModelProtoType.encode(proto as Record<string, unknown>).finish());
}

function writeNode(node: OnnxNode): NodeProto {
  return {
    input: [...node.inputs],
    output: [...node.outputs],
    name: node.name,
    opType: node.op,
    attribute: [...node.attributes].map(([name, value]) => writeAttribute(node, name, value)),
    ...(node.domain === '' ? {} : { domain: node.domain }),
  };
}

function writeAttribute(node: OnnxNode, name: string, value: AttributeValue): AttributeProto {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  if (typeof value === 'string') return { name, s: bytes(value), type: ATTRIBUTE_TYPES.string };
  if (typeof value === 'number') {
    if (isFloat(node.op, name)) return { name, f: value, type: ATTRIBUTE_TYPES.float };
    return { name, i: fromBigInt(integer(node, name, value)), type: ATTRIBUTE_TYPES.int };
  }
  if ('data' in value) return { name, t: encodeTensor('', value), type: ATTRIBUTE_TYPES.tensor };
  if (value.length === 0 ? STRINGS_ATTRIBUTES.has(name) : typeof value[0] === 'string') {
    return { name, strings: (value as readonly string[]).map(bytes), type: ATTRIBUTE_TYPES.strings };
  }
  const numbers = value as readonly number[];
  if (isFloat(node.op, name)) return { name, floats: [...numbers], type: ATTRIBUTE_TYPES.floats };
  return { name, ints: numbers.map((item) => fromBigInt(integer(node, name, item))), type: ATTRIBUTE_TYPES.ints };
}

function isFloat(op: string, name: string): boolean {
  if (op === 'Dropout' && name === 'seed') return false;
  if (op === 'Pad' && name === 'value') return true;
  return FLOAT_ATTRIBUTES.has(name);
}

function integer(node: OnnxNode, name: string, value: number): bigint {
  if (!Number.isInteger(value)) {
    throw new AssayError(
      'INTERNAL',
      `node ${JSON.stringify(node.name)} (${node.op}) has ${name} = ${value}, an attribute of integers.`,
    );
  }
  return BigInt(value);
}

function writeValueInfo(value: ValueInfo): ValueInfoProto {
  return {
    name: value.name,
    type: {
      tensorType: {
        elemType: dataTypeOf(value.type),
        ...(value.shape === UNKNOWN_SHAPE ? {} : { shape: { dim: value.shape.map(writeDimension) } }),
      },
    },
  };
}

function writeDimension(side: Dimension): DimensionProto {
  if (side === null) return {};
  return typeof side === 'string' ? { dimParam: side } : { dimValue: fromBigInt(BigInt(side)) };
}
