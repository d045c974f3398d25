// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHash} from "./BatchHash.sol";
import {ICourt, LeafState} from "./ICourt.sol";
import {IEscrow} from "./IEscrow.sol";
import {CourtTerms, IQuorumCourt} from "./IQuorumCourt.sol";
import {IReceiptRollup} from "./IReceiptRollup.sol";
import {BatchHeader} from "./SettlementTypes.sol";
import {TypedHash} from "./TypedHash.sol";

/// @title Court of the sampled lane: a quorum of auditors
/// @notice
///   1. The rollup's `commit` anchors receipts, and with them the trace roots.
///   2. The hash of the block `beaconDelay` after the commit, unknown until then, is the source of the draw;
///      `fixSeed` stores keccak(blockhash | batchHash). Jobs and checkers follow from the seed alone (sampler/).
///   3. Checkers re-execute off chain; `reportAudit` takes the verdict that a quorum of auditors signed.
///      Killed leaves are Dead; voided ones, which the audit drew and could not decide, are Void: a leaf that nobody
///      could check is neither blessed nor condemned. All other bound ones are Final.
///   4. No verdict by `committedAt + auditWindow`: Void. A void receipt cannot be committed again, so nobody can repeat
///      a draw that he did not like; the requester signs a new order.
///
///   Pending --reportAudit--> Final | Void | Dead;  Pending --time--> Void
///
/// Blocks and time are two things here. The draw takes the hash of a block, so it is named by block number; the verdict
/// must be in by a time of `IEscrow.clock()`, which stands still in a freeze. Blocks go on, so `fixSeed` is open then.
///
/// Trust: a block producer can bias a block hash, by withholding a block, at the cost of its reward. Where receipts are
/// worth more than a block, a beacon of threshold signatures has to replace it. A majority of auditors can lie.
contract QuorumCourt is IQuorumCourt {
    uint256 private constant MAX_AUDITORS = 32;
    uint256 private constant PPM = 1_000_000;

    /// Serves the last 8,191 block hashes as contract storage (EIP-2935). Chosen before the BLOCKHASH instruction,
    /// whose 256 blocks would void a round after 50 minutes, and which a local chain loses at a restart.
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    bytes32 private constant VERDICT_TYPE = keccak256(
        "AuditVerdict(bytes32 batchHash,bytes32 seed,uint256 kills,uint256 voided,bytes32 resultsRoot,bytes32 checkersHash,address reporter)"
    );

    address public immutable override rollup;
    address public immutable override escrow;
    uint32 private immutable BEACON_DELAY;
    uint32 private immutable AUDIT_WINDOW;
    uint32 private immutable DRAW_RATE_PPM;
    uint32 private immutable QUORUM;
    address[] private _auditors;

    mapping(bytes32 batchHash => bytes32) public override seedOf;
    mapping(bytes32 batchHash => bytes32) public override verdictOf;
    mapping(bytes32 batchHash => uint256) public override killsOf;
    mapping(bytes32 batchHash => uint256) public override voidedOf;
    mapping(bytes32 batchHash => address) private _reporters;
    /// Word w has the bytes of leaves 32 w to 32 w + 31, the first leaf's in front.
    mapping(bytes32 batchHash => mapping(uint256 word => bytes32)) private _checkers;

    /// @param rollup_, escrow_ may be deployed later
    constructor(address rollup_, address escrow_, CourtTerms memory given) {
        if (rollup_ == address(0)) revert TermsInvalid("rollup");
        if (escrow_ == address(0)) revert TermsInvalid("escrow");
        if (given.beaconDelay == 0) revert TermsInvalid("beaconDelay");
        if (given.auditWindow == 0) revert TermsInvalid("auditWindow");
        if (given.drawRatePpm == 0 || given.drawRatePpm > PPM) revert TermsInvalid("drawRatePpm");
        uint256 m = given.auditors.length;
        if (m == 0 || m > MAX_AUDITORS) revert TermsInvalid("auditors");
        address last = address(0);
        for (uint256 i = 0; i < m; ++i) {
            if (given.auditors[i] <= last) revert TermsInvalid("auditors");
            last = given.auditors[i];
        }
        // More than half: two contradicting verdicts need an auditor who signed both.
        if (2 * uint256(given.quorum) <= m || given.quorum > m) revert TermsInvalid("quorum");
        if (_blockHash(block.number - 1) == 0) revert HistoryMissing();

        rollup = rollup_;
        escrow = escrow_;
        BEACON_DELAY = given.beaconDelay;
        AUDIT_WINDOW = given.auditWindow;
        DRAW_RATE_PPM = given.drawRatePpm;
        QUORUM = given.quorum;
        _auditors = given.auditors;
    }

    function fixSeed(BatchHeader calldata header) external override returns (bytes32 seed) {
        bytes32 batchHash = _knownBatch(header);
        if (seedOf[batchHash] != 0) revert SeedKnown(batchHash);
        uint256 drawBlock = uint256(header.committedBlock) + BEACON_DELAY;
        if (block.number <= drawBlock) revert SeedTooEarly(drawBlock + 1);
        _requireInTime(header);
        bytes32 entropy = _blockHash(drawBlock);
        if (entropy == 0) revert HistoryMissing();
        seed = keccak256(abi.encode(entropy, batchHash));
        seedOf[batchHash] = seed;
        emit SeedFixed(batchHash, seed, drawBlock);
    }

    function reportAudit(
        BatchHeader calldata header,
        uint256 kills,
        uint256 voided,
        bytes32 resultsRoot,
        bytes calldata checkers,
        address reporter,
        bytes[] calldata signatures
    ) external override {
        if (IEscrow(escrow).frozen()) revert Frozen();
        bytes32 batchHash = _knownBatch(header);
        if (verdictOf[batchHash] != 0) revert AuditKnown(batchHash);
        bytes32 seed = seedOf[batchHash];
        if (seed == 0) revert SeedMissing(batchHash);
        _requireInTime(header);
        _checkLeaves(header, kills, voided, checkers);
        if (signatures.length < QUORUM) revert QuorumMissed(signatures.length, QUORUM);

        bytes32 verdict = keccak256(
            abi.encode(VERDICT_TYPE, batchHash, seed, kills, voided, resultsRoot, keccak256(checkers), reporter)
        );
        _checkAuditors(TypedHash.digest(TypedHash.domainSeparator(rollup), verdict), signatures);
        verdictOf[batchHash] = verdict;
        if (reporter == address(0)) reporter = msg.sender;
        _reporters[batchHash] = reporter;
        if (kills != 0) killsOf[batchHash] = kills;
        if (voided != 0) voidedOf[batchHash] = voided;
        _storeCheckers(batchHash, checkers);
        emit AuditReported(batchHash, seed, kills, voided, resultsRoot, checkers, reporter);
    }

    function leafState(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        override
        returns (LeafState)
    {
        if (verdictOf[batchHash] != 0) {
            if ((killsOf[batchHash] >> index) & 1 == 1) return LeafState.Dead;
            return (voidedOf[batchHash] >> index) & 1 == 1 ? LeafState.Void : LeafState.Final;
        }
        return IEscrow(escrow).clock() > _deadline(header) ? LeafState.Void : LeafState.Pending;
    }

    function awardOf(bytes32 batchHash, uint256 index)
        external
        view
        override
        returns (address checker, address reporter)
    {
        uint256 auditor = index < BatchHash.MAX_BATCH ? uint8(_checkers[batchHash][index >> 5][index & 31]) : 0;
        if (auditor != 0) checker = _auditors[auditor - 1];
        reporter = _reporters[batchHash];
    }

    function terms() external view override returns (CourtTerms memory) {
        return CourtTerms({
            beaconDelay: BEACON_DELAY,
            auditWindow: AUDIT_WINDOW,
            drawRatePpm: DRAW_RATE_PPM,
            quorum: QUORUM,
            auditors: _auditors
        });
    }

    function checkersOf(BatchHeader calldata header) external view override returns (bytes memory checkers) {
        bytes32 batchHash = BatchHash.name(header, rollup);
        checkers = new bytes(header.count);
        for (uint256 i = 0; i < checkers.length; ++i) {
            checkers[i] = _checkers[batchHash][i >> 5][i & 31];
        }
    }

    /// @dev Every named leaf stands, none is named in two ways, and whoever is paid for a leaf exists.
    function _checkLeaves(BatchHeader calldata header, uint256 kills, uint256 voided, bytes calldata checkers)
        private
        view
    {
        uint256 count = header.count;
        if (checkers.length != count) revert CheckerCount(checkers.length, count);
        uint256 auditors = _auditors.length;
        uint256 checked = 0;
        for (uint256 i = 0; i < count; ++i) {
            uint256 auditor = uint8(checkers[i]);
            if (auditor == 0) continue;
            if (auditor > auditors) revert CheckerUnknown(i, auditor);
            checked |= 1 << i;
        }
        uint256 unbound = (kills | voided | checked) & (header.unbound | ~BatchHash.allLeaves(count));
        if (unbound != 0) revert VerdictUnbound(unbound);
        if (kills & voided != 0) revert VerdictContradicts(kills & voided);
        if (kills & ~checked != 0) revert VerdictUnchecked(kills & ~checked);
    }

    function _storeCheckers(bytes32 batchHash, bytes calldata checkers) private {
        for (uint256 start = 0; start < checkers.length; start += 32) {
            bytes calldata rest = checkers[start:];
            // A last word that is not full is filled up with zeros: those leaves do not exist.
            bytes32 word = bytes32(rest.length > 32 ? rest[:32] : rest);
            if (word != 0) _checkers[batchHash][start >> 5] = word;
        }
    }

    function _checkAuditors(bytes32 digest, bytes[] calldata signatures) private view {
        address[] memory auditors = _auditors;
        address last = address(0);
        uint256 next = 0;
        for (uint256 i = 0; i < signatures.length; ++i) {
            address signer = TypedHash.recover(digest, signatures[i]);
            // A failed recovery gives zero, which is no auditor and must not pass as a matter of order.
            if (signer == address(0)) revert NotAuditor(i, signer);
            if (signer <= last) revert SignersUnordered(i);
            last = signer;
            // Both lists ascend, so one walk over the auditors serves all signers.
            while (next < auditors.length && auditors[next] < signer) ++next;
            if (next == auditors.length || auditors[next] != signer) revert NotAuditor(i, signer);
        }
    }

    function _knownBatch(BatchHeader calldata header) private view returns (bytes32 batchHash) {
        batchHash = BatchHash.name(header, rollup);
        if (IReceiptRollup(rollup).headerHashOf(batchHash) != BatchHash.stored(batchHash, header)) {
            revert BatchUnknown(batchHash);
        }
    }

    function _requireInTime(BatchHeader calldata header) private view {
        uint256 deadline = _deadline(header);
        if (IEscrow(escrow).clock() > deadline) revert AuditClosed(deadline);
    }

    function _deadline(BatchHeader calldata header) private view returns (uint256) {
        return uint256(header.committedAt) + AUDIT_WINDOW;
    }

    /// @return hash of a block of the last 8,191, or zero
    function _blockHash(uint256 number) private view returns (bytes32 hash) {
        (bool ok, bytes memory answer) = HISTORY.staticcall(abi.encode(number));
        if (ok && answer.length == 32) hash = bytes32(answer);
    }
}
