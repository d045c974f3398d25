/** Orders of Escrow up to their binding, and the two ways out before it: every transition and every refusal. */
import { id, Wallet, ZeroHash, type Result } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  INITIAL_FREE,
  INITIAL_RESERVE,
  LANE,
  lockOf,
  OPEN_FAULTS,
  policyHashOf,
  refusal,
  Refusal,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  termsHashOf,
  typedHash,
  wallets,
  type EscrowFixture,
  type Order,
  type SignedOrder,
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
const FEE = 50_000n;

/** The fault that `openFaultOf` names, after checking that `open` names the same and that nothing moves. */
async function faultOf(signed: SignedOrder): Promise<string> {
  const fault = OPEN_FAULTS[Number(await f.read('openFaultOf', [signed]))]!;
  let seen = 'None';
  const moved = await f.moved(async () => {
    try {
      await f.send('stranger', 'open', [[signed]]);
      f.opened(signed.order);
    } catch (error) {
      if (!(error instanceof Refusal) || error.error !== 'NothingOpened') throw error;
      seen = OPEN_FAULTS[Number(error.args[0])]!;
    }
  });
  expect(seen).toBe(fault);
  if (fault !== 'None') expect(moved).toEqual({});
  return fault;
}
const faultWith = async (change: Partial<Order>): Promise<string> => faultOf(await f.signed(await f.order(change)));

describe('None -> Open', () => {
  it('open: price and surcharge are held, the lock is taken from the account', async () => {
    const order = await f.order();
    const signed = await f.signed(order);
    const moved = await f.moved(async () => {
      const { events } = await f.send('stranger', 'open', [[signed]]);
      const { orderHash } = f.opened(order);
      expect(events.map(({ name }) => name)).toEqual(['OrderOpened']);
      const { args } = events[0]!;
      expect(args.slice(0, 5)).toEqual([orderHash, order.requester, order.executor, HELD, LOCK]);
      // The whole order, whoever called: a claim under it can be killed by whoever reads the log.
      expect(f.hash('JobOrder', (args[5] as Result).toObject())).toBe(orderHash);
    });
    expect(moved).toEqual({ requester: -HELD, held: HELD, account: -LOCK, locks: LOCK });
    expect(lockOf(f.policy, order.price)).toBe(LOCK);
    expect(await f.orderOf(f.hash('JobOrder', order))).toEqual({
      state: BigInt(STATE.open),
      account: addressOf('account'),
      deliverBy: order.deliverBy,
      price: order.price,
      lock: LOCK,
      leaf: ZeroHash,
      undelivered: false,
      openDemands: 0n,
    });
  });

  it('open: the least lock holds where the price is small', async () => {
    const moved = await f.moved(() => f.open({ price: 1n, surcharge: 0n }));
    expect(moved).toEqual({ requester: -1n, held: 1n, account: -2_000_000n, locks: 2_000_000n });
  });

  it('open of a sampled order earmarks the fee of its audit (E10)', async () => {
    const moved = await f.moved(() => f.open({ lane: LANE.sampled }));
    expect(moved).toEqual({ requester: -HELD, held: HELD, account: -LOCK, locks: LOCK, reserve: -FEE, reserved: FEE });
  });

  it('open: one bad order holds up no others', async () => {
    const good = await f.order();
    const bad = await f.signed(await f.order({ items: 0n }));
    const { events } = await f.send('stranger', 'open', [[bad, await f.signed(good), await f.signed(good)]]);
    f.opened(good);
    expect(events.map(({ name, args }) => [name, args[1]])).toEqual([
      ['OrderSkipped', BigInt(OPEN_FAULTS.indexOf('Size'))],
      ['OrderOpened', good.requester],
      ['OrderSkipped', BigInt(OPEN_FAULTS.indexOf('Known'))],
    ]);
    await f.ledger();
  });

  it('open of nothing is refused', async () => {
    expect(await refusal(f.send('stranger', 'open', [[]]))).toBe('NothingOpened');
  });

  it('open by one account on both sides takes both amounts, or neither', async () => {
    const requester = addressOf('account');
    const order = await f.order({ requester });
    const moved = await f.moved(async () => {
      await f.send('stranger', 'open', [[await f.signed(order, wallets.account)]]);
      f.opened(order);
    });
    expect(moved).toEqual({ account: -HELD - LOCK, held: HELD, locks: LOCK });
    const left = (await f.read('freeOf', [requester])) as bigint;
    await f.send('account', 'withdraw', [left - HELD - LOCK + 1n, requester]);
    expect(await faultOf(await f.signed(await f.order({ requester }), wallets.account))).toBe('ExecutorFunds');
  });
});

