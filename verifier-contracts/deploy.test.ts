import { Contract, ContractFactory, getBytes, getCreateAddress, id, Wallet, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from './anvil.js';
import { integerStepAbi } from './bindings/IntegerStep.js';
import { directVerifierAbi } from './bindings/DirectVerifier.js';
import { compileContracts } from './build.js';
import { connectChain } from './connect-chain.js';
import { settlementErrors } from './contract-client.js';
import { deploySettlement, type DeploymentRecord, type SettlementOptions } from './deploy.js';
import { addressOf, auditorWallets, testPolicy, testTerms } from './harness/settlement-fixture.js';
import { NOBODY, policyHash, type Policy } from './policy.js';
import { DEVELOPMENT_SRS_ID } from './refuse-development-keys.js';
import { SettlementClient } from './settlement-client.js';
import type { JsonRpcProvider } from 'ethers';

const governor = addressOf(new Wallet(id('governor')));
const judgeless: SettlementOptions = { policies: [testPolicy], governor, guardian: NOBODY };
const options: SettlementOptions = { ...judgeless, court: testTerms };

let anvil: Anvil;
let provider: JsonRpcProvider;
let signer: Wallet;
beforeAll(async () => {
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  signer = new Wallet(anvilKey(0), provider);
});
afterAll(async () => {
  provider.destroy();
  await anvil.stop();
});

/** What was kept of a record: text. */
const kept = (record: DeploymentRecord): string =>
  JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
const read = (text: string): DeploymentRecord =>
  JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  ) as DeploymentRecord;

