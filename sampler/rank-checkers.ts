/**
 * Who re-executes a drawn receipt.
 *
 * 1. Only independent parties count: of another address, operator and engine than the executor, and than every
 *    earlier checker of this receipt. Another engine, since two runs of one engine repeat its defects and would
 *    outvote an honest party; another operator, since nobody checks himself.
 * 2. The independent ones are ranked by ticket keccak(keccak("assay/draw/checker/1") | seed | index | address). The
 *    first is asked; where he does not answer, the second, and so on.
 *
 * The ranking of those who stay does not change when somebody joins or leaves. Every independent party is equally
 * likely; weights by stake come with the contract that holds stakes.
 */
import type { Hex } from '../receipts/types.js';
import { ticket } from './ticket.js';

export interface Party {
  readonly address: Hex;
  /** Who runs it. */
  readonly operator: string;
  /** Name of the engine that computes. */
  readonly engine: string;
}

/**
 * All independent checkers of a drawn receipt, in the order in which they are asked; empty where there is none.
 * @param index of the drawn receipt in its batch
 * @param against the executor, and every earlier checker whose result counts
 * @throws AssayError DRAW_INVALID
 */
export function rankCheckers<T extends Party>(
  seed: Hex,
  index: number,
  checkers: readonly T[],
  against: readonly Party[],
): T[] {
  return checkers
    .filter((checker) => against.every((party) => independent(checker, party)))
    .map((checker) => ({ checker, ticket: ticket('assay/draw/checker/1', seed, index, checker.address) }))
    .sort((a, b) => (a.ticket < b.ticket ? -1 : 1))
    .map(({ checker }) => checker);
}

function independent(a: Party, b: Party): boolean {
  return a.address !== b.address && a.operator !== b.operator && a.engine !== b.engine;
}
