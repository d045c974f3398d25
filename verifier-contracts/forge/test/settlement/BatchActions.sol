// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchTree} from "../../../src/BatchTree.sol";
import {LeafState} from "../../../src/ICourt.sol";
import {OrderState} from "../../../src/IEscrow.sol";
import {ProvedClaim} from "../../../src/IProofVerifier.sol";
import {Status} from "../../../src/IReceiptRollup.sol";
import {BatchHeader, Lane, Order, Receipt} from "../../../src/SettlementTypes.sol";
import {Tensor, TensorOpener} from "../TensorOpener.sol";
import {vm} from "../Vm.sol";
import {Parties} from "./Parties.sol";
import {ScriptedCourt} from "./ScriptedJudges.sol";
import {Signing} from "./Signing.sol";

/// @title Batches, and what courts say of their leaves
abstract contract BatchActions is Parties {
    struct Batch {
        uint8 lane;
        bytes32 policyHash;
        uint256[] entries;
        Receipt[] receipts;
        bytes[] signatures;
        uint256[] outputSeeds;
        bytes32[] leaves;
        BatchHeader header;
        address poster;
        bool claimsMatch;
        /// Every receipt is one that a receipt file can hold.
        bool readable;
    }

    function commit1(uint256 seed) external {
        _commit(seed);
    }

    function commit2(uint256 seed) external {
        _commit(seed);
    }

    function _commit(uint256 seed) private {
        if (jobs.length == 0) return;
        Batch memory batch;
        _gather(batch, seed);
        _write(batch, seed);
        bool accepted = !_isFrozen() && batch.header.unbound != (1 << batch.receipts.length) - 1 && batch.claimsMatch
            && batch.readable;
        bytes memory data = batch.lane == Lane.ZK
            ? abi.encodeCall(
                rollup.commitProved,
                (batch.policyHash, batch.receipts, batch.signatures, batch.header.salt, _evidence(batch))
            )
            : abi.encodeCall(
                rollup.commit, (batch.lane, batch.policyHash, batch.receipts, batch.signatures, batch.header.salt)
            );
        _callAt(address(rollup), batch.poster, data, accepted, "commit");
        bytes32 batchHash = Signing.batchHash(address(rollup), batch.header);
        bytes32 expected = accepted ? Signing.headerHash(address(rollup), batch.header) : bytes32(0);
        vm.assertEq(rollup.headerHashOf(batchHash), expected, "header of the batch");
        if (!accepted) return;
        for (uint256 i = 0; i < batch.entries.length; ++i) {
            _checkStatus(batch, i);
            if (batch.header.unbound >> i & 1 == 1) continue;
            Job storage job = jobs[batch.entries[i]];
            job.state = OrderState.Bound;
            job.receipt = batch.receipts[i];
            job.header = batch.header;
            job.batchHash = batchHash;
            job.index = i;
            job.outputSeed = batch.outputSeeds[i];
        }
    }

    /// Which orders, for which lane and policy: those of the first one, and once in a while any other.
    function _gather(Batch memory batch, uint256 seed) private view {
        uint256 start = _pickDue(_draw(seed, 0));
        Job storage first = jobs[start];
        batch.lane = first.order.lane;
        batch.policyHash = first.order.policyHash;
        batch.entries = new uint256[](1 + _draw(seed, 1) % 4);
        batch.entries[0] = start;
        bool mixed = _draw(seed, 3) % 4 == 0;
        for (uint256 i = 1; i < batch.entries.length; ++i) {
            uint256 j = start;
            do {
                j = (j + 1) % jobs.length;
            } while (j != start && !mixed && !_sameTerms(jobs[j], first));
            batch.entries[i] = mixed ? _draw(seed, 4 + i) % jobs.length : j;
            start = j;
        }
        batch.poster = actors[3 + _draw(seed, 2) % 3];
    }

    /// An open order whose receipt may still bind, if there is one.
    function _pickDue(uint256 seed) private view returns (uint256) {
        uint256 count = jobs.length;
        for (uint256 i = 0; i < count; ++i) {
            uint256 j = (seed % count + i) % count;
            if (jobs[j].state == OrderState.Open && _now() <= jobs[j].order.deliverBy) return j;
        }
        return _pick(seed, OPEN);
    }

    function _sameTerms(Job storage a, Job storage b) private view returns (bool) {
        return a.state == b.state && a.order.lane == b.order.lane && a.order.policyHash == b.order.policyHash;
    }

    function _write(Batch memory batch, uint256 seed) private {
        uint256 count = batch.entries.length;
        batch.receipts = new Receipt[](count);
        batch.signatures = new bytes[](count);
        batch.outputSeeds = new uint256[](count);
        batch.claimsMatch = true;
        batch.readable = true;
        batch.leaves = new bytes32[](count);
        bytes32[] memory nodes = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            if (!_receipt(batch, i, _draw(seed, 100 + i))) batch.header.unbound |= 1 << i;
            batch.leaves[i] = BatchTree.leaf(i, batch.lane, Signing.receiptHash(batch.receipts[i]));
            nodes[i] = batch.leaves[i];
        }
        if (batch.lane == Lane.ZK) {
            // A proof that shows something else, or a receipt that says more than is proved.
            if (_draw(seed, 99) % 16 == 0) batch.claimsMatch = false;
            for (uint256 i = 0; i < count; ++i) {
                if (batch.receipts[i].traceRoot != 0) batch.claimsMatch = false;
            }
        }
        batch.header.lane = batch.lane;
        batch.header.count = uint32(count);
        batch.header.committedAt = uint48(_now());
        batch.header.committedBlock = uint48(block.number);
        batch.header.poster = batch.poster;
        batch.header.salt = bytes32(++nonce);
        batch.header.batchRoot = BatchTree.root(nodes);
        batch.header.policyHash = batch.policyHash;
    }

    /// @return binds whether the receipt will bind
    function _receipt(Batch memory batch, uint256 i, uint256 seed) private view returns (bool binds) {
        Job storage job = jobs[batch.entries[i]];
        Order memory order = job.order;
        uint256 outputSeed = _draw(seed, 0);
        Receipt memory receipt = Receipt({
            orderHash: job.orderHash,
            modelDigest: order.modelDigest,
            inputRoot: order.inputRoot,
            outputRoot: TensorOpener.outputRoot(_outputs(outputSeed)),
            traceRoot: order.lane == Lane.ZK ? bytes32(0) : bytes32(seed),
            opCount: 3,
            items: order.items,
            amount: order.price == 0 ? 0 : _draw(seed, 1) % (order.price + 1),
            lane: order.lane,
            policyHash: order.policyHash,
            executor: order.executor,
            issuedAt: uint64(_now())
        });
        binds = job.state == OrderState.Open && order.lane == batch.lane && order.policyHash == batch.policyHash
            && _now() <= order.deliverBy;
        // The same order twice in a batch binds once.
        for (uint256 k = 0; k < i; ++k) {
            if (batch.entries[k] == batch.entries[i] && batch.header.unbound >> k & 1 == 0) binds = false;
        }
        uint256 wrong = _draw(seed, 2) % 32;
        if (wrong == 0) receipt.amount = order.price + 1;
        if (wrong == 1) receipt.modelDigest = ~receipt.modelDigest;
        if (wrong == 2) receipt.inputRoot = ~receipt.inputRoot;
        if (wrong == 3) ++receipt.items;
        if (wrong == 4) receipt.orderHash = ~receipt.orderHash;
        if (wrong == 6) receipt.lane = uint8(9);
        if (wrong == 7) receipt.issuedAt = 8_640_000_000_001;
        if (wrong == 6 || wrong == 7) batch.readable = false;
        uint256 key = keyOf[wrong == 5 ? actors[5] : order.executor];
        if (wrong <= 5) binds = false;
        batch.receipts[i] = receipt;
        batch.signatures[i] = Signing.sign(key, Signing.digest(address(rollup), Signing.receiptHash(receipt)));
        batch.outputSeeds[i] = outputSeed;
    }

    function _evidence(Batch memory batch) private pure returns (bytes memory) {
        ProvedClaim[] memory claims = new ProvedClaim[](batch.receipts.length);
        for (uint256 i = 0; i < claims.length; ++i) {
            Receipt memory receipt = batch.receipts[i];
            claims[i] = ProvedClaim({
                modelDigest: receipt.modelDigest,
                items: receipt.items,
                inputRoot: receipt.inputRoot,
                outputRoot: batch.claimsMatch ? receipt.outputRoot : ~receipt.outputRoot,
                context: receipt.orderHash
            });
        }
        return abi.encode(claims);
    }

    /// A leaf that has just been committed.
    function _checkStatus(Batch memory batch, uint256 i) private view {
        Status expected = batch.lane == Lane.ZK ? Status.FinalZk : Status.Pending;
        if (batch.header.unbound >> i & 1 == 1) expected = Status.Unknown;
        Status status = rollup.statusOf(batch.receipts[i], i, _path(batch.leaves, i), batch.header);
        vm.assertEq(uint256(status), uint256(expected), "status after the commit");
    }

    /// Siblings of a leaf among at most four.
    function _path(bytes32[] memory leaves, uint256 i) private pure returns (bytes32[] memory path) {
        uint256 count = leaves.length;
        bytes32[] memory above = new bytes32[](2);
        above[0] = count > 1 ? BatchTree.node(leaves[0], leaves[1]) : leaves[0];
        if (count > 2) above[1] = count > 3 ? BatchTree.node(leaves[2], leaves[3]) : leaves[2];
        bool paired = i ^ 1 < count;
        path = new bytes32[]((paired ? 1 : 0) + (count > 2 ? 1 : 0));
        if (paired) path[0] = leaves[i ^ 1];
        if (count > 2) path[path.length - 1] = above[i < 2 ? 1 : 0];
    }

    /// Two outputs: 150 elements of one byte in three chunks, and one of four bytes.
    function _outputs(uint256 seed) internal pure returns (Tensor[] memory outputs) {
        outputs = new Tensor[](2);
        outputs[0] = Tensor(-128, 127, new uint32[](1), new uint8[](1), 1, 1, new bytes(150));
        outputs[0].sides[0] = 150;
        outputs[1] = Tensor(type(int32).min, 0, new uint32[](0), new uint8[](0), 1, 4, new bytes(4));
        for (uint256 t = 0; t < 2; ++t) {
            bytes memory elements = outputs[t].elements;
            for (uint256 i = 0; i < elements.length; i += 32) {
                bytes32 word = keccak256(abi.encode(seed, t, i));
                for (uint256 k = 0; k < 32 && i + k < elements.length; ++k) {
                    elements[i + k] = word[k];
                }
            }
        }
    }

    /// A court says something about a leaf: once for all, or that it may be challenged.
    function find1(uint256 seed) external {
        _find(seed);
    }

    function find2(uint256 seed) external {
        _find(seed);
    }

    function _find(uint256 seed) private {
        if (jobs.length == 0) return;
        Job storage job = jobs[_pick(_draw(seed, 0), BOUND)];
        if (job.state != OrderState.Bound || job.order.lane == Lane.ZK) return;
        LeafState now_ = _leafOf(job);
        if (now_ != LeafState.Pending && now_ != LeafState.Challengeable) return;
        uint256 kind = _draw(seed, 1) % 8;
        job.found = kind < 5
            ? LeafState.Final
            : kind < 7 ? LeafState.Dead : _draw(seed, 6) % 2 == 0 ? LeafState.Void : LeafState.Challengeable;
        job.checker = _draw(seed, 2) % 2 == 0 ? address(0) : actors[_draw(seed, 3) % ACTORS];
        job.reporter = _draw(seed, 4) % 2 == 0 ? address(0) : actors[_draw(seed, 5) % ACTORS];
        court.find(job.batchHash, job.index, ScriptedCourt.Finding(job.found, job.checker, job.reporter));
    }
}
