/** One digit in the zk lane: a proof instead of a draw; checked by a stranger, and as a forger would like it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { outputRoot, type Bundle } from '../../graph/index.js';
import { readerChecks, receiptFileOf, type Pipeline } from '../../pipeline/index.js';
import { decodeModelKey } from '../../prover/index.js';
import {
  formatReceiptFile,
  parseReceiptFile,
  signReceipt,
  verifyReceipt,
  type Hex,
  type ReceiptDomain,
  type ReceiptFile,
  type Verdict,
} from '../../receipts/index.js';
import type { Terminal } from '../terminal.js';
import type { DemoJob } from './jobs.js';

export interface ProvedOne {
  /** From the order to the accepted receipt: run, sign, prove, verify. */
  readonly seconds: number;
  readonly proofBytes: number;
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
  readonly domain: ReceiptDomain;
  readonly bundle: Bundle;
  readonly keyFile: string;
  readonly receiptFolder: string;
}

export async function proveOne(parts: ProveOneParts, terminal: Terminal): Promise<ProvedOne> {
  const { pipeline, job, domain, bundle, keyFile, receiptFolder } = parts;
  const proving = terminal.progress('one digit more in the lane of proofs: run, sign, prove, verify', null);
  const startedAt = performance.now();
  const view = await pipeline.waitFor(await pipeline.submit(job.request, 'demo-zk'));
  const seconds = (performance.now() - startedAt) / 1000;
  const file = receiptFileOf(view, domain);
  if (view.outcome !== 'accepted' || file?.evidence === undefined)
    throw new AssayError(
      'INTERNAL',
      `the proved demo job ended as ${view.outcome}: ${view.error?.message ?? 'no reason'}`,
    );
  const proofBytes = view.proof!.bytes.length;
  proving.done(`proof of ${proofBytes} bytes`);
  const receipt = join(receiptFolder, 'proved.json');
  writeFileSync(receipt, formatReceiptFile(file));

  const checking = terminal.progress('checking it as a stranger, then three forgeries of it', null);
  // What a stranger has: the two files.
  const checks = readerChecks(decodeModelKey(readFileSync(keyFile), keyFile));
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
  const success = verdict === 'valid' && forgeries.every((forgery) => forgery.verdict === 'invalid');
  return { seconds, proofBytes, verifyMs, verdict, forgeries, receipt, key: keyFile, success };
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
