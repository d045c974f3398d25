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

    /// Many questions of fault Step on one piece of evidence, which opens what each of them reads.
    struct Group {
        Receipt receipt;
        bytes evidence;
        /// For each question uint64 element | uint64 witness, which stand in the evidence's place of them.
        bytes questions;
    }

    uint256 private constant QUESTION_BYTES = 16;
    uint256 private constant ANSWER_BYTES = 8;

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

    /// @return answers 8 bytes to each question, in order: 1 | the first 7 bytes of faultId, or 0 | 4 bytes of the error's
    /// selector | zeros
    function judgeGroups(Group[] calldata groups) external view returns (bytes memory answers) {
        uint256 count = 0;
        for (uint256 i = 0; i < groups.length; ++i) {
            count += groups[i].questions.length / QUESTION_BYTES;
        }
        answers = new bytes(ANSWER_BYTES * count);
        uint256 place;
        assembly ("memory-safe") {
            place := add(answers, 32)
        }
        for (uint256 i = 0; i < groups.length; ++i) {
            place = _judgeGroup(groups[i], place);
        }
    }

    /// @dev Assembly: the call is encoded once and two of its words are changed for each question. Evidence is its last
    /// field, and begins with an offset; element and witness are fields 3 and 4 of the struct behind it.
    /// @param place memory of the first answer
    /// @return behind the last
    function _judgeGroup(Group calldata group, uint256 place) private view returns (uint256) {
        bytes memory judged = abi.encodeCall(IStep.judge, (group.receipt, Fault.Step, group.evidence));
        bytes calldata questions = group.questions;
        uint256 padded = (group.evidence.length + 31) / 32 * 32;
        address target = address(step);
        assembly ("memory-safe") {
            let size := mload(judged)
            let element := add(add(judged, 32), add(sub(size, padded), 128))
            for { let i := 0 } lt(i, questions.length) { i := add(i, QUESTION_BYTES) } {
                let question := calldataload(add(questions.offset, i))
                mstore(element, shr(192, question))
                mstore(add(element, 32), and(shr(128, question), 0xffffffffffffffff))
                mstore(0, 0)
                let found := staticcall(gas(), target, add(judged, 32), size, 0, 0)
                // A finding is returned as offset | faultId | ..
                let from := mul(found, 32)
                let length := returndatasize()
                let take := 4
                if found { take := 32 }
                if gt(add(from, take), length) { take := 0 }
                returndatacopy(0, from, take)
                let answer := shr(8, mload(0))
                if found { answer := or(answer, shl(248, 1)) }
                // The highest 8 bytes; those behind them stay.
                mstore(place, or(and(answer, shl(192, 0xffffffffffffffff)), and(mload(place), shr(64, not(0)))))
                place := add(place, ANSWER_BYTES)
            }
        }
        return place;
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