describe('deploySettlement', () => {
  it('a stranger finds everything from the rollup’s address', async () => {
    const policies = [testPolicy, { ...testPolicy, minDeliver: 99 }];
    const deployed = await deploySettlement(signer, { ...options, policies });
    expect(deployed.contracts.map(({ name }) => name)).toEqual([
      'WrappedNative',
      'QuorumCourt',
      'Escrow',
      'ReceiptRollup',
    ]);
    for (const { address, gasUsed } of deployed.contracts) {
      expect(await provider.getCode(address)).not.toBe('0x');
      expect(gasUsed).toBeLessThan(2n ** 24n);
    }
    const found = await SettlementClient.connect({ provider, rollup: deployed.rollup });
    expect(found.escrow.address).toBe(deployed.escrow);
    expect(found.escrow.token).toBe(deployed.token);
    expect(found.court!.address).toBe(deployed.court);
    expect(found.court!.terms).toEqual(testTerms);
    // Of several policies that take orders, the one added last; each by its hash.
    expect(found.policyHash).toBe(deployed.policyHashes[1]);
    for (const [i, parameters] of policies.entries()) {
      const terms = await found.termsOf(deployed.policyHashes[i]!);
      const policy: Policy = { ...parameters, verifier: NOBODY, game: NOBODY, court: deployed.court };
      expect(terms.policy).toEqual(policy);
      expect(policyHash(policy)).toBe(deployed.policyHashes[i]);
      expect(await found.escrow.policyOpenFrom(deployed.policyHashes[i]!)).toBeLessThanOrEqual(
        await found.escrow.clock(),
      );
    }
    expect(await found.escrow.clockMode()).toBe('mode=timestamp');
  });

  it('without a court the sampled lane is closed, and a given token is used', async () => {
    const first = await deploySettlement(signer, options);
    // Any contract will do for a step that is never asked.
    const game = { terms: { window: 70 }, step: first.court };
    const closed = { ...judgeless, token: first.token, clock: 'blocknumber' as const, game };
    const deployed = await deploySettlement(signer, closed);
    expect(deployed.contracts.map(({ name }) => name)).toEqual(['DisputeGame', 'Escrow', 'ReceiptRollup']);
    expect([deployed.court, deployed.token]).toEqual([NOBODY, first.token]);
    const found = await SettlementClient.connect({ provider, rollup: deployed.rollup });
    expect(found.court).toBeNull();
    expect(found.game!.address).toBe(deployed.game);
    expect(found.game!.terms).toEqual(game.terms);
    expect(found.game!.step).toBe(first.court);
    expect(await found.escrow.clockMode()).toMatch(/^mode=blocknumber/);
  });

  it('with a game the optimistic lane is open, judged by an IntegerStep', async () => {
    const game = { terms: { window: 70 }, step: 'integer' as const, maxContraction: 1_000 };
    const deployed = await deploySettlement(signer, { ...judgeless, game });
    const names = ['WrappedNative', 'IntegerStep', 'DisputeGame', 'Escrow', 'ReceiptRollup'];
    expect(deployed.contracts.map(({ name }) => name)).toEqual(names);
    for (const { gasUsed } of deployed.contracts) expect(gasUsed).toBeLessThan(2n ** 24n);
    const found = await SettlementClient.connect({ provider, rollup: deployed.rollup });
    const step = deployed.contracts.find(({ name }) => name === 'IntegerStep')!.address;
    expect(found.game!.step).toBe(step);
    const limit = await new Contract(step, integerStepAbi, provider).getFunction('maxContraction')();
    expect(limit).toBe(1_000n);
  });

  it('with a game for float32 it is judged by a FloatStep', async () => {
    const game = { terms: { window: 70 }, step: 'float' as const };
    const deployed = await deploySettlement(signer, { ...judgeless, game });
    const names = ['WrappedNative', 'FloatStep', 'DisputeGame', 'Escrow', 'ReceiptRollup'];
    expect(deployed.contracts.map(({ name }) => name)).toEqual(names);
    for (const { gasUsed } of deployed.contracts) expect(gasUsed).toBeLessThan(2n ** 24n);
    const found = await SettlementClient.connect({ provider, rollup: deployed.rollup });
    expect(found.game!.step).toBe(deployed.contracts[1]!.address);
  });

  it('refuses terms of a game that the contract refuses, before any gas is spent', async () => {
    const nonce = await signer.getNonce();
    const game = { terms: { window: 0 }, step: NOBODY };
    await expect(deploySettlement(signer, { ...judgeless, game })).rejects.toMatchObject({
      code: 'GAME_TERMS_INVALID',
    });
    expect(await signer.getNonce()).toBe(nonce);
    const { abi, bytecode } = (await compileContracts())['DisputeGame']!;
    const step = (await deploySettlement(signer, options)).court;
    for (const [field, args] of [
      ['rollup', [NOBODY, governor, step, { window: 1 }]],
      ['escrow', [governor, NOBODY, step, { window: 1 }]],
      ['step', [governor, governor, governor, { window: 1 }]],
      ['window', [governor, governor, step, { window: 0 }]],
    ] as const) {
      const deploy = new ContractFactory(abi as InterfaceAbi, bytecode, signer).deploy(...args);
      await expect(deploy).rejects.toMatchObject({
        data: settlementErrors.encodeErrorResult('TermsInvalid', [field]),
      });
    }
  });

  it.each([1, 2, 3])('cut short after %i contracts, it is taken up where it stopped', async (count) => {
    let text = '';
    const stop = new Error('killed');
    const cut = deploySettlement(signer, options, {
      onRecord: (record) => {
        text = kept(record);
        if (record.contracts.length === count) throw stop;
      },
    });
    await expect(cut).rejects.toBe(stop);
    const record = read(text);
    const resumed = await deploySettlement(signer, options, { record });
    expect(resumed.contracts.slice(0, count)).toEqual(record.contracts);
    expect(resumed.rollup).toBe(getCreateAddress({ from: signer.address, nonce: record.firstNonce + 3 }).toLowerCase());
    const found = await SettlementClient.connect({ provider, rollup: resumed.rollup });
    expect(found.policyHash).toBe(resumed.policyHashes[0]);
    // Once complete, it is only read.
    expect(await deploySettlement(signer, options, { record: resumed })).toEqual(resumed);
  });

  it('cannot be taken up once the account has sent something else, nor by another account', async () => {
    const records: DeploymentRecord[] = [];
    const cut = deploySettlement(signer, options, {
      onRecord: (record) => {
        records.push(record);
        if (record.contracts.length === 1) throw new Error('killed');
      },
    });
    await expect(cut).rejects.toThrow('killed');
    const record = records.at(-1)!;
    const stranger = new Wallet(anvilKey(1), provider);
    const refused = { code: 'DEPLOYMENT_REFUSED' };
    await expect(deploySettlement(stranger, options, { record })).rejects.toMatchObject(refused);
    await (await signer.sendTransaction({ to: stranger.address, value: 1n })).wait();
    await expect(deploySettlement(signer, options, { record })).rejects.toMatchObject(refused);
  });

  it('needs a policy, and says which parameter is wrong before anything is sent', async () => {
    const before = await provider.getTransactionCount(signer.address);
    const deploy = (change: Partial<SettlementOptions>) => deploySettlement(signer, { ...options, ...change });
    await expect(deploy({ policies: [] })).rejects.toMatchObject({ code: 'DEPLOYMENT_REFUSED' });
    await expect(deploy({ policies: [{ ...testPolicy, unitPrice: 0n }] })).rejects.toMatchObject({
      code: 'POLICY_INVALID',
      meta: { field: 'unitPrice' },
    });
    await expect(deploySettlement(signer, judgeless)).rejects.toMatchObject({
      code: 'POLICY_INVALID',
      meta: { field: 'court' },
    });
    await expect(deploy({ court: { ...testTerms, quorum: 1 } })).rejects.toMatchObject({ code: 'COURT_TERMS_INVALID' });
    expect(await provider.getTransactionCount(signer.address)).toBe(before);
  });
});

