// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ScalarNotCanonical} from "./Fr.sol";
import {MODULUS_AT} from "./ProgramMemory.sol";

/// @title Fiat-Shamir over keccak256; prover/transcript/transcript.ts is the same in TypeScript
/// @notice start = keccak("assay/transcript/1"); absorb: state = keccak(state | 'A' | uint32 length | message);
/// challenge: keccak(state | 'S' | uint32 counter) mod r, the counter from 0 after every absorb. The state is a value
/// that callers hand on: what was not handed on was not absorbed.
/// @dev Assembly: preimages are written at the free pointer, which stays where it is. So nothing is allocated, and no
/// preimage longer than 64 bytes comes near the pointer itself at 0x40. Messages are shorter than 2^32 bytes, since
/// calldata and memory are. The modulus must be kept (ProgramMemory.sol) before scalars are read or challenges drawn.
library Transcript {
    /// 'A' and 'S' above 32 bits of length or counter, in the top five bytes of a word.
    uint256 private constant ABSORB = 0x41 << 248;
    uint256 private constant SQUEEZE = 0x53 << 248;

    function start() internal pure returns (bytes32) {
        return keccak256("assay/transcript/1");
    }

    /// @notice Absorbs `length` bytes of the call at `offset`.
    function absorbCalldata(bytes32 state, uint256 offset, uint256 length) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(ABSORB, shl(216, length)))
            calldatacopy(add(free, 0x25), offset, length)
            next := keccak256(free, add(length, 0x25))
        }
    }

    /// @notice Absorbs `length` bytes of memory at `pointer`.
    function absorbMemory(bytes32 state, uint256 pointer, uint256 length) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(ABSORB, shl(216, length)))
            mcopy(add(free, 0x25), pointer, length)
            next := keccak256(free, add(length, 0x25))
        }
    }

    /// @notice Absorbs one word of 32 bytes.
    function absorbWord(bytes32 state, uint256 word) internal pure returns (bytes32) {
        return absorbShort(state, bytes32(word), 0x20);
    }

    /// @notice Absorbs the first `length` bytes of a word, at most 32.
    function absorbShort(bytes32 state, bytes32 message, uint256 length) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(ABSORB, shl(216, length)))
            mstore(add(free, 0x25), message)
            next := keccak256(free, add(length, 0x25))
        }
    }

    /// @notice Absorbs `count` scalars of the call at `offset`. Reverts unless each is below r.
    function absorbScalars(bytes32 state, uint256 offset, uint256 count) internal pure returns (bytes32 next) {
        bool canonical = true;
        assembly ("memory-safe") {
            let end := add(offset, shl(5, count))
            for { let from := offset } lt(from, end) { from := add(from, 0x20) } {
                canonical := and(canonical, lt(calldataload(from), mload(MODULUS_AT)))
            }
        }
        if (!canonical) revert ScalarNotCanonical();
        return absorbCalldata(state, offset, count << 5);
    }

    /// @notice Challenge number `counter` since the last absorb.
    function challenge(bytes32 state, uint256 counter) internal pure returns (uint256 element) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(SQUEEZE, shl(216, counter)))
            element := mod(keccak256(free, 0x25), mload(MODULUS_AT))
        }
    }

    /// @notice Challenges first .. first + count - 1 since the last absorb, into `count` words of memory at `pointer`.
    function challenges(bytes32 state, uint256 first, uint256 count, uint256 pointer) internal pure {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            for { let end := add(first, count) } lt(first, end) { first := add(first, 1) } {
                mstore(add(free, 0x20), or(SQUEEZE, shl(216, first)))
                mstore(pointer, mod(keccak256(free, 0x25), mload(MODULUS_AT)))
                pointer := add(pointer, 0x20)
            }
        }
    }
}
