/** No message, metadata or cause of an error names more of a node's address than scheme and host. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { asAssayError } from '../common/errors.js';
import { verifyReceipt } from '../receipts/verify-receipt.js';
import { eip712Cases } from '../receipts/vectors/read-vectors.js';
import { connectChain } from './connect-chain.js';
import { SettlementClient } from './settlement-client.js';

const SECRETS = ['PATHKEY', 'QUERYKEY', 'USERKEY', 'PASSWORD'];
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A node that answers its first question with a chain id, if any, and all later ones with a refusal. */
async function node(status: number, body: string, firstAnswer?: string): Promise<string> {
  let asked = 0;
  const server = createServer((_request, response) => {
    const answers = asked++ === 0 && firstAnswer !== undefined;
    response.writeHead(answers ? 200 : status, { 'content-type': 'application/json', connection: 'close' });
    response.end(answers ? firstAnswer : body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const addressAt = (host: string): string => `http://USERKEY:PASSWORD@${host}/v3/PATHKEY?key=QUERYKEY`;
const CHAIN_ID = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x7a69' });

function expectNoSecret(shown: unknown): void {
  const text = inspect(shown, { depth: 20, showHidden: true }).toUpperCase();
  for (const secret of SECRETS) expect(text).not.toContain(secret);
}

async function failureOf(question: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = asAssayError(
    await question.then(
      () => new Error('no failure'),
      (thrown: unknown) => thrown,
    ),
  );
  expectNoSecret(error);
  expectNoSecret(error.toJSON());
  return error;
}

describe('connectChain', () => {
  it.each<[string, number, string]>([
    ['refuses the key', 401, 'no'],
    ['answers with an error', 200, JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } })],
    ['answers with something else', 200, '<html>'],
  ])('a node that %s', async (_name, status, body) => {
    const host = await node(status, body);
    const failure = await failureOf(connectChain(addressAt(host)));
    expect(failure).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
    expect(failure.message).toContain(`no chain answers at http://${host}: `);
  });

  it('a node of another chain', async () => {
    const host = await node(401, 'no', CHAIN_ID);
    const failure = await failureOf(connectChain(addressAt(host), 1n));
    expect(failure).toMatchObject({
      code: 'CHAIN_MISMATCH',
      message: `http://${host}: expected chain 1, found chain 31337`,
    });
  });

  it('nobody there, another protocol, no address at all', async () => {
    const unreachable = await failureOf(connectChain(addressAt('127.0.0.1:1')));
    expect(unreachable.message).toMatch(/^no chain answers at http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/);
    for (const address of [
      'ftp://USERKEY:PASSWORD@127.0.0.1/PATHKEY',
      'rpc.example/v3/PATHKEY',
      'http:PATHKEY:x',
      '',
    ]) {
      expect(await failureOf(connectChain(address))).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
    }
  });
});

describe('a node that refuses later', () => {
  const rollup = `0x${'12'.repeat(20)}` as const;
  const refusals: [string, number, string][] = [
    ['by its status', 401, 'no'],
    [
      'in words',
      200,
      JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'key of http://x/PATHKEY' } }),
    ],
  ];

  it.each(refusals)('SettlementClient, %s', async (_name, status, body) => {
    const provider = await connectChain(addressAt(await node(status, body, CHAIN_ID)));
    const failure = await failureOf(SettlementClient.connect({ provider, rollup }));
    expect(failure).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
    provider.destroy();
  });

  it.each(refusals)('verifyReceipt, %s', async (_name, status, body) => {
    const provider = await connectChain(addressAt(await node(status, body, CHAIN_ID)));
    const [c] = eip712Cases;
    const receipt = { ...c!.receipt, lane: 'sampled' as const };
    const batchRoot = receipt.traceRoot;
    const header = {
      lane: receipt.lane,
      count: 1,
      poster: rollup,
      salt: batchRoot,
      batchRoot,
      policyHash: receipt.policyHash,
      unbound: 0n,
      committedAt: 1,
      committedBlock: 1,
    };
    const check = await verifyReceipt(
      { version: 2, domain: c!.domain, receipt, signature: c!.receiptSignature, batch: { header, index: 0, path: [] } },
      { provider, rollup },
    );
    expect(check.checks.status).toMatchObject({ verdict: 'undetermined' });
    expectNoSecret(check);
    provider.destroy();
  });
});
