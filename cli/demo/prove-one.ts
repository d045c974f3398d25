/**
 * One digit in the zk lane: a proof instead of a draw. A contract checks it in the transaction that posts the receipt, which
 * is final with that; so do a stranger, and a forger who would like it otherwise.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { outputRoot, type Bundle } from '../../graph/index.js';
import { readerChecks, receiptFileOf, type JobView, type Pipeline } from '../../pipeline/index.js';
import { decodeModelKey } from '../../prover/index.js';
import {
  formatReceiptFile,
  parseReceiptFile,
  signReceipt,
  verifyReceipt,
  type Hex,
  type ReceiptDomain,
  type ReceiptFile,
  type ReceiptStatus,
  type Verdict,
} from '../../receipts/index.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import type { Terminal } from '../terminal.js';
import type { DemoJob } from './jobs.js';

const POLL_MS = 100;

export interface ProvedOne {
  /** From the order to the accepted receipt: run, sign, prove, verify. */
  readonly seconds: number;
  readonly proofBytes: number;
  /** As of the block of the transaction that posted it: the contract has checked the proof. */
  readonly onChain: { readonly status: ReceiptStatus; readonly block: number };
  /** The stranger's check, with the key alone. */
  readonly verifyMs: number;
  readonly verdict: Verdict['verdict'];
  readonly forgeries: readonly {
    readonly what: string;
    readonly verdict: Verdict['verdict'];
    readonly reason: string;
  }[];
  readonly receipt: string;
  readonly key: string;
  readonly success: boolean;
}

export interface ProveOneParts {
  readonly pipeline: Pipeline;
  readonly job: DemoJob;
  readonly client: SettlementClient;
  readonly bundle: Bundle;
  readonly keyFile: string;
  readonly receiptFolder: string;
  /** Seals what waits, and with it this receipt's batch. */
  readonly drain: () => void;
}

export async function proveOne(parts: ProveOneParts, terminal: Terminal): Promise<ProvedOne> {
  const { pipeline, job, client, bundle, keyFile, receiptFolder } = parts;
  const { domain } = client;
  const proving = terminal.progress('one digit more in the lane of proofs: run, sign, prove, verify', null);
  const startedAt = performance.now();
  const jobId = await pipeline.submit(job.request, 'demo-zk');
  const proved = await pipeline.waitFor(jobId);
  const seconds = (performance.now() - startedAt) / 1000;
  if (proved.outcome !== 'accepted' || proved.proof === null)
    throw new AssayError(
      'INTERNAL',
      `the proved demo job ended as ${proved.outcome}: ${proved.error?.message ?? 'no reason'}`,
    );
  const proofBytes = proved.proof.bytes.length;
  proving.done(`proof of ${proofBytes} bytes`);

  const posting = terminal.progress('posting it: a contract checks the proof', null);
  parts.drain();
  const view = await posted(pipeline, jobId);
  const { header, index, path } = view.position!;
  const status = await client.rollup.statusOf(view.receipt!.receipt, index, path, header, header.committedBlock);
  posting.done(`${status} as of block ${header.committedBlock}, its own`);
  const file = receiptFileOf(view, domain)!;
  const receipt = join(receiptFolder, 'proved.json');
  writeFileSync(receipt, formatReceiptFile(file));

  const checking = terminal.progress('checking it as a stranger, then three forgeries of it', null);
  // What a stranger has: the two files.
  const checks = readerChecks(decodeModelKey(readFileSync(keyFile), keyFile));
  // No chain is asked: a receipt of this lane stands by its proof.
  const check = async (text: string): Promise<Verdict> => (await verifyReceipt(parseReceiptFile(text), checks)).verdict;
  const verifiedAt = performance.now();
  const { verdict } = await check(readFileSync(receipt, 'utf8'));
  const verifyMs = performance.now() - verifiedAt;
  const forgeries: ProvedOne['forgeries'][number][] = [];
  for (const [what, forged] of await forgeriesOf(file, domain, bundle)) {
    const found = await check(formatReceiptFile(forged));
    forgeries.push({ what, verdict: found.verdict, reason: 'reason' in found ? found.reason : '' });
  }
  checking.done(`${verdict}; ${forgeries.map((forgery) => forgery.verdict).join(', ')}`);
  const onChain = { status, block: header.committedBlock };
  const success =
    verdict === 'valid' && status === 'final-zk' && forgeries.every((forgery) => forgery.verdict === 'invalid');
  return { seconds, proofBytes, onChain, verifyMs, verdict, forgeries, receipt, key: keyFile, success };
}

/** The job when its receipt is on chain. @throws AssayError of the job, where it can't come there */
async function posted(pipeline: Pipeline, jobId: Hex): Promise<JobView> {
  for (;;) {
    const view = (await pipeline.job(jobId))!;
    if (view.position !== null) return view;
    if (view.step === 'done')
      throw new AssayError('INTERNAL', `the proved demo job was not posted: ${view.error?.message}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function forgeriesOf(
  file: ReceiptFile,
  domain: ReceiptDomain,
  bundle: Bundle,
): Promise<(readonly [string, ReceiptFile])[]> {
  const outputs = file.outputs!.map((values, i) => values.map((value, at) => (i + at === 0 ? value - 1 : value)));
  const bytes = Buffer.from(file.evidence!.proof.slice(2), 'hex');
  bytes[bytes.length >> 1]! ^= 1;
  const evidence = { ...file.evidence!, proof: `0x${bytes.toString('hex')}` as Hex };
  // The best that a forger can do: everything agrees with everything, but no proof can.
  const forger = Wallet.createRandom();
  const integers = outputs.map((values) => Int32Array.from(values));
  const receipt = {
    ...file.receipt,
    outputRoot: outputRoot(bundle.graph, integers, file.receipt.items) as Hex,
    executor: forger.address.toLowerCase() as Hex,
  };
  return [
    ['an output changed by one', { ...file, outputs }],
    ['one bit of the proof changed', { ...file, evidence }],
    [
      'another output, committed to and signed by an executor of the forger',
      { ...file, outputs, receipt, signature: await signReceipt(receipt, domain, forger) },
    ],
  ];
}
