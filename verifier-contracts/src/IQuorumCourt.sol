// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt} from "./ICourt.sol";
import {BatchHeader} from "./SettlementTypes.sol";

/// How a court of this kind works. A policy names the court by its address, so the terms of a job never change.
struct CourtTerms {
    /// Blocks from the commit to the block whose hash makes the draw unpredictable; at least 1.
    uint32 beaconDelay;
    /// From the commit until the verdict must be in, by `clock()`: draw, audit and inclusion. At least 1.
    uint32 auditWindow;
    /// Share of bound receipts that is audited, in millionths; 1 to 1,000,000.
    uint32 drawRatePpm;
    /// Number of auditors that must sign a verdict; more than half of them.
    uint32 quorum;
    /// Strictly ascending addresses, 1 to 32.
    address[] auditors;
}

/// @title Judges the sampled lane by the word of a quorum of auditors
interface IQuorumCourt is ICourt {
    /// @param seed keccak of the hash of `drawBlock` and the batch hash: decides jobs and checkers
    event SeedFixed(bytes32 indexed batchHash, bytes32 seed, uint256 drawBlock);
    /// @param kills bit i set: leaf i is invalid
    /// @param voided bit i set: leaf i was drawn, and the audit could not decide it
    /// @param resultsRoot root over the checkers' results, as published off chain
    /// @param checkers one byte a leaf: 0 not drawn, n: auditor n - 1 had it to check
    /// @param reporter who is paid the gas of the call for each leaf that it kills
    event AuditReported(
        bytes32 indexed batchHash,
        bytes32 seed,
        uint256 kills,
        uint256 voided,
        bytes32 resultsRoot,
        bytes checkers,
        address reporter
    );

    /// No batch with exactly this header is committed to the rollup.
    error BatchUnknown(bytes32 batchHash);
    /// The seed is fixed already; a repeated call may read this as done.
    error SeedKnown(bytes32 batchHash);
    /// The draw block is not in the past yet: call from block `from` on.
    error SeedTooEarly(uint256 from);
    error SeedMissing(bytes32 batchHash);
    /// The verdict is in already; a repeated call may read this as done.
    error AuditKnown(bytes32 batchHash);
    error AuditClosed(uint256 deadline);
    /// The verdict names leaves that are not bound: these.
    error VerdictUnbound(uint256 leaves);
    /// The verdict calls leaves both wrong and undecided: these.
    error VerdictContradicts(uint256 leaves);
    /// The verdict calls leaves wrong that nobody had to check: these.
    error VerdictUnchecked(uint256 leaves);
    /// There is not one byte of `checkers` for each leaf.
    error CheckerCount(uint256 bytesGiven, uint256 leaves);
    /// There is no such auditor for leaf `index`.
    error CheckerUnknown(uint256 index, uint256 auditor);
    error QuorumMissed(uint256 signatures, uint256 quorum);
    /// Signature `position` does not recover to an auditor.
    error NotAuditor(uint256 position, address signer);
    /// Signers must stand in strictly ascending order of address; `position` does not.
    error SignersUnordered(uint256 position);
    /// The named term is out of its range.
    error TermsInvalid(string field);
    /// The chain does not serve the history of block hashes (EIP-2935) that the draw reads, or no longer that far back.
    error HistoryMissing();
    error Frozen();

    /// @notice Fixes the seed of the draw, once the draw block (commit + beaconDelay) is in the past. Anybody may call,
    /// also in a freeze: blocks go on then, and their hashes are served for 8,191 blocks only.
    function fixSeed(BatchHeader calldata header) external returns (bytes32 seed);

    /// @notice Takes the audit's verdict, signed by a quorum of auditors over AuditVerdict(batchHash, seed, kills,
    /// voided, resultsRoot, keccak(checkers), reporter). Anybody may call; one verdict per batch. No leaf is in both
    /// bitmaps, only bound leaves are named, and a killed one has a checker.
    /// @param reporter who gets the gas of the call back, so that copying it earns nothing; zero: the caller
    /// @param signatures 65 bytes each, in strictly ascending order of the signers' addresses
    function reportAudit(
        BatchHeader calldata header,
        uint256 kills,
        uint256 voided,
        bytes32 resultsRoot,
        bytes calldata checkers,
        address reporter,
        bytes[] calldata signatures
    ) external;

    function terms() external view returns (CourtTerms memory);

    /// @notice The contracts that this court belongs to.
    function rollup() external view returns (address);

    function escrow() external view returns (address);

    /// @notice Seed of the draw; zero until fixed.
    function seedOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice EIP-712 struct hash of the verdict; zero until reported.
    function verdictOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice Bitmap of invalid leaves; meaningful once `verdictOf` is set.
    function killsOf(bytes32 batchHash) external view returns (uint256);

    /// @notice Bitmap of leaves that the audit could not decide; meaningful once `verdictOf` is set.
    function voidedOf(bytes32 batchHash) external view returns (uint256);

    /// @notice One byte a leaf, as reported; empty until then.
    function checkersOf(BatchHeader calldata header) external view returns (bytes memory);
}
