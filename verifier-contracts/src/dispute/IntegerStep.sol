// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../SettlementTypes.sol";
import {TensorTree} from "../TensorTree.sol";
import {IntegerArithmetic} from "./IntegerArithmetic.sol";
import {Fault, Finding, IStep} from "./IStep.sol";
import {MerklePath} from "./MerklePath.sol";
import {Node, NodeKind} from "./Nodes.sol";
import {SlotOpening, StepEvidence, TensorOpening} from "./StepEvidence.sol";
import {Model, StepModel, Value} from "./StepModel.sol";
import {StepOpening} from "./StepOpening.sol";
import {StepTensor, Tensor} from "./StepTensor.sol";

/// @title Recomputes one step of an integer graph
/// @notice Nothing in the evidence is believed: descriptors stand under the receipt's modelDigest, slots under its
/// traceRoot or under a list that the executor stated, constants under their descriptor's roots, ports under inputRoot
/// and outputRoot. What remains is arithmetic.
/// faultId = keccak(uint8 fault | uint32 value | uint32 slot | uint64 element), zeros where a fault has none:
///   Step, InputRange: value index, slot, element.      Header: value index, slot.
///   Part: value index of the sums, slot and element of their node.
///   InputBinding, OutputBinding: position, slot.       CommitIndex: position.        PortCount: 0 inputs, 1 outputs.
contract IntegerStep is IStep {
    /// @notice Products that one step may have; a longer contraction is judged by its stated sums.
    uint32 public immutable maxContraction;
    IntegerArithmetic public immutable arithmetic;

    constructor(uint32 maxContraction_) {
        maxContraction = maxContraction_;
        arithmetic = new IntegerArithmetic(maxContraction_);
    }

    /// @inheritdoc IStep
    function judge(Receipt calldata receipt, Fault fault, bytes calldata evidence)
        external
        view
        returns (Finding memory)
    {
        if (fault == Fault.Step || fault == Fault.Part) _forward();
        StepEvidence calldata e = StepOpening.opened(evidence);
        Model memory model = StepModel.open(e.model, receipt.modelDigest);
        uint256 value = e.value;
        uint256 slot = 0;
        uint256 element = 0;
        if (fault == Fault.InputRange) {
            (slot, element) = (_inputRange(receipt, model, e), e.element);
        } else if (fault == Fault.InputBinding) {
            slot = _binding(receipt, model, e, TensorTree.INPUTS);
        } else if (fault == Fault.OutputBinding) {
            slot = _binding(receipt, model, e, TensorTree.OUTPUTS);
        } else if (fault == Fault.Header) {
            slot = _header(receipt, model, e);
        } else if (fault == Fault.CommitIndex) {
            _commitIndex(receipt, model, e);
        } else if (fault == Fault.PortCount) {
            _portCount(receipt, model, e);
        } else {
            value = 0;
            if (fault == Fault.SlotCount) _slotCount(receipt, model, e);
            else if (receipt.opCount == model.slots) revert NoFault();
        }
        return StepOpening.finding(e, fault, value, slot, element);
    }

    /// @inheritdoc IStep
    function requireStatement(Receipt calldata receipt, Node calldata node, bytes calldata evidence) external view {
        if (node.kind == NodeKind.Sums) _forward();
        if (node.kind != NodeKind.Segment || node.height != 0) revert NoStatement();
        StepEvidence calldata e = StepOpening.opened(evidence);
        Model memory model = StepModel.open(e.model, receipt.modelDigest);
        if (model.tableRoot == 0 || uint256(node.slot) + 1 >= model.committed) revert NoStatement();
        Tensor memory table = _commitTable(model, e);
        uint256 before = _entry(table, node.slot);
        uint256 between = _entry(table, uint256(node.slot) + 1) - before - 1;
        if (between == 0 || node.first != before + 1 || node.count != between) revert NoStatement();
    }

    /// @dev Ends the call with the other half's answer. Assembly: the call goes on as it came, and its answer back.
    function _forward() private view {
        address other = address(arithmetic);
        assembly ("memory-safe") {
            let free := mload(0x40)
            calldatacopy(free, 0, calldatasize())
            let done := staticcall(gas(), other, free, calldatasize(), 0, 0)
            returndatacopy(free, 0, returndatasize())
            if iszero(done) { revert(free, returndatasize()) }
            return(free, returndatasize())
        }
    }

    function _inputRange(Receipt calldata receipt, Model memory model, StepEvidence calldata e)
        private
        pure
        returns (uint256 slot)
    {
        if (e.value >= model.inputs) revert EvidenceInvalid("value");
        Value memory value = StepOpening.slotted(model, e.value);
        slot = value.slot;
        uint256 item = e.element / value.size;
        if (item >= receipt.items) revert EvidenceInvalid("element");
        if (e.slots.length != 1 || e.slots[0].slot != slot) revert EvidenceInvalid("slots");
        Tensor memory tensor = StepOpening.openSlot(receipt, e, e.slots[0], value);
        int256 x = StepTensor.read(tensor, StepModel.place(value, item, e.element % value.size));
        (int256 lo, int256 hi) = StepModel.range(value);
        if (lo <= x && x <= hi) revert NoFault();
    }

    function _binding(Receipt calldata receipt, Model memory model, StepEvidence calldata e, uint8 role)
        private
        pure
        returns (uint256 slot)
    {
        uint256 index = e.value;
        if (role == TensorTree.OUTPUTS) index = StepModel.outputValue(model, e.model, index);
        else if (index >= model.inputs) revert EvidenceInvalid("value");
        slot = StepOpening.slotted(model, index).slot;
        bytes32 leaf = TensorTree.port(role, e.value, e.portTensor);
        (bool exact, bytes32 tree) =
            MerklePath.value(TensorTree.PORT_NODE, leaf, e.value, e.portCount, e.portPath);
        bytes32 root = role == TensorTree.OUTPUTS ? receipt.outputRoot : receipt.inputRoot;
        if (!exact || TensorTree.portsRoot(role, e.portCount, tree) != root) revert EvidenceInvalid("port path");
        if (_slotRoot(receipt, e, slot) == e.portTensor) revert NoFault();
    }

    function _header(Receipt calldata receipt, Model memory model, StepEvidence calldata e)
        private
        pure
        returns (uint256 slot)
    {
        Value memory value = StepOpening.slotted(model, e.value);
        slot = value.slot;
        if (_slotRoot(receipt, e, slot) != StepTensor.closedRoot(e.slots[0].tensor)) revert EvidenceInvalid("header");
        if (keccak256(e.slots[0].tensor.header) == StepModel.headerHash(value, receipt.items)) revert NoFault();
    }

    function _commitIndex(Receipt calldata receipt, Model memory model, StepEvidence calldata e) private pure {
        if (e.slots.length != 1) revert EvidenceInvalid("slots");
        SlotOpening calldata opening = e.slots[0];
        if (opening.segment != 0 || opening.position != e.value) revert EvidenceInvalid("slots");
        _slotRoot(receipt, e, opening.slot);
        uint256 expected = model.tableRoot == 0 ? e.value : _entry(_commitTable(model, e), e.value);
        if (opening.slot == expected) revert NoFault();
    }

    function _portCount(Receipt calldata receipt, Model memory model, StepEvidence calldata e) private pure {
        if (e.value > 1) revert EvidenceInvalid("value");
        bool ofInputs = e.value == 0;
        uint8 role = ofInputs ? TensorTree.INPUTS : TensorTree.OUTPUTS;
        bytes32 root = ofInputs ? receipt.inputRoot : receipt.outputRoot;
        if (e.portPath.length != 1 || TensorTree.portsRoot(role, e.portCount, e.portPath[0]) != root) {
            revert EvidenceInvalid("port path");
        }
        if (e.portCount == (ofInputs ? model.inputs : model.outputs)) revert NoFault();
    }

    /// @dev Root of the only opened slot, which is `slot`. An empty header stands for a root of which nothing is known:
    /// a cheat may commit to one that no tensor has.
    function _slotRoot(Receipt calldata receipt, StepEvidence calldata e, uint256 slot)
        private
        pure
        returns (bytes32 root)
    {
        if (e.slots.length != 1 || e.slots[0].slot != slot) revert EvidenceInvalid("slots");
        TensorOpening calldata tensor = e.slots[0].tensor;
        bool isBare = tensor.header.length == 0 && tensor.runs.length == 0;
        root = isBare ? tensor.treeValue : StepTensor.closedRoot(tensor);
        StepOpening.requireUnder(receipt, e, e.slots[0], root);
    }

    function _slotCount(Receipt calldata receipt, Model memory model, StepEvidence calldata e) private pure {
        if (e.portPath.length != 1 || StepOpening.traceRoot(e.slotCount, e.portPath[0]) != receipt.traceRoot) {
            revert EvidenceInvalid("trace root");
        }
        if (e.slotCount == model.committed) revert NoFault();
    }

    /// @dev The opened table of a model that leaves slots out.
    function _commitTable(Model memory model, StepEvidence calldata e) private pure returns (Tensor memory table) {
        table = StepTensor.open(e.commitTable);
        if (table.root != model.tableRoot) revert EvidenceInvalid("commit table");
    }

    function _entry(Tensor memory table, uint256 k) private pure returns (uint256) {
        return uint256(StepTensor.read(table, k));
    }
}
