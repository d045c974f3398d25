/** The evidence file of a claim that is known to be wrong. */
import { AssayError } from '../../common/errors.js';
import {
  checkEvidence,
  decodeEvidence,
  type EvidenceFile,
  type Statement,
} from '../../fraud-proofs/watch/evidence-file.js';
import type { ClaimReport } from '../../fraud-proofs/watch/watcher.js';
import { leafHash, merklePath, RECEIPT_FILE_VERSION, receiptStructHash } from '../../receipts/index.js';
import { stepLimit } from '../../verifier-contracts/step-limit.js';
import type { OpenedWatch } from './open-watch.js';
import { stepText } from './watch-text.js';

/** @throws AssayError FAULT_UNPROVED where nothing can be shown, or not yet; CHAIN_UNAVAILABLE */
export async function evidenceOf({ seen, step }: ClaimReport, { deployment }: OpenedWatch): Promise<EvidenceFile> {
  const unproved = (why: string): AssayError => new AssayError('FAULT_UNPROVED', `claim ${seen.id}: ${why}`);
  if (step.kind !== 'prove') throw unproved(stepText(step));
  const { receipts, header } = await deployment.rollup.readBatch(seen.batchHash);
  const { receipt, signature } = receipts[seen.claim.index]!;
  const leaves = receipts.map((one, i) => leafHash(i, header.lane, receiptStructHash(one.receipt)));
  const file: EvidenceFile = {
    receipt: {
      version: RECEIPT_FILE_VERSION,
      domain: deployment.domain,
      receipt,
      signature,
      batch: { header, index: seen.claim.index, path: merklePath(leaves, seen.claim.index) },
    },
    fault: step.proof.fault,
    evidence: step.proof.evidence,
    maxContraction: await stepLimit(deployment.provider, seen.game.client.step),
    statements: statementsOf(seen, step.proof.evidence),
    place: step.place,
  };
  const verdict = checkEvidence(file);
  if (verdict.verdict !== 'valid') throw unproved(verdict.reason);
  return file;
}

/** Answers that the evidence names: what only the executor could say. */
function statementsOf({ demands }: ClaimReport['seen'], encoded: EvidenceFile['evidence']): Statement[] {
  const { segments, sums } = decodeEvidence(encoded);
  const named = [...segments, ...sums].map(({ node }) => JSON.stringify(node));
  return demands.flatMap(({ node, answer }) =>
    answer === null || answer.signature === null || !named.includes(JSON.stringify(node))
      ? []
      : [{ node, content: answer.content, signature: answer.signature }],
  );
}
