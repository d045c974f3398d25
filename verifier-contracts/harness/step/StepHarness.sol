// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Fault, Finding, IStep} from "../../src/dispute/IStep.sol";
import {Node} from "../../src/dispute/Nodes.sol";
import {StepEvidence} from "../../src/dispute/StepEvidence.sol";
import {Receipt} from "../../src/SettlementTypes.sol";

/// @title Asks a step contract much at once, and gives the evidence's type to the ABI; never deployed elsewhere
contract StepHarness {
    struct Case {
        Receipt receipt;
        Fault fault;
        bytes evidence;
    }

    struct Answer {
        bool found;
        /// The finding, or the error.
        bytes data;
    }

    IStep public immutable step;

    constructor(IStep step_) {
        step = step_;
    }

    function judgeMany(Case[] calldata cases) external view returns (Answer[] memory answers) {
        answers = new Answer[](cases.length);
        for (uint256 i = 0; i < cases.length; ++i) {
            bytes memory call = abi.encodeCall(IStep.judge, (cases[i].receipt, cases[i].fault, cases[i].evidence));
            (bool found, bytes memory data) = address(step).staticcall(call);
            answers[i] = Answer(found, data);
        }
    }

    function judgeOpened(Receipt calldata receipt, Fault fault, StepEvidence calldata evidence)
        external
        view
        returns (Finding memory)
    {
        return step.judge(receipt, fault, abi.encode(evidence));
    }

    function requireStatement(Receipt calldata receipt, Node calldata node, bytes calldata evidence) external view {
        step.requireStatement(receipt, node, evidence);
    }
}
