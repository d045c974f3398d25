// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";
import {InputPort, OutputPort, Shape} from "./Tape.sol";

/// A tensor in the evidence: its header as roots bind it, and its elements. Offsets in the call, sizes in bytes.
struct PublicTensor {
    uint256 header;
    uint256 headerSize;
    uint256 elements;
    uint256 elementsSize;
}

/// What the evidence holds, but for the proof's own parts. Offsets in the call, sizes in bytes.
struct Evidence {
    bytes32 context;
    bytes32 graphRoot;
    bytes32 weightsRoot;
    bytes32 programHash;
    uint256 opCount;
    uint256 items;
    /// log2 of the cells of a column; the proof's header has it again.
    uint256 n;
    /// The model's, 64 bytes each.
    uint256 commitments;
    PublicTensor[] inputs;
    PublicTensor[] outputs;
    uint256 proof;
    /// All that is left to the end.
    uint256 proofSize;
    uint256 end;
}

/// @title The bytes that prove one order; prover/files/direct-evidence.ts writes them
/// @notice Packed without gaps, big endian:
///   context (32: the order's hash) | graphRoot (32) | weightsRoot (32) | hash of the program (32) | uint32 opCount
///   | uint32 items | uint8 n | commitments of the model (64 each)
///   | inputs: header | elements in committed order, as its tensor root has them
///   | outputs: header | published integers, row-major, int32 each
///   | proof (prover/verifier/proof.ts)
/// Nothing says how many of anything there are: the program does. A header's size follows from its rank. Whoever reads
/// the proof takes it as exactly `proofSize` bytes, so that no byte is left over or missing.
/// @dev Packed and not ABI-encoded: an encoding has one reading only, costs no heads and no padding, and the proof's
/// words are read where they lie, at any address.
library DirectEvidence {
    /// @notice The evidence ends too early.
    error EvidenceTooShort();

    uint256 private constant HEAD_BYTES = 137;

    /// @notice Everything before the commitments.
    function read(bytes calldata encoded) internal pure returns (Evidence memory evidence) {
        if (encoded.length < HEAD_BYTES) revert EvidenceTooShort();
        uint256 offset;
        uint256 numbers;
        // Assembly: fields are read at their offsets in the call.
        assembly ("memory-safe") {
            offset := encoded.offset
            // context, graphRoot, weightsRoot, programHash
            calldatacopy(evidence, offset, 0x80)
            numbers := calldataload(add(offset, 0x80))
        }
        evidence.opCount = numbers >> 224;
        evidence.items = uint32(numbers >> 192);
        evidence.n = uint8(numbers >> 184);
        evidence.commitments = offset + HEAD_BYTES;
        evidence.end = offset + encoded.length;
    }

    /// @notice Finds the tensors and the proof behind the commitments. What lies beyond the end reads as zero; the end is
    /// checked last.
    /// @dev Unchecked: items are below 2^32, an item has at most 2^40 elements (ProgramReader.sol), so that no sum of
    /// sizes comes near 2^256.
    function locate(Evidence memory evidence, Shape memory shape) internal pure {
        unchecked {
            uint256 offset = evidence.commitments + 64 * shape.modelChunks;
            uint256 items = evidence.items;
            uint256 count = shape.inputs.length;
            PublicTensor[] memory tensors = new PublicTensor[](count);
            for (uint256 i = 0; i < count; ++i) {
                InputPort memory input = shape.inputs[i];
                uint256 size = items * sizeOf(input.axes) * TensorTree.elementWidth(input.lo, input.hi);
                offset = _locateTensor(tensors[i], offset, size);
            }
            evidence.inputs = tensors;
            count = shape.outputs.length;
            tensors = new PublicTensor[](count);
            for (uint256 i = 0; i < count; ++i) {
                OutputPort memory output = shape.outputs[i];
                offset = _locateTensor(tensors[i], offset, 4 * items * sizeOf(output.axes));
            }
            evidence.outputs = tensors;
            if (offset > evidence.end) revert EvidenceTooShort();
            evidence.proof = offset;
            evidence.proofSize = evidence.end - offset;
        }
    }

    /// @return next where it ends
    function _locateTensor(PublicTensor memory tensor, uint256 offset, uint256 elementsSize)
        private
        pure
        returns (uint256 next)
    {
        // Assembly: the four words of the struct.
        assembly ("memory-safe") {
            let size := add(17, mul(5, byte(8, calldataload(offset))))
            mstore(tensor, offset)
            mstore(add(tensor, 0x20), size)
            offset := add(offset, size)
            mstore(add(tensor, 0x40), offset)
            mstore(add(tensor, 0x60), elementsSize)
            next := add(offset, elementsSize)
        }
    }

    /// @notice Elements of an item with these axes; their product fits (ProgramReader.sol).
    function sizeOf(uint256[] memory axes) internal pure returns (uint256 size) {
        assembly ("memory-safe") {
            size := 1
            let side := add(axes, 0x20)
            for { let end := add(side, shl(5, mload(axes))) } lt(side, end) { side := add(side, 0x20) } {
                size := mul(size, mload(side))
            }
        }
    }
}
