import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Hex } from '../receipts/types.js';
import { Executions } from './executions.js';
import type { ExecutedFacts } from './executions.js';

const hex = (byte: string): Hex => `0x${byte.repeat(32)}`;
const facts: ExecutedFacts = {
  orderHash: hex('01'),
  modelDigest: hex('02'),
  inputRoot: hex('03'),
  outputRoot: hex('04'),
  traceRoot: hex('05'),
  opCount: 7,
  items: 2,
  lane: 'sampled',
  policyHash: hex('06'),
};

let folder: string;
let executions: Executions;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assay-executions-'));
  executions = new Executions(folder, `0x${'aa'.repeat(20)}`);
});
afterEach(() => rm(folder, { recursive: true }));

it('finds what another instance recorded; the last execution of an order counts', async () => {
  await executions.record(facts);
  await executions.record({ ...facts, outputRoot: hex('44') });
  const reopened = new Executions(folder, executions.executor);
  expect(await reopened.find(facts.orderHash)).toEqual({ ...facts, outputRoot: hex('44') });
});

it('keeps the facts alone, whatever else the object holds', async () => {
  await executions.record({ ...facts, slots: [Int32Array.of(1)] } as ExecutedFacts);
  expect(await executions.find(facts.orderHash)).toEqual(facts);
});

it('shares no records between executors with one folder', async () => {
  await executions.record(facts);
  const other = new Executions(folder, `0x${'bb'.repeat(20)}`);
  await expect(other.find(facts.orderHash)).rejects.toMatchObject({ code: 'EXECUTION_NOT_FOUND' });
  expect((await readdir(join(folder, 'executions'))).length).toBe(1);
});

it.each(['', '{', 'null', '{"orderHash":"0x01"}'])('refuses the damaged record %j', async (text) => {
  await executions.record(facts);
  await writeFile(executions.path(facts.orderHash), text);
  await expect(executions.find(facts.orderHash)).rejects.toMatchObject({ code: 'TRACE_CORRUPT' });
});

it('makes no path of what is no order hash', async () => {
  await expect(executions.find('0x../../etc' as Hex)).rejects.toMatchObject({ code: 'EXECUTION_NOT_FOUND' });
});
