// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// Order of G1 of BN254: the modulus of scalars. 5 r < 2^256: up to five canonical scalars are added without reduction.
uint256 constant FR_MODULUS = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

/// A scalar of the proof is not below r: another name for a number that has one already.
error ScalarNotCanonical();

/// @title The scalar field of BN254; prover/field/fr.ts is the same in TypeScript
/// @dev Elements are words below r. Addition and multiplication are the opcodes themselves, so this holds the rest.
library Fr {
    /// @notice A zero has no inverse.
    error NoInverse();

    uint256 private constant MODEXP = 0x05;

    /// @notice The inverse by Fermat, a^(r - 2), in the precompile: 4,048 gas by EIP-7883 against about 6,000 for a
    /// chain of multiplications. Callers join what they invert into one product.
    function inverse(uint256 value) internal view returns (uint256 result) {
        if (value == 0) revert NoInverse();
        bool done;
        // Assembly: the precompile's input is six words at the free pointer, which stays where it is.
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, 0x20)
            mstore(add(free, 0x20), 0x20)
            mstore(add(free, 0x40), 0x20)
            mstore(add(free, 0x60), value)
            mstore(add(free, 0x80), sub(FR_MODULUS, 2))
            mstore(add(free, 0xa0), FR_MODULUS)
            let success := staticcall(gas(), MODEXP, free, 0xc0, free, 0x20)
            done := and(success, eq(returndatasize(), 0x20))
            result := mload(free)
        }
        // An answer that is no inverse cannot come from a chain that has the precompile.
        if (!done || mulmod(value, result, FR_MODULUS) != 1) revert NoInverse();
    }
}
