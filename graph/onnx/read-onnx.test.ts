import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { OnnxModel, OnnxNode } from './model.js';
import { prepareModel } from './prepare-model.js';
import { readOnnx } from './read-onnx.js';
import { ATTRIBUTE_TYPES, ModelProtoType, fromBigInt } from './schema.js';
import { constant, input, oneNodeModel } from './testing/one-node.js';
import { generator, randomTensor } from './testing/random.js';
import { writeOnnx } from './write-onnx.js';

const next = generator(3);
const { model: CONV } = oneNodeModel({
  op: 'Conv',
  opset: 17,
  operands: [
    input(randomTensor(next, 'float32', [1, 2, 5, 5])),
    constant(randomTensor(next, 'float32', [3, 2, 3, 3])),
    constant(randomTensor(next, 'float32', [3])),
  ],
  attributes: { kernel_shape: [3, 3], pads: [1, 1, 1, 1], auto_pad: 'NOTSET' },
  outputs: [{ type: 'float32', shape: [1, 3, 5, 5] }],
});
const BYTES = writeOnnx(CONV);

/** What reading throws; the test fails where it throws nothing or anything but an AssayError. */
function failure(bytes: Uint8Array): AssayError {
  try {
    readOnnx(bytes, 'file.onnx');
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
  throw new Error('was read');
}

const text = (content: string): Uint8Array => new TextEncoder().encode(content);

describe('readOnnx of what is no model', () => {
  it.each<[what: string, bytes: Uint8Array, message: RegExp]>([
    ['nothing', new Uint8Array(), /file\.onnx is empty/],
    ['text', text('ir_version: 8\ngraph {'), /is text/],
    ['JSON', text('{"format": "graph-model"}'), /is text/],
    ['a JPEG', Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16), /JPEG/],
    ['a PNG', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10), /PNG/],
    ['a zip', Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 0, 0), /zip/],
    ['a gzipped model', gzipSync(BYTES), /gzip/],
    ['a protobuf without a graph', Uint8Array.of(0x08, 8), /no graph/],
  ])('%s', (_, bytes, message) => {
    const error = failure(bytes);
    expect(error.code).toBe('ONNX_NOT_A_MODEL');
    expect(error.message).toMatch(message);
    expect(error.mend).not.toBe('');
  });

  it('compressed bytes without a known beginning', () => {
    expect(failure(deflateSync(BYTES)).code).toMatch(/^ONNX_(TRUNCATED|NOT_A_MODEL)$/);
  });

  it('a model cut at any byte', () => {
    for (let length = 0; length < BYTES.length; length++) {
      expect(failure(BYTES.subarray(0, length)).code).toMatch(/^ONNX_(TRUNCATED|NOT_A_MODEL|INVALID)$/);
    }
  });

  it('random bytes and damaged models: a typed error or a model, never a crash', () => {
    const attempt = (bytes: Uint8Array): void => {
      try {
        prepareModel(readOnnx(bytes, 'file.onnx'));
      } catch (error) {
        if (!(error instanceof AssayError) || error.code === 'INTERNAL') throw error;
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), attempt), { numRuns: 500 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: BYTES.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        (edits) => {
          const damaged = Uint8Array.from(BYTES);
          for (const [at, byte] of edits) damaged[at] = byte;
          attempt(damaged);
        },
      ),
      { numRuns: 1500 },
    );
  });
});