describe('open is refused', () => {
  it('Known: opened before, in whatever state it is now', async () => {
    const order = await f.open();
    const signed = await f.signed(order);
    expect(await faultOf(signed)).toBe('Known');
    await f.send('stranger', 'expire', [order], Number(order.deliverBy) + 1);
    expect(await faultOf(signed)).toBe('Known');
  });

  it('Expired', async () => expect(await faultWith({ validUntil: BigInt(await f.now()) - 1n })).toBe('Expired'));

  it('DeliverTooSoon (E8: an executor is never given less than the time that the policy states)', async () => {
    // The clock of the next block is at least one further than that of the newest, by which views go.
    expect(await faultWith({ deliverBy: BigInt(await f.now()) + 49n })).toBe('DeliverTooSoon');
  });

  it('Policy: no such policy', async () => expect(await faultWith({ policyHash: id('none') })).toBe('Policy'));

  it('Policy: closed to new orders; those that are open go on', async () => {
    const order = await f.open();
    await f.send('governor', 'closePolicy', [f.policyHash]);
    expect(await faultWith({})).toBe('Policy');
    const job = await f.bind(order);
    await f.settle(job);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.paid);
  });

  it.each([0, 4, 255])('Lane: there is no lane %i', async (lane) => expect(await faultWith({ lane })).toBe('Lane'));

  it.each([
    ['zk', 'verifier'],
    ['optimistic', 'game'],
    ['sampled', 'court'],
  ] as const)('Lane: %s is closed where the policy names no %s', async (lane, judge) => {
    const policy = { ...f.policy, [judge]: `0x${'0'.repeat(40)}` };
    await f.send('governor', 'addPolicy', [policy]);
    await f.passTo((await f.now()) + 301);
    const policyHash = policyHashOf(policy);
    expect(await faultWith({ policyHash, lane: LANE[lane] })).toBe('Lane');
    for (const other of Object.values(LANE)) {
      if (other !== LANE[lane]) expect(await faultWith({ policyHash, lane: other })).toBe('None');
    }
  });

  it('Size: no items', async () => expect(await faultWith({ items: 0n })).toBe('Size'));
  it('Size: more than 65,536 bytes of output', async () => {
    expect(await faultWith({ outputBytes: 65_537n })).toBe('Size');
    expect(await faultWith({ outputBytes: 65_536n })).toBe('None');
  });
  it('Size: a deliverBy that storage would cut, a validUntil that nobody could say again', async () => {
    expect(await faultWith({ deliverBy: 2n ** 48n })).toBe('Size');
    expect(await faultWith({ validUntil: 2n ** 48n })).toBe('Size');
    expect(await faultWith({ deliverBy: 2n ** 48n - 1n })).toBe('None');
  });

  it.each<[string, Partial<Order>]>([
    ['price', { price: 2n ** 128n }],
    ['the greatest price', { price: 2n ** 256n - 1n }],
    ['surcharge', { surcharge: 2n ** 256n - 1n }],
    ['the sum of both', { price: 2n ** 126n, surcharge: 2n ** 128n - 2n ** 126n }],
    ['the lock', { price: 2n ** 127n, surcharge: 0n }],
  ])('Amount: %s beyond 128 bits', async (_name, change) => expect(await faultWith(change)).toBe('Amount'));

  it('Node: the executor is not registered', async () => {
    const other = Wallet.createRandom();
    const order = await f.order({ executor: other.address });
    const signed = await f.signed(order);
    signed.executorSignature = await f.sign(other, 'Acceptance', { orderHash: f.hash('JobOrder', order) });
    expect(await faultOf(signed)).toBe('Node');
  });
  it('Node: the executor is retired', async () => {
    await f.send('account', 'retireNode', [addressOf('signer')]);
    expect(await faultWith({})).toBe('Node');
  });

  it('RequesterSignature: of somebody else, over another order, cut, mirrored', async () => {
    const order = await f.order();
    const signed = await f.signed(order);
    const foreign = await f.sign(wallets.stranger, 'JobOrder', order);
    const over = await f.sign(wallets.requester, 'JobOrder', { ...order, price: 1n });
    const { requesterSignature } = signed;
    for (const bad of [foreign, over, requesterSignature.slice(0, -2), `${requesterSignature}00`, '0x'].concat(
      mirrored(requesterSignature),
    )) {
      expect(await faultOf({ ...signed, requesterSignature: bad })).toBe('RequesterSignature');
    }
    expect(await faultOf(signed)).toBe('None');
  });

  it('RequesterSignature: nobody is the requester of an order without one', async () => {
    const zero = `0x${'0'.repeat(40)}`;
    const order = await f.order({ requester: zero, price: 0n, surcharge: 0n });
    const signed = await f.signed(order);
    for (const requesterSignature of ['0x', `0x${'00'.repeat(65)}`]) {
      expect(await faultOf({ ...signed, requesterSignature })).toBe('RequesterSignature');
    }
  });

  it('ExecutorSignature: of somebody else, over the order instead of its acceptance, for another, mirrored', async () => {
    const order = await f.order();
    const signed = await f.signed(order);
    const bad = [
      await f.sign(wallets.account, 'Acceptance', { orderHash: f.hash('JobOrder', order) }),
      await f.sign(wallets.signer, 'JobOrder', order),
      await f.sign(wallets.signer, 'Acceptance', { orderHash: f.hash('JobOrder', { ...order, nonce: 10n ** 6n }) }),
      await f.sign(wallets.signer, 'Cancellation', { orderHash: f.hash('JobOrder', order) }),
      mirrored(signed.executorSignature),
    ];
    for (const executorSignature of bad) {
      expect(await faultOf({ ...signed, executorSignature })).toBe('ExecutorSignature');
    }
    expect(await faultOf(signed)).toBe('None');
  });

  it('signatures for another chain or another contract', async () => {
    const order = await f.order();
    for (const change of [{ chainId: f.chainId + 1n }, { verifyingContract: f.addresses.escrow }]) {
      const domain = { ...f.domain, ...change };
      const requesterSignature = await f.sign(wallets.requester, 'JobOrder', order, domain);
      const acceptance = { orderHash: typedHash(domain, 'JobOrder', order) };
      const executorSignature = await f.sign(wallets.signer, 'Acceptance', acceptance, domain);
      expect(await faultOf({ order, requesterSignature, executorSignature })).toBe('RequesterSignature');
      const own = await f.signed(order);
      expect(await faultOf({ ...own, executorSignature })).toBe('ExecutorSignature');
    }
  });

  it('RequesterFunds: to the last unit', async () => {
    await f.send('requester', 'withdraw', [INITIAL_FREE - HELD + 1n, addressOf('requester')]);
    expect(await faultWith({})).toBe('RequesterFunds');
    expect(await faultWith({ surcharge: 79_999n })).toBe('None');
  });

  it('ExecutorFunds: to the last unit', async () => {
    await f.send('account', 'withdraw', [INITIAL_FREE - LOCK + 1n, addressOf('account')]);
    expect(await faultWith({})).toBe('ExecutorFunds');
    expect(await faultWith({ price: 1_499_999n })).toBe('None');
  });

  it('Reserve: E10 a: each open sampled order has its own fee in the reserve; the next is refused', async () => {
    const policy = { ...f.policy, auditFee: INITIAL_RESERVE / 5n };
    // Three such fees have to fit the lock beside half of it.
    policy.minLock = 10_000_000n;
    await f.send('governor', 'addPolicy', [policy]);
    await f.passTo((await f.now()) + 301);
    const policyHash = policyHashOf(policy);
    for (let i = 0; i < 5; i++) await f.open({ policyHash, lane: LANE.sampled });
    expect(await f.read('reserve')).toEqual([0n, INITIAL_RESERVE]);
    expect(await faultWith({ policyHash, lane: LANE.sampled })).toBe('Reserve');
    // Other lanes ask nothing of it.
    expect(await faultWith({ policyHash })).toBe('None');
  });

  it('E10 b: an empty reserve holds up no commit: what is open binds', async () => {
    const order = await f.open({ lane: LANE.sampled });
    while ((await faultWith({ lane: LANE.sampled, price: 0n, surcharge: 0n })) === 'None');
    expect(((await f.read('reserve')) as bigint[])[0]).toBeLessThan(FEE);
    const job = await f.bind(order);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.bound);
  }, 120_000);
});

