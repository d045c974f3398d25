// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The Merkle tree over the receipts of one batch; receipts/merkle.ts states its rules
/// @dev leaf = keccak(0x00 | uint64 index | uint8 lane | receiptHash), node = keccak(0x01 | left | right).
/// A last node without neighbour moves up unchanged. Nodes are hashed at the free memory pointer: 65 bytes written
/// at address 0 would overwrite the pointer itself, which stands at 0x40.
library BatchTree {
    function leaf(uint256 index, uint8 lane, bytes32 receiptHash) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), uint64(index), lane, receiptHash));
    }

    /// @dev Assembly: 255 nodes a batch; the ABI encoder would allocate fresh memory for each.
    function node(bytes32 left, bytes32 right) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x01)
            mstore(add(free, 0x01), left)
            mstore(add(free, 0x21), right)
            hash := keccak256(free, 0x41)
        }
    }

    /// @notice Root over at least one leaf. Overwrites `nodes`.
    function root(bytes32[] memory nodes) internal pure returns (bytes32) {
        uint256 width = nodes.length;
        while (width > 1) {
            uint256 half = width >> 1;
            for (uint256 i = 0; i < half; ++i) {
                nodes[i] = node(nodes[2 * i], nodes[2 * i + 1]);
            }
            if (width & 1 == 1) {
                nodes[half] = nodes[width - 1];
                ++half;
            }
            width = half;
        }
        return nodes[0];
    }

    /// @notice True iff `hash` stands at `index` under `expected` of a tree of `count` leaves and the path has
    /// exactly the length that index and count ask for.
    function verify(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path, bytes32 expected)
        internal
        pure
        returns (bool)
    {
        if (index >= count) return false;
        uint256 used = 0;
        for (uint256 width = count; width > 1; width = (width + 1) >> 1) {
            if (index ^ 1 < width) {
                if (used == path.length) return false;
                bytes32 sibling = path[used++];
                hash = index & 1 == 0 ? node(hash, sibling) : node(sibling, hash);
            }
            index >>= 1;
        }
        return used == path.length && hash == expected;
    }
}
