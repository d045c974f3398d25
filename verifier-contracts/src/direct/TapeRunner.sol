// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {MODULUS_AT} from "./ProgramMemory.sol";

/// @title Runs a tape: everything that a verification computes in Fr from its challenges and the program alone
/// @notice Tape.sol says what each record means; ProgramStore has written them. There is no jump in a tape and nothing
/// but registers that it writes, so it ends, and what it can do wrong is to compute other numbers.
library TapeRunner {
    /// @dev Numbers of operations are literals, as Yul asks of cases. Assembly: some two hundred records a proof, of which
    /// each would else be a call, its operands words of a struct. What takes many variables is a function of its own, called
    /// in two places, so that the compiler keeps it apart: in one with the loop they would be more than the stack lets it
    /// reach, and the loop's own would be kept in memory. Elements are below r unless said; up to five are added without
    /// reduction (Fr.sol).
    /// @param p first record
    /// @param end behind the last
    function run(uint256 p, uint256 end) internal pure {
        assembly ("memory-safe") {
            function compute(w, to) {
                let r := mload(MODULUS_AT)
                switch shr(248, w)
                case 8 {
                    // OP_RUN
                    let t := and(shr(24, w), 0xffffff)
                    let s := and(shr(48, w), 0xffffff)
                    let count := and(shr(72, w), 0xffffff)
                    let stepT := signextend(2, shr(96, w))
                    let stepS := signextend(2, shr(120, w))
                    let sum := 0
                    if and(eq(stepT, 0x20), eq(stepS, 0x20)) {
                        for { let last := add(t, shl(5, and(count, 0xfffffc))) } lt(t, last) {} {
                            let four := mulmod(mload(t), mload(s), r)
                            four := add(four, mulmod(mload(add(t, 0x20)), mload(add(s, 0x20)), r))
                            four := add(four, mulmod(mload(add(t, 0x40)), mload(add(s, 0x40)), r))
                            four := add(four, mulmod(mload(add(t, 0x60)), mload(add(s, 0x60)), r))
                            sum := addmod(sum, four, r)
                            t := add(t, 0x80)
                            s := add(s, 0x80)
                        }
                        count := and(count, 3)
                    }
                    for {} count { count := sub(count, 1) } {
                        sum := addmod(sum, mulmod(mload(t), mload(s), r), r)
                        t := add(t, stepT)
                        s := add(s, stepS)
                    }
                    mstore(to, addmod(mload(to), mulmod(mload(and(w, 0xffffff)), sum, r), r))
                }
                case 4 {
                    // OP_PAIR. Over the last k bits: `whole` sums all indices, `result` those below the last k bits
                    // of `side`; none while these are 0.
                    let twiceAndOne := add(shl(1, r), 1)
                    let a := and(w, 0xffffff)
                    let b := and(shr(24, w), 0xffffff)
                    let place := shl(5, and(shr(48, w), 0xff))
                    let side := and(shr(56, w), 0xffffffff)
                    let whole := 1
                    let result := 0
                    for {} iszero(and(side, 1)) { side := shr(1, side) } {
                        place := sub(place, 0x20)
                        let x := mload(add(a, place))
                        let y := mload(add(b, place))
                        let both := mulmod(x, y, r)
                        whole := mulmod(whole, add(sub(twiceAndOne, add(x, y)), add(both, both)), r)
                    }
                    for { place := sub(place, 0x20) } place { place := sub(place, 0x20) } {
                        let x := mload(add(a, place))
                        let y := mload(add(b, place))
                        let one := mulmod(x, y, r)
                        let zero := add(sub(twiceAndOne, add(x, y)), one)
                        switch and(side, 1)
                        case 1 { result := add(mulmod(zero, whole, r), mulmod(one, result, r)) }
                        default { result := mulmod(zero, result, r) }
                        whole := mulmod(whole, add(zero, one), r)
                        side := shr(1, side)
                    }
                    // The first coordinate, after which nobody asks for `whole`.
                    let x := mload(a)
                    let y := mload(b)
                    let one := mulmod(x, y, r)
                    let zero := add(sub(twiceAndOne, add(x, y)), one)
                    switch and(side, 1)
                    case 1 { result := add(mulmod(zero, whole, r), mulmod(one, result, r)) }
                    default { result := mulmod(zero, result, r) }
                    mstore(to, mod(result, r))
                }
                case 3 {
                    // OP_EQUAL
                    // Less a sum of two elements it is a number that needs no reduction before it is multiplied.
                    let twiceAndOne := add(shl(1, r), 1)
                    let a := and(w, 0xffffff)
                    let b := and(shr(24, w), 0xffffff)
                    let result := 1
                    for { let last := add(a, shl(5, and(shr(48, w), 0xff))) } lt(a, last) {
                        a := add(a, 0x20)
                        b := add(b, 0x20)
                    } {
                        let x := mload(a)
                        let y := mload(b)
                        let both := mulmod(x, y, r)
                        result := mulmod(result, add(sub(twiceAndOne, add(x, y)), add(both, both)), r)
                    }
                    mstore(to, result)
                }
                case 7 {
                    // OP_EXPAND
                    let point := and(w, 0xffffff)
                    let level := and(shr(24, w), 0xff)
                    let last := sub(and(shr(32, w), 0xffffffff), 1)
                    mstore(to, 1)
                    // Before each step the first words are the weights of all prefixes that indices up to `last`
                    // have. What is written beyond the list, three words at most, is nobody's.
                    if and(level, 1) {
                        level := sub(level, 1)
                        let x := mload(point)
                        point := add(point, 0x20)
                        mstore(to, sub(add(r, 1), x))
                        mstore(add(to, 0x20), x)
                    }
                    // Two coordinates at a time.
                    for {} level {} {
                        let x := mload(point)
                        let y := mload(add(point, 0x20))
                        point := add(point, 0x40)
                        let e3 := mulmod(x, y, r)
                        let e2 := add(x, sub(r, e3))
                        let e1 := add(y, sub(r, e3))
                        let e0 := add(sub(add(shl(1, r), 1), add(x, y)), e3)
                        let place := shl(5, shr(level, last))
                        level := sub(level, 2)
                        for {} 1 { place := sub(place, 0x20) } {
                            let v := mload(add(to, place))
                            let four := add(to, shl(2, place))
                            mstore(add(four, 0x60), mulmod(v, e3, r))
                            mstore(add(four, 0x40), mulmod(v, e2, r))
                            mstore(add(four, 0x20), mulmod(v, e1, r))
                            mstore(four, mulmod(v, e0, r))
                            if iszero(place) { break }
                        }
                    }
                }
                case 11 {
                    // OP_PREFIX
                    let point := and(w, 0xffffff)
                    let n := and(shr(24, w), 0xff)
                    let wholes := and(shr(32, w), 0xffffff)
                    let before := shl(n, and(shr(56, w), 0xffff))
                    let bound := and(shr(72, w), 0xffffffffffff)
                    let d := 0
                    if gt(bound, before) { d := sub(bound, before) }
                    let ones := 0
                    let rows := 0
                    switch lt(d, shl(n, 1))
                    case 0 {
                        ones := 1
                        rows := mload(add(wholes, shl(5, n)))
                    }
                    default {
                        if d {
                            let here := add(point, shl(5, n))
                            // Nothing happens below the lowest 1 of d; above its highest every bit must be 0.
                            for {} iszero(and(d, 1)) { d := shr(1, d) } {
                                here := sub(here, 0x20)
                                wholes := add(wholes, 0x20)
                            }
                            let one := shl(shr(5, sub(add(point, shl(5, n)), here)), 1)
                            for {} gt(here, point) { d := shr(1, d) } {
                                here := sub(here, 0x20)
                                let x := mload(here)
                                switch and(d, 1)
                                case 1 {
                                    // (1 - x) whole + x (rows + 2^k ones), and 1 - x + x ones.
                                    let whole := mload(wholes)
                                    let inside := add(addmod(rows, mulmod(one, ones, r), r), sub(r, whole))
                                    rows := addmod(whole, mulmod(x, inside, r), r)
                                    ones := addmod(mulmod(x, ones, r), sub(add(r, 1), x), r)
                                }
                                default {
                                    rows := addmod(rows, sub(r, mulmod(x, rows, r)), r)
                                    ones := addmod(ones, sub(r, mulmod(x, ones, r)), r)
                                }
                                one := shl(1, one)
                                wholes := add(wholes, 0x20)
                            }
                        }
                    }
                    mstore(to, ones)
                    // Rows are counted from the first chunk on.
                    mstore(add(to, 0x20), addmod(rows, mulmod(before, ones, r), r))
                }
                case 14 {
                    // OP_MASKED
                    let pairs := and(w, 0xffffff)
                    let point := and(shr(24, w), 0xffffff)
                    let bits := and(shr(48, w), 0xff)
                    let side := and(shr(56, w), 0xffffffff)
                    // Over the last k bits: everything, and what lies below the last k bits of `side`.
                    let whole := 1
                    let sum := 0
                    for { let from := add(pairs, shl(6, bits)) } gt(from, pairs) { side := shr(1, side) } {
                        from := sub(from, 0x40)
                        let zero := mload(from)
                        let one := mload(add(from, 0x20))
                        if point {
                            let x := mload(add(point, shr(1, sub(from, pairs))))
                            zero := mulmod(zero, sub(add(r, 1), x), r)
                            one := mulmod(one, x, r)
                        }
                        switch and(side, 1)
                        case 1 { sum := addmod(mulmod(zero, whole, r), mulmod(one, sum, r), r) }
                        default { sum := mulmod(zero, sum, r) }
                        whole := mulmod(whole, addmod(zero, one, r), r)
                    }
                    // A full side has its only 1 above all bits.
                    if side { sum := whole }
                    mstore(to, sum)
                }
                case 12 {
                    // OP_WHOLES
                    let point := and(w, 0xffffff)
                    let from := add(point, shl(5, and(shr(24, w), 0xff)))
                    let sum := 0
                    mstore(to, sum)
                    for { let one := 1 } gt(from, point) { one := shl(1, one) } {
                        from := sub(from, 0x20)
                        sum := addmod(sum, mulmod(one, mload(from), r), r)
                        to := add(to, 0x20)
                        mstore(to, sum)
                    }
                }
                case 13 {
                    // OP_PACKED
                    let word := and(w, 0xffffff)
                    let bits := and(shr(32, w), 0xff)
                    for { let left := bits } left { to := add(to, 0x40) } {
                        switch gt(add(and(shr(24, w), 0xff), left), bits)
                        case 1 {
                            let x := mload(word)
                            word := add(word, 0x20)
                            left := sub(left, 1)
                            mstore(to, addmod(1, sub(r, x), r))
                            mstore(add(to, 0x20), x)
                        }
                        default {
                            left := sub(left, 1)
                            mstore(to, 1)
                            // 2^(cellBits 2^k) for bit k of the place in the word: at most 2^64.
                            mstore(add(to, 0x20), shl(shl(left, and(shr(40, w), 0xff)), 1))
                        }
                    }
                }
                case 15 {
                    // OP_OUTER
                    let a := and(w, 0xffffff)
                    let b := and(shr(48, w), 0xffffff)
                    let row := shl(5, and(shr(72, w), 0xffffff))
                    for { let last := add(a, shl(5, and(shr(24, w), 0xffffff))) } lt(a, last) { a := add(a, 0x20) } {
                        let v := mload(a)
                        for { let i := 0 } lt(i, row) { i := add(i, 0x20) } {
                            mstore(add(to, i), mulmod(v, mload(add(b, i)), r))
                        }
                        to := add(to, row)
                    }
                }
                case 16 {
                    // OP_LEAD
                    let count := and(shr(24, w), 0xff)
                    let lead := shl(5, count)
                    for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                        mstore(add(to, shl(5, i)), and(shr(sub(sub(count, 1), i), and(w, 0xffffff)), 1))
                    }
                    mcopy(add(to, lead), and(shr(32, w), 0xffffff), sub(shl(5, and(shr(56, w), 0xff)), lead))
                }
                default { invalid() }
            }

            let r := mload(MODULUS_AT)
            for {} lt(p, end) { p := add(p, 0x20) } {
                let w := mload(p)
                let to := and(shr(224, w), 0xffffff)
                // OP_RUN: windows have many.
                if eq(shr(248, w), 8) {
                    compute(w, to)
                    continue
                }
                switch shr(248, w)
                case 2 {
                    // OP_ACCUMULATE
                    w := and(w, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff)
                    let x := mulmod(mload(and(w, 0xffffff)), mload(and(shr(24, w), 0xffffff)), r)
                    for { w := shr(48, w) } w { w := shr(48, w) } {
                        x := mulmod(x, mload(and(w, 0xffffff)), r)
                        x := mulmod(x, mload(and(shr(24, w), 0xffffff)), r)
                    }
                    mstore(to, addmod(mload(to), x, r))
                }
                case 5 {
                    // OP_SELECT
                    let product := mload(and(w, 0xffffff))
                    let point := and(shr(24, w), 0xffffff)
                    // The pattern's bits, from the first coordinate's on, in the highest bits.
                    let count := and(shr(48, w), 0xff)
                    let pattern := shl(sub(256, count), shr(56, w))
                    for { let last := add(to, shl(5, count)) } lt(to, last) { to := add(to, 0x20) } {
                        let part := mulmod(product, mload(point), r)
                        switch slt(pattern, 0)
                        case 1 { product := part }
                        default { product := addmod(product, sub(r, part), r) }
                        mstore(to, product)
                        pattern := shl(1, pattern)
                        point := add(point, 0x20)
                    }
                }
                case 9 {
                    // OP_SCALE
                    let factor := signextend(24, shr(24, w))
                    if slt(factor, 0) { factor := add(r, factor) }
                    mstore(to, addmod(mload(to), mulmod(mload(and(w, 0xffffff)), factor, r), r))
                }
                case 6 {
                    // OP_SUM
                    let point := and(w, 0xffffff)
                    let side := and(shr(32, w), 0xffffffff)
                    let sum := 0
                    // From the least significant bit: the sum over the indices below the last bits of `side`.
                    for { let from := add(point, shl(5, and(shr(24, w), 0xff))) } gt(from, point) {
                        side := shr(1, side)
                    } {
                        from := sub(from, 0x20)
                        let x := mload(from)
                        let part := mulmod(x, sum, r)
                        switch and(side, 1)
                        case 1 { sum := addmod(part, sub(add(r, 1), x), r) }
                        default { sum := addmod(sum, sub(r, part), r) }
                    }
                    mstore(to, sum)
                }
                case 1 {
                    // OP_MULTIPLY
                    w := and(w, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff)
                    let x := mulmod(mload(and(w, 0xffffff)), mload(and(shr(24, w), 0xffffff)), r)
                    for { w := shr(48, w) } w { w := shr(48, w) } {
                        x := mulmod(x, mload(and(w, 0xffffff)), r)
                        x := mulmod(x, mload(and(shr(24, w), 0xffffff)), r)
                    }
                    mstore(to, x)
                }
                case 10 {
                    // OP_NUMBER
                    p := add(p, 0x20)
                    mstore(to, mload(p))
                }
                default { compute(w, to) }
            }
        }
    }
}
