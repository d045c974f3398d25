/** What a receipt says. The EIP-712 form is in `eip712.ts`, the contracts' copy in SettlementTypes.sol. */

/** 0x-prefixed lower-case hex. */
export type Hex = `0x${string}`;

/** How a receipt is made checkable. The numbers are the contract's. */
export const LANES = { zk: 1, optimistic: 2, sampled: 3 } as const;
export type Lane = keyof typeof LANES;

/**
 * What the requester asks of one executor; its EIP-712 hash is the identity of the request. Both sign it: the requester
 * the order itself, the executor its `Acceptance`. Amounts are in the smallest unit of the settlement token. Times are
 * by the settlement contract's clock: unix seconds less all frozen time, or block numbers, as it was deployed.
 */
export interface JobOrder {
  readonly requester: Hex;
  /** The signer key of a registered node. */
  readonly executor: Hex;
  readonly modelDigest: Hex;
  readonly inputRoot: Hex;
  /** Number of items (the batch dimension) in the input. */
  readonly items: number;
  readonly lane: Lane;
  /** Hash of the policy (windows, shares, rates) that governs this job. */
  readonly policyHash: Hex;
  /** Paid for the work, at most. */
  readonly price: bigint;
  /** Paid on top towards audits. */
  readonly surcharge: bigint;
  /** Upper bound on the bytes of the output; at most 65,536. */
  readonly outputBytes: number;
  /** Last time at which the receipt may bind. */
  readonly deliverBy: number;
  /** Last time at which the order may be opened. */
  readonly validUntil: number;
  /** Chosen by the requester; two orders of one requester never share it. */
  readonly nonce: bigint;
}

/** The executor's account makes a signer key its node; the signer agrees. */
export interface NodeRegistration {
  /** Holds the locks and the earnings. */
  readonly account: Hex;
  /** The key that accepts orders and signs receipts. */
  readonly signer: Hex;
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
  /** Number of slots of the model; traceRoot may commit to fewer. */
  readonly opCount: number;
  readonly items: number;
  /** What the executor charges, at most the order's price. */
  readonly amount: bigint;
  readonly lane: Lane;
  readonly policyHash: Hex;
  readonly executor: Hex;
  /** By the executor's own word; what counts is the time at which the receipt binds. */
  readonly issuedAt: number;
}

/** What an executor says in a dispute where no hash tells it; the first opening of a node stands. */
export interface Opening {
  readonly orderHash: Hex;
  readonly batchHash: Hex;
  /** Of the receipt in its batch. */
  readonly index: number;
  /** Names what was asked. */
  readonly nodeId: Hex;
  /** keccak of the answer's bytes. */
  readonly contentHash: Hex;
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
