/**
 * Bad input at the command line: each case is a typed error with its code, an exit code by its kind, a message that
 * names the thing, and a mend. docs/errors.md lists all codes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { main } from '../cli/main.js';
import { compileModel, encodeBundle, readOnnx, writeOnnx, type OnnxModel } from '../graph/index.js';
import { calibrationSamples, shippedModel } from '../models/index.js';
import { refused } from './run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-bad-input-'));
const at = (name: string) => join(folder, name);
const write = (name: string, content: Uint8Array | string) => {
  writeFileSync(at(name), content);
  return at(name);
};

const iris = shippedModel('iris');
const irisBytes = readFileSync(iris.file);
let bundleFile = '';

beforeAll(() => {
  const bundle = compileModel(readOnnx(irisBytes, iris.file), { calibration: calibrationSamples('iris', 40) });
  bundleFile = write('iris.assay', encodeBundle(bundle));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The iris model with some parts replaced. */
function changed(name: string, change: (model: OnnxModel) => Partial<OnnxModel>): string {
  const model = readOnnx(irisBytes, 'iris');
  return write(name, writeOnnx({ ...model, ...change(model) }));
}

describe('model files', () => {
  test('no such file', () => refused(['compile', at('absent.onnx'), '-c', 'x.npy'], 'FILE_NOT_FOUND', /absent\.onnx/));

  test('not an ONNX file', async () => {
    await refused(
      ['compile', write('cat.onnx', 'I am a cat, not a model.'), '-c', 'x.npy'],
      'ONNX_NOT_A_MODEL',
      /cat\.onnx/,
    );
    await refused(['inspect', write('empty.onnx', '')], 'ONNX_NOT_A_MODEL', /empty\.onnx/);
  });

  test('truncated', () =>
    refused(
      ['compile', write('cut.onnx', irisBytes.subarray(0, irisBytes.length / 2)), '-c', 'x.npy'],
      'ONNX_TRUNCATED',
      /cut\.onnx/,
    ));

  test('unknown operator, by node name', async () => {
    const file = changed('strange.onnx', ({ nodes }) => ({
      nodes: nodes.map((node, i) => (i === 1 ? { ...node, name: 'odd_one', op: 'Frobnicate' } : node)),
    }));
    await refused(['compile', file, '-c', write('four.json', '[[1,2,3,4]]')], 'UNSUPPORTED_NODES', /odd_one/);
  });

  test('an ONNX file where a bundle is expected', () =>
    refused(['run', iris.file, '-i', 'x.npy'], 'NOT_A_BUNDLE', /iris\.onnx: this is an ONNX file, expected a bundle/));

  test('a bundle of another version, a damaged one, a cut one', async () => {
    const bytes = readFileSync(bundleFile);
    const versioned = Buffer.from(bytes);
    // The version stands after the eight bytes of magic.
    versioned.writeUInt32LE(99, 8);
    await refused(['inspect', write('new.assay', versioned)], 'BUNDLE_VERSION', /99/);
    const damaged = Buffer.from(bytes);
    damaged[damaged.length >> 1]! ^= 1;
    await refused(['inspect', write('damaged.assay', damaged)], 'BUNDLE_CORRUPT', /damaged\.assay/);
    await refused(['inspect', write('cut.assay', bytes.subarray(0, bytes.length - 5))], 'BUNDLE_CORRUPT', /cut\.assay/);
  });

  test('NaN among the weights', async () => {
    const file = changed('nan.onnx', ({ initializers }) => {
      const [[name, tensor]] = [...initializers].filter(([, { shape }]) => shape.length === 2) as [
        [string, { data: Float32Array; shape: number[]; type: 'float32' }],
      ];
      return {
        initializers: new Map([
          ...initializers,
          [name, { ...tensor, data: Float32Array.from(tensor.data, (w, i) => (i === 3 ? NaN : w)) }],
        ]),
      };
    });
    await refused(['compile', file, '-c', write('four.json', '[[1,2,3,4]]')], 'CONSTANT_NOT_FINITE', /NaN/);
  });
});

