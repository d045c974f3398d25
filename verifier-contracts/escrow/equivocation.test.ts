/** Two receipts for one order (E2), announcements and bounties (E9). */
import { id, ZeroAddress, ZeroHash } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  evidenceOf,
  LANE,
  LEAF,
  precommitment,
  refusal,
  settlement,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  structHash,
  typedHash,
  wallets,
  type Called,
  type EscrowFixture,
  type Job,
  type Party,
  type Receipt,
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

const LOCK = 3_000_000n;
const HELD = 1_580_000n;
/** 9 % of the lock, and the gas of the call. */
const REWARD = 270_000n + 210_000n;
const SALT = id('salt');

const signReceipt = (receipt: Receipt, wallet = wallets.signer): Promise<string> => f.sign(wallet, 'Receipt', receipt);
const otherOf = (job: Job): Receipt => ({ ...job.receipt, outputRoot: id('another output') });

interface Slash {
  readonly from?: Party;
  readonly other?: Receipt;
  readonly beneficiary?: string;
  readonly salt?: string;
  readonly time?: number;
}
async function accusation(job: Job, other: Receipt, beneficiary: string, salt: string): Promise<unknown[]> {
  return [settlement(job), other, await signReceipt(job.receipt), await signReceipt(other), beneficiary, salt];
}
async function slash(job: Job, { from = 'stranger', time, ...given }: Slash = {}): Promise<Called> {
  const [beneficiary, salt] = [given.beneficiary ?? ZeroAddress, given.salt ?? ZeroHash];
  return f.send(from, 'slashEquivocation', await accusation(job, given.other ?? otherOf(job), beneficiary, salt), time);
}
const announcement = (job: Job, beneficiary: string, other = otherOf(job)): string =>
  precommitment(job.orderHash, evidenceOf(job.receipt, other), beneficiary, SALT);
const announce = async (job: Job, beneficiary: string, from: Party = 'watcher', time?: number): Promise<number> =>
  (await f.send(from, 'precommit', [announcement(job, beneficiary)], time)).time;
const claim = async (
  job: Job,
  beneficiary: string,
  time?: number,
  salt = SALT,
  other = otherOf(job),
): Promise<Called> => f.send('stranger', 'claimBounty', await accusation(job, other, beneficiary, salt), time);

