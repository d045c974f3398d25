import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgresMissing, startPostgres, type PrivatePostgres } from '../../test/kill/servers/private-postgres.js';
import { hasRedis, startRedis, type PrivateRedis } from '../../test/kill/servers/private-redis.js';
import type { Database } from '../database/database.js';
import { openPglite } from '../database/open-pglite.js';
import { openPostgres } from '../database/open-postgres.js';
import { hintId, openStepQueue, type Hint, type QueueHome, type StepQueue } from './step-queue.js';

const STEPS = ['run', 'sign'];
const hint = (subject: string, attempt = 1, step = 'run'): Hint => ({ subject, step, attempt });

function contract(homeOf: () => QueueHome): void {
  let queue: StepQueue;
  beforeEach(async () => {
    queue = await openStepQueue(homeOf(), STEPS);
    await queue.wipe();
  });
  afterEach(async () => {
    await queue.close();
  });

  it('hands every hint to a worker of its step', async () => {
    const seen: string[] = [];
    for (const step of STEPS) queue.work(step, 4, async (h) => void seen.push(hintId(h)));
    const hints = Array.from({ length: 60 }, (_, i) => hint(`0x${i}`, i, STEPS[i % 2]!));
    await queue.add(hints);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(60);
    expect(seen.sort()).toEqual(hints.map(hintId).sort());
  });

  it('wakes an idle worker at once', async () => {
    const seen: number[] = [];
    queue.work('run', 1, async () => void seen.push(performance.now()));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const added = performance.now();
    await queue.add([hint('0xaa')]);
    await expect.poll(() => seen.length, { interval: 5, timeout: 10_000 }).toBe(1);
    // The idle look is every 2 s: this is the notification.
    expect(seen[0]! - added).toBeLessThan(1_000);
  });

  it('keeps one of two equal hints while it waits, and takes the id again once it is done', async () => {
    await queue.add([hint('0xbb'), hint('0xbb')]);
    await queue.add([hint('0xbb')]);
    let seen = 0;
    queue.work('run', 1, async () => void seen++);
    await expect.poll(() => seen, { timeout: 10_000 }).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toBe(1);
    await queue.add([hint('0xbb')]);
    await expect.poll(() => seen, { timeout: 10_000 }).toBe(2);
  });

  it('runs the lower priority number first', async () => {
    await queue.add([5, 1, 3, 2, 4].map((priority) => ({ ...hint(`0x0${priority}`), priority })));
    const seen: string[] = [];
    queue.work('run', 1, async (h) => void seen.push(h.subject));
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(5);
    expect(seen).toEqual(['0x01', '0x02', '0x03', '0x04', '0x05']);
  });

  it('works on when it was wiped under the workers', async () => {
    const seen: string[] = [];
    queue.work('run', 1, async (h) => void seen.push(h.subject));
    await queue.wipe();
    await queue.add([hint('0xcc')]);
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['0xcc']);
  });

  it('ends the hint at hand before it closes', async () => {
    let done = false;
    const started = new Promise<void>((resolve) => {
      queue.work('run', 1, async () => {
        resolve();
        await new Promise((later) => setTimeout(later, 200));
        done = true;
      });
    });
    await queue.add([hint('0xdd')]);
    await started;
    await queue.close();
    expect(done).toBe(true);
  });

  it('says that it is ready', async () => {
    await queue.ready();
    await expect(queue.add([hint('0x1', 1, 'nowhere')])).rejects.toMatchObject({ code: 'INTERNAL' });
  });
}

describe('queue on PGlite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-queue-'));
  let database: Database;
  beforeAll(async () => {
    database = await openPglite(directory);
  });
  afterAll(async () => {
    await database?.close();
    rmSync(directory, { recursive: true, force: true });
  });
  contract(() => ({ kind: 'postgres', pool: database.pool }));
});

describe.skipIf(postgresMissing !== null)(
  `queue on PostgreSQL${postgresMissing === null ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PrivatePostgres;
    let database: Database;
    beforeAll(async () => {
      server = await startPostgres();
      database = await openPostgres(server.url);
    });
    afterAll(async () => {
      await database?.close();
      server?.stop();
    });
    contract(() => ({ kind: 'postgres', pool: database.pool }));
  },
);

describe.skipIf(!hasRedis)(`queue on Redis${hasRedis ? '' : ' (skipped: redis-server is not installed)'}`, () => {
  let server: PrivateRedis;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server?.stop();
  });
  contract(() => ({ kind: 'redis', url: server.url, namespace: 'contract' }));

  it('keeps two deployments on one server apart', async () => {
    const [a, b] = [
      await openStepQueue({ kind: 'redis', url: server.url, namespace: 'a' }, STEPS),
      await openStepQueue({ kind: 'redis', url: server.url, namespace: 'b' }, STEPS),
    ];
    const seen: string[] = [];
    a.work('run', 1, async (h) => void seen.push(`a ${h.subject}`));
    b.work('run', 1, async (h) => void seen.push(`b ${h.subject}`));
    await a.add([hint('0x01'), hint('0x02'), hint('0x03')]);
    await expect.poll(() => seen.sort(), { timeout: 10_000 }).toEqual(['a 0x01', 'a 0x02', 'a 0x03']);
    await Promise.all([a.close(), b.close()]);
  });

  it('is a typed error while Redis is gone, and works on when it is back', async () => {
    const queue = await openStepQueue({ kind: 'redis', url: server.url, namespace: 'away' }, STEPS);
    try {
      const seen: string[] = [];
      queue.work('run', 1, async (h) => void seen.push(h.subject));
      await queue.add([hint('0x01')]);
      await expect.poll(() => seen, { timeout: 10_000 }).toEqual(['0x01']);

      await server.kill();
      await expect(queue.ready()).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE', kind: 'infrastructure' });
      await expect(queue.add([hint('0x02')])).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });

      await server.restart();
      await expect
        .poll(
          () =>
            queue.ready().then(
              () => true,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true);
      await queue.add([hint('0x03')]);
      await expect.poll(() => seen.includes('0x03'), { timeout: 15_000 }).toBe(true);
    } finally {
      await queue.close();
    }
  });
});

describe('a Redis that is not there', () => {
  it('is a typed error', async () => {
    await expect(
      openStepQueue({ kind: 'redis', url: 'redis://127.0.0.1:1', namespace: 'x' }, STEPS),
    ).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
    });
    await expect(openStepQueue({ kind: 'redis', url: 'localhost', namespace: 'x' }, STEPS)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});
