// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OutputOpening, OutputRange} from "../../src/IEscrow.sol";

/// One output tensor in clear.
struct Tensor {
    int32 lo;
    int32 hi;
    uint32[] sides;
    uint8[] axes;
    uint32 items;
    /// Bytes of an element.
    uint256 width;
    /// All elements, encoded, in committed order.
    bytes elements;
}

/// @title Commits to outputs and opens ranges of them, as an executor does
/// @dev Follows graph/commitment/ and shares no code with TensorTree: roots by the recursion of RFC 6962, paths level
/// by level over whole arrays.
library TensorOpener {
    uint256 private constant CHUNK_ELEMENTS = 64;

    function header(Tensor memory tensor) internal pure returns (bytes memory encoded) {
        encoded = abi.encodePacked(tensor.lo, tensor.hi, uint8(tensor.sides.length));
        for (uint256 i = 0; i < tensor.sides.length; ++i) {
            encoded = bytes.concat(encoded, bytes4(tensor.sides[i]));
        }
        for (uint256 i = 0; i < tensor.axes.length; ++i) {
            encoded = bytes.concat(encoded, bytes1(tensor.axes[i]));
        }
        encoded = bytes.concat(encoded, bytes4(tensor.items), bytes4(uint32(chunkCount(tensor))));
    }

    function chunkCount(Tensor memory tensor) internal pure returns (uint256) {
        uint256 full = CHUNK_ELEMENTS * tensor.width;
        return (tensor.elements.length + full - 1) / full;
    }

    function outputRoot(Tensor[] memory outputs) internal pure returns (bytes32) {
        return _portsRoot(outputs.length, _ports(outputs));
    }

    /// @notice The answer to a demand: the elements as far as there are any, or the proof that there are none.
    function open(Tensor[] memory outputs, OutputRange memory range)
        internal
        pure
        returns (OutputOpening memory answer)
    {
        bytes32[] memory ports = _ports(outputs);
        answer.outputCount = uint32(outputs.length);
        if (range.tensor >= outputs.length) {
            answer.portPath = _single(_tree(0x31, ports, 0, ports.length));
            return answer;
        }
        answer.portPath = _siblings(0x31, ports, range.tensor, 1);
        Tensor memory tensor = outputs[range.tensor];
        answer.tensorHeader = header(tensor);
        bytes32[] memory chunks = _chunks(tensor);
        if (range.firstChunk >= chunks.length) {
            answer.chunkPath = _single(_tree(0x11, chunks, 0, chunks.length));
            return answer;
        }
        uint256 count = chunks.length - range.firstChunk;
        if (count > range.chunkCount) count = range.chunkCount;
        uint256 full = CHUNK_ELEMENTS * tensor.width;
        answer.elements = _slice(tensor.elements, range.firstChunk * full, count * full);
        answer.chunkPath = _siblings(0x11, chunks, range.firstChunk, count);
    }

    function _ports(Tensor[] memory outputs) private pure returns (bytes32[] memory ports) {
        ports = new bytes32[](outputs.length);
        for (uint256 i = 0; i < outputs.length; ++i) {
            bytes32[] memory chunks = _chunks(outputs[i]);
            bytes32 tensorRoot =
                keccak256(bytes.concat(hex"12", header(outputs[i]), _tree(0x11, chunks, 0, chunks.length)));
            ports[i] = keccak256(bytes.concat(hex"3001", bytes4(uint32(i)), tensorRoot));
        }
    }

    function _portsRoot(uint256 count, bytes32[] memory ports) private pure returns (bytes32) {
        return keccak256(bytes.concat(hex"3201", bytes4(uint32(count)), _tree(0x31, ports, 0, count)));
    }

    function _chunks(Tensor memory tensor) private pure returns (bytes32[] memory leaves) {
        uint256 full = CHUNK_ELEMENTS * tensor.width;
        leaves = new bytes32[](chunkCount(tensor));
        for (uint256 i = 0; i < leaves.length; ++i) {
            bytes memory elements = _slice(tensor.elements, i * full, full);
            leaves[i] = keccak256(
                bytes.concat(hex"10", bytes4(uint32(i)), bytes1(uint8(elements.length / tensor.width)), elements)
            );
        }
    }

    /// At most `length` bytes from `start`.
    function _slice(bytes memory data, uint256 start, uint256 length) private pure returns (bytes memory part) {
        if (start + length > data.length) length = data.length - start;
        part = new bytes(length);
        for (uint256 i = 0; i < length; ++i) {
            part[i] = data[start + i];
        }
    }

    function _tree(uint8 tag, bytes32[] memory leaves, uint256 from, uint256 count) private pure returns (bytes32) {
        if (count == 0) return 0;
        if (count == 1) return leaves[from];
        uint256 k = 1;
        while (2 * k < count) k *= 2;
        return
            keccak256(bytes.concat(bytes1(tag), _tree(tag, leaves, from, k), _tree(tag, leaves, from + k, count - k)));
    }

    /// Siblings of `count` leaves from `first`, from the leaves upwards, the left one of a level before the right one.
    function _siblings(uint8 tag, bytes32[] memory level, uint256 first, uint256 count)
        private
        pure
        returns (bytes32[] memory path)
    {
        bytes32[] memory found = new bytes32[](64);
        uint256 length = 0;
        uint256 last = first + count - 1;
        while (level.length > 1) {
            if (first % 2 == 1) found[length++] = level[first - 1];
            if (last % 2 == 0 && last + 1 < level.length) found[length++] = level[last + 1];
            bytes32[] memory above = new bytes32[]((level.length + 1) / 2);
            for (uint256 i = 0; i < above.length; ++i) {
                above[i] = 2 * i + 1 < level.length
                    ? keccak256(bytes.concat(bytes1(tag), level[2 * i], level[2 * i + 1]))
                    : level[2 * i];
            }
            (level, first, last) = (above, first / 2, last / 2);
        }
        path = new bytes32[](length);
        for (uint256 i = 0; i < length; ++i) {
            path[i] = found[i];
        }
    }

    function _single(bytes32 value) private pure returns (bytes32[] memory list) {
        list = new bytes32[](1);
        list[0] = value;
    }
}
