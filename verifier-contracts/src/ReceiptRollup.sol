// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHeader, BindFault, IReceiptRollup, Policy, Receipt, Status} from "./IReceiptRollup.sol";
import {BatchTree} from "./BatchTree.sol";
import {TypedHash} from "./TypedHash.sol";

/// @title Receipt rollup, sampled lane
/// @notice No leaf tree across batches: a batch never refers to another one's content, so that a bad batch harms
/// nobody else. The contract computes each root from the posted receipts itself, so root, count and availability are
/// true by construction.
///
/// Sampled lane:
///   1. `commit` anchors receipts, and with them the trace roots.
///   2. The hash of the block `beaconDelay` after the commit, unknown until then, is the source of the draw;
///      `fixSeed` stores keccak(blockhash | batchHash). Jobs and checkers follow from the seed alone (sampler/).
///   3. Checkers re-execute off chain; `reportAudit` takes the verdict that a quorum of auditors signed.
///      Killed leaves are Invalid; voided ones, which the audit drew and could not decide, are Void: a leaf that nobody
///      could check is neither blessed nor condemned. All other bound ones are FinalSampled.
///   4. No verdict by `committedAt + beaconDelay + auditWindow`: Void. A void receipt cannot be committed again, so
///      nobody can repeat a draw that he did not like; the requester signs a new order.
///
/// Trust: a block producer can bias a block hash, by withholding a block, at the cost of its reward. Where receipts are
/// worth more than a block, a beacon of threshold signatures has to replace it. A majority of auditors can lie.
///
/// Whoever can sign may be an executor: there is no list, since no money is held here. For the same reason an order
/// binds once *per executor*: if it bound once only, a stranger could copy its hash from the mempool and bind a junk
/// receipt of his own in its place.
///
/// No pause: the contract holds no money, and receipts it cannot bind today may be committed tomorrow.
contract ReceiptRollup is IReceiptRollup {
    uint8 private constant LANE_SAMPLED = 3;
    uint256 private constant MAX_BATCH = 256;
    uint256 private constant MAX_AUDITORS = 32;
    uint256 private constant PPM = 1_000_000;

    /// Serves the last 8,191 block hashes as contract storage (EIP-2935). Chosen before the BLOCKHASH instruction,
    /// whose 256 blocks would void a round after 50 minutes, and which a local chain loses at a restart.
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;
    uint256 private constant HISTORY_BLOCKS = 8_191;

    bytes32 private constant BATCH_TAG = keccak256("assay/batch/1");

    uint32 private immutable BEACON_DELAY;
    uint32 private immutable AUDIT_WINDOW;
    uint32 private immutable DRAW_RATE_PPM;
    uint32 private immutable QUORUM;
    bytes32 public immutable override policyHash;
    address[] private _auditors;

    bytes32 public override chain;
    mapping(bytes32 batchHash => bytes32) public override headerHashOf;
    mapping(bytes32 batchHash => bytes32) public override seedOf;
    mapping(bytes32 batchHash => bytes32) public override verdictOf;
    mapping(bytes32 batchHash => uint256) public override killsOf;
    mapping(bytes32 batchHash => uint256) public override voidedOf;
    mapping(bytes32 orderHash => mapping(address executor => bytes32)) public override boundIn;

    constructor(Policy memory terms) {
        if (terms.beaconDelay == 0) revert PolicyInvalid("beaconDelay");
        // The seed can be fixed as long as a verdict is in time.
        if (terms.auditWindow == 0 || terms.auditWindow >= HISTORY_BLOCKS) revert PolicyInvalid("auditWindow");
        if (terms.drawRatePpm == 0 || terms.drawRatePpm > PPM) revert PolicyInvalid("drawRatePpm");
        uint256 m = terms.auditors.length;
        if (m == 0 || m > MAX_AUDITORS) revert PolicyInvalid("auditors");
        address last = address(0);
        for (uint256 i = 0; i < m; ++i) {
            if (terms.auditors[i] <= last) revert PolicyInvalid("auditors");
            last = terms.auditors[i];
        }
        // More than half: two contradicting verdicts need an auditor who signed both.
        if (2 * uint256(terms.quorum) <= m || terms.quorum > m) revert PolicyInvalid("quorum");
        if (_blockHash(block.number - 1) == 0) revert HistoryMissing();

        BEACON_DELAY = terms.beaconDelay;
        AUDIT_WINDOW = terms.auditWindow;
        DRAW_RATE_PPM = terms.drawRatePpm;
        QUORUM = terms.quorum;
        _auditors = terms.auditors;
        policyHash = keccak256(abi.encode(terms));
    }

    function commit(uint8 lane, Receipt[] calldata receipts, bytes[] calldata signatures, bytes32 salt)
        external
        override
        returns (bytes32 batchHash)
    {
        if (lane != LANE_SAMPLED) revert LaneClosed(lane);
        uint256 count = receipts.length;
        if (count == 0 || count > MAX_BATCH) revert BatchSize(count);
        if (signatures.length != count) revert SignatureCount(count, signatures.length);

        bytes32[] memory hashes = new bytes32[](count);
        bytes32[] memory nodes = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            hashes[i] = TypedHash.receipt(receipts[i]);
            nodes[i] = BatchTree.leaf(i, lane, hashes[i]);
        }
        BatchHeader memory header = BatchHeader({
            lane: lane,
            count: uint32(count),
            committedAt: clock(),
            poster: msg.sender,
            salt: salt,
            batchRoot: BatchTree.root(nodes),
            unbound: 0
        });
        batchHash = _batchHash(header);
        if (headerHashOf[batchHash] != 0) revert BatchKnown(batchHash);

        header.unbound = _bind(batchHash, lane, receipts, hashes, signatures);
        if (header.unbound == _allLeaves(count)) revert NothingBound();

        headerHashOf[batchHash] = _headerHash(batchHash, header);
        bytes32 link = keccak256(abi.encode(chain, batchHash));
        chain = link;
        emit BatchCommitted(
            batchHash,
            header.poster,
            lane,
            header.count,
            header.committedAt,
            salt,
            header.batchRoot,
            header.unbound,
            link
        );
    }

    function fixSeed(BatchHeader calldata header) external override returns (bytes32 seed) {
        bytes32 batchHash = _knownBatch(header);
        if (seedOf[batchHash] != 0) revert SeedKnown(batchHash);
        uint256 drawBlock = _drawBlock(header);
        if (block.number <= drawBlock) revert SeedTooEarly(drawBlock + 1);
        if (block.number > drawBlock + AUDIT_WINDOW) revert AuditClosed(drawBlock + AUDIT_WINDOW);
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
        bytes[] calldata signatures
    ) external override {
        bytes32 batchHash = _knownBatch(header);
        if (verdictOf[batchHash] != 0) revert AuditKnown(batchHash);
        bytes32 seed = seedOf[batchHash];
        if (seed == 0) revert SeedMissing(batchHash);
        uint256 deadline = _drawBlock(header) + AUDIT_WINDOW;
        if (block.number > deadline) revert AuditClosed(deadline);
        uint256 unbound = (kills | voided) & (header.unbound | ~_allLeaves(header.count));
        if (unbound != 0) revert VerdictUnbound(unbound);
        if (kills & voided != 0) revert VerdictContradicts(kills & voided);
        if (signatures.length < QUORUM) revert QuorumMissed(signatures.length, QUORUM);

        bytes32 verdict = TypedHash.verdict(batchHash, seed, kills, voided, resultsRoot);
        _checkAuditors(TypedHash.digest(TypedHash.domainSeparator(), verdict), signatures);
        verdictOf[batchHash] = verdict;
        if (kills != 0) killsOf[batchHash] = kills;
        if (voided != 0) voidedOf[batchHash] = voided;
        emit AuditReported(batchHash, seed, kills, voided, resultsRoot);
    }

    function statusOf(Receipt calldata receipt, uint256 index, bytes32[] calldata path, BatchHeader calldata header)
        external
        view
        override
        returns (Status)
    {
        bytes32 batchHash = _batchHash(header);
        if (headerHashOf[batchHash] != _headerHash(batchHash, header)) return Status.Unknown;
        bytes32 leaf = BatchTree.leaf(index, header.lane, TypedHash.receipt(receipt));
        if (!BatchTree.verify(leaf, index, header.count, path, header.batchRoot)) return Status.Unknown;
        // A bound leaf's receipt is of the leaf's and the batch's lane: `_bindFault` saw to it.
        if ((header.unbound >> index) & 1 == 1) return Status.Unknown;

        if (verdictOf[batchHash] != 0) {
            if ((killsOf[batchHash] >> index) & 1 == 1) return Status.Invalid;
            return (voidedOf[batchHash] >> index) & 1 == 1 ? Status.Void : Status.FinalSampled;
        }
        return block.number > _drawBlock(header) + AUDIT_WINDOW ? Status.Void : Status.Pending;
    }

    function bindFaultOf(uint8 lane, Receipt calldata receipt, bytes calldata signature)
        external
        view
        override
        returns (BindFault)
    {
        bytes32 digest = TypedHash.digest(TypedHash.domainSeparator(), TypedHash.receipt(receipt));
        return _bindFault(lane, receipt, digest, signature);
    }

    function policy() external view override returns (Policy memory) {
        return Policy({
            beaconDelay: BEACON_DELAY,
            auditWindow: AUDIT_WINDOW,
            drawRatePpm: DRAW_RATE_PPM,
            quorum: QUORUM,
            auditors: _auditors
        });
    }

    function clock() public view override returns (uint48) {
        return uint48(block.number);
    }

    function CLOCK_MODE() external pure override returns (string memory) {
        return "mode=blocknumber&from=default";
    }

    /// @return unbound bit i set where receipt i cannot bind
    function _bind(
        bytes32 batchHash,
        uint8 lane,
        Receipt[] calldata receipts,
        bytes32[] memory hashes,
        bytes[] calldata signatures
    ) private returns (uint256 unbound) {
        bytes32 separator = TypedHash.domainSeparator();
        for (uint256 i = 0; i < receipts.length; ++i) {
            bytes32 digest = TypedHash.digest(separator, hashes[i]);
            if (_bindFault(lane, receipts[i], digest, signatures[i]) == BindFault.None) {
                boundIn[receipts[i].orderHash][receipts[i].executor] = batchHash;
            } else {
                unbound |= 1 << i;
            }
        }
    }

    function _bindFault(uint8 lane, Receipt calldata receipt, bytes32 digest, bytes calldata signature)
        private
        view
        returns (BindFault)
    {
        if (receipt.lane != lane) return BindFault.Lane;
        if (receipt.policyHash != policyHash) return BindFault.Policy;
        if (boundIn[receipt.orderHash][receipt.executor] != 0) return BindFault.Order;
        address signer = TypedHash.recover(digest, signature);
        // Zero is what a failed recovery gives, and would match an executor of zero.
        if (signer == address(0) || signer != receipt.executor) return BindFault.Signature;
        return BindFault.None;
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
        batchHash = _batchHash(header);
        if (headerHashOf[batchHash] != _headerHash(batchHash, header)) revert BatchUnknown(batchHash);
    }

    /// @dev Chain, contract, poster and salt are part of the name: a reorganisation never swaps what a batch hash means.
    function _batchHash(BatchHeader memory header) private view returns (bytes32) {
        return keccak256(
            abi.encode(
                BATCH_TAG,
                block.chainid,
                address(this),
                header.poster,
                header.salt,
                uint256(header.lane),
                uint256(header.count),
                header.batchRoot
            )
        );
    }

    function _headerHash(bytes32 batchHash, BatchHeader memory header) private pure returns (bytes32) {
        return keccak256(abi.encode(batchHash, header.unbound, uint256(header.committedAt)));
    }

    function _drawBlock(BatchHeader calldata header) private view returns (uint256) {
        return uint256(header.committedAt) + BEACON_DELAY;
    }

    /// @dev One bit for each of `count` leaves.
    function _allLeaves(uint256 count) private pure returns (uint256) {
        return type(uint256).max >> (MAX_BATCH - count);
    }

    /// @return hash of a block of the last 8,191, or zero
    function _blockHash(uint256 number) private view returns (bytes32 hash) {
        (bool ok, bytes memory answer) = HISTORY.staticcall(abi.encode(number));
        if (ok && answer.length == 32) hash = bytes32(answer);
    }
}
