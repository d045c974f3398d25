// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Lookup} from "./Lookup.sol";
import {LIMB_BITS} from "./Plan.sol";
import {MODULUS_AT} from "./ProgramMemory.sol";
import {InputPort, OutputPort, Shape} from "./Tape.sol";

/// @title The left side of the claims of a proof: their values under powers of lambda; prover/plan/claims.ts
/// @notice Their functionals are the tape's.
/// @dev Assembly throughout: sums over words of the call and registers, each a few dozen gas.
library Claims {
    uint256 private constant REQUANT_SHIFT = 24;
    /// y, r0, r1, q.
    uint256 private constant FIRST_WORDS = 4;

    /// @notice Values of all claims but those about outputs and inputs: relation, y, r0, r1, gw, [gx, taps,] m, gt,
    /// [committed tables].
    /// @param values offset of the values at r* in the call, all below r
    function columnValues(Shape memory shape, uint256 values) internal pure returns (uint256 total) {
        uint256 perWitness = Lookup.wordsPerWitness(shape) << 5;
        uint256 perTable = Lookup.wordsPerTable(shape) << 5;
        uint256 lambdas = shape.lambdas;
        uint256 weights = shape.witnessWeights;
        uint256 end = weights + 32 * shape.witnessChunks;
        uint256 tableWeights = shape.tableWeights;
        uint256 tableEnd = tableWeights + 32 * shape.tableChunks;
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            // Weights of y, r0, r1, q: the relation's value is 2^24 q + r0 + 2^12 r1, its power of lambda 1.
            let l2 := add(mload(add(lambdas, 0x40)), 1)
            let l3 := add(mload(add(lambdas, 0x60)), shl(LIMB_BITS, 1))
            for {} lt(weights, end) { weights := add(weights, 0x20) } {
                let sum := mulmod(mload(add(lambdas, 0x20)), calldataload(values), r)
                sum := add(sum, mulmod(l2, calldataload(add(values, 0x20)), r))
                sum := add(sum, mulmod(l3, calldataload(add(values, 0x40)), r))
                sum := addmod(sum, mulmod(shl(REQUANT_SHIFT, 1), calldataload(add(values, 0x60)), r), r)
                for { let k := shl(5, FIRST_WORDS) } lt(k, perWitness) { k := add(k, 0x20) } {
                    sum := addmod(sum, mulmod(mload(add(lambdas, k)), calldataload(add(values, k)), r), r)
                }
                total := addmod(total, mulmod(sum, mload(weights), r), r)
                values := add(values, perWitness)
            }
            lambdas := add(lambdas, perWitness)
            for {} lt(tableWeights, tableEnd) { tableWeights := add(tableWeights, 0x20) } {
                let sum := 0
                for { let k := 0 } lt(k, perTable) { k := add(k, 0x20) } {
                    sum := addmod(sum, mulmod(mload(add(lambdas, k)), calldataload(add(values, k)), r), r)
                }
                total := addmod(total, mulmod(sum, mload(tableWeights), r), r)
                values := add(values, perTable)
            }
        }
    }

    /// @notice Number of the first claim about an output; those about inputs follow.
    function firstOutput(Shape memory shape) internal pure returns (uint256) {
        unchecked {
            return shape.claims - shape.outputs.length - shape.inputs.length;
        }
    }

    /// @notice The value of the claim about an output: its elements under the weights of the claim.
    /// @param elements offset in the call: 4 bytes each in two's complement, item-major
    function outputSum(OutputPort memory port, uint256 elements) internal pure returns (uint256 sum) {
        uint256 weights = port.weights;
        uint256 length = port.length;
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            for { let end := add(weights, shl(5, length)) } lt(weights, end) { weights := add(weights, 0x20) } {
                // As r + v where v is negative: the sign's word would be another number mod r.
                let v := sar(224, calldataload(elements))
                v := add(v, mul(r, slt(v, 0)))
                sum := addmod(sum, mulmod(mload(weights), v, r), r)
                elements := add(elements, 4)
            }
        }
    }

    /// @notice The value of the claim about an input: the packed words at r_e, which hold x - lo.
    /// @param words sum over the words of eq(r_e, number) word
    function inputSum(InputPort memory port, uint256 words) internal pure returns (uint256 sum) {
        uint256 ones = port.ones;
        int256 lo = port.lo;
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            lo := add(lo, mul(r, slt(lo, 0)))
            sum := addmod(words, mulmod(lo, mload(ones), r), r)
        }
    }
}
