/** QuorumCourt.sol: the sampled round, its deadlines under both clocks, and who may speak the verdict. */
import { Contract, ContractFactory, id, Wallet, ZeroHash, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchHash, drawSeed, type BatchHeader } from '../receipts/batch.js';
import type { Hex } from '../receipts/types.js';
import { bitmapOf, checkerBytes, signVerdict, verdictStructHash, type AuditVerdict } from './audit-verdict.js';
import { compileContracts } from './build.js';
import { courtInterface } from './court-client.js';
import { checkCourtTerms } from './court-terms.js';
import { mirrored, reverts } from './harness/expectations.js';
import {
  addressOf,
  auditorWallets,
  guardianWallet,
  pathOf,
  startSettlement,
  testTerms,
  type SettlementFixture,
} from './harness/settlement-fixture.js';
import type { SignedReceipt } from './rollup-client.js';
import { SettlementClient } from './settlement-client.js';

let f: SettlementFixture;
beforeAll(async () => {
  f = await startSettlement();
});
afterAll(() => f.stop());

const statusIn = (of: SettlementFixture, receipts: readonly SignedReceipt[], index: number, header: BatchHeader) =>
  of.rollup.statusOf(receipts[index]!.receipt, index, pathOf(receipts, index), header);
const status = (receipts: readonly SignedReceipt[], index: number, header: BatchHeader) =>
  statusIn(f, receipts, index, header);
const { beaconDelay, auditWindow } = testTerms;
/** Serves block hashes (EIP-2935). */
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';

