// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHash} from "./BatchHash.sol";
import {BatchTree} from "./BatchTree.sol";
import {ICourt, LeafState} from "./ICourt.sol";
import {Binding, IEscrow} from "./IEscrow.sol";
import {IProofVerifier, ProvedClaim} from "./IProofVerifier.sol";
import {BindFault, IReceiptRollup, Status} from "./IReceiptRollup.sol";
import {BatchHeader, Lane, Receipt} from "./SettlementTypes.sol";
import {TypedHash} from "./TypedHash.sol";

/// @title Receipt rollup: batches of receipts, bound to orders
/// @notice No leaf tree across batches: a batch never refers to another one's content, so that a bad batch harms
/// nobody else. The contract computes each root from the posted receipts itself, so root, count and availability are
/// true by construction.
///
///   None --commitProved (zk)--------------------> Final
///   None --commit (optimistic)--> game's answer: Challengeable --> Final | Dead
///   None --commit (sampled)-----> court's answer: Pending --> Final | Void | Dead
///   Pending, Challengeable --kill (Escrow: a second receipt)--> Dead
///
/// What becomes of a leaf after the commit its judge says, whom the policy of the batch names: the dispute game of the
/// optimistic lane, the audit court of the sampled one. Nothing but a kill is stored here, so that nothing has to be
/// sent for a leaf to become final.
///
/// The rollup holds no money and has no owner; Escrow holds the orders, the policies, the clock and the freeze. While
/// frozen nothing binds: `Escrow.bind` refuses, and with it the commit.
contract ReceiptRollup is IReceiptRollup {
    /// The last second that a receipt file can say: the end of the calendar of ECMAScript, in 275760.
    uint256 private constant MAX_ISSUED_AT = 8_640_000_000_000;
    uint256 private constant SIGNATURE_BYTES = 65;

    IEscrow private immutable ESCROW;

    bytes32 public override chain;
    mapping(bytes32 batchHash => bytes32) public override headerHashOf;
    mapping(bytes32 batchHash => uint256) public override killsOf;

    constructor(IEscrow escrow_) {
        address expected = escrow_.rollup();
        if (expected != address(this)) revert EscrowMismatch(expected);
        ESCROW = escrow_;
    }

    function commit(
        uint8 lane,
        bytes32 policyHash,
        Receipt[] calldata receipts,
        bytes[] calldata signatures,
        bytes32 salt
    ) external override returns (bytes32) {
        _requireReadable(receipts, signatures);
        // The zk lane is entered with a proof alone.
        if (lane == Lane.ZK || ESCROW.judgeOf(policyHash, lane) == address(0)) revert LaneClosed(lane);
        return _commit(lane, policyHash, receipts, signatures, salt);
    }

    function commitProved(
        bytes32 policyHash,
        Receipt[] calldata receipts,
        bytes[] calldata signatures,
        bytes32 salt,
        bytes calldata evidence
    ) external override returns (bytes32) {
        _requireReadable(receipts, signatures);
        address verifier = ESCROW.judgeOf(policyHash, Lane.ZK);
        if (verifier == address(0)) revert LaneClosed(Lane.ZK);
        // A view, so that what runs there can change nothing and call nothing back.
        ProvedClaim[] memory claims = IProofVerifier(verifier).verify(evidence);
        if (claims.length != receipts.length) revert ClaimCount(receipts.length, claims.length);
        for (uint256 i = 0; i < claims.length; ++i) {
            if (!_isProved(receipts[i], claims[i])) revert ClaimMismatch(i);
        }
        return _commit(Lane.ZK, policyHash, receipts, signatures, salt);
    }

    function kill(BatchHeader calldata header, uint256 index) external override {
        if (msg.sender != address(ESCROW)) revert Unauthorized(msg.sender);
        (bytes32 batchHash, LeafState state) = leafStateOf(header, index);
        if (index >= header.count || (header.unbound >> index) & 1 == 1) revert LeafUnbound(batchHash, index);
        if (state != LeafState.Pending && state != LeafState.Challengeable) {
            revert LeafStateIs(batchHash, index, state);
        }
        killsOf[batchHash] |= 1 << index;
        emit LeafKilled(batchHash, index);
    }

    function statusOf(Receipt calldata receipt, uint256 index, bytes32[] calldata path, BatchHeader calldata header)
        external
        view
        override
        returns (Status)
    {
        bytes32 batchHash = BatchHash.name(header, address(this));
        if (!_isCommitted(batchHash, header)) return Status.Unknown;
        bytes32 leaf = BatchTree.leaf(index, header.lane, TypedHash.receipt(receipt));
        if (!BatchTree.verify(leaf, index, header.count, path, header.batchRoot)) return Status.Unknown;
        // A bound leaf's receipt is of the leaf's and the batch's lane and policy: `_ownFault` saw to it.
        if ((header.unbound >> index) & 1 == 1) return Status.Unknown;

        LeafState state = _leafState(batchHash, header, index);
        if (state == LeafState.Pending) return Status.Pending;
        if (state == LeafState.Challengeable) return Status.Challengeable;
        if (state == LeafState.Void) return Status.Void;
        if (state == LeafState.Dead) return Status.Invalid;
        if (header.lane == Lane.ZK) return Status.FinalZk;
        return header.lane == Lane.OPTIMISTIC ? Status.FinalOptimistic : Status.FinalSampled;
    }

    function leafStateOf(BatchHeader calldata header, uint256 index)
        public
        view
        override
        returns (bytes32 batchHash, LeafState state)
    {
        batchHash = BatchHash.name(header, address(this));
        if (!_isCommitted(batchHash, header)) revert BatchUnknown(batchHash);
        state = _leafState(batchHash, header, index);
    }

    function bindFaultOf(uint8 lane, bytes32 policyHash, Receipt calldata receipt, bytes calldata signature)
        external
        view
        override
        returns (BindFault fault)
    {
        if (!_isSayable(receipt, signature)) revert ReceiptMalformed(0);
        bytes32 separator = TypedHash.domainSeparator(address(this));
        bytes32 receiptHash = TypedHash.receipt(receipt);
        fault = _ownFault(lane, policyHash, receipt, TypedHash.digest(separator, receiptHash), signature);
        if (fault == BindFault.None) fault = BindFault(ESCROW.bindFaultOf(_binding(receipt, 0)));
    }

    function escrow() external view override returns (address) {
        return address(ESCROW);
    }

    function clock() public view override returns (uint48) {
        return ESCROW.clock();
    }

    function CLOCK_MODE() external view override returns (string memory) {
        return ESCROW.CLOCK_MODE();
    }

    function _commit(
        uint8 lane,
        bytes32 policyHash,
        Receipt[] calldata receipts,
        bytes[] calldata signatures,
        bytes32 salt
    ) private returns (bytes32 batchHash) {
        uint256 count = receipts.length;
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
            committedBlock: uint48(block.number),
            poster: msg.sender,
            salt: salt,
            batchRoot: BatchTree.root(nodes),
            policyHash: policyHash,
            unbound: 0
        });
        batchHash = BatchHash.name(header, address(this));
        if (headerHashOf[batchHash] != 0) revert BatchKnown(batchHash);

        header.unbound = _bind(batchHash, header, receipts, hashes, signatures);
        if (header.unbound == BatchHash.allLeaves(count)) revert NothingBound();

        headerHashOf[batchHash] = BatchHash.stored(batchHash, header);
        bytes32 link = keccak256(abi.encode(chain, batchHash));
        chain = link;
        emit BatchCommitted(batchHash, header, link);
    }

    /// @notice Receipts and signatures are published as the calldata of a transaction to this contract, and a bound
    /// order waits for whoever reads them there. So the caller is a plain account, with no code in between that could
    /// put them together elsewhere, and all of it is something that a receipt file can say.
    /// @dev What is refused here is the poster's own doing and known to him before he sends.
    function _requireReadable(Receipt[] calldata receipts, bytes[] calldata signatures) private view {
        // An account that has delegated itself to code (EIP-7702) calls with code of its own.
        if (msg.sender != tx.origin || msg.sender.code.length != 0) revert PosterNotPlain(msg.sender);
        uint256 count = receipts.length;
        if (count == 0 || count > BatchHash.MAX_BATCH) revert BatchSize(count);
        if (signatures.length != count) revert SignatureCount(count, signatures.length);
        for (uint256 i = 0; i < count; ++i) {
            if (!_isSayable(receipts[i], signatures[i])) revert ReceiptMalformed(i);
        }
    }

    /// @dev Assembly: a field that is read in the language is refused where its word has more bits than it, without a
    /// word about which receipt it was.
    function _isSayable(Receipt calldata receipt, bytes calldata signature) private pure returns (bool sayable) {
        // Offsets of opCount, items, lane, executor and issuedAt.
        assembly ("memory-safe") {
            sayable := iszero(shr(32, calldataload(add(receipt, 0xa0))))
            sayable := and(sayable, iszero(shr(32, calldataload(add(receipt, 0xc0)))))
            sayable := and(sayable, lt(sub(calldataload(add(receipt, 0x100)), 1), 3))
            sayable := and(sayable, iszero(shr(160, calldataload(add(receipt, 0x140)))))
            sayable := and(sayable, iszero(gt(calldataload(add(receipt, 0x160)), MAX_ISSUED_AT)))
        }
        return sayable && signature.length <= SIGNATURE_BYTES;
    }

    /// @dev One call to Escrow for the whole batch.
    function _bind(
        bytes32 batchHash,
        BatchHeader memory header,
        Receipt[] calldata receipts,
        bytes32[] memory hashes,
        bytes[] calldata signatures
    ) private returns (uint256 unbound) {
        bytes32 separator = TypedHash.domainSeparator(address(this));
        Binding[] memory bindings = new Binding[](receipts.length);
        for (uint256 i = 0; i < bindings.length; ++i) {
            bytes32 digest = TypedHash.digest(separator, hashes[i]);
            BindFault fault = _ownFault(header.lane, header.policyHash, receipts[i], digest, signatures[i]);
            if (fault == BindFault.None) {
                bindings[i] = _binding(receipts[i], BatchHash.boundLeaf(batchHash, i, hashes[i]));
            } else {
                // The binding stays empty, which Escrow passes over.
                unbound |= 1 << i;
            }
        }
        unbound |= ESCROW.bind(bindings);
    }

    /// @notice What can be said of a receipt without its order.
    function _ownFault(
        uint8 lane,
        bytes32 policyHash,
        Receipt calldata receipt,
        bytes32 digest,
        bytes calldata signature
    ) private pure returns (BindFault) {
        if (receipt.lane != lane) return BindFault.Lane;
        if (receipt.policyHash != policyHash) return BindFault.Policy;
        address signer = TypedHash.recover(digest, signature);
        // Zero is what a failed recovery gives, and would match an executor of zero.
        if (signer == address(0) || signer != receipt.executor) return BindFault.Signature;
        return BindFault.None;
    }

    function _binding(Receipt calldata receipt, bytes32 leaf) private pure returns (Binding memory) {
        bytes32 termsHash = keccak256(
            abi.encode(
                receipt.modelDigest,
                receipt.inputRoot,
                uint256(receipt.items),
                uint256(receipt.lane),
                receipt.policyHash,
                receipt.executor
            )
        );
        return Binding({orderHash: receipt.orderHash, termsHash: termsHash, amount: receipt.amount, leaf: leaf});
    }

    /// @dev The proof was made for one order, whose hash names chain, contract, requester and nonce: it serves no other.
    function _isProved(Receipt calldata receipt, ProvedClaim memory claim) private pure returns (bool) {
        return claim.modelDigest == receipt.modelDigest && claim.items == receipt.items
            && claim.inputRoot == receipt.inputRoot && claim.outputRoot == receipt.outputRoot
            && claim.context == receipt.orderHash
            // Nothing of a trace is proved, so nothing of it may be claimed.
            && receipt.traceRoot == 0;
    }

    function _isCommitted(bytes32 batchHash, BatchHeader calldata header) private view returns (bool) {
        return headerHashOf[batchHash] == BatchHash.stored(batchHash, header);
    }

    /// @dev Of a header that is committed.
    function _leafState(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        private
        view
        returns (LeafState)
    {
        if (header.lane == Lane.ZK) return LeafState.Final;
        if ((killsOf[batchHash] >> index) & 1 == 1) return LeafState.Dead;
        return ICourt(ESCROW.judgeOf(header.policyHash, header.lane)).leafState(batchHash, header, index);
    }
}
