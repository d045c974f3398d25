/**
 * A proved fault as one JSON file that a third party checks without a chain, without the model and without us:
 *
 *   1. The receipt carries the executor's signature, and stands in its batch by path and header.
 *   2. The evidence opens, under the receipt's roots and the model's digest, what the step reads; the step is computed
 *      again (step/check-step.ts) and gives something else than what was committed.
 *   3. What no hash binds (segments, sums) the executor has signed, for this claim and node.
 * What such a file does not show: that the order was open, or that the chain took the fault in time.
 */
import { AbiCoder, recoverAddress } from 'ethers';
import { z } from 'zod';
import { AssayError } from '../../common/errors.js';
import { batchHash } from '../../receipts/batch.js';
import { hashOpening, hashReceipt, receiptStructHash } from '../../receipts/eip712.js';
import { leafHash, verifyPath } from '../../receipts/merkle.js';
import { formatReceiptFile, parseReceiptFile, type ReceiptFile } from '../../receipts/receipt-file.js';
import type { Hex, Verdict } from '../../receipts/types.js';
import {
  FAULTS,
  NODE_KINDS,
  type Fault,
  type GameNode,
  type StepEvidence,
} from '../../verifier-contracts/dispute-types.js';
import { contentHash, nodeIdOf } from '../nodes/ids.js';
import { checkStep } from '../step/check-step.js';
import { STEP_EVIDENCE_TYPE } from '../step/encode-evidence.js';
import type { FaultPlace } from '../step/find-fault.js';

const EVIDENCE_FILE_VERSION = 1;
/** A fault's evidence is below the largest transaction; a receipt file may carry a proof. */
const MOST_CHARS = 8 * 1024 * 1024;

/** Something that only the executor could say, with his signature. */
export interface Statement {
  readonly node: GameNode;
  readonly content: Hex;
  readonly signature: Hex;
}

export interface EvidenceFile {
  /** With its place in the batch. */
  readonly receipt: ReceiptFile;
  readonly fault: Fault;
  /** As the step contract reads it. */
  readonly evidence: Hex;
  /** Longest contraction of one step, as the step contract has it. */
  readonly maxContraction: number;
  readonly statements: readonly Statement[];
  /** Where the fault is, in words; for the reader, checked by nobody. */
  readonly place: FaultPlace;
}

const hex = z.custom<Hex>(
  (value) => typeof value === 'string' && /^0x([0-9a-f]{2})*$/.test(value),
  'expected 0x and lower-case hex bytes',
);
const number = z.int().min(0);

const schema = z.strictObject({
  version: z.literal(EVIDENCE_FILE_VERSION),
  receipt: z.record(z.string(), z.unknown()),
  fault: z.enum(FAULTS),
  evidence: hex,
  maxContraction: number.min(1),
  statements: z
    .array(
      z.strictObject({
        node: z.strictObject({
          kind: z.enum(NODE_KINDS),
          slot: number,
          height: number,
          first: number,
          count: number,
        }),
        content: hex,
        signature: hex,
      }),
    )
    .max(1_024),
  place: z.strictObject({
    operator: z.string().max(500),
    slot: number.nullable(),
    element: number.nullable(),
    committed: z.string().max(100).nullable(),
    recomputed: z.string().max(100).nullable(),
  }),
});

