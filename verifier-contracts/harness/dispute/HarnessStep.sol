// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Fault, Finding, IStep} from "../../src/dispute/IStep.sol";
import {Node} from "../../src/dispute/Nodes.sol";
import {Receipt} from "../../src/SettlementTypes.sol";

/// @title A step contract that finds what the evidence tells it to, so that the game is tested apart from arithmetic
/// @dev judge: (bool found, Finding), requireStatement: (bool allowed), and anything behind.
contract HarnessStep is IStep {
    function judge(Receipt calldata, Fault, bytes calldata evidence) external pure override returns (Finding memory) {
        (bool found, Finding memory finding) = abi.decode(evidence, (bool, Finding));
        if (!found) revert NoFault();
        return finding;
    }

    function requireStatement(Receipt calldata, Node calldata, bytes calldata evidence) external pure override {
        if (!abi.decode(evidence, (bool))) revert NoStatement();
    }
}
