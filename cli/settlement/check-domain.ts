import { AssayError } from '../../common/errors.js';
import type { ReceiptDomain } from '../../receipts/types.js';

/**
 * A file made for another chain or contract is of no use here.
 * @param file for the message
 * @throws AssayError CHAIN_MISMATCH
 */
export function checkDomain(file: string, made: ReceiptDomain, here: ReceiptDomain): void {
  if (made.chainId !== here.chainId || made.verifyingContract !== here.verifyingContract)
    throw new AssayError(
      'CHAIN_MISMATCH',
      `${file}: made for rollup ${made.verifyingContract} on chain ${made.chainId}, not for ${here.verifyingContract} on chain ${here.chainId}`,
      { mend: 'Give the endpoint of its chain and, if you trust it, its rollup.', meta: { file } },
    );
}
