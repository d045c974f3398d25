import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { decodeMessage } from './decode-message.js';
import { requireElementType } from './element-types.js';
import type { AttributeValue, Dimension, OnnxModel, OnnxNode, ValueInfo } from './model.js';
import { ATTRIBUTE_TYPES, ModelProtoType, toBigInt, toSaturatedNumber } from './schema.js';
import type { AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto } from './schema.js';
import { sortNodes } from './sort-nodes.js';
import { decodeTensor, decodeUtf8 } from './tensor-proto.js';

/** Opset versions of the standard domain whose operators Assay knows; 26 is the newest that onnxruntime 1.29 takes. */
export const OPSET_RANGE = { oldest: 7, newest: 26 } as const;

/**
 * Reads an ONNX file: resolves every name, sorts the nodes, decodes every tensor.
 *
 * Attributes that hold graphs, and kinds nobody writes (type_proto, sparse tensors), are left out: the nodes
 * that carry them (If, Loop, Scan) are reported by `unsupportedNodes`. A negative dimension of a value
 * means "unknown", as in onnxruntime.
 *
 * @param fileName stands in messages only.
 * @throws ONNX_NOT_A_MODEL, ONNX_TRUNCATED, ONNX_INVALID, ONNX_OPSET_UNSUPPORTED, ONNX_TYPE_UNSUPPORTED,
 * ONNX_EXTERNAL_DATA.
 */
export function readOnnx(bytes: Uint8Array, fileName: string): OnnxModel {
  const proto = decodeMessage(ModelProtoType, bytes, fileName) as unknown as ModelProto;
  const graph = proto.graph ?? null;
  if (graph === null) {
    throw new AssayError(
      'ONNX_NOT_A_MODEL',
      `${fileName} holds no graph: it is another kind of protobuf file, or an ONNX file that ends before its graph.`,
      { meta: { file: fileName } },
    );
  }
  const { opset, domains } = readOpsets(proto, fileName);
  const nodes = readNodes(graph, domains, fileName);
  const initializers = readInitializers(graph, fileName);
  // Files of IR version 3 list initializers among the inputs too.
  const inputs = (graph.input ?? [])
    .filter((value) => !initializers.has(value.name ?? ''))
    .map((value) => readValueInfo(value, 'input', fileName));
  const outputs = (graph.output ?? []).map((value) => readValueInfo(value, 'output', fileName));
  checkNames(inputs, outputs, nodes, initializers, fileName);
  return {
    name: graph.name ?? '',
    producer: [proto.producerName ?? '', proto.producerVersion ?? ''].filter((part) => part !== '').join(' '),
    irVersion: proto.irVersion === undefined ? 0 : Number(toBigInt(proto.irVersion)),
    opset,
    inputs,
    outputs,
    nodes: sortNodes(nodes, fileName),
    initializers,
    sourceHash: `0x${bytesToHex(keccak_256(bytes))}`,
  };
}

/** 'ai.onnx' is the written-out name of the standard domain. */
function domainOf(name: string | undefined): string {
  return name === undefined || name === 'ai.onnx' ? '' : name;
}

function readOpsets(proto: ModelProto, fileName: string): { opset: number; domains: ReadonlySet<string> } {
  const versions = new Map<string, number>();
  for (const entry of proto.opsetImport ?? []) {
    versions.set(domainOf(entry.domain), entry.version === undefined ? 0 : Number(toBigInt(entry.version)));
  }
  const opset = versions.get('');
  if (opset === undefined) {
    throw invalid(fileName, 'names no version of the standard operator set (it may end before its last field)');
  }
  if (opset < OPSET_RANGE.oldest || opset > OPSET_RANGE.newest) {
    throw new AssayError(
      'ONNX_OPSET_UNSUPPORTED',
      `${fileName} uses opset ${opset}; Assay reads opset ${OPSET_RANGE.oldest} to ${OPSET_RANGE.newest}.`,
      { meta: { file: fileName, expected: OPSET_RANGE, found: opset } },
    );
  }
  return { opset, domains: new Set(versions.keys()) };
}

function readNodes(graph: GraphProto, domains: ReadonlySet<string>, fileName: string): OnnxNode[] {
  const taken = new Set<string>();
  return (graph.node ?? []).map((proto, index) => {
    const op = proto.opType ?? '';
    if (op === '')
      throw invalid(fileName, `has a node (number ${index}, ${JSON.stringify(proto.name ?? '')}) without an operator`);
    const wanted = proto.name === undefined || proto.name === '' ? `${op}_${index}` : proto.name;
    // onnx.proto lets names repeat; messages and bundles need them unique.
    let name = wanted;
    for (let copy = 2; taken.has(name); copy++) name = `${wanted}_${copy}`;
    taken.add(name);
    const domain = domainOf(proto.domain);
    if (!domains.has(domain)) {
      throw invalid(
        fileName,
        `uses the operator domain ${JSON.stringify(domain)} (node ${JSON.stringify(name)}) without importing it`,
      );
    }
    return {
      name,
      op,
      domain,
      inputs: trimmed(proto.input),
      outputs: [...(proto.output ?? [])],
      attributes: readAttributes(proto, `${fileName}: node ${JSON.stringify(name)} (${op})`),
    };
  });
}

/** Omitted optional inputs at the end carry nothing. */
function trimmed(names: readonly string[] | undefined): string[] {
  const list = [...(names ?? [])];
  while (list.length > 0 && list[list.length - 1] === '') list.pop();
  return list;
}

