import { makeError } from 'ethers';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../common/errors.js';
import { chainError } from './chain-error.js';
import { settlementErrors } from './contract-client.js';

const revert = (data: string | null) =>
  makeError('execution reverted', 'CALL_EXCEPTION', {
    action: 'call',
    data,
    reason: null,
    transaction: { to: null, data: '0x' },
    invocation: null,
    revert: null,
  });

describe('chainError', () => {
  it("names the contract's own error, with its arguments", () => {
    const data = settlementErrors.encodeErrorResult('SeedTooEarly', [17]);
    const error = chainError(revert(data), settlementErrors, 'fixSeed');
    expect(error).toMatchObject({ code: 'CHAIN_REVERTED', meta: { error: 'SeedTooEarly', args: ['17'] } });
    expect(error.message).toMatch(/^fixSeed: SeedTooEarly \(\w+ 17\)$/);
  });

  it('names the error of every contract of the deployment, since one calls another', () => {
    for (const [name, args] of [
      ['PolicyUnknown', [`0x${'12'.repeat(32)}`]],
      ['LaneClosed', [2]],
      ['QuorumMissed', [1, 2]],
      ['Frozen', []],
      ['PhaseL', []],
    ] as const) {
      const data = settlementErrors.encodeErrorResult(name, args);
      expect(chainError(revert(data), settlementErrors, 'commit').meta).toMatchObject({ error: name });
    }
  });

  const cut = settlementErrors.encodeErrorResult('SeedTooEarly', [17]).slice(0, -2);
  it.each([
    ['none', null],
    ['empty', '0x'],
    ['shorter than a selector', '0x1234'],
    ['of another contract', '0x12345678'],
    ['cut short in its arguments', cut],
  ])('revert data %s: a refusal without a name, not a crash', (_what, data) => {
    const error = chainError(revert(data), settlementErrors, 'commit');
    expect(error).toMatchObject({ code: 'CHAIN_REVERTED', meta: {} });
    expect(error.message).toBe('commit: execution reverted');
  });

  it('an answer that cannot be read is of another contract; all else is an outage; ours stay as they are', () => {
    const bad = makeError('could not decode result data', 'BAD_DATA', { value: '0x' });
    expect(chainError(bad, settlementErrors, 'policy').code).toBe('CHAIN_MISMATCH');
    expect(chainError(new Error('socket hang up'), settlementErrors, 'nonce')).toMatchObject({
      code: 'CHAIN_UNAVAILABLE',
      kind: 'infrastructure',
    });
    const own = new AssayError('ORDER_INVALID', 'mine');
    expect(chainError(own, settlementErrors, 'nonce')).toBe(own);
  });
});
