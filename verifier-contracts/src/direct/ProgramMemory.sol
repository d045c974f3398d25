// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {FR_MODULUS} from "./Fr.sol";

// Where r lies while a proof is checked, below the registers (Tape.sol). A word of memory costs 6 gas and five bytes of code
// where it is used. As a constant of the code it would take 33 bytes at some hundred and fifty places, and the compiler
// then prefers to copy it from one place in the code each time, at ten times the gas.
uint256 constant MODULUS_AT = 0x17e0;

/// @title Words of memory by address
/// @dev Every line of assembly in here is one instruction or two; what is read and written was allocated by the caller.
library ProgramMemory {
    function load(uint256 ptr) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(ptr)
        }
    }

    function store(uint256 ptr, uint256 value) internal pure {
        assembly ("memory-safe") {
            mstore(ptr, value)
        }
    }

    /// @notice r, which is there after `keepModulus`.
    function modulus() internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(MODULUS_AT)
        }
    }

    /// @notice Must have been called before anything else here computes in Fr. The free pointer must be above.
    function keepModulus() internal pure {
        assembly ("memory-safe") {
            mstore(MODULUS_AT, FR_MODULUS)
        }
    }

    /// @notice Words that are 0.
    function allocateZeros(uint256 words) internal pure returns (uint256 ptr) {
        assembly ("memory-safe") {
            ptr := mload(0x40)
            mstore(0x40, add(ptr, shl(5, words)))
            calldatacopy(ptr, calldatasize(), shl(5, words))
        }
    }

    /// @notice A Solidity array whose elements are not cleared.
    function allocateList(uint256 length) internal pure returns (uint256 list) {
        assembly ("memory-safe") {
            list := mload(0x40)
            mstore(0x40, add(list, shl(5, add(length, 1))))
            mstore(list, length)
        }
    }

    /// @notice A word of the call.
    function callWord(uint256 offset) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(offset)
        }
    }
}
