import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import { modelDigest } from '../commitment/model-digest.js';
import { GraphBuilder } from '../integer/builder.js';
import { testModel } from '../commitment/testing/test-model.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../integer/testing/random-graph.js';
import { decodeBundle, encodeBundle } from './codec.js';
import { makeBundle } from './make-bundle.js';
import type { CompileReport } from './report.js';
import type { Bundle } from './types.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);

const report: CompileReport = {
  modelName: 'test',
  opset: 17,
  parameters: 40,
  macs: 100,
  nodes: [{ node: 'conv', op: 'Conv', loweredTo: 'linear' }],
  tensors: [{ tensor: 'Input3', calibration: 'max', scale: 0.5, saturationShare: 0, lo: 0, hi: 255 }],
  calibration: {
    samples: 3,
    labelAgreement: 1,
    maxAbsError: 0.25,
    meanAbsError: 0.1,
    integerDifferences: { elements: 9, differing: 1, maxUnits: 1 },
  },
  heldOut: null,
  tableRows: [{ tensor: 'probability', rows: 77 }],
  largestAccumulator: { tensor: 'conv', magnitude: 1e6 },
  warnings: ['none really'],
};

const bundle = makeBundle({ ...testModel(), sourceHash: `0x${'ab'.repeat(32)}`, report });
const bytes = encodeBundle(bundle);

