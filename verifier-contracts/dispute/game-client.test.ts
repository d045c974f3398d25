/** What a stranger reads of the game from the chain alone, and who may answer. */
import { AbiCoder, concat, id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import { nodeId, readAnswer, type GameEvent } from '../game-client.js';
import { checkGameTerms } from '../game-terms.js';
import {
  addressOf,
  allowed,
  found,
  refusal,
  START_TIMEOUT_MS,
  startGame,
  WINDOW,
  type GameFixture,
} from '../harness/dispute/game-fixture.js';
import { chunksNode, countingTensor, TestTrace, traceRootNode } from '../harness/dispute/test-trace.js';

let f: GameFixture;
beforeAll(async () => {
  f = await startGame();
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

const tensor = countingTensor(200);
const trace = new TestTrace(
  Array.from({ length: 6 }, (_, i) => (i === 3 ? tensor.root : (id(`slot ${i}`) as Hex))),
  [0, 3, 5],
  new Map([[3, tensor]]),
);
const chunk = chunksNode(3, 1);

const kinds = (events: readonly GameEvent[]): string[] => events.map(({ kind }) => kind);

describe('GameClient', () => {
  it('reads its terms', () => {
    expect(f.game.terms).toEqual({ window: WINDOW });
    expect(f.game.step).toMatch(/^0x[0-9a-f]{40}$/);
    expect(() => checkGameTerms({ window: 0 })).toThrow(
      expect.objectContaining({ code: 'GAME_TERMS_INVALID' }) as Error,
    );
  });

  it('finds all that was demanded, said and paid from events and calldata', () =>
    f.apart(async () => {
      const job = await f.job(trace);
      const from = (await f.provider.getBlockNumber()) + 1;
      expect(f.game.windowEndOf(job.header)).toBe(job.windowEnd);
      await f.demand(job, chunk);
      await f.demand(job, trace.segment(0));
      await f.answer(job, chunk);
      await f.answer(job, trace.segment(0), { by: 'helper' });
      await f.precommit(job, found(), 'helper');
      await f.prove(job);
      await f.claimBounty(job, found(), { by: 'helper', time: (await f.now()) + 10 });
      await f.close(job);
      const events = await f.game.eventsBetween(from, 'latest');
      expect(kinds(events)).toEqual([
        'demanded',
        'demanded',
        'answered',
        'answered',
        'precommitted',
        'faultProved',
        'bountyLeft',
        'bountyPaid',
        'depositClosed',
        'depositClosed',
      ]);
      expect(events[0]).toMatchObject({
        claim: job.id,
        nodeId: nodeId(chunk),
        node: chunk,
        demander: addressOf('watcher'),
        calldata: { path: trace.path(chunk), evidence: '0x' },
      });
      expect(events[1]).toMatchObject({ calldata: { evidence: allowed } });
      expect(events[2]).toMatchObject({
        sender: addressOf('account'),
        calldata: { content: trace.content(chunk), signature: null },
      });
      const content = trace.content(trace.segment(0));
      const signature = await f.opening(job, trace.segment(0), content);
      expect(events[3]).toMatchObject({ sender: addressOf('helper'), calldata: { content, signature } });
      expect(events[5]).toMatchObject({ fault: 'step', faultId: found().faultId, beneficiary: addressOf('watcher') });
    }));

  it('reads an answer in whatever form the contract has read it', () =>
    f.apart(async () => {
      const job = await f.job(trace);
      await f.demand(job, chunk);
      const content = trace.content(chunk);
      const canonical = f.game.answerCall(job.claim, chunk, content).data;
      // Selector and seven words; then the length behind 40 bytes of something else, and no padding behind the content.
      const length = AbiCoder.defaultAbiCoder().encode(['uint256'], [(content.length - 2) / 2]);
      const offset = AbiCoder.defaultAbiCoder().encode(['uint256'], [7 * 32 + 40]);
      const head = canonical.slice(0, 2 + 2 * (4 + 6 * 32));
      const data = concat([head, offset, `0x${'ee'.repeat(40)}`, length, content]) as Hex;
      await f.send('account', { to: f.game.address, data });
      expect(readAnswer(data)).toEqual({ content, signature: null });
      expect(readAnswer(data.slice(0, -2) as Hex)).toBeNull();
      expect(readAnswer(f.game.precommitCall(id('x') as Hex).data)).toBeNull();
    }));

  it('takes answers from plain accounts alone: what a contract passed on nobody could read', () =>
    f.apart(async () => {
      const job = await f.job(trace);
      await f.demand(job, chunk);
      const { to, data } = f.game.answerCall(job.claim, chunk, trace.content(chunk));
      expect(await refusal(f.send('account', f.relayCall(to, data)))).toBe('SenderNotPlain');
      // An account that has delegated itself to code.
      await f.provider.send('anvil_setCode', [addressOf('helper'), `0xef0100${f.relay.slice(2)}`]);
      expect(await refusal(f.answer(job, chunk, { by: 'helper' }))).toBe('SenderNotPlain');
      await f.answer(job, chunk);
    }));

  it('a demand may come from a contract; its calldata is then nobody’s to read', () =>
    f.apart(async () => {
      const job = await f.job(trace);
      const { escrow } = f.client;
      await f.send('watcher', escrow.transferCall(f.relay, 10n ** 8n)).catch(() => undefined);
      await f
        .send('watcher', f.relayCall(escrow.address, escrow.allowCall(f.game.address, 10n ** 8n).data))
        .catch(() => undefined);
      const { to, data } = f.game.demandCall(job.claim, traceRootNode, trace.path(traceRootNode));
      await f.send('watcher', f.relayCall(to, data)).catch(() => undefined);
      const events = await f.game.eventsBetween(job.header.committedBlock, 'latest');
      expect(events).toMatchObject([{ kind: 'demanded', demander: f.relay, calldata: null }]);
    }));

  it('says nothing of what was not demanded', () =>
    f.apart(async () => {
      const job = await f.job(trace);
      expect(await f.demandOf(job, chunk)).toBeNull();
      expect(await f.game.bountyOf(job.batchHash, 0)).toBeNull();
      expect(await f.game.precommittedAt(id('x') as Hex)).toBeNull();
      expect(await f.viewOf(job)).toEqual({
        demands: 0,
        until: job.windowEnd,
        nextAnswerBy: null,
        killed: false,
        timedOut: false,
      });
      expect(await refusal(f.close(job, [chunk]))).toBe('ClaimOpen');
      await f.passTo(job.windowEnd + 1);
      expect(await refusal(f.close(job, [chunk]))).toBe('DemandUnknown');
    }));
});

describe('free balances that others may move', () => {
  it('an allowance is spent as it is used; one without limit is not', () =>
    f.apart(async () => {
      const { escrow } = f.client;
      await f.send('watcher', escrow.allowCall(addressOf('helper'), 10n));
      const take = (amount: bigint): ReturnType<GameFixture['send']> =>
        f.send('helper', f.transferFromCall('watcher', 'stranger', amount));
      expect(await refusal(take(11n))).toBe('InsufficientAllowance');
      expect(await f.moved(() => take(4n))).toEqual({ watcher: -4n, stranger: 4n });
      expect(await escrow.allowedOf(addressOf('watcher'), addressOf('helper'))).toBe(6n);
      expect(await refusal(take(7n))).toBe('InsufficientAllowance');
      const any = 2n ** 256n - 1n;
      await f.send('watcher', escrow.allowCall(addressOf('helper'), any));
      await take(100n);
      expect(await escrow.allowedOf(addressOf('watcher'), addressOf('helper'))).toBe(any);
      const free = await escrow.freeOf(addressOf('watcher'));
      expect(await refusal(take(free + 1n))).toBe('InsufficientFree');
      expect(await refusal(f.send('watcher', escrow.transferCall(addressOf('helper'), free + 1n)))).toBe(
        'InsufficientFree',
      );
      expect(await f.moved(() => f.send('watcher', escrow.transferCall(addressOf('watcher'), 5n)))).toEqual({});
      expect(await f.moved(() => f.send('watcher', escrow.transferCall(addressOf('helper'), 5n)))).toEqual({
        watcher: -5n,
        helper: 5n,
      });
    }));
});
