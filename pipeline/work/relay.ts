/** Turns outbox rows into queue hints. Killed in between, it gives a hint twice, never none. */
import type { Database } from '../database/database.js';
import { failPoint } from '../fail-points.js';
import type { StepQueue } from '../queue/step-queue.js';

const PER_ROUND = 500;

/** @returns the number of hints given. @throws AssayError QUEUE_UNAVAILABLE, DATABASE_UNAVAILABLE */
export async function relayOutbox(database: Database, queue: StepQueue): Promise<number> {
  let given = 0;
  for (;;) {
    const rows = await database.query<{ id: string; subject: string; step: string; attempt: number }>(
      'SELECT id, subject, step, attempt FROM assay.outbox ORDER BY id LIMIT $1',
      [PER_ROUND],
    );
    if (rows.length === 0) return given;
    failPoint('relay.before-enqueue');
    await queue.add(rows.map(({ subject, step, attempt }) => ({ subject, step, attempt })));
    failPoint('relay.after-enqueue');
    await database.execute('DELETE FROM assay.outbox WHERE id = ANY($1::bigint[])', [rows.map(({ id }) => id)]);
    given += rows.length;
  }
}
