// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchTree} from "../../src/BatchTree.sol";
import {bound} from "./bound.sol";
import {vm} from "./Vm.sol";

/// @title The tree over a batch: every leaf opens, and nothing else does
/// @dev The reference is the recursion of RFC 6962, section 2.1: a tree of n > 1 leaves is the node over the first k
/// and the others, k the largest power of two below n.
contract BatchTreeTest {
    function verify(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path, bytes32 root)
        external
        pure
        returns (bool)
    {
        return BatchTree.verify(hash, index, count, path, root);
    }

    function testFuzz_nodeAndLeafAreTheirPreimages(bytes32 a, bytes32 b, uint64 index, uint8 lane) external pure {
        vm.assertEq(BatchTree.node(a, b), keccak256(bytes.concat(hex"01", a, b)), "node");
        vm.assertEq(
            BatchTree.leaf(index, lane, a), keccak256(bytes.concat(hex"00", bytes8(index), bytes1(lane), a)), "leaf"
        );
    }

    function testFuzz_everyLeafOpens(bytes32 seed, uint256 count) external view {
        bytes32[] memory leaves = _leaves(seed, bound(count, 1, 64));
        bytes32 root = _root(leaves, 0, leaves.length);
        for (uint256 i = 0; i < leaves.length; ++i) {
            vm.assertTrue(this.verify(leaves[i], i, leaves.length, _path(leaves, i), root), "leaf does not open");
        }
        vm.assertEq(BatchTree.root(leaves), root, "root");
    }

    function testFuzz_leafOfAFullBatchOpens(bytes32 seed, uint256 count, uint256 index) external view {
        bytes32[] memory leaves = _leaves(seed, bound(count, 65, 256));
        index = bound(index, 0, leaves.length - 1);
        bytes32 root = _root(leaves, 0, leaves.length);
        vm.assertTrue(this.verify(leaves[index], index, leaves.length, _path(leaves, index), root), "does not open");
        vm.assertEq(BatchTree.root(leaves), root, "root");
    }

    function testFuzz_wrongLeafRootSiblingIsRefused(bytes32 seed, uint256 count, uint256 index, uint256 bit)
        external
        view
    {
        bytes32[] memory leaves = _leaves(seed, bound(count, 1, 256));
        index = bound(index, 0, leaves.length - 1);
        bytes32 root = _root(leaves, 0, leaves.length);
        bytes32[] memory path = _path(leaves, index);
        bytes32 flip = bytes32(1 << (bit % 256));
        vm.assertFalse(this.verify(leaves[index] ^ flip, index, leaves.length, path, root), "wrong leaf");
        vm.assertFalse(this.verify(leaves[index], index, leaves.length, path, root ^ flip), "wrong root");
        for (uint256 i = 0; i < path.length; ++i) {
            path[i] ^= flip;
            vm.assertFalse(this.verify(leaves[index], index, leaves.length, path, root), "wrong sibling");
            path[i] ^= flip;
        }
    }

    function testFuzz_wrongIndexIsRefused(bytes32 seed, uint256 count, uint256 index, uint256 other) external view {
        bytes32[] memory leaves = _leaves(seed, bound(count, 1, 256));
        index = bound(index, 0, leaves.length - 1);
        // Half of them inside the batch, half beyond it.
        other = other % 2 == 0 ? bound(other, 0, leaves.length - 1) : other;
        vm.assume(other != index);
        bytes32 root = _root(leaves, 0, leaves.length);
        vm.assertFalse(this.verify(leaves[index], other, leaves.length, _path(leaves, index), root), "wrong index");
        // An index that agrees in its low bits walks the same way, and is refused for standing outside.
        vm.assertFalse(
            this.verify(leaves[index], index + (1 << 8), leaves.length, _path(leaves, index), root), "index and 256"
        );
    }

    function testFuzz_pathOfOtherLengthIsRefused(bytes32 seed, uint256 count, uint256 index) external view {
        bytes32[] memory leaves = _leaves(seed, bound(count, 1, 256));
        index = bound(index, 0, leaves.length - 1);
        bytes32 root = _root(leaves, 0, leaves.length);
        bytes32[] memory path = _path(leaves, index);
        bytes32[] memory longer = new bytes32[](path.length + 1);
        for (uint256 i = 0; i < path.length; ++i) {
            longer[i] = path[i];
        }
        longer[path.length] = seed;
        vm.assertFalse(this.verify(leaves[index], index, leaves.length, longer, root), "one too many");
        if (path.length == 0) return;
        bytes32[] memory shorter = new bytes32[](path.length - 1);
        for (uint256 i = 0; i < shorter.length; ++i) {
            shorter[i] = path[i];
        }
        vm.assertFalse(this.verify(leaves[index], index, leaves.length, shorter, root), "one too few");
    }

    /// The path alone does not name the count: the batch's header does. It names all that the walk depends on.
    function testFuzz_otherCountOpensOnlyOverTheSameWalk(bytes32 seed, uint256 count, uint256 index, uint256 other)
        external
        view
    {
        bytes32[] memory leaves = _leaves(seed, bound(count, 1, 256));
        index = bound(index, 0, leaves.length - 1);
        other = bound(other, 0, 300);
        bool same = index < other && _walk(index, other) == _walk(index, leaves.length);
        bool opened = this.verify(leaves[index], index, other, _path(leaves, index), _root(leaves, 0, leaves.length));
        vm.assertTrue(opened == same, "other count");
    }

    /// An inner node shown as a leaf: its preimage starts with another byte, so no receipt hashes to it.
    function testFuzz_innerNodeIsNoLeaf(bytes32 a, bytes32 b, uint64 index, uint8 lane, bytes32 receipt) external pure {
        vm.assertTrue(BatchTree.node(a, b) != BatchTree.leaf(index, lane, receipt), "node is a leaf");
    }

    function _leaves(bytes32 seed, uint256 count) private pure returns (bytes32[] memory leaves) {
        leaves = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            leaves[i] = keccak256(abi.encode(seed, i));
        }
    }

    function _split(uint256 count) private pure returns (uint256 k) {
        k = 1;
        while (2 * k < count) k *= 2;
    }

    function _root(bytes32[] memory leaves, uint256 from, uint256 count) private pure returns (bytes32) {
        if (count == 1) return leaves[from];
        uint256 k = _split(count);
        return keccak256(bytes.concat(hex"01", _root(leaves, from, k), _root(leaves, from + k, count - k)));
    }

    /// Siblings from the leaf upwards.
    function _path(bytes32[] memory leaves, uint256 index) private pure returns (bytes32[] memory path) {
        bytes32[] memory downwards = new bytes32[](8);
        uint256 length = 0;
        uint256 from = 0;
        uint256 count = leaves.length;
        while (count > 1) {
            uint256 k = _split(count);
            bool right = index - from >= k;
            downwards[length++] = right ? _root(leaves, from, k) : _root(leaves, from + k, count - k);
            (from, count) = right ? (from + k, count - k) : (from, k);
        }
        path = new bytes32[](length);
        for (uint256 i = 0; i < length; ++i) {
            path[i] = downwards[length - 1 - i];
        }
    }

    /// Turns from the leaf upwards, behind a leading one: 10 for a left child, 11 for a right one.
    function _walk(uint256 index, uint256 count) private pure returns (uint256 walk) {
        uint256 downwards = 0;
        uint256 steps = 0;
        while (count > 1) {
            uint256 k = _split(count);
            bool right = index >= k;
            if (right) downwards |= 1 << steps;
            ++steps;
            (index, count) = right ? (index - k, count - k) : (index, k);
        }
        walk = 1;
        while (steps > 0) walk = 2 * walk + ((downwards >> --steps) & 1);
    }
}
