// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../SettlementTypes.sol";
import {Fault, Finding, IStep, Reliance} from "./IStep.sol";
import {MerklePath} from "./MerklePath.sol";
import {Node, NodeKind} from "./Nodes.sol";
import {SegmentOpening, SlotOpening, StepEvidence, SumsOpening} from "./StepEvidence.sol";
import {MISSING, Model, NO_SLOT, StepModel, Value} from "./StepModel.sol";
import {StepTensor, Tensor} from "./StepTensor.sol";

/// @title What the contracts of integer steps share: evidence, slots under a trace, findings
library StepOpening {
    uint8 private constant SLOT = 0x20;
    uint8 private constant TRACE_NODE = 0x21;
    uint8 private constant TRACE_ROOT = 0x22;
    /// Bytes of an encoded StepEvidence before its arrays.
    uint256 private constant MIN_EVIDENCE = 32 + 13 * 32;

    /// @notice The evidence that the bytes encode.
    /// @dev Assembly: the tuple begins where the first word says, which has one value only. What lies outside the
    /// call reads as zeros; the compiler holds every array and byte string inside it.
    function opened(bytes calldata evidence) internal pure returns (StepEvidence calldata e) {
        if (evidence.length < MIN_EVIDENCE || bytes32(evidence[:32]) != bytes32(uint256(32))) {
            revert IStep.EvidenceInvalid("encoding");
        }
        assembly ("memory-safe") {
            e := add(evidence.offset, 32)
        }
    }

    /// @notice The tensor of a slot, under the trace or its list, with the header that the model gives its value.
    function openSlot(
        Receipt calldata receipt,
        StepEvidence calldata e,
        SlotOpening calldata opening,
        Value memory value
    ) internal pure returns (Tensor memory tensor) {
        tensor = StepTensor.open(opening.tensor);
        requireUnder(receipt, e, opening, tensor.root);
        if (keccak256(opening.tensor.header) != StepModel.headerHash(value, receipt.items)) {
            revert IStep.Undetermined("header");
        }
    }

    /// @notice Reverts unless the slot's tensor has this root in the trace, or in the list that the opening names.
    function requireUnder(
        Receipt calldata receipt,
        StepEvidence calldata e,
        SlotOpening calldata opening,
        bytes32 root
    ) internal pure {
        unchecked {
            if (opening.segment == 0) {
                bytes32 leaf = MerklePath.tagged(SLOT, opening.slot, root);
                (bool exact, bytes32 tree) =
                    MerklePath.value(TRACE_NODE, leaf, opening.position, e.slotCount, opening.path);
                if (!exact || traceRoot(e.slotCount, tree) != receipt.traceRoot) {
                    revert IStep.EvidenceInvalid("trace path");
                }
                return;
            }
            SegmentOpening calldata segment = e.segments[opening.segment - 1];
            Node memory node = segment.node;
            if (
                node.kind != NodeKind.Segment || opening.position >= segment.roots.length || opening.path.length > 0
                    || node.count != segment.roots.length || node.first + opening.position != opening.slot
                    || segment.roots[opening.position] != root
            ) revert IStep.EvidenceInvalid("segment");
        }
    }

    function traceRoot(uint32 slotCount, bytes32 tree) internal pure returns (bytes32) {
        return MerklePath.tagged(TRACE_ROOT, slotCount, tree);
    }

    function valueAt(Model memory model, uint256 position) internal pure returns (Value memory) {
        if (position == MISSING) revert IStep.EvidenceInvalid("descriptor");
        return model.values[position];
    }

    /// @notice The value with this index, which has a slot.
    function slotted(Model memory model, uint256 index) internal pure returns (Value memory value) {
        value = valueAt(model, StepModel.find(model, index));
        if (value.slot == NO_SLOT) revert IStep.EvidenceInvalid("value");
    }

    /// @notice faultId = keccak(uint8 fault | uint32 value | uint32 slot | uint64 element), with what it rests on.
    function finding(StepEvidence calldata e, Fault fault, uint256 value, uint256 slot, uint256 element)
        internal
        pure
        returns (Finding memory)
    {
        bytes32 faultId = keccak256(abi.encodePacked(fault, uint32(value), uint32(slot), uint64(element)));
        return Finding(faultId, _reliance(e));
    }

    /// @dev What the executor stated and the evidence shows: the game compares it with what he said.
    function _reliance(StepEvidence calldata e) private pure returns (Reliance[] memory relies) {
        uint256 segments = e.segments.length;
        relies = new Reliance[](segments + e.sums.length);
        for (uint256 i = 0; i < segments; ++i) {
            SegmentOpening calldata segment = e.segments[i];
            relies[i] =
                Reliance(_nodeId(segment.node), keccak256(abi.encodePacked(segment.roots)));
        }
        for (uint256 i = 0; i < e.sums.length; ++i) {
            SumsOpening calldata sums = e.sums[i];
            // 24 bytes more: the last word reaches beyond its number.
            bytes memory parts = new bytes(8 * sums.parts.length + 24);
            for (uint256 k = 0; k < sums.parts.length; ++k) {
                bytes8 encoded = bytes8(uint64(sums.parts[k]));
                // Assembly: eight bytes each; what follows them in the word is written by the next.
                assembly ("memory-safe") {
                    mstore(add(add(parts, 0x20), shl(3, k)), encoded)
                }
            }
            uint256 size = parts.length - 24;
            assembly ("memory-safe") {
                mstore(parts, size)
            }
            relies[segments + i] = Reliance(_nodeId(sums.node), keccak256(parts));
        }
    }

    function _nodeId(Node calldata node) private pure returns (bytes32) {
        return keccak256(abi.encode(node));
    }
}
