// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {MODULUS_AT} from "./ProgramMemory.sol";

/// @title Runs a tape: everything that a verification computes in Fr from its challenges and the program alone
/// @notice Tape.sol says what each record means; ProgramStore has written them. There is no jump in a tape and nothing
/// but registers that it writes, so it ends, and what it can do wrong is to compute other numbers.
library TapeRunner {
    /// @dev Numbers of operations are literals, as Yul asks of cases. Assembly: some two hundred records a proof, of which
    /// each would else be a call, its operands words of a struct. What takes many variables is a function of its own: in
    /// one scope with the loop they would be more than the stack lets it reach. Cases are asked for in two halves, and
    /// loops take two coordinates at a time where they can, since a jump costs as much as a product. Elements are below r
    /// unless said; up to five are added without reduction (Fr.sol).
    /// @param p first record
    /// @param end behind the last
    function run(uint256 p, uint256 end) internal pure {
        assembly ("memory-safe") {
            function compute(w, to) {
                let r := mload(MODULUS_AT)
                switch lt(shr(248, w), 11)
                case 1 {
                    switch shr(248, w)
                    case 7 {
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
                            if and(count, 2) {
                                sum := add(sum, mulmod(mload(t), mload(s), r))
                                sum := add(sum, mulmod(mload(add(t, 0x20)), mload(add(s, 0x20)), r))
                                t := add(t, 0x40)
                                s := add(s, 0x40)
                            }
                            count := and(count, 1)
                        }
                        for {} count { count := sub(count, 1) } {
                            sum := addmod(sum, mulmod(mload(t), mload(s), r), r)
                            t := add(t, stepT)
                            s := add(s, stepS)
                        }
                        mstore(to, addmod(mload(to), mulmod(mload(and(w, 0xffffff)), sum, r), r))
                    }
                    case 8 {
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
                    case 9 {
                        // OP_EQUAL, two coordinates at a time.
                        // Less a sum of two elements it is a number that needs no reduction before it is multiplied.
                        let twiceAndOne := add(shl(1, r), 1)
                        let a := and(w, 0xffffff)
                        let toB := sub(and(shr(24, w), 0xffffff), a)
                        let bits := and(shr(48, w), 0xff)
                        let last := add(a, shl(5, bits))
                        let result := 1
                        if and(bits, 1) {
                            let x := mload(a)
                            let y := mload(add(a, toB))
                            result := add(sub(twiceAndOne, add(x, y)), shl(1, mulmod(x, y, r)))
                            a := add(a, 0x20)
                        }
                        for {} lt(a, last) { a := add(a, 0x40) } {
                            let x := mload(a)
                            let y := mload(add(a, toB))
                            result := mulmod(result, add(sub(twiceAndOne, add(x, y)), shl(1, mulmod(x, y, r))), r)
                            x := mload(add(a, 0x20))
                            y := mload(add(add(a, 0x20), toB))
                            result := mulmod(result, add(sub(twiceAndOne, add(x, y)), shl(1, mulmod(x, y, r))), r)
                        }
                        mstore(to, mod(result, r))
                    }
                    default {
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
                }
                default {
                    switch shr(248, w)
                    case 11 {
                        // OP_PREFIX
                        let point := and(w, 0xffffff)
                        let n := and(shr(24, w), 0xff)
                        let whole := add(and(shr(32, w), 0xffffff), shl(5, n))
                        // The first row of a block: of this chunk at first.
                        let row := shl(n, and(shr(56, w), 0xffff))
                        let bound := and(shr(72, w), 0xffffffffffff)
                        let ones := 0
                        let rows := 0
                        switch lt(bound, add(row, shl(n, 1)))
                        case 0 {
                            ones := 1
                            rows := addmod(mload(whole), row, r)
                        }
                        default {
                            // What is left of the bound, its highest bit on top: each 1 is a block of 2^k rows with eq `share` before
                            // its last k coordinates. Nothing is left where the bound lies before the chunk.
                            let left := shl(sub(256, n), mul(gt(bound, row), sub(bound, row)))
                            let size := shl(n, 1)
                            for { let share := 1 } left { left := shl(1, left) } {
                                whole := sub(whole, 0x20)
                                size := shr(1, size)
                                let inside := mulmod(share, mload(point), r)
                                point := add(point, 0x20)
                                share := addmod(share, sub(r, inside), r)
                                if slt(left, 0) {
                                    ones := addmod(ones, share, r)
                                    rows := addmod(rows, mulmod(share, add(row, mload(whole)), r), r)
                                    row := add(row, size)
                                    share := inside
                                }
                            }
                        }
                        mstore(to, ones)
                        mstore(add(to, 0x20), rows)
                    }
                    case 12 {
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
                    case 13 {
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
                    case 14 {
                        // OP_LEAD
                        let count := and(shr(24, w), 0xff)
                        let lead := shl(5, count)
                        for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                            mstore(add(to, shl(5, i)), and(shr(sub(sub(count, 1), i), and(w, 0xffffff)), 1))
                        }
                        mcopy(add(to, lead), and(shr(32, w), 0xffffff), sub(shl(5, and(shr(56, w), 0xff)), lead))
                    }
                    case 15 {
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
                                // 2^(cellBits 2^k) where bit k of the place in the word is 0: at most 2^64.
                                mstore(to, shl(shl(left, and(shr(40, w), 0xff)), 1))
                                mstore(add(to, 0x20), 1)
                            }
                        }
                    }
                    case 16 {
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
                    default { invalid() }
                }
            }

            let r := mload(MODULUS_AT)
            for {} lt(p, end) { p := add(p, 0x20) } {
                let w := mload(p)
                let to := and(shr(224, w), 0xffffff)
                if gt(shr(248, w), 6) {
                    compute(w, to)
                    continue
                }
                switch shr(248, w)
                case 1 {
                    // OP_ACCUMULATE
                    w := and(w, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff)
                    let x := mulmod(mload(and(w, 0xffffff)), mload(and(shr(24, w), 0xffffff)), r)
                    for { w := shr(48, w) } w { w := shr(48, w) } {
                        x := mulmod(x, mload(and(w, 0xffffff)), r)
                        x := mulmod(x, mload(and(shr(24, w), 0xffffff)), r)
                    }
                    mstore(to, addmod(mload(to), x, r))
                }
                case 2 {
                    // OP_SCALE
                    let sum := mload(to)
                    for { w := and(w, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff) } w { w := shr(72, w) } {
                        let factor := signextend(5, shr(24, w))
                        sum := add(sum, mulmod(mload(and(w, 0xffffff)), add(factor, mul(r, slt(factor, 0))), r))
                    }
                    mstore(to, mod(sum, r))
                }
                case 3 {
                    // OP_SELECT, two coordinates at a time. A step multiplies with 1 - x, or with x where the bit is 1.
                    let product := mload(and(w, 0xffffff))
                    let toPoint := sub(and(shr(24, w), 0xffffff), to)
                    let count := and(shr(48, w), 0xff)
                    let last := add(to, shl(5, count))
                    // The pattern's bits, from the first coordinate's on, in the highest bits.
                    w := shl(sub(256, count), shr(56, w))
                    if and(count, 1) {
                        let x := mload(add(to, toPoint))
                        let none := sub(add(r, 1), x)
                        product := mulmod(product, add(none, mul(shr(255, w), sub(x, none))), r)
                        mstore(to, product)
                        w := shl(1, w)
                        to := add(to, 0x20)
                    }
                    for {} lt(to, last) { to := add(to, 0x40) } {
                        let x := mload(add(to, toPoint))
                        let none := sub(add(r, 1), x)
                        product := mulmod(product, add(none, mul(shr(255, w), sub(x, none))), r)
                        mstore(to, product)
                        x := mload(add(add(to, 0x20), toPoint))
                        none := sub(add(r, 1), x)
                        product := mulmod(product, add(none, mul(and(shr(254, w), 1), sub(x, none))), r)
                        mstore(add(to, 0x20), product)
                        w := shl(2, w)
                    }
                }
                case 4 {
                    // OP_MULTIPLY
                    w := and(w, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff)
                    let x := mulmod(mload(and(w, 0xffffff)), mload(and(shr(24, w), 0xffffff)), r)
                    for { w := shr(48, w) } w { w := shr(48, w) } {
                        x := mulmod(x, mload(and(w, 0xffffff)), r)
                        x := mulmod(x, mload(and(shr(24, w), 0xffffff)), r)
                    }
                    mstore(to, x)
                }
                case 5 {
                    // OP_SUM. Each 1 of the side is a block of indices; eq of a block is `share` before its last coordinates.
                    let point := and(w, 0xffffff)
                    let sum := 0
                    let share := 1
                    w := shl(sub(256, and(shr(24, w), 0xff)), and(shr(32, w), 0xffffffff))
                    for {} w { w := shl(1, w) } {
                        let inside := mulmod(share, mload(point), r)
                        point := add(point, 0x20)
                        share := addmod(share, sub(r, inside), r)
                        if slt(w, 0) {
                            sum := addmod(sum, share, r)
                            share := inside
                        }
                    }
                    mstore(to, sum)
                }
                default {
                    // OP_NUMBER
                    p := add(p, 0x20)
                    mstore(to, mload(p))
                }
            }
        }
    }
}
