import { Contract, type Interface } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { escrowInterface } from './escrow-client.js';
import { reverts } from './harness/expectations.js';
import {
  addressOf,
  governorWallet,
  startSettlement,
  testPolicy,
  type SettlementFixture,
} from './harness/settlement-fixture.js';
import { checkPolicy, NOBODY, policyHash, type Policy } from './policy.js';

let f: SettlementFixture;
let policy: Policy = { ...testPolicy, verifier: NOBODY, game: NOBODY, court: NOBODY };
beforeAll(async () => {
  f = await startSettlement();
  policy = { ...policy, court: f.court.address };
});
afterAll(() => f.stop());

const largest = 2n ** 128n - 1n;

describe('hash', () => {
  it('is the contract’s, for a policy read back field by field', async () => {
    expect(policyHash(f.client.policy)).toBe(f.client.policyHash);
    expect(f.client.policy).toMatchObject(testPolicy);
    expect(f.client.policy.court).toBe(f.court.address);
    const wide: Policy = {
      ...policy,
      deliveryWindow: 2 ** 32 - 1,
      minDeliver: 2 ** 32 - 1,
      lockFactorBps: 2 ** 32 - 1,
      minLock: largest,
      noShowFee: largest,
      auditFee: largest / 10n,
      unitPrice: 2n ** 64n - 1n,
    };
    const governed = f.client.escrow.addPolicyCall(wide);
    await f.sendAs(governorWallet, governed);
    expect(await f.escrow.policyOf(policyHash(wide))).toEqual(wide);
  });

  it.each(Object.keys(policy) as (keyof Policy)[])('covers %s', (field) => {
    const value = policy[field];
    const other =
      typeof value === 'bigint' ? value + 1n : typeof value === 'number' ? value + 1 : `0x${'12'.repeat(20)}`;
    expect(policyHash({ ...policy, [field]: other })).not.toBe(policyHash(policy));
  });

  it.each<[keyof Policy, unknown]>([
    ['deliveryWindow', 2 ** 32],
    ['bountyOpenBps', 2 ** 16],
    ['minLock', 2n ** 128n],
    ['unitPrice', 2n ** 64n],
    ['gasAnswerByte', 2 ** 16],
    ['court', `0x${'AB'.repeat(20)}`],
    ['verifier', undefined],
    ['minLock', -1n],
  ])('refuses %s = %s', (field, value) => {
    expect(() => policyHash({ ...policy, [field]: value } as Policy)).toThrow(
      expect.objectContaining({ code: 'RECEIPT_FIELD_INVALID', meta: expect.objectContaining({ field }) }),
    );
  });
});

describe('range, in TypeScript as in the contract', () => {
  /** Null where the contract would take it, else the field it names. */
  const contractSays = async (given: Policy): Promise<string | null> => {
    const { data, to } = f.escrow.addPolicyCall(given);
    const failure = await f.provider.call({ to, data, from: addressOf(governorWallet) }).then(
      () => null,
      (error: { data: string }) => error.data,
    );
    if (failure === null) return null;
    const parsed = (escrowInterface as Interface).parseError(failure)!;
    return parsed.name === 'PolicyInvalid' ? (parsed.args[0] as string) : parsed.name;
  };
  const weSay = (given: Policy): string | null => {
    try {
      checkPolicy(given);
      return null;
    } catch (error) {
      expect(error).toMatchObject({ code: 'POLICY_INVALID' });
      return (error as { meta: { field: string } }).meta.field;
    }
  };

  // The last value that is taken and the first that is not, of every bound.
  it.each<[keyof Policy, unknown, unknown, Partial<Policy>?]>([
    ['minLock', 1n, 0n, { noShowFee: 0n, bountyOpenBps: 0, bountyAuditBps: 0, auditFee: 0n, lockFactorBps: 1 }],
    ['deliveryWindow', 1, 0],
    ['answerTime', 2, 0],
    ['answerTime', 22, 21],
    ['precommitDelay', 10, 11],
    ['precommitDelay', 1, 0],
    ['responseTime', 4, 3],
    ['minDeliver', 1, 0],
    ['protocolFeeBps', 10_000, 10_001],
    ['noShowFee', 1_000_000n, 1_000_001n],
    ['unitPrice', 1n, 0n],
    ['gasKill', 21_000, 20_999],
    ['gasAnswer', 21_000, 20_999],
    ['gasAnswerByte', 40, 39],
    ['gasAnswerByte', 124, 125],
    ['bountyOpenBps', 1_000, 1_001],
    ['bountyAuditBps', 8_700, 8_701],
    ['auditFee', 133_333n, 133_334n],
  ])('%s: %s is taken, %s is not', async (field, taken, refused, rest = {}) => {
    const [good, bad] = [taken, refused].map((value) => ({ ...policy, ...rest, [field]: value }) as Policy) as [
      Policy,
      Policy,
    ];
    // One unit of lock pays for no gas.
    const expected = field === 'minLock' ? 'bountyOpenBps' : null;
    expect([weSay(good), await contractSays(good)]).toEqual([expected, expected]);
    const named = weSay(bad);
    expect(named).not.toBeNull();
    expect(await contractSays(bad)).toBe(named);
  });

  it.each(['verifier', 'game', 'court'] as const)(
    '%s must be a contract, which only the chain can tell',
    async (judge) => {
      const nobody = { ...policy, [judge]: `0x${'12'.repeat(20)}` as Hex };
      expect(weSay(nobody)).toBeNull();
      expect(await contractSays(nobody)).toBe(judge);
      expect(await contractSays({ ...policy, [judge]: f.rollup.address })).toBeNull();
    },
  );
});

it('needs a judge for one lane at least', async () => {
  for (const judge of ['verifier', 'game', 'court'] as const) {
    const closed = { ...policy, court: NOBODY };
    expect(() => checkPolicy({ ...closed, [judge]: f.court.address })).not.toThrow();
    expect(() => checkPolicy(closed)).toThrow(
      expect.objectContaining({ code: 'POLICY_INVALID', meta: { field: 'court' } }),
    );
  }
  const call = f.escrow.addPolicyCall({ ...policy, court: NOBODY });
  const failure = await f.provider
    .call({ to: call.to, data: call.data, from: addressOf(governorWallet) })
    .catch((error: { data: string }) => error.data);
  expect((escrowInterface as Interface).parseError(failure as string)).toMatchObject({ args: ['court'] });
});

describe('a policy’s life', () => {
  it('an unknown one is refused, a closed one takes no orders and is still known', async () => {
    const unknown = policyHash({ ...policy, minDeliver: 77 });
    await expect(f.escrow.policyOf(unknown)).rejects.toEqual(reverts('PolicyUnknown', unknown));
    expect(await f.escrow.policyOpenFrom(unknown)).toBeNull();
    const added = { ...policy, minDeliver: 78 };
    await f.sendAs(governorWallet, f.escrow.addPolicyCall(added));
    const delay = Number(
      await new Contract(f.escrow.address, escrowInterface, f.provider).getFunction('policyDelay')(),
    );
    expect(await f.escrow.policyOpenFrom(policyHash(added))).toBe((await f.escrow.clock()) + delay);
    await f.sendAs(governorWallet, f.escrow.closePolicyCall(policyHash(added)));
    expect(await f.escrow.policyOpenFrom(policyHash(added))).toBeNull();
    expect(await f.escrow.policyOf(policyHash(added))).toEqual(added);
  });
});
