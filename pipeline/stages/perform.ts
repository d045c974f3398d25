/** A call of the contracts for one order, opening or batch, made once; where it was mined but reverted, another try is another intent. */
import { AssayError } from '../../common/errors.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import type { Performed } from '../chain/transaction-journal.js';
import { failPoint } from '../fail-points.js';
import type { StageContext } from './context.js';

export type Effect = 'open' | 'publish' | 'commit' | 'seed' | 'verdict' | 'pay' | 'expire';
/** What a test may kill the process around. */
type Watched = 'open' | 'post-proved' | 'pay' | 'expire';

/** Tries beyond this are pointless: the call is refused at estimation, or something is wrong that gas cannot mend. */
const MOST_REVERTS = 5;

/**
 * @param subject of the effect, and of its intents' keys: `effect-subject-try`
 * @returns the mined transaction, or null while it is not mined.
 * @throws AssayError CHAIN_REVERTED when the call would revert, or was mined and reverted too often.
 */
export async function performOnce(
  context: StageContext,
  effect: Effect,
  subject: string,
  call: Call,
  watched?: Watched,
): Promise<Performed | null> {
  const { database, journal } = context;
  const reverted = await database.query(
    `SELECT 1 FROM assay.intents i JOIN assay.txs t ON t.hash = i.mined_tx WHERE i.key LIKE $1 AND t.reverted`,
    [`${effect}-${subject}-%`],
  );
  const which = `${effect} of ${subject}`;
  if (reverted.length >= MOST_REVERTS) {
    throw new AssayError('CHAIN_REVERTED', `${which} was mined and reverted ${reverted.length} times.`, {
      meta: { effect, subject, reverts: reverted.length },
    });
  }
  const key = `${effect}-${subject}-${reverted.length}`;
  if (watched !== undefined) failPoint(`${watched}.before-sign`);
  await journal.prepare(key, call);
  if (watched !== undefined) failPoint(`${watched}.after-stored`);
  const performed = await journal.perform(key, call);
  if (performed !== null && watched !== undefined) failPoint(`${watched}.after-mined`);
  if (performed?.reverted === true) {
    throw new AssayError('CHAIN_REVERTED', `${which} was mined in ${performed.hash} and reverted.`, {
      meta: { effect, subject, hash: performed.hash },
    });
  }
  return performed;
}

/** Is a transaction of the effect signed and not known to be mined? */
export async function isOnItsWay({ database }: StageContext, effect: Effect, subject: string): Promise<boolean> {
  const stored = await database.query('SELECT 1 FROM assay.intents WHERE key LIKE $1 AND mined_tx IS NULL', [
    `${effect}-${subject}-%`,
  ]);
  return stored.length > 0;
}

/** The contract's own name for why it refused; null for any other failure. */
export function refusalOf(error: unknown): { readonly name: string; readonly args: readonly string[] } | null {
  if (!(error instanceof AssayError) || error.code !== 'CHAIN_REVERTED') return null;
  const { error: name, args } = error.meta as { error?: unknown; args?: readonly string[] };
  return typeof name === 'string' ? { name, args: args ?? [] } : null;
}

/** Was it refused at estimation without a word of the contracts (out of gas, most likely), or is it worn out? */
export function failsUnexplained(error: unknown): error is AssayError {
  if (!(error instanceof AssayError) || error.code !== 'CHAIN_REVERTED') return false;
  return isWornOut(error) || (error.meta['error'] === undefined && error.meta['hash'] === undefined);
}

/** Was it mined and reverted too often, so that it is not sent any more? */
export const isWornOut = ({ meta }: AssayError): boolean => meta['reverts'] !== undefined;

/** Has the block of a transaction as many on top of it, its own included, as are wanted? */
export async function isDeepEnough(context: StageContext, { blockNumber }: Performed): Promise<boolean> {
  return (await context.chain.blockNumber()) - blockNumber + 1 >= context.confirmations;
}
