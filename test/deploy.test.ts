/** `assay deploy` against real chains: what it refuses before the first transaction, what it leaves, and how it goes on. */
import { createServer, type Server } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { id, Wallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, formatSettings } from '../cli/settlement/deploy-settings.js';
import { settlementFindings } from '../cli/settlement/findings.js';
import { encodeSrs } from '../prover/srs/srs-file.js';
import { developmentSrs, openArithmetic } from '../prover/index.js';
import type { Hex } from '../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../verifier-contracts/anvil.js';
import { connectChain } from '../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../verifier-contracts/settlement-client.js';
import { stepLimit } from '../verifier-contracts/step-limit.js';
import { assay, refused } from './run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'assay-deploy-'));
const at = (name: string) => join(folder, name);
const write = (name: string, content: Uint8Array | string) => {
  writeFileSync(at(name), content);
  return at(name);
};
const lower = ({ address }: { address: string }) => address.toLowerCase() as Hex;
const deployer = new Wallet(id('deploying account'));
const auditors = ['a', 'b', 'c'].map((name) => lower(new Wallet(id(`auditor ${name}`))));
const governor = lower(new Wallet(id('governor')));

/** A chain that is not the development chain: everything counts as real there. */
const REAL_CHAIN = 424_242n;
let local: { anvil: Anvil; provider: JsonRpcProvider };
let real: { anvil: Anvil; provider: JsonRpcProvider };
let keyFile = '';

beforeAll(async () => {
  [local, real] = await Promise.all(
    [31_337n, REAL_CHAIN].map(async (chainId) => {
      const anvil = await startAnvil({ chainId });
      const provider = await connectChain(anvil.url);
      await provider.send('anvil_setBalance', [deployer.address, '0x56bc75e2d63100000']);
      return { anvil, provider };
    }),
  );
  keyFile = write('deployer.key', deployer.privateKey);
}, 120_000);
afterAll(async () => {
  for (const { anvil, provider } of [local, real]) {
    provider.destroy();
    await anvil.stop();
  }
  rmSync(folder, { recursive: true, force: true });
});

const settled = ['--wrap-native', '--auditors', auditors.join(','), '--governor', governor];
const deploy = (rpc: string, ...more: string[]) => ['deploy', '--rpc', rpc, '--key-file', keyFile, ...more];
const sentBy = (provider: JsonRpcProvider) => provider.getTransactionCount(deployer.address);

test('without --yes it says what it would do and what that costs, and sends nothing', async () => {
  const before = await sentBy(local.provider);
  const planned = await assay(...deploy(local.anvil.url, ...settled, '--out', at('plan.json')));
  expect(planned).toMatchObject({
    exitCode: 0,
    sent: false,
    contracts: [{ name: 'WrappedNative' }, { name: 'QuorumCourt' }, { name: 'Escrow' }, { name: 'ReceiptRollup' }],
  });
  expect(await sentBy(local.provider)).toBe(before);
});

test('a stranger who knows the rollup finds everything; the estimate was near; again it is done already', async () => {
  const args = deploy(local.anvil.url, ...settled, '--quorum', '3', '--out', at('local.json'), '--yes');
  const done = await assay(...args);
  expect(done).toMatchObject({ exitCode: 0, sent: true });
  const record = done['record'] as { rollup: Hex; policyHash: Hex; contracts: { gasUsed: string }[] };
  const client = await SettlementClient.connect({ provider: local.provider, rollup: record.rollup });
  expect(client.policyHash).toBe(record.policyHash);
  expect(client.policy).toMatchObject(DEFAULT_SETTINGS.policy);
  expect(client.court!.terms).toEqual({ ...DEFAULT_SETTINGS.court, quorum: 3, auditors: [...auditors].sort() });
  const used = record.contracts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
  expect(Math.abs(Number(done['gas']) - used) / used).toBeLessThan(0.1);

  const sent = await sentBy(local.provider);
  expect(await assay(...args)).toMatchObject({ exitCode: 0, sent: false, record: { rollup: record.rollup } });
  expect(await sentBy(local.provider)).toBe(sent);
  // With other terms it would be another deployment.
  const others = deploy(local.anvil.url, ...settled, '--quorum', '2', '--out', at('local.json'), '--yes');
  await refused(others, 'DEPLOYMENT_RECORD_INVALID', /other settings/);
  const stranger = write('other.key', id('somebody else'));
  const args2 = args.map((arg) => (arg === keyFile ? stranger : arg));
  await refused(args2, 'DEPLOYMENT_RECORD_INVALID', /begun by account/);
  await local.provider.send('anvil_setCode', [client.escrow.address, '0x00']);
  await refused(args, 'DEPLOYMENT_RECORD_INVALID', /code of Escrow/);
});