function readAttributes(node: NodeProto, where: string): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  for (const proto of node.attribute ?? []) {
    const name = proto.name ?? '';
    if (attributes.has(name)) throw invalid(where, `has the attribute ${JSON.stringify(name)} twice`);
    const value = readAttribute(proto, `${where}, attribute ${JSON.stringify(name)}`);
    if (value !== null) attributes.set(name, value);
  }
  return attributes;
}

function readAttribute(proto: AttributeProto, where: string): AttributeValue | null {
  switch (proto.type) {
    case ATTRIBUTE_TYPES.float:
      return proto.f ?? 0;
    case ATTRIBUTE_TYPES.int:
      return proto.i === undefined ? 0 : toSaturatedNumber(proto.i);
    case ATTRIBUTE_TYPES.string:
      return proto.s === undefined ? '' : decodeUtf8(Uint8Array.from(proto.s), where);
    case ATTRIBUTE_TYPES.tensor:
      if (proto.t === undefined || proto.t === null) throw invalid(where, 'is a tensor without content');
      return decodeTensor(proto.t, where);
    case ATTRIBUTE_TYPES.floats:
      return [...(proto.floats ?? [])];
    case ATTRIBUTE_TYPES.ints:
      return (proto.ints ?? []).map(toSaturatedNumber);
    case ATTRIBUTE_TYPES.strings:
      return (proto.strings ?? []).map((bytes) => decodeUtf8(bytes, where));
    default:
      if (proto.type === undefined || proto.type === 0) throw invalid(where, 'does not say its type');
      return null;
  }
}

function readInitializers(graph: GraphProto, fileName: string): Map<string, Tensor> {
  if ((graph.sparseInitializer ?? []).length > 0) {
    throw new AssayError('ONNX_TYPE_UNSUPPORTED', `${fileName} holds sparse initializers; Assay reads dense tensors.`);
  }
  const initializers = new Map<string, Tensor>();
  for (const proto of graph.initializer ?? []) {
    const name = proto.name ?? '';
    if (name === '') throw invalid(fileName, 'has an initializer without a name');
    if (initializers.has(name)) throw invalid(fileName, `has the initializer ${JSON.stringify(name)} twice`);
    initializers.set(name, decodeTensor(proto, `${fileName}: initializer ${JSON.stringify(name)}`));
  }
  return initializers;
}

function readValueInfo(proto: ValueInfoProto, role: 'input' | 'output', fileName: string): ValueInfo {
  const name = proto.name ?? '';
  const where = `${fileName}: ${role} ${JSON.stringify(name)}`;
  if (name === '') throw invalid(fileName, `has an ${role} without a name`);
  const kind = proto.type?.value;
  if (kind === undefined) throw invalid(where, 'has no type');
  if (kind !== 'tensorType') {
    throw new AssayError(
      'ONNX_TYPE_UNSUPPORTED',
      `${where} is ${{ sequenceType: 'a sequence', mapType: 'a map', sparseTensorType: 'a sparse tensor', optionalType: 'an optional value' }[kind]}; Assay reads dense tensors.`,
      { meta: { value: name } },
    );
  }
  const tensor = proto.type!.tensorType!;
  const type = requireElementType(tensor.elemType ?? 0, where);
  if (tensor.shape === undefined || tensor.shape === null) {
    // An output's shape is computed anyway; an input's rank must be known.
    if (role === 'output') return { name, type, shape: UNKNOWN_SHAPE };
    throw invalid(where, 'says nothing about its shape, not even the number of dimensions');
  }
  const shape = (tensor.shape.dim ?? []).map((dim): Dimension => {
    if (dim.value === 'dimParam') return dim.dimParam === '' ? null : dim.dimParam!;
    if (dim.value !== 'dimValue') return null;
    const side = Number(toBigInt(dim.dimValue!));
    return side < 0 ? null : side;
  });
  return { name, type, shape };
}

/** Stands for the shape of an output of which the file says not even the rank. */
export const UNKNOWN_SHAPE: readonly Dimension[] = Object.freeze([]);

function checkNames(
  inputs: readonly ValueInfo[],
  outputs: readonly ValueInfo[],
  nodes: readonly OnnxNode[],
  initializers: ReadonlyMap<string, Tensor>,
  fileName: string,
): void {
  const defined = new Set<string>(initializers.keys());
  const define = (name: string, by: string): void => {
    if (defined.has(name)) throw invalid(fileName, `defines the value ${JSON.stringify(name)} twice (again as ${by})`);
    defined.add(name);
  };
  for (const input of inputs) define(input.name, 'an input');
  for (const node of nodes) {
    for (const output of node.outputs)
      if (output !== '') define(output, `an output of node ${JSON.stringify(node.name)}`);
  }
  for (const node of nodes) {
    for (const input of node.inputs) {
      if (input !== '' && !defined.has(input)) {
        throw invalid(
          fileName,
          `has the node ${JSON.stringify(node.name)} (${node.op}) read ${JSON.stringify(input)}, which nothing defines`,
        );
      }
    }
  }
  if (outputs.length === 0) throw invalid(fileName, 'has a graph without outputs');
  const named = new Set<string>();
  for (const { name } of outputs) {
    if (named.has(name)) throw invalid(fileName, `lists the output ${JSON.stringify(name)} twice`);
    if (!defined.has(name)) throw invalid(fileName, `has the output ${JSON.stringify(name)}, which nothing defines`);
    named.add(name);
  }
}

function invalid(where: string, what: string): AssayError {
  return new AssayError('ONNX_INVALID', `${where} ${what}.`);
}
