// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";
import {BatchRecord, Group, Output} from "./BatchRecord.sol";

/// @title The published integers of a receipt: as words of x, and as the output root of the receipt
/// @notice circuits/batch/commitments.ts (packOutputs) and graph/commitment/trace-root.ts (outputRoot) are the same in
/// TypeScript. Integers lie in the call as int32, output by output, item by item, row by row.
library BatchOutputs {
    uint256 internal constant INTEGERS_PER_WORD = 7;
    /// The top bit of each of seven integers.
    uint256 private constant OFFSETS = 0x80000000800000008000000080000000800000008000000080000000;

    function wordsOf(uint256 integers) internal pure returns (uint256) {
        return (integers + INTEGERS_PER_WORD - 1) / INTEGERS_PER_WORD;
    }

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
    function rootOf(Group memory group, uint256 offset) internal pure returns (bytes32) {
        bytes32[] memory ports = new bytes32[](group.outputs);
        uint256 cursor = group.outputsAt;
        for (uint256 i = 0; i < ports.length; ++i) {
            Output memory own = BatchRecord.output(cursor);
            cursor = own.next;
            ports[i] = TensorTree.port(TensorTree.OUTPUTS, i, _tensor(own, offset));
            offset += 4 * own.published;
        }
        return TensorTree.portsRoot(
            TensorTree.OUTPUTS, ports.length, TensorTree.treeValue(TensorTree.PORT_NODE, ports)
        );
    }

    /// @dev Assembly: head and value are put together at the free pointer, which stays where it is.
    function _tensor(Output memory own, uint256 offset) private pure returns (bytes32 root) {
        (int256 lo, int256 hi) = _rangeOf(own.header);
        uint256 width = TensorTree.elementWidth(lo, hi);
        (uint256 elements, uint256 size) = _elements(own, offset, width);
        bytes32 value = TensorTree.treeValue(TensorTree.TENSOR_NODE, TensorTree.chunkLeaves(elements, size, width, 0));
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

    function _rangeOf(uint256 header) private pure returns (int256 lo, int256 hi) {
        assembly ("memory-safe") {
            let word := mload(header)
            lo := sar(224, word)
            hi := signextend(3, shr(192, word))
        }
    }

    /// @notice What was asked for, encoded as under the root: low bytes of the integers, or of the places of the first
    /// largest along an axis.
    /// @return elements address of them
    /// @return size of all, bytes
    function _elements(Output memory own, uint256 offset, uint256 width)
        private
        pure
        returns (uint256 elements, uint256 size)
    {
        uint256 side = own.side;
        uint256 count = side == 0 ? own.published : own.published / side;
        size = count * width;
        assembly ("memory-safe") {
            elements := mload(0x40)
            // The last element is written as a whole word.
            mstore(0x40, and(add(add(elements, size), 0x3f), not(0x1f)))
        }
        uint256 inner = own.inner;
        for (uint256 i = 0; i < count; ++i) {
            uint256 value;
            if (side == 0) {
                assembly ("memory-safe") {
                    value := shr(224, calldataload(add(offset, shl(2, i))))
                }
            } else {
                value = _largest(offset + 4 * ((i / inner) * side * inner + i % inner), side, 4 * inner);
            }
            assembly ("memory-safe") {
                mstore(add(elements, mul(i, width)), shl(sub(256, shl(3, width)), value))
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
