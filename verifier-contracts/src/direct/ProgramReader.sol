// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {FR_MODULUS} from "./Fr.sol";
import {Program} from "./Program.sol";

/// @title Reads a shape program from its canonical bytes; prover/program/encode-program.ts writes them
/// @dev What is checked here and what is not. The bytes are hashed into the model's digest, and a digest says something
/// only to who has computed it from a model with the TypeScript code, which writes canonical bytes alone and reads no
/// others (prover/program/decode-program.ts). So for bytes that TypeScript refuses it is of no matter what this contract
/// proves about "their" model: no digest that anybody has reason to trust names them. What must hold is that the bytes
/// that are read are the bytes that are hashed, that all of them are read and no more, and that any others at worst
/// revert or use up gas: lists are bounded by the bytes that are left, indices by what they point into, sides by 2^24.
///
/// Runs of entries stay in the bytes; they are walked once, where their weights are summed.
///
/// Lists of sides have a tail that Solidity does not see: behind `length` sides follow as many words with the bits of
/// each axis, and one with their sum.
library ProgramReader {
    error ProgramMalformed();

    /// Selector of the error, in the first bytes of a word.
    uint256 private constant MALFORMED = 0x79f71d1300000000000000000000000000000000000000000000000000000000;
    /// Sides, and sizes of what a block ties together, are at most 2^24.
    uint256 private constant LARGEST_SIDE = 0x1000000;
    /// Bits of a padded slot; more cells than any column admits.
    uint256 private constant MAX_SLOT_BITS = 40;
    /// Byte i: the bits of the number i, 0 to 15.
    uint256 private constant BITS_OF_NIBBLES = 0x0001020203030303040404040404040400000000000000000000000000000000;
    uint256 private constant SHORT_SUM = 0x0100000100000102010000020001000200000000000000000000000000000000;
    uint256 private constant SHORT_SUM_MASK = 0xfff0ffff80ffffffffffffff80ffffff00000000000000000000000000000000;
    uint256 private constant SHORT_WINDOW = 0x0200000100020000010001000000000000000000000000000000000000000000;
    uint256 private constant SHORT_WINDOW_MASK = 0xfff0f0fff0ff8080ff80ff000000000000000000000000000000000000000000;
    uint256 private constant HIGH_BITS = 0x8080808080808080808080808080808080808080808080808080808080808080;
    uint256 private constant ONES = 0x0101010101010101010101010101010101010101010101010101010101010101;

    /// @notice Refuses bytes that end early, go on, or point nowhere.
    /// @dev Assembly: a program has some thousand numbers, each of which Solidity would hand through a struct. Functions
    /// take the address of the next byte and return the one behind what they have read. Scratch words: 0x00 the end of
    /// the bytes, 0x20 the numbers of witness slots (low half), and of model slots.
    function read(bytes memory code) internal pure returns (Program memory program) {
        bool ended;
        assembly ("memory-safe") {
            function fail() {
                mstore(0, MALFORMED)
                revert(0, 4)
            }
            function allocate(words) -> ptr {
                ptr := mload(0x40)
                mstore(0x40, add(ptr, shl(5, words)))
            }

            // --- Numbers: unsigned LEB128 below 2^147; signed ones in zigzag.
            function long(p) -> value, next {
                next := p
                for { let shift := 0 } 1 { shift := add(shift, 7) } {
                    if gt(shift, 140) { fail() }
                    let part := byte(0, mload(next))
                    next := add(next, 1)
                    value := or(value, shl(shift, and(part, 0x7f)))
                    if lt(part, 0x80) { break }
                }
            }
            function unsigned(p) -> value, next {
                value := byte(0, mload(p))
                next := add(p, 1)
                if gt(value, 0x7f) { value, next := long(p) }
            }
            function signed(p) -> value, next {
                value, next := unsigned(p)
                value := sub(shr(1, value), mul(value, and(value, 1)))
            }
            function element(p) -> value, next {
                value, next := signed(p)
                if slt(value, 0) { value := add(FR_MODULUS, value) }
            }
            // Of things that take a byte each at least.
            function length(p) -> count, next {
                count := byte(0, mload(p))
                next := add(p, 1)
                if gt(count, 0x7f) { count, next := long(p) }
                if gt(add(next, count), mload(0)) { fail() }
            }
            function list(p) -> own, count, next {
                count := byte(0, mload(p))
                next := add(p, 1)
                if gt(count, 0x7f) { count, next := long(p) }
                if gt(add(next, count), mload(0)) { fail() }
                own := mload(0x40)
                mstore(0x40, add(own, shl(5, add(count, 1))))
                mstore(own, count)
            }
            function below(p, limit) -> value, next {
                value, next := unsigned(p)
                if iszero(lt(value, limit)) { fail() }
            }
            function sideAt(p) -> side, next {
                side, next := unsigned(p)
                if iszero(lt(sub(side, 1), LARGEST_SIDE)) { fail() }
            }

            // --- Sides, their bits, and the sum of these.
            function sides(p) -> own, next {
                let count
                count, next := below(p, 17)
                own := allocate(add(shl(1, count), 2))
                mstore(own, count)
                let total := 0
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let side := byte(0, mload(next))
                    let x := sub(side, 1)
                    let bits
                    switch lt(x, 0x7f)
                    case 1 {
                        // A side of one byte.
                        next := add(next, 1)
                        bits := shl(2, gt(x, 0xf))
                    }
                    default {
                        side, next := sideAt(next)
                        x := sub(side, 1)
                        bits := shl(4, lt(0xffff, x))
                        bits := or(bits, shl(3, lt(0xff, shr(bits, x))))
                        bits := or(bits, shl(2, lt(0xf, shr(bits, x))))
                    }
                    bits := add(bits, byte(shr(bits, x), BITS_OF_NIBBLES))
                    mstore(place, side)
                    total := add(total, bits)
                    mstore(add(place, shl(5, count)), bits)
                }
                if gt(total, MAX_SLOT_BITS) { fail() }
                mstore(add(end, shl(5, add(count, 1))), total)
            }
            function spaces(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let axes
                    axes, next := sides(next)
                    mstore(place, axes)
                }
            }

            // --- Blocks
            function axesAt(p) -> count, axes, next {
                count, next := below(p, 17)
                let end := shl(3, count)
                for { let shift := 0 } lt(shift, end) { shift := add(shift, 8) } {
                    let axis := byte(0, mload(next))
                    next := add(next, 1)
                    if gt(axis, 15) { fail() }
                    axes := or(axes, shl(shift, axis))
                }
            }
            function sizeAt(p, count) -> size, next {
                let found
                found, next := unsigned(p)
                if iszero(eq(found, count)) { fail() }
                size := 1
                for {} count { count := sub(count, 1) } {
                    let side
                    side, next := sideAt(next)
                    size := mul(size, side)
                    if gt(size, LARGEST_SIDE) { fail() }
                }
            }
            // Over `count` numbers: as many bytes below 128.
            function skip(p, count) -> next {
                next := p
                // Mostly numbers of a byte each: 32 at a time, then the rest of a word.
                for {} gt(count, 31) {} {
                    if and(mload(next), HIGH_BITS) { break }
                    count := sub(count, 32)
                    next := add(next, 32)
                }
                if lt(count, 32) {
                    let rest := sub(256, shl(3, count))
                    if iszero(shr(rest, and(mload(next), HIGH_BITS))) {
                        next := add(next, count)
                        leave
                    }
                }
                for {} count {} {
                    let ends := and(not(mload(next)), HIGH_BITS)
                    let inside := 32
                    if iszero(eq(ends, HIGH_BITS)) { inside := shr(248, mul(shr(7, ends), ONES)) }
                    if lt(inside, count) {
                        count := sub(count, inside)
                        next := add(next, 32)
                        continue
                    }
                    if eq(ends, HIGH_BITS) {
                        next := add(next, count)
                        break
                    }
                    // The last number ends in this word: halve to find its last byte.
                    for { let step := 16 } step { step := shr(1, step) } {
                        let rest := sub(256, shl(3, step))
                        let before := shr(248, mul(shr(7, shl(rest, shr(rest, ends))), ONES))
                        if lt(before, count) {
                            count := sub(count, before)
                            next := add(next, step)
                            ends := shl(shl(3, step), ends)
                        }
                    }
                    next := add(next, 1)
                    break
                }
            }
            // Do two runs say: every index of the target once, weight 1?
            function isSum(p, size) -> yes {
                if eq(shr(224, mload(p)), 0x01000002) {
                    let count
                    count, p := unsigned(add(p, 4))
                    yes := and(eq(count, sub(size, 1)), eq(shr(232, mload(p)), 0x010002))
                }
            }
            function blockAt(p) -> own, next {
                own := allocate(9)
                let word := mload(p)
                // A sum over one short axis: 01 axis 00 01 side 00, and two runs as `isSum` knows them.
                if and(
                    eq(and(word, SHORT_SUM_MASK), SHORT_SUM), eq(byte(4, word), add(byte(12, word), 1))
                ) {
                    mstore(own, 1)
                    mstore(add(own, 0x20), 1)
                    mstore(add(own, 0x40), 0)
                    mstore(add(own, 0x60), byte(1, word))
                    mstore(add(own, 0xa0), byte(4, word))
                    mstore(add(own, 0xc0), 1)
                    mstore(add(own, 0xe0), add(p, 8))
                    mstore(add(own, 0x100), 2)
                    next := add(p, 16)
                    leave
                }
                let hasEntries
                let targetSize
                let sourceSize := 1
                mstore(own, 0)
                mstore(add(own, 0x20), 1)
                mstore(add(own, 0x40), 1)
                switch and(shr(192, word), 0xfff0fff0ff80ff80)
                case 0x0100010001000100 {
                    // One short axis from one short axis: the form of almost all blocks.
                    mstore(add(own, 0x60), byte(1, word))
                    mstore(add(own, 0x80), byte(3, word))
                    targetSize := byte(5, word)
                    sourceSize := byte(7, word)
                    hasEntries := byte(8, word)
                    next := add(p, 9)
                }
                default {
                    let count
                    let axes
                    // Two short axes from one with a list of entries: a window. 02 axis axis 01 axis 02 side side 01 side 01.
                    if eq(and(word, SHORT_WINDOW_MASK), SHORT_WINDOW) {
                        mstore(add(own, 0x20), 2)
                        mstore(add(own, 0x60), or(byte(1, word), shl(8, byte(2, word))))
                        mstore(add(own, 0x80), byte(4, word))
                        mstore(add(own, 0xa0), mul(byte(6, word), byte(7, word)))
                        mstore(add(own, 0xc0), byte(9, word))
                        mstore(own, 2)
                        let runs
                        runs, next := length(add(p, 11))
                        mstore(add(own, 0xe0), next)
                        mstore(add(own, 0x100), runs)
                        next := skip(next, shl(2, runs))
                        leave
                    }
                    count, axes, next := axesAt(p)
                    mstore(add(own, 0x20), count)
                    mstore(add(own, 0x60), axes)
                    let sourceCount
                    sourceCount, axes, next := axesAt(next)
                    mstore(add(own, 0x40), sourceCount)
                    mstore(add(own, 0x80), axes)
                    targetSize, next := sizeAt(next, count)
                    sourceSize, next := sizeAt(next, sourceCount)
                    hasEntries, next := below(next, 2)
                }
                mstore(add(own, 0xa0), targetSize)
                mstore(add(own, 0xc0), sourceSize)
                switch hasEntries
                case 0 { if iszero(eq(targetSize, sourceSize)) { fail() } }
                case 1 {
                    let runs
                    runs, next := length(next)
                    mstore(add(own, 0xe0), next)
                    mstore(add(own, 0x100), runs)
                    mstore(own, 2)
                    if and(eq(runs, 2), and(eq(mload(add(own, 0x20)), 1), iszero(mload(add(own, 0x40))))) {
                        mstore(own, sub(2, isSum(next, targetSize)))
                    }
                    next := skip(next, shl(2, runs))
                }
                default { fail() }
            }
            function blocks(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item
                    item, next := blockAt(next)
                    mstore(place, item)
                }
            }

            // --- Terms and products
            function terms(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(4)
                    mstore(place, item)
                    let limits := mload(0x20)
                    let value := mload(next)
                    let slot := byte(2, value)
                    switch and(shr(232, value), 0xfffe80)
                    case 0x020000 {
                        // Coefficient 1 and a slot of the witness (0) or of the model (1), a byte each.
                        let source := byte(1, value)
                        mstore(item, 1)
                        mstore(add(item, 0x20), source)
                        if iszero(lt(slot, and(shr(shl(5, source), limits), 0xffffffff))) { fail() }
                        next := add(next, 3)
                    }
                    default {
                        value, next := element(next)
                        mstore(item, value)
                        value, next := below(next, 3)
                        mstore(add(item, 0x20), value)
                        switch value
                        case 2 {}
                        default { slot, next := below(next, and(shr(shl(5, value), limits), 0xffffffff)) }
                    }
                    mstore(add(item, 0x40), slot)
                    value, next := blocks(next)
                    mstore(add(item, 0x60), value)
                }
            }
            function labelSet(p, limit) -> set, next {
                let count
                count, next := length(p)
                for {} count { count := sub(count, 1) } {
                    // Labels are fewer than 17.
                    let label := byte(0, mload(next))
                    next := add(next, 1)
                    if iszero(lt(label, limit)) { fail() }
                    set := or(set, shl(label, 1))
                }
            }
            function operand(p, limit) -> own, next {
                own := allocate(3)
                let value
                value, next := labelSet(p, limit)
                mstore(own, value)
                value, next := below(next, 2)
                mstore(add(own, 0x20), value)
                value, next := terms(next)
                mstore(add(own, 0x40), value)
            }
            function products(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(6)
                    mstore(place, item)
                    let value
                    value, next := element(next)
                    mstore(item, value)
                    value, next := sides(next)
                    mstore(add(item, 0x20), value)
                    let limit := mload(value)
                    value, next := labelSet(next, limit)
                    mstore(add(item, 0x40), value)
                    value, next := operand(next, limit)
                    mstore(add(item, 0x60), value)
                    value, next := operand(next, limit)
                    mstore(add(item, 0x80), value)
                    value, next := blocks(next)
                    mstore(add(item, 0xa0), value)
                }
            }
            function expression(p, axes) -> own, next {
                own := allocate(3)
                mstore(own, axes)
                let value
                value, next := terms(p)
                mstore(add(own, 0x20), value)
                value, next := products(next)
                mstore(add(own, 0x40), value)
            }

            // --- Sections
            function tables(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(7)
                    calldatacopy(item, calldatasize(), 0xe0)
                    mstore(place, item)
                    let kind
                    let value
                    kind, next := below(next, 3)
                    mstore(item, kind)
                    switch kind
                    case 1 {
                        value, next := signed(next)
                        mstore(add(item, 0x60), value)
                        value, next := sideAt(next)
                        mstore(add(item, 0xa0), value)
                        value, next := below(next, shr(32, mload(0x20)))
                        mstore(add(item, 0xc0), value)
                    }
                    default {
                        value, next := signed(next)
                        mstore(add(item, 0x20), value)
                        value, next := signed(next)
                        mstore(add(item, 0x40), value)
                        if iszero(kind) {
                            value, next := signed(next)
                            mstore(add(item, 0x60), value)
                            value, next := signed(next)
                            mstore(add(item, 0x80), value)
                        }
                    }
                }
            }
            function inputs(p, tableCount) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(3)
                    mstore(place, item)
                    let value
                    value, next := below(next, and(mload(0x20), 0xffffffff))
                    mstore(item, value)
                    value, next := below(next, tableCount)
                    mstore(add(item, 0x20), value)
                    value, next := unsigned(next)
                    if iszero(or(eq(value, 8), eq(value, 16))) { fail() }
                    mstore(add(item, 0x40), value)
                }
            }
            function requants(p, tableCount, witness) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(3)
                    mstore(place, item)
                    let slot
                    let value
                    slot, next := below(next, and(mload(0x20), 0xffffffff))
                    mstore(item, slot)
                    value, next := below(next, tableCount)
                    mstore(add(item, 0x20), value)
                    // The expression's axes are the slot's, and stand in the bytes again.
                    value, next := below(next, 17)
                    next := skip(next, value)
                    value, next := expression(next, mload(add(witness, shl(5, add(slot, 1)))))
                    mstore(add(item, 0x40), value)
                }
            }
            function maxima(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(2)
                    mstore(place, item)
                    let slot
                    slot, next := below(next, and(mload(0x20), 0xffffffff))
                    mstore(item, slot)
                    let taps
                    let tapCount
                    taps, tapCount, next := list(next)
                    if iszero(tapCount) { fail() }
                    mstore(add(item, 0x20), taps)
                    for {} tapCount { tapCount := sub(tapCount, 1) } {
                        taps := add(taps, 0x20)
                        let value
                        value, next := terms(next)
                        mstore(taps, value)
                    }
                }
            }
            function outputs(p) -> own, next {
                let count
                own, count, next := list(p)
                let end := add(own, shl(5, count))
                for { let place := own } lt(place, end) {} {
                    place := add(place, 0x20)
                    let item := allocate(4)
                    mstore(place, item)
                    let value
                    value, next := signed(next)
                    mstore(item, value)
                    value, next := signed(next)
                    mstore(add(item, 0x20), value)
                    let axisPlusOne
                    axisPlusOne, next := unsigned(next)
                    mstore(add(item, 0x40), axisPlusOne)
                    value, next := sides(next)
                    if gt(axisPlusOne, mload(value)) { fail() }
                    value, next := expression(next, value)
                    mstore(add(item, 0x60), value)
                }
            }

            let p := add(code, 0x20)
            let end := add(p, mload(code))
            mstore(0, end)
            let value
            value, p := unsigned(p)
            mstore(program, value)
            let witness
            witness, p := spaces(p)
            if iszero(mload(witness)) { fail() }
            mstore(add(program, 0x20), witness)
            value, p := spaces(p)
            mstore(add(program, 0x40), value)
            mstore(0x20, or(mload(witness), shl(32, mload(value))))
            value, p := tables(p)
            mstore(add(program, 0x60), value)
            let tableCount := mload(value)
            value, p := inputs(p, tableCount)
            mstore(add(program, 0x80), value)
            value, p := requants(p, tableCount, witness)
            mstore(add(program, 0xa0), value)
            value, p := maxima(p)
            mstore(add(program, 0xc0), value)
            value, p := outputs(p)
            mstore(add(program, 0xe0), value)
            ended := eq(p, end)
        }
        if (!ended) revert ProgramMalformed();
    }

    /// @notice ceil(log2 side) for 1 <= side <= 2^24.
    function bitsOf(uint256 side) internal pure returns (uint256 bits) {
        assembly ("memory-safe") {
            let x := sub(side, 1)
            bits := shl(4, lt(0xffff, x))
            bits := or(bits, shl(3, lt(0xff, shr(bits, x))))
            bits := or(bits, shl(2, lt(0xf, shr(bits, x))))
            bits := add(bits, byte(shr(bits, x), BITS_OF_NIBBLES))
        }
    }
}
