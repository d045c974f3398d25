// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// What an executor signs. Field meanings are those of receipts/types.ts.
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
    /// Block number of the commit.
    uint48 committedAt;
    address poster;
    bytes32 salt;
    bytes32 batchRoot;
    /// Bit i set: leaf i did not bind and has no standing.
    uint256 unbound;
}

/// The terms of a deployment. They never change; a receipt names them by their hash.
struct Policy {
    /// Blocks from the commit to the block whose hash makes the draw unpredictable; at least 1.
    uint32 beaconDelay;
    /// Blocks after that block in which the audit's verdict must arrive; 1 to 8,190.
    uint32 auditWindow;
    /// Share of bound receipts that is audited, in millionths; 1 to 1,000,000.
    uint32 drawRatePpm;
    /// Number of auditors that must sign a verdict; more than half of them.
    uint32 quorum;
    /// Strictly ascending addresses, 1 to 32.
    address[] auditors;
}

/// What `statusOf` answers.
enum Status {
    /// No such receipt in such a batch, or its leaf did not bind.
    Unknown,
    /// Committed; the audit has not spoken and may still do so.
    Pending,
    Challengeable,
    FinalZk,
    FinalOptimistic,
    /// The auditors' quorum has signed and named this leaf neither wrong nor undecided.
    FinalSampled,
    /// The audit did not speak in time, or it spoke and could not decide this leaf: the chain vouches neither for nor
    /// against the receipt.
    Void,
    /// The auditors' quorum has found this leaf to be wrong.
    Invalid
}

/// Why a receipt cannot bind.
enum BindFault {
    None,
    /// Its lane is not the batch's.
    Lane,
    /// It names another policy than this deployment's.
    Policy,
    /// This executor's receipt for this order is bound already.
    Order,
    /// Not the executor's ECDSA signature over this receipt for this chain and contract.
    Signature
}

/// @title Anchors batches of inference receipts and says how far each is verified
/// @notice All times are block numbers, by `clock()`. An action with deadline T is allowed iff `clock() <= T`.
/// An expiry needs no transaction: `statusOf` is computed from the clock.
interface IReceiptRollup {
    /// @notice Everything a stranger needs to rebuild the header; receipts and signatures are the calldata of the
    /// transaction that called `commit`.
    /// @param chain accumulator over all batch hashes in order, this one included
    event BatchCommitted(
        bytes32 indexed batchHash,
        address indexed poster,
        uint8 lane,
        uint32 count,
        uint48 committedAt,
        bytes32 salt,
        bytes32 batchRoot,
        uint256 unbound,
        bytes32 chain
    );
    /// @param seed keccak of the hash of `drawBlock` and the batch hash: decides jobs and checkers
    event SeedFixed(bytes32 indexed batchHash, bytes32 seed, uint256 drawBlock);
    /// @param kills bit i set: leaf i is invalid
    /// @param voided bit i set: leaf i was drawn, and the audit could not decide it
    /// @param resultsRoot root over the checkers' results, as published off chain
    event AuditReported(
        bytes32 indexed batchHash, bytes32 seed, uint256 kills, uint256 voided, bytes32 resultsRoot
    );

    /// The batch holds no receipt, or more than 256.
    error BatchSize(uint256 count);
    error SignatureCount(uint256 receipts, uint256 signatures);
    /// This deployment does not take batches of that lane.
    error LaneClosed(uint8 lane);
    /// This batch is committed already; a repeated call may read this as done.
    error BatchKnown(bytes32 batchHash);
    /// Not one receipt of the batch could bind; `bindFaultOf` says why.
    error NothingBound();
    /// No batch with exactly this header is committed here.
    error BatchUnknown(bytes32 batchHash);
    /// The seed is fixed already; a repeated call may read this as done.
    error SeedKnown(bytes32 batchHash);
    /// The draw block is not in the past yet: call from `from` on.
    error SeedTooEarly(uint256 from);
    error SeedMissing(bytes32 batchHash);
    /// The verdict is in already; a repeated call may read this as done.
    error AuditKnown(bytes32 batchHash);
    error AuditClosed(uint256 deadline);
    /// The verdict names leaves that are not bound: these.
    error VerdictUnbound(uint256 leaves);
    /// The verdict calls leaves both wrong and undecided: these.
    error VerdictContradicts(uint256 leaves);
    error QuorumMissed(uint256 signatures, uint256 quorum);
    /// Signature `position` does not recover to an auditor.
    error NotAuditor(uint256 position, address signer);
    /// Signers must stand in strictly ascending order of address; `position` does not.
    error SignersUnordered(uint256 position);
    /// The named field of the policy is out of its range.
    error PolicyInvalid(string field);
    /// The chain does not serve the history of block hashes (EIP-2935) that the draw reads.
    error HistoryMissing();

    /// @notice Anchors up to 256 receipts of one lane. Anybody may call. A receipt that cannot bind is skipped: its
    /// leaf stays in the tree, marked `unbound`, so that nobody can block a batch by spoiling one receipt.
    /// @param signatures 65 bytes r | s | v each, over the receipt, by `receipt.executor`
    /// @param salt tells batches of equal content apart
    function commit(uint8 lane, Receipt[] calldata receipts, bytes[] calldata signatures, bytes32 salt)
        external
        returns (bytes32 batchHash);

    /// @notice Fixes the seed of the draw, once the draw block (commit + beaconDelay) is in the past.
    function fixSeed(BatchHeader calldata header) external returns (bytes32 seed);

    /// @notice Takes the audit's verdict, signed by a quorum of auditors over (batchHash, seed, kills, voided,
    /// resultsRoot). One verdict per batch. No leaf is in both bitmaps, and only bound leaves are in either.
    /// @param signatures 65 bytes each, in strictly ascending order of the signers' addresses
    function reportAudit(
        BatchHeader calldata header,
        uint256 kills,
        uint256 voided,
        bytes32 resultsRoot,
        bytes[] calldata signatures
    ) external;

    /// @notice How far a receipt is verified. Never reverts for a wrong receipt, index, path or header: Unknown.
    /// @param path siblings from the leaf upwards
    function statusOf(Receipt calldata receipt, uint256 index, bytes32[] calldata path, BatchHeader calldata header)
        external
        view
        returns (Status);

    /// @notice Would this receipt bind if it were committed now?
    function bindFaultOf(uint8 lane, Receipt calldata receipt, bytes calldata signature)
        external
        view
        returns (BindFault);

    function policy() external view returns (Policy memory);

    /// @notice keccak of the ABI-encoded policy; what `receipt.policyHash` must be.
    function policyHash() external view returns (bytes32);

    /// @notice Hash of the header of a batch; zero where there is none.
    function headerHashOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice Seed of the draw; zero until fixed.
    function seedOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice EIP-712 struct hash of the verdict; zero until reported.
    function verdictOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice Bitmap of invalid leaves; meaningful once `verdictOf` is set.
    function killsOf(bytes32 batchHash) external view returns (uint256);

    /// @notice Bitmap of leaves that the audit could not decide; meaningful once `verdictOf` is set.
    function voidedOf(bytes32 batchHash) external view returns (uint256);

    /// @notice The batch in which an executor's receipt for an order is bound; zero where it is not.
    function boundIn(bytes32 orderHash, address executor) external view returns (bytes32 batchHash);

    /// @notice Accumulator: keccak(chain | batchHash) over all batches in order.
    function chain() external view returns (bytes32);

    /// @notice ERC-6372: block numbers. (On a chain whose `block.number` is its parent's, deploy with windows in
    /// parent blocks.)
    function clock() external view returns (uint48);

    function CLOCK_MODE() external view returns (string memory);
}
