// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../SettlementTypes.sol";
import {Fault, Finding, IStep} from "./IStep.sol";
import {Node, NodeKind} from "./Nodes.sol";
import {Step, StepEvaluate} from "./StepEvaluate.sol";
import {ConstantOpening, SlotOpening, StepEvidence, SumsOpening} from "./StepEvidence.sol";
import {Kind, Model, NO_SLOT, StepModel, Value} from "./StepModel.sol";
import {StepOpening} from "./StepOpening.sol";
import {StepTensor, Tensor} from "./StepTensor.sol";

/// @title The faults of an integer graph that arithmetic shows, Step and Part; and whose sums may be asked for
/// @notice Half of IntegerStep, which deploys it: together they are longer than a contract may be.
contract IntegerArithmetic is IStep {
    /// Answers reveal at most so many parts.
    uint256 private constant MAX_PARTS = 512;
    int256 private constant ACCUMULATOR_LIMIT = 2 ** 31;

    /// @notice Products that one step may have; a longer contraction is judged by its stated sums.
    uint32 public immutable maxContraction;

    constructor(uint32 maxContraction_) {
        maxContraction = maxContraction_;
    }

    /// @inheritdoc IStep
    function judge(Receipt calldata receipt, Fault fault, bytes calldata evidence)
        external
        view
        returns (Finding memory)
    {
        StepEvidence calldata e = StepOpening.opened(evidence);
        Model memory model = StepModel.open(e.model, receipt.modelDigest);
        if (fault == Fault.Step) {
            return StepOpening.finding(e, fault, e.value, _step(receipt, model, e), e.element);
        }
        if (fault == Fault.Part) {
            _part(receipt, model, e);
            return StepOpening.finding(e, fault, e.value, e.sums[0].node.slot, e.sums[0].node.first);
        }
        revert NoFault();
    }

    /// @inheritdoc IStep
    function requireStatement(Receipt calldata receipt, Node calldata node, bytes calldata evidence) external view {
        if (node.kind != NodeKind.Sums || node.height != 0) revert NoStatement();
        StepEvidence calldata e = StepOpening.opened(evidence);
        Step memory step = _walk(receipt, StepModel.open(e.model, receipt.modelDigest), node, e.element);
        if (step.reached == 0) revert NoStatement();
        uint256 parts = (step.reachedLength + maxContraction - 1) / maxContraction;
        if (parts > MAX_PARTS || node.count != parts) revert NoStatement();
    }

    /// @return slot of the disputed value
    function _step(Receipt calldata receipt, Model memory model, StepEvidence calldata e)
        private
        view
        returns (uint256 slot)
    {
        uint256 position = StepModel.find(model, e.value);
        Step memory step = _start(receipt, model, e.element, position);
        Value memory value = model.values[position];
        slot = value.slot;
        uint256 within = e.element % value.size;
        uint256 place = StepModel.place(value, step.item, within);
        step.tensors = _openTensors(receipt, model, e);
        _useSums(step, model, e, slot, place);
        if (value.opened == 0) revert EvidenceInvalid("slot");
        int256 claimed = StepTensor.read(step.tensors[value.opened - 1], place);
        if (value.kind == Kind.ARG_MAX) {
            if (!_isBeaten(step, position, within, claimed, e.witness)) revert NoFault();
        } else if (StepEvaluate.evaluate(step, position, within) == claimed) {
            revert NoFault();
        }
    }

    /// @dev Does the witness show that `claimed` is not the index of the first maximum?
    function _isBeaten(Step memory step, uint256 position, uint256 within, int256 claimed, uint256 witness)
        private
        pure
        returns (bool)
    {
        uint256 side = StepEvaluate.axisSide(step, position);
        if (claimed < 0 || claimed >= int256(side)) return true;
        if (witness >= side) revert EvidenceInvalid("witness");
        int256 best = StepEvaluate.alongAxis(step, position, within, witness);
        int256 own = StepEvaluate.alongAxis(step, position, within, uint256(claimed));
        return best > own || (best == own && int256(witness) < claimed);
    }

    function _part(Receipt calldata receipt, Model memory model, StepEvidence calldata e)
        private
        view
    {
        unchecked {
            if (e.sums.length != 1 || e.sums[0].value != e.value) revert EvidenceInvalid("sums");
            Node calldata node = e.sums[0].node;
            Step memory step = _walk(receipt, model, node, e.element);
            uint256 position = StepModel.find(model, e.value);
            step.tensors = _openTensors(receipt, model, e);
            _useSums(step, model, e, node.slot, node.first);
            if (step.reached == 0 || step.reached != step.stated || step.reachedElement != step.statedElement) {
                revert EvidenceInvalid("sums");
            }
            uint256 from = e.witness * step.limit;
            uint256 to = from + step.limit;
            if (from >= step.reachedLength) revert EvidenceInvalid("witness");
            if (to > step.reachedLength) to = step.reachedLength;
            step.walking = false;
            int256 sum = StepEvaluate.part(step, position, step.statedElement, from, to);
            if (sum >= ACCUMULATOR_LIMIT || sum <= -ACCUMULATOR_LIMIT) revert Undetermined("range");
            if (sum == e.sums[0].parts[e.witness]) revert NoFault();
        }
    }

    /// @dev A step on the item of an element, memory order, of the value at this position.
    function _start(Receipt calldata receipt, Model memory model, uint256 element, uint256 position)
        private
        view
        returns (Step memory step)
    {
        Value memory value = StepOpening.valueAt(model, position);
        if (value.slot == NO_SLOT) revert EvidenceInvalid("value");
        if (element / value.size >= receipt.items) revert EvidenceInvalid("element");
        step.values = model.values;
        step.item = element / value.size;
        step.disputed = position;
        step.limit = maxContraction;
    }

    /// @dev Finds the contraction that the sums of a node are parts of.
    /// @param element of the node's slot, in memory order; the node holds its place in committed order
    function _walk(Receipt calldata receipt, Model memory model, Node calldata node, uint256 element)
        private
        view
        returns (Step memory step)
    {
        uint256 position = StepModel.findSlot(model, node.slot);
        step = _start(receipt, model, element, position);
        step.walking = true;
        Value memory value = model.values[position];
        uint256 within = element % value.size;
        if (StepModel.place(value, step.item, within) != node.first) revert EvidenceInvalid("element");
        // Which elements argMax compares its witness decides: sums for one of them belong to no element of the slot.
        if (value.kind != Kind.ARG_MAX) StepEvaluate.evaluate(step, position, within);
    }

    /// @dev Enters the stated sums, where there are some; they must be those for the element at this place of the slot.
    function _useSums(Step memory step, Model memory model, StepEvidence calldata e, uint256 slot, uint256 place)
        private
        pure
    {
        unchecked {
            if (e.sums.length == 0) return;
            if (e.sums.length > 1) revert EvidenceInvalid("sums");
            SumsOpening calldata sums = e.sums[0];
            Node calldata node = sums.node;
            uint256 position = StepModel.find(model, sums.value);
            Value memory value = StepOpening.valueAt(model, position);
            uint256 length = StepEvaluate.contraction(step, position);
            if (
                node.kind != NodeKind.Sums || node.slot != slot || node.first != place
                    || node.count != sums.parts.length
                    || sums.parts.length != (length + step.limit - 1) / step.limit
                    || sums.element / value.size != step.item
            ) revert EvidenceInvalid("sums");
            step.stated = position + 1;
            step.statedElement = sums.element % value.size;
            for (uint256 i = 0; i < sums.parts.length; ++i) {
                step.total += sums.parts[i];
            }
        }
    }

    /// @dev Tensors of slots and constants; each is entered at its value. Every header is the one that the model gives.
    function _openTensors(Receipt calldata receipt, Model memory model, StepEvidence calldata e)
        private
        pure
        returns (Tensor[] memory tensors)
    {
        unchecked {
            uint256 slots = e.slots.length;
            uint256[] memory pointers = new uint256[](slots + e.constants.length);
            // Assembly: an array of structs that are not allocated yet; each is set before it is read.
            assembly ("memory-safe") {
                tensors := pointers
            }
            for (uint256 i = 0; i < slots; ++i) {
                SlotOpening calldata opening = e.slots[i];
                if (i > 0 && opening.slot <= e.slots[i - 1].slot) revert EvidenceInvalid("slot order");
                Value memory value = StepOpening.valueAt(model, StepModel.findSlot(model, opening.slot));
                tensors[i] = StepOpening.openSlot(receipt, e, opening, value);
                value.opened = i + 1;
            }
            for (uint256 i = 0; i < e.constants.length; ++i) {
                ConstantOpening calldata opening = e.constants[i];
                Value memory value = StepOpening.valueAt(model, StepModel.findDescriptor(model, opening.descriptor));
                if (opening.ordinal > 1 || value.openedConstants[opening.ordinal] != 0) {
                    revert EvidenceInvalid("constant");
                }
                Tensor memory tensor = StepTensor.open(opening.tensor);
                if (tensor.root != value.constants[opening.ordinal]) revert EvidenceInvalid("constant");
                tensors[slots + i] = tensor;
                value.openedConstants[opening.ordinal] = slots + i + 1;
            }
        }
    }
}
