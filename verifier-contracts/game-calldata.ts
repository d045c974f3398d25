/**
 * Reads demands and answers back from the calldata of their transactions.
 *
 * Whoever sends chooses the bytes, and Solidity takes more encodings than an ordinary decoder does: no padding behind the
 * last bytes, tails in any order, or shared. So byte strings are found by their offsets as Solidity finds them; a content that
 * the contract has read is never unreadable here.
 */
import { Interface, type Result } from 'ethers';
import type { Hex } from '../receipts/types.js';
import { disputeGameAbi } from './bindings/DisputeGame.js';
import type { NodePath } from './dispute-types.js';
import { pathOfValue } from './game-values.js';

const abi = new Interface(disputeGameAbi);
const SELECTOR_BYTES = 4;
const WORD_BYTES = 32;

/** Words of the arguments: a Claim stands in line with 22 (receipt 12, header 9, index 1), a Node with 5, bytes with an offset. */
const [CLAIM_WORDS, NODE_WORDS] = [22, 5];
const OFFSETS = {
  /** claim's name, node, content */
  answer: { content: 1 + NODE_WORDS },
  /** claim, node, content, signature */
  state: { content: CLAIM_WORDS + NODE_WORDS, signature: CLAIM_WORDS + NODE_WORDS + 1 },
  /** claim, node, path, evidence */
  demand: { evidence: CLAIM_WORDS + NODE_WORDS + 1 },
} as const;

export interface AnswerCalldata {
  readonly content: Hex;
  /** The executor's, where no hash binds the content; else null. */
  readonly signature: Hex | null;
}

export interface DemandCalldata {
  /** Null where it is encoded in a way that only the contract reads. */
  readonly path: NodePath | null;
  readonly evidence: Hex;
}

/** Null for the calldata of another call. */
export function readAnswer(data: Hex): AnswerCalldata | null {
  const answered = bytesOf('answer', data, OFFSETS.answer.content);
  if (answered !== null) return { content: answered, signature: null };
  const content = bytesOf('state', data, OFFSETS.state.content);
  const signature = bytesOf('state', data, OFFSETS.state.signature);
  return content === null || signature === null ? null : { content, signature };
}

/** Null for the calldata of another call. */
export function readDemand(data: Hex): DemandCalldata | null {
  const evidence = bytesOf('demand', data, OFFSETS.demand.evidence);
  if (evidence === null) return null;
  let path: NodePath | null = null;
  try {
    path = pathOfValue(abi.decodeFunctionData('demand', data)[2] as Result);
  } catch {
    // Nobody needs the path of a demand to answer it: it is shown from the answerer's own trace.
  }
  return { path, evidence };
}

function bytesOf(name: string, data: Hex, word: number): Hex | null {
  if (data.slice(0, 2 + 2 * SELECTOR_BYTES) !== abi.getFunction(name)!.selector) return null;
  const bytes = Buffer.from(data.slice(2), 'hex');
  const offset = wordAt(bytes, SELECTOR_BYTES + word * WORD_BYTES);
  if (offset === null || offset > BigInt(bytes.length)) return null;
  const start = SELECTOR_BYTES + Number(offset);
  const length = wordAt(bytes, start);
  if (length === null || length > BigInt(bytes.length - start - WORD_BYTES)) return null;
  return `0x${bytes.subarray(start + WORD_BYTES, start + WORD_BYTES + Number(length)).toString('hex')}`;
}

function wordAt(bytes: Buffer, start: number): bigint | null {
  if (start + WORD_BYTES > bytes.length) return null;
  return BigInt(`0x${bytes.subarray(start, start + WORD_BYTES).toString('hex')}`);
}
