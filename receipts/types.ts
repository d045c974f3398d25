/** What a receipt says. The EIP-712 form is in `eip712.ts`, the contract's copy in ReceiptRollup.sol. */

/** 0x-prefixed lower-case hex. */
export type Hex = `0x${string}`;

/** How a receipt is made checkable. The numbers are the contract's. */
export const LANES = { zk: 1, optimistic: 2, sampled: 3 } as const;
export type Lane = keyof typeof LANES;

/**
 * What the requester asks for; its EIP-712 hash is the identity of the request.
 * Times are unix seconds, amounts are in the smallest unit of the settlement token.
 */
export interface JobOrder {
  readonly requester: Hex;
  readonly modelDigest: Hex;
  readonly inputRoot: Hex;
  /** Number of items (the batch dimension) in the input. */
  readonly items: number;
  readonly lane: Lane;
  /** Hash of the policy (windows, shares, rates) that governs this job. */
  readonly policyHash: Hex;
  readonly price: bigint;
  readonly deliverBy: number;
  /** Chosen by the requester; two orders of one requester never share it. */
  readonly nonce: bigint;
}

/** Signed by the executor before anybody knows whether the job will be audited. */
export interface Receipt {
  /** EIP-712 hash of the JobOrder. */
  readonly orderHash: Hex;
  readonly modelDigest: Hex;
  readonly inputRoot: Hex;
  readonly outputRoot: Hex;
  /** Root over every materialised tensor; zero in the zk lane. */
  readonly traceRoot: Hex;
  /** Number of slots under traceRoot. */
  readonly opCount: number;
  readonly items: number;
  /** What the executor charges, at most the order's price. */
  readonly amount: bigint;
  readonly lane: Lane;
  readonly policyHash: Hex;
  readonly executor: Hex;
  readonly issuedAt: number;
}

/** Where the receipt will be settled: the EIP-712 domain. */
export interface ReceiptDomain {
  readonly chainId: bigint;
  readonly verifyingContract: Hex;
}

/** A check's answer. An outage is `undetermined`; unknown never becomes valid. */
export type Verdict =
  | { readonly verdict: 'valid' }
  | { readonly verdict: 'invalid'; readonly reason: string }
  | { readonly verdict: 'undetermined'; readonly reason: string };
