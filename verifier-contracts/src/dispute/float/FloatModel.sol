// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IStep} from "../IStep.sol";
import {Descriptor, ModelOpening} from "../StepEvidence.sol";
import {TensorTree} from "../../TensorTree.sol";

/// What a descriptor says of a tensor.
struct FloatTensor {
    /// Of one item.
    uint256[] sides;
    uint256[] order;
    /// Elements from one index of an axis to the next, in committed order.
    uint256[] strides;
    /// Elements of an item.
    uint256 size;
    uint256 slot;
}

struct FloatWindow {
    uint256 kernelRows;
    uint256 kernelColumns;
    uint256 strideRow;
    uint256 strideColumn;
    uint256 dilationRow;
    uint256 dilationColumn;
    uint256 padTop;
    uint256 padLeft;
}

/// A place in the call from which a descriptor is read, and the place where it ends.
struct Reading {
    uint256 cursor;
    uint256 end;
}

/// @title Descriptors of a float32 graph; fraud-proofs/float/float-model.ts states them byte by byte
/// @notice digest = keccak("assay/model/1" | uint8 2 | graphRoot | weightsRoot | uint32 opCount | 0 | modelKeyHash)
///   graphRoot = keccak(0x42 | uint32 count | tree value) over leaves keccak(0x40 | uint32 i | uint32 length |
///   descriptor)
/// What is read was shown under the digest that requester and executor signed, so that its form is trusted; that it is
/// read to its last byte is checked all the same, so that nothing beyond it is ever taken for a part of it.
library FloatModel {
    uint8 internal constant CONV = 0x81;
    uint8 internal constant DENSE = 0x82;
    uint8 internal constant AVERAGE_POOL = 0x83;
    uint8 internal constant MAX_POOL = 0x84;
    uint8 internal constant ADD = 0x85;
    uint8 internal constant SUB = 0x86;
    uint8 internal constant MUL = 0x87;
    uint8 internal constant RELU = 0x88;
    uint8 internal constant RESHAPE = 0x89;

    uint8 private constant ARITHMETIC_FLOAT32 = 2;
    uint8 private constant GRAPH_NODE = 0x41;
    uint256 private constant CHUNK_ELEMENTS = 64;

    struct Header {
        uint256 inputs;
        uint256 nodes;
        uint256 outputs;
        uint256 slots;
    }

    /// @notice Checks the digest and reads descriptor 0.
    function open(bytes32 modelDigest, ModelOpening calldata model) internal pure returns (Header memory header) {
        bytes32 digest = keccak256(
            abi.encodePacked(
                "assay/model/1",
                ARITHMETIC_FLOAT32,
                model.graphRoot,
                model.weightsRoot,
                model.opCount,
                bytes32(0),
                model.modelKeyHash
            )
        );
        if (digest != modelDigest) revert IStep.EvidenceInvalid("model");
        Reading memory reading = descriptor(model, 0);
        header = Header(u32(reading), u32(reading), u32(reading), u32(reading));
        // Every slot is committed: the number of them again, and no table.
        if (u32(reading) != header.slots || word(reading) != 0) revert IStep.EvidenceInvalid("descriptor");
        finish(reading);
    }

    /// @notice Shows one of the descriptors under the graph's root.
    function descriptor(ModelOpening calldata model, uint256 index) internal pure returns (Reading memory) {
        uint256 count = model.descriptors.length;
        for (uint256 i = 0; i < count; ++i) {
            Descriptor calldata found = model.descriptors[i];
            if (found.index != index) continue;
            if (index >= model.descriptorCount) break;
            bytes32[] memory leaf = new bytes32[](1);
            leaf[0] = keccak256(
                abi.encodePacked(uint8(0x40), found.index, uint32(found.encoded.length), found.encoded)
            );
            (bool exact, bytes32 value) =
                TensorTree.valueFromOpening(GRAPH_NODE, leaf, index, model.descriptorCount, found.path);
            bytes32 root = keccak256(abi.encodePacked(uint8(0x42), model.descriptorCount, value));
            if (!exact || root != model.graphRoot) break;
            uint256 place;
            bytes calldata encoded = found.encoded;
            assembly ("memory-safe") {
                place := encoded.offset
            }
            return Reading(place, place + encoded.length);
        }
        revert IStep.EvidenceInvalid("descriptor");
    }

    function u8(Reading memory reading) internal pure returns (uint256 value) {
        return take(reading, 1);
    }

    function u32(Reading memory reading) internal pure returns (uint256) {
        return take(reading, 4);
    }

    function word(Reading memory reading) internal pure returns (uint256) {
        return take(reading, 32);
    }

    function take(Reading memory reading, uint256 size) private pure returns (uint256 value) {
        uint256 place = reading.cursor;
        if (place + size > reading.end) revert IStep.EvidenceInvalid("descriptor");
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, size)), calldataload(place))
        }
        reading.cursor = place + size;
    }

    function u32s(Reading memory reading) internal pure returns (uint256[] memory values) {
        values = new uint256[](u32(reading));
        for (uint256 i = 0; i < values.length; ++i) {
            values[i] = u32(reading);
        }
    }

    function finish(Reading memory reading) internal pure {
        if (reading.cursor != reading.end) revert IStep.EvidenceInvalid("descriptor");
    }

    /// @dev tensor = u32s shape | u32s layout | uint32 slot
    function tensor(Reading memory reading) internal pure returns (FloatTensor memory made) {
        made.sides = u32s(reading);
        made.order = u32s(reading);
        made.slot = u32(reading);
        strides(made);
    }

    function strides(FloatTensor memory made) internal pure {
        uint256 size = 1;
        made.strides = new uint256[](made.sides.length);
        for (uint256 i = made.order.length; i > 0;) {
            uint256 axis = made.order[--i];
            made.strides[axis] = size;
            size *= made.sides[axis];
        }
        made.size = size;
    }

    /// @notice A constant: as in memory.
    function constantTensor(uint256[] memory sides) internal pure returns (FloatTensor memory made) {
        made.sides = sides;
        made.order = new uint256[](sides.length);
        for (uint256 i = 0; i < sides.length; ++i) {
            made.order[i] = i;
        }
        strides(made);
    }

    /// @dev window = kernel, strides, dilations (row, column each), pads (top, left, bottom, right). What is padded
    /// after is in the output's shape already.
    function window(Reading memory reading) internal pure returns (FloatWindow memory made) {
        made.kernelRows = u32(reading);
        made.kernelColumns = u32(reading);
        made.strideRow = u32(reading);
        made.strideColumn = u32(reading);
        made.dilationRow = u32(reading);
        made.dilationColumn = u32(reading);
        made.padTop = u32(reading);
        made.padLeft = u32(reading);
        u32(reading);
        u32(reading);
    }

    /// @notice The only header that a right claim has for this tensor:
    /// int32 2^31 - 1 | int32 -2^31 | uint8 rank | uint32 sides | uint8 layout axes | uint32 items | uint32 chunks.
    /// A range that ends before it begins says float32; no tensor of integers has it (TensorTree.readHeader).
    function tensorHeader(FloatTensor memory made, uint256 items) internal pure returns (bytes memory header) {
        uint256 rank = made.sides.length;
        header = abi.encodePacked(uint32(0x7fffffff), uint32(0x80000000), uint8(rank));
        for (uint256 i = 0; i < rank; ++i) {
            header = abi.encodePacked(header, uint32(made.sides[i]));
        }
        for (uint256 i = 0; i < rank; ++i) {
            header = abi.encodePacked(header, uint8(made.order[i]));
        }
        uint256 chunks = (items * made.size + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS;
        return abi.encodePacked(header, uint32(items), uint32(chunks));
    }

    /// @notice Indices along the axes of an element in memory order (row-major).
    function indices(FloatTensor memory made, uint256 element) internal pure returns (uint256[] memory axes) {
        uint256 rank = made.sides.length;
        axes = new uint256[](rank);
        for (uint256 i = rank; i > 0;) {
            uint256 side = made.sides[--i];
            axes[i] = element % side;
            element /= side;
        }
    }

    /// @notice Place in an item, in committed order, of the element with these indices; those of sides of 1 are read as
    /// 0.
    function position(FloatTensor memory made, uint256[] memory axes) internal pure returns (uint256 place) {
        for (uint256 i = 0; i < axes.length; ++i) {
            if (made.sides[i] != 1) place += axes[i] * made.strides[i];
        }
    }
}
