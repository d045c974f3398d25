import { id, Wallet } from 'ethers';
import { beforeAll, describe, expect, it } from 'vitest';
import { commitTable, evaluateGraph } from '../../graph/index.js';
import { randomGraph, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { batchHash, type BatchHeader } from '../../receipts/batch.js';
import { receiptStructHash } from '../../receipts/eip712.js';
import { batchRoot, leafHash, merklePath } from '../../receipts/merkle.js';
import { RECEIPT_FILE_VERSION } from '../../receipts/receipt-file.js';
import { signOpening, signReceipt } from '../../receipts/signature.js';
import type { Hex, Receipt, ReceiptDomain } from '../../receipts/types.js';
import { FullTrace } from '../nodes/full-trace.js';
import { contentHash, nodeIdOf } from '../nodes/ids.js';
import { encodeEvidence } from '../step/encode-evidence.js';
import { tamperTrace } from '../step/inject.js';
import { StepModel } from '../step/step-model.js';
import { MAX_CONTRACTION } from '../step/sums.js';
import { bundleOf, receiptOf } from '../step/testing/test-claims.js';
import { play } from '../step/testing/play.js';
import {
  checkEvidence,
  decodeEvidence,
  formatEvidenceFile,
  parseEvidenceFile,
  type EvidenceFile,
} from './evidence-file.js';

const domain: ReceiptDomain = { chainId: 31337n, verifyingContract: `0x${'c0'.repeat(20)}` };
const wallet = new Wallet(id('executor'));
const executor = wallet.address.toLowerCase() as Hex;

/** A file about a lie in a random network. @param every how many slots of it are committed */
async function fileOf(seed: number, every: number): Promise<EvidenceFile> {
  const draw = seededRandom(seed);
  for (;;) {
    const { graph, inputs, items } = randomGraph(draw);
    const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
    const values = evaluateGraph(graph, inputs, items);
    const own = new FullTrace(
      model,
      model.slots.map((tensor) => values[tensor]!),
      items,
    );
    const slot = graph.inputs.length + Math.floor(draw() * (model.slotCount - graph.inputs.length));
    const { lo, hi } = model.infoOfSlot(slot).range;
    if (lo === hi || (model.positionOf(slot) !== null) === every > 1) continue;
    const delta = own.slots[slot]![0]! < hi ? 1 : -1;
    const told = tamperTrace(model, inputs, items, { at: { slot }, element: 0, delta, downstream: true });
    const receipt: Receipt = { ...receiptOf(model, told.trace), executor };
    const { finding, asked, contents } = play(own, receipt, told.trace.asClaim(receipt, 'own'));
    if (finding.kind !== 'fault') continue;
    const other = { ...receipt, orderHash: id('another') as Hex };
    const leaves = [other, receipt].map((one, i) => leafHash(i, 'optimistic', receiptStructHash(one)));
    const header: BatchHeader = {
      lane: 'optimistic',
      count: 2,
      poster: executor,
      salt: id('salt') as Hex,
      batchRoot: batchRoot(leaves),
      policyHash: receipt.policyHash,
      unbound: 0n,
      committedAt: 5,
      committedBlock: 4,
    };
    const statements = await Promise.all(
      asked.flatMap((node, i) => {
        if (node.kind !== 'segment') return [];
        const content = contents[i]!;
        const opening = {
          orderHash: receipt.orderHash,
          batchHash: batchHash(header, domain),
          index: 1,
          nodeId: nodeIdOf(node),
          contentHash: contentHash(content),
        };
        return [signOpening(opening, domain, wallet).then((signature) => ({ node, content, signature }))];
      }),
    );
    return {
      receipt: {
        version: RECEIPT_FILE_VERSION,
        domain,
        receipt,
        signature: await signReceipt(receipt, domain, wallet),
        batch: { header, index: 1, path: merklePath(leaves, 1) },
      },
      fault: finding.proof.fault,
      evidence: finding.proof.evidence,
      maxContraction: MAX_CONTRACTION,
      statements,
      place: finding.place,
    };
  }
}

let plain: EvidenceFile;
let withSegment: EvidenceFile;
beforeAll(async () => {
  [plain, withSegment] = await Promise.all([fileOf(5, 1), fileOf(6, 4)]);
});

const again = (file: EvidenceFile): EvidenceFile => parseEvidenceFile(formatEvidenceFile(file), 'test');

describe('a file of evidence', () => {
  it('is read as it was written, and convinces without a chain', () => {
    expect(withSegment.statements).toHaveLength(1);
    for (const file of [plain, withSegment]) {
      expect(again(file)).toEqual(file);
      expect(encodeEvidence(decodeEvidence(file.evidence))).toBe(file.evidence);
      expect(checkEvidence(again(file))).toEqual({ verdict: 'valid' });
    }
  });

  it('is refused where the executor has not signed the receipt', async () => {
    const signature = await signReceipt(plain.receipt.receipt, domain, new Wallet(id('somebody')));
    expect(checkEvidence({ ...plain, receipt: { ...plain.receipt, signature } })).toMatchObject({ verdict: 'invalid' });
  });

  it('is refused where the receipt stands in no batch, or elsewhere in it', () => {
    const { batch, ...bare } = plain.receipt;
    expect(checkEvidence({ ...plain, receipt: bare })).toMatchObject({ verdict: 'invalid' });
    expect(checkEvidence({ ...plain, receipt: { ...bare, batch: { ...batch!, index: 0 } } })).toMatchObject({
      verdict: 'invalid',
    });
  });

  it('is refused where nothing is wrong', () => {
    for (const fault of ['opCount', 'slotCount', 'commitIndex'] as const)
      expect(checkEvidence({ ...plain, fault }).verdict).not.toBe('valid');
  });

  it('is refused where any hash or element of the evidence is another', () => {
    const evidence = decodeEvidence(plain.evidence);
    // What a step does not read: the ports, the table, and the tree's value where chunks are opened.
    const unread = (key: string, value: string): boolean =>
      key === 'portTensor' || (key === 'treeValue' && /^0x0*$/.test(value));
    let changed = 0;
    const visit = (part: Record<string, unknown> | unknown[]): void => {
      for (const [key, value] of Object.entries(part)) {
        if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>);
        if (typeof value !== 'string' || value.length < 4 || unread(key, value)) continue;
        const flipped = `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`;
        (part as Record<string, unknown>)[key] = flipped;
        const verdict = checkEvidence({ ...plain, evidence: encodeEvidence(evidence) });
        (part as Record<string, unknown>)[key] = value;
        expect(verdict.verdict, `${key} ${value.slice(0, 20)}`).not.toBe('valid');
        changed++;
      }
    };
    visit(evidence as unknown as Record<string, unknown>);
    expect(changed).toBeGreaterThan(10);
    expect(checkEvidence({ ...plain, evidence: encodeEvidence(evidence) })).toEqual({ verdict: 'valid' });
  });

  it('is refused where what it rests on was not said by the executor', async () => {
    const [statement] = withSegment.statements;
    expect(checkEvidence({ ...withSegment, statements: [] })).toMatchObject({ verdict: 'invalid' });
    const content = `0x${'00'.repeat(32)}${statement!.content.slice(66)}` as Hex;
    expect(checkEvidence({ ...withSegment, statements: [{ ...statement!, content }] })).toMatchObject({
      verdict: 'invalid',
    });
    const stranger = { ...statement!, signature: plain.receipt.signature };
    expect(checkEvidence({ ...withSegment, statements: [stranger] })).toMatchObject({ verdict: 'invalid' });
  });

  it.each(['', '{', '[]', '{"version":1}', 'null', '{"version":2}'])('is refused where it is none: %s', (text) => {
    expect(() => parseEvidenceFile(text, 'x')).toThrow(expect.objectContaining({ code: 'EVIDENCE_FILE_MALFORMED' }));
  });
});
