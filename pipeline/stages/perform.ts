/** A call of the contract for one batch, made once; where it was mined but reverted, another try is another intent. */
import { AssayError } from '../../common/errors.js';
import type { Call } from '../../verifier-contracts/rollup-client.js';
import type { Performed } from '../chain/transaction-journal.js';
import type { StageContext } from './context.js';

/** Tries beyond this are pointless: the call is refused at estimation, or something is wrong that gas cannot mend. */
const MOST_REVERTS = 5;

/**
 * @returns the mined transaction, or null while it is not mined.
 * @throws AssayError CHAIN_REVERTED when the call would revert, or was mined and reverted too often.
 */
export async function performForBatch(
  context: StageContext,
  what: 'commit' | 'seed' | 'verdict',
  batchHash: string,
  call: Call,
): Promise<Performed | null> {
  const reverted = await context.database.query(
    `SELECT 1 FROM assay.intents i JOIN assay.txs t ON t.hash = i.mined_tx WHERE i.key LIKE $1 AND t.reverted`,
    [`${what}-${batchHash}-%`],
  );
  if (reverted.length >= MOST_REVERTS) {
    throw new AssayError(
      'CHAIN_REVERTED',
      `${what} of batch ${batchHash} was mined and reverted ${reverted.length} times.`,
      { meta: { what, batchHash } },
    );
  }
  const performed = await context.journal.perform(`${what}-${batchHash}-${reverted.length}`, call);
  if (performed?.reverted === true) {
    throw new AssayError(
      'CHAIN_REVERTED',
      `${what} of batch ${batchHash} was mined in ${performed.hash} and reverted.`,
      { meta: { what, batchHash, hash: performed.hash } },
    );
  }
  return performed;
}
