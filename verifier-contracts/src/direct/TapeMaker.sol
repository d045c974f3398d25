// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan} from "./Plan.sol";
import {Program} from "./Program.sol";
import {TapeCompiler} from "./TapeCompiler.sol";
import {IMAGE} from "./TapeImage.sol";

/// @title The compiler of tapes, as a contract of its own
/// @notice Stateless, and nothing but a part of ProgramStore, which together with it would be larger than a contract may
/// be. It believes what it is told about program and plan; what it answers means nothing to others.
/// @dev Programs are trees of pointers. They are not encoded for the call: the caller's memory from IMAGE on is the call's
/// data, and is laid down here at the same addresses.
///   call:    memory of the caller from IMAGE on | address of a Program | address of a Plan
///   answer:  the tape
contract TapeMaker {
    /// @notice The free pointer is above IMAGE: another compiler would be needed.
    error ImageOverlaps();

    fallback() external {
        Program memory program;
        Plan memory plan;
        bool overlaps;
        // Assembly: the image of memory.
        assembly ("memory-safe") {
            let size := sub(calldatasize(), 0x40)
            overlaps := gt(mload(0x40), IMAGE)
            calldatacopy(IMAGE, 0, size)
            mstore(0x40, add(IMAGE, size))
            program := calldataload(size)
            plan := calldataload(add(size, 0x20))
        }
        if (overlaps) revert ImageOverlaps();
        bytes memory tape = TapeCompiler.compile(program, plan);
        // Assembly: the answer is bytes without a head.
        assembly ("memory-safe") {
            return(add(tape, 0x20), mload(tape))
        }
    }
}
