/**
 * The part of onnx.proto that Assay reads and writes, as a protobufjs descriptor.
 *
 * Source: onnx/onnx.proto of github.com/onnx/onnx. Field numbers are a promise
 * of that file and never change. Fields that are left out (documentation, training, quantisation hints) are
 * skipped by the decoder; fields that must be seen to be refused (sparse tensors, external data, local
 * functions, sequences) are declared.
 */
import protobuf from 'protobufjs/light.js';

/** Repeated scalars are packed where onnx.proto says so; the decoder takes both forms. */
const packed = { options: { packed: true } } as const;
const unpacked = { options: { packed: false } } as const;

const ROOT = protobuf.Root.fromJSON({
  nested: {
    ModelProto: {
      fields: {
        irVersion: { type: 'int64', id: 1 },
        producerName: { type: 'string', id: 2 },
        producerVersion: { type: 'string', id: 3 },
        graph: { type: 'GraphProto', id: 7 },
        opsetImport: { rule: 'repeated', type: 'OperatorSetIdProto', id: 8 },
        metadataProps: { rule: 'repeated', type: 'StringStringEntryProto', id: 14 },
      },
    },
    OperatorSetIdProto: { fields: { domain: { type: 'string', id: 1 }, version: { type: 'int64', id: 2 } } },
    StringStringEntryProto: { fields: { key: { type: 'string', id: 1 }, value: { type: 'string', id: 2 } } },
    GraphProto: {
      fields: {
        node: { rule: 'repeated', type: 'NodeProto', id: 1 },
        name: { type: 'string', id: 2 },
        initializer: { rule: 'repeated', type: 'TensorProto', id: 5 },
        input: { rule: 'repeated', type: 'ValueInfoProto', id: 11 },
        output: { rule: 'repeated', type: 'ValueInfoProto', id: 12 },
        sparseInitializer: { rule: 'repeated', type: 'SparseTensorProto', id: 15 },
      },
    },
    SparseTensorProto: { fields: { values: { type: 'TensorProto', id: 1 } } },
    NodeProto: {
      fields: {
        input: { rule: 'repeated', type: 'string', id: 1 },
        output: { rule: 'repeated', type: 'string', id: 2 },
        name: { type: 'string', id: 3 },
        opType: { type: 'string', id: 4 },
        attribute: { rule: 'repeated', type: 'AttributeProto', id: 5 },
        domain: { type: 'string', id: 7 },
      },
    },
    AttributeProto: {
      fields: {
        name: { type: 'string', id: 1 },
        f: { type: 'float', id: 2 },
        i: { type: 'int64', id: 3 },
        s: { type: 'bytes', id: 4 },
        t: { type: 'TensorProto', id: 5 },
        floats: { rule: 'repeated', type: 'float', id: 7, ...unpacked },
        ints: { rule: 'repeated', type: 'int64', id: 8, ...unpacked },
        strings: { rule: 'repeated', type: 'bytes', id: 9 },
        type: { type: 'int32', id: 20 },
        refAttrName: { type: 'string', id: 21 },
      },
    },
    TensorProto: {
      fields: {
        dims: { rule: 'repeated', type: 'int64', id: 1, ...unpacked },
        dataType: { type: 'int32', id: 2 },
        segment: { type: 'SegmentProto', id: 3 },
        floatData: { rule: 'repeated', type: 'float', id: 4, ...packed },
        int32Data: { rule: 'repeated', type: 'int32', id: 5, ...packed },
        stringData: { rule: 'repeated', type: 'bytes', id: 6 },
        int64Data: { rule: 'repeated', type: 'int64', id: 7, ...packed },
        name: { type: 'string', id: 8 },
        rawData: { type: 'bytes', id: 9 },
        doubleData: { rule: 'repeated', type: 'double', id: 10, ...packed },
        uint64Data: { rule: 'repeated', type: 'uint64', id: 11, ...packed },
        externalData: { rule: 'repeated', type: 'StringStringEntryProto', id: 13 },
        dataLocation: { type: 'int32', id: 14 },
      },
    },
    SegmentProto: { fields: { begin: { type: 'int64', id: 1 }, end: { type: 'int64', id: 2 } } },
    ValueInfoProto: { fields: { name: { type: 'string', id: 1 }, type: { type: 'TypeProto', id: 2 } } },
    TypeProto: {
      oneofs: { value: { oneof: ['tensorType', 'sequenceType', 'mapType', 'sparseTensorType', 'optionalType'] } },
      fields: {
        tensorType: { type: 'TensorTypeProto', id: 1 },
        sequenceType: { type: 'OpaqueTypeProto', id: 4 },
        mapType: { type: 'OpaqueTypeProto', id: 5 },
        sparseTensorType: { type: 'OpaqueTypeProto', id: 8 },
        optionalType: { type: 'OpaqueTypeProto', id: 9 },
      },
    },
    /** Only its presence matters: such values are refused. */
    OpaqueTypeProto: { fields: {} },
    TensorTypeProto: {
      fields: { elemType: { type: 'int32', id: 1 }, shape: { type: 'TensorShapeProto', id: 2 } },
    },
    TensorShapeProto: { fields: { dim: { rule: 'repeated', type: 'DimensionProto', id: 1 } } },
    DimensionProto: {
      oneofs: { value: { oneof: ['dimValue', 'dimParam'] } },
      fields: { dimValue: { type: 'int64', id: 1 }, dimParam: { type: 'string', id: 2 } },
    },
  },
});