describe('readOnnx of faulty models', () => {
  const rewrite = (change: Partial<OnnxModel>): Uint8Array => writeOnnx({ ...CONV, ...change });
  const node = (name: string, inputs: string[], outputs: string[], op = 'Add'): OnnxNode => ({
    name,
    op,
    domain: '',
    inputs,
    outputs,
    attributes: new Map(),
  });

  it.each<[what: string, bytes: () => Uint8Array, code: string, message: RegExp]>([
    ['opset 6', () => rewrite({ opset: 6 }), 'ONNX_OPSET_UNSUPPORTED', /uses opset 6; Assay reads opset 7 to \d+/],
    ['an opset of the future', () => rewrite({ opset: 99 }), 'ONNX_OPSET_UNSUPPORTED', /uses opset 99/],
    [
      'a dangling input',
      () => rewrite({ nodes: [node('a', ['x0', 'lost'], ['y0'])] }),
      'ONNX_INVALID',
      /"a" \(Add\) read "lost", which nothing defines/,
    ],
    [
      'a cycle',
      () => rewrite({ nodes: [node('a', ['x0', 'q'], ['p']), node('b', ['p'], ['q']), node('c', ['q'], ['y0'])] }),
      'ONNX_INVALID',
      /form a cycle/,
    ],
    [
      'a value defined twice',
      () => rewrite({ nodes: [node('a', ['x0'], ['y0']), node('b', ['x0'], ['y0'])] }),
      'ONNX_INVALID',
      /defines the value "y0" twice/,
    ],
    [
      'an output that shadows an input',
      () => rewrite({ nodes: [node('a', ['x0'], ['x0'])] }),
      'ONNX_INVALID',
      /defines the value "x0" twice/,
    ],
    [
      'a lost graph output',
      () => rewrite({ nodes: [node('a', ['x0'], ['z'])] }),
      'ONNX_INVALID',
      /output "y0", which nothing defines/,
    ],
    ['no outputs', () => rewrite({ outputs: [] }), 'ONNX_INVALID', /without outputs/],
  ])('%s', (_, bytes, code, message) => {
    const error = failure(bytes());
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  /** Edits the decoded message, for faults that our writer cannot write. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a protobuf message, edited out of its type
  function edited(edit: (proto: Record<string, any>) => void): Uint8Array {
    const proto = ModelProtoType.decode(BYTES);
    edit(proto);
    return ModelProtoType.encode(proto).finish();
  }
  const raw = { floatType: 1, dims: [fromBigInt(2n)] };

  it.each<[what: string, edit: Parameters<typeof edited>[0], code: string, message: RegExp]>([
    [
      'no opset',
      (proto) => (proto['opsetImport'] = []),
      'ONNX_INVALID',
      /names no version of the standard operator set/,
    ],
    [
      'a domain that is not imported',
      (proto) => (proto['graph'].node[0].domain = 'com.acme'),
      'ONNX_INVALID',
      /domain "com\.acme" \(node "node"\) without importing/,
    ],
    [
      'a sequence input',
      (proto) => (proto['graph'].input[0].type = { sequenceType: {} }),
      'ONNX_TYPE_UNSUPPORTED',
      /input "x0" is a sequence/,
    ],
    [
      'an optional output',
      (proto) => (proto['graph'].output[0].type = { optionalType: {} }),
      'ONNX_TYPE_UNSUPPORTED',
      /output "y0" is an optional value/,
    ],
    [
      'a sparse input',
      (proto) => (proto['graph'].input[0].type = { sparseTensorType: {} }),
      'ONNX_TYPE_UNSUPPORTED',
      /is a sparse tensor/,
    ],
    [
      'sparse initializers',
      (proto) => (proto['graph'].sparseInitializer = [{}]),
      'ONNX_TYPE_UNSUPPORTED',
      /sparse initializers/,
    ],
    [
      'an input without rank',
      (proto) => (proto['graph'].input[0].type.tensorType.shape = null),
      'ONNX_INVALID',
      /nothing about its shape/,
    ],
    [
      'an int4 initializer',
      (proto) => (proto['graph'].initializer[0].dataType = 22),
      'ONNX_TYPE_UNSUPPORTED',
      /initializer "x1" has element type int4/,
    ],
    [
      'external data',
      (proto) =>
        Object.assign(proto['graph'].initializer[0], {
          dataLocation: 1,
          externalData: [{ key: 'location', value: 'w.bin' }],
        }),
      'ONNX_EXTERNAL_DATA',
      /outside the file \(in "w\.bin"\)/,
    ],
    [
      'too few bytes',
      (proto) => (proto['graph'].initializer[0].rawData = new Uint8Array(8)),
      'ONNX_INVALID',
      /asks for 216 bytes; found 8/,
    ],
    [
      'too few values',
      (proto) => Object.assign(proto['graph'].initializer[0], { rawData: new Uint8Array(), floatData: [1] }),
      'ONNX_INVALID',
      /asks for 54 elements; found 1 values/,
    ],
    [
      'a negative side',
      (proto) => (proto['graph'].initializer[0].dims = [fromBigInt(-1n)]),
      'ONNX_INVALID',
      /negative dimension -1/,
    ],
    [
      'an initializer twice',
      (proto) => proto['graph'].initializer.push(proto['graph'].initializer[0]),
      'ONNX_INVALID',
      /initializer "x1" twice/,
    ],
    [
      'an attribute twice',
      (proto) => proto['graph'].node[0].attribute.push(proto['graph'].node[0].attribute[0]),
      'ONNX_INVALID',
      /attribute "kernel_shape" twice/,
    ],
    [
      'an attribute without a type',
      (proto) => (proto['graph'].node[0].attribute[0].type = 0),
      'ONNX_INVALID',
      /does not say its type/,
    ],
    [
      'a string that is not UTF-8',
      (proto) => Object.assign(proto['graph'].node[0].attribute[2], { s: Uint8Array.of(0xff) }),
      'ONNX_INVALID',
      /not UTF-8/,
    ],
    [
      'a bool of 2',
      (proto) =>
        proto['graph'].initializer.push({ name: 'b', dataType: 9, dims: raw.dims, rawData: Uint8Array.of(1, 2) }),
      'ONNX_INVALID',
      /bool and holds the byte 2/,
    ],
    [
      'an int8 of 300',
      (proto) => proto['graph'].initializer.push({ name: 'b', dataType: 3, dims: raw.dims, int32Data: [1, 300] }),
      'ONNX_INVALID',
      /holds 300, which is no int8/,
    ],
  ])('%s', (_, edit, code, message) => {
    const error = failure(edited(edit));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it('leaves attributes that hold graphs out, for the report of unsupported nodes', () => {
    const model = readOnnx(
      edited((proto) => proto['graph'].node[0].attribute.push({ name: 'body', type: ATTRIBUTE_TYPES.graph })),
      'file.onnx',
    );
    expect([...model.nodes[0]!.attributes.keys()]).toEqual(['kernel_shape', 'pads', 'auto_pad']);
  });

  it('takes initializers off the inputs, as files of IR version 3 list them', () => {
    const listed = edited((proto) =>
      proto['graph'].input.push({ name: 'x1', type: { tensorType: { elemType: 1, shape: { dim: [] } } } }),
    );
    expect(readOnnx(listed, 'file.onnx').inputs.map(({ name }) => name)).toEqual(['x0']);
  });
});

describe('readOnnx', () => {
  it('sorts nodes and makes their names unique', () => {
    const chain = ['c', 'b', 'a'].map((from, index): OnnxNode => {
      const to = index === 0 ? 'y0' : ['c', 'b', 'a'][index - 1]!;
      return {
        name: 'same',
        op: 'Relu',
        domain: '',
        inputs: [from === 'a' ? 'x0' : from],
        outputs: [to],
        attributes: new Map(),
      };
    });
    const model = readOnnx(writeOnnx({ ...CONV, nodes: chain }), 'file.onnx');
    expect(model.nodes.map(({ outputs }) => outputs[0])).toEqual(['b', 'c', 'y0']);
    expect(new Set(model.nodes.map(({ name }) => name)).size).toBe(3);
  });

  it('sorts a chain of 20,000 nodes given backwards', () => {
    const nodes = Array.from({ length: 20_000 }, (_, index): OnnxNode => {
      const at = 19_999 - index;
      return {
        name: `n${at}`,
        op: 'Relu',
        domain: '',
        inputs: [at === 0 ? 'x0' : `v${at}`],
        outputs: [at === 19_999 ? 'y0' : `v${at + 1}`],
        attributes: new Map(),
      };
    });
    expect(readOnnx(writeOnnx({ ...CONV, nodes }), 'file.onnx').nodes[19_999]!.outputs).toEqual(['y0']);
  });

  it('names nodes that the file does not name', () => {
    const nodes = CONV.nodes.map((node) => ({ ...node, name: '' }));
    expect(readOnnx(writeOnnx({ ...CONV, nodes }), 'file.onnx').nodes[0]!.name).toBe('Conv_0');
  });

  it('hashes the file', () => {
    const { sourceHash } = readOnnx(BYTES, 'file.onnx');
    expect(sourceHash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(readOnnx(writeOnnx({ ...CONV, name: 'other' }), 'file.onnx').sourceHash).not.toBe(sourceHash);
  });
});
