/**
 * Digits that are proved together: one joint proof of all, wrapped once in Groth16, checked by the contract in the
 * transaction that posts the receipts. Each is final with that, at a share of the gas of a proof by itself.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBatchCircuit, type BatchCircuit, type BatchCircuitStep } from '../../circuits/batch/batch-circuit.js';
import { programOf } from '../../circuits/batch/input-root.js';
import { encodeRecord } from '../../circuits/batch/record.js';
import { AssayError } from '../../common/errors.js';
import type { Bundle } from '../../graph/index.js';
import { receiptFileOf, type Pipeline } from '../../pipeline/index.js';
import { formatReceiptFile, type Hex, type ReceiptStatus } from '../../receipts/index.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import type { Progress, Terminal } from '../terminal.js';
import type { DemoJob } from './jobs.js';

/** Digits of a batch: what its circuit has room for. */
export const BATCH_DIGITS = 4;
/** log2 of the cells of a column: two columns of the proof, which the contract reads at 6,000 gas each. */
export const BATCH_BITS = 17;
const POLL_MS = 100;

export interface PreparedCircuit {
  readonly circuit: BatchCircuit;
  /** What the contract is told of it. */
  readonly record: Uint8Array;
}

/** The circuit for digits of this model, and a development key: from the cache, or made now. */
export async function prepareCircuit({ graph }: Bundle, terminal: Terminal): Promise<PreparedCircuit> {
  const group = { program: programOf(graph), receipts: BATCH_DIGITS, itemsPerReceipt: 1 };
  const shape = { n: BATCH_BITS, groups: [group] };
  let making: Progress | undefined;
  const onProgress = (step: BatchCircuitStep): void => {
    making ??= terminal.progress('making the circuit of recursive batches and its development key, once', null);
    if (step.kind === 'key' && step.progress.step === 'predicted') {
      const { seconds, memoryBytes, fileBytes } = step.progress.cost;
      terminal.note(
        `  the key takes about ${Math.ceil(seconds)} s, ${Math.ceil(memoryBytes / 2 ** 20)} MiB of memory, ${Math.ceil(fileBytes / 2 ** 20)} MiB on disk`,
      );
    }
  };
  const circuit = await openBatchCircuit(shape, { onProgress });
  making?.done();
  const ports = [graph.outputs.map((id) => graph.tensors[id]!)];
  return { circuit, record: encodeRecord(shape, circuit.verificationKey, ports) };
}

export interface ProvedBatch {
  readonly digits: number;
  /** From the first order to the last receipt that is final. */
  readonly seconds: number;
  readonly gas: number;
  readonly block: number;
  /** Of every receipt, as of the block of the transaction that posted it. */
  readonly statuses: readonly ReceiptStatus[];
  readonly jobIds: readonly Hex[];
  readonly success: boolean;
}

export interface ProveBatchParts {
  readonly pipeline: Pipeline;
  readonly client: SettlementClient;
  readonly jobs: readonly DemoJob[];
  readonly receiptFolder: string;
}

export async function proveBatch(
  { pipeline, client, jobs, receiptFolder }: ProveBatchParts,
  terminal: Terminal,
): Promise<ProvedBatch> {
  const progress = terminal.progress(`${jobs.length} digits proved together: one joint proof, wrapped once`, null);
  const startedAt = performance.now();
  const jobIds: Hex[] = [];
  for (const [i, { request }] of jobs.entries()) jobIds.push(await pipeline.submit(request, `demo-batch-${i}`));
  const found = await Promise.all(jobIds.map((jobId) => placed(pipeline, client, jobId)));
  found.forEach(({ view }, i) => {
    const file = receiptFileOf(view, client.domain)!;
    writeFileSync(join(receiptFolder, `together-${i}.json`), formatReceiptFile(file));
  });
  const { header } = found[0]!;
  const gas = await gasOfCommits(client, header.committedBlock);
  const statuses = found.map(({ status }) => status);
  progress.done(`${statuses.join(', ')} as of block ${header.committedBlock}, ${gas} gas`);
  return {
    digits: jobs.length,
    seconds: (performance.now() - startedAt) / 1000,
    gas,
    block: header.committedBlock,
    statuses,
    jobIds,
    success: statuses.every((status) => status === 'final-zk'),
  };
}

/** What the rollup's transactions of a block took; the batch is alone there but for what was posted with it. */
async function gasOfCommits({ provider, rollup }: SettlementClient, blockNumber: number): Promise<number> {
  const block = (await provider.getBlock(blockNumber, true))!;
  const ours = block.prefetchedTransactions.filter(({ to }) => to?.toLowerCase() === rollup.address);
  const receipts = await Promise.all(ours.map(({ hash }) => provider.getTransactionReceipt(hash)));
  return Math.max(...receipts.map((receipt) => Number(receipt!.gasUsed)));
}

/** Where a job's receipt is on chain, when it is there. @throws AssayError of the job, where it can't come there */
async function placed(pipeline: Pipeline, client: SettlementClient, jobId: Hex) {
  for (;;) {
    const view = (await pipeline.job(jobId))!;
    if (view.position !== null) {
      const { header, index, path } = view.position;
      const { receipt } = view.receipt!;
      return {
        view,
        header,
        status: await client.rollup.statusOf(receipt, index, path, header, header.committedBlock),
      };
    }
    if (view.step === 'done')
      throw new AssayError('INTERNAL', `a digit of the demo's batch was not posted: ${view.error?.message}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