/** A 64-bit integer as protobufjs holds it. */
export interface Int64 {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
}

export interface TensorProto {
  dims?: Int64[];
  dataType?: number;
  segment?: object | null;
  floatData?: number[];
  int32Data?: number[];
  stringData?: Uint8Array[];
  int64Data?: Int64[];
  name?: string;
  rawData?: Uint8Array;
  doubleData?: number[];
  uint64Data?: Int64[];
  externalData?: { key?: string; value?: string }[];
  dataLocation?: number;
}

export interface AttributeProto {
  name?: string;
  f?: number;
  i?: Int64;
  s?: Uint8Array;
  t?: TensorProto | null;
  floats?: number[];
  ints?: Int64[];
  strings?: Uint8Array[];
  type?: number;
  refAttrName?: string;
}

export interface NodeProto {
  input?: string[];
  output?: string[];
  name?: string;
  opType?: string;
  attribute?: AttributeProto[];
  domain?: string;
}

export interface DimensionProto {
  value?: 'dimValue' | 'dimParam';
  dimValue?: Int64;
  dimParam?: string;
}

export interface TypeProto {
  value?: 'tensorType' | 'sequenceType' | 'mapType' | 'sparseTensorType' | 'optionalType';
  tensorType?: { elemType?: number; shape?: { dim?: DimensionProto[] } | null } | null;
}

export interface ValueInfoProto {
  name?: string;
  type?: TypeProto | null;
}

export interface GraphProto {
  node?: NodeProto[];
  name?: string;
  initializer?: TensorProto[];
  input?: ValueInfoProto[];
  output?: ValueInfoProto[];
  sparseInitializer?: object[];
}

export interface ModelProto {
  irVersion?: Int64;
  producerName?: string;
  producerVersion?: string;
  graph?: GraphProto | null;
  opsetImport?: { domain?: string; version?: Int64 }[];
}

export const ModelProtoType = ROOT.lookupType('ModelProto');
export const TensorProtoType = ROOT.lookupType('TensorProto');

/** AttributeProto.AttributeType of the kinds that an attribute of ours can have. */
export const ATTRIBUTE_TYPES = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
  strings: 8,
} as const;

/** The 64-bit integer as a bigint, signed or unsigned as the field is. */
export function toBigInt(value: Int64): bigint {
  const bits = (BigInt(value.high | 0) << 32n) | BigInt(value.low >>> 0);
  return value.unsigned ? BigInt.asUintN(64, bits) : bits;
}

/** The 64-bit integer as a number, saturated at +-2^53: slices say "to the end" with the largest int64. */
export function toSaturatedNumber(value: Int64): number {
  const limit = 2 ** 53;
  return Math.max(-limit, Math.min(limit, Number(toBigInt(value))));
}

/** The form in which protobufjs encodes a 64-bit integer. */
export function fromBigInt(value: bigint, unsigned = false): Int64 {
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)), unsigned };
}