/** The development SRS: its tau is publicly known. */
const DEVELOPMENT_SRS = {
  tauG1: getBytes(
    '0x0f4d67a04b6a70c283c4cfef8fd435f3ecb0a39d59333e0fb2293d66f962c3d51702d53e9d7884f1ab69d8e4510ae9f56e53275012b7578027d83cf5e1d5f976',
  ),
  tauG2: getBytes(
    '0x1d151571fe28d5f25ed603e119ceda3737eb1075e4b509475c38ff9d6d09deb728b9d1157e7b14ce58b78f2e96b729332dd0a5ef1224f3d20b4be9d2c340ef661ef1ca77d4f0aaff8e647cb2b7d5d5ecd44baf503c0a8a8c72dd65ffe0fd967f0628e6e5798ef1b3e86f4521d816405b0608991ea6d182d2fef7212ec8da4857',
  ),
};

describe('the zk lane', () => {
  it('a verifier is deployed for a given SRS, and the policy names it', async () => {
    const deployed = await deploySettlement(signer, { ...options, verifier: DEVELOPMENT_SRS });
    expect(deployed.contracts.map(({ name }) => name)).toEqual([
      'WrappedNative',
      'TapeMaker',
      'ProgramStore',
      'DirectVerifier',
      'QuorumCourt',
      'Escrow',
      'ReceiptRollup',
    ]);
    const { policy } = await SettlementClient.connect({ provider, rollup: deployed.rollup });
    expect(policy.verifier).toBe(deployed.verifier);
    const srsId = await new Contract(deployed.verifier, directVerifierAbi, provider).getFunction('srsId')();
    expect(srsId).toBe(DEVELOPMENT_SRS_ID);
    for (const { gasUsed } of deployed.contracts) expect(gasUsed).toBeLessThan(2n ** 24n);
  });

  it('refuses an SRS that is none: of the wrong length, or of two secrets', async () => {
    const short = { ...DEVELOPMENT_SRS, tauG2: DEVELOPMENT_SRS.tauG2.subarray(0, 96) };
    await expect(deploySettlement(signer, { ...options, verifier: short })).rejects.toMatchObject({
      code: 'DEPLOYMENT_REFUSED',
    });
    const mixed = { ...DEVELOPMENT_SRS, tauG1: getBytes(`0x${'1'.padStart(64, '0')}${'2'.padStart(64, '0')}`) };
    await expect(deploySettlement(signer, { ...options, verifier: mixed })).rejects.toMatchObject({
      code: 'CHAIN_REVERTED',
      meta: { error: 'SrsInvalid' },
    });
  });
});

