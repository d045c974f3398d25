// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Block, BLOCK_EQUAL, BLOCK_SUM} from "./Program.sol";
import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";

/// @title Weights on tensors and on views of them; prover/plan/functional.ts
/// @notice Where TypeScript pushes weights through a view and evaluates what comes out at a point u, here both are one
/// sum: over the entries (t, s, w) of a block, sum weight(t) w eq(u, s). A weight on the source alone (a constant) is
/// the same sum with 1 in place of eq. So the entries of a view are walked once.
/// @dev A weight is five words of memory:
///   point   where the coordinates of eq(point, .) lie, most significant first; 0 where the weight is a list of values
///   bits    number of coordinates
///   side    number of indices
///   sum     over all indices; 0 while it is not known
///   values  where they lie; 0 while they are not written out
/// It is about one axis. One about several, over their row-major index, is a list and three words longer:
///   axes    8 bits each from the lowest on, the first axis first
///   count   of the axes
///   space   the sides of all axes, an uint256[]
/// and its address carries the flag SEVERAL. A list of factors has a word for each axis: the address of the axis's
/// weight, or 0 for an axis of side 1; a weight about several axes stands at each of them.
///
/// Indices of entries are not compared with the lists that they are looked up in: see ProgramReader for why no program
/// for which it matters can be of interest. Addresses that are not words of memory use up the gas.
library ProgramWeights {
    /// @notice An axis that a block is about has no weight, or one of another size.
    error ViewMalformed();

    uint256 private constant SEVERAL = 1 << 128;
    uint256 private constant MAX_BLOCKS = 256;
    /// Four times the runs 01 01 02 02 and 01 00 02 02: one t with two s next to each other, as pooled windows have it.
    uint256 private constant PAIRS = 0x0101020201000202010102020100020201010202010002020101020201000202;
    /// A run 01 step step 02.
    uint256 private constant SINGLE = 0x0100000200000000000000000000000000000000000000000000000000000000;
    uint256 private constant SINGLE_MASK = 0xff8080ff00000000000000000000000000000000000000000000000000000000;
    /// The high bits of the first four bytes of a word.
    uint256 private constant SHORT_RUN = 0x8080808000000000000000000000000000000000000000000000000000000000;

    /// @notice eq(point, .) over one axis.
    function eqWeight(uint256 point, uint256 bits, uint256 side) internal pure returns (uint256 weight) {
        assembly ("memory-safe") {
            weight := mload(0x40)
            mstore(0x40, add(weight, 0xa0))
            mstore(weight, point)
            mstore(add(weight, 0x20), bits)
            mstore(add(weight, 0x40), side)
            mstore(add(weight, 0x60), 0)
            mstore(add(weight, 0x80), 0)
        }
    }

    /// @notice One eq weight for each axis of side above 1, their coordinates one after the other from `point` on.
    /// @param axes with the bits of each behind the sides, as ProgramReader leaves them
    function eqFactors(uint256[] memory axes, uint256 point) internal pure returns (uint256 factors) {
        assembly ("memory-safe") {
            let size := shl(5, mload(axes))
            factors := mload(0x40)
            let weight := add(factors, size)
            for { let i := 0 } lt(i, size) { i := add(i, 0x20) } {
                let place := add(add(axes, 0x20), i)
                let bits := mload(add(place, size))
                let own := 0
                if bits {
                    own := weight
                    weight := add(weight, 0xa0)
                    mstore(own, point)
                    mstore(add(own, 0x20), bits)
                    mstore(add(own, 0x40), mload(place))
                    mstore(add(own, 0x60), 0)
                    mstore(add(own, 0x80), 0)
                    point := add(point, shl(5, bits))
                }
                mstore(add(factors, i), own)
            }
            mstore(0x40, weight)
        }
    }

    /// @notice Sum of eq(a, i) eq(b, i) over i < side: the extension at b of a masked eq weight.
    function pair(uint256 a, uint256 b, uint256 bits, uint256 side) internal pure returns (uint256 result) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let twiceAndOne := add(shl(1, r), 1)
            let place := shl(5, bits)
            switch eq(side, shl(bits, 1))
            case 1 {
                result := 1
                // 1 - x - y + 2 x y, from a number that needs no reduction before it is multiplied
                for {} place {} {
                    place := sub(place, 0x20)
                    let x := mload(add(a, place))
                    let y := mload(add(b, place))
                    let both := mulmod(x, y, r)
                    result := mulmod(result, add(sub(twiceAndOne, add(x, y)), add(both, both)), r)
                }
            }
            default {
                // Over the last k bits: `whole` sums all indices, `result` those below the last k bits of `side`; none
                // while these are 0.
                let whole := 1
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
                result := mod(result, r)
            }
        }
    }

    /// @notice Sum of a weight over all its indices.
    function sumOf(uint256 weight) internal pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            weight := and(weight, not(SEVERAL))
            sum := mload(add(weight, 0x60))
            if iszero(sum) {
                let side := mload(add(weight, 0x40))
                let point := mload(weight)
                switch point
                case 0 {
                    let from := mload(add(weight, 0x80))
                    for { let end := add(from, shl(5, side)) } lt(from, end) { from := add(from, 0x20) } {
                        sum := addmod(sum, mload(from), r)
                    }
                }
                default {
                    let bits := mload(add(weight, 0x20))
                    sum := 1
                    if lt(side, shl(bits, 1)) {
                        sum := 0
                        // From the least significant bit: the sum over the indices below the last bits of `side`.
                        for { let from := add(point, shl(5, bits)) } gt(from, point) { side := shr(1, side) } {
                            from := sub(from, 0x20)
                            let x := mload(from)
                            let part := mulmod(x, sum, r)
                            switch and(side, 1)
                            case 1 { sum := addmod(part, sub(add(r, 1), x), r) }
                            default { sum := addmod(sum, sub(r, part), r) }
                        }
                    }
                }
                mstore(add(weight, 0x60), sum)
            }
        }
    }

    /// @notice Where the values of a weight lie, written out on first use.
    function valuesOf(uint256 weight) internal pure returns (uint256 values) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let twiceAndOne := add(shl(1, r), 1)
            weight := and(weight, not(SEVERAL))
            values := mload(add(weight, 0x80))
            if iszero(values) {
                let point := mload(weight)
                let level := mload(add(weight, 0x20))
                let last := sub(mload(add(weight, 0x40)), 1)
                values := mload(0x40)
                // Three words more: the last four may be cut.
                mstore(0x40, add(values, shl(5, add(last, 4))))
                mstore(add(weight, 0x80), values)
                mstore(values, 1)
                // Before each step the first words are the weights of all prefixes that indices up to `last` have.
                if and(level, 1) {
                    level := sub(level, 1)
                    let x := mload(point)
                    point := add(point, 0x20)
                    mstore(values, sub(add(r, 1), x))
                    mstore(add(values, 0x20), x)
                }
                // Two coordinates at a time.
                for {} level {} {
                    let x := mload(point)
                    let y := mload(add(point, 0x20))
                    point := add(point, 0x40)
                    let e3 := mulmod(x, y, r)
                    let e2 := add(x, sub(r, e3))
                    let e1 := add(y, sub(r, e3))
                    let e0 := add(sub(twiceAndOne, add(x, y)), e3)
                    let place := shl(5, shr(level, last))
                    level := sub(level, 2)
                    for {} 1 { place := sub(place, 0x20) } {
                        let v := mload(add(values, place))
                        let to := add(values, shl(2, place))
                        mstore(add(to, 0x60), mulmod(v, e3, r))
                        mstore(add(to, 0x40), mulmod(v, e2, r))
                        mstore(add(to, 0x20), mulmod(v, e1, r))
                        mstore(to, mulmod(v, e0, r))
                        if iszero(place) { break }
                    }
                }
            }
        }
    }

    /// @notice Sum of a weight over one axis times eq(u, .), over all indices of the axis.
    function pairWeights(uint256 weight, uint256 atU) internal pure returns (uint256) {
        uint256 point = ProgramMemory.load(weight);
        uint256 side = ProgramMemory.word(weight, 2);
        if (point == 0) return dot(valuesOf(weight), valuesOf(atU), side);
        return pair(point, ProgramMemory.load(atU), ProgramMemory.word(weight, 1), side);
    }

    /// @notice Inner product of two lists.
    function dot(uint256 a, uint256 b, uint256 length) internal pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            for { let end := add(a, shl(5, length)) } lt(a, end) {
                a := add(a, 0x20)
                b := add(b, 0x20)
            } { sum := addmod(sum, mulmod(mload(a), mload(b), r), r) }
        }
    }

    /// @notice a_i b_j as one list, row by row.
    function outer(uint256 a, uint256 aLength, uint256 b, uint256 bLength) internal pure returns (uint256 values) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            values := mload(0x40)
            let row := shl(5, bLength)
            let to := values
            for { let aEnd := add(a, shl(5, aLength)) } lt(a, aEnd) { a := add(a, 0x20) } {
                let v := mload(a)
                // Four at a time: what is written too much the next row, or whoever allocates next, writes again.
                for { let i := 0 } lt(i, row) { i := add(i, 0x80) } {
                    let from := add(b, i)
                    let place := add(to, i)
                    mstore(place, mulmod(v, mload(from), r))
                    mstore(add(place, 0x20), mulmod(v, mload(add(from, 0x20)), r))
                    mstore(add(place, 0x40), mulmod(v, mload(add(from, 0x40)), r))
                    mstore(add(place, 0x60), mulmod(v, mload(add(from, 0x60)), r))
                }
                to := add(to, row)
            }
            mstore(0x40, to)
        }
    }

    /// @notice sum over t, s of weight(t) m(t, s) eq(u, s) for the view of `blocks`.
    /// @param factors over the target, covering every axis that stands in a block
    /// @param sources eq(u, .) by axis of the source; anything where the source is the constant 1, which has no axes
    function evaluateView(uint256 factors, Block[] memory blocks, uint256 sources)
        internal
        pure
        returns (uint256 product)
    {
        unchecked {
            product = 1;
            uint256 seen = 0;
            uint256 count = blocks.length;
            if (count > MAX_BLOCKS) revert ViewMalformed();
            for (uint256 i = 0; i < count; ++i) {
                if ((seen >> i) & 1 == 1) continue;
                // Almost all blocks are about one axis: 1 for a sum, 2 for another name of the axis, else 0.
                uint256 form = 0;
                uint256 weight;
                uint256 atU;
                // Assembly: an index that counts up to the length needs no check.
                assembly ("memory-safe") {
                    let own := mload(add(add(blocks, 0x20), shl(5, i)))
                    if eq(mload(add(own, 0x20)), 1) {
                        weight := mload(add(factors, shl(5, mload(add(own, 0x60)))))
                        switch mload(own)
                        case 0 {
                            if eq(mload(add(own, 0x40)), 1) {
                                atU := mload(add(sources, shl(5, mload(add(own, 0x80)))))
                                form := shl(1, and(lt(sub(weight, 1), sub(SEVERAL, 1)), gt(atU, 0)))
                            }
                        }
                        case 1 { form := lt(sub(weight, 1), sub(SEVERAL, 1)) }
                    }
                }
                uint256 value;
                if (form == 2) {
                    value = pairWeights(weight, atU);
                } else if (form == 1) {
                    value = sumOf(weight);
                } else if (_standsAlone(factors, blocks[i])) {
                    value = _evaluateBlock(factors, blocks[i], sources);
                } else {
                    (value, seen) = _evaluateGroup(factors, blocks, i, seen, sources);
                }
                product = mulmod(product, value, ProgramMemory.modulus());
            }
        }
    }

    /// @dev Whether no weight on the block's target reaches beyond it.
    function _standsAlone(uint256 factors, Block memory own) private pure returns (bool) {
        unchecked {
            uint256 axes = own.targetAxes;
            for (uint256 left = own.targetCount; left > 0; --left) {
                uint256 weight = _factor(factors, axes & 0xff);
                if (weight >= SEVERAL) {
                    weight ^= SEVERAL;
                    return ProgramMemory.word(weight, 5) == own.targetAxes
                        && ProgramMemory.word(weight, 6) == own.targetCount;
                }
                axes >>= 8;
            }
            return true;
        }
    }

    /// @dev One block whose weights are its own.
    function _evaluateBlock(uint256 factors, Block memory own, uint256 sources) private pure returns (uint256) {
        unchecked {
            uint256 atU = combined(sources, own.sourceAxes, own.sourceCount, own.sourceSize);
            if (own.kind != BLOCK_EQUAL && own.targetCount == 2) {
                // A window. Its two lists of weights are not multiplied out.
                uint256 first = _factor(factors, own.targetAxes & 0xff);
                uint256 second = _factor(factors, own.targetAxes >> 8);
                if (first < SEVERAL && second < SEVERAL) {
                    uint256 side = ProgramMemory.word(second, 2);
                    if (ProgramMemory.word(first, 2) * side != own.targetSize) revert ViewMalformed();
                    return _sumRuns(valuesOf(first), valuesOf(second), side, atU, own.runs, own.runCount);
                }
            }
            uint256 weights = combined(factors, own.targetAxes, own.targetCount, own.targetSize);
            if (own.kind == BLOCK_EQUAL) return dot(weights, atU, own.targetSize);
            uint256 one = ProgramMemory.allocate(1);
            ProgramMemory.store(one, 1);
            return _sumRuns(one, weights, own.targetSize, atU, own.runs, own.runCount);
        }
    }

    /// @dev The weight of an axis, flag included; every axis of a block has one.
    function _factor(uint256 factors, uint256 axis) private pure returns (uint256 weight) {
        weight = ProgramMemory.word(factors, axis);
        if (weight == 0) revert ViewMalformed();
    }

    /// @notice The product of the weights of some axes as one list over their row-major index.
    /// @param size that the list must have
    function combined(uint256 factors, uint256 axes, uint256 count, uint256 size)
        internal
        pure
        returns (uint256 values)
    {
        unchecked {
            uint256 length = 1;
            if (count == 0) {
                values = ProgramMemory.allocate(1);
                ProgramMemory.store(values, 1);
            }
            for (uint256 i = 0; i < count; ++i) {
                uint256 weight = _factor(factors, axes & 0xff);
                axes >>= 8;
                uint256 own = valuesOf(weight);
                uint256 side = ProgramMemory.word(weight & ~SEVERAL, 2);
                values = i == 0 ? own : outer(values, length, own, side);
                length *= side;
                // A weight about all of these axes (`_standsAlone`).
                if (weight >= SEVERAL) break;
            }
            if (length != size) revert ViewMalformed();
        }
    }

    /// @dev Walks the entries of a block: runs (count, step of t, step of s, weight), mostly of a byte each. The weight of
    /// t is rows[t / side] row[t % side]: what is summed in a row is multiplied once.
    function _sumRuns(uint256 rows, uint256 row, uint256 side, uint256 s, uint256 ptr, uint256 runs)
        private
        pure
        returns (uint256 total)
    {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            function leb(from) -> value, next {
                for { let shift := 0 } 1 { shift := add(shift, 7) } {
                    let part := byte(0, mload(from))
                    from := add(from, 1)
                    value := or(value, shl(shift, and(part, 0x7f)))
                    if lt(part, 0x80) { break }
                }
                next := from
            }
            // From zigzag.
            function elementOf(code) -> value {
                value := sub(shr(1, code), mul(code, and(code, 1)))
                if slt(value, 0) { value := add(mload(MODULUS_AT), value) }
            }
            // Scratch: the bytes of a row, and where it ends.
            mstore(0, shl(5, side))
            mstore(0x20, add(row, shl(5, side)))
            let t := row
            let inRow := 0
            for {} runs { runs := sub(runs, 1) } {
                let word := mload(ptr)
                // Up to five products are added without reduction (Fr.sol).
                for {} and(and(eq(word, PAIRS), gt(runs, 7)), lt(add(t, 0x80), mload(0x20))) {} {
                    let sum := mulmod(mload(add(t, 0x20)), add(mload(add(s, 0x20)), mload(add(s, 0x40))), r)
                    sum := add(sum, mulmod(mload(add(t, 0x40)), add(mload(add(s, 0x60)), mload(add(s, 0x80))), r))
                    t := add(t, 0x80)
                    sum := add(sum, mulmod(mload(sub(t, 0x20)), add(mload(add(s, 0xa0)), mload(add(s, 0xc0))), r))
                    s := add(s, 0x100)
                    inRow := addmod(inRow, add(sum, mulmod(mload(t), add(mload(sub(s, 0x20)), mload(s)), r)), r)
                    ptr := add(ptr, 0x20)
                    runs := sub(runs, 8)
                    word := mload(ptr)
                }
                for {} and(and(eq(shr(192, word), shr(192, PAIRS)), gt(runs, 1)), lt(add(t, 0x20), mload(0x20))) {} {
                    t := add(t, 0x20)
                    let sum := mload(add(s, 0x20))
                    s := add(s, 0x40)
                    inRow := addmod(inRow, mulmod(mload(t), add(sum, mload(s)), r), r)
                    ptr := add(ptr, 8)
                    runs := sub(runs, 2)
                    word := mload(ptr)
                }
                if iszero(runs) { break }
                if eq(and(word, SINGLE_MASK), SINGLE) {
                    // One entry of weight 1, as rows begin with.
                    t := add(t, and(shr(235, word), 0xfe0))
                    for {} iszero(lt(t, mload(0x20))) {} {
                        total := addmod(total, mulmod(mload(rows), inRow, r), r)
                        inRow := 0
                        t := sub(t, mload(0))
                        rows := add(rows, 0x20)
                    }
                    let code := byte(2, word)
                    switch and(code, 1)
                    case 0 { s := add(s, shl(4, code)) }
                    default { s := sub(s, shl(4, add(code, 1))) }
                    inRow := addmod(inRow, mulmod(mload(t), mload(s), r), r)
                    ptr := add(ptr, 4)
                    continue
                }
                let left
                let stepT
                let stepS
                let weight
                switch and(word, SHORT_RUN)
                case 0 {
                    ptr := add(ptr, 4)
                    left := byte(0, word)
                    stepT := shl(5, byte(1, word))
                    stepS := byte(2, word)
                    weight := byte(3, word)
                }
                default {
                    left, ptr := leb(ptr)
                    stepT, ptr := leb(ptr)
                    stepT := shl(5, stepT)
                    stepS, ptr := leb(ptr)
                    weight, ptr := leb(ptr)
                }
                switch and(stepS, 1)
                case 0 { stepS := shl(4, stepS) }
                default { stepS := sub(0, shl(5, shr(1, add(stepS, 1)))) }
                // A run has one entry at least.
                let sum := 0
                for {} left { left := sub(left, 1) } {
                    t := add(t, stepT)
                    s := add(s, stepS)
                    if iszero(lt(t, mload(0x20))) {
                        if sum {
                            inRow := addmod(inRow, mulmod(sum, elementOf(weight), r), r)
                            sum := 0
                        }
                        for {} iszero(lt(t, mload(0x20))) {} {
                            total := addmod(total, mulmod(mload(rows), inRow, r), r)
                            inRow := 0
                            t := sub(t, mload(0))
                            rows := add(rows, 0x20)
                        }
                    }
                    sum := addmod(sum, mulmod(mload(t), mload(s), r), r)
                    if and(gt(left, 4), eq(stepT, 0x20)) {
                        // Next to each other: as many as are left in the row, four at a time.
                        if eq(stepT, stepS) {
                            let more := shr(5, sub(sub(mload(0x20), 0x20), t))
                            if gt(more, sub(left, 1)) { more := sub(left, 1) }
                            left := sub(left, and(more, not(3)))
                            for { let last := add(t, shl(5, and(more, not(3)))) } lt(t, last) {} {
                                sum := add(sum, mulmod(mload(add(t, 0x20)), mload(add(s, 0x20)), r))
                                sum := add(sum, mulmod(mload(add(t, 0x40)), mload(add(s, 0x40)), r))
                                sum := add(sum, mulmod(mload(add(t, 0x60)), mload(add(s, 0x60)), r))
                                t := add(t, 0x80)
                                s := add(s, 0x80)
                                sum := addmod(sum, mulmod(mload(t), mload(s), r), r)
                            }
                        }
                    }
                }
                if iszero(eq(weight, 2)) { sum := mulmod(sum, elementOf(weight), r) }
                inRow := addmod(inRow, sum, r)
            }
            total := addmod(total, mulmod(mload(rows), inRow, r), r)
        }
    }

    /// @notice The weights of an expression as weights over the labels of one of its products.
    /// @param factors over the expression, one axis each
    /// @param labels sides of the labels
    /// @return coefficient the sums over blocks without source
    /// @return pushed by label
    function pushToLabels(uint256 factors, Block[] memory blocks, uint256[] memory labels)
        internal
        pure
        returns (uint256 coefficient, uint256 pushed)
    {
        unchecked {
            coefficient = 1;
            pushed = ProgramMemory.allocateZeros(labels.length);
            uint256 count = blocks.length;
            for (uint256 i = 0; i < count; ++i) {
                Block memory own = blocks[i];
                if (own.sourceCount == 0) {
                    coefficient = mulmod(coefficient, _evaluateBlock(factors, own, 0), ProgramMemory.modulus());
                    continue;
                }
                uint256 weight = _pushBlock(factors, own, labels);
                uint256 axes = own.sourceAxes;
                for (uint256 left = own.sourceCount; left > 0; --left) {
                    if (axes & 0xff >= labels.length) revert ViewMalformed();
                    ProgramMemory.store(pushed + 32 * (axes & 0xff), weight);
                    axes >>= 8;
                }
            }
        }
    }

    function _pushBlock(uint256 factors, Block memory own, uint256[] memory labels) private pure returns (uint256) {
        unchecked {
            uint256 values;
            if (own.kind == BLOCK_EQUAL) {
                // Another name for the same axis.
                if (own.targetCount == 1 && own.sourceCount == 1) return _factor(factors, own.targetAxes);
                values = combined(factors, own.targetAxes, own.targetCount, own.targetSize);
            } else {
                uint256 from = combined(factors, own.targetAxes, own.targetCount, own.targetSize);
                (uint256 entries, uint256 count) = _entriesOf(own);
                values = ProgramMemory.allocateZeros(own.sourceSize);
                assembly ("memory-safe") {
                    let r := mload(MODULUS_AT)
                    for { let end := add(entries, mul(0x60, count)) } lt(entries, end) { entries := add(entries, 0x60) } {
                        let to := add(values, shl(5, mload(add(entries, 0x20))))
                        let v := mload(add(from, shl(5, mload(entries))))
                        mstore(to, addmod(mload(to), mulmod(v, mload(add(entries, 0x40)), r), r))
                    }
                }
            }
            uint256 weight = eqWeight(0, 0, own.sourceSize);
            ProgramMemory.store(weight + 0x80, values);
            if (own.sourceCount == 1) return weight;
            // It goes on behind the weight, which was allocated last.
            uint256 more = ProgramMemory.allocate(3);
            ProgramMemory.store(more, own.sourceAxes);
            ProgramMemory.store(more + 0x20, own.sourceCount);
            uint256 space;
            assembly ("memory-safe") {
                space := labels
            }
            ProgramMemory.store(more + 0x40, space);
            return weight | SEVERAL;
        }
    }

    /// @dev The entries of a block written out: three words each, t, s and the weight. Within the block's sizes: they are
    /// written to lists of these.
    function _entriesOf(Block memory own) private pure returns (uint256 entries, uint256 count) {
        uint256 kind = own.kind;
        uint256 targets = own.targetSize;
        uint256 sources = own.sourceSize;
        uint256 ptr = own.runs;
        uint256 runs = own.runCount;
        bool outside = false;
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            function leb(from) -> value, next {
                for { let shift := 0 } 1 { shift := add(shift, 7) } {
                    let part := byte(0, mload(from))
                    from := add(from, 1)
                    value := or(value, shl(shift, and(part, 0x7f)))
                    if lt(part, 0x80) { break }
                }
                next := from
            }
            entries := mload(0x40)
            let to := entries
            switch kind
            case 0 {
                for { let i := 0 } lt(i, targets) { i := add(i, 1) } {
                    mstore(to, i)
                    mstore(add(to, 0x20), i)
                    mstore(add(to, 0x40), 1)
                    to := add(to, 0x60)
                }
            }
            default {
                let t := 0
                let s := 0
                for {} runs { runs := sub(runs, 1) } {
                    let inRun
                    let stepT
                    let stepS
                    let weight
                    inRun, ptr := leb(ptr)
                    stepT, ptr := leb(ptr)
                    stepS, ptr := leb(ptr)
                    weight, ptr := leb(ptr)
                    stepS := sub(shr(1, stepS), mul(stepS, and(stepS, 1)))
                    weight := sub(shr(1, weight), mul(weight, and(weight, 1)))
                    if slt(weight, 0) { weight := add(r, weight) }
                    for {} inRun { inRun := sub(inRun, 1) } {
                        t := add(t, stepT)
                        s := add(s, stepS)
                        // As a word without sign, a negative s is above every size too.
                        outside := or(outside, iszero(and(lt(t, targets), lt(s, sources))))
                        mstore(to, t)
                        mstore(add(to, 0x20), s)
                        mstore(add(to, 0x40), weight)
                        to := add(to, 0x60)
                    }
                }
            }
            mstore(0x40, to)
            count := div(sub(to, entries), 0x60)
        }
        if (outside) revert ViewMalformed();
    }

    // --- Blocks tied together by weights about several axes: rare, small, and not made for speed.

    struct Group {
        /// Axes of the targets, and of the sources, in the order of the blocks; bytes from the lowest.
        uint256 targetAxes;
        uint256 targetCount;
        uint256 targetSize;
        uint256 sourceAxes;
        uint256 sourceCount;
        uint256 sourceSize;
        /// All combinations of entries of the blocks: three words each, t, s and the weight.
        uint256 entries;
        uint256 entryCount;
    }

    function _evaluateGroup(uint256 factors, Block[] memory blocks, uint256 start, uint256 seen, uint256 sources)
        private
        pure
        returns (uint256, uint256)
    {
        unchecked {
            uint256 unit = ProgramMemory.allocateZeros(3);
            ProgramMemory.store(unit + 0x40, 1);
            Group memory group = Group(0, 0, 1, 0, 0, 1, unit, 1);
            uint256 reached = _reachOf(factors, blocks[start]);
            seen = _join(group, blocks[start], start, seen);
            for (bool grown = true; grown;) {
                grown = false;
                for (uint256 i = 0; i < blocks.length; ++i) {
                    Block memory own = blocks[i];
                    if ((seen >> i) & 1 == 1 || _setOf(own.targetAxes, own.targetCount) & reached == 0) continue;
                    seen = _join(group, own, i, seen);
                    reached |= _reachOf(factors, own);
                    grown = true;
                }
            }
            uint256 weights = _weightsOf(factors, group);
            uint256 atU = combined(sources, group.sourceAxes, group.sourceCount, group.sourceSize);
            return (_sumEntries(group.entries, group.entryCount, weights, atU), seen);
        }
    }

    function _sumEntries(uint256 entries, uint256 count, uint256 weights, uint256 atU)
        private
        pure
        returns (uint256 sum)
    {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            for { let end := add(entries, mul(0x60, count)) } lt(entries, end) { entries := add(entries, 0x60) } {
                let product :=
                    mulmod(mload(add(weights, shl(5, mload(entries)))), mload(add(atU, shl(5, mload(add(entries, 0x20))))), r)
                sum := addmod(sum, mulmod(product, mload(add(entries, 0x40)), r), r)
            }
        }
    }

    /// @dev Takes a block into the group: every entry so far with every entry of the block.
    function _join(Group memory group, Block memory own, uint256 index, uint256 seen) private pure returns (uint256) {
        unchecked {
            // Axes are bytes of a word.
            if (group.targetCount + own.targetCount > 32 || group.sourceCount + own.sourceCount > 32) {
                revert ViewMalformed();
            }
            uint256 targets = own.targetSize;
            uint256 sources = own.sourceSize;
            group.targetAxes |= own.targetAxes << (8 * group.targetCount);
            group.targetCount += own.targetCount;
            group.targetSize *= targets;
            group.sourceAxes |= own.sourceAxes << (8 * group.sourceCount);
            group.sourceCount += own.sourceCount;
            group.sourceSize *= sources;
            (uint256 entries, uint256 count) = _entriesOf(own);
            uint256 before = group.entries;
            uint256 beforeCount = group.entryCount;
            uint256 joined;
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                joined := mload(0x40)
                let to := joined
                let end := add(entries, mul(0x60, count))
                for { let last := add(before, mul(0x60, beforeCount)) } lt(before, last) { before := add(before, 0x60) } {
                    let t := mul(mload(before), targets)
                    let s := mul(mload(add(before, 0x20)), sources)
                    let weight := mload(add(before, 0x40))
                    for { let from := entries } lt(from, end) { from := add(from, 0x60) } {
                        mstore(to, add(t, mload(from)))
                        mstore(add(to, 0x20), add(s, mload(add(from, 0x20))))
                        mstore(add(to, 0x40), mulmod(weight, mload(add(from, 0x40)), r))
                        to := add(to, 0x60)
                    }
                }
                mstore(0x40, to)
            }
            group.entries = joined;
            group.entryCount = beforeCount * count;
            return seen | (1 << index);
        }
    }

    function _setOf(uint256 axes, uint256 count) private pure returns (uint256 set) {
        unchecked {
            for (; count > 0; --count) {
                set |= 1 << (axes & 0xff);
                axes >>= 8;
            }
        }
    }

    /// @dev All axes that the weights on a block's target are about.
    function _reachOf(uint256 factors, Block memory own) private pure returns (uint256 reached) {
        unchecked {
            reached = _setOf(own.targetAxes, own.targetCount);
            uint256 axes = own.targetAxes;
            for (uint256 left = own.targetCount; left > 0; --left) {
                uint256 weight = _factor(factors, axes & 0xff);
                axes >>= 8;
                if (weight < SEVERAL) continue;
                weight ^= SEVERAL;
                reached |= _setOf(ProgramMemory.word(weight, 5), ProgramMemory.word(weight, 6));
            }
        }
    }

    /// @dev The product of all weights on the group's targets, as one list over their row-major index.
    function _weightsOf(uint256 factors, Group memory group) private pure returns (uint256 values) {
        unchecked {
            uint256 size = group.targetSize;
            values = ProgramMemory.allocate(size);
            uint256 digits = ProgramMemory.allocateZeros(256);
            for (uint256 index = 0; index < size; ++index) {
                uint256 rest = index;
                for (uint256 place = group.targetCount; place > 0;) {
                    --place;
                    uint256 axis = (group.targetAxes >> (8 * place)) & 0xff;
                    uint256 side = _sideOf(_factor(factors, axis), axis);
                    if (side == 0) revert ViewMalformed();
                    ProgramMemory.store(digits + 32 * axis, rest % side);
                    rest /= side;
                }
                uint256 product = 1;
                uint256 axes = group.targetAxes;
                for (uint256 left = group.targetCount; left > 0; --left) {
                    product = mulmod(product, _valueAt(_factor(factors, axes & 0xff), axes & 0xff, digits), ProgramMemory.modulus());
                    axes >>= 8;
                }
                ProgramMemory.store(values + 32 * index, product);
            }
        }
    }

    /// @dev The value of a weight at the digits of its axes; 1 but at the first of its axes.
    function _valueAt(uint256 weight, uint256 axis, uint256 digits) private pure returns (uint256) {
        unchecked {
            uint256 values = valuesOf(weight);
            if (weight < SEVERAL) return ProgramMemory.word(values, ProgramMemory.word(digits, axis));
            weight ^= SEVERAL;
            uint256 axes = ProgramMemory.word(weight, 5);
            if (axes & 0xff != axis) return 1;
            uint256 index = 0;
            for (uint256 left = ProgramMemory.word(weight, 6); left > 0; --left) {
                uint256 own = axes & 0xff;
                index = index * _sideOf(weight | SEVERAL, own) + ProgramMemory.word(digits, own);
                axes >>= 8;
            }
            return ProgramMemory.word(values, index);
        }
    }

    function _sideOf(uint256 weight, uint256 axis) private pure returns (uint256) {
        if (weight < SEVERAL) return ProgramMemory.word(weight, 2);
        return ProgramMemory.item(ProgramMemory.word(weight ^ SEVERAL, 7), axis);
    }
}
