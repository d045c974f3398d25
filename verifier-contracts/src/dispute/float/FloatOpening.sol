// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IStep} from "../IStep.sol";
import {Run, SlotOpening, TensorOpening} from "../StepEvidence.sol";
import {TensorTree} from "../../TensorTree.sol";

/// Elements of a tensor that were shown.
struct OpenedRuns {
    /// Of each run: first element in committed order, the one after its last, and where the first one's bytes are in
    /// memory.
    uint256[] first;
    uint256[] end;
    uint256[] place;
}

/// @title Openings of committed tensors of float32
library FloatOpening {
    uint256 private constant WIDTH = 4;
    uint256 private constant CHUNK_BYTES = 64 * WIDTH;
    uint8 private constant TRACE_NODE = 0x21;

    /// @notice The tensor's root from its header and runs, or from its header and the value of its tree where it has
    /// none.
    /// @param elements of the tensor, as the header says
    function open(TensorOpening calldata opening, uint256 elements)
        internal
        pure
        returns (bytes32 root, OpenedRuns memory opened)
    {
        uint256 count = opening.runs.length;
        bytes32 value = opening.treeValue;
        opened = OpenedRuns(new uint256[](count), new uint256[](count), new uint256[](count));
        for (uint256 i = 0; i < count; ++i) {
            bytes32 found = _run(opening.runs[i], elements, opened, i);
            if (i > 0 && found != value) revert IStep.EvidenceInvalid("chunks");
            value = found;
        }
        root = rootOf(opening.header, value);
    }

    function rootOf(bytes calldata header, bytes32 treeValue) internal pure returns (bytes32) {
        uint256 offset;
        assembly ("memory-safe") {
            offset := header.offset
        }
        return TensorTree.tensorRoot(offset, header.length, treeValue);
    }

    function _run(Run calldata run, uint256 elements, OpenedRuns memory opened, uint256 i)
        private
        pure
        returns (bytes32)
    {
        uint256 chunks = (elements * WIDTH + CHUNK_BYTES - 1) / CHUNK_BYTES;
        uint256 first = run.firstChunk;
        bytes memory encoded = run.elements;
        uint256 last = first + (encoded.length + CHUNK_BYTES - 1) / CHUNK_BYTES;
        if (encoded.length == 0 || last > chunks) revert IStep.EvidenceInvalid("chunks");
        uint256 end = last * CHUNK_BYTES > elements * WIDTH ? elements * WIDTH : last * CHUNK_BYTES;
        if (encoded.length != end - first * CHUNK_BYTES) revert IStep.EvidenceInvalid("chunks");
        uint256 place;
        assembly ("memory-safe") {
            place := add(encoded, 0x20)
        }
        bytes32[] memory leaves = TensorTree.chunkLeaves(place, encoded.length, WIDTH, first);
        (bool exact, bytes32 value) =
            TensorTree.valueFromOpening(TensorTree.TENSOR_NODE, leaves, first, chunks, run.path);
        if (!exact) revert IStep.EvidenceInvalid("chunks");
        opened.first[i] = first * CHUNK_BYTES / WIDTH;
        opened.end[i] = end / WIDTH;
        opened.place[i] = place;
        return value;
    }

    /// @notice Does traceRoot hold a tensor of this root at the slot?
    function inTrace(bytes32 traceRoot, uint256 slotCount, SlotOpening calldata slot, bytes32 tensorRoot)
        internal
        pure
        returns (bool)
    {
        if (slot.position != slot.slot || slot.slot >= slotCount || slot.segment != 0) return false;
        bytes32[] memory leaf = new bytes32[](1);
        leaf[0] = keccak256(abi.encodePacked(uint8(0x20), slot.slot, tensorRoot));
        (bool exact, bytes32 value) = TensorTree.valueFromOpening(TRACE_NODE, leaf, slot.slot, slotCount, slot.path);
        return exact && traceRootOf(slotCount, value) == traceRoot;
    }

    function traceRootOf(uint256 slotCount, bytes32 treeValue) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(uint8(0x22), uint32(slotCount), treeValue));
    }

    /// @notice Bits of one element in committed order.
    function elementAt(OpenedRuns memory opened, uint256 position) internal pure returns (uint256 bits) {
        uint256 place = _place(opened, position, 1);
        assembly ("memory-safe") {
            bits := shr(224, mload(place))
        }
    }

    /// @notice Copies `count` elements, `stride` apart, from `position` on to `to`.
    /// @dev Assembly: `to` was allocated by the caller, with 32 bytes to spare: a single element is written as a whole
    /// word.
    function gather(OpenedRuns memory opened, uint256 position, uint256 stride, uint256 count, uint256 to)
        internal
        pure
    {
        if (stride == 1 && count > 1) {
            uint256 place = _place(opened, position, count);
            assembly ("memory-safe") {
                mcopy(to, place, shl(2, count))
            }
            return;
        }
        for (uint256 i = 0; i < count; ++i) {
            uint256 place = _place(opened, position + i * stride, 1);
            assembly ("memory-safe") {
                mstore(add(to, shl(2, i)), and(mload(place), shl(224, 0xffffffff)))
            }
        }
    }

    /// @dev Where the bytes of `count` consecutive elements lie. Runs do not touch, so that one of them has all.
    function _place(OpenedRuns memory opened, uint256 position, uint256 count) private pure returns (uint256) {
        for (uint256 i = 0; i < opened.first.length; ++i) {
            if (position >= opened.first[i] && position + count <= opened.end[i]) {
                return opened.place[i] + (position - opened.first[i]) * WIDTH;
            }
        }
        revert IStep.EvidenceInvalid("elements");
    }
}
