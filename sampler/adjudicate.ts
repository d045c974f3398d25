/**
 * The verdict over one drawn receipt.
 *
 * On integers the truth is decidable by anybody who computes again; the majority of three is how the round finds it
 * without a court. Parties are independent (rank-checkers.ts), each on its own engine.
 *
 *   checker agrees with the receipt                     cleared
 *   differs, third agrees with the checker              executor at fault
 *   differs, third agrees with the receipt              checker at fault, receipt cleared
 *   three different results                             undetermined: nobody is condemned
 *   checker or third silent                             undetermined: a network failure is never a fraud
 *   differs, no third asked yet                         undetermined, `needsThird`
 *
 * Two results are equal where their three roots are: the roots bind every integer of input, output and trace.
 */
import { AssayError } from '../common/errors.js';
import type { Hex, Verdict } from '../receipts/types.js';
import type { Party } from './rank-checkers.js';

export interface Roots {
  readonly inputRoot: Hex;
  readonly outputRoot: Hex;
  readonly traceRoot: Hex;
}

/** What a party that was asked came back with. */
export type Answer =
  | { readonly kind: 'result'; readonly party: Party; readonly roots: Roots }
  | { readonly kind: 'silent'; readonly party: Party; readonly reason: string };

export interface Adjudication {
  /** About the receipt. */
  readonly verdict: Verdict;
  readonly faulty: 'executor' | 'checker' | null;
  /** A third party has to compute before there is a verdict. */
  readonly needsThird: boolean;
}

/**
 * @param executor what the receipt says: an executor has always answered
 * @throws AssayError PARTY_REPEATED where one address or operator speaks twice
 */
export function adjudicate(executor: { party: Party; roots: Roots }, checker: Answer, third?: Answer): Adjudication {
  refuseRepeated([executor.party, checker.party, ...(third === undefined ? [] : [third.party])]);
  if (checker.kind === 'silent')
    return open(`checker ${checker.party.address} did not answer: ${checker.reason}`, false);
  const differing = differingRoots(executor.roots, checker.roots);
  if (differing.length === 0) return { verdict: { verdict: 'valid' }, faulty: null, needsThird: false };
  const what = `the re-execution on ${checker.party.engine} has another ${differing.join(', ')}`;
  if (third === undefined) return open(`${what}; a third party has to decide`, true);
  if (third.kind === 'silent')
    return open(`${what}; third party ${third.party.address} did not answer: ${third.reason}`, true);
  if (differingRoots(checker.roots, third.roots).length === 0) {
    const reason = `${what}, and ${third.party.engine} agrees with it`;
    return { verdict: { verdict: 'invalid', reason }, faulty: 'executor', needsThird: false };
  }
  if (differingRoots(executor.roots, third.roots).length === 0) {
    return { verdict: { verdict: 'valid' }, faulty: 'checker', needsThird: false };
  }
  return open(`${what}, and ${third.party.engine} a third one`, false);
}

function open(reason: string, needsThird: boolean): Adjudication {
  return { verdict: { verdict: 'undetermined', reason }, faulty: null, needsThird };
}

/** Names of the roots that differ. */
export function differingRoots(a: Roots, b: Roots): (keyof Roots)[] {
  return (['inputRoot', 'outputRoot', 'traceRoot'] as const).filter((root) => a[root] !== b[root]);
}

function refuseRepeated(parties: readonly Party[]): void {
  for (const field of ['address', 'operator'] as const) {
    const values = parties.map((party) => party[field]);
    if (new Set(values).size !== values.length) {
      throw new AssayError('PARTY_REPEATED', `adjudication: one ${field} speaks twice: ${values.join(', ')}`);
    }
  }
}
