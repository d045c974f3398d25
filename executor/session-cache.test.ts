import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionCache } from './session-cache.js';
import type { SessionKey } from './session-cache.js';

const key = (model: string): SessionKey => ({ engine: 'reference', model, kind: 'exact' });

/** A session that records whether it lives, and refuses to be closed twice. */
class Probe {
  closed = false;
  constructor(readonly model: string) {}
  async close(): Promise<void> {
    expect(this.closed).toBe(false);
    this.closed = true;
  }
}

const loader =
  (model: string, loads: string[] = []) =>
  async (): Promise<Probe> => {
    loads.push(model);
    return new Probe(model);
  };

describe('SessionCache', () => {
  it('shares one load among callers that ask at the same time', async () => {
    const cache = new SessionCache(100);
    const loads: string[] = [];
    const leases = await Promise.all([1, 2, 3].map(() => cache.acquire(key('a'), 10, loader('a', loads))));
    expect(loads).toEqual(['a']);
    expect(new Set(leases.map(({ session }) => session)).size).toBe(1);
    expect(cache.usedBytes).toBe(10);
  });

  it('closes the least recently used idle session to make room', async () => {
    const cache = new SessionCache(100);
    const [a, b] = [await cache.acquire(key('a'), 40, loader('a')), await cache.acquire(key('b'), 40, loader('b'))];
    a.release();
    b.release();
    (await cache.acquire(key('a'), 40, loader('a'))).release();
    await cache.acquire(key('c'), 40, loader('c'));
    expect(cache.keys.map(({ model }) => model)).toEqual(['a', 'c']);
    expect([a.session.closed, b.session.closed]).toEqual([false, true]);
  });

  it('never closes a session in use, and refuses what then does not fit', async () => {
    const cache = new SessionCache(100);
    const a = await cache.acquire(key('a'), 60, loader('a'));
    const refusal = cache.acquire(key('b'), 50, loader('b'));
    await expect(refusal).rejects.toMatchObject({
      code: 'MODEL_TOO_LARGE',
      meta: { neededBytes: 50, budgetBytes: 100, inUseBytes: 60 },
    });
    expect(a.session.closed).toBe(false);
    a.release();
    await cache.acquire(key('b'), 50, loader('b'));
    expect(a.session.closed).toBe(true);
  });

  it('refuses what can never fit without closing anything', async () => {
    const cache = new SessionCache(100);
    const a = await cache.acquire(key('a'), 60, loader('a'));
    a.release();
    await expect(cache.acquire(key('b'), 101, loader('b'))).rejects.toMatchObject({ code: 'MODEL_TOO_LARGE' });
    expect(a.session.closed).toBe(false);
    expect(cache.usedBytes).toBe(60);
  });

  it('waits until closed sessions are gone before it loads the next', async () => {
    const cache = new SessionCache(100);
    const order: string[] = [];
    const slow = {
      close: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push('closed a');
      },
    };
    (await cache.acquire(key('a'), 80, async () => slow)).release();
    await cache.acquire(key('b'), 80, async () => {
      order.push('loads b');
      return new Probe('b');
    });
    expect(order).toEqual(['closed a', 'loads b']);
  });

  it('lets a session grow with its batch, at the cost of idle ones', async () => {
    const cache = new SessionCache(100);
    const a = await cache.acquire(key('a'), 30, loader('a'));
    (await cache.acquire(key('b'), 30, loader('b'))).release();
    const again = await cache.acquire(key('a'), 90, loader('a'));
    expect(again.session).toBe(a.session);
    expect(cache.keys.map(({ model }) => model)).toEqual(['a']);
    expect(cache.usedBytes).toBe(90);
    await expect(cache.acquire(key('a'), 101, loader('a'))).rejects.toMatchObject({ code: 'MODEL_TOO_LARGE' });
    expect(cache.usedBytes).toBe(90);
  });

  it('forgets a failed load, so that the next call tries again', async () => {
    const cache = new SessionCache(100);
    const failure = cache.acquire(key('a'), 60, () => Promise.reject(new Error('no')));
    await expect(failure).rejects.toThrow('no');
    expect(cache.usedBytes).toBe(0);
    await cache.acquire(key('a'), 60, loader('a'));
  });

  it('close ends idle sessions now and lent ones when they come back; afterwards nothing is lent', async () => {
    const cache = new SessionCache(100);
    const a = await cache.acquire(key('a'), 10, loader('a'));
    const b = await cache.acquire(key('b'), 10, loader('b'));
    b.release();
    await cache.close();
    expect([a.session.closed, b.session.closed]).toEqual([false, true]);
    a.release();
    a.release();
    await cache.close();
    expect(a.session.closed).toBe(true);
    await expect(cache.acquire(key('a'), 10, loader('a'))).rejects.toMatchObject({ code: 'EXECUTOR_CLOSED' });
  });

  describe('where a session fails to close', () => {
    const stuck = async () => ({ close: () => Promise.reject(new Error('device lost')) });
    let failures: string[];
    const cacheOf = (budgetBytes: number) =>
      new SessionCache(budgetBytes, ({ model }, { message }) => failures.push(`${model}: ${message}`));
    /** What Node.js would end the process for. */
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    beforeEach(() => {
      failures = [];
      unhandled.length = 0;
      process.on('unhandledRejection', note);
    });
    afterEach(() => {
      process.off('unhandledRejection', note);
    });
    const settle = () => new Promise((resolve) => setTimeout(resolve, 10));

    it('lends the model that took its place', async () => {
      const cache = cacheOf(100);
      (await cache.acquire(key('a'), 60, stuck)).release();
      const b = await cache.acquire(key('b'), 60, loader('b'));
      expect(b.session.closed).toBe(false);
      expect(failures).toEqual(['a: device lost']);
      expect(cache.keys.map(({ model }) => model)).toEqual(['b']);
      b.release();
      // Its next caller gets a fresh one.
      expect((await cache.acquire(key('a'), 60, loader('a'))).session.model).toBe('a');
      await settle();
      expect(unhandled).toEqual([]);
    });

    it('leaves no rejection unhandled when the last lease of a closed cache comes back', async () => {
      const cache = cacheOf(100);
      const a = await cache.acquire(key('a'), 10, stuck);
      await cache.close();
      a.release();
      await settle();
      expect(unhandled).toEqual([]);
      expect(failures).toEqual(['a: device lost']);
    });

    it('closes all others', async () => {
      const cache = cacheOf(100);
      (await cache.acquire(key('a'), 10, stuck)).release();
      const b = await cache.acquire(key('b'), 10, loader('b'));
      b.release();
      await cache.close();
      expect(b.session.closed).toBe(true);
      expect(failures).toEqual(['a: device lost']);
    });

    it('warns by default', async () => {
      const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
      const cache = new SessionCache(100);
      (await cache.acquire(key('a'), 10, stuck)).release();
      await cache.close();
      expect((await warned).message).toBe('the exact session of model a on reference failed to close: device lost');
    });
  });

  it('keeps its promises under random use', async () => {
    const step = fc.record({ model: fc.nat(5), sizeBytes: fc.integer({ min: 1, max: 60 }), release: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const cache = new SessionCache(100);
        const held: { session: Probe; release: () => void }[] = [];
        for (const { model, sizeBytes, release } of steps) {
          try {
            held.push(await cache.acquire(key(`${model}`), sizeBytes, loader(`${model}`)));
          } catch (error) {
            expect(error).toMatchObject({ code: 'MODEL_TOO_LARGE' });
          }
          expect(cache.usedBytes).toBeLessThanOrEqual(100);
          for (const { session } of held) expect(session.closed).toBe(false);
          if (release) held.shift()?.release();
        }
      }),
      { numRuns: 200 },
    );
  });
});
