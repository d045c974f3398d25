// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {FR_MODULUS} from "./Fr.sol";
import {Block, BLOCK_EQUAL, BLOCK_SUM} from "./Program.sol";
import {OP_LEAD, OP_SELECT, ONE_AT} from "./Tape.sol";
import {Factors, Tape, TapeWriter} from "./TapeWriter.sol";

/// A weight over one axis, or over the row-major index of several.
struct Weight {
    /// Coordinates of eq(point, .), most significant first; 0 where the weight is a list.
    uint256 point;
    uint256 bits;
    /// Number of indices; 0: no weight, the axis has one index.
    uint256 side;
    /// Registers of the values of a list.
    uint256 list;
    /// Of a weight about several axes: these, 8 bits each, the first in the lowest; their number; the sides of all axes.
    uint256 axes;
    uint256 count;
    uint256[] space;
}

/// A slot, or the part of it in one column, seen from a point of the column.
struct View {
    /// Number of the column within its family.
    uint256 column;
    /// Register of eq of the point's coordinates above the slot with the slot's place.
    uint256 selector;
    /// eq(point, .) over the items, and by axis.
    Weight batch;
    Weight[] factors;
}

/// A point of columns, with the registers of the products of eq over its leading coordinates for the place asked for last.
struct ColumnPoint {
    uint256 coordinates;
    uint256 bits;
    uint256[65] products;
    uint256 offset;
    uint256 depth;
}

