// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ScalarNotCanonical} from "./Fr.sol";
import {ProgramMemory} from "./ProgramMemory.sol";

/// @title The verifier's rounds of a sumcheck; prover/verifier/sumcheck.ts is the same in TypeScript
/// @notice A round is p(X) by its coefficients c_0, c_2, ..., c_d in calldata; p(0) + p(1) = claim gives the linear one,
///   c_1 = claim - 2 c_0 - c_2 - ... - c_d.
/// The round is absorbed, the challenge r drawn, and p(r) is the next claim.
library Sumcheck {
    /// @notice Reads `rounds` rounds of degree 2, 3, 5 or 6 from the call at `offset`.
    /// @param claim below r
    /// @param point `rounds` words of memory for the challenges
    /// @return nextState after the last round
    /// @return nextClaim what the summand must be at the point
    /// @dev Reverts unless every scalar is below r. The modulus must be kept (ProgramMemory.sol).
    ///
    /// Assembly: some forty rounds of a proof, each a few hundred gas. What is absorbed, 37 + 32 d bytes, lies at the
    /// free pointer, which stays where it is; what is squeezed, 37 bytes, in the scratch words 0x00 and 0x20
    /// (Transcript.sol). The constant bytes of both are written once, and each state goes to the beginning of both. Up
    /// to five elements are added without reduction (Fr.sol).
    function verify(bytes32 state, uint256 claim, uint256 offset, uint256 rounds, uint256 degree, uint256 point)
        internal
        pure
        returns (bytes32 nextState, uint256 nextClaim)
    {
        uint256 excess = 0;
        uint256 m = ProgramMemory.modulus();
        assembly ("memory-safe") {
            let absorbed := mload(0x40)
            mstore(absorbed, state)
            mstore(add(absorbed, 0x20), or(shl(248, 0x41), shl(221, degree)))
            mstore(0x00, state)
            mstore(0x20, shl(248, 0x53))
            let end := add(point, shl(5, rounds))
            // Written out by degree: a loop over coefficients costs 170 gas for each, twice the straight line.
            switch degree
            case 2 {
                for {} lt(point, end) { point := add(point, 0x20) } {
                    let c := calldataload(offset)
                    let d := calldataload(add(offset, 0x20))
                    excess := or(excess, or(gt(c, sub(m, 1)), gt(d, sub(m, 1))))
                    // c_1 in (0, 4 r).
                    claim := add(claim, sub(mul(3, m), add(add(c, c), d)))
                    calldatacopy(add(absorbed, 0x25), offset, 0x40)
                    offset := add(offset, 0x40)
                    let r := keccak256(absorbed, 0x65)
                    mstore(absorbed, r)
                    mstore(0x00, r)
                    r := mod(keccak256(0x00, 0x25), m)
                    mstore(point, r)
                    claim := addmod(mulmod(add(claim, mulmod(d, r, m)), r, m), c, m)
                }
            }
            case 3 {
                for {} lt(point, end) { point := add(point, 0x20) } {
                    let c := calldataload(offset)
                    let d := calldataload(add(offset, 0x20))
                    let e := calldataload(add(offset, 0x40))
                    excess := or(excess, gt(c, sub(m, 1)))
                    excess := or(excess, or(gt(d, sub(m, 1)), gt(e, sub(m, 1))))
                    // c_1 in (0, 5 r).
                    claim := add(claim, sub(mul(4, m), add(add(c, c), add(d, e))))
                    calldatacopy(add(absorbed, 0x25), offset, 0x60)
                    offset := add(offset, 0x60)
                    let r := keccak256(absorbed, 0x85)
                    mstore(absorbed, r)
                    mstore(0x00, r)
                    r := mod(keccak256(0x00, 0x25), m)
                    mstore(point, r)
                    e := mulmod(add(mulmod(e, r, m), d), r, m)
                    claim := addmod(mulmod(addmod(claim, e, m), r, m), c, m)
                }
            }
            default {
                for {} lt(point, end) { point := add(point, 0x20) } {
                    calldatacopy(add(absorbed, 0x25), offset, shl(5, degree))
                    let r := keccak256(absorbed, add(shl(5, degree), 0x25))
                    mstore(absorbed, r)
                    mstore(0x00, r)
                    r := mod(keccak256(0x00, 0x25), m)
                    mstore(point, r)
                    // value = c_6 r^4 + ... + c_2 and sum = c_6 + ... + c_2, five terms; of degree 5, c_6 is 0.
                    let sum := 0
                    if eq(degree, 6) {
                        sum := calldataload(add(offset, 0xa0))
                        excess := or(excess, gt(sum, sub(m, 1)))
                    }
                    let value := mulmod(sum, r, m)
                    let c := calldataload(add(offset, 0x80))
                    excess := or(excess, gt(c, sub(m, 1)))
                    sum := add(sum, c)
                    value := mulmod(add(value, c), r, m)
                    c := calldataload(add(offset, 0x60))
                    excess := or(excess, gt(c, sub(m, 1)))
                    sum := add(sum, c)
                    value := mulmod(add(value, c), r, m)
                    c := calldataload(add(offset, 0x40))
                    excess := or(excess, gt(c, sub(m, 1)))
                    sum := add(sum, c)
                    value := mulmod(add(value, c), r, m)
                    c := calldataload(add(offset, 0x20))
                    excess := or(excess, gt(c, sub(m, 1)))
                    sum := mod(add(sum, c), m)
                    value := mulmod(add(value, c), r, m)
                    c := calldataload(offset)
                    excess := or(excess, gt(c, sub(m, 1)))
                    // c_1 in (0, 4 r).
                    claim := add(claim, sub(mul(3, m), add(add(c, c), sum)))
                    claim := addmod(mulmod(add(claim, value), r, m), c, m)
                    offset := add(offset, shl(5, degree))
                }
            }
            state := mload(0x00)
        }
        if (excess != 0) revert ScalarNotCanonical();
        return (state, claim);
    }
}
