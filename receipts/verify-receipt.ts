/**
 * Checks a receipt file against the chain, trusting nothing but the provider and the rollup's address.
 *
 * Each check is reported by itself; `verdict` is invalid if any is invalid, else undetermined if any is
 * undetermined, else valid. Checks:
 *   settlement  the receipt is for this rollup on the chain that the provider serves
 *   signature   the executor signed it
 *   terms       it delivers what the order in the file asked for, and the requester signed that order; an order that
 *               nobody signed may be anybody's invention, so that it is undetermined. Of a receipt that the contract
 *               knows under this order's hash nobody asks: without the requester's consent, given then, Escrow would not
 *               have opened the order, and what his wallet says today (ERC-1271) takes nothing back
 *   acceptance  the executor accepted that order
 *   position    the header is of the receipt's lane and policy, the index lies in it and is not marked unbound
 *   path        the receipt stands at that index under the batch's root
 *   status      the contract knows the header and calls the receipt final
 *   model       what the reader checks tensors and proof with is of the receipt's model; another one shows nothing,
 *               neither for the receipt nor against it, so that they are not checked
 *   inputs, outputs   the tensors in the file lie under the receipt's roots
 *   proof       zk lane: the proof in the file shows, for this order, that the receipt's model gives its output on its
 *               input; the reader's own function checks it (`zkProof`), since a key of the model is needed. Not listed
 *               where the file carries none and the contract calls the receipt final-zk: it has checked a proof then
 * What the file does not carry (order, batch, tensors) is not listed, except that a receipt without batch has an
 * undetermined `status`; not so in the zk lane, whose receipts stand by their proof, posted or not. Without a provider
 * nothing is asked of the chain: a receipt of the zk lane can do without, any other is undetermined. Tensors are
 * undetermined when no way to recompute their root is given: a reader of the file takes its outputs for the receipt's,
 * and nothing else says that they are.
 */
import { Interface, type Provider } from 'ethers';
import { AssayError } from '../common/errors.js';
import { ask } from './ask.js';
import type { BatchHeader } from './batch.js';
import { laneNumber, RECEIPT_TYPES, receiptStructHash, receiptValue } from './eip712.js';
import { leafHash, verifyPath } from './merkle.js';
import type { BatchPosition, ReceiptFile, ZkEvidence } from './receipt-file.js';
import { verifyAcceptance, verifyOrderSignature, verifyReceiptSignature } from './signature.js';
import { checkTerms } from './terms.js';
import type { Hex, Receipt, ReceiptDomain, Verdict } from './types.js';

/** In the order of the contract's enum `Status`. */
export const RECEIPT_STATUSES = [
  'unknown',
  'pending',
  'challengeable',
  'final-zk',
  'final-optimistic',
  'final-sampled',
  'void',
  'invalid',
] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

/** How deep in the chain an answer must lie: newest block, safe head, finalized head. */
export const SETTLEMENTS = { soft: 'latest', safe: 'safe', finalized: 'finalized' } as const;
export type Settlement = keyof typeof SETTLEMENTS;

export type ReceiptCheckName =
  | 'settlement'
  | 'signature'
  | 'terms'
  | 'acceptance'
  | 'position'
  | 'path'
  | 'status'
  | 'model'
  | 'inputs'
  | 'outputs'
  | 'proof';

export interface ReceiptCheck {
  readonly verdict: Verdict;
  /** What the contract says; null where it was not asked or did not answer. */
  readonly status: ReceiptStatus | null;
  readonly checks: Readonly<Partial<Record<ReceiptCheckName, Verdict>>>;
}

/** What a proof must show, and the proof. */
export interface ZkProofQuestion {
  readonly receipt: Receipt;
  readonly domain: ReceiptDomain;
  readonly evidence: ZkEvidence;
  /** The tensors in the file, which `checks.inputs` holds against the receipt. */
  readonly inputs: readonly (readonly number[])[];
  readonly outputs?: readonly (readonly number[])[];
}

/**
 * What a proof was found to show: the outputs, one list per graph output, that the receipt's model gives on these
 * inputs. Or the verdict where it shows nothing.
 */
export type ZkProofAnswer =
  { readonly outputs: readonly (readonly number[])[] } | Exclude<Verdict, { verdict: 'valid' }>;

/**
 * The root of the tensors, or why it cannot be told.
 * @param expected what the receipt says, where several roots are possible for the asker
 */
export type RootOf = (
  tensors: readonly (readonly number[])[],
  items: number,
  expected: Hex,
) => Hex | Extract<Verdict, { verdict: 'undetermined' }>;

