/** Terms of jobs: what a policy may say, who adds and closes one, and what a deployment may say. */
import { ZeroAddress } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  policyHashOf,
  refusal,
  START_TIMEOUT_MS,
  startEscrow,
  type EscrowFixture,
  type Policy,
} from '../harness/escrow/escrow-fixture.js';

let f: EscrowFixture;
let clean: string;
beforeAll(async () => {
  f = await startEscrow();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());
beforeEach(async () => {
  clean = await f.snapshot();
});
afterEach(() => f.revertTo(clean));

const DAY = 86_400;
const add = (change: Partial<Policy>): Promise<unknown> =>
  f.send('governor', 'addPolicy', [{ ...f.policy, ...change }]);

describe('what a policy may say', () => {
  // Each with the least change that makes it right again.
  it.each<[string, string, Partial<Policy>, Partial<Policy>]>([
    ['no delivery window', 'deliveryWindow', { deliveryWindow: 0n }, { deliveryWindow: 1n }],
    ['no answer time', 'answerTime', { answerTime: 0n }, { answerTime: 2n }],
    ['an odd answer time, which has no half', 'answerTime', { answerTime: 201n }, { answerTime: 202n }],
    ['no precommit delay', 'precommitDelay', { precommitDelay: 0n }, { precommitDelay: 1n }],
    [
      'a response time in which no announcement gets old enough (E9)',
      'responseTime',
      { responseTime: 3n },
      { responseTime: 4n },
    ],
    ['a response time that would overflow', 'responseTime', { precommitDelay: 2n ** 32n - 1n }, {}],
    ['no time to deliver (E8)', 'minDeliver', { minDeliver: 0n }, { minDeliver: 1n }],
    ['a share above all', 'protocolFeeBps', { protocolFeeBps: 10_001n }, { protocolFeeBps: 10_000n }],
    ['no least lock', 'minLock', { minLock: 0n, noShowFee: 0n }, {}],
    ['a no-show fee above the least lock (E4)', 'noShowFee', { noShowFee: 2_000_001n }, { noShowFee: 2_000_000n }],
    ['no price of gas (E15)', 'unitPrice', { unitPrice: 0n }, { unitPrice: 1n }],
    ['a kill below the gas of any transaction', 'gasKill', { gasKill: 20_999n }, { gasKill: 21_000n }],
    ['an answer below the gas of any transaction', 'gasAnswer', { gasAnswer: 20_999n }, { gasAnswer: 21_000n }],
    ['bytes below their floor (E14)', 'gasAnswerByte', { gasAnswerByte: 39n }, { gasAnswerByte: 40n }],
    [
      'an answer above an eighth of what a transaction may use',
      'gasAnswerByte',
      { gasAnswerByte: 127n },
      { gasAnswerByte: 126n },
    ],
    [
      'open bounty and gas above a fifth of the least lock (E4)',
      'bountyOpenBps',
      { bountyOpenBps: 951n },
      { bountyOpenBps: 950n },
    ],
    [
      'audit bounty, gas and three fees above the least lock (E4)',
      'bountyAuditBps',
      { auditFee: 263_334n },
      { auditFee: 263_333n },
    ],
    ['a share of the lock above all', 'bountyAuditBps', { bountyAuditBps: 65_535n }, {}],
    ['a verifier without code', 'verifier', { verifier: addressOf('stranger') }, { verifier: ZeroAddress }],
    ['a game without code', 'game', { game: addressOf('stranger') }, { game: ZeroAddress }],
    ['a court without code', 'court', { court: addressOf('stranger') }, { court: ZeroAddress }],
    ['nobody to judge any lane', 'court', { verifier: ZeroAddress, game: ZeroAddress, court: ZeroAddress }, {}],
  ])('refuses %s', async (_name, field, bad, good) => {
    await expect(add(bad)).rejects.toMatchObject({ error: 'PolicyInvalid', args: [field] });
    if (Object.keys(good).length > 0) await add({ ...bad, ...good });
  });

  it('takes extremes that are in range', async () => {
    await add({
      deliveryWindow: 2n ** 32n - 1n,
      answerTime: 2n ** 32n - 2n,
      responseTime: 2n ** 32n - 1n,
      minDeliver: 2n ** 32n - 1n,
      lockFactorBps: 2n ** 32n - 1n,
      minLock: 2n ** 128n - 1n,
      noShowFee: 2n ** 128n - 1n,
      unitPrice: 2n ** 64n - 1n,
      gasKill: 2n ** 32n - 1n,
    });
  });
});

describe('adding and closing', () => {
  it('addPolicy: named by its content, in force after the delay, the same for ever', async () => {
    const policy = { ...f.policy, minLock: 3_000_000n };
    const policyHash = policyHashOf(policy);
    const { events, time } = await f.send('governor', 'addPolicy', [policy]);
    expect(events.map(({ name, args }) => [name, args[0], args[2]])).toEqual([
      ['PolicyAdded', policyHash, BigInt(time + 300)],
    ]);
    expect(await f.read('policyOpenFrom', [policyHash])).toBe(BigInt(time + 300));
    expect(await f.read('policyOf', [policyHash])).toEqual(Object.values(policy));
  });

  it('a genesis policy is in force at once', async () => {
    expect(Number(await f.read('policyOpenFrom', [f.policyHash]))).toBeLessThanOrEqual(await f.now());
    expect(await f.read('policyOf', [f.policyHash])).toEqual(Object.values(f.policy));
  });

  it('PolicyKnown: a policy is added once; closed it is not opened again', async () => {
    expect(await refusal(add({}))).toBe('PolicyKnown');
    await f.send('governor', 'closePolicy', [f.policyHash]);
    expect(await refusal(add({}))).toBe('PolicyKnown');
    expect(await f.read('policyOpenFrom', [f.policyHash])).toBe(0n);
    expect(await f.read('policyOf', [f.policyHash])).toEqual(Object.values(f.policy));
  });

  it('PolicyUnknown', async () => {
    const none = `0x${'11'.repeat(32)}`;
    expect(await refusal(f.send('governor', 'closePolicy', [none]))).toBe('PolicyUnknown');
    await expect(f.read('policyOf', [none])).rejects.toThrow();
    expect(await f.read('policyOpenFrom', [none])).toBe(0n);
  });

  it('Unauthorized: only the governor', async () => {
    for (const party of ['stranger', 'guardian', 'deployer'] as const) {
      expect(await refusal(f.send(party, 'addPolicy', [{ ...f.policy, minLock: 3_000_000n }]))).toBe('Unauthorized');
      expect(await refusal(f.send(party, 'closePolicy', [f.policyHash]))).toBe('Unauthorized');
    }
  });
});

describe('a deployment', () => {
  it('publishes its parts', async () => {
    expect(await f.read('token')).toBe(f.addresses.token);
    expect(await f.read('rollup')).toBe(f.addresses.rollup);
    expect(await f.read('governor')).toBe(addressOf('governor'));
    expect(await f.read('guardian')).toBe(addressOf('guardian'));
    expect(await f.read('policyDelay')).toBe(300n);
    expect(await f.read('maxFreeze')).toBe(1_000n);
    expect(await f.read('coolDown')).toBe(5_000n);
    expect(await f.read('CLOCK_MODE')).toBe('mode=timestamp');
    expect(await f.read('clock')).toBe(BigInt(await f.now()));
    expect(await f.read('frozen')).toBe(false);
  });

  /** The field that the constructor refuses. */
  const refused = async (fixture: EscrowFixture, change: Record<number, unknown>): Promise<unknown> => {
    const { addresses, policy } = fixture;
    const args: unknown[] = [
      addresses.token,
      addresses.rollup,
      true,
      addressOf('governor'),
      addressOf('guardian'),
      7 * DAY,
      7 * DAY,
      30 * DAY,
      [policy],
    ];
    for (const [i, value] of Object.entries(change)) args[Number(i)] = value;
    const failure = await fixture.deploy('Escrow', args).then(
      () => 'accepted',
      (error: { error: string; args: unknown[] }) => (error.error === 'PolicyInvalid' ? error.args[0] : error.error),
    );
    return failure;
  };

  it('needs a token, a rollup, a governor, and policies that are right and different', async () => {
    expect(await refused(f, {})).toBe('accepted');
    expect(await refused(f, { 0: addressOf('stranger') })).toBe('token');
    expect(await refused(f, { 1: ZeroAddress })).toBe('rollup');
    expect(await refused(f, { 3: ZeroAddress })).toBe('governor');
    expect(await refused(f, { 4: ZeroAddress })).toBe('accepted');
    expect(await refused(f, { 8: [] })).toBe('accepted');
    expect(await refused(f, { 8: [{ ...f.policy, minLock: 1n }] })).toBe('noShowFee');
    expect(await refused(f, { 8: [f.policy, f.policy] })).toBe('PolicyKnown');
  });

  it(
    'on a real chain: a delay of a week, freezes of a week at most, a month between them',
    async () => {
      const real = await startEscrow({
        chainId: 1n,
        policyDelay: 7 * DAY,
        maxFreeze: 7 * DAY,
        coolDown: 30 * DAY,
      });
      try {
        expect(await refused(real, { 5: 7 * DAY - 1 })).toBe('policyDelay');
        expect(await refused(real, { 6: 7 * DAY + 1 })).toBe('maxFreeze');
        expect(await refused(real, { 7: 30 * DAY - 1 })).toBe('coolDown');
        // Block numbers count slots of twelve seconds.
        const blocks = { 2: false, 5: (7 * DAY) / 12, 6: (7 * DAY) / 12, 7: (30 * DAY) / 12 };
        expect(await refused(real, blocks)).toBe('accepted');
        expect(await refused(real, { ...blocks, 5: (7 * DAY) / 12 - 1 })).toBe('policyDelay');
        expect(await refused(real, { ...blocks, 6: (7 * DAY) / 12 + 1 })).toBe('maxFreeze');
        expect(await refused(real, { ...blocks, 7: (30 * DAY) / 12 - 1 })).toBe('coolDown');
      } finally {
        await real.stop();
      }
    },
    START_TIMEOUT_MS,
  );
});