describe('Open -> Refunded', () => {
  const cancellation = async (order: Order): Promise<[Order, string, string]> => {
    const value = { orderHash: f.hash('JobOrder', order) };
    return [
      order,
      await f.sign(wallets.requester, 'Cancellation', value),
      await f.sign(wallets.signer, 'Cancellation', value),
    ];
  };

  it.each(['optimistic', 'sampled'] as const)('cancel (%s): everything back', async (lane) => {
    const before = await f.ledger();
    const order = await f.open({ lane: LANE[lane] });
    const { events } = await f.send('stranger', 'cancel', await cancellation(order));
    expect(await f.ledger()).toEqual(before);
    expect(events).toEqual([{ name: 'OrderEnded', args: [order.orderHash, BigInt(STATE.refunded), HELD, LOCK, 0n] }]);
    expect(await f.stateOf(order.orderHash)).toBe(STATE.refunded);
  });

  it('cancel needs both, each over the cancellation of this order', async () => {
    const order = await f.open();
    const [, requester, signer] = await cancellation(order);
    const [, others] = await cancellation(await f.order());
    const acceptance = await f.sign(wallets.signer, 'Acceptance', { orderHash: order.orderHash });
    for (const pair of [
      [requester, requester],
      [signer, signer],
      [others, signer],
      [requester, acceptance],
      ['0x', signer],
      [requester, mirrored(signer)],
    ]) {
      expect(await refusal(f.send('stranger', 'cancel', [order, ...pair]))).toBe('SignatureInvalid');
    }
    expect(await f.stateOf(order.orderHash)).toBe(STATE.open);
  });

  it.each(['none', 'bound', 'refunded', 'paid'] as const)('cancel is refused where the order is %s', async (state) => {
    const order = await orderIn(state);
    expect(await refusal(f.send('stranger', 'cancel', await cancellation(order)))).toBe('OrderStateIs');
  });

  it.each(['optimistic', 'sampled'] as const)('expire (%s): the lock pays the no-show fee', async (lane) => {
    const order = await f.open({ lane: LANE[lane] });
    const moved = await f.moved(() => f.send('stranger', 'expire', [order], Number(order.deliverBy) + 1));
    const fee = f.policy.noShowFee;
    expect(moved).toEqual({
      held: -HELD,
      locks: -LOCK,
      requester: HELD + fee,
      account: LOCK - fee,
      ...(lane === 'sampled' ? { reserve: FEE, reserved: -FEE } : {}),
    });
    expect(await f.stateOf(order.orderHash)).toBe(STATE.refunded);
  });

  it('expire is refused before the end of deliverBy', async () => {
    const order = await f.open();
    expect(await refusal(f.send('stranger', 'expire', [order], Number(order.deliverBy)))).toBe('NotExpired');
  });

  it.each(['none', 'bound', 'refunded', 'paid'] as const)('expire is refused where the order is %s', async (state) => {
    const order = await orderIn(state);
    const late = Number(order.deliverBy) + 1000;
    expect(await refusal(f.send('stranger', 'expire', [order], late))).toBe('OrderStateIs');
  });

  it('an order with bits beyond its fields in the calldata is another order', async () => {
    const order = await f.open();
    const data = f.interfaces['escrow']!.encodeFunctionData('expire', [order]);
    // `items`, the fifth word, is 32 bits wide.
    const at = 2 + 8 + 4 * 64;
    expect(data.slice(at, at + 2)).toBe('00');
    const dirty = `${data.slice(0, at)}01${data.slice(at + 2)}`;
    const call = (bytes: string): Promise<unknown> =>
      f.transact(
        { from: addressOf('stranger'), to: f.addresses.escrow, data: bytes },
        Number(order.deliverBy) + (bytes === dirty ? 1 : 2),
      );
    expect(await refusal(call(dirty))).toBe('OrderStateIs');
    expect(await refusal(call(data))).toBe('accepted');
  });

  it('an order with other terms under the same signatures is another order', async () => {
    const order = await f.open();
    const late = Number(order.deliverBy) + 1;
    expect(await refusal(f.send('stranger', 'expire', [{ ...order, surcharge: 10n ** 9n }], late))).toBe(
      'OrderStateIs',
    );
  });
});