test('the zk lane: its verifier is deployed for the reference string, and the doctor says which', async () => {
  const lanes = ['--wrap-native', '--dev-srs', '--governor', governor];
  const done = await assay(...deploy(local.anvil.url, ...lanes, '--out', at('zk.json'), '--yes'));
  expect(done).toMatchObject({ exitCode: 0, sent: true });
  const record = done['record'] as { rollup: Hex; contracts: { name: string; address: Hex; gasUsed: string }[] };
  expect(record.contracts.map(({ name }) => name)).toEqual([
    'WrappedNative',
    'TapeMaker',
    'ProgramStore',
    'DirectVerifier',
    'Escrow',
    'ReceiptRollup',
  ]);
  const used = record.contracts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
  expect(Math.abs(Number(done['gas']) - used) / used).toBeLessThan(0.1);
  const { policy, court } = await SettlementClient.connect({ provider: local.provider, rollup: record.rollup });
  expect(policy.verifier).toBe(record.contracts[3]!.address);
  expect(court).toBeNull();
  const findings = await settlementFindings({ rpc: local.anvil.url, rollup: record.rollup });
  expect(findings.find(({ part }) => part === 'zk lane')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('development reference string: anybody can forge a proof') as string,
  });
  expect(findings.find(({ part }) => part === 'sampled lane')).toMatchObject({ state: 'absent' });
});

test('the optimistic lane: its game is deployed with the settings, and the doctor says how long there is to challenge', async () => {
  const lanes = ['--wrap-native', '--disputes', '--governor', governor];
  const done = await assay(...deploy(local.anvil.url, ...lanes, '--out', at('disputes.json'), '--yes'));
  expect(done).toMatchObject({ exitCode: 0, sent: true });
  const record = done['record'] as { rollup: Hex; contracts: { name: string; address: Hex; gasUsed: string }[] };
  const names = ['WrappedNative', 'IntegerStep', 'DisputeGame', 'Escrow', 'ReceiptRollup'];
  expect(record.contracts.map(({ name }) => name)).toEqual(names);
  const used = record.contracts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
  expect(Math.abs(Number(done['gas']) - used) / used).toBeLessThan(0.1);
  const { game, policy } = await SettlementClient.connect({ provider: local.provider, rollup: record.rollup });
  expect(policy.game).toBe(record.contracts[2]!.address);
  expect(game).toMatchObject({ terms: { window: 86_400 }, step: record.contracts[1]!.address });
  expect(await stepLimit(local.provider, game!.step)).toBe(16_384);
  const findings = await settlementFindings({ rpc: local.anvil.url, rollup: record.rollup });
  expect(findings.find(({ part }) => part === 'optimistic lane')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('86400') as string,
  });
});

test('a deployment that was cut short goes on where it stopped', async () => {
  const cut = await cuttingProxy(real.anvil.url, 2);
  try {
    const args = (rpc: string) => deploy(rpc, ...settled, '--out', at('cut.json'), '--yes');
    const first = await sentBy(real.provider);
    await refused(args(cut.url), 'CHAIN_UNAVAILABLE', /deploying Escrow/);
    const half = JSON.parse(readFileSync(at('cut.json'), 'utf8')) as { contracts: { name: string }[]; rollup: null };
    expect(half.contracts.map(({ name }) => name)).toEqual(['WrappedNative', 'QuorumCourt']);
    const done = await assay(...args(real.anvil.url));
    expect(done).toMatchObject({ exitCode: 0, sent: true });
    expect(await sentBy(real.provider)).toBe(first + 4);
    const { rollup, contracts } = done['record'] as { rollup: Hex; contracts: { address: Hex; codeHash: Hex }[] };
    expect(contracts.slice(0, 2)).toMatchObject(half.contracts.map(({ name }) => ({ name })));
    expect(contracts.every(({ codeHash }) => /^0x[0-9a-f]{64}$/.test(codeHash))).toBe(true);
    await SettlementClient.connect({ provider: real.provider, rollup });
  } finally {
    cut.server.close();
  }
});

