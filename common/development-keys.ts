/**
 * The accounts of the local development chain. Their keys come from a phrase that everybody knows, so on any other
 * chain what they own is anybody's and what they sign proves nothing.
 */
import { HDNodeWallet } from 'ethers';

/** Chain id of the local development chain, anvil's default. */
export const DEVELOPMENT_CHAIN_ID = 31337n;

const PHRASE = 'test test test test test test test test test test test junk';
/** Accounts that anvil funds. */
const ACCOUNTS = 10;

let addresses: ReadonlySet<string> | undefined;

/** Is this the address of one of the development chain's ten publicly known keys? @param address in any case. */
export function isDevelopmentAccount(address: string): boolean {
  if (addresses === undefined) {
    const parent = HDNodeWallet.fromPhrase(PHRASE, undefined, "m/44'/60'/0'/0");
    addresses = new Set(
      Array.from({ length: ACCOUNTS }, (_, account) => parent.deriveChild(account).address.toLowerCase()),
    );
  }
  return addresses.has(address.toLowerCase());
}
