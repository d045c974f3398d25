/** Freeze and clock (1.20, E12). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addressOf,
  LEAF,
  precommitment,
  refusal,
  settlement,
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

const MAX = 1_000;
const COOL = 5_000;
const clock = async (): Promise<number> => Number(await f.read('clock'));
const freeze = async (time?: number): Promise<number> => (await f.send('guardian', 'freeze', [], time)).time;

describe('freeze', () => {
  it('only the guardian freezes and unfreezes', async () => {
    expect(await refusal(f.send('governor', 'freeze', []))).toBe('Unauthorized');
    const start = await freeze();
    expect(await refusal(f.send('governor', 'unfreeze', []))).toBe('Unauthorized');
    await f.send('guardian', 'unfreeze', [], start + 10);
    expect(await f.read('frozen')).toBe(false);
  });

  it('stops everything but withdrawals and the closing of policies', async () => {
    const open = await f.open();
    const bound = await f.bound();
    const late = await f.open();
    await f.judge(bound, LEAF.final);
    const signed = await f.signed(await f.order());
    const value = { orderHash: open.orderHash };
    const cancellation = [
      await f.sign(wallets.requester, 'Cancellation', value),
      await f.sign(wallets.signer, 'Cancellation', value),
    ];
    const range = { tensor: 0, firstChunk: 0, chunkCount: 1 };
    const opening = { outputCount: 0, portPath: [], tensorHeader: '0x', elements: '0x', chunkPath: [] };
    const receipt = await f.sign(wallets.signer, 'Receipt', bound.receipt);
    const salt = `0x${'00'.repeat(32)}`;
    const start = await freeze(f.payableFrom(bound));
    const registration = await f.sign(wallets.watcher, 'NodeRegistration', {
      account: addressOf('account'),
      signer: addressOf('watcher'),
    });
    const calls: [Parameters<EscrowFixture['send']>[0], string, readonly unknown[]][] = [
      ['requester', 'deposit', [addressOf('requester'), 1n]],
      ['requester', 'fundReserve', [1n]],
      ['governor', 'withdrawReserve', [1n]],
      ['account', 'registerNode', [addressOf('watcher'), registration]],
      ['account', 'retireNode', [addressOf('signer')]],
      ['governor', 'addPolicy', [{ ...f.policy, minLock: 3_000_000n }]],
      ['stranger', 'open', [[signed]]],
      ['stranger', 'cancel', [open, ...cancellation]],
      ['stranger', 'expire', [late]],
      ['stranger', 'settle', [[settlement(bound)]]],
      ['requester', 'demandOutput', [settlement(bound), range]],
      ['stranger', 'answerOutput', [settlement(bound), range, opening]],
      ['watcher', 'precommit', [precommitment(open.orderHash, salt, addressOf('watcher'), salt)]],
      [
        'watcher',
        'slashEquivocation',
        [settlement(bound), bound.receipt, receipt, receipt, addressOf('watcher'), salt],
      ],
      ['watcher', 'claimBounty', [settlement(bound), bound.receipt, receipt, receipt, addressOf('watcher'), salt]],
    ];
    const moved = await f.moved(async () => {
      for (const [from, method, args] of calls)
        expect(await refusal(f.send(from, method, args)), method).toBe('Frozen');
      expect(await refusal(f.bind(open))).toBe('Frozen');
    });
    expect(moved).toEqual({});
    await f.send('account', 'withdraw', [1n, addressOf('account')]);
    await f.send('governor', 'closePolicy', [f.policyHash]);
    await f.passTo(start + MAX);
    await f.send('stranger', 'settle', [[settlement(bound)]]);
    expect(await f.stateOf(bound.orderHash)).toBe(STATE.paid);
  });

  it('the clock stands still and goes on where it stood: no side loses time', async () => {
    const order = await f.open();
    const start = await freeze();
    for (const later of [1, 500, MAX - 1]) {
      await f.passTo(start + later);
      expect(await clock()).toBe(start);
      expect(await f.read('frozen')).toBe(true);
    }
    await f.passTo(start + MAX);
    expect(await clock()).toBe(start);
    expect(await f.read('frozen')).toBe(false);
    await f.passTo(start + MAX + 7);
    expect(await clock()).toBe(start + 7);
    // The executor has all the time that he had been given.
    const job = await f.bind(order, {}, Number(order.deliverBy) + MAX);
    expect(await f.stateOf(job.orderHash)).toBe(STATE.bound);
  });

  it('E12: a freeze as long as the window takes nothing from a demand or its answer', async () => {
    const job = await f.bound();
    const start = await freeze();
    await f.passTo(start + MAX);
    const range = { tensor: 0, firstChunk: 0, chunkCount: 1 };
    const { events } = await f.send('requester', 'demandOutput', [settlement(job), range]);
    expect(Number(events[0]!.args[3])).toBe((await clock()) + Number(f.policy.answerTime));
    expect((await f.orderOf(job.orderHash)).openDemands).toBe(1n);
  });

  it('E12: an early end gives back no cool-down', async () => {
    const start = await freeze();
    await f.send('guardian', 'unfreeze', [], start + 10);
    expect(await clock()).toBe(start);
    expect(await refusal(f.send('guardian', 'freeze', [], start + 11))).toBe('FreezeUnavailable');
    expect(await refusal(f.send('guardian', 'freeze', [], start + MAX + COOL))).toBe('FreezeUnavailable');
    await freeze(start + MAX + COOL + 1);
    expect(await f.read('frozen')).toBe(true);
  });

  it('frozen time adds up over several freezes, cut short or not', async () => {
    const first = await freeze();
    await f.send('guardian', 'unfreeze', [], first + 10);
    const second = await freeze(first + MAX + COOL + 1);
    expect(await clock()).toBe(second - 10);
    await f.passTo(second + MAX + 5);
    expect(await clock()).toBe(second - 10 + 5);
    const third = await freeze(second + MAX + COOL + 1);
    await f.passTo(third + 3);
    expect(await clock()).toBe(third - 10 - MAX);
    await f.passTo(third + MAX + 1);
    expect(await clock()).toBe(third - 10 - MAX + 1);
  });

  it('FreezeUnavailable: in a freeze; unfreeze without one, or after its end', async () => {
    expect(await refusal(f.send('guardian', 'unfreeze', []))).toBe('FreezeUnavailable');
    const start = await freeze();
    expect(await refusal(f.send('guardian', 'freeze', []))).toBe('FreezeUnavailable');
    expect(await refusal(f.send('guardian', 'unfreeze', [], start + MAX))).toBe('FreezeUnavailable');
  });

  it('a guardian who freezes again and again leaves more time than he takes', async () => {
    let start = await freeze();
    const first = start;
    const before = await clock();
    for (let i = 0; i < 3; i++) start = await freeze(start + MAX + COOL + 1);
    expect((await clock()) - before).toBe(start - first - 3 * MAX);
  });
});

describe('a clock of blocks', () => {
  it(
    'counts blocks, and freezes in blocks',
    async () => {
      const blocks = await startEscrow({ clockIsTimestamp: false, maxFreeze: 20, coolDown: 50 });
      try {
        const height = async (): Promise<number> => Number(await blocks.provider.send('eth_blockNumber', []));
        const read = async (): Promise<number> => Number(await blocks.read('clock'));
        expect(await blocks.read('CLOCK_MODE')).toBe('mode=blocknumber&from=default');
        expect(await read()).toBe(await height());
        await blocks.send('guardian', 'freeze', []);
        const start = await height();
        await blocks.provider.send('anvil_mine', ['0x13']);
        expect(await read()).toBe(start);
        expect(await blocks.read('frozen')).toBe(true);
        await blocks.provider.send('anvil_mine', ['0x1']);
        expect(await blocks.read('frozen')).toBe(false);
        await blocks.provider.send('anvil_mine', ['0x5']);
        expect(await read()).toBe(start + 5);
      } finally {
        await blocks.stop();
      }
    },
    START_TIMEOUT_MS,
  );
});
