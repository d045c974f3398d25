// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OutputOpening, OutputRange} from "./IEscrow.sol";

/// @title Commitments to tensors and to the outputs of a job; graph/commitment/ states them byte by byte
/// @notice Symbols: L elements in committed order, n = ceil(L / 64) chunks, lo..hi the declared range, w the bytes of
/// an element (1, 2 or 4, by lo..hi). A range that ends before it begins is the mark of float32: lo = 2^31 - 1,
/// hi = -2^31, w = 4; no other such range is one. Readers of integers compare lo..hi with a range of integers.
///   chunk   = keccak(0x10 | uint32 i | uint8 elements | elements), tree over them with nodes keccak(0x11 | left | right)
///   tensor  = keccak(0x12 | header | tree value),
///             header = int32 lo | int32 hi | uint8 rank | uint32 sides | uint8 layout axes | uint32 items | uint32 n
///   port    = keccak(0x30 | uint8 role | uint32 i | tensor), tree with nodes keccak(0x31 | left | right)
///   root    = keccak(0x32 | uint8 role | uint32 ports | tree value), role 0 for inputs and 1 for outputs
/// Trees are those of graph/commitment/merkle.ts: a last node without partner rises unchanged, and whoever knows the
/// number of leaves and the range knows the exact number of siblings. The value of a tree of no leaves is zero.
/// Assembly throughout hashes at the free pointer, which stays where it is: the encoder would allocate each preimage.
library TensorTree {
    uint256 internal constant CHUNK_ELEMENTS = 64;
    uint8 internal constant INPUTS = 0;
    uint8 internal constant OUTPUTS = 1;
    uint8 internal constant TENSOR_NODE = 0x11;
    uint8 internal constant PORT_NODE = 0x31;

    /// Chunks are counted in 32 bits, so no tensor has more elements.
    uint256 private constant MAX_ELEMENTS = 64 << 32;

    /// What a tensor's header says.
    struct Header {
        int256 lo;
        int256 hi;
        uint256 items;
        /// Bytes of an element.
        uint256 width;
        uint256 elements;
        uint256 chunks;
    }

    /// @notice Does the opening answer for `range` under `outputRoot`? It does with the elements of the range; or by
    /// showing that the range is not there, so that nobody can be asked for what does not exist:
    ///   - the tensor ends before the range begins: header and `chunkPath` = [tree value], no elements;
    ///   - there are fewer outputs: `portPath` = [tree value], no header, no elements, no `chunkPath`.
    /// A range that begins inside and reaches beyond the end is answered with what there is of it: whoever asks does not
    /// know where the tensor ends, and must not lose by asking for too much. Elements beyond lo..hi are not refused:
    /// they are the fault of whoever committed to them. An empty range has no answer.
    /// @dev Never reverts on what the opening holds.
    function opens(bytes32 outputRoot, OutputRange calldata range, OutputOpening calldata opening)
        internal
        pure
        returns (bool)
    {
        uint256 count = opening.outputCount;
        if (range.tensor >= count) {
            return opening.portPath.length == 1 && opening.tensorHeader.length == 0 && opening.elements.length == 0
                && opening.chunkPath.length == 0 && portsRoot(OUTPUTS, count, opening.portPath[0]) == outputRoot;
        }
        (bool known, bytes32 value) = _chunksValue(range, opening);
        if (!known) return false;
        bytes32[] memory leaf = new bytes32[](1);
        leaf[0] = port(OUTPUTS, range.tensor, _tensorRoot(opening.tensorHeader, value));
        (known, value) = valueFromOpening(PORT_NODE, leaf, range.tensor, count, opening.portPath);
        return known && portsRoot(OUTPUTS, count, value) == outputRoot;
    }

    /// @return known false where header, elements or path are not of the form that the range asks for
    /// @return value of the tree over the chunks of the tensor
    function _chunksValue(OutputRange calldata range, OutputOpening calldata opening)
        private
        pure
        returns (bool known, bytes32 value)
    {
        Header memory header;
        bytes calldata encoded = opening.tensorHeader;
        uint256 offset;
        assembly ("memory-safe") {
            offset := encoded.offset
        }
        (known, header) = readHeader(offset, encoded.length);
        if (!known || range.chunkCount == 0) return (false, 0);
        uint256 first = range.firstChunk;
        bytes calldata elements = opening.elements;
        if (first >= header.chunks) {
            known = elements.length == 0 && opening.chunkPath.length == 1;
            return (known, known ? opening.chunkPath[0] : bytes32(0));
        }
        uint256 end = (first + range.chunkCount) * CHUNK_ELEMENTS;
        if (end > header.elements) end = header.elements;
        if (elements.length != (end - first * CHUNK_ELEMENTS) * header.width) return (false, 0);
        bytes32[] memory leaves = _leaves(elements, header.width, first);
        return valueFromOpening(TENSOR_NODE, leaves, first, header.chunks, opening.chunkPath);
    }

    function _tensorRoot(bytes calldata header, bytes32 chunksValue) private pure returns (bytes32) {
        uint256 offset;
        assembly ("memory-safe") {
            offset := header.offset
        }
        return tensorRoot(offset, header.length, chunksValue);
    }

    function _leaves(bytes memory elements, uint256 width, uint256 first) private pure returns (bytes32[] memory) {
        uint256 pointer;
        assembly ("memory-safe") {
            pointer := add(elements, 0x20)
        }
        return chunkLeaves(pointer, elements.length, width, first);
    }

    /// @notice Reads a header of `size` bytes of the call and checks that it is one that a tensor can have.
    function readHeader(uint256 offset, uint256 size) internal pure returns (bool valid, Header memory header) {
        int256 lo;
        int256 hi;
        uint256 items;
        uint256 chunks;
        uint256 elements;
        // Assembly: fields of four bytes and of one at their offsets. The product of the sides is given up as soon as it
        // is more than any tensor has, so that it does not overflow: below 2^38 times a side below 2^32.
        assembly ("memory-safe") {
            let word := calldataload(offset)
            lo := sar(224, word)
            hi := signextend(3, shr(192, word))
            let rank := byte(8, word)
            let sides := add(offset, 9)
            let order := add(sides, shl(2, rank))
            word := calldataload(add(order, rank))
            items := shr(224, word)
            chunks := and(shr(192, word), 0xffffffff)
            valid := or(iszero(sgt(lo, hi)), and(eq(lo, 0x7fffffff), eq(hi, not(0x7fffffff))))
            valid := and(eq(size, add(17, mul(5, rank))), valid)
            elements := items
            let axes := 0
            for { let i := 0 } lt(i, mul(rank, valid)) { i := add(i, 1) } {
                elements := mul(elements, shr(224, calldataload(add(sides, shl(2, i)))))
                axes := or(axes, shl(byte(0, calldataload(add(order, i))), 1))
                if gt(elements, MAX_ELEMENTS) { valid := 0 }
            }
            // `rank` axes set exactly the low bits: each of 0 .. rank - 1 stands in the layout once.
            valid := and(valid, eq(axes, sub(shl(rank, 1), 1)))
            valid := and(valid, gt(elements, 0))
            valid := and(valid, eq(chunks, shr(6, add(elements, 63))))
        }
        header = Header(lo, hi, items, elementWidth(lo, hi), elements, chunks);
    }

    /// @notice Bytes that hold every integer of lo..hi, two's complement where lo < 0; those of a float32 where lo > hi.
    function elementWidth(int256 lo, int256 hi) internal pure returns (uint256) {
        if (lo > hi) return 4;
        if (lo < 0 ? lo >= -0x80 && hi < 0x80 : hi < 0x100) return 1;
        if (lo < 0 ? lo >= -0x8000 && hi < 0x8000 : hi < 0x10000) return 2;
        return 4;
    }

    /// @notice Hashes of consecutive chunks of at least one element, the first being number `first`; all but the last
    /// are full.
    /// @param elements address of the encoded elements in memory
    /// @param size of them, bytes
    /// @dev Assembly: the preimages are written one over another at the free pointer, which stays where it is; the
    /// encoder would allocate each anew. At most 6 + 256 bytes are written there.
    function chunkLeaves(uint256 elements, uint256 size, uint256 width, uint256 first)
        internal
        pure
        returns (bytes32[] memory leaves)
    {
        uint256 full = CHUNK_ELEMENTS * width;
        leaves = new bytes32[]((size + full - 1) / full);
        assembly ("memory-safe") {
            let free := mload(0x40)
            let to := add(leaves, 0x20)
            for { let end := add(elements, size) } lt(elements, end) { elements := add(elements, full) } {
                let own := sub(end, elements)
                if gt(own, full) { own := full }
                mstore(free, or(or(shl(248, 0x10), shl(216, and(first, 0xffffffff))), shl(208, div(own, width))))
                mcopy(add(free, 6), elements, own)
                mstore(to, keccak256(free, add(own, 6)))
                to := add(to, 0x20)
                first := add(first, 1)
            }
        }
    }

    /// @param offset of the header in the call
    /// @param size of the header, bytes
    function tensorRoot(uint256 offset, uint256 size, bytes32 chunksValue) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x12)
            calldatacopy(add(free, 0x01), offset, size)
            mstore(add(free, add(size, 0x01)), chunksValue)
            hash := keccak256(free, add(size, 0x21))
        }
    }

    /// @notice The leaf of tensor number `index` among the inputs or outputs.
    function port(uint8 role, uint256 index, bytes32 tensor) internal pure returns (bytes32) {
        return _tagged(0x30, role, index, tensor);
    }

    /// @notice Root of a job's inputs or outputs.
    function portsRoot(uint8 role, uint256 count, bytes32 portsValue) internal pure returns (bytes32) {
        return _tagged(0x32, role, count, portsValue);
    }

    /// @dev keccak(tag | role | uint32 index | value)
    function _tagged(uint256 tag, uint256 role, uint256 index, bytes32 value) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(or(shl(248, tag), shl(240, role)), shl(208, and(index, 0xffffffff))))
            mstore(add(free, 0x06), value)
            hash := keccak256(free, 0x26)
        }
    }

    /// @notice Value of the tree over all leaves. Overwrites `nodes`.
    /// @dev Assembly: neighbours lie side by side, so that a node's preimage is one copy to behind the tag at the free
    /// pointer, which stays where it is: 65 bytes.
    function treeValue(uint8 tag, bytes32[] memory nodes) internal pure returns (bytes32 value) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            let first := add(nodes, 0x20)
            mstore8(free, tag)
            let size := shl(5, mload(nodes))
            if size {
                for {} gt(size, 0x20) {} {
                    let to := first
                    let end := add(first, and(size, not(0x3f)))
                    for { let from := first } lt(from, end) { from := add(from, 0x40) } {
                        mcopy(add(free, 0x01), from, 0x40)
                        mstore(to, keccak256(free, 0x41))
                        to := add(to, 0x20)
                    }
                    if and(size, 0x20) {
                        mstore(to, mload(end))
                        to := add(to, 0x20)
                    }
                    size := sub(to, first)
                }
                value := mload(first)
            }
        }
    }

    /// @notice Value of a tree of `size` leaves from those at first .. first + nodes.length - 1. Overwrites `nodes`.
    /// @param nodes not empty, and all of them inside the tree
    /// @return exact false where the path does not have exactly the siblings that are missing
    function valueFromOpening(
        uint8 tag,
        bytes32[] memory nodes,
        uint256 first,
        uint256 size,
        bytes32[] calldata path
    ) internal pure returns (bool exact, bytes32 value) {
        uint256 length = nodes.length;
        uint256 used = 0;
        for (; size > 1; size = (size + 1) >> 1) {
            uint256 i = 0;
            uint256 next = 0;
            if (first & 1 == 1) {
                if (used == path.length) return (false, 0);
                nodes[next++] = node(tag, path[used++], nodes[i++]);
            }
            for (; i + 1 < length; i += 2) {
                nodes[next++] = node(tag, nodes[i], nodes[i + 1]);
            }
            if (i < length) {
                bytes32 last = nodes[i];
                if (first + length < size) {
                    if (used == path.length) return (false, 0);
                    last = node(tag, last, path[used++]);
                }
                nodes[next++] = last;
            }
            first >>= 1;
            length = next;
        }
        return (used == path.length, nodes[0]);
    }

    /// @dev Assembly: as in BatchTree.node, 65 bytes at the free pointer, which stays where it is.
    function node(uint8 tag, bytes32 left, bytes32 right) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, tag)
            mstore(add(free, 0x01), left)
            mstore(add(free, 0x21), right)
            hash := keccak256(free, 0x41)
        }
    }
}
