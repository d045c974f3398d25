/** The terms of a rollup deployment, as the contract checks and hashes them. */
import { AbiCoder, keccak256 } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';

export interface RollupPolicy {
  /** Blocks from the commit to the block whose hash makes the draw unpredictable; 1 to 2^32 - 1. */
  readonly beaconDelay: number;
  /** Blocks after that block in which the audit's verdict must arrive; 1 to 8,190. */
  readonly auditWindow: number;
  /** Share of bound receipts that is audited, in millionths; 1 to 1,000,000. */
  readonly drawRatePpm: number;
  /** Auditors that must sign a verdict: more than half of them. */
  readonly quorum: number;
  /** Lower-case addresses, strictly ascending, 1 to 32. */
  readonly auditors: readonly Hex[];
}

const POLICY_TYPE =
  'tuple(uint32 beaconDelay, uint32 auditWindow, uint32 drawRatePpm, uint32 quorum, address[] auditors)';

/** What `receipt.policyHash` must be for a receipt to bind. @throws AssayError ROLLUP_POLICY_INVALID */
export function policyHash(policy: RollupPolicy): Hex {
  checkPolicy(policy);
  return keccak256(AbiCoder.defaultAbiCoder().encode([POLICY_TYPE], [policy])) as Hex;
}

/** The constructor's checks, made before any gas is spent. @throws AssayError ROLLUP_POLICY_INVALID */
export function checkPolicy(policy: RollupPolicy): void {
  checkRange('beaconDelay', policy.beaconDelay, 1, 2 ** 32 - 1);
  checkRange('auditWindow', policy.auditWindow, 1, 8_190);
  checkRange('drawRatePpm', policy.drawRatePpm, 1, 1_000_000);
  const m = policy.auditors.length;
  checkRange('number of auditors', m, 1, 32);
  policy.auditors.forEach((auditor, i) => {
    if (!/^0x[0-9a-f]{40}$/.test(auditor) || /^0x0{40}$/.test(auditor)) {
      throw invalid(`auditors[${i}]: expected a lower-case address, found ${auditor}`);
    }
    if (i > 0 && auditor <= policy.auditors[i - 1]!) {
      throw invalid(`auditors[${i}]: expected strictly ascending addresses, found ${auditor}`);
    }
  });
  checkRange('quorum', policy.quorum, Math.floor(m / 2) + 1, m);
}

function checkRange(field: string, value: number, lo: number, hi: number): void {
  if (!Number.isInteger(value) || value < lo || value > hi) {
    throw invalid(`${field}: expected a whole number from ${lo} to ${hi}, found ${value}`);
  }
}

function invalid(found: string): AssayError {
  return new AssayError('ROLLUP_POLICY_INVALID', `rollup policy: ${found}`);
}
