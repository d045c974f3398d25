/** Balances, the token behind them, the reserve, nodes; and the wrapped coin. */
import { Interface, MaxUint256, ZeroAddress, type InterfaceAbi, type Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  INITIAL_FREE,
  LANE,
  LEAF,
  refusal,
  Refusal,
  settlement,
  stagedArtifacts,
  START_TIMEOUT_MS,
  startEscrow,
  STATE,
  wallets,
  type EscrowFixture,
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

const balanceOf = (address: string): Promise<unknown> => f.readFrom('token', 'balanceOf', [address]);

describe('deposit and withdraw', () => {
  it('deposit: to an account of the choice of whoever pays', async () => {
    const moved = await f.moved(async () => {
      const { events } = await f.send('requester', 'deposit', [addressOf('watcher'), 77n]);
      expect(events).toEqual([{ name: 'Deposited', args: [addressOf('watcher'), 77n] }]);
    });
    expect(moved).toEqual({ watcher: 77n });
    expect(await balanceOf(addressOf('requester'))).toBe(INITIAL_FREE - 77n);
  });

  it('deposit is refused without allowance or tokens', async () => {
    const moved = await f.moved(async () => {
      expect(await refusal(f.send('stranger', 'deposit', [addressOf('stranger'), 1n]))).toBe(
        'ERC20InsufficientAllowance',
      );
      const more = f.send('requester', 'deposit', [addressOf('requester'), INITIAL_FREE + 1n]);
      expect(await refusal(more)).toBe('ERC20InsufficientBalance');
    });
    expect(moved).toEqual({});
  });

  it('withdraw: all that is free, at once, to any address', async () => {
    await f.open();
    const free = (await f.read('freeOf', [addressOf('account')])) as bigint;
    const moved = await f.moved(() => f.send('account', 'withdraw', [free, addressOf('watcher')]));
    expect(moved).toEqual({ account: -free });
    expect(await balanceOf(addressOf('watcher'))).toBe(free);
  });

  it('InsufficientFree: what is locked is not free, and nothing is owed to a stranger', async () => {
    await f.open();
    const free = (await f.read('freeOf', [addressOf('account')])) as bigint;
    const more = f.send('account', 'withdraw', [free + 1n, addressOf('account')]);
    await expect(more).rejects.toMatchObject({
      error: 'InsufficientFree',
      args: [addressOf('account'), free, free + 1n],
    });
    expect(await refusal(f.send('stranger', 'withdraw', [1n, addressOf('stranger')]))).toBe('InsufficientFree');
    expect(await refusal(f.send('account', 'withdraw', [MaxUint256, addressOf('account')]))).toBe('InsufficientFree');
  });

  it('TokenAmount: a withdrawal to the contract itself moves nothing and is refused', async () => {
    const call = f.send('requester', 'withdraw', [5n, f.addresses.escrow]);
    await expect(call).rejects.toMatchObject({ error: 'TokenAmount', args: [5n, 0n] });
  });

  it('TokenAmount: a token that takes a fee on transfer is refused; what is inside can be taken out', async () => {
    await f.sendTo('token', 'stranger', 'takeFee', [100n]);
    const call = f.send('requester', 'deposit', [addressOf('requester'), 1_000n]);
    await expect(call).rejects.toMatchObject({ error: 'TokenAmount', args: [1_000n, 990n] });
    await f.ledger();
    await f.send('requester', 'withdraw', [INITIAL_FREE, addressOf('requester')]);
    await f.ledger();
  });

  it('fundReserve: out of the free balance', async () => {
    expect(await f.moved(() => f.send('requester', 'fundReserve', [9n]))).toEqual({ requester: -9n, reserve: 9n });
    expect(await refusal(f.send('stranger', 'fundReserve', [1n]))).toBe('InsufficientFree');
  });

  it('withdrawReserve: the governor, and what no open order has earmarked', async () => {
    await f.open({ lane: LANE.sampled });
    const [available, held] = (await f.read('reserve', [])) as [bigint, bigint];
    expect(held).toBeGreaterThan(0n);
    expect(await refusal(f.send('governor', 'withdrawReserve', [available + 1n]))).toBe('InsufficientReserve');
    expect(await refusal(f.send('requester', 'withdrawReserve', [1n]))).toBe('Unauthorized');
    expect(await f.moved(() => f.send('governor', 'withdrawReserve', [available]))).toEqual({
      governor: available,
      reserve: -available,
    });
  });
});

describe('a token that calls back', () => {
  /** What the call in the middle of a transfer was refused with. */
  const failure = async (): Promise<string> => f.refusalOf((await f.readFrom('token', 'failure', [])) as string).error;
  const callBack = async (method: string, args: readonly unknown[]): Promise<void> => {
    const data = f.interfaces['escrow']!.encodeFunctionData(method, args);
    await f.sendTo('token', 'stranger', 'callInTransfer', [f.addresses.escrow, data]);
  };

  it.each(['deposit', 'withdraw', 'settle'] as const)('finds every door shut in the middle of %s', async (during) => {
    f.others.set('token', f.addresses.token);
    await f.send('requester', 'deposit', [f.addresses.token, 1_000n]);
    const order = await f.open();
    const job = await f.bind(order);
    const doomed = await f.bound();
    const signed = await f.signed(await f.order());
    await f.judge(doomed, LEAF.dead);
    await f.judge(job, LEAF.final);
    await f.passTo(f.payableFrom(job));
    const step = (): Promise<unknown> => {
      if (during === 'deposit') return f.send('requester', 'deposit', [addressOf('requester'), 10n]);
      if (during === 'withdraw') return f.send('requester', 'withdraw', [10n, addressOf('requester')]);
      return f.send('stranger', 'settle', [[settlement(doomed)]]);
    };
    const doors: [string, readonly unknown[]][] = [
      ['withdraw', [1_000n, f.addresses.token]],
      ['deposit', [f.addresses.token, 0n]],
      ['fundReserve', [1n]],
      ['settle', [[settlement(job)]]],
      ['open', [[signed]]],
      ['expire', [order]],
    ];
    for (const [method, args] of doors) {
      const before = await f.snapshot();
      const orders = new Map(f.orders);
      await callBack(method, args);
      const moved = await f.moved(step);
      expect(await failure(), method).toBe('Reentrant');
      expect(moved).not.toHaveProperty('token');
      expect(await f.stateOf(job.orderHash)).toBe(STATE.bound);
      await f.revertTo(before);
      orders.forEach((value, key) => f.orders.set(key, value));
      f.others.set('token', f.addresses.token);
    }
  });

  it('sees the books closed already', async () => {
    const doomed = await f.bound();
    await f.judge(doomed, LEAF.dead);
    // A view, asked in the middle of the transfer to the dead address, answers as after it.
    await callBack('orderOf', [doomed.orderHash]);
    await f.send('stranger', 'settle', [[settlement(doomed)]]);
    expect(await f.readFrom('token', 'failure', [])).toBe('0x');
  });
});

describe('nodes', () => {
  const registration = (wallet: Wallet, account = addressOf('watcher'), domain: object = f.domain): Promise<string> =>
    f.sign(wallet, 'NodeRegistration', { account, signer: wallet.address }, domain);

  it('registerNode: for ever', async () => {
    const signature = await registration(wallets.checker);
    const { events } = await f.send('watcher', 'registerNode', [addressOf('checker'), signature]);
    expect(events).toEqual([{ name: 'NodeRegistered', args: [addressOf('checker'), addressOf('watcher')] }]);
    expect(await f.read('nodeOf', [addressOf('checker')])).toEqual([addressOf('watcher'), true]);
    expect(await refusal(f.send('watcher', 'registerNode', [addressOf('checker'), signature]))).toBe('NodeKnown');
  });

  it('SignatureInvalid: only the account that the key names, for this chain and contract', async () => {
    const signer = addressOf('checker');
    const bad = [
      await registration(wallets.checker, addressOf('stranger')),
      await registration(wallets.stranger),
      await registration(wallets.checker, addressOf('watcher'), { ...f.domain, chainId: 1n }),
      await registration(wallets.checker, addressOf('watcher'), { ...f.domain, verifyingContract: f.addresses.escrow }),
      '0x',
    ];
    for (const signature of bad) {
      expect(await refusal(f.send('watcher', 'registerNode', [signer, signature]))).toBe('SignatureInvalid');
    }
    // Whoever copies the call out of the pool has another address.
    const copied = f.send('stranger', 'registerNode', [signer, await registration(wallets.checker)]);
    expect(await refusal(copied)).toBe('SignatureInvalid');
  });

  it('SignatureInvalid: nobody is the signer of a signature that recovers to nothing', async () => {
    for (const signature of ['0x', `0x${'00'.repeat(65)}`]) {
      expect(await refusal(f.send('watcher', 'registerNode', [ZeroAddress, signature]))).toBe('SignatureInvalid');
    }
  });

  it('retireNode: only its account; it is not registered again', async () => {
    const signer = addressOf('signer');
    expect(await refusal(f.send('account', 'retireNode', [addressOf('watcher')]))).toBe('NodeUnknown');
    expect(await refusal(f.send('signer', 'retireNode', [signer]))).toBe('Unauthorized');
    const { events } = await f.send('account', 'retireNode', [signer]);
    expect(events).toEqual([{ name: 'NodeRetired', args: [signer] }]);
    expect(await f.read('nodeOf', [signer])).toEqual([addressOf('account'), false]);
    const again = await registration(wallets.signer, addressOf('account'));
    expect(await refusal(f.send('account', 'registerNode', [signer, again]))).toBe('NodeKnown');
  });

  it('a node that was slashed is not registered again', async () => {
    await f.settle(await f.bound(), LEAF.dead);
    const again = await registration(wallets.signer, addressOf('account'));
    expect(await refusal(f.send('account', 'registerNode', [addressOf('signer'), again]))).toBe('NodeKnown');
  });

  it('without a node of its own an address is none', async () => {
    expect(await f.read('nodeOf', [addressOf('stranger')])).toEqual([ZeroAddress, false]);
  });
});

describe('WrappedNative', () => {
  let token: string;
  let holder: string;
  let abi: Interface;
  let holderAbi: Interface;
  beforeEach(async () => {
    const artifacts = await stagedArtifacts();
    abi = new Interface(artifacts['WrappedNative']!.abi as InterfaceAbi);
    holderAbi = new Interface(artifacts['StagedHolder']!.abi as InterfaceAbi);
    token = await f.deploy('WrappedNative', []);
    holder = await f.deploy('StagedHolder', [token]);
  });
  const call = (to: string, contract: Interface, method: string, args: readonly unknown[], value = 0n) =>
    f.transact({
      from: addressOf('watcher'),
      to,
      data: contract.encodeFunctionData(method, args),
      value: `0x${value.toString(16)}`,
    });
  const held = async (address: string): Promise<bigint> => {
    const data = abi.encodeFunctionData('balanceOf', [address]);
    return BigInt((await f.provider.send('eth_call', [{ to: token, data }, 'latest'])) as string);
  };
  const coins = async (): Promise<bigint> => f.provider.getBalance(token);

  it('gives tokens for coins and coins for tokens, one for one', async () => {
    await call(token, abi, 'deposit', [], 5n);
    await f.transact({ from: addressOf('watcher'), to: token, value: '0x2' });
    expect(await held(addressOf('watcher'))).toBe(7n);
    expect(await coins()).toBe(7n);
    const before = await f.provider.getBalance(holder);
    await call(token, abi, 'transfer', [holder, 4n]);
    await call(holder, holderAbi, 'unwrap', [4n]);
    expect(await f.provider.getBalance(holder)).toBe(before + 4n);
    expect(await held(holder)).toBe(0n);
    expect(await coins()).toBe(3n);
  });

  it('gives no more than there is', async () => {
    await call(token, abi, 'deposit', [], 5n);
    await expect(call(token, abi, 'withdraw', [6n])).rejects.toBeInstanceOf(Refusal);
    expect(await coins()).toBe(5n);
  });

  it('a holder who asks for more while he is paid gets what he has, once', async () => {
    await call(token, abi, 'deposit', [], 100n);
    await call(holder, holderAbi, 'wrap', [], 5n);
    await call(holder, holderAbi, 'setMood', [2]);
    await expect(call(holder, holderAbi, 'unwrap', [5n])).rejects.toBeInstanceOf(Refusal);
    expect(await coins()).toBe(105n);
  });

  it('a holder who refuses coins keeps his tokens', async () => {
    await call(holder, holderAbi, 'wrap', [], 5n);
    await call(holder, holderAbi, 'setMood', [1]);
    await expect(call(holder, holderAbi, 'unwrap', [5n])).rejects.toBeInstanceOf(Refusal);
    expect(await held(holder)).toBe(5n);
  });
});
