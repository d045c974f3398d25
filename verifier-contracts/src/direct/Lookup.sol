// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan, PlacedTable} from "./Plan.sol";
import {PlanViews, SlotView} from "./PlanViews.sol";
import {Program, TABLE_CLAMP, TABLE_INPUT} from "./Program.sol";
import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";
import {ProgramWeights} from "./ProgramWeights.sol";

/// What the end of phase L is checked with: its challenges, its end point, and where the values there lie.
struct LookupPoint {
    uint256 alpha;
    uint256 beta;
    /// Weight of the first bracket; the others are its powers.
    uint256 lambda;
    /// n coordinates each.
    uint256 tau;
    uint256 point;
    /// Offset of the values in the call, all below r.
    uint256 values;
}

/// @title The lookup relation at one point; prover/plan/lookup.ts has the formula and what it says
library Lookup {
    uint256 private constant MAX_TAPS = 4;

    /// Sums for one witness chunk: masks of requantised, looked-up and maximum cells, and the tag.
    struct Masks {
        uint256 requant;
        uint256 looked;
        uint256 maxima;
        uint256 tag;
    }

    /// Extensions of the columns of the table space at a point: mask, row (without committed values), tag.
    struct Row {
        uint256 valid;
        uint256 a;
        uint256 b;
        uint256 tag;
    }

    /// What is summed, and what every chunk needs.
    struct Sum {
        /// Of gw, gx and -gt.
        uint256 helpers;
        /// Of the brackets times their weights.
        uint256 brackets;
        /// Where the weights of the brackets lie.
        uint256 powers;
        /// beta^2, and alpha less the fingerprint of (0, 0) under the range's tag.
        uint256 beta2;
        uint256 rangeKey;
    }

    /// Sums over the rows below a bound: of eq, and of the row's number times eq.
    struct Prefix {
        uint256 bound;
        uint256 ones;
        uint256 rows;
    }

    /// @notice Words of values that each witness chunk has.
    function wordsPerWitness(Plan memory plan) internal pure returns (uint256) {
        unchecked {
            return plan.hasMaxima ? 6 + MAX_TAPS : 5;
        }
    }

    /// @notice Words of values that each table chunk has.
    function wordsPerTable(Plan memory plan) internal pure returns (uint256) {
        unchecked {
            return plan.hasValues ? 3 : 2;
        }
    }

    /// @notice The summand of phase L.
    /// @param views of the witness slots from the point
    function summand(Plan memory plan, Program memory program, SlotView[][] memory views, LookupPoint memory here)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            Sum memory sum = Sum(0, 0, _powers(plan, here.lambda), mulmod(here.beta, here.beta, ProgramMemory.modulus()), 0);
            // RANGE_TAG is 1.
            sum.rangeKey = addmod(here.alpha, ProgramMemory.modulus() - sum.beta2, ProgramMemory.modulus());
            _witnessPart(plan, masks(plan, program, views), here, sum);
            _tablePart(plan, here, sum);
            uint256 eq = ProgramWeights.pair(here.tau, here.point, plan.n, 1 << plan.n);
            return addmod(sum.helpers, mulmod(eq, sum.brackets, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @dev Weights of the brackets: powers of lambda from the first on.
    function _powers(Plan memory plan, uint256 lambda) private pure returns (uint256 powers) {
        unchecked {
            uint256 count = (plan.hasMaxima ? 3 : 1) * plan.witnessChunks + plan.tableChunks;
            powers = ProgramMemory.allocate(count);
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                let power := lambda
                for { let place := powers } lt(place, add(powers, shl(5, count))) { place := add(place, 0x20) } {
                    mstore(place, power)
                    power := mulmod(power, lambda, r)
                }
            }
        }
    }

    /// @dev gw, gx, and the brackets of witness and maxima.
    function _witnessPart(Plan memory plan, Masks[] memory all, LookupPoint memory here, Sum memory sum) private pure {
        unchecked {
            uint256 values = here.values;
            for (uint256 c = 0; c < all.length; ++c) {
                sum.helpers = addmod(sum.helpers, ProgramMemory.callWord(values + 128), ProgramMemory.modulus());
                _addBracket(sum, c, _witnessBracket(all[c], values, here, sum));
                if (plan.hasMaxima) {
                    sum.helpers = addmod(sum.helpers, ProgramMemory.callWord(values + 160), ProgramMemory.modulus());
                    (uint256 maxima, uint256 product) = _maximaBrackets(all[c].maxima, values, sum.rangeKey);
                    _addBracket(sum, all.length + c, maxima);
                    _addBracket(sum, 2 * all.length + c, product);
                }
                values += 32 * wordsPerWitness(plan);
            }
        }
    }

    /// @dev gt, and its brackets gt Dt - v_T m.
    function _tablePart(Plan memory plan, LookupPoint memory here, Sum memory sum) private pure {
        unchecked {
            uint256 values = here.values + 32 * wordsPerWitness(plan) * plan.witnessChunks;
            uint256 first = (plan.hasMaxima ? 3 : 1) * plan.witnessChunks;
            for (uint256 j = 0; j < plan.tableChunks; ++j) {
                Row memory row = rowAt(plan, here.point, j);
                uint256 gt = ProgramMemory.callWord(values + 32);
                sum.helpers = addmod(sum.helpers, ProgramMemory.modulus() - gt, ProgramMemory.modulus());
                uint256 b = row.b;
                if (plan.hasValues) b = addmod(b, ProgramMemory.callWord(values + 64), ProgramMemory.modulus());
                uint256 key = addmod(row.a, addmod(mulmod(here.beta, b, ProgramMemory.modulus()), mulmod(sum.beta2, row.tag, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
                uint256 bracket = mulmod(gt, addmod(here.alpha, ProgramMemory.modulus() - key, ProgramMemory.modulus()), ProgramMemory.modulus());
                bracket = addmod(bracket, ProgramMemory.modulus() - mulmod(row.valid, ProgramMemory.callWord(values), ProgramMemory.modulus()), ProgramMemory.modulus());
                _addBracket(sum, first + j, bracket);
                values += 32 * wordsPerTable(plan);
            }
        }
    }

    function _addBracket(Sum memory sum, uint256 index, uint256 bracket) private pure {
        sum.brackets = addmod(sum.brackets, mulmod(ProgramMemory.word(sum.powers, index), bracket, ProgramMemory.modulus()), ProgramMemory.modulus());
    }

    /// @dev gw D0 D1 D2 - v_r (D0 + D1) D2 - v_q D0 D1.
    function _witnessBracket(
        Masks memory mask,
        uint256 values,
        LookupPoint memory here,
        Sum memory sum
    ) private pure returns (uint256 bracket) {
        unchecked {
            uint256 d0 = addmod(sum.rangeKey, ProgramMemory.modulus() - ProgramMemory.callWord(values + 32), ProgramMemory.modulus());
            uint256 d1 = addmod(sum.rangeKey, ProgramMemory.modulus() - ProgramMemory.callWord(values + 64), ProgramMemory.modulus());
            uint256 key = addmod(
                ProgramMemory.callWord(values + 96), addmod(mulmod(here.beta, ProgramMemory.callWord(values), ProgramMemory.modulus()), mulmod(sum.beta2, mask.tag, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus()
            );
            uint256 d2 = addmod(here.alpha, ProgramMemory.modulus() - key, ProgramMemory.modulus());
            uint256 d01 = mulmod(d0, d1, ProgramMemory.modulus());
            bracket = mulmod(ProgramMemory.callWord(values + 128), mulmod(d01, d2, ProgramMemory.modulus()), ProgramMemory.modulus());
            bracket = addmod(bracket, ProgramMemory.modulus() - mulmod(mask.requant, mulmod(addmod(d0, d1, ProgramMemory.modulus()), d2, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
            bracket = addmod(bracket, ProgramMemory.modulus() - mulmod(mask.looked, d01, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @dev gx E0 E1 E2 E3 - v_x sum_i prod_{j != i} E_j, and v_x prod_i (y - x_i).
    function _maximaBrackets(uint256 mask, uint256 values, uint256 rangeKey)
        private
        pure
        returns (uint256 maxima, uint256 product)
    {
        unchecked {
            // Over the taps so far: product of the E_i, sum of the products without one of them, product of the gaps.
            uint256 y = ProgramMemory.callWord(values);
            uint256 all = 1;
            uint256 others = 0;
            product = mask;
            for (uint256 i = 0; i < MAX_TAPS; ++i) {
                uint256 gap = addmod(y, ProgramMemory.modulus() - ProgramMemory.callWord(values + 192 + 32 * i), ProgramMemory.modulus());
                uint256 e = addmod(rangeKey, ProgramMemory.modulus() - gap, ProgramMemory.modulus());
                others = addmod(mulmod(others, e, ProgramMemory.modulus()), all, ProgramMemory.modulus());
                all = mulmod(all, e, ProgramMemory.modulus());
                product = mulmod(product, gap, ProgramMemory.modulus());
            }
            maxima = addmod(mulmod(ProgramMemory.callWord(values + 160), all, ProgramMemory.modulus()), ProgramMemory.modulus() - mulmod(mask, others, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @notice Masks and tag by witness chunk.
    function masks(Plan memory plan, Program memory program, SlotView[][] memory views)
        internal
        pure
        returns (Masks[] memory all)
    {
        unchecked {
            all = new Masks[](plan.witnessChunks);
            for (uint256 i = 0; i < program.requants.length; ++i) {
                uint256 slot = program.requants[i].slot;
                uint256 tag = plan.tags[program.requants[i].table];
                SlotView[] memory parts = PlanViews.viewsOf(views, slot);
                uint256[] memory axes = PlanViews.axesAt(program.witness, slot);
                for (uint256 k = 0; k < parts.length; ++k) {
                    SlotView memory own = parts[k];
                    Masks memory mask = all[own.column];
                    uint256 valid = PlanViews.validOf(own, axes);
                    mask.requant = addmod(mask.requant, valid, ProgramMemory.modulus());
                    mask.looked = addmod(mask.looked, valid, ProgramMemory.modulus());
                    mask.tag = addmod(mask.tag, mulmod(own.selector, tag, ProgramMemory.modulus()), ProgramMemory.modulus());
                }
            }
            for (uint256 i = 0; i < program.inputs.length; ++i) {
                uint256 slot = program.inputs[i].slot;
                uint256 tag = plan.tags[program.inputs[i].table];
                SlotView[] memory parts = PlanViews.viewsOf(views, slot);
                uint256[] memory axes = PlanViews.axesAt(program.witness, slot);
                for (uint256 k = 0; k < parts.length; ++k) {
                    SlotView memory own = parts[k];
                    Masks memory mask = all[own.column];
                    mask.looked = addmod(mask.looked, PlanViews.validOf(own, axes), ProgramMemory.modulus());
                    mask.tag = addmod(mask.tag, mulmod(own.selector, tag, ProgramMemory.modulus()), ProgramMemory.modulus());
                }
            }
            for (uint256 i = 0; i < program.maxima.length; ++i) {
                uint256 slot = program.maxima[i].slot;
                SlotView[] memory parts = PlanViews.viewsOf(views, slot);
                uint256[] memory axes = PlanViews.axesAt(program.witness, slot);
                for (uint256 k = 0; k < parts.length; ++k) {
                    SlotView memory own = parts[k];
                    Masks memory mask = all[own.column];
                    mask.maxima = addmod(mask.maxima, PlanViews.validOf(own, axes), ProgramMemory.modulus());
                }
            }
        }
    }

    /// @notice The extensions of the table space at the point of one of its chunks.
    function rowAt(Plan memory plan, uint256 point, uint256 chunk) internal pure returns (Row memory row) {
        unchecked {
            uint256 wholes = _wholes(point, plan.n);
            Prefix memory start = Prefix(0, 0, 0);
            for (uint256 i = 0; i < plan.tables.length; ++i) {
                PlacedTable memory table = plan.tables[i];
                // Tables of formulas follow each other without gaps.
                if (start.bound != table.offset) start = prefix(point, plan.n, wholes, chunk, table.offset);
                Prefix memory end = prefix(point, plan.n, wholes, chunk, table.offset + table.rows);
                int256 shift = table.first - int256(table.offset);
                (uint256 ones, uint256 ramp) = _between(start, end, shift);
                row.valid = addmod(row.valid, ones, ProgramMemory.modulus());
                row.tag = addmod(row.tag, mulmod(table.tag, ones, ProgramMemory.modulus()), ProgramMemory.modulus());
                if (table.kind == TABLE_INPUT) {
                    row.b = addmod(row.b, ramp, ProgramMemory.modulus());
                } else {
                    row.a = addmod(row.a, ramp, ProgramMemory.modulus());
                    if (table.kind == TABLE_CLAMP) {
                        row.b = addmod(row.b, _clampPart(plan, point, wholes, chunk, table, start, end), ProgramMemory.modulus());
                    }
                }
                start = end;
            }
        }
    }

    function _clampPart(
        Plan memory plan,
        uint256 point,
        uint256 wholes,
        uint256 chunk,
        PlacedTable memory table,
        Prefix memory start,
        Prefix memory end
    ) private pure returns (uint256 b) {
        unchecked {
            // Rows below lo, and rows up to hi.
            uint256 below = table.offset + _clip(table.lo - table.first, table.rows);
            uint256 upTo = table.offset + _clip(table.hi - table.first + 1, table.rows);
            Prefix memory atLo = below == start.bound ? start : prefix(point, plan.n, wholes, chunk, below);
            Prefix memory atHi = upTo == end.bound ? end : prefix(point, plan.n, wholes, chunk, upTo);
            (uint256 ones,) = _between(start, atLo, 0);
            b = mulmod(_field(table.lo), ones, ProgramMemory.modulus());
            (, uint256 ramp) = _between(atLo, atHi, table.first - int256(table.offset));
            b = addmod(b, ramp, ProgramMemory.modulus());
            (ones,) = _between(atHi, end, 0);
            b = addmod(b, mulmod(_field(table.hi), ones, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    function _clip(int256 count, uint256 rows) private pure returns (uint256) {
        unchecked {
            if (count < 0) return 0;
            return uint256(count) > rows ? rows : uint256(count);
        }
    }

    /// @dev Sums over the rows between two bounds: of eq, and of (row + shift) eq.
    function _between(Prefix memory from, Prefix memory to, int256 shift)
        private
        pure
        returns (uint256 ones, uint256 ramp)
    {
        unchecked {
            ones = addmod(to.ones, ProgramMemory.modulus() - from.ones, ProgramMemory.modulus());
            ramp = addmod(addmod(to.rows, ProgramMemory.modulus() - from.rows, ProgramMemory.modulus()), mulmod(_field(shift), ones, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @dev n + 1 words: the sum of i eq(point, i) over the last k coordinates alone, k = 0 .. n.
    function _wholes(uint256 point, uint256 n) private pure returns (uint256 wholes) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            wholes := mload(0x40)
            mstore(0x40, add(wholes, mul(32, add(n, 1))))
            let sum := 0
            mstore(wholes, sum)
            for { let k := 0 } lt(k, n) {} {
                let x := mload(add(point, mul(32, sub(sub(n, 1), k))))
                sum := addmod(sum, mulmod(shl(k, 1), x, r), r)
                k := add(k, 1)
                mstore(add(wholes, mul(32, k)), sum)
            }
        }
    }

    /// @notice Sums over the rows below `bound` that lie in a chunk.
    /// @param wholes of the point
    function prefix(uint256 point, uint256 n, uint256 wholes, uint256 chunk, uint256 bound)
        internal
        pure
        returns (Prefix memory)
    {
        unchecked {
            uint256 ones;
            uint256 rows;
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                let before := shl(n, chunk)
                let d := 0
                if gt(bound, before) { d := sub(bound, before) }
                switch lt(d, shl(n, 1))
                case 0 {
                    ones := 1
                    rows := mload(add(wholes, mul(32, n)))
                }
                default {
                    let here := add(point, mul(32, n))
                    // From the least significant bit of d on; nothing happens below its lowest 1.
                    for { let k := 0 } shr(k, d) { k := add(k, 1) } {
                        here := sub(here, 32)
                        let x := mload(here)
                        switch and(shr(k, d), 1)
                        case 1 {
                            // (1 - x) whole + x (rows + 2^k ones), and 1 - x + x ones.
                            let whole := mload(add(wholes, mul(32, k)))
                            let inside := add(addmod(rows, mulmod(shl(k, 1), ones, r), r), sub(r, whole))
                            rows := addmod(whole, mulmod(x, inside, r), r)
                            ones := addmod(mulmod(x, ones, r), sub(add(r, 1), x), r)
                        }
                        default {
                            rows := addmod(rows, sub(r, mulmod(x, rows, r)), r)
                            ones := addmod(ones, sub(r, mulmod(x, ones, r)), r)
                        }
                    }
                    // Above the highest 1 of d every bit must be 0.
                    if d {
                        for {} gt(here, point) {} {
                            here := sub(here, 32)
                            let x := mload(here)
                            rows := addmod(rows, sub(r, mulmod(x, rows, r)), r)
                            ones := addmod(ones, sub(r, mulmod(x, ones, r)), r)
                        }
                    }
                }
                // Rows are counted from the first chunk on.
                rows := addmod(rows, mulmod(before, ones, r), r)
            }
            return Prefix(bound, ones, rows);
        }
    }

    function _field(int256 value) private pure returns (uint256) {
        unchecked {
            return value < 0 ? ProgramMemory.modulus() - uint256(-value) : uint256(value);
        }
    }

}