export function formatEvidenceFile({ receipt, ...rest }: EvidenceFile): string {
  const file = { version: EVIDENCE_FILE_VERSION, receipt: JSON.parse(formatReceiptFile(receipt)) as unknown, ...rest };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** @param source for messages. @throws AssayError EVIDENCE_FILE_MALFORMED, RECEIPT_FILE_MALFORMED */
export function parseEvidenceFile(text: string, source: string): EvidenceFile {
  const malformed = (found: string): AssayError =>
    new AssayError('EVIDENCE_FILE_MALFORMED', `${source}: ${found}`, { meta: { file: source } });
  if (text.length > MOST_CHARS) throw malformed(`${text.length} characters, expected at most ${MOST_CHARS}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw malformed(`not JSON: ${(cause as Error).message.slice(0, 300)}`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw malformed(`${issue.path.join('.') || 'file'}: ${issue.message.slice(0, 300)}`);
  }
  const { receipt, fault, evidence, maxContraction, statements, place } = parsed.data;
  return {
    receipt: parseReceiptFile(JSON.stringify(receipt), `${source}: receipt`),
    fault,
    evidence,
    maxContraction,
    statements,
    place,
  };
}

/**
 * Is the fault there? `valid`: the claim is shown to be wrong. Needs nothing but the file.
 */
export function checkEvidence(file: EvidenceFile): Verdict {
  const { receipt: carried, fault, statements } = file;
  const { receipt, signature, batch, domain } = carried;
  const invalid = (reason: string): Verdict => ({ verdict: 'invalid', reason });
  if (!isSignedBy(hashReceipt(receipt, domain), signature, receipt.executor))
    return invalid('the receipt is not signed by its executor');
  if (batch === undefined) return invalid('the receipt has no place in a batch');
  const { header, index, path } = batch;
  const leaf = leafHash(index, header.lane, receiptStructHash(receipt));
  if (!verifyPath(leaf, index, header.count, path, header.batchRoot))
    return invalid('the receipt does not stand in that batch');
  let evidence: StepEvidence;
  try {
    evidence = decodeEvidence(file.evidence);
  } catch (error) {
    return invalid(`the evidence cannot be read: ${(error as Error).message.slice(0, 200)}`);
  }
  const found = checkStep(receipt, fault, evidence, file.maxContraction);
  if (found.verdict === 'right') return invalid('the step is right');
  if (found.verdict === 'invalid') return invalid(`the evidence does not open what it must: ${found.reason}`);
  if (found.verdict === 'needsSums')
    return { verdict: 'undetermined', reason: `a contraction of ${found.length} is longer than one step may be` };
  if (found.verdict === 'undetermined') return { verdict: 'undetermined', reason: found.reason };
  for (const relied of found.relies) {
    const statement = statements.find(({ node }) => nodeIdOf(node) === relied.nodeId);
    if (statement === undefined || contentHash(statement.content) !== relied.contentHash)
      return invalid(`it rests on node ${relied.nodeId}, which is not among the statements`);
    const opening = {
      orderHash: receipt.orderHash,
      batchHash: batchHash(header, domain),
      index,
      nodeId: relied.nodeId,
      contentHash: relied.contentHash,
    };
    if (!isSignedBy(hashOpening(opening, domain), statement.signature, receipt.executor))
      return invalid(`node ${relied.nodeId} is not signed by the executor`);
  }
  return { verdict: 'valid' };
}

function isSignedBy(digest: Hex, signature: Hex, expected: Hex): boolean {
  try {
    return recoverAddress(digest, signature).toLowerCase() === expected;
  } catch {
    return false;
  }
}

/** @throws where it is no encoding of an evidence, or holds a number that no field of ours does */
export function decodeEvidence(encoded: Hex): StepEvidence {
  const [value] = AbiCoder.defaultAbiCoder().decode([STEP_EVIDENCE_TYPE], encoded) as unknown as [Value];
  return {
    model: {
      ...numbers(value['model'], ['opCount', 'descriptorCount']),
      ...hexes(value['model'], ['graphRoot', 'weightsRoot', 'modelKeyHash']),
      descriptors: list(value['model'], 'descriptors').map((one) => ({
        ...numbers(one, ['index']),
        ...hexes(one, ['encoded']),
        path: hashes(one, 'path'),
      })),
    },
    ...numbers(value, ['slotCount', 'value', 'element', 'witness', 'portCount']),
    ...hexes(value, ['portTensor']),
    portPath: hashes(value, 'portPath'),
    slots: list(value, 'slots').map((one) => ({
      ...numbers(one, ['slot', 'position', 'segment']),
      path: hashes(one, 'path'),
      tensor: tensorOf(one['tensor']),
    })),
    constants: list(value, 'constants').map((one) => ({
      ...numbers(one, ['descriptor', 'ordinal']),
      tensor: tensorOf(one['tensor']),
    })),
    commitTable: tensorOf(value['commitTable']),
    segments: list(value, 'segments').map((one) => ({ node: nodeOf(one['node']), roots: hashes(one, 'roots') })),
    sums: list(value, 'sums').map((one) => ({
      node: nodeOf(one['node']),
      ...numbers(one, ['value', 'element']),
      parts: [...(one['parts'] as bigint[])],
    })),
  };
}

type Value = Readonly<Record<string, unknown>>;

const list = (value: unknown, name: string): Value[] => [...((value as Value)[name] as Value[])];
const hashes = (value: unknown, name: string): Hex[] => [...((value as Value)[name] as Hex[])];

function hexes<N extends string>(value: unknown, names: readonly N[]): Record<N, Hex> {
  return Object.fromEntries(names.map((name) => [name, (value as Value)[name]])) as Record<N, Hex>;
}

function numbers<N extends string>(value: unknown, names: readonly N[]): Record<N, number> {
  return Object.fromEntries(
    names.map((name) => {
      const found = (value as Value)[name] as bigint;
      if (found > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error(`${name} is ${found}`);
      return [name, Number(found)];
    }),
  ) as Record<N, number>;
}

const tensorOf = (value: unknown): StepEvidence['commitTable'] => ({
  ...hexes(value, ['header', 'treeValue']),
  runs: list(value, 'runs').map((run) => ({
    ...numbers(run, ['firstChunk']),
    ...hexes(run, ['elements']),
    path: hashes(run, 'path'),
  })),
});

function nodeOf(value: unknown): GameNode {
  const { kind, ...rest } = numbers(value, ['kind', 'slot', 'height', 'first', 'count']);
  const name = NODE_KINDS[kind];
  if (name === undefined) throw new Error(`there is no kind of node ${kind}`);
  return { kind: name, ...rest };
}
