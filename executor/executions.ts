/**
 * What an executor has executed: one record per order, the facts that a receipt for it may state.
 *
 * `sign` compares a receipt with the record, so that the key signs what this node has computed and nothing else. The
 * process may end between `execute` and `sign`; so a record is on the disk before an execution is handed out. A later
 * execution of the same order replaces the record of an earlier one.
 *
 * File: `executions/<executor>/<first byte>/<order hash>.json`, one JSON object.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AssayError } from '../common/errors.js';
import type { Hex, Receipt } from '../receipts/types.js';
import { writeDurably } from './durable-file.js';

/** The fields of a receipt that its execution and its order fix. */
export type ExecutedFacts = Pick<
  Receipt,
  'orderHash' | 'modelDigest' | 'inputRoot' | 'outputRoot' | 'traceRoot' | 'opCount' | 'items' | 'lane' | 'policyHash'
>;

const FACTS = [
  'orderHash',
  'modelDigest',
  'inputRoot',
  'outputRoot',
  'traceRoot',
  'opCount',
  'items',
  'lane',
  'policyHash',
] as const satisfies readonly (keyof ExecutedFacts)[];

/** What a receipt states as trace root where there is no trace. */
export const NO_TRACE: Hex = `0x${'00'.repeat(32)}`;

export class Executions {
  /**
   * @param folder is made on the first write.
   * @param executor whose executions these are, lower-case: nodes that share a folder of traces do not share records.
   */
  constructor(
    readonly folder: string,
    readonly executor: Hex,
  ) {}

  /** Durable when it returns. @throws AssayError STORE_FULL. */
  async record(facts: ExecutedFacts): Promise<void> {
    const record = Object.fromEntries(FACTS.map((fact) => [fact, facts[fact]]));
    await writeDurably(this.path(facts.orderHash), Buffer.from(`${JSON.stringify(record)}\n`));
  }

  /** @throws AssayError EXECUTION_NOT_FOUND, TRACE_CORRUPT where the record cannot be read. */
  async find(orderHash: Hex): Promise<ExecutedFacts> {
    const path = this.path(orderHash);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new AssayError('EXECUTION_NOT_FOUND', `executor ${this.executor} has executed no order ${orderHash}`, {
        meta: { orderHash, executor: this.executor },
        cause: error,
      });
    }
    const record = parse(text);
    if (record === null || record.orderHash !== orderHash) {
      throw new AssayError('TRACE_CORRUPT', `${path}: expected the record of order ${orderHash}`, {
        mend: 'Run the order again: it writes the record anew.',
        meta: { path },
      });
    }
    return record;
  }

  /**
   * Does the receipt state what was executed? A zero trace root is the zk lane's, where the proof stands in for the
   * trace; everything else must be equal.
   * @throws AssayError ORDER_MISMATCH naming the field; EXECUTION_NOT_FOUND, TRACE_CORRUPT.
   */
  async check(receipt: Receipt): Promise<void> {
    const record = await this.find(receipt.orderHash);
    for (const fact of FACTS) {
      if (receipt[fact] === record[fact]) continue;
      if (fact === 'traceRoot' && receipt.traceRoot === NO_TRACE && record.lane === 'zk') continue;
      const message = `order ${receipt.orderHash}: the receipt states ${fact} ${receipt[fact]}, executed was ${record[fact]}`;
      throw new AssayError('ORDER_MISMATCH', message, {
        mend: 'State in the receipt what `execute` returned for its order.',
        meta: { orderHash: receipt.orderHash, field: fact, expected: record[fact], found: receipt[fact] },
      });
    }
  }

  /** @throws AssayError EXECUTION_NOT_FOUND for what is no order hash. */
  path(orderHash: string): string {
    if (!/^0x[0-9a-f]{64}$/.test(orderHash)) {
      const message = `${JSON.stringify(orderHash)} is no order hash: expected 0x and 64 hex digits`;
      throw new AssayError('EXECUTION_NOT_FOUND', message);
    }
    return join(this.folder, 'executions', this.executor, orderHash.slice(2, 4), `${orderHash.slice(2)}.json`);
  }
}

function parse(text: string): ExecutedFacts | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  // A field that is absent or of another type equals no receipt's field.
  return typeof value === 'object' && value !== null ? (value as ExecutedFacts) : null;
}