describe('Open, Bound -> Slashed: slashEquivocation', () => {
  it.each(['open', 'bound'] as const)(
    '%s order: requester made whole, node suspended, bounty left open',
    async (state) => {
      const job = state === 'open' ? f.job(await f.open()) : await f.bound();
      let called: Called | undefined;
      const moved = await f.moved(async () => {
        called = await slash(job);
      });
      expect(moved).toEqual({
        held: -HELD,
        requester: HELD,
        locks: -LOCK,
        bounties: REWARD,
        burnt: LOCK - REWARD,
      });
      const until = BigInt(called!.time) + f.policy.responseTime;
      expect(called!.events).toEqual([
        { name: 'BountyLeft', args: [job.orderHash, REWARD, until] },
        { name: 'NodeSuspended', args: [addressOf('signer'), job.orderHash] },
        { name: 'OrderEnded', args: [job.orderHash, BigInt(STATE.slashed), HELD, 0n, LOCK - REWARD] },
      ]);
      expect(await f.read('bountyOf', [job.orderHash])).toEqual([REWARD, until]);
      expect(await f.read('nodeOf', [addressOf('signer')])).toEqual([addressOf('account'), false]);
    },
  );

  it('sampled: the earmark goes back to the reserve', async () => {
    const job = f.job(await f.open({ lane: LANE.sampled }));
    expect(await f.moved(() => slash(job))).toMatchObject({ reserve: 50_000n, reserved: -50_000n });
  });

  it.each([
    ['pending', LEAF.pending],
    ['challengeable', LEAF.challengeable],
  ])('E2 a: a leaf that is %s dies with its order', async (_name, state) => {
    const job = await f.bound();
    await f.judge(job, state);
    await slash(job);
    expect(await f.readFrom('rollup', 'killsOf', [job.batchHash])).toBe(1n << 5n);
    expect(await f.readFrom('rollup', 'leafStateOf', [job.header, job.index])).toEqual([
      job.batchHash,
      BigInt(LEAF.dead),
    ]);
  });

  it('E2 a: open demands end with it, deposits back', async () => {
    const job = await f.bound();
    await f.send('requester', 'demandOutput', [settlement(job), { tensor: 0, firstChunk: 0, chunkCount: 2 }]);
    const { deposits } = await f.ledger();
    expect(await f.moved(() => slash(job))).toMatchObject({ deposits: -deposits!, requester: HELD + deposits! });
  });

  it.each([
    ['final', LEAF.final],
    ['void', LEAF.void],
  ])('E2: a leaf that is %s stays as it is; the money of the order goes', async (_name, state) => {
    const job = await f.bound();
    await f.judge(job, state);
    await slash(job);
    expect(await f.readFrom('rollup', 'killsOf', [job.batchHash])).toBe(0n);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.slashed);
  });

  it('E2: a proof in the zk lane stays proved', async () => {
    const job = await f.bound({ lane: LANE.zk });
    await slash(job);
    expect(await f.readFrom('rollup', 'killsOf', [job.batchHash])).toBe(0n);
  });

  it('E2 b: after a kill, before settle, nobody takes the bounty of who won', async () => {
    const job = await f.bound();
    await announce(job, addressOf('account'), 'account');
    await f.judge(job, LEAF.dead, addressOf('checker'), addressOf('reporter'));
    const own = slash(job, { from: 'account', beneficiary: addressOf('account'), salt: SALT });
    expect(await refusal(own)).toBe('LeafDead');
    const moved = await f.moved(() => f.send('stranger', 'settle', [[settlement(job)]]));
    expect(moved).toMatchObject({ reporter: 210_000n, checker: 270_000n });
  });

  it('OrderStateIs: none, ended', async () => {
    expect(await refusal(slash(f.job(await f.order())))).toBe('OrderStateIs');
    const paid = await f.bound();
    await f.settle(paid);
    expect(await refusal(slash(paid))).toBe('OrderStateIs');
    const slashed = await f.bound();
    await slash(slashed);
    expect(await refusal(slash(slashed))).toBe('OrderStateIs');
  });

  it('LeafMismatch: of a bound order one receipt must be the bound one', async () => {
    const job = await f.bound();
    expect(await refusal(slash({ ...job, receipt: otherOf(job) }, { other: { ...job.receipt, amount: 5n } }))).toBe(
      'LeafMismatch',
    );
  });

  it('NoEquivocation: one receipt twice; another order; a wrong signature on either side; another domain', async () => {
    const job = f.job(await f.open());
    const other = otherOf(job);
    const [first, second] = [await signReceipt(job.receipt), await signReceipt(other)];
    const elsewhere = { ...other, orderHash: id('another order') };
    const [mine, theirs] = [await signReceipt(job.receipt, wallets.account), await signReceipt(other, wallets.account)];
    const domain = { ...f.domain, chainId: f.chainId + 1n };
    const foreign = await f.sign(wallets.signer, 'Receipt', other, domain);
    const cases: [Receipt, string, string][] = [
      [job.receipt, first, first],
      [elsewhere, first, await signReceipt(elsewhere)],
      [other, mine, second],
      [other, first, theirs],
      [other, second, first],
      [other, first, foreign],
      [other, first, '0x'],
    ];
    for (const [receipt, a, b] of cases) {
      const call = f.send('stranger', 'slashEquivocation', [settlement(job), receipt, a, b, ZeroAddress, ZeroHash]);
      expect(await refusal(call)).toBe('NoEquivocation');
    }
    expect(typedHash(domain, 'Receipt', other)).not.toBe(f.hash('Receipt', other));
    await slash(job);
  });

  it('NoEquivocation: the first receipt, too, must be for this order', async () => {
    const job = f.job(await f.open());
    const receipt = { ...job.receipt, orderHash: id('another order') };
    expect(await refusal(slash({ ...job, receipt }, { other: job.receipt }))).toBe('NoEquivocation');
  });

  it('a refused accusation of a bound order leaves its leaf alive', async () => {
    const job = await f.bound();
    expect(await refusal(slash(job, { other: job.receipt }))).toBe('NoEquivocation');
    expect(await f.readFrom('rollup', 'killsOf', [job.batchHash])).toBe(0n);
  });

  it('E7: retiring the key does not help: the order goes by the key that took it', async () => {
    const job = await f.bound();
    await f.send('account', 'retireNode', [addressOf('signer')]);
    expect(await f.moved(() => slash(job))).toMatchObject({ locks: -LOCK });
  });

  it('self-equivocation loses the lock but bounty and gas (S_net)', async () => {
    const account = addressOf('account');
    const job = f.job(await f.open());
    await announce(job, account, 'account');
    await f.passTo((await f.now()) + 5);
    const moved = await f.moved(() => slash(job, { from: 'account', beneficiary: account, salt: SALT }));
    expect(moved).toMatchObject({ account: REWARD, burnt: LOCK - REWARD });
  });
});