/** An order that is in that state. */
async function orderIn(state: 'none' | 'bound' | 'refunded' | 'paid'): Promise<Order> {
  if (state === 'none') return f.order();
  const order = await f.open();
  if (state === 'refunded') {
    await f.send('stranger', 'expire', [order], Number(order.deliverBy) + 1);
    return order;
  }
  const job = await f.bind(order);
  if (state === 'paid') await f.settle(job);
  return order;
}

describe('Open -> Bound', () => {
  it('bind moves no money', async () => {
    const order = await f.open();
    let leaf: unknown;
    const moved = await f.moved(async () => {
      leaf = f.binding(await f.bind(order))['leaf'];
    });
    expect(moved).toEqual({});
    expect((await f.orderOf(order.orderHash)).leaf).toBe(leaf);
    expect(await f.stateOf(order.orderHash)).toBe(STATE.bound);
  });

  it('only the rollup binds', async () => {
    const binding = f.binding(f.job(await f.open()));
    for (const party of ['stranger', 'governor', 'account'] as const) {
      expect(await refusal(f.send(party, 'bind', [[binding]]))).toBe('Unauthorized');
    }
  });

  /** Number of the fault as `bindFaultOf` answers it, after checking that `bind` leaves the order open. */
  const bindFault = async (binding: object): Promise<number> => {
    const fault = Number(await f.read('bindFaultOf', [binding]));
    await f.sendTo('rollup', 'stranger', 'bind', [[binding]]);
    expect(await f.readFrom('rollup', 'unbound', [])).toBe(fault === 0 ? 0n : 1n);
    return fault;
  };
  const ORDER = 4;
  const AMOUNT = 5;
  const LATE = 6;

  it('Order: not opened, empty, bound before, ended', async () => {
    expect(await bindFault(f.binding(f.job(await f.order())))).toBe(ORDER);
    expect(await bindFault({ orderHash: ZeroHash, termsHash: ZeroHash, amount: 0n, leaf: ZeroHash })).toBe(ORDER);
    for (const state of ['bound', 'refunded', 'paid'] as const) {
      expect(await bindFault(f.binding(f.job(await orderIn(state))))).toBe(ORDER);
    }
  });

  it.each<[string, object]>([
    ['model', { modelDigest: id('a cheaper model') }],
    ['input', { inputRoot: id('another input') }],
    ['items', { items: 2n }],
    ['lane', { lane: LANE.sampled }],
    ['policy', { policyHash: id('another policy') }],
    ['executor', { executor: addressOf('stranger') }],
  ])('E7: a receipt for another %s than ordered does not bind', async (_name, change) => {
    const order = await f.open();
    expect(await bindFault(f.binding(f.job(order, change)))).toBe(ORDER);
    expect(await f.stateOf(order.orderHash)).toBe(STATE.open);
    expect(await bindFault(f.binding(f.job(order)))).toBe(0);
  });

  it('E7: a node that is retired after the order was opened still delivers, with the key of the order', async () => {
    const order = await f.open();
    await f.send('account', 'retireNode', [addressOf('signer')]);
    await f.send('account', 'registerNode', [
      addressOf('stranger'),
      await f.sign(wallets.stranger, 'NodeRegistration', {
        account: addressOf('account'),
        signer: addressOf('stranger'),
      }),
    ]);
    expect(await bindFault(f.binding(f.job(order, { executor: addressOf('stranger') })))).toBe(ORDER);
    expect(await bindFault(f.binding(f.job(order)))).toBe(0);
  });

  it('Amount: more than the price', async () => {
    const order = await f.open();
    expect(await bindFault(f.binding(f.job(order, { amount: order.price + 1n })))).toBe(AMOUNT);
    expect(await bindFault(f.binding(f.job(order, { amount: order.price })))).toBe(0);
  });

  it('Late', async () => {
    const order = await f.open();
    await f.passTo(Number(order.deliverBy) + 1);
    expect(await bindFault(f.binding(f.job(order)))).toBe(LATE);
  });

  it('E8: what cannot bind is named by its bit, and the others bind', async () => {
    const [a, b, c] = [await f.open(), await f.open(), await f.open()];
    // A hostile pair gives up its own order in the block before the commit.
    const value = { orderHash: b.orderHash };
    await f.send('stranger', 'cancel', [
      b,
      await f.sign(wallets.requester, 'Cancellation', value),
      await f.sign(wallets.signer, 'Cancellation', value),
    ]);
    const jobs = [a, b, c, a].map((order) => f.job(order));
    await f.sendTo('rollup', 'stranger', 'bind', [jobs.map((job) => f.binding(job))]);
    expect(await f.readFrom('rollup', 'unbound', [])).toBe(0b1010n);
    expect(await f.stateOf(a.orderHash)).toBe(STATE.bound);
    expect(await f.stateOf(c.orderHash)).toBe(STATE.bound);
  });

  it('the terms are those of the receipt, hashed as stated', async () => {
    const job = f.job(await f.open());
    expect(f.binding(job)['termsHash']).toBe(termsHashOf(job.receipt));
  });
});