export interface VerifyReceiptOptions {
  /** Absent: the chain is not asked. */
  readonly provider?: Provider | undefined;
  /** The rollup that the reader trusts; never taken from the file. Absent: no claim about where the receipt is for. */
  readonly rollup?: Hex | undefined;
  /** @default 'finalized' */
  readonly settlement?: Settlement;
  /** Per question to the provider. @default 15000 */
  readonly timeoutMs?: number;
  /** The model that the functions below are for: where the receipt names another, they are not asked. */
  readonly modelDigest?: Hex;
  /**
   * Recompute the root of the tensors in the file, from the model's bundle. Where they throw an AssayError of kind
   * usage (wrong number, length or range of tensors), the tensors are invalid.
   */
  readonly inputRoot?: RootOf;
  readonly outputRoot?: RootOf;
  /**
   * Checks the proof of a receipt of the zk lane, with a key of the model that the reader has. The chain that it is told
   * is the file's word, which only `checks.settlement` holds against a provider.
   */
  readonly zkProof?: (question: ZkProofQuestion) => ZkProofAnswer;
}

const RECEIPT_TUPLE = `(${RECEIPT_TYPES['Receipt']!.map(({ type, name }) => `${type} ${name}`).join(', ')})`;
const HEADER_TUPLE =
  '(uint8 lane, uint32 count, uint48 committedAt, uint48 committedBlock, address poster, bytes32 salt, bytes32 batchRoot, bytes32 policyHash, uint256 unbound)';
const rollupAbi = new Interface([
  `function statusOf(${RECEIPT_TUPLE} receipt, uint256 index, bytes32[] path, ${HEADER_TUPLE} header) view returns (uint8)`,
]);

/** The header as the contract's ABI takes it. @throws AssayError RECEIPT_FIELD_INVALID */
export function headerValue(header: BatchHeader): Record<string, string | number | bigint> {
  return { ...header, lane: laneNumber('header', header.lane) };
}

const NO_TRACE: Hex = `0x${'00'.repeat(32)}`;

const VALID: Verdict = { verdict: 'valid' };
const invalid = (reason: string): Verdict => ({ verdict: 'invalid', reason });
const undetermined = (reason: string): Verdict => ({ verdict: 'undetermined', reason });

/** @throws AssayError RECEIPT_FIELD_INVALID for a file that did not come from `parseReceiptFile` */
export async function verifyReceipt(file: ReceiptFile, options: VerifyReceiptOptions): Promise<ReceiptCheck> {
  const timeoutMs = options.timeoutMs ?? 15_000;
  const { provider } = options;
  const { receipt, domain } = file;
  const asksChain = provider !== undefined && options.rollup !== undefined;
  const checks: Partial<Record<ReceiptCheckName, Verdict>> = {};

  const settlement = await checkSettlement(file, options, timeoutMs);
  if (settlement !== null) checks.settlement = settlement;
  checks.signature = await verifyReceiptSignature(receipt, file.signature, domain, provider, timeoutMs);
  let status: ReceiptStatus | null = null;
  if (file.batch !== undefined) {
    checks.position = checkPosition(receipt, file.batch);
    checks.path = checkPath(receipt, file.batch);
    // Where nobody asks the chain, a receipt of the zk lane stands by its proof.
    if (asksChain || receipt.lane !== 'zk')
      ({ status, verdict: checks.status } = await checkStatus(receipt, file.batch, options, timeoutMs));
  } else if (receipt.lane !== 'zk') {
    checks.status = undetermined('the receipt has not been posted in a batch');
  }
  if (file.order !== undefined) {
    const isBound = status !== null && status !== 'unknown';
    const terms = checkTerms(receipt, file.order, domain);
    // Of a posted receipt the chain's `status` says whether it was in time; nothing else is open in the terms.
    const open = terms.verdict === 'undetermined' && !(file.batch !== undefined && asksChain);
    if (terms.verdict === 'invalid' || open) checks.terms = terms;
    else if (isBound) checks.terms = VALID;
    else if (file.orderSignature === undefined) {
      checks.terms = undetermined('the order in the file does not carry the signature of its requester');
    } else checks.terms = await verifyOrderSignature(file.order, file.orderSignature, domain, provider, timeoutMs);
    if (file.acceptance !== undefined) checks.acceptance = verifyAcceptance(file.order, file.acceptance, domain);
  }
  const { modelDigest: given } = options;
  if (given !== undefined) checks.model = checkModel(receipt, given);
  const own = given === undefined || given === receipt.modelDigest ? options : {};
  for (const [name, tensors, rootOf] of [
    ['inputs', file.inputs, own.inputRoot],
    ['outputs', file.outputs, own.outputRoot],
  ] as const) {
    if (tensors !== undefined) checks[name] = checkTensors(tensors, receipt, name, rootOf);
  }
  // A contract that calls it final has checked a proof, which a recursive batch's receipts do not carry along.
  const isProvedThere = status === 'final-zk' && file.evidence === undefined;
  if (receipt.lane === 'zk' && !isProvedThere) checks.proof = checkProof(file, own);
  return { verdict: combine(Object.entries(checks)), status, checks };
}

