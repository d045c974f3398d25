/** Who has how much, and that the sum is all tokens that exist. */
import { Interface } from 'ethers';
import type { Hex } from '../../../receipts/types.js';
import type { SettlementClient } from '../../../verifier-contracts/settlement-client.js';
import { amountText, type TokenUnit } from '../../settlement/token-unit.js';
import { table } from '../../terminal.js';

const BURNT: Hex = '0x000000000000000000000000000000000000dead';
const supplyAbi = new Interface(['function totalSupply() view returns (uint256)']);

/** In the token's smallest unit. */
export interface Balances {
  /** By party, outside and inside the escrow, without what is in orders and deposits. */
  readonly parties: Readonly<Record<string, bigint>>;
  /** Deposits, and bounties that are left open. */
  readonly game: bigint;
  /** Prices and locks of orders that have not ended, and the reserve of audits. */
  readonly orders: bigint;
  readonly burnt: bigint;
  /** All tokens that exist. */
  readonly supply: bigint;
}

export async function balancesOf(
  { escrow, provider }: SettlementClient,
  game: Hex,
  parties: readonly { readonly name: string; readonly address: Hex }[],
): Promise<Balances> {
  const [free, outside, inGame, burnt, contract, answer] = await Promise.all([
    Promise.all(parties.map(({ address }) => escrow.freeOf(address))),
    Promise.all(parties.map(({ address }) => escrow.tokenBalanceOf(address))),
    escrow.freeOf(game),
    escrow.tokenBalanceOf(BURNT),
    escrow.tokenBalanceOf(escrow.address),
    provider.call({ to: escrow.token, data: supplyAbi.encodeFunctionData('totalSupply') }),
  ]);
  return {
    parties: Object.fromEntries(parties.map(({ name }, i) => [name, free[i]! + outside[i]!])),
    game: inGame,
    orders: contract - inGame - free.reduce((sum, one) => sum + one, 0n),
    burnt,
    supply: supplyAbi.decodeFunctionResult('totalSupply', answer)[0] as bigint,
  };
}

export const sumOf = ({ parties, game, orders, burnt }: Balances): bigint =>
  Object.values(parties).reduce((sum, one) => sum + one, game + orders + burnt);

/** Rows of parties that have changed, the pots, and the sum. */
export function moneyTable(before: Balances, after: Balances, unit: TokenUnit): string {
  const text = (amount: bigint): string => (amount < 0n ? `-${amountText(-amount, unit)}` : amountText(amount, unit));
  const row = (name: string, from: bigint, to: bigint): string[] => [name, text(from), text(to), text(to - from)];
  const names = Object.keys(after.parties);
  return table(
    ['who', 'before', 'after', 'change'],
    [
      ...names
        .map((name) => row(name, before.parties[name] ?? 0n, after.parties[name]!))
        .filter(([, , , d]) => !/^0 /.test(d!)),
      row('in the game', before.game, after.game),
      row('in orders', before.orders, after.orders),
      row('burnt', before.burnt, after.burnt),
      row('sum', sumOf(before), sumOf(after)),
      row('all tokens', before.supply, after.supply),
    ],
  );
}
