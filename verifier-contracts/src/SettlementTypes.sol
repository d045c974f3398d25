// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// What requesters and executors sign, what is posted, and the terms under which it is settled.
// Field meanings of Order and Receipt are those of receipts/types.ts. All times are in units of `IEscrow.clock()`.

/// What a requester asks of one executor; signed by both. Its EIP-712 digest is the identity of the request.
struct Order {
    address requester;
    /// The signer key of a registered node.
    address executor;
    bytes32 modelDigest;
    bytes32 inputRoot;
    uint32 items;
    uint8 lane;
    bytes32 policyHash;
    /// Paid for the work, at most. Smallest unit of the settlement token, as all amounts.
    uint256 price;
    /// Paid on top towards audits.
    uint256 surcharge;
    /// Upper bound on the bytes of the output; at most 65,536.
    uint32 outputBytes;
    /// Last time at which the receipt may bind.
    uint64 deliverBy;
    /// Last time at which the order may be opened.
    uint64 validUntil;
    uint256 nonce;
}

/// What an executor signs.
struct Receipt {
    bytes32 orderHash;
    bytes32 modelDigest;
    bytes32 inputRoot;
    bytes32 outputRoot;
    bytes32 traceRoot;
    uint32 opCount;
    uint32 items;
    uint256 amount;
    uint8 lane;
    bytes32 policyHash;
    address executor;
    uint64 issuedAt;
}

/// Names a batch and says which of its leaves stand. Only its hash is stored; callers bring it along.
struct BatchHeader {
    uint8 lane;
    /// Number of leaves, 1 to 256.
    uint32 count;
    /// Time of the commit, by `clock()`.
    uint48 committedAt;
    /// Block number of the commit.
    uint48 committedBlock;
    address poster;
    bytes32 salt;
    bytes32 batchRoot;
    /// The policy of every receipt that stands in the batch.
    bytes32 policyHash;
    /// Bit i set: leaf i did not bind and has no standing.
    uint256 unbound;
}

/// The terms of a job. Immutable: a job reads the policy that its order names, to its end.
struct Policy {
    /// After the commit: in which the output may be demanded. The executor is paid after it, however early the leaf is final.
    uint32 deliveryWindow;
    /// In which a demand must be answered; even: the first half is the executor's.
    uint32 answerTime;
    /// In which a bounty can be claimed after a kill without a precommit.
    uint32 responseTime;
    /// From a precommit until it counts; at least the clock span of one block.
    uint32 precommitDelay;
    /// Least time between `open` and `deliverBy`.
    uint32 minDeliver;
    /// Share of the lock for whoever proves a fault that anybody could prove.
    uint16 bountyOpenBps;
    /// Share of the lock for the checker whom chance has drawn.
    uint16 bountyAuditBps;
    /// Share of the amount that the deployment takes.
    uint16 protocolFeeBps;
    /// lock = max(minLock, price * lockFactorBps / 10,000).
    uint32 lockFactorBps;
    uint128 minLock;
    /// From the lock to the requester where the executor does not deliver.
    uint128 noShowFee;
    /// Paid for the audit of one receipt; earmarked in the reserve while an order of the sampled lane is open.
    uint128 auditFee;
    /// Settlement token per gas: how calls that the protocol wants are paid back.
    uint64 unitPrice;
    /// Gas of a call that kills a claim; of an answer; and of each byte of an answer (EIP-7623 floor counted).
    uint32 gasKill;
    uint32 gasAnswer;
    uint16 gasAnswerByte;
    /// zk lane: checks proofs. Zero: the lane is closed.
    address verifier;
    /// Optimistic lane: judges disputes. Zero: the lane is closed.
    address game;
    /// Sampled lane: judges audits. Zero: the lane is closed.
    address court;
}

/// Lanes, as in receipts/types.ts.
library Lane {
    uint8 internal constant ZK = 1;
    uint8 internal constant OPTIMISTIC = 2;
    uint8 internal constant SAMPLED = 3;
}
