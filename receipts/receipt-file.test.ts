import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatReceiptFile, parseReceiptFile, type ReceiptFile } from './receipt-file.js';
import { eip712Cases } from './vectors/read-vectors.js';

const c = eip712Cases.find(({ receipt }) => receipt.lane === 'zk')!;
const LAST_SECOND = 8_640_000_000_000;
const file: ReceiptFile = {
  version: 2,
  domain: c.domain,
  receipt: { ...c.receipt, issuedAt: LAST_SECOND },
  signature: c.receiptSignature,
  order: { ...c.order, deliverBy: LAST_SECOND, validUntil: LAST_SECOND },
  orderSignature: c.orderSignature,
  acceptance: c.acceptance,
  inputs: [[0, 255, 7]],
  outputs: [[-(2 ** 31), 2 ** 31 - 1], []],
  batch: {
    header: {
      lane: 'zk',
      count: 2,
      poster: `0x${'0a'.repeat(20)}`,
      salt: `0x${'0b'.repeat(32)}`,
      batchRoot: `0x${'0c'.repeat(32)}`,
      policyHash: `0x${'0e'.repeat(32)}`,
      unbound: 2n ** 256n - 1n,
      committedAt: 2 ** 48 - 1,
      committedBlock: 17,
    },
    index: 1,
    path: [`0x${'0d'.repeat(32)}`],
  },
  evidence: { scheme: 'mercury', proof: '0x0011ff', published: [[1, -1], []] },
};
const text = formatReceiptFile(file);
const malformed = (found: string | RegExp) =>
  expect.objectContaining({ code: 'RECEIPT_FILE_MALFORMED', message: expect.stringMatching(found) });

describe('round trip', () => {
  it('full and minimal', () => {
    expect(parseReceiptFile(text)).toEqual(file);
    const { version, domain, receipt, signature } = file;
    const minimal = { version, domain, receipt, signature };
    expect(parseReceiptFile(formatReceiptFile(minimal))).toEqual(minimal);
    expect(parseReceiptFile(JSON.stringify(JSON.parse(text)))).toEqual(file);
  });

  it('an acceptance or a signature of an order needs the order', () => {
    const { version, domain, receipt, signature, acceptance } = file;
    const bare = { version, domain, receipt, signature };
    const accepted = { ...bare, acceptance: acceptance! };
    expect(() => formatReceiptFile(accepted)).toThrow(malformed('acceptance'));
    expect(parseReceiptFile(formatReceiptFile(bare))).toEqual(bare);
    expect(() => formatReceiptFile({ ...bare, orderSignature: c.orderSignature })).toThrow(malformed('orderSignature'));
  });

  it('a wrong field fails at its maker', () => {
    const wrong = { ...file, receipt: { ...file.receipt, items: 1.5 } };
    expect(() => formatReceiptFile(wrong)).toThrow(malformed('receipt.items'));
  });
});

describe('refuses', () => {
  const edit = (path: string, value: unknown): string => {
    const json = JSON.parse(text) as Record<string, unknown>;
    const keys = path.split('.');
    let at = json;
    for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>;
    if (value === undefined) delete at[keys.at(-1)!];
    else at[keys.at(-1)!] = value;
    return JSON.stringify(json);
  };
  const cases: [string, unknown][] = [
    ['version', 1],
    ['version', 3],
    ['version', '2'],
    ['surplus', 1],
    ['receipt.surplus', 1],
    ['batch.header.surplus', 1],
    ['receipt.orderHash', undefined],
    ['receipt.orderHash', `0x${'AB'.repeat(32)}`],
    ['receipt.orderHash', '0x00'],
    ['receipt.amount', 5],
    ['receipt.amount', '05'],
    ['receipt.amount', '-1'],
    ['receipt.amount', (2n ** 256n).toString()],
    ['receipt.opCount', 2 ** 32],
    ['receipt.opCount', '3'],
    ['receipt.issuedAt', 2 ** 53],
    ['receipt.issuedAt', LAST_SECOND + 1],
    ['order.deliverBy', LAST_SECOND + 1],
    ['order.validUntil', LAST_SECOND + 1],
    ['order.executor', undefined],
    ['order.executor', `0x${'00'.repeat(21)}`],
    ['order.surcharge', 5],
    ['order.surcharge', (2n ** 256n).toString()],
    ['order.outputBytes', 2 ** 32],
    ['order.outputBytes', '64'],
    ['order', undefined],
    ['acceptance', '0x'],
    ['acceptance', null],
    ['receipt.lane', 'toString'],
    ['receipt.lane', 3],
    ['receipt.executor', `0x${'00'.repeat(21)}`],
    ['signature', '0x'],
    ['signature', '0x123'],
    ['domain.chainId', 1],
    ['outputs', [[0.5]]],
    ['outputs', [[2 ** 31]]],
    ['outputs', [1]],
    ['outputs', [['1']]],
    ['outputs', {}],
    ['batch.index', 256],
    ['batch.path', Array(9).fill(`0x${'00'.repeat(32)}`)],
    ['batch.header.count', 0],
    ['batch.header.count', 257],
    ['batch.header.committedAt', 2 ** 48],
    ['batch.header.committedBlock', 2 ** 48],
    ['batch.header.committedBlock', undefined],
    ['batch.header.policyHash', undefined],
    ['batch.header.policyHash', '0x00'],
    ['batch', null],
    ['order', null],
    ['receipt.lane', 'sampled'],
    ['evidence', null],
    ['evidence.surplus', 1],
    ['evidence.scheme', 'groth16'],
    ['evidence.scheme', 1],
    ['evidence.scheme', undefined],
    ['evidence.proof', undefined],
    ['evidence.proof', '0x'],
    ['evidence.proof', '0x0'],
    ['evidence.proof', '0xAA'],
    ['evidence.proof', [0, 17]],
    ['evidence.proof', `0x${'00'.repeat(2 ** 20 + 1)}`],
    ['evidence.published', [[0.5]]],
    ['evidence.published', [1]],
  ];
  it.each(cases)('%s = %j', (path, value) => {
    const edited = edit(path, value);
    expect(edited).not.toBe(JSON.stringify(JSON.parse(text)));
    expect(() => parseReceiptFile(edited, 'r.json')).toThrow(malformed(/^r\.json: /));
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'receipt'],
    ['another JSON', '[]'],
    ['null', 'null'],
    ['truncated', text.slice(0, -20)],
    ['a key twice', text.replace('"version": 2,', '"version": 2, "version": 2,')],
    ['2e0', text.replace('"version": 2', '"version": 2e0')],
    ['2.0', text.replace('"version": 2', '"version": 2.0')],
    ['-0', text.replace('"index": 1', '"index": -0')],
    ['a space inside a hash', text.replace('0x0b', '0x 0b')],
    ['text after the end', `${text}{}`],
    ['escaped letter', text.replace('"version"', '"v\\u0065rsion"')],
    ['__proto__', text.replace('"version": 2,', '"version": 2, "__proto__": {},')],
  ])('%s', (_name, bad) => {
    expect(bad).not.toBe(text);
    expect(() => parseReceiptFile(bad)).toThrow(malformed(''));
  });
});

