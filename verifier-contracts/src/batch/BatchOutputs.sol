// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";
import {Output} from "./BatchRecord.sol";

/// @title The published integers of a receipt: as words of x, and as the output root of the receipt
/// @notice circuits/batch/commitments.ts (packOutputs) and graph/commitment/trace-root.ts (outputRoot) are the same in
/// TypeScript. Integers lie in the call as int32, output by output, item by item, row by row.
library BatchOutputs {
    /// The top bit of each of seven integers.
    uint256 private constant OFFSETS = 0x80000000800000008000000080000000800000008000000080000000;

    /// @notice Writes the words of `integers` integers of the call at `offset` to memory at `to`.
    /// @dev Assembly: an integer plus 2^31 is its two's complement with the top bit flipped.
    function pack(uint256 offset, uint256 integers, uint256 to) internal pure {
        assembly ("memory-safe") {
            for {} gt(integers, 6) { integers := sub(integers, 7) } {
                mstore(to, xor(shr(32, calldataload(offset)), OFFSETS))
                offset := add(offset, 28)
                to := add(to, 0x20)
            }
            if integers {
                let bits := shl(5, integers)
                mstore(to, xor(shr(sub(256, bits), calldataload(offset)), shr(sub(224, bits), OFFSETS)))
            }
        }
    }

    /// @param offset of the published integers in the call
    function rootOf(Output[] memory outputs, uint256 offset) internal pure returns (bytes32) {
        unchecked {
            uint256 count = outputs.length;
            if (count == 1) {
                return TensorTree.portsRoot(
                    TensorTree.OUTPUTS, 1, TensorTree.port(TensorTree.OUTPUTS, 0, _tensor(outputs[0], offset))
                );
            }
            bytes32[] memory ports = new bytes32[](count);
            for (uint256 i = 0; i < count; ++i) {
                ports[i] = TensorTree.port(TensorTree.OUTPUTS, i, _tensor(outputs[i], offset));
                offset += 4 * outputs[i].published;
            }
            return TensorTree.portsRoot(
                TensorTree.OUTPUTS, count, TensorTree.treeValue(TensorTree.PORT_NODE, ports)
            );
        }
    }

    /// @dev Assembly: head and value are put together at the free pointer, which stays where it is.
    function _tensor(Output memory own, uint256 offset) private pure returns (bytes32 root) {
        bytes32 value = own.elements > TensorTree.CHUNK_ELEMENTS ? _manyChunks(own, offset) : _oneChunk(own, offset);
        uint256 header = own.header;
        uint256 headerSize = own.headerSize;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x12)
            mcopy(add(free, 0x01), header, headerSize)
            mstore(add(free, add(headerSize, 0x01)), value)
            root := keccak256(free, add(headerSize, 0x21))
        }
    }

    /// @notice The tree over one chunk is its leaf.
    /// @dev Assembly: its preimage at the free pointer, which stays where it is: 0x10 | uint32 0 | uint8 elements.
    function _oneChunk(Output memory own, uint256 offset) private pure returns (bytes32 leaf) {
        unchecked {
            uint256 free;
            uint256 count = own.elements;
            assembly ("memory-safe") {
                free := mload(0x40)
                mstore(free, or(shl(248, 0x10), shl(208, count)))
            }
            _encode(own, offset, free + 6);
            uint256 size = 6 + count * own.width;
            assembly ("memory-safe") {
                leaf := keccak256(free, size)
            }
        }
    }

    function _manyChunks(Output memory own, uint256 offset) private pure returns (bytes32) {
        unchecked {
            uint256 size = own.elements * own.width;
            uint256 elements;
            assembly ("memory-safe") {
                elements := mload(0x40)
                // The last element is written as a whole word.
                mstore(0x40, and(add(add(elements, size), 0x3f), not(0x1f)))
            }
            _encode(own, offset, elements);
            return TensorTree.treeValue(
                TensorTree.TENSOR_NODE, TensorTree.chunkLeaves(elements, size, own.width, 0)
            );
        }
    }

    /// @notice Writes what was asked for, encoded as under the root: low bytes of the integers, or of the places of the
    /// first largest along an axis.
    function _encode(Output memory own, uint256 offset, uint256 to) private pure {
        unchecked {
            uint256 count = own.elements;
            uint256 width = own.width;
            uint256 side = own.side;
            if (side == 0) {
                assembly ("memory-safe") {
                    switch width
                    case 4 { calldatacopy(to, offset, shl(2, count)) }
                    default {
                        let shift := sub(256, shl(3, width))
                        for { let end := add(to, mul(count, width)) } lt(to, end) { to := add(to, width) } {
                            mstore(to, shl(shift, shr(224, calldataload(offset))))
                            offset := add(offset, 4)
                        }
                    }
                }
                return;
            }
            uint256 inner = own.inner;
            for (uint256 i = 0; i < count; ++i) {
                uint256 value = _largest(offset + 4 * ((i / inner) * side * inner + i % inner), side, 4 * inner);
                assembly ("memory-safe") {
                    mstore(to, shl(sub(256, shl(3, width)), value))
                    to := add(to, width)
                }
            }
        }
    }

    /// @return place of the first largest of `side` integers, `stride` bytes apart
    function _largest(uint256 offset, uint256 side, uint256 stride) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            let best := sar(224, calldataload(offset))
            for { let i := 1 } lt(i, side) { i := add(i, 1) } {
                offset := add(offset, stride)
                let own := sar(224, calldataload(offset))
                if sgt(own, best) {
                    best := own
                    place := i
                }
            }
        }
    }
}