describe('inputs', () => {
  test('wrong shape', () =>
    refused(
      ['run', bundleFile, '-i', write('three.json', '[[1,2,3]]')],
      'SAMPLES_INVALID',
      /"features".*3 elements.*needs 4/,
    ));

  test('NaN', async () => {
    // JSON has no NaN: it comes in by way of NumPy.
    const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }".padEnd(117) + '\n';
    const data = Buffer.from(Float32Array.of(1, NaN, 3, 4).buffer);
    const file = write(
      'nan.npy',
      Buffer.concat([
        Buffer.from([0x93]),
        Buffer.from('NUMPY'),
        Buffer.from([1, 0, 118, 0]),
        Buffer.from(header),
        data,
      ]),
    );
    await refused(['run', bundleFile, '-i', file], 'INPUT_INVALID', /features.*element 1 is NaN/);
  });

  test('no such file, no such format, not JSON', async () => {
    await refused(['run', bundleFile, '-i', at('absent.npy')], 'FILE_NOT_FOUND', /absent\.npy/);
    await refused(['run', bundleFile, '-i', write('x.csv', '1,2')], 'SAMPLES_INVALID', /ending "\.csv"/);
    await refused(['run', bundleFile, '-i', write('x.json', '{')], 'SAMPLES_INVALID', /not JSON/);
  });
});

test('a result that could not be written is refused before the work', async () => {
  const nowhere = at('no/such/folder/x');
  await refused(['compile', iris.file, '-c', 'shipped', '-o', nowhere], 'FILE_NOT_WRITABLE', /no\/such\/folder/);
  await refused(['run', bundleFile, '-i', 'x.npy', '--trace', nowhere], 'FILE_NOT_WRITABLE', /no\/such\/folder/);
});

describe('settlement', () => {
  // Port 9 of the loopback interface: nobody listens there. What is wrong with a file is said before anybody is asked.
  const chain = ['--rpc', 'http://127.0.0.1:9', '--rollup', `0x${'11'.repeat(20)}`];

  test('an order file that is none, and one with a field too many', async () => {
    await refused(
      ['order', 'status', write('o.json', 'no json'), ...chain],
      'ORDER_FILE_MALFORMED',
      /o\.json: not JSON/,
    );
    await refused(
      ['order', 'expire', write('x.json', '{"version":1,"extra":true}'), ...chain],
      'ORDER_FILE_MALFORMED',
      /x\.json/,
    );
    await refused(['receipt', 'settle', at('absent.json'), ...chain], 'FILE_NOT_FOUND', /absent\.json/);
  });

  test('no key, a key file without a key, terms that are none', async () => {
    await refused(['account', 'withdraw', '1', ...chain], 'CONFIG_INVALID', /no key was given/);
    const key = ['--key-file', write('cat.key', 'I am a cat, not a key.')];
    await refused(['account', 'withdraw', '1', ...chain, ...key], 'KEY_INVALID', /cat\.key/);
    const good = ['--key-file', write('good.key', '11'.repeat(32))];
    await refused(['account', 'withdraw', '1', ...chain, ...good], 'CHAIN_UNAVAILABLE', /127\.0\.0\.1:9/);
    const terms = ['--policy', write('terms.json', '{"clock":"timestamp"}')];
    await refused(['deploy', '--rpc', chain[1]!, ...good, ...terms], 'POLICY_INVALID', /terms\.json: policyDelay/);
  });

  test('an address that is none is a wrong use of the command: exit code 2', async () => {
    const quiet = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(await main(['node', 'assay', 'account', 'balance', '0x12', ...chain])).toBe(2);
      expect(await main(['node', 'assay', 'deploy', '--auditors', `${chain[3]},${chain[3]}`])).toBe(2);
      expect(await main(['node', 'assay', 'receipt', 'settle', 'r.json', '--rpc', 'http://127.0.0.1:9'])).toBe(2);
    } finally {
      quiet.mockRestore();
    }
  });
});

describe('receipts and services', () => {
  test('a receipt file with an unknown field, or none at all', async () => {
    await refused(
      ['receipt', 'show', write('r.json', '{"version":1,"extra":true}')],
      'RECEIPT_FILE_MALFORMED',
      /r\.json/,
    );
    await refused(['receipt', 'show', write('t.json', 'no json')], 'RECEIPT_FILE_MALFORMED', /t\.json/);
  });

  test('Redis gone', async () => {
    const { openStepQueue } = await import('../pipeline/queue/step-queue.js');
    // Port 9 of the loopback interface: nobody listens there.
    await expect(
      openStepQueue({ kind: 'redis', url: 'redis://127.0.0.1:9', namespace: 'test' }, ['run']),
    ).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      kind: 'infrastructure',
      message: expect.stringContaining('127.0.0.1:9') as string,
    });
  });

  test('a flag that is no number, an unknown command: exit code 2', async () => {
    const quiet = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(await main(['node', 'assay', 'run', bundleFile, '-i', 'x.npy', '--threads', 'many'])).toBe(2);
      expect(await main(['node', 'assay', 'fly'])).toBe(2);
    } finally {
      quiet.mockRestore();
    }
  });
});