describe('deployment', () => {
  it('publishes its terms and the contracts that it belongs to', async () => {
    expect(f.court.terms).toEqual(testTerms);
    const contract = new Contract(f.court.address, courtInterface, f.provider);
    expect(((await contract.getFunction('rollup')()) as string).toLowerCase()).toBe(f.rollup.address);
    expect(((await contract.getFunction('escrow')()) as string).toLowerCase()).toBe(f.escrow.address);
  });

  const [a, b, c] = testTerms.auditors as [Hex, Hex, Hex];
  it.each<[string, Partial<typeof testTerms>, string]>([
    ['no beacon delay', { beaconDelay: 0 }, 'beaconDelay'],
    ['no audit window', { auditWindow: 0 }, 'auditWindow'],
    ['rate 0', { drawRatePpm: 0 }, 'drawRatePpm'],
    ['rate above 1', { drawRatePpm: 1_000_001 }, 'drawRatePpm'],
    ['no auditors', { auditors: [] }, 'auditors'],
    ['an auditor twice', { auditors: [a, a, b] }, 'auditors'],
    ['auditors out of order', { auditors: [b, a, c] }, 'auditors'],
    ['auditor zero', { auditors: [`0x${'0'.repeat(40)}`, a, b] }, 'auditors'],
    [
      '33 auditors',
      {
        auditors: Array.from({ length: 33 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}` as Hex),
        quorum: 17,
      },
      'auditors',
    ],
    ['quorum of half', { auditors: [a, b], quorum: 1 }, 'quorum'],
    ['quorum above all', { quorum: 4 }, 'quorum'],
  ])('refuses %s, in TypeScript and in the constructor', async (_name, change, field) => {
    const terms = { ...testTerms, ...change };
    expect(() => checkCourtTerms(terms)).toThrow(expect.objectContaining({ code: 'COURT_TERMS_INVALID' }));
    expect(await refusal(f.rollup.address, f.escrow.address, terms)).toEqual(['TermsInvalid', field]);
  });

  it('refuses to belong to nobody', async () => {
    const zero = `0x${'0'.repeat(40)}`;
    expect(await refusal(zero, f.escrow.address, testTerms)).toEqual(['TermsInvalid', 'rollup']);
    expect(await refusal(f.rollup.address, zero, testTerms)).toEqual(['TermsInvalid', 'escrow']);
  });

  const refusal = async (...args: unknown[]): Promise<string[]> => {
    const { abi, bytecode } = (await compileContracts({ folders: ['src'] }))['QuorumCourt']!;
    const factory = new ContractFactory(abi as InterfaceAbi, bytecode, f.signer);
    const failure = await f.provider
      .call(await factory.getDeployTransaction(...args))
      .catch((error: { data: string }) => error.data);
    const parsed = courtInterface.parseError(failure as string)!;
    return [parsed.name, ...parsed.args.map(String)];
  };
});

describe('the sampled round', () => {
  it('pending -> seed after the draw block -> verdict -> final or invalid, and then nothing moves', async () => {
    const receipts = await f.receipts(3);
    const { header, batchHash: name } = await f.commit(receipts);
    const drawBlock = f.court.drawBlockOf(header);
    expect(await f.court.seedOf(name)).toBeNull();
    await expect(f.court.fixSeed(header)).rejects.toEqual(reverts('SeedTooEarly', drawBlock + 1));
    const early = await f.verdict(header, []);
    await expect(f.court.reportAudit(header, early.verdict, early.signatures)).rejects.toEqual(
      reverts('SeedMissing', name),
    );

    await f.anvil.mine(beaconDelay);
    const { seed } = await f.court.fixSeed(header);
    const block = await f.provider.getBlock(drawBlock);
    expect(seed).toBe(drawSeed(block!.hash as Hex, name));
    await expect(f.court.fixSeed(header)).rejects.toEqual(reverts('SeedKnown', name));
    expect(await status(receipts, 0, header)).toBe('pending');

    // The verdict over a seed that was not the contract's was signed for something else.
    await expect(f.court.reportAudit(header, early.verdict, early.signatures)).rejects.toMatchObject({
      meta: { error: expect.stringMatching(/NotAuditor|SignersUnordered/) },
    });
    expect(await f.court.awardOf(name, 1)).toEqual({ checker: null, reporter: null });
    const { verdict, signatures } = await f.verdict(header, [1], 2, [2]);
    const { transactionHash } = await f.court.reportAudit(header, verdict, signatures);
    expect(await f.court.verdictOf(name)).toBe(verdictStructHash(verdict));
    expect(await f.court.killsOf(name)).toBe(2n);
    expect(await f.court.voidedOf(name)).toBe(4n);
    const [log] = (await f.provider.getTransactionReceipt(transactionHash))!.logs;
    expect(courtInterface.parseLog(log!)).toMatchObject({
      name: 'AuditReported',
      args: [name, seed, 2n, 4n, verdict.resultsRoot, verdict.checkers, f.signer.address],
    });
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(reverts('AuditKnown', name));

    await f.advanceTo(f.court.auditDeadlineOf(header) + 5);
    expect(await Promise.all([0, 1, 2].map((i) => status(receipts, i, header)))).toEqual([
      'final-sampled',
      'invalid',
      'void',
    ]);
    // Undecided once, undecided for good: the receipt gets no second draw.
    expect(await f.rollup.bindFaultOf('sampled', f.client.policyHash, receipts[2]!)).toBe('order');
  });

  it('the draw is unknown until after the commit: another commitment, another seed', async () => {
    const receipts = await f.receipts(1);
    const { header, batchHash: name } = await f.commit(receipts);
    await f.anvil.mine(beaconDelay);
    const { seed } = await f.court.fixSeed(header);
    const block = await f.provider.getBlock(f.court.drawBlockOf(header));
    const other = batchHash({ ...header, batchRoot: id('changed afterwards') as Hex }, f.client.domain);
    expect(seed).toBe(drawSeed(block!.hash as Hex, name));
    expect(drawSeed(block!.hash as Hex, other)).not.toBe(seed);
  });

  it('an unknown or altered header starts nothing', async () => {
    const receipts = await f.receipts(1);
    const { header, batchHash: name } = await f.commit(receipts);
    await f.anvil.mine(beaconDelay);
    for (const altered of [
      { ...header, committedAt: header.committedAt + 1 },
      { ...header, committedBlock: header.committedBlock - 1 },
    ]) {
      await expect(f.court.fixSeed(altered)).rejects.toEqual(reverts('BatchUnknown', name));
    }
    await f.court.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, []);
    const unmarked = { ...header, unbound: 1n };
    await expect(f.court.reportAudit(unmarked, verdict, signatures)).rejects.toEqual(reverts('BatchUnknown', name));
  });

  it('who had a leaf to check, by the verdict: each of 256 leaves has its byte', async () => {
    const receipts = await f.receipts(256);
    const { header, batchHash: name } = await f.commit(receipts);
    await f.anvil.mine(beaconDelay);
    await f.court.fixSeed(header);
    // Words 0, 3 and 7 of the storage, their first and last bytes among them; all other leaves were not drawn.
    const checked = [0, 1, 31, 96, 127, 224, 255].map((leaf, i) => [leaf, i % 3] as const);
    const { verdict, signatures } = await f.verdict(header, [255], 2, [96], checked);
    await f.court.reportAudit(header, verdict, signatures);
    expect(await f.court.checkersOf(header)).toBe(verdict.checkers);
    const assigned = new Map<number, number>(checked);
    for (const leaf of [0, 1, 2, 30, 31, 32, 95, 96, 97, 127, 128, 223, 224, 254, 255]) {
      const auditor = assigned.get(leaf);
      expect(await f.court.awardOf(name, leaf)).toEqual({
        checker: auditor === undefined ? null : testTerms.auditors[auditor],
        reporter: addressOf(f.signer),
      });
    }
    // Total: for a leaf that cannot be, too.
    expect((await f.court.awardOf(name, 256)).checker).toBeNull();
    expect(await status(receipts, 254, header)).toBe('final-sampled');
    expect(await status(receipts, 255, header)).toBe('invalid');
  });

  it('a batch whose last word is not full', async () => {
    const receipts = await f.receipts(33);
    const { header, batchHash: name } = await f.commit(receipts);
    await f.anvil.mine(beaconDelay);
    await f.court.fixSeed(header);
    const { verdict, signatures } = await f.verdict(header, [32], 2, [], [[32, 2]]);
    await f.court.reportAudit(header, verdict, signatures);
    expect((await f.court.awardOf(name, 32)).checker).toBe(testTerms.auditors[2]);
    expect(await f.court.checkersOf(header)).toBe(verdict.checkers);
  });
});

describe.each(['timestamp', 'blocknumber'] as const)('deadlines by the clock of a deployment in %ss', (clock) => {
  let g: SettlementFixture;
  beforeAll(async () => {
    g = await startSettlement({ clock });
  });
  afterAll(() => g.stop());

  it('counts as it says', async () => {
    const { number, timestamp } = (await g.provider.getBlock('latest'))!;
    expect(await g.escrow.clock()).toBe(clock === 'timestamp' ? timestamp : number);
    expect(await g.escrow.clockMode()).toMatch(`mode=${clock}`);
  });

  it('last moment allowed, next one void, whether the seed was fixed or not', async () => {
    const [a, b] = [await g.receipts(1), await g.receipts(1)];
    const { header: withSeed } = await g.commit(a);
    await g.nextAt((await g.escrow.clock()) + 2);
    const { header: without } = await g.commit(b);
    await g.anvil.mine(beaconDelay);
    await g.court.fixSeed(withSeed);
    const { verdict, signatures } = await g.verdict(withSeed, []);
    const deadline = g.court.auditDeadlineOf(without);
    expect(deadline).toBe(without.committedAt + auditWindow);

    await g.advanceTo(deadline);
    expect(await statusIn(g, b, 0, without)).toBe('pending');
    expect(await statusIn(g, a, 0, withSeed)).toBe('void');
    await g.nextAt(deadline + 1);
    await expect(g.court.fixSeed(without)).rejects.toEqual(reverts('AuditClosed', deadline));
    await g.advanceTo(deadline + 1);
    await expect(g.court.reportAudit(withSeed, verdict, signatures)).rejects.toEqual(
      reverts('AuditClosed', g.court.auditDeadlineOf(withSeed)),
    );
    expect(await statusIn(g, b, 0, without)).toBe('void');
    // A void receipt is not given a second draw.
    expect(await g.rollup.bindFaultOf('sampled', g.client.policyHash, a[0]!)).toBe('order');
  });

  it('a verdict in the last moment counts', async () => {
    const receipts = await g.receipts(1);
    const { header } = await g.commit(receipts);
    await g.anvil.mine(beaconDelay);
    const deadline = g.court.auditDeadlineOf(header);
    await g.nextAt(deadline - 1);
    await g.court.fixSeed(header);
    const { verdict, signatures } = await g.verdict(header, []);
    await g.nextAt(deadline);
    await g.court.reportAudit(header, verdict, signatures);
    expect(await g.escrow.clock()).toBe(deadline);
    expect(await statusIn(g, receipts, 0, header)).toBe('final-sampled');
    await g.advanceTo(deadline + 1);
    expect(await statusIn(g, receipts, 0, header)).toBe('final-sampled');
  });

  it('a freeze stops the verdict and the clock, and not the seed, whose block would be forgotten (E12)', async () => {
    const receipts = await g.receipts(1);
    const { header } = await g.commit(receipts);
    await g.sendAs(guardianWallet, g.escrow.freezeCall());
    // Longer than the whole window, in blocks and in seconds.
    await g.provider.send('evm_increaseTime', [3 * auditWindow]);
    await g.anvil.mine(3 * auditWindow);
    expect(await statusIn(g, receipts, 0, header)).toBe('pending');
    await g.court.fixSeed(header);
    const { verdict, signatures } = await g.verdict(header, []);
    await expect(g.court.reportAudit(header, verdict, signatures)).rejects.toEqual(reverts('Frozen'));
    await g.sendAs(guardianWallet, g.escrow.unfreezeCall());
    await g.court.reportAudit(header, verdict, signatures);
    expect(await statusIn(g, receipts, 0, header)).toBe('final-sampled');
  });

  it('a seed whose block is forgotten cannot be fixed: the round ends void', async () => {
    const receipts = await g.receipts(1);
    const { header } = await g.commit(receipts);
    await g.anvil.mine(beaconDelay);
    // As 8,191 blocks later, or on a chain without EIP-2935: the question is not answered, or by a revert.
    const code = await g.provider.getCode(HISTORY);
    for (const silent of ['0x', '0x5f5ffd']) {
      await g.provider.send('anvil_setCode', [HISTORY, silent]);
      await expect(g.court.fixSeed(header)).rejects.toEqual(reverts('HistoryMissing'));
    }
    await g.provider.send('anvil_setCode', [HISTORY, code]);
    expect(await statusIn(g, receipts, 0, header)).toBe('pending');
    await g.advanceTo(g.court.auditDeadlineOf(header) + 1);
    expect(await statusIn(g, receipts, 0, header)).toBe('void');
  });
});

describe('who may speak the verdict', () => {
  let header: BatchHeader;
  beforeAll(async () => {
    const [bad, ...rest] = await f.receipts(3);
    const receipts = [{ ...bad!, signature: mirrored(bad!.signature) }, ...rest];
    ({ header } = await f.commit(receipts));
    await f.anvil.mine(beaconDelay);
    await f.court.fixSeed(header);
  });

  it('fewer than the quorum', async () => {
    const { verdict, signatures } = await f.verdict(header, [], 1);
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(reverts('QuorumMissed', 1, 2));
    await expect(f.court.reportAudit(header, verdict, [])).rejects.toEqual(reverts('QuorumMissed', 0, 2));
  });

  it('one auditor twice, or signers out of order', async () => {
    const { verdict, signatures } = await f.verdict(header, []);
    const [one, two] = signatures as [Hex, Hex];
    await expect(f.court.reportAudit(header, verdict, [one, one])).rejects.toEqual(reverts('SignersUnordered', 1));
    await expect(f.court.reportAudit(header, verdict, [two, one])).rejects.toEqual(reverts('SignersUnordered', 1));
    await expect(f.court.reportAudit(header, verdict, [one, mirrored(one)])).rejects.toEqual(
      reverts('NotAuditor', 1, `0x${'0'.repeat(40)}`),
    );
  });

  it('a stranger', async () => {
    const { verdict } = await f.verdict(header, []);
    const stranger = new Wallet(id('stranger'));
    const signers = [stranger, auditorWallets[0]!].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    );
    const signatures = await Promise.all(signers.map((signer) => signVerdict(verdict, f.client.domain, signer)));
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('NotAuditor', signers.indexOf(stranger), stranger.address),
    );
  });

  it('a quorum with a stranger on top', async () => {
    const { verdict } = await f.verdict(header, []);
    const last = new Wallet(id('stranger above'));
    const signers = [...auditorWallets.slice(0, 2), last].sort((a, b) =>
      a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
    );
    const signatures = await Promise.all(signers.map((signer) => signVerdict(verdict, f.client.domain, signer)));
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toMatchObject({
      meta: { error: 'NotAuditor' },
    });
  });

  it('signatures over other kills, undecided leaves, results, checkers, reporter, batch, contract or chain', async () => {
    const { verdict, signatures } = await f.verdict(header, [1], 2, [], [[1, 0]]);
    const refused = { meta: { error: expect.stringMatching(/NotAuditor|SignersUnordered/) } };
    const over = (changed: object, domain: object = {}) =>
      Promise.all(
        auditorWallets
          .slice(0, 2)
          .map((w) => signVerdict({ ...verdict, ...changed }, { ...f.client.domain, ...domain }, w)),
      );
    const others: Partial<AuditVerdict>[] = [
      { kills: 0n },
      { voided: 4n },
      { kills: 0n, voided: 2n },
      { resultsRoot: ZeroHash as Hex },
      { checkers: checkerBytes(3, [[1, 1]]) },
      { reporter: addressOf(f.signer) },
      {
        checkers: checkerBytes(3, [
          [1, 0],
          [2, 0],
        ]),
      },
    ];
    for (const changed of others) {
      await expect(f.court.reportAudit(header, { ...verdict, ...changed }, signatures)).rejects.toMatchObject(refused);
    }
    for (const wrong of [
      await over({ seed: id('x') }),
      await over({ batchHash: id('x') }),
      await over({}, { chainId: 1n }),
      await over({}, { verifyingContract: `0x${'12'.repeat(20)}` }),
      // The court signs nothing itself: all that is signed is signed for the rollup.
      await over({}, { verifyingContract: f.court.address }),
    ]) {
      await expect(f.court.reportAudit(header, verdict, wrong)).rejects.toMatchObject(refused);
    }
  });

  it('names leaves that do not stand, as wrong or as undecided', async () => {
    for (const index of [0, 3, 255]) {
      for (const [kills, voided] of [
        [[1, index], []],
        [[1], [2, index]],
      ] as const) {
        const { verdict, signatures } = await f.verdict(header, kills, 2, voided);
        await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(
          reverts('VerdictUnbound', bitmapOf([index])),
        );
      }
    }
  });

  it('names a checker for a leaf that does not stand', async () => {
    const { verdict, signatures } = await f.verdict(
      header,
      [1],
      2,
      [],
      [
        [0, 1],
        [1, 1],
      ],
    );
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('VerdictUnbound', bitmapOf([0])),
    );
  });

  it('kills a leaf that nobody had to check; a leaf that nobody could check may be undecided', async () => {
    const { verdict, signatures } = await f.verdict(header, [1, 2], 2, [], [[1, 0]]);
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('VerdictUnchecked', bitmapOf([2])),
    );
    const undecided = await f.verdict(header, [], 2, [2], []);
    const call = f.court.reportAuditCall(header, undecided.verdict, undecided.signatures);
    await expect(f.provider.call({ ...call, from: f.signer.address })).resolves.toBe('0x');
  });

  it('names a checker who is no auditor, or not one byte for each leaf', async () => {
    const { verdict } = await f.verdict(header, []);
    const report = async (checkers: Hex) => {
      const changed = { ...verdict, checkers };
      const signatures = await Promise.all(
        auditorWallets.slice(0, 2).map((wallet) => signVerdict(changed, f.client.domain, wallet)),
      );
      return f.court.reportAudit(header, changed, signatures);
    };
    await expect(report('0x000004')).rejects.toEqual(reverts('CheckerUnknown', 2, 4));
    await expect(report('0x00ff00')).rejects.toEqual(reverts('CheckerUnknown', 1, 255));
    await expect(report('0x0001')).rejects.toEqual(reverts('CheckerCount', 2, 3));
    await expect(report('0x00010000')).rejects.toEqual(reverts('CheckerCount', 4, 3));
    await expect(report('0x')).rejects.toEqual(reverts('CheckerCount', 0, 3));
  });

  it('calls a leaf both wrong and undecided', async () => {
    const { verdict, signatures } = await f.verdict(header, [1, 2], 2, [2]);
    await expect(f.court.reportAudit(header, verdict, signatures)).rejects.toEqual(
      reverts('VerdictContradicts', bitmapOf([2])),
    );
  });

  it('the whole bench may sign, and anybody may deliver it', async () => {
    const { verdict, signatures } = await f.verdict(header, [1], 3);
    const courier = new Wallet(id('courier'), f.provider);
    await f.provider.send('anvil_setBalance', [courier.address, '0xffffffffffffffff']);
    const theirs = await SettlementClient.connect({
      provider: f.provider,
      rollup: f.rollup.address,
      signer: courier,
    });
    await theirs.court!.reportAudit(header, verdict, signatures);
    expect(await f.court.killsOf(verdict.batchHash)).toBe(2n);
    expect((await f.court.awardOf(verdict.batchHash, 1)).reporter).toBe(addressOf(courier));
  });

  it('a copied report pays whom the auditors named', async () => {
    const { header } = await f.commit(await f.receipts(2));
    await f.anvil.mine(beaconDelay);
    await f.court.fixSeed(header);
    const { verdict: unnamed } = await f.verdict(header, [0], 2);
    const verdict = { ...unnamed, reporter: addressOf(new Wallet(id('reporter'))) };
    const signatures = await Promise.all(
      auditorWallets.slice(0, 2).map((wallet) => signVerdict(verdict, f.client.domain, wallet)),
    );
    // The copier cannot put himself in the other's place ...
    const refused = { meta: { error: expect.stringMatching(/NotAuditor|SignersUnordered/) } };
    for (const reporter of [addressOf(f.signer), unnamed.reporter])
      await expect(f.court.reportAudit(header, { ...verdict, reporter }, signatures)).rejects.toMatchObject(refused);
    // ... and sends it for him.
    const { transactionHash } = await f.court.reportAudit(header, verdict, signatures);
    const [log] = (await f.provider.getTransactionReceipt(transactionHash))!.logs;
    expect(addressOf({ address: courtInterface.parseLog(log!)!.args['reporter'] as string })).toBe(verdict.reporter);
    expect(await f.court.verdictOf(verdict.batchHash)).toBe(verdictStructHash(verdict));
    expect((await f.court.awardOf(verdict.batchHash, 0)).reporter).toBe(verdict.reporter);
  });
});