describe('a requester with code (ERC-1271)', () => {
  let wallet: string;
  beforeEach(async () => {
    wallet = await f.deployWallet('stranger');
    f.others.set('wallet', wallet);
    await f.send('requester', 'deposit', [wallet, 10_000_000n]);
  });
  const signedByOwner = async (change: Partial<Order> = {}): Promise<SignedOrder> =>
    f.signed(await f.order({ requester: wallet, ...change }), wallets.stranger);

  it('opens and cancels by what the wallet says of the signature', async () => {
    const signed = await signedByOwner();
    const value = { orderHash: f.hash('JobOrder', signed.order) };
    const moved = await f.moved(async () => {
      await f.send('checker', 'open', [[signed]]);
      f.opened(signed.order);
    });
    expect(moved).toEqual({ wallet: -HELD, held: HELD, account: -LOCK, locks: LOCK });
    const executor = await f.sign(wallets.signer, 'Cancellation', value);
    const foreign = await f.sign(wallets.requester, 'Cancellation', value);
    expect(await refusal(f.send('checker', 'cancel', [signed.order, foreign, executor]))).toBe('SignatureInvalid');
    await f.send('checker', 'cancel', [signed.order, await f.sign(wallets.stranger, 'Cancellation', value), executor]);
    expect(await f.read('freeOf', [wallet])).toBe(10_000_000n);
  });

  it("is not bound by its owner's key where the wallet says no", async () => {
    const order = await f.order({ requester: wallet });
    expect(await faultOf(await f.signed(order, wallets.requester))).toBe('RequesterSignature');
  });

  it.each([
    ['burns all gas', 1],
    ['floods the answer', 2],
    ['answers with too few bytes', 3],
  ])('a wallet that %s loses its own order and no other', async (_name, mood) => {
    const hostile = await signedByOwner();
    await f.setMood(wallet, mood);
    const good = await f.order();
    const { events, gasUsed } = await f.send('checker', 'open', [[hostile, await f.signed(good)]]);
    f.opened(good);
    expect(events.map(({ name }) => name)).toEqual(['OrderSkipped', 'OrderOpened']);
    expect(events[0]!.args[1]).toBe(BigInt(OPEN_FAULTS.indexOf('RequesterSignature')));
    expect(gasUsed).toBeLessThan(1_500_000n);
    await f.ledger();
  });

  it('an executor with code cannot sign: only ECDSA counts for a node', async () => {
    const value = { account: addressOf('account'), signer: wallet };
    const signature = await f.sign(wallets.stranger, 'NodeRegistration', value);
    expect(await refusal(f.send('account', 'registerNode', [wallet, signature]))).toBe('SignatureInvalid');
  });
});

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** The same signature with the other root: valid to the curve, refused by EIP-2. */
function mirrored(signature: string): string {
  const s = CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`;
}
