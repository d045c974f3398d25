/** Ties a database to the contract whose batches, nonces and seeds its tables hold. */
import { AssayError } from '../../common/errors.js';
import type { ReceiptDomain } from '../../receipts/types.js';
import type { Database } from './database.js';

/**
 * The first to come writes chain and contract down; everybody later must name the same.
 * @throws AssayError CHAIN_MISMATCH, DATABASE_UNAVAILABLE
 */
export async function bindDeployment(database: Database, domain: ReceiptDomain): Promise<void> {
  const wanted = { chainId: String(domain.chainId), rollup: domain.verifyingContract };
  await database.execute('UPDATE assay.deployment SET chain_id = $1, rollup = $2 WHERE chain_id IS NULL', [
    wanted.chainId,
    wanted.rollup,
  ]);
  const [found] = await database.query<{ chainId: string; rollup: string }>(
    'SELECT chain_id AS "chainId", rollup FROM assay.deployment',
  );
  if (found!.chainId === wanted.chainId && found!.rollup === wanted.rollup) return;
  throw new AssayError(
    'CHAIN_MISMATCH',
    `The database belongs to the rollup ${found!.rollup} on chain ${found!.chainId}; ` +
      `the one named is ${wanted.rollup} on chain ${wanted.chainId}. Name the former, or take a new data directory or database.`,
    { meta: { expected: found, found: wanted } },
  );
}