/// @title Weights on tensors and on views of them, as records; prover/plan/functional.ts
/// @notice Where TypeScript pushes weights through a view and evaluates what comes out at a point u, here both are one
/// sum: over the entries (t, s, w) of a block, sum weight(t) w eq(u, s). A weight on the source alone (a constant) is the
/// same sum with 1 in place of eq. Where the entries say no more than eq does, a formula over bits takes their place:
///
///   pairs of entries (t, 2 m), (t, 2 m + 1) of one weight    (t, m) under eq of all coordinates but the last
///   s = a, a + 1, ... from 0 on, no target                   sum over a side
///   s = 2^k t + a, a < 2^k                                   pair of t with the leading coordinates, selector of a
library TapeViews {
    using TapeWriter for Tape;
    using TapeWriter for Factors;

    /// @notice An axis that a block is about has no weight, or one of another size.
    error ViewMalformed();

    uint256 private constant MAX_BLOCKS = 256;

    // --- Points

    function columnPoint(uint256 coordinates, uint256 bits, uint256 factor)
        internal
        pure
        returns (ColumnPoint memory here)
    {
        unchecked {
            here.coordinates = coordinates;
            here.bits = bits;
            here.products[0] = factor;
        }
    }

    /// @notice eq of the first `depth` coordinates with the leading bits of `offset`, the column's own number apart.
    /// @dev Slots lie in a tree of prefixes; from one to the next only what differs is multiplied again.
    function selector(Tape memory tape, ColumnPoint memory here, uint256 offset, uint256 depth)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            uint256 bits = here.bits;
            uint256 known = here.depth < depth ? here.depth : depth;
            offset &= (1 << bits) - 1;
            uint256 differs = offset ^ here.offset;
            while (differs >> (bits - known) != 0) {
                --known;
            }
            if (known < depth) {
                uint256 count = depth - known;
                uint256 pattern = (offset >> (bits - depth)) & ((1 << count) - 1);
                uint256 operands = here.products[known] | (here.coordinates + 32 * known) << 24 | count << 48 | pattern << 56;
                uint256 first = tape.once(OP_SELECT, operands, count);
                for (uint256 i = 0; i < count; ++i) {
                    here.products[known + 1 + i] = first + 32 * i;
                }
            }
            here.offset = offset;
            here.depth = depth;
            return here.products[depth];
        }
    }

    // --- Views of slots

    /// @notice One view for each column of a slot.
    /// @param axes with the bits of each behind the sides (ProgramReader.sol)
    /// @param bits of the slot, those of the items included
    function viewsOf(
        Tape memory tape,
        ColumnPoint memory here,
        uint256[] memory axes,
        uint256 offset,
        uint256 bits,
        uint256 batchBits,
        uint256 items
    ) internal pure returns (View[] memory views) {
        unchecked {
            uint256 first = offset >> here.bits;
            if (bits <= here.bits) {
                uint256 depth = here.bits - bits;
                views = new View[](1);
                views[0] = viewAt(tape, axes, here.coordinates + 32 * depth, batchBits, items, 0, 0);
                views[0].selector = selector(tape, here, offset, depth);
                views[0].column = first;
                return views;
            }
            // Inside a slot of several columns the leading coordinates are the column's number.
            uint256 above = bits - here.bits;
            uint256 factor = selector(tape, here, 0, 0);
            views = new View[](1 << above);
            for (uint256 k = 0; k < views.length; ++k) {
                views[k] = viewAt(tape, axes, here.coordinates, batchBits, items, above, k);
                views[k].selector = factor;
                views[k].column = first + k;
            }
        }
    }

    /// @notice eq over items and axes, the coordinates inside the slot being `lead` bits of `number` and then the point.
    function viewAt(
        Tape memory tape,
        uint256[] memory axes,
        uint256 point,
        uint256 batchBits,
        uint256 items,
        uint256 lead,
        uint256 number
    ) internal pure returns (View memory own) {
        unchecked {
            own.factors = new Weight[](axes.length);
            uint256 place = batchBits;
            if (batchBits > 0) own.batch = eqWeight(_coordinates(tape, point, 0, batchBits, lead, number), batchBits, items);
            for (uint256 axis = 0; axis < axes.length; ++axis) {
                uint256 bits = bitsAt(axes, axis);
                if (bits == 0) continue;
                own.factors[axis] = eqWeight(_coordinates(tape, point, place, bits, lead, number), bits, axes[axis]);
                place += bits;
            }
        }
    }

    /// @dev Coordinates at .. at + bits - 1.
    function _coordinates(Tape memory tape, uint256 point, uint256 place, uint256 bits, uint256 lead, uint256 number)
        private
        pure
        returns (uint256)
    {
        unchecked {
            if (place >= lead) return point + 32 * (place - lead);
            uint256 count = lead - place;
            uint256 pattern = number & ((1 << count) - 1);
            if (count > bits) {
                pattern >>= count - bits;
                count = bits;
            }
            return tape.once(OP_LEAD, pattern | count << 24 | point << 32 | bits << 56, bits);
        }
    }

    /// @notice Bits of an axis.
    function bitsAt(uint256[] memory axes, uint256 axis) internal pure returns (uint256 bits) {
        // Assembly: the tail of a list of sides; the caller counts up to its length.
        assembly ("memory-safe") {
            bits := mload(add(axes, shl(5, add(add(mload(axes), axis), 1))))
        }
    }

    /// @notice Index bits of a tensor: those of its axes.
    function bitsOf(uint256[] memory axes) internal pure returns (uint256 bits) {
        assembly ("memory-safe") {
            bits := mload(add(axes, add(shl(6, mload(axes)), 0x20)))
        }
    }

    /// @notice Register of the mask of the valid cells at the point: selector times eq summed over items and indices.
    function validOf(Tape memory tape, View memory own) internal pure returns (uint256) {
        unchecked {
            Factors memory factors;
            factors.push(own.selector);
            factors.push(sumOf(tape, own.batch));
            for (uint256 axis = 0; axis < own.factors.length; ++axis) {
                factors.push(sumOf(tape, own.factors[axis]));
            }
            return tape.product(factors);
        }
    }

    /// @notice The weights of a view as one list, item-major, row-major inside an item.
    function writtenOut(Tape memory tape, View memory own) internal pure returns (uint256 list, uint256 length) {
        unchecked {
            length = 1;
            list = ONE_AT;
            for (uint256 i = 0; i <= own.factors.length; ++i) {
                Weight memory weight = i == 0 ? own.batch : own.factors[i - 1];
                if (weight.side == 0) continue;
                uint256 values = valuesOf(tape, weight);
                list = length == 1 ? values : tape.outer(list, length, values, weight.side);
                length *= weight.side;
            }
        }
    }

    // --- Weights

    /// @notice eq(point, .) over one axis.
    function eqWeight(uint256 point, uint256 bits, uint256 side) internal pure returns (Weight memory weight) {
        weight.point = point;
        weight.bits = bits;
        weight.side = side;
    }

    /// @notice Sum over all indices; 1 where there is no weight.
    function sumOf(Tape memory tape, Weight memory weight) internal pure returns (uint256) {
        if (weight.side == 0) return ONE_AT;
        if (weight.point == 0) return tape.total(weight.list, weight.side);
        return tape.sum(weight.point, weight.bits, weight.side);
    }

    /// @notice The values as a list.
    function valuesOf(Tape memory tape, Weight memory weight) internal pure returns (uint256) {
        return weight.point == 0 ? weight.list : tape.expand(weight.point, weight.bits, weight.side);
    }

    /// @notice Sum of a weight over one axis times eq(u, .), over all indices of the axis; 1 where there is none.
    function pairWeights(Tape memory tape, Weight memory weight, Weight memory atU) internal pure returns (uint256) {
        if (weight.side == 0) return ONE_AT;
        if (weight.side != atU.side) revert ViewMalformed();
        if (weight.point == 0) return tape.dot(weight.list, valuesOf(tape, atU), weight.side);
        return tape.pair(weight.point, atU.point, weight.bits, weight.side);
    }

    /// @dev Of an axis of a block: every one has a weight.
    function _weightAt(Weight[] memory factors, uint256 axis) private pure returns (Weight memory weight) {
        unchecked {
            if (axis >= factors.length) revert ViewMalformed();
            weight = factors[axis];
            if (weight.side == 0) revert ViewMalformed();
        }
    }

    /// @notice The product of the weights of some axes as one list over their row-major index.
    /// @param size that the list must have
    function combined(Tape memory tape, Weight[] memory factors, uint256 axes, uint256 count, uint256 size)
        internal
        pure
        returns (uint256 list)
    {
        unchecked {
            uint256 length = 1;
            list = ONE_AT;
            for (uint256 i = 0; i < count; ++i) {
                Weight memory weight = _weightAt(factors, (axes >> (8 * i)) & 0xff);
                uint256 values = valuesOf(tape, weight);
                list = i == 0 ? values : tape.outer(list, length, values, weight.side);
                length *= weight.side;
                // A weight about all of these axes (`_standsAlone`).
                if (weight.count > 1) break;
            }
            if (length != size) revert ViewMalformed();
        }
    }

    // --- Blocks

    /// @notice Multiplies with sum over t, s of weight(t) m(t, s) eq(u, s) for the view of `blocks`.
    /// @param weights over the target, covering every axis that stands in a block
    /// @param sources eq(u, .) by axis of the source; none where the source is the constant 1
    function evaluateView(
        Tape memory tape,
        Factors memory product,
        Weight[] memory weights,
        Block[] memory blocks,
        Weight[] memory sources
    ) internal pure {
        unchecked {
            uint256 seen = 0;
            if (blocks.length > MAX_BLOCKS) revert ViewMalformed();
            for (uint256 i = 0; i < blocks.length; ++i) {
                if ((seen >> i) & 1 == 1) continue;
                if (_standsAlone(weights, blocks[i])) {
                    product.push(_evaluateBlock(tape, weights, blocks[i], sources));
                } else {
                    uint256 value;
                    (value, seen) = _evaluateGroup(tape, weights, blocks, i, seen, sources);
                    product.push(value);
                }
            }
        }
    }

    /// @dev Whether no weight on the block's target reaches beyond it.
    function _standsAlone(Weight[] memory weights, Block memory own) private pure returns (bool) {
        unchecked {
            for (uint256 i = 0; i < own.targetCount; ++i) {
                Weight memory weight = _weightAt(weights, (own.targetAxes >> (8 * i)) & 0xff);
                if (weight.count > 1) return weight.axes == own.targetAxes && weight.count == own.targetCount;
            }
            return true;
        }
    }

    /// Entries of a block: three words each, t, s and the weight, sorted by t; and what they point into.
    struct Entries {
        uint256 first;
        uint256 count;
        /// Source: eq(point, .) over `side` indices, or a list of values where `point` is 0.
        uint256 point;
        uint256 bits;
        uint256 side;
        uint256 list;
    }

    /// @dev One block whose weights are its own.
    function _evaluateBlock(Tape memory tape, Weight[] memory weights, Block memory own, Weight[] memory sources)
        private
        pure
        returns (uint256)
    {
        unchecked {
            if (own.kind == BLOCK_SUM) return sumOf(tape, _weightAt(weights, own.targetAxes));
            if (own.kind == BLOCK_EQUAL) {
                if (own.targetCount == 1 && own.sourceCount == 1) {
                    return pairWeights(tape, _weightAt(weights, own.targetAxes), _weightAt(sources, own.sourceAxes));
                }
                return tape.dot(
                    combined(tape, weights, own.targetAxes, own.targetCount, own.targetSize),
                    combined(tape, sources, own.sourceAxes, own.sourceCount, own.sourceSize),
                    own.targetSize
                );
            }
            Entries memory entries;
            (entries.first, entries.count) = _entriesOf(own);
            if (own.sourceCount == 1) {
                Weight memory source = _weightAt(sources, own.sourceAxes);
                (entries.point, entries.bits, entries.side) = (source.point, source.bits, source.side);
                if (source.side != own.sourceSize) revert ViewMalformed();
                while (entries.bits > 0 && _halve(entries)) {}
                if (own.targetCount == 0 && _isStride(entries, entries.side, 0, 0)) {
                    return tape.sum(entries.point, entries.bits, entries.count);
                }
                if (own.targetCount == 1) {
                    (bool isFormula, uint256 value) = _strided(tape, _weightAt(weights, own.targetAxes), entries);
                    if (isFormula) return value;
                }
                entries.list = tape.expand(entries.point, entries.bits, entries.side);
            } else {
                entries.list = combined(tape, sources, own.sourceAxes, own.sourceCount, own.sourceSize);
            }
            if (own.targetCount == 2) {
                // A window. Its two lists of weights are not multiplied out.
                Weight memory outside = _weightAt(weights, own.targetAxes & 0xff);
                Weight memory inside = _weightAt(weights, own.targetAxes >> 8);
                if (outside.count < 2 && inside.count < 2) {
                    if (outside.side * inside.side != own.targetSize) revert ViewMalformed();
                    return _sumRuns(tape, entries, valuesOf(tape, outside), valuesOf(tape, inside), inside.side);
                }
            }
            uint256 list = combined(tape, weights, own.targetAxes, own.targetCount, own.targetSize);
            return _sumRuns(tape, entries, ONE_AT, list, own.targetSize);
        }
    }

    /// @dev Puts (t, m) for every two entries (t, 2 m), (t, 2 m + 1) of one weight.
    /// @return done false where the entries are not such pairs
    function _halve(Entries memory own) private pure returns (bool done) {
        unchecked {
            uint256 count = own.count;
            uint256 first = own.first;
            // Assembly: entries are words without a length; an odd one left over is compared with what lies behind, and
            // refused for being odd.
            assembly ("memory-safe") {
                done := iszero(and(count, 1))
                let end := add(first, mul(0x60, count))
                for { let from := first } and(done, lt(from, end)) { from := add(from, 0xc0) } {
                    let s := mload(add(from, 0x20))
                    done := and(eq(mload(from), mload(add(from, 0x60))), eq(mload(add(from, 0x40)), mload(add(from, 0xa0))))
                    done := and(done, and(iszero(and(s, 1)), eq(mload(add(from, 0x80)), add(s, 1))))
                }
                if done {
                    let to := first
                    for { let from := first } lt(from, end) { from := add(from, 0xc0) } {
                        mstore(to, mload(from))
                        mstore(add(to, 0x20), shr(1, mload(add(from, 0x20))))
                        mstore(add(to, 0x40), mload(add(from, 0x40)))
                        to := add(to, 0x60)
                    }
                }
            }
            if (done) {
                own.count = count / 2;
                --own.bits;
                own.side = (own.side + 1) / 2;
            }
        }
    }

    /// @dev Are the entries (t, 2^k t + a), t = 0, 1, ..., `count` - 1, or those with t = 0 and s = 0, 1, ... where k is 0
    /// and all t are; all of weight 1?
    function _isStride(Entries memory own, uint256 most, uint256 k, uint256 a) private pure returns (bool yes) {
        unchecked {
            uint256 first = own.first;
            uint256 count = own.count;
            if (count > most || count == 0) return false;
            bool steps = count > 1 && _word(first + 0x60) == 1;
            yes = true;
            for (uint256 i = 0; i < count && yes; ++i) {
                uint256 place = first + 0x60 * i;
                yes = _word(place) == (steps ? i : 0) && _word(place + 0x20) == (i << k) + a && _word(place + 0x40) == 1;
            }
        }
    }

    /// @dev s = 2^k t + a over all of the target.
    function _strided(Tape memory tape, Weight memory weight, Entries memory own)
        private
        pure
        returns (bool isFormula, uint256 value)
    {
        unchecked {
            if (weight.point == 0 || own.count != weight.side || own.count < 2 || _word(own.first + 0x60) != 1) {
                return (false, 0);
            }
            uint256 a = _word(own.first + 0x20);
            uint256 step;
            // Steps back are no power of two.
            step = _word(own.first + 0x80) - a;
            uint256 k = 0;
            while (k < own.bits && 1 << k != step) {
                ++k;
            }
            if (1 << k != step || a >= step || !_isStride(own, own.count, k, a)) return (false, 0);
            // Leading coordinates that t does not have are 0; all of t's lie in s.
            uint256 leading = own.bits - k - weight.bits;
            Factors memory factors;
            if (leading > 0) {
                ColumnPoint memory above = columnPoint(own.point, own.bits, ONE_AT);
                factors.push(selector(tape, above, 0, leading));
            }
            factors.push(tape.pair(weight.point, own.point + 32 * leading, weight.bits, weight.side));
            if (k > 0) {
                ColumnPoint memory below = columnPoint(own.point + 32 * (own.bits - k), k, ONE_AT);
                factors.push(selector(tape, below, a, k));
            }
            return (true, tape.product(factors));
        }
    }

    /// @dev Sum over the entries of rows[t / side] row[t % side] weight list[s], stretch by stretch of equal steps.
    function _sumRuns(Tape memory tape, Entries memory own, uint256 rows, uint256 row, uint256 side)
        private
        pure
        returns (uint256 to)
    {
        unchecked {
            to = tape.allocate(1);
            uint256 place = own.first;
            uint256 end = place + 0x60 * own.count;
            while (place < end) {
                uint256 t = _word(place);
                uint256 s = _word(place + 0x20);
                uint256 weight = _word(place + 0x40);
                uint256 count = 1;
                uint256 stepT = 0;
                uint256 stepS = 0;
                for (uint256 next = place + 0x60; next < end; next += 0x60) {
                    uint256 t_ = _word(next);
                    if (t_ / side != t / side || _word(next + 0x40) != weight) break;
                    // Steps may be negative.
                    if (count == 1) (stepT, stepS) = (t_ - t, _word(next + 0x20) - s);
                    if (t_ != t + count * stepT || _word(next + 0x20) != s + count * stepS) break;
                    ++count;
                }
                Factors memory factors;
                factors.push(rows + 32 * (t / side));
                factors.push(tape.number(weight));
                tape.run(to, tape.product(factors), row + 32 * (t % side), own.list + 32 * s, count, stepT, stepS);
                place += 0x60 * count;
            }
        }
    }

    /// @notice The weights of an expression as weights over the labels of one of its products.
    /// @param weights over the expression, one axis each
    /// @param labels sides of the labels
    /// @param product takes the sums over blocks without source
    function pushToLabels(
        Tape memory tape,
        Factors memory product,
        Weight[] memory weights,
        Block[] memory blocks,
        uint256[] memory labels
    ) internal pure returns (Weight[] memory pushed) {
        unchecked {
            pushed = new Weight[](labels.length);
            Weight[] memory none;
            for (uint256 i = 0; i < blocks.length; ++i) {
                Block memory own = blocks[i];
                if (own.sourceCount == 0) {
                    product.push(_evaluateBlock(tape, weights, own, none));
                    continue;
                }
                Weight memory weight = _pushBlock(tape, weights, own, labels);
                for (uint256 k = 0; k < own.sourceCount; ++k) {
                    uint256 label = (own.sourceAxes >> (8 * k)) & 0xff;
                    if (label >= labels.length) revert ViewMalformed();
                    pushed[label] = weight;
                }
            }
        }
    }

    function _pushBlock(Tape memory tape, Weight[] memory weights, Block memory own, uint256[] memory labels)
        private
        pure
        returns (Weight memory weight)
    {
        unchecked {
            // Another name for the same axis.
            if (own.kind == BLOCK_EQUAL && own.targetCount == 1 && own.sourceCount == 1) {
                return _weightAt(weights, own.targetAxes);
            }
            uint256 from = combined(tape, weights, own.targetAxes, own.targetCount, own.targetSize);
            weight.side = own.sourceSize;
            weight.axes = own.sourceAxes;
            weight.count = own.sourceCount;
            weight.space = labels;
            if (own.kind == BLOCK_EQUAL) {
                weight.list = from;
                return weight;
            }
            weight.list = tape.allocate(own.sourceSize);
            (uint256 place, uint256 count) = _entriesOf(own);
            for (uint256 end = place + 0x60 * count; place < end; place += 0x60) {
                Factors memory factors;
                factors.push(from + 32 * _word(place));
                factors.push(tape.number(_word(place + 0x40)));
                tape.accumulate(weight.list + 32 * _word(place + 0x20), factors);
            }
        }
    }

    /// @dev The entries of a block written out: three words each, t, s and the weight. Within the block's sizes.
    function _entriesOf(Block memory own) private pure returns (uint256 entries, uint256 count) {
        uint256 kind = own.kind;
        uint256 targets = own.targetSize;
        uint256 sources = own.sourceSize;
        uint256 ptr = own.runs;
        uint256 runs = own.runCount;
        bool outside = false;
        // Assembly: runs (count, step of t, step of s, weight) as the program's bytes have them.
        assembly ("memory-safe") {
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
                    if slt(weight, 0) { weight := add(FR_MODULUS, weight) }
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

    // --- Blocks tied together by weights about several axes: rare and small.

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

    function _evaluateGroup(
        Tape memory tape,
        Weight[] memory weights,
        Block[] memory blocks,
        uint256 start,
        uint256 seen,
        Weight[] memory sources
    ) private pure returns (uint256, uint256) {
        unchecked {
            uint256 unit;
            assembly ("memory-safe") {
                unit := mload(0x40)
                mstore(0x40, add(unit, 0x60))
                calldatacopy(unit, calldatasize(), 0x40)
                mstore(add(unit, 0x40), 1)
            }
            Group memory group = Group(0, 0, 1, 0, 0, 1, unit, 1);
            uint256 reached = _reachOf(weights, blocks[start]);
            seen = _join(group, blocks[start], start, seen);
            for (bool grown = true; grown;) {
                grown = false;
                for (uint256 i = 0; i < blocks.length; ++i) {
                    Block memory own = blocks[i];
                    if ((seen >> i) & 1 == 1 || _setOf(own.targetAxes, own.targetCount) & reached == 0) continue;
                    seen = _join(group, own, i, seen);
                    reached |= _reachOf(weights, own);
                    grown = true;
                }
            }
            Entries memory entries;
            entries.first = group.entries;
            entries.count = group.entryCount;
            entries.list = combined(tape, sources, group.sourceAxes, group.sourceCount, group.sourceSize);
            uint256 list = _weightsOf(tape, weights, group);
            return (_sumRuns(tape, entries, ONE_AT, list, group.targetSize), seen);
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
            // Assembly: entries are words without a length.
            assembly ("memory-safe") {
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
                        mstore(add(to, 0x40), mulmod(weight, mload(add(from, 0x40)), FR_MODULUS))
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
    function _reachOf(Weight[] memory weights, Block memory own) private pure returns (uint256 reached) {
        unchecked {
            reached = _setOf(own.targetAxes, own.targetCount);
            for (uint256 i = 0; i < own.targetCount; ++i) {
                Weight memory weight = _weightAt(weights, (own.targetAxes >> (8 * i)) & 0xff);
                if (weight.count > 1) reached |= _setOf(weight.axes, weight.count);
            }
        }
    }

    /// @dev The product of all weights on the group's targets, as one list over their row-major index.
    function _weightsOf(Tape memory tape, Weight[] memory weights, Group memory group) private pure returns (uint256 list) {
        unchecked {
            uint256 size = group.targetSize;
            list = tape.allocate(size);
            uint256[256] memory digits;
            for (uint256 index = 0; index < size; ++index) {
                uint256 rest = index;
                for (uint256 place = group.targetCount; place > 0;) {
                    --place;
                    uint256 axis = (group.targetAxes >> (8 * place)) & 0xff;
                    uint256 side = _sideOf(_weightAt(weights, axis), axis);
                    digits[axis] = rest % side;
                    rest /= side;
                }
                Factors memory factors;
                for (uint256 i = 0; i < group.targetCount; ++i) {
                    uint256 axis = (group.targetAxes >> (8 * i)) & 0xff;
                    factors.push(_valueAt(tape, _weightAt(weights, axis), axis, digits));
                }
                tape.accumulate(list + 32 * index, factors);
            }
        }
    }

    /// @dev The value of a weight at the digits of its axes; 1 but at the first of its axes.
    function _valueAt(Tape memory tape, Weight memory weight, uint256 axis, uint256[256] memory digits)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 values = valuesOf(tape, weight);
            if (weight.count < 2) return values + 32 * digits[axis];
            if (weight.axes & 0xff != axis) return ONE_AT;
            uint256 index = 0;
            for (uint256 i = 0; i < weight.count; ++i) {
                uint256 own = (weight.axes >> (8 * i)) & 0xff;
                index = index * weight.space[own] + digits[own];
            }
            return values + 32 * index;
        }
    }

    function _sideOf(Weight memory weight, uint256 axis) private pure returns (uint256) {
        unchecked {
            return weight.count < 2 ? weight.side : weight.space[axis];
        }
    }

    function _word(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }
}