/** Null where nobody asks where the receipt is for: its proof then says all that there is to say. */
async function checkSettlement(
  { domain: { chainId, verifyingContract }, receipt }: ReceiptFile,
  { provider, rollup }: VerifyReceiptOptions,
  timeoutMs: number,
): Promise<Verdict | null> {
  if (rollup !== undefined && verifyingContract !== rollup) {
    return invalid(`the receipt is for contract ${verifyingContract}, not for ${rollup}`);
  }
  if (provider === undefined || rollup === undefined) {
    if (receipt.lane === 'zk') return null;
    return undetermined('a provider of its chain and the rollup that the reader trusts are needed');
  }
  const network = await ask(() => provider.getNetwork(), timeoutMs);
  if (network.kind !== 'answered') return undetermined(`chain id: ${network.reason}`);
  return network.value.chainId === chainId
    ? VALID
    : invalid(`the receipt is for chain ${chainId}, the provider serves chain ${network.value.chainId}`);
}

function checkPosition(receipt: Receipt, { header, index }: BatchPosition): Verdict {
  if (header.lane !== receipt.lane) {
    return invalid(`the batch is of lane ${header.lane}, the receipt of lane ${receipt.lane}`);
  }
  if (header.policyHash !== receipt.policyHash) {
    return invalid(`the batch is under policy ${header.policyHash}, the receipt under ${receipt.policyHash}`);
  }
  if (index >= header.count) return invalid(`index ${index} lies outside a batch of ${header.count}`);
  if (((header.unbound >> BigInt(index)) & 1n) === 1n) return invalid(`leaf ${index} did not bind when it was posted`);
  return VALID;
}

function checkPath(receipt: Receipt, { header, index, path }: BatchPosition): Verdict {
  const leaf = leafHash(index, receipt.lane, receiptStructHash(receipt));
  return verifyPath(leaf, index, header.count, path, header.batchRoot)
    ? VALID
    : invalid(`the path does not lead from this receipt at index ${index} to root ${header.batchRoot}`);
}

/**
 * The status at the settled head, and where that knows nothing, at the newest block: a batch or a rollup younger than
 * the settled head is no forgery. The newest block is asked by its number, read before: a node that lags behind the
 * one that gave the number does not answer, instead of answering for an older chain. So `invalid` for want of a batch
 * is said only of a block that is not older than the commit that the header names.
 */
async function checkStatus(
  receipt: Receipt,
  { header, index, path }: BatchPosition,
  { provider, rollup, settlement = 'finalized' }: VerifyReceiptOptions,
  timeoutMs: number,
): Promise<{ status: ReceiptStatus | null; verdict: Verdict }> {
  if (provider === undefined || rollup === undefined)
    return { status: null, verdict: undetermined('the chain was not asked') };
  const data = rollupAbi.encodeFunctionData('statusOf', [receiptValue(receipt), index, path, headerValue(header)]);
  const statusAt = async (blockTag: string | number, block: string): Promise<ReceiptStatus | Verdict> => {
    const answer = await ask(() => provider.call({ to: rollup, data, blockTag }), timeoutMs);
    if (answer.kind === 'silent') return undetermined(`status at the ${block} block: ${answer.reason}`);
    if (answer.kind === 'refused') return invalid(`contract ${rollup} refused the question: ${answer.reason}`);
    const status = /^0x0{62}[0-9a-f]{2}$/.test(answer.value) ? RECEIPT_STATUSES[Number(answer.value)] : undefined;
    return status ?? invalid(`${rollup} is no receipt rollup: it answered ${answer.value.slice(0, 80)}`);
  };
  const outcome = (at: ReceiptStatus | Verdict): { status: ReceiptStatus | null; verdict: Verdict } =>
    typeof at === 'string' ? { status: at, verdict: meaningOf(at) } : { status: null, verdict: at };
  /** Knows neither batch nor rollup: what an older chain than the commit's would say too. */
  const knowsNothing = (at: ReceiptStatus | Verdict): boolean =>
    typeof at === 'string' ? at === 'unknown' : at.verdict === 'invalid';

  if (settlement !== 'soft') {
    const settled = await statusAt(SETTLEMENTS[settlement], settlement);
    if (!knowsNothing(settled)) return outcome(settled);
  }
  const head = await ask(() => provider.getBlockNumber(), timeoutMs);
  if (head.kind !== 'answered') return { status: null, verdict: undetermined(`newest block: ${head.reason}`) };
  const newest = await statusAt(head.value, 'newest');
  if (knowsNothing(newest)) {
    if (header.committedBlock <= head.value) return outcome(newest);
    const behind = `the node stands at block ${head.value}, behind block ${header.committedBlock} of the commit`;
    return { status: outcome(newest).status, verdict: undetermined(behind) };
  }
  if (settlement === 'soft' || typeof newest !== 'string') return outcome(newest);
  return { status: newest, verdict: undetermined(`${newest} in the newest block, not yet ${settlement}`) };
}

