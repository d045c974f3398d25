// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../SettlementTypes.sol";
import {Node} from "./Nodes.sol";

/// What can be wrong with a claim. Every fault can be checked from the receipt and openings alone.
enum Fault {
    /// An element of a slot is not what its operator gives for the committed operands (with sums: the total).
    Step,
    /// A partial sum that the executor stated is not the sum of its products.
    Part,
    /// An input slot of the trace is another tensor than inputRoot has.
    InputBinding,
    /// An output under outputRoot is another tensor than its slot of the trace.
    OutputBinding,
    /// A slot's header (range, shape, layout, items) is not what the model says.
    Header,
    /// An element of an input slot lies outside the declared range.
    InputRange,
    /// traceRoot binds another number of slots than the model commits.
    SlotCount,
    /// A committed slot has another number than the model's commit table says.
    CommitIndex,
    /// The receipt says another number of slots (opCount) than the model has.
    OpCount,
    /// inputRoot or outputRoot binds another number of tensors than the model has.
    PortCount
}

/// Something that only the executor could say and that a finding rests on: the game compares it with what he said.
struct Reliance {
    bytes32 nodeId;
    bytes32 contentHash;
}

struct Finding {
    /// keccak(fault | value index | slot | element); independent of the openings.
    bytes32 faultId;
    Reliance[] relies;
}

/// @title Recomputes one step of a model
/// @notice Stateless. A policy's game names its step contract, so that what counts as right never changes for a job.
interface IStep {
    /// @notice Finds the fault, or reverts: NoFault where the step is right, and other errors where the evidence does not
    /// open what it must, or the step cannot be computed (undetermined). A revert is never a verdict.
    /// @param evidence as the step contract of this arithmetic encodes it
    function judge(Receipt calldata receipt, Fault fault, bytes calldata evidence)
        external
        view
        returns (Finding memory);

    /// @notice Reverts unless the executor of a right claim can be asked for this node, a Segment or Sums of exactly this
    /// first and count.
    function requireStatement(Receipt calldata receipt, Node calldata node, bytes calldata evidence) external view;

    /// The claim is right in what the evidence shows.
    error NoFault();
    /// The evidence does not open what it must; `what` names the part.
    error EvidenceInvalid(string what);
    /// The step cannot be computed: an operand lies where no right claim has it, or the evidence leaves something out.
    error Undetermined(string what);
    /// The contraction is longer than one step may be: its sums must be asked for.
    error NeedsSums(uint256 length, uint256 limit);
    error NoStatement();
}