describe('hostile files end in RECEIPT_FILE_MALFORMED', () => {
  const MEGABYTES = 20 * 2 ** 20;
  const instead = (path: string, value: string): string => {
    expect(text).toContain(path);
    return text.replace(path, value);
  };
  const list = (element: string, count: number): string => `[${Array(count).fill(element).join(',')}]`;
  const { signature } = file;
  const salt = file.batch!.header.salt;
  it.each<[string, () => string]>([
    ['200,000 brackets', () => '['.repeat(200_000) + ']'.repeat(200_000)],
    ['200,000 brackets that never close', () => '['.repeat(200_000)],
    ['200,000 objects', () => `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    ['brackets in a field', () => instead('"index": 1', `"index": ${'['.repeat(9)}${']'.repeat(9)}`)],
    ['a string of 20 MB', () => JSON.stringify('x'.repeat(MEGABYTES))],
    ['a string of 20 MB of escapes', () => JSON.stringify('"\\'.repeat(MEGABYTES / 4))],
    ['a string of 20 MB that never ends', () => `"${'x'.repeat(MEGABYTES)}`],
    ['a hash of 20 MB', () => instead(salt, `0x${'0a'.repeat(MEGABYTES / 2)}`)],
    ['a signature of 20 MB and one digit', () => instead(signature, `0x${'0a'.repeat(MEGABYTES / 2)}0`)],
    ['white space of 20 MB', () => ' '.repeat(MEGABYTES)],
    ['a million wrong numbers', () => instead('"outputs": [', `"outputs": [${list('0.5', 1_000_000)},`)],
    ['a million wrong lists', () => instead('"outputs": [', `"outputs": [${list('[""]', 1_000_000)},`)],
    ['a million path elements', () => instead('"path": [', `"path": [${list('""', 1_000_000)},`)],
    ['a surplus field with a name of 20 MB', () => instead('"index": 1', `"index": 1, "${'x'.repeat(MEGABYTES)}": 1`)],
  ])('%s', (_name, bad) => {
    expect(() => parseReceiptFile(bad())).toThrow(malformed(/^receipt: .{1,400}$/s));
  });

  it('the longest signature that reads is no stack overflow either', () => {
    const long = `0x${'0a'.repeat(MEGABYTES / 2)}` as const;
    expect(parseReceiptFile(instead(signature, long)).signature).toBe(long);
  });

  it('brackets, quotes and white space inside a string are the string', () => {
    const json = instead('"index": 1', `"index": 1, "${'[ {'.repeat(20)}\\" ": 1`);
    expect(() => parseReceiptFile(json)).toThrow(malformed('nrecognized key'));
  });
});

describe('a browser can load this room', () => {
  it('no source imports from Node or from other rooms', () => {
    const folder = new URL('.', import.meta.url);
    const sources = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    expect(sources).toContain('verify-receipt.ts');
    for (const name of sources) {
      const imports = [...readFileSync(new URL(name, folder), 'utf8').matchAll(/from '([^']+)'/g)].map((m) => m[1]!);
      for (const target of imports) {
        expect(target, name).toMatch(
          /^(\.\/[a-z0-9-]+\.js|\.\.\/common\/errors\.js|ethers|zod|@noble\/hashes\/sha3\.js)$/,
        );
      }
      expect(readFileSync(new URL(name, folder), 'utf8'), name).not.toMatch(/\b(Buffer|process|require)\b\s*[.(]/);
    }
  });
});
