import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeBundle } from '../graph/index.js';
import { referenceEngine } from './engines/reference.js';
import { executeJob } from './execute.js';
import type { Execution } from './execute.js';
import { images, smallClassifier } from './testing/digits.js';
import { TraceStore } from './trace-store.js';
import type { Hex } from '../receipts/types.js';

const bundle = smallClassifier(1);
let folder: string;
let store: TraceStore;
let execution: Execution;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-traces-'));
  store = new TraceStore(join(folder, 'data'));
  const session = await referenceEngine().loadExact(bundle);
  execution = await executeJob(session, bundle, images(3, 1), 3);
});
afterEach(() => rm(folder, { recursive: true }));

describe('TraceStore', () => {
  it('gives back what was put, traces and results', async () => {
    const { traceRoot, outputRoot, slots, outputs } = execution;
    await store.put('trace', traceRoot, slots, 3);
    await store.put('result', outputRoot, outputs, 3);
    expect(await store.get('trace', traceRoot, bundle)).toEqual({ tensors: slots, items: 3 });
    expect(await store.get('result', outputRoot, bundle)).toEqual({ tensors: outputs, items: 3 });
  });

  it('keeps what a table of committed slots leaves, and reads it as a trace of that table alone', async () => {
    const bounded = makeBundle({ ...bundle, committedSlots: [0, 3] });
    const session = await referenceEngine().loadExact(bounded);
    const own = await executeJob(session, bounded, images(3, 1), 3);
    await store.put('trace', own.traceRoot, own.slots, 3);
    const { tensors } = await store.get('trace', own.traceRoot, bounded);
    expect(tensors).toEqual([execution.slots[0], execution.slots[3]]);
    await expect(store.get('trace', own.traceRoot, bundle)).rejects.toMatchObject({ code: 'TRACE_CORRUPT' });
    const other = makeBundle({ ...bundle, committedSlots: [0, 2, 3] });
    await expect(store.get('trace', own.traceRoot, other)).rejects.toMatchObject({ code: 'TRACE_CORRUPT' });
  });

  it('leaves one file per root and no temporary ones, however often it is put', async () => {
    await Promise.all([1, 2, 3].map(() => store.put('trace', execution.traceRoot, execution.slots, 3)));
    const files = await readdir(dirname(store.path('trace', execution.traceRoot)));
    expect(files).toEqual([`${execution.traceRoot.slice(2)}.trace`]);
  });

  it('says TRACE_NOT_FOUND for a root that it does not hold and for what is no root', async () => {
    const absent: Hex = `0x${'ab'.repeat(32)}`;
    expect(await store.has('trace', absent)).toBe(false);
    await expect(store.get('trace', absent, bundle)).rejects.toMatchObject({ code: 'TRACE_NOT_FOUND' });
    await expect(store.get('trace', '0x../../key', bundle)).rejects.toMatchObject({ code: 'TRACE_NOT_FOUND' });
  });

  it('says TRACE_CORRUPT for a damaged byte anywhere and for every truncation', async () => {
    const { traceRoot, slots } = execution;
    await store.put('trace', traceRoot, slots, 3);
    const path = store.path('trace', traceRoot);
    const whole = await readFile(path);
    const corrupt = expect.objectContaining({ code: 'TRACE_CORRUPT' });
    // Every byte of the headers, and one in eleven after that.
    for (let at = 0; at < whole.length; at += at < 24 ? 1 : 11) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 1 + (at % 255);
      await writeFile(path, damaged);
      await expect(store.get('trace', traceRoot, bundle), `byte ${at}`).rejects.toEqual(corrupt);
    }
    for (const length of [0, 3, 13, 14, 18, 100, whole.length - 1]) {
      await writeFile(path, whole.subarray(0, length));
      await expect(store.get('trace', traceRoot, bundle), `length ${length}`).rejects.toEqual(corrupt);
    }
    await writeFile(path, Buffer.concat([whole, Buffer.of(0)]));
    await expect(store.get('trace', traceRoot, bundle)).rejects.toEqual(corrupt);
  });

  it('replaces a damaged file when the trace is put again', async () => {
    const { traceRoot, slots } = execution;
    await store.put('trace', traceRoot, slots, 3);
    await writeFile(store.path('trace', traceRoot), 'damaged');
    await store.put('trace', traceRoot, slots, 3);
    expect((await store.get('trace', traceRoot, bundle)).tensors).toEqual(slots);
  });

  it("says TRACE_CORRUPT where the trace is another model's", async () => {
    await store.put('trace', execution.traceRoot, execution.slots, 3);
    const other = smallClassifier(1, 5);
    const read = store.get('trace', execution.traceRoot, other);
    await expect(read).rejects.toMatchObject({ code: 'TRACE_CORRUPT' });
  });

  it('keeps integers of every width', async () => {
    const tensors = [[-128, 127], [-129], [128], [-32768, 32767], [-32769], [32768], [2 ** 31 - 1, -(2 ** 31)], []].map(
      (values) => Int32Array.from(values),
    );
    const root: Hex = `0x${'11'.repeat(32)}`;
    await store.put('trace', root, tensors, 1);
    const bytes = await readFile(store.path('trace', root));
    // Header 14, eight tensor headers of 5, then 2 + 2 + 2 + 4 + 4 + 4 + 8 bytes of elements.
    expect(bytes.length).toBe(14 + 8 * 5 + 26);
  });
});
