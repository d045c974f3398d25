// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Value of a tree of graph/commitment/merkle.ts from consecutive leaves and an opening
/// @notice TensorTree.valueFromOpening at a tenth of its gas: evidence of a long contraction has 512 leaves, and a
/// dozen paths besides.
library MerklePath {
    /// @notice keccak(tag | uint32 index | word): leaves of a trace, and roots over a number of leaves and their tree's
    /// value.
    function tagged(uint8 tag, uint256 index, bytes32 word) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(shl(248, tag), shl(216, index)))
            mstore(add(free, 0x05), word)
            hash := keccak256(free, 0x25)
        }
    }

    /// @param tag of the tree's nodes
    /// @param path siblings from below
    /// @return exact false where the leaf is not inside, or the path has not exactly the siblings that are missing
    function value(uint8 tag, bytes32 leaf, uint256 index, uint256 size, bytes32[] calldata path)
        internal
        pure
        returns (bool exact, bytes32 node)
    {
        uint256 nodes;
        // Assembly: the leaf behind the scratch space of `fold`, with a word on either side; nothing is allocated.
        assembly ("memory-safe") {
            nodes := add(mload(0x40), 0x80)
            mstore(nodes, leaf)
        }
        return fold(tag, nodes, 1, index, size, path);
    }

    /// @param nodes address in memory of the leaves; they are overwritten, and the words before and behind them
    /// @param count of the leaves, from number `first` on
    /// @return exact false where they are none or not inside, or the path has not exactly the siblings that are missing
    /// @dev Assembly: while there are several nodes, a left sibling is written before the level, a right one behind it,
    /// so that all nodes are pairs of neighbours; each is copied behind the tag at the free pointer, which stays where
    /// it is (65 bytes), and its hash is written where no later pair is read. A single node and its sibling are written
    /// there side by side. Siblings that are read beyond the path make its length wrong.
    function fold(uint8 tag, uint256 nodes, uint256 count, uint256 first, uint256 size, bytes32[] calldata path)
        internal
        pure
        returns (bool exact, bytes32 node)
    {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, tag)
            let next := path.offset
            exact := and(gt(count, 0), iszero(gt(add(first, count), size)))
            for {} and(exact, gt(count, 1)) {} {
                let from := nodes
                let end := add(nodes, shl(5, count))
                if and(first, 1) {
                    from := sub(nodes, 0x20)
                    mstore(from, calldataload(next))
                    next := add(next, 0x20)
                }
                let odd := and(sub(end, from), 0x20)
                if and(gt(odd, 0), lt(add(first, count), size)) {
                    mstore(end, calldataload(next))
                    next := add(next, 0x20)
                    end := add(end, 0x20)
                    odd := 0
                }
                let to := nodes
                for { end := sub(end, odd) } lt(from, end) { from := add(from, 0x40) } {
                    mcopy(add(free, 0x01), from, 0x40)
                    mstore(to, keccak256(free, 0x41))
                    to := add(to, 0x20)
                }
                // The last node of the tree's level rises unchanged.
                if odd {
                    mstore(to, mload(from))
                    to := add(to, 0x20)
                }
                count := shr(5, sub(to, nodes))
                first := shr(1, first)
                size := shr(1, add(size, 1))
            }
            node := mload(nodes)
            let left := add(free, 0x01)
            for {} and(exact, gt(size, 1)) {} {
                let side := shl(5, and(first, 1))
                // The last node of the tree's level rises unchanged.
                if or(side, lt(add(first, 1), size)) {
                    mstore(add(left, side), node)
                    mstore(add(left, xor(side, 0x20)), calldataload(next))
                    next := add(next, 0x20)
                    node := keccak256(free, 0x41)
                }
                first := shr(1, first)
                size := shr(1, add(size, 1))
            }
            exact := and(exact, eq(next, add(path.offset, shl(5, path.length))))
        }
    }
}