describe('precommit and bounty', () => {
  it('with a valid announcement bounty and gas are paid at once, to the beneficiary whoever sends', async () => {
    const job = await f.bound();
    const time = await announce(job, addressOf('watcher'));
    const moved = await f.moved(() =>
      slash(job, { beneficiary: addressOf('watcher'), salt: SALT, time: time + Number(f.policy.precommitDelay) }),
    );
    expect(moved).toMatchObject({ watcher: REWARD, burnt: LOCK - REWARD });
    expect(moved).not.toHaveProperty('stranger');
    expect(await f.read('bountyOf', [job.orderHash])).toEqual([0n, 0n]);
  });

  it('E9 a: repeating an announcement changes nothing', async () => {
    const job = await f.bound();
    const time = await announce(job, addressOf('watcher'));
    const { events } = await f.send('stranger', 'precommit', [announcement(job, addressOf('watcher'))]);
    expect(events).toEqual([]);
    expect(await f.read('precommittedAt', [announcement(job, addressOf('watcher'))])).toBe(BigInt(time));
    const moved = await f.moved(() =>
      slash(job, { beneficiary: addressOf('watcher'), salt: SALT, time: time + Number(f.policy.precommitDelay) }),
    );
    expect(moved).toMatchObject({ watcher: REWARD });
  });

  it('E9 b: a copied kill leaves bounty and gas open for who had announced before', async () => {
    const job = await f.bound();
    await announce(job, addressOf('watcher'));
    await slash(job, { from: 'stranger', beneficiary: addressOf('stranger'), salt: SALT });
    const moved = await f.moved(() => claim(job, addressOf('watcher')));
    expect(moved).toEqual({ bounties: -REWARD, watcher: REWARD });
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
  });

  it('E9 b: an announcement in the block of the kill or after it is too late', async () => {
    const job = await f.bound();
    const { time } = await slash(job);
    const announced = await announce(job, addressOf('watcher'), 'watcher', time + 1);
    await f.passTo(announced + Number(f.policy.precommitDelay));
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
  });

  it('E9 c: in the block of the kill: one block is one tick of the clock', async () => {
    const job = await f.bound();
    const other = otherOf(job);
    const signatures = [await signReceipt(job.receipt), await signReceipt(other)];
    await f.provider.send('evm_setAutomine', [false]);
    const time = (await f.now()) + 10;
    const calls = [
      f.send('watcher', 'precommit', [announcement(job, addressOf('watcher'))]),
      f.send('stranger', 'slashEquivocation', [settlement(job), other, ...signatures, addressOf('watcher'), SALT]),
    ];
    await f.pending(2);
    await f.provider.send('evm_setNextBlockTimestamp', [time]);
    await f.provider.send('anvil_mine', ['0x1']);
    await Promise.all(calls);
    await f.provider.send('evm_setAutomine', [true]);
    expect(await f.read('bountyOf', [job.orderHash])).toEqual([REWARD, BigInt(time) + f.policy.responseTime]);
    await f.passTo(time + 5);
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
  });

  it('an announcement that is not yet old enough leaves the bounty open; then it is claimed', async () => {
    const job = await f.bound();
    const time = await announce(job, addressOf('watcher'));
    await slash(job, { beneficiary: addressOf('watcher'), salt: SALT, time: time + 1 });
    expect(await f.moved(() => claim(job, addressOf('watcher'), time + 2))).toEqual({
      bounties: -REWARD,
      watcher: REWARD,
    });
  });

  it('the announcement is bound to order, beneficiary and salt', async () => {
    const job = await f.bound();
    await announce(job, addressOf('watcher'));
    await f.passTo((await f.now()) + 5);
    await slash(job);
    expect(await refusal(claim(job, addressOf('stranger')))).toBe('BountyUnavailable');
    expect(await refusal(claim(job, addressOf('watcher'), undefined, id('another salt')))).toBe('BountyUnavailable');
    const other = await f.open().catch(() => undefined);
    // The node is suspended: there is no second order to try it on.
    expect(other).toBeUndefined();
    await claim(job, addressOf('watcher'));
  });

  it('a blanket announcement earns nothing: without both receipts there is nothing to announce', async () => {
    const job = await f.bound();
    const attacker = addressOf('stranger');
    // What can be known of an order before its executor errs: its hash, and the receipt that it is bound to.
    const guesses = [
      ZeroHash,
      job.orderHash,
      structHash('Receipt', job.receipt),
      evidenceOf(job.receipt, job.receipt),
      evidenceOf(job.receipt, { ...job.receipt, outputRoot: ZeroHash }),
    ];
    for (const evidence of guesses)
      await f.send('stranger', 'precommit', [precommitment(job.orderHash, evidence, attacker, SALT)]);
    await announce(job, addressOf('watcher'));
    await f.passTo((await f.now()) + 5);
    // The watcher's call is copied from the mempool, with the attacker for its beneficiary.
    const killed = await f.moved(() => slash(job, { from: 'stranger', beneficiary: attacker, salt: SALT }));
    expect(killed).toMatchObject({ bounties: REWARD });
    expect(killed).not.toHaveProperty('stranger');
    const claims: [Receipt, string][] = [
      [otherOf(job), 'BountyUnavailable'],
      [job.receipt, 'NoEquivocation'],
    ];
    for (const [other, refused] of claims)
      expect(await refusal(claim(job, attacker, undefined, SALT, other))).toBe(refused);
    expect(await f.moved(() => claim(job, addressOf('watcher')))).toEqual({ bounties: -REWARD, watcher: REWARD });
  });

  it('NoEquivocation: a claim, too, shows two receipts of the executor for the order', async () => {
    const job = await f.bound();
    const attacker = addressOf('stranger');
    const invented = { ...job.receipt, outputRoot: id('invented') };
    const elsewhere = { ...otherOf(job), orderHash: id('another order') };
    for (const other of [invented, elsewhere, job.receipt])
      await f.send('stranger', 'precommit', [announcement(job, attacker, other)]);
    await f.passTo((await f.now()) + 5);
    await slash(job);
    const [mine, theirs] = [await signReceipt(job.receipt), await signReceipt(invented, wallets.stranger)];
    const claims: [Receipt, string][] = [
      [invented, theirs],
      [invented, mine],
      [elsewhere, await signReceipt(elsewhere)],
      [job.receipt, mine],
    ];
    for (const [other, signature] of claims) {
      const args = [settlement(job), other, mine, signature, attacker, SALT];
      expect(await refusal(f.send('stranger', 'claimBounty', args))).toBe('NoEquivocation');
    }
  });

  it('the pair may be brought in either order, and need not be the one of the kill', async () => {
    const job = f.job(await f.open());
    const third = { ...job.receipt, outputRoot: id('a third output') };
    const time = await announce(job, addressOf('watcher'));
    await f.send('watcher', 'precommit', [announcement(job, addressOf('checker'), third)]);
    const turned = { ...job, receipt: otherOf(job) };
    const clean = await f.snapshot();
    const order = job.order;
    const later = time + Number(f.policy.precommitDelay);
    const told = { other: job.receipt, beneficiary: addressOf('watcher'), salt: SALT, time: later + 1 };
    expect(await f.moved(() => slash(turned, told))).toMatchObject({ watcher: REWARD });
    await f.revertTo(clean);
    f.opened(order);
    await slash(job, { time: later + 1 });
    expect(
      await f.moved(() => claim({ ...job, receipt: third }, addressOf('checker'), undefined, SALT, job.receipt)),
    ).toEqual({ bounties: -REWARD, checker: REWARD });
  });

  it('unclaimed, it is burnt by whoever calls after its time', async () => {
    const job = await f.bound();
    await announce(job, addressOf('watcher'));
    const { time } = await slash(job);
    const late = time + Number(f.policy.responseTime) + 1;
    let called: Called | undefined;
    const moved = await f.moved(async () => {
      called = await claim(job, addressOf('watcher'), late);
    });
    expect(moved).toEqual({ bounties: -REWARD, burnt: REWARD });
    expect(called!.events).toEqual([{ name: 'BountyBurnt', args: [job.orderHash, REWARD] }]);
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
  });

  it('BountyUnavailable: no kill, or one by a court', async () => {
    const job = await f.bound();
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
    await f.settle(job, LEAF.dead);
    expect(await refusal(claim(job, addressOf('watcher')))).toBe('BountyUnavailable');
  });
});
