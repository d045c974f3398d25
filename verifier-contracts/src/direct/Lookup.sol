// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {MODULUS_AT} from "./ProgramMemory.sol";
import {Shape} from "./Tape.sol";

/// @title The lookup relation at the end point of phase L; prover/plan/lookup.ts has the formula and what it says
/// @notice Masks, tags and rows of tables there are registers (Tape.sol).
library Lookup {
    uint256 private constant MAX_TAPS = 4;

    /// @notice Words of values that each witness chunk has: y, r0, r1, q, gw [, gx, x_0 .. x_3].
    function wordsPerWitness(Shape memory shape) internal pure returns (uint256) {
        unchecked {
            return 5 + (1 + MAX_TAPS) * shape.hasMaxima;
        }
    }

    /// @notice Words of values that each table chunk has: m, gt [, b].
    function wordsPerTable(Shape memory shape) internal pure returns (uint256) {
        unchecked {
            return 2 + shape.hasValues;
        }
    }

    /// @notice The summand of phase L: the helpers, and eq(tau, r*) times the brackets with powers of lambda: of all
    /// witness chunks, of the maxima of all, of the products of their gaps, of all table chunks.
    /// @param values offset of the values at r* in the call, all below r
    /// @dev Assembly: a few dozen products of words of the call and registers. Elements are below r; up to five are added
    /// without reduction (Fr.sol).
    function summand(Shape memory shape, uint256 values, uint256 alpha, uint256 beta, uint256 lambda)
        internal
        pure
        returns (uint256 result)
    {
        uint256 perWitness = wordsPerWitness(shape) << 5;
        uint256 perTable = wordsPerTable(shape) << 5;
        uint256 masks = shape.masks;
        uint256 chunks = shape.witnessChunks;
        uint256 hasMaxima = shape.hasMaxima;
        uint256 end = masks + 128 * chunks;
        uint256 rows = shape.rows;
        uint256 rowsEnd = rows + 128 * shape.tableChunks;
        uint256 eqTau = shape.eqTau;
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let beta2 := mulmod(beta, beta, r)
            // alpha less the fingerprint of (0, 0) under the range's tag, which is 1.
            let rangeKey := addmod(alpha, sub(r, beta2), r)
            let brackets := 0
            let power := lambda
            for { let own := values } lt(masks, end) { masks := add(masks, 0x80) } {
                // gw D0 D1 D2 - v_r (D0 + D1) D2 - v_q D0 D1
                let d0 := add(rangeKey, sub(r, calldataload(add(own, 0x20))))
                let d1 := add(rangeKey, sub(r, calldataload(add(own, 0x40))))
                let key := add(mulmod(beta, calldataload(own), r), mulmod(beta2, mload(add(masks, 0x60)), r))
                let d2 := add(alpha, sub(mul(3, r), add(calldataload(add(own, 0x60)), key)))
                let d01 := mulmod(d0, d1, r)
                let gw := calldataload(add(own, 0x80))
                let left := addmod(mulmod(gw, d01, r), sub(r, mulmod(mload(masks), add(d0, d1), r)), r)
                let bracket := add(mulmod(left, d2, r), sub(r, mulmod(mload(add(masks, 0x20)), d01, r)))
                brackets := addmod(brackets, mulmod(power, bracket, r), r)
                power := mulmod(power, lambda, r)
                result := add(result, gw)
                if hasMaxima { result := add(result, calldataload(add(own, 0xa0))) }
                result := mod(result, r)
                own := add(own, perWitness)
            }
            if hasMaxima {
                let others := power
                for { let left := chunks } left { left := sub(left, 1) } { others := mulmod(others, lambda, r) }
                let own := values
                for { masks := sub(end, shl(7, chunks)) } lt(masks, end) { masks := add(masks, 0x80) } {
                    // Over the taps so far: product of the E_i, sum of the products without one of them, product of the
                    // gaps y - x_i.
                    let y := calldataload(own)
                    let mask := mload(add(masks, 0x40))
                    let all := 1
                    let without := 0
                    let gaps := mask
                    for { let tap := add(own, 0xc0) } lt(tap, add(own, perWitness)) { tap := add(tap, 0x20) } {
                        let gap := add(y, sub(r, calldataload(tap)))
                        let e := add(rangeKey, sub(shl(1, r), gap))
                        without := add(mulmod(without, e, r), all)
                        all := mulmod(all, e, r)
                        gaps := mulmod(gaps, gap, r)
                    }
                    // gx E0 E1 E2 E3 - v_x sum_i prod_{j != i} E_j
                    let bracket := add(mulmod(calldataload(add(own, 0xa0)), all, r), sub(r, mulmod(mask, without, r)))
                    brackets := add(brackets, mulmod(power, bracket, r))
                    brackets := addmod(brackets, mulmod(others, gaps, r), r)
                    power := mulmod(power, lambda, r)
                    others := mulmod(others, lambda, r)
                    own := add(own, perWitness)
                }
                power := others
            }
            values := add(values, mul(perWitness, chunks))
            for {} lt(rows, rowsEnd) { rows := add(rows, 0x80) } {
                // gt Dt - v_T m
                let gt_ := calldataload(add(values, 0x20))
                let b := mload(add(rows, 0x40))
                if gt(perTable, 0x40) { b := add(b, calldataload(add(values, 0x40))) }
                let key := add(mulmod(beta, b, r), mulmod(beta2, mload(add(rows, 0x60)), r))
                let dt := add(alpha, sub(mul(3, r), add(key, mload(add(rows, 0x20)))))
                let bracket := add(mulmod(gt_, dt, r), sub(r, mulmod(mload(rows), calldataload(values), r)))
                brackets := addmod(brackets, mulmod(power, bracket, r), r)
                power := mulmod(power, lambda, r)
                result := addmod(result, sub(r, gt_), r)
                values := add(values, perTable)
            }
            result := addmod(result, mulmod(mload(eqTau), brackets, r), r)
        }
    }
}