function errorOf(action: () => unknown): AssayError {
  try {
    action();
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
  return expect.fail('nothing was thrown');
}

/** The bytes with a change made, then the header's length and checksum made good. */
function sealed(change: (body: Uint8Array) => Uint8Array, original = bytes): Uint8Array {
  const body = change(original.slice(52));
  const file = new Uint8Array(52 + body.length);
  file.set(original.subarray(0, 52));
  file.set(body, 52);
  new DataView(file.buffer).setBigUint64(12, BigInt(file.length), true);
  file.set(keccak_256(body), 20);
  return file;
}

/** The file with the JSON text of one section changed. */
function withJson(tag: string, change: (text: string) => string, original = bytes): Uint8Array {
  return sealed((body) => {
    const parts: Uint8Array[] = [];
    for (let offset = 0; offset < body.length;) {
      const size = Number(new DataView(body.buffer, body.byteOffset).getBigUint64(offset + 4, true));
      const name = new TextDecoder().decode(body.subarray(offset, offset + 4));
      let content = body.slice(offset + 12, offset + 12 + size);
      if (name === tag) content = new TextEncoder().encode(change(new TextDecoder().decode(content)));
      const head = body.slice(offset, offset + 12);
      new DataView(head.buffer).setBigUint64(4, BigInt(content.length), true);
      parts.push(head, content);
      offset += 12 + size;
    }
    return Uint8Array.from(parts.flatMap((part) => [...part]));
  }, original);
}

describe('the bundle file', () => {
  it('returns what was written, with the digest recomputed', () => {
    expect(decodeBundle(bytes, 'a.assay')).toEqual(bundle);
    expect(bundle.digest).toBe(modelDigest(bundle));
    expect(Buffer.from(bytes).includes(Buffer.from(bundle.digest.slice(2), 'hex'))).toBe(false);
  });

  it('is the same for the same bundle', () => {
    expect(encodeBundle(decodeBundle(bytes, 'a'))).toEqual(bytes);
  });

  it('holds every kind of node', () => {
    for (let i = 0; i < 5 * NODE_KINDS.length; i++) {
      const random = seededRandom(seed + i);
      const { graph } = i % 5 === 4 ? randomGraph(random) : randomNodeCase(NODE_KINDS[i % NODE_KINDS.length]!, random);
      const port = (id: number): Bundle['inputs'][number] => ({
        name: `p${id}`,
        type: 'float32',
        shape: [1, ...graph.tensors[id]!.shape],
        batched: true,
      });
      const one = makeBundle({
        graph,
        inputs: graph.inputs.map(port),
        outputs: graph.outputs.map(port),
        sourceHash: bundle.sourceHash,
        report,
      });
      expect(decodeBundle(encodeBundle(one), `seed ${seed + i}`)).toEqual(one);
    }
  });
});

describe('a table of committed slots', () => {
  const builder = new GraphBuilder();
  let x = builder.addInput('x', [2], { lo: 0, hi: 9 }, 1, 0);
  for (let i = 0; i < 4; i++) x = builder.add({ kind: 'reduceMax', name: `max ${i}`, x, axes: [0] });
  const port = { type: 'float32', batched: true } as const;
  const parts: Omit<Bundle, 'digest'> = {
    graph: builder.finish('deep', [x]),
    inputs: [{ ...port, name: 'x', shape: [1, 2] }],
    outputs: [{ ...port, name: 'y', shape: [1, 1] }],
    sourceHash: bundle.sourceHash,
    report,
  };

  it('is read as it was written, and belongs to the identity of the model', () => {
    const bounded = makeBundle({ ...parts, committedSlots: [0, 2, 4] });
    const file = encodeBundle(bounded);
    expect(decodeBundle(file, 'deep')).toEqual(bounded);
    expect(encodeBundle(decodeBundle(file, 'deep'))).toEqual(file);
    const digests = [
      [0, 2, 4],
      [0, 4],
      [0, 1, 4],
    ].map((committedSlots) => makeBundle({ ...parts, committedSlots }).digest);
    expect(new Set([...digests, makeBundle(parts).digest]).size).toBe(4);
    expect(digests[0]).toBe(bounded.digest);
  });

  it.each([
    ['[0,2]', 'GRAPH_INVALID', 'slot 4 is an input or output'],
    ['[0,4,2]', 'GRAPH_INVALID', 'entry 2 does not ascend'],
    ['[0,1,2,3,4]', 'GRAPH_INVALID', 'leaves nothing out'],
    ['[0,2,4,5]', 'GRAPH_INVALID', 'entry 3 is 5'],
    ['[0,-2,4]', 'BUNDLE_CORRUPT', 'committedSlots.1'],
    ['[0,"2",4]', 'BUNDLE_CORRUPT', 'committedSlots.1'],
    ['null', 'BUNDLE_CORRUPT', 'committedSlots'],
  ])('is checked when it is read: %s', (table, code, message) => {
    const file = withJson(
      'META',
      (text) => text.replace('"committedSlots":[0,2,4]', `"committedSlots":${table}`),
      encodeBundle(makeBundle({ ...parts, committedSlots: [0, 2, 4] })),
    );
    const error = errorOf(() => decodeBundle(file, 'deep'));
    expect(error.message).toContain(message);
    expect(error.code).toBe(code);
  });
});

describe('a file that is no good bundle', () => {
  const cases: [string, Uint8Array, string, string][] = [
    [
      'an ONNX file',
      Uint8Array.of(0x08, 0x08, 0x12, 0x05, 0x61),
      'NOT_A_BUNDLE',
      'm.onnx: this is an ONNX file, expected a bundle',
    ],
    ['an empty file', new Uint8Array(0), 'NOT_A_BUNDLE', 'm.onnx: it is empty, expected a bundle'],
    ['JSON', new TextEncoder().encode('{"a":1}'), 'NOT_A_BUNDLE', 'this looks like JSON'],
    ['an archive', new TextEncoder().encode('PK\u0003\u0004'), 'NOT_A_BUNDLE', 'ZIP archive'],
    [
      'another version',
      Uint8Array.from(bytes, (b, i) => (i === 8 ? 2 : b)),
      'BUNDLE_VERSION',
      'bundle format version 2, expected 1',
    ],
    ['cut in the magic', bytes.slice(0, 5), 'BUNDLE_CORRUPT', "truncated: 5 bytes of the header's 52"],
    ['cut in the header', bytes.slice(0, 30), 'BUNDLE_CORRUPT', 'truncated'],
    [
      'cut at the end',
      bytes.slice(0, -1),
      'BUNDLE_CORRUPT',
      `truncated: ${bytes.length - 1} bytes, its header says ${bytes.length}`,
    ],
    ['with a byte too many', Uint8Array.of(...bytes, 0), 'BUNDLE_CORRUPT', '1 surplus bytes'],
    ['with one flipped bit', Uint8Array.from(bytes, (b, i) => (i === 500 ? b ^ 1 : b)), 'BUNDLE_CORRUPT', 'checksum'],
    [
      'with an unknown section',
      sealed((body) => body.fill(0x58, 0, 4)),
      'BUNDLE_CORRUPT',
      'section "XXXX" where GRPH was expected',
    ],
    ['with a missing section', sealed((body) => body.slice(0, 0)), 'BUNDLE_CORRUPT', 'section GRPH is missing'],
    [
      'with a surplus section',
      sealed((body) => Uint8Array.of(...body, 1)),
      'BUNDLE_CORRUPT',
      '1 surplus bytes after the last section',
    ],
    ['with broken JSON', withJson('META', (text) => text.slice(1)), 'BUNDLE_CORRUPT', 'section META is not JSON'],
    [
      'with an unknown kind of node',
      withJson('GRPH', (text) => text.replace('"kind":"conv"', '"kind":"fft"')),
      'BUNDLE_CORRUPT',
      'section GRPH: nodes.0.kind',
    ],
    [
      'with a surplus field',
      withJson('GRPH', (text) => text.replace('"kind":"conv"', '"kind":"conv","fast":true')),
      'BUNDLE_CORRUPT',
      'section GRPH: nodes.0',
    ],
    [
      'with an array that is not there',
      withJson('GRPH', (text) => text.replace('"length":16', '"length":16000')),
      'BUNDLE_CORRUPT',
      'section BLOB does not hold',
    ],
    [
      'with a prototype in place of an array type',
      withJson('GRPH', (text) => text.replace('"blob":"int8"', '"blob":"constructor"')),
      'BUNDLE_CORRUPT',
      'section BLOB does not hold',
    ],
    [
      'nested beyond reason',
      withJson('GRPH', () => '['.repeat(50_000) + ']'.repeat(50_000)),
      'BUNDLE_CORRUPT',
      'nested too deeply',
    ],
    [
      'with a broken bound',
      withJson('GRPH', (text) => text.replace('"hi":255', '"hi":2255')),
      'BOUND_EXCEEDED',
      "operand 'image' may reach 2255",
    ],
    [
      'with ports that do not fit',
      withJson('META', (text) => text.replace('[1,2,3,3]', '[1,2,3,4]')),
      'GRAPH_INVALID',
      "input port 'Input3'",
    ],
    [
      'with a port too few',
      withJson('META', (text) => text.replace(/"outputs":\[.*?\}\]/, '"outputs":[]')),
      'GRAPH_INVALID',
      '0 output ports for 2 graph outputs',
    ],
  ];
  it.each(cases)('is named: %s', (_, file, code, message) => {
    const error = errorOf(() => decodeBundle(file, 'm.onnx'));
    expect(error.message).toContain(message);
    expect(error.code).toBe(code);
  });

  it.each([
    [
      'a zero point of 2^32 + 3',
      (text: string) => text.replace('"zeroPoint":3', '"zeroPoint":4294967299'),
      'zero point',
    ],
    [
      'an input side of 2^32 + 2',
      (text: string) => text.replace('"shape":[2,3,3]', '"shape":[4294967298,3,3]'),
      '2^28',
    ],
  ])('has no second model behind the same digest: %s', (_, change, message) => {
    const error = errorOf(() => decodeBundle(withJson('GRPH', change), 'm.onnx'));
    expect(error.code).toBe('GRAPH_INVALID');
    expect(error.message).toContain(message);
  });

  it.each(['\\ud800', '\\udc00 \\ud800'])('has no port named by half of a surrogate pair: %s', (name) => {
    const error = errorOf(() =>
      decodeBundle(
        withJson('META', (text) => text.replace('Plus', name)),
        'm.onnx',
      ),
    );
    expect(error.code).toBe('GRAPH_INVALID');
    expect(error.message).toContain('output port 0: its name');
  });

  it('may join 200,000 operands', () => {
    const count = 200_000;
    const x = { name: 'x', shape: [2], range: { lo: 0, hi: 9 }, scale: 1, zeroPoint: 0, layout: [0] };
    const y = { ...x, name: 'y', shape: [2 * count] };
    const node = { kind: 'concat', name: 'join', xs: new Array<number>(count).fill(0), axis: 0, output: 1 } as const;
    const port = { name: 'x', type: 'float32', shape: [1, 2], batched: true } as const;
    const parts: Omit<Bundle, 'digest'> = {
      graph: { name: 'g', tensors: [x, y], nodes: [node], inputs: [0], outputs: [1] },
      inputs: [port],
      outputs: [{ ...port, name: 'y', shape: [1, 2 * count] }],
      sourceHash: bundle.sourceHash,
      report,
    };
    const large = makeBundle(parts);
    expect(decodeBundle(encodeBundle(large), 'large').digest).toBe(large.digest);
  });

  it('is at fault itself where reading it fails in a way that nobody foresaw', () => {
    const failure = new RangeError('Maximum call stack size exceeded');
    class Failing extends Uint8Array {
      override subarray(): never {
        throw failure;
      }
    }
    const error = errorOf(() => decodeBundle(new Failing(60), 'm.assay'));
    expect(error.code).toBe('BUNDLE_CORRUPT');
    expect(error.message).toBe('m.assay: it cannot be read: RangeError: Maximum call stack size exceeded');
    expect(error.cause).toBe(failure);
  });

  it('says what to do about an ONNX file', () => {
    expect(errorOf(() => decodeBundle(cases[0]![1], 'm.onnx')).mend).toContain('assay compile');
  });

  it('gives typed errors only, whatever bytes are flipped or cut', () => {
    const mutation = fc.record({
      flips: fc.array(fc.record({ at: fc.nat(bytes.length - 1), value: fc.nat(255) }), { maxLength: 4 }),
      cut: fc.option(fc.nat(bytes.length), { freq: 4 }),
      seal: fc.boolean(),
    });
    fc.assert(
      fc.property(mutation, ({ flips, cut, seal }) => {
        const mutate = (file: Uint8Array): Uint8Array => {
          for (const { at, value } of flips) if (at < file.length) file[at] = value;
          return cut === null ? file : file.slice(0, cut);
        };
        const file = seal ? sealed(mutate) : mutate(bytes.slice());
        try {
          const read = decodeBundle(file, 'fuzz');
          // With a good seal a change may leave a valid bundle; then it is what it says it is.
          expect(read.digest).toBe(modelDigest(read));
        } catch (error) {
          if (!(error instanceof AssayError) || error.kind !== 'usage') throw error;
        }
      }),
      { seed, numRuns: 1500 },
    );
  });
});