describe('a real chain', () => {
  let real: Anvil;
  let there: JsonRpcProvider;
  let own: Wallet;
  beforeAll(async () => {
    real = await startAnvil({ chainId: 4242n });
    there = await connectChain(real.url, 4242n);
    own = new Wallet(id('own'), there);
    await there.send('anvil_setBalance', [own.address, '0xffffffffffffffffffff']);
  });
  afterAll(async () => {
    there.destroy();
    await real.stop();
  });

  const known = addressOf(new Wallet(anvilKey(1)));
  const real_: SettlementOptions = { ...options, token: 'wrapped-native' };
  const auditors = [...auditorWallets.slice(1).map(addressOf), known].sort();

  it.each<[string, Partial<SettlementOptions>]>([
    ['governor', { governor: known }],
    ['guardian', { guardian: known }],
    ['an auditor', { court: { ...testTerms, auditors } }],
  ])('refuses a publicly known key as %s', async (_who, change) => {
    await expect(deploySettlement(own, { ...real_, ...change })).rejects.toMatchObject({
      code: 'DEV_KEY_REFUSED',
      meta: { account: known },
    });
  });

  it('refuses a publicly known key as deployer', async () => {
    const deployer = new Wallet(anvilKey(0), there);
    await expect(deploySettlement(deployer, real_)).rejects.toMatchObject({ code: 'DEV_KEY_REFUSED' });
  });

  it('refuses the development SRS, whose secret is known', async () => {
    const before = await there.getTransactionCount(own.address);
    const deploy = deploySettlement(own, { ...real_, verifier: DEVELOPMENT_SRS });
    await expect(deploy).rejects.toMatchObject({ code: 'SRS_DEVELOPMENT' });
    expect(await there.getTransactionCount(own.address)).toBe(before);
  });

  it('asks for the settlement token, and takes none for granted', async () => {
    await expect(deploySettlement(own, options)).rejects.toMatchObject({ code: 'DEPLOYMENT_REFUSED' });
  });

  it('has no delay or freeze below what the contract allows', async () => {
    const { rollup } = await deploySettlement(own, real_);
    expect((await SettlementClient.connect({ provider: there, rollup })).domain.chainId).toBe(4242n);
    for (const change of [{ policyDelay: 1 }, { maxFreeze: 8 * 86_400 }, { coolDown: 1 }]) {
      await expect(deploySettlement(own, { ...real_, ...change })).rejects.toMatchObject({
        code: 'CHAIN_REVERTED',
        meta: { error: 'PolicyInvalid', args: [Object.keys(change)[0]] },
      });
    }
  });

  it('the client refuses them too, even to read, whoever deployed it some other way', async () => {
    const artifacts = await compileContracts({ folders: ['src'] });
    const refused = { code: 'DEV_KEY_REFUSED' };
    const { rollup, escrow, token, policyHashes } = await deploySettlement(own, real_);
    const signer = new Wallet(anvilKey(0), there);
    await expect(SettlementClient.connect({ provider: there, rollup, signer })).rejects.toMatchObject(refused);
    expect((await SettlementClient.connect({ provider: there, rollup, signer: own })).policyHash).toBe(policyHashes[0]);

    const create = async (name: string, ...args: unknown[]): Promise<Hex> => {
      const { abi, bytecode } = artifacts[name]!;
      const made = await new ContractFactory(abi as InterfaceAbi, bytecode, own).deploy(...args);
      return (await (await made.waitForDeployment()).getAddress()).toLowerCase() as Hex;
    };
    const captured = async (terms: typeof testTerms, officer: Hex): Promise<Hex> => {
      const nonce = await there.getTransactionCount(own.address);
      const next = getCreateAddress({ from: own.address, nonce: nonce + 2 });
      const court = await create('QuorumCourt', next, getCreateAddress({ from: own.address, nonce: nonce + 1 }), terms);
      const policy = { ...testPolicy, verifier: NOBODY, game: NOBODY, court };
      const delays = [7 * 86_400, 7 * 86_400, 30 * 86_400];
      const at = await create('Escrow', token, next, true, officer, NOBODY, ...delays, [policy]);
      return create('ReceiptRollup', at);
    };
    const byAuditor = await captured({ ...testTerms, auditors }, governor);
    await expect(SettlementClient.connect({ provider: there, rollup: byAuditor })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining(known),
    });
    const byGovernor = await captured(testTerms, known);
    await expect(SettlementClient.connect({ provider: there, rollup: byGovernor })).rejects.toMatchObject(refused);
    expect(escrow).not.toBe(token);
  });
});

describe('SettlementClient', () => {
  it('refuses a policy that no escrow knows', async () => {
    const { rollup } = await deploySettlement(signer, options);
    const unknown = id('none') as Hex;
    await expect(SettlementClient.connect({ provider, rollup, policyHash: unknown })).rejects.toMatchObject({
      code: 'CHAIN_REVERTED',
      meta: { error: 'PolicyUnknown' },
    });
  });

  it('says so where no policy takes new orders', async () => {
    const wallet = new Wallet(anvilKey(2), provider);
    const { rollup, policyHashes } = await deploySettlement(signer, { ...options, governor: addressOf(wallet) });
    const { escrow } = await SettlementClient.connect({ provider, rollup });
    await (await wallet.sendTransaction(escrow.closePolicyCall(policyHashes[0]!))).wait();
    await expect(SettlementClient.connect({ provider, rollup })).rejects.toMatchObject({ code: 'POLICY_CLOSED' });
    // What was agreed under it is still served.
    const found = await SettlementClient.connect({ provider, rollup, policyHash: policyHashes[0]! });
    expect(found.policy.court).toBe(found.court!.address);
  });
});
