/** The report's JSON, read back: `--baseline` and `--resume` take files that people keep and edit. */
import { z } from 'zod';
import { AssayError } from '../common/errors.js';
import type { Report, Result } from './report.js';

const metricSchema = z.strictObject({
  median: z.number(),
  min: z.number(),
  max: z.number(),
  n: z.int().positive(),
  unit: z.enum(['ms', 'ns', 'bytes', 'count', 'ratio', 'gas', 'value', 'perSecond']),
});

const resultSchema = z.strictObject({
  suite: z.string(),
  model: z.string().nullable(),
  params: z.int().nullable(),
  macs: z.int().nullable(),
  batch: z.int().nullable(),
  threads: z.int(),
  peer: z.string().nullable(),
  metrics: z.record(z.string(), metricSchema),
});

const reportSchema = z.strictObject({
  machine: z.string(),
  commit: z.string(),
  node: z.string(),
  load: z.number(),
  results: z.array(resultSchema),
});

const rowSchema = z.strictObject({ machine: z.string(), commit: z.string(), result: resultSchema });

/** The schema as JSON Schema, for tools of others. */
export const reportJsonSchema = (): unknown => z.toJSONSchema(reportSchema);

/** @throws AssayError REPORT_INVALID naming the field. */
export function parseReport(text: string, name: string): Report {
  return parsed(reportSchema, text, name);
}

/** The rows that were measured on this machine at this commit; others are left where they are. @throws AssayError REPORT_INVALID. */
export function parseRows(text: string, name: string, here: Pick<Report, 'machine' | 'commit'>): Result[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, i) => parsed(rowSchema, line, `${name}, line ${i + 1}`))
    .filter(({ machine, commit }) => machine === here.machine && commit === here.commit)
    .map(({ result }) => result);
}

function parsed<T>(schema: z.ZodType<T>, text: string, name: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AssayError('REPORT_INVALID', `${name} is no JSON`, { cause });
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  throw new AssayError('REPORT_INVALID', `${name}: ${path.join('.')}: ${message}`);
}
