/** Proofs at the command line: the way of a user, and each wrong turn with its error, exit code and mend. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { main } from '../cli/main.js';
import { decodeBundle, encodeBundle, inputRoot, makeBundle, outputRoot } from '../graph/index.js';
import { heldOutSamples } from '../models/index.js';
import { decodeModelKey, decodeProofFile } from '../prover/index.js';
import { RECEIPT_FILE_VERSION } from '../receipts/index.js';
import { compiled, provedBatch } from './prover/proved-model.js';
import { assay, refused } from './run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-bad-proof-'));
const at = (name: string): string => join(folder, name);
const write = (name: string, content: Uint8Array | string): string => {
  writeFileSync(at(name), content);
  return at(name);
};

const samples = heldOutSamples('iris', 3).samples.map((sample) => [...(sample.get('features')!.data as Float32Array)]);
let plain = '';
const [keyed, key, proof, one, three] = [
  'keyed.assay',
  'iris.assaykey',
  'iris.assayproof',
  'one.json',
  'three.json',
].map(at) as [string, string, string, string, string];

beforeAll(async () => {
  plain = write('plain.assay', encodeBundle(compiled('iris')));
  write('one.json', JSON.stringify(samples.slice(0, 1)));
  write('three.json', JSON.stringify(samples));
  await assay('key', plain, '--dev-srs', '-o', key, '--bundle-out', keyed);
  await assay('prove', keyed, '-i', one, '-o', proof, '--dev-srs', '--threads', '1');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the way of a user', () => {
  test('inspect says that the model is provable and what a proof costs', async () => {
    expect(await assay('inspect', plain)).toMatchObject({
      exitCode: 0,
      modelKeyHash: null,
      proof: { provable: true, prediction: { rounds: expect.any(Number) as number } },
    });
  });

  test('a proof is valid with the key of its model, and with the model itself', async () => {
    const digest = (await assay('inspect', keyed))['digest'];
    for (const given of [
      ['--key', key],
      ['--bundle', keyed],
    ])
      expect(await assay('verify', proof, ...given, '--dev-srs')).toMatchObject({
        exitCode: 0,
        verdict: { verdict: 'valid' },
        development: true,
        srsId: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
        groups: [{ modelDigest: digest, items: 1 }],
      });
  });

  test('a batch, opened by HyperKZG; the output is that of `assay run`', async () => {
    const out = at('batch.assayproof');
    const proved = await assay('prove', keyed, '-i', three, '-o', out, '--dev-srs', '--batch', '--scheme', 'hyperkzg');
    expect(proved).toMatchObject({ exitCode: 0, items: 3, prediction: { n: expect.any(Number) as number } });
    const ran = await assay('run', keyed, '-i', three, '--engine', 'reference');
    const results = ran['results'] as { integers: number[][] }[];
    expect(proved['integers']).toEqual([results.flatMap(({ integers }) => integers[0])]);
    expect(await assay('verify', out, '--key', key, '--dev-srs')).toMatchObject({ verdict: { verdict: 'valid' } });
  });
});

describe('the audit', () => {
  test('of small models, by families, and of one model', async () => {
    expect(await assay('audit', '--seeds', '1', '--family', 'operands swapped')).toMatchObject({
      exitCode: 0,
      accepted: 0,
      families: [{ name: 'operands swapped', attempts: 1 }],
    });
    const audited = await assay('audit', keyed, '--seeds', '1');
    expect(audited).toMatchObject({ exitCode: 0, accepted: 0 });
    expect(audited['attempts']).toBeGreaterThan(100);
  });

  test('no such family, no seed, families of a bundle', async () => {
    await refused(['audit', '--family', 'none of ours'], 'CONFIG_INVALID', /none of ours/);
    await refused(['audit', '--seeds', '0'], 'CONFIG_INVALID', /--seeds 0/);
    await refused(['audit', keyed, '--seeds', '0'], 'CONFIG_INVALID', /--seeds 0/);
    await refused(['audit', keyed, '--family', 'operands swapped'], 'CONFIG_INVALID', /not on a bundle/);
  });
});

describe('reference strings', () => {
  test('none given', async () => {
    await refused(['key', plain, '-o', at('x')], 'SRS_INVALID', /no reference string/);
    await refused(['prove', plain, '-i', one, '-o', at('x')], 'SRS_INVALID', /no reference string/);
    await refused(['verify', proof, '--bundle', keyed], 'SRS_INVALID', /no reference string/);
  });

  test('the development one is refused where nobody asked for it, from a file too', async () => {
    const file = at('dev.srs');
    await assay('srs', 'dev', '--size', '32768', '-o', file);
    await refused(['key', plain, '-o', at('x'), '--srs', file], 'SRS_DEVELOPMENT', /secret is public/);
    await refused(['verify', proof, '--key', key], 'SRS_DEVELOPMENT', /secret is public/);
  });

  test('no file, another file', async () => {
    await refused(['key', plain, '-o', at('x'), '--srs', at('absent')], 'FILE_NOT_FOUND', /absent/);
    await refused(['key', plain, '-o', at('x'), '--srs', plain], 'SRS_INVALID', /not an SRS file/);
  });
});

describe('proving', () => {
  test('several samples without --batch', () =>
    refused(['prove', plain, '-i', three, '-o', at('x'), '--dev-srs'], 'SAMPLES_INVALID', /holds 3 samples/));

  test('a bundle with the key of another reference string', async () => {
    const parts = decodeBundle(readFileSync(keyed), keyed);
    const other = write('other.assay', encodeBundle(makeBundle({ ...parts, modelKeyHash: `0x${'11'.repeat(32)}` })));
    await refused(['prove', other, '-i', one, '-o', at('x'), '--dev-srs'], 'MODEL_KEY_MISMATCH', /0x1111/);
  });

  test('a key and a bundle in one file', () =>
    refused(
      ['key', plain, '-o', at('x'), '--bundle-out', join(folder, '.', 'x'), '--dev-srs'],
      'CONFIG_INVALID',
      /--out and --bundle-out both name/,
    ));

  test('nowhere to write', async () => {
    const nowhere = at('no/such/folder/x');
    await refused(['key', plain, '-o', nowhere, '--dev-srs'], 'FILE_NOT_WRITABLE', /no\/such\/folder/);
    await refused(['prove', plain, '-i', one, '-o', nowhere, '--dev-srs'], 'FILE_NOT_WRITABLE', /no\/such\/folder/);
  });
});

describe('verifying', () => {
  const verdictOf = async (...args: string[]) => {
    const { exitCode, verdict } = await assay('verify', ...args, '--dev-srs');
    return { exitCode, ...verdict };
  };

  test('no key, a file that is no key, a cut one', async () => {
    await refused(['verify', proof], 'MODEL_KEY_INVALID', /no key was given/);
    await refused(['verify', proof, '--key', plain, '--dev-srs'], 'MODEL_KEY_INVALID', /is not a model key/);
    const cut = write('cut.assaykey', readFileSync(key).subarray(0, -1));
    await refused(['verify', proof, '--key', cut, '--dev-srs'], 'MODEL_KEY_INVALID', /ends inside commitment/);
  });

  test('a file that is no proof, a cut one, a changed one: invalid', async () => {
    const bytes = readFileSync(proof);
    const changed = Buffer.from(bytes);
    changed[changed.length - 1]! ^= 1;
    expect(await verdictOf(plain, '--key', key)).toMatchObject({
      exitCode: 1,
      reason: expect.stringMatching(/plain\.assay: is not a proof file/) as string,
    });
    expect(await verdictOf(write('cut', bytes.subarray(0, 900)), '--key', key)).toMatchObject({
      exitCode: 1,
      reason: expect.stringMatching(/ends inside/) as string,
    });
    expect(await verdictOf(write('changed', changed), '--key', key)).toMatchObject({ exitCode: 1, verdict: 'invalid' });
  });

  test('the key of another model, or of another reference string: undetermined', async () => {
    const bytes = Buffer.from(readFileSync(key));
    // The graph root is behind the magic and the version.
    bytes[12]! ^= 1;
    expect(decodeModelKey(bytes, 'other')).toBeDefined();
    expect(await verdictOf(proof, '--key', write('other.assaykey', bytes))).toMatchObject({
      exitCode: 3,
      reason: expect.stringMatching(/^the key is of model 0x.*, the proof is about 0x/) as string,
    });
    // The bundle names a key, but which proof it is for is decided by the key made anew.
    const parts = decodeBundle(readFileSync(keyed), keyed);
    const ceremony = write(
      'elsewhere.assay',
      encodeBundle(makeBundle({ ...parts, modelKeyHash: `0x${'11'.repeat(32)}` })),
    );
    expect(await verdictOf(proof, '--bundle', ceremony)).toMatchObject({ exitCode: 0 });
    const other = write('iris-mlp.assay', encodeBundle(compiled('mnist-mlp')));
    expect(await verdictOf(proof, '--bundle', other)).toMatchObject({ exitCode: 3 });
  });

  test('a reference string beside a key, which names its own', async () => {
    const silent = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(await main(['node', 'assay', 'verify', proof, '--key', key, '--srs', plain])).toBe(2);
      expect(await main(['node', 'assay', 'receipt', 'verify', proof, '--key', key, '--srs', plain])).toBe(2);
    } finally {
      silent.mockRestore();
    }
  });

  describe('with a receipt', () => {
    const orderHash = `0x${'22'.repeat(32)}`;
    const otherHash = `0x${'77'.repeat(32)}`;
    const bound = at('bound.assayproof');
    let honest: Record<string, unknown>;
    const verdictWith = async (change: object, given: string[]) => {
      const file = {
        version: RECEIPT_FILE_VERSION,
        domain: { chainId: '31337', verifyingContract: `0x${'33'.repeat(20)}` },
        receipt: { ...honest, ...change },
        signature: `0x${'55'.repeat(65)}`,
      };
      return assay('verify', bound, ...given, '--receipt', write('r.json', JSON.stringify(file)));
    };

    beforeAll(async () => {
      const bundle = decodeBundle(readFileSync(keyed), keyed);
      const { samples: one } = heldOutSamples('iris', 1);
      const { proof: bytes } = await provedBatch(bundle, one, 'mercury', new Uint8Array(32).fill(0x22));
      writeFileSync(bound, bytes);
      const [group] = decodeProofFile(bytes, 'proof').groups;
      honest = {
        orderHash,
        modelDigest: bundle.digest,
        inputRoot: inputRoot(bundle.graph, group!.inputs, 1),
        outputRoot: outputRoot(bundle.graph, group!.outputs, 1),
        traceRoot: `0x${'00'.repeat(32)}`,
        opCount: 1,
        items: 1,
        amount: '1',
        lane: 'zk',
        policyHash: otherHash,
        executor: `0x${'44'.repeat(20)}`,
        issuedAt: 1,
      };
    });

    test.each([
      ['key', () => key],
      ['bundle', () => keyed],
    ])('that the proof belongs to, by the %s', async (flag, file) => {
      expect(await verdictWith({}, [`--${flag}`, file(), '--dev-srs'])).toMatchObject({
        exitCode: 0,
        verdict: { verdict: 'valid' },
      });
    });

    test.each<[what: string, change: object, reason: RegExp]>([
      ['another order', { orderHash: otherHash }, /bound to 0x2222.*expected 0x7777/],
      ['another model', { modelDigest: otherHash }, /the receipt about 0x7777/],
      ['another number of items', { items: 2 }, /has 1 items, the receipt 2/],
      ['another lane', { lane: 'sampled' }, /sampled lane/],
      ['another input', { inputRoot: otherHash }, /input of the proof has root/],
      ['another output', { outputRoot: otherHash }, /output of the proof has root/],
    ])('of %s', async (_what, change, reason) => {
      for (const given of [
        ['--bundle', keyed],
        ['--key', key],
      ]) {
        const { exitCode, verdict } = await verdictWith(change, [...given, '--dev-srs']);
        expect(exitCode).toBe(1);
        expect(verdict.reason).toMatch(reason);
      }
    });

    test('of the development chain by its own word: the development key has to be asked for', async () => {
      expect(await verdictWith({}, ['--key', key])).toMatchObject({
        exitCode: 2,
        error: { code: 'SRS_DEVELOPMENT' },
      });
    });
  });
});