describe('refused before the first transaction', () => {
  const nothingSent = async (args: string[], code: Parameters<typeof refused>[1], message: RegExp) => {
    const before = await sentBy(real.provider);
    await refused([...args, '--out', at('never.json'), '--yes'], code, message);
    expect(await sentBy(real.provider)).toBe(before);
  };

  test('development keys on a real chain: deployer, auditor, governor, guardian', async () => {
    const known = lower(new Wallet(anvilKey(3)));
    const anvilFile = write('anvil.key', anvilKey(0));
    const asAnvil = deploy(real.anvil.url, ...settled).map((arg) => (arg === keyFile ? anvilFile : arg));
    await nothingSent(asAnvil, 'DEV_KEY_REFUSED', /chain 424242/);
    for (const flags of [
      ['--wrap-native', '--auditors', `${known},${auditors[0]}`, '--governor', governor],
      ['--wrap-native', '--auditors', auditors.join(','), '--governor', known],
      [...settled, '--guardian', known],
    ])
      await nothingSent(deploy(real.anvil.url, ...flags), 'DEV_KEY_REFUSED', new RegExp(known));
  });

  test('the development reference string on a real chain, by flag and as a file', async () => {
    await nothingSent(deploy(real.anvil.url, ...settled, '--dev-srs'), 'SRS_DEVELOPMENT', /chain 424242/);
    const arithmetic = await openArithmetic();
    const srs = write('dev.srs', encodeSrs(developmentSrs(4, { arithmetic })));
    await arithmetic.close();
    await nothingSent(deploy(real.anvil.url, ...settled, '--srs', srs), 'SRS_DEVELOPMENT', /chain 424242/);
  });

  test('windows that the escrow would not have there, and terms that contradict each other', async () => {
    const policy = (change: Partial<typeof DEFAULT_SETTINGS>) =>
      write('policy.json', formatSettings({ ...DEFAULT_SETTINGS, ...change }));
    const args = (file: string) => deploy(real.anvil.url, ...settled, '--policy', file);
    await nothingSent(args(policy({ policyDelay: 60 })), 'POLICY_INVALID', /policyDelay: expected at least 7 days/);
    await nothingSent(
      args(policy({ policy: { ...DEFAULT_SETTINGS.policy, answerTime: 3 } })),
      'POLICY_INVALID',
      /answerTime/,
    );
    await nothingSent(args(write('odd.json', '{"clock":"moon"}')), 'POLICY_INVALID', /odd\.json: clock/);
    await nothingSent(deploy(real.anvil.url, ...settled, '--quorum', '1'), 'COURT_TERMS_INVALID', /quorum/);
  });

  test('what is missing, and an account that cannot pay', async () => {
    await nothingSent(deploy(real.anvil.url, '--wrap-native', '--governor', governor), 'CONFIG_INVALID', /no lane/);
    await nothingSent(
      deploy(real.anvil.url, '--auditors', auditors.join(','), '--governor', governor),
      'CONFIG_INVALID',
      /--token or --wrap-native/,
    );
    await nothingSent(deploy(real.anvil.url, ...settled.slice(0, 3)), 'CONFIG_INVALID', /--governor/);
    const poor = write('poor.key', id('poor'));
    const args = deploy(real.anvil.url, ...settled).map((arg) => (arg === keyFile ? poor : arg));
    await nothingSent(args, 'FUNDS_MISSING', /may be needed/);
  });
});

test('the default terms are printed as a file that is taken', async () => {
  const { exitCode, ...printed } = await assay('deploy', '--print-policy');
  expect(exitCode).toBe(0);
  const file = write('default.json', JSON.stringify(printed));
  expect(await assay(...deploy(real.anvil.url, ...settled, '--policy', file, '--out', at('x.json')))).toMatchObject({
    exitCode: 0,
    sent: false,
  });
});

/** Passes requests on, and fails from the n-th transaction on. */
async function cuttingProxy(target: string, transactions: number): Promise<{ url: string; server: Server }> {
  let left = transactions;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (body.includes('eth_sendRawTransaction') && left-- <= 0) {
        response.writeHead(503).end('cut');
        return;
      }
      void fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then(
        async (answer) => response.writeHead(200, { 'content-type': 'application/json' }).end(await answer.text()),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
