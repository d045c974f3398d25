// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan} from "./Plan.sol";
import {Program} from "./Program.sol";

/// What DirectVerifier has found out before the first commitment is absorbed.
struct PhaseInput {
    Plan plan;
    Program program;
    /// Of the transcript, after the statement.
    bytes32 state;
    /// By input: the packed words, by index.
    uint256[][] words;
    /// By output: the published integers, 4 bytes each.
    bytes[] published;
}

// Where a memory image begins: above what a compiled contract keeps below its free pointer.
uint256 constant IMAGE = 0x2000;
