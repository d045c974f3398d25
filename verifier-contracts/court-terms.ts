/** How QuorumCourt.sol works, as its constructor checks it. */
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';

export interface CourtTerms {
  /** Blocks from the commit to the block whose hash makes the draw unpredictable; 1 to 2^32 - 1. */
  readonly beaconDelay: number;
  /** From the commit until the verdict must be in, by the contract's clock; 1 to 2^32 - 1. */
  readonly auditWindow: number;
  /** Share of bound receipts that is audited, in millionths; 1 to 1,000,000. */
  readonly drawRatePpm: number;
  /** Auditors that must sign a verdict: more than half of them. */
  readonly quorum: number;
  /** Lower-case addresses, strictly ascending, 1 to 32. */
  readonly auditors: readonly Hex[];
}

/** The constructor's checks, made before any gas is spent. @throws AssayError COURT_TERMS_INVALID */
export function checkCourtTerms(terms: CourtTerms): void {
  checkRange('beaconDelay', terms.beaconDelay, 1, 2 ** 32 - 1);
  checkRange('auditWindow', terms.auditWindow, 1, 2 ** 32 - 1);
  checkRange('drawRatePpm', terms.drawRatePpm, 1, 1_000_000);
  const m = terms.auditors.length;
  checkRange('number of auditors', m, 1, 32);
  terms.auditors.forEach((auditor, i) => {
    if (!/^0x[0-9a-f]{40}$/.test(auditor) || /^0x0{40}$/.test(auditor)) {
      throw invalid(`auditors[${i}]: expected a lower-case address, found ${auditor}`);
    }
    if (i > 0 && auditor <= terms.auditors[i - 1]!) {
      throw invalid(`auditors[${i}]: expected strictly ascending addresses, found ${auditor}`);
    }
  });
  checkRange('quorum', terms.quorum, Math.floor(m / 2) + 1, m);
}

function checkRange(field: string, value: number, lo: number, hi: number): void {
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw invalid(`${field}: expected a whole number from ${lo} to ${hi}, found ${value}`);
  }
}

function invalid(found: string): AssayError {
  return new AssayError('COURT_TERMS_INVALID', `court: ${found}`);
}