function meaningOf(status: ReceiptStatus): Verdict {
  switch (status) {
    case 'final-zk':
    case 'final-optimistic':
    case 'final-sampled':
      return VALID;
    case 'pending':
    case 'challengeable':
      return undetermined(`not final yet: ${status}`);
    case 'void':
      return undetermined(
        'void: the round ended without a verdict on it (none in time, or one that could not decide), so the chain vouches neither for nor against it',
      );
    case 'invalid':
      return invalid('it was found to be wrong, or its executor signed another receipt for the same order');
    case 'unknown':
      return invalid('the contract has no such receipt in such a batch');
  }
}

function checkModel({ modelDigest }: Receipt, given: Hex): Verdict {
  return given === modelDigest
    ? VALID
    : undetermined(`the key or bundle given is of model ${given}, the receipt names ${modelDigest}`);
}

function checkTensors(
  tensors: readonly (readonly number[])[],
  receipt: Receipt,
  name: 'inputs' | 'outputs',
  rootOf: RootOf | undefined,
): Verdict {
  if (rootOf === undefined) {
    return undetermined(`not checked; the model's bundle is needed to recompute the root of the ${name}`);
  }
  const expected = name === 'inputs' ? receipt.inputRoot : receipt.outputRoot;
  let found: ReturnType<RootOf>;
  try {
    found = rootOf(tensors, receipt.items, expected);
  } catch (error) {
    // The tensors come from the file, not from the caller: what is wrong with them is a finding.
    if (error instanceof AssayError && error.kind === 'usage') {
      return invalid(`${name} are not tensors of this model: ${error.message}`);
    }
    throw error;
  }
  if (typeof found !== 'string') return found;
  return found === expected ? VALID : invalid(`${name} have root ${found}, the receipt says ${expected}`);
}

/** `checks.inputs` says whether the inputs are the receipt's; here the outputs that the proof shows must be. */
function checkProof(
  { receipt, domain, evidence, inputs, outputs }: ReceiptFile,
  { zkProof, outputRoot }: VerifyReceiptOptions,
): Verdict {
  // A trace root would be a claim that no proof covers.
  if (receipt.traceRoot !== NO_TRACE)
    return invalid(`traceRoot: expected zero in the zk lane, found ${receipt.traceRoot}`);
  if (evidence === undefined) return undetermined('the file carries no proof');
  if (inputs === undefined) return undetermined('the file does not carry the inputs that the proof is about');
  if (zkProof === undefined || outputRoot === undefined)
    return undetermined("not checked; the key of the receipt's model is needed");
  const answer = zkProof({ receipt, domain, evidence, inputs, ...(outputs === undefined ? {} : { outputs }) });
  if ('verdict' in answer) return answer;
  const shown = checkTensors(answer.outputs, receipt, 'outputs', outputRoot);
  if (shown.verdict !== 'invalid') return shown;
  return invalid(`it shows that the model gives another output than the receipt states: ${shown.reason}`);
}

/** Invalid before undetermined before valid; the reason names every check that has this verdict. */
function combine(checks: readonly (readonly [string, Verdict])[]): Verdict {
  for (const kind of ['invalid', 'undetermined'] as const) {
    const reasons = checks.flatMap(([name, check]) => (check.verdict === kind ? [`${name}: ${check.reason}`] : []));
    if (reasons.length > 0) return { verdict: kind, reason: reasons.join('; ') };
  }
  return VALID;
}
