/** Amounts of the settlement token as people write them: decimal numbers of its unit. Inside, the smallest unit counts. */
import { formatUnits, Interface, parseUnits, type Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';

export interface TokenUnit {
  readonly symbol: string;
  /** Digits behind the point. */
  readonly decimals: number;
}

/** Of the chain's own coin. */
export const COIN: TokenUnit = { symbol: 'coins', decimals: 18 };

const metadata = new Interface(['function symbol() view returns (string)', 'function decimals() view returns (uint8)']);

/** @throws AssayError CHAIN_REVERTED, CHAIN_MISMATCH (no token, or one that does not say its unit), CHAIN_UNAVAILABLE */
export async function tokenUnit(provider: Provider, token: Hex): Promise<TokenUnit> {
  const ask = async (name: 'symbol' | 'decimals'): Promise<unknown> => {
    try {
      return metadata.decodeFunctionResult(
        name,
        await provider.call({ to: token, data: metadata.encodeFunctionData(name) }),
      )[0];
    } catch (error) {
      throw chainError(error, metadata, `token ${token}: ${name}`);
    }
  };
  const symbol = (await ask('symbol')) as string;
  // The token's word for itself goes to a terminal.
  return { symbol: /^[\x21-\x7e]{1,16}$/.test(symbol) ? symbol : 'tokens', decimals: Number(await ask('decimals')) };
}

/** @param text as in `1.5`. @throws AssayError CONFIG_INVALID */
export function parseAmount(text: string, { symbol, decimals }: TokenUnit): bigint {
  const invalid = (why: string): AssayError =>
    new AssayError('CONFIG_INVALID', `amount "${text.slice(0, 80)}": ${why}`, {
      mend: `Give a number of ${symbol} above 0, as in 1.5.`,
    });
  const match = /^(\d{1,40})(?:\.(\d+))?$/.exec(text);
  if (match === null) throw invalid(`expected a decimal number of ${symbol}`);
  if ((match[2]?.length ?? 0) > decimals) throw invalid(`${symbol} has ${decimals} digits behind the point`);
  const amount = parseUnits(text, decimals);
  if (amount === 0n) throw invalid('expected more than 0');
  return amount;
}

/** As in `1.5 WNATIVE`. */
export const amountText = (amount: bigint, { symbol, decimals }: TokenUnit): string =>
  `${formatUnits(amount, decimals).replace(/\.0$/, '')} ${symbol}`;
