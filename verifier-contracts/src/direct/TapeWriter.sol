// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {FR_MODULUS} from "./Fr.sol";
import {
    OP_ACCUMULATE,
    OP_EQUAL,
    OP_EXPAND,
    OP_MULTIPLY,
    OP_NUMBER,
    OP_OUTER,
    OP_PAIR,
    OP_RUN,
    OP_SCALE,
    OP_SUM,
    ONE_AT,
    REGISTERS
} from "./Tape.sol";

/// A tape in the making.
struct Tape {
    /// Where the next record goes, and where there is no more room.
    uint256 next;
    uint256 end;
    /// The next register that nobody has.
    uint256 free;
    /// Records by hash: what was computed once is not computed again.
    uint256 known;
    /// Behind the record that the last number times a register was written to.
    uint256 scaled;
}

/// A product in the making: registers, of which none is that of 1.
struct Factors {
    uint256 count;
    uint256[64] registers;
}

/// @title Writes the records of a tape
/// @dev Registers are numbers of 24 bits, so that a tape has at most 2^19 of them; one with more reverts. Assembly: lists
/// of records, and the table of what is known, are words of memory without a length.
library TapeWriter {
    /// @notice The program takes a longer tape than there is room for.
    error TapeTooLong();

    /// Bytes of records; 73,728 is what three contracts can hold.
    uint256 private constant ROOM = 73_728;
    uint256 private constant KNOWN = 4096;
    uint256 private constant LAST_REGISTER = 0xffffff;
    uint256 private constant WRITES = 0xffffff << 224;
    /// Factors in one record.
    uint256 private constant MOST_FACTORS = 8;
    /// Numbers in a record are below it, and not below its negative.
    int256 private constant MOST_SCALE = 1 << 47;

    function begin() internal pure returns (Tape memory tape) {
        unchecked {
            uint256 next;
            assembly ("memory-safe") {
                next := mload(0x40)
                mstore(0x40, add(next, add(ROOM, shl(5, KNOWN))))
                calldatacopy(add(next, ROOM), calldatasize(), shl(5, KNOWN))
            }
            tape = Tape(next, next + ROOM, REGISTERS, next + ROOM, 0);
        }
    }

    /// @return first of `count` registers
    function allocate(Tape memory tape, uint256 count) internal pure returns (uint256 first) {
        unchecked {
            first = tape.free;
            tape.free = first + 32 * count;
            if (tape.free > LAST_REGISTER) revert TapeTooLong();
        }
    }

    function append(Tape memory tape, uint256 record) internal pure {
        unchecked {
            uint256 next = tape.next;
            if (next == tape.end) revert TapeTooLong();
            assembly ("memory-safe") {
                mstore(next, record)
            }
            tape.next = next + 32;
        }
    }

    /// @notice The register, or the first of `count`, that an operation on these operands writes.
    function once(Tape memory tape, uint256 op, uint256 operands, uint256 count) internal pure returns (uint256 to) {
        bool isNew;
        (to, isNew) = _find(tape, op, operands, count);
        if (isNew) append(tape, op << 248 | to << 224 | operands);
    }

    function _find(Tape memory tape, uint256 op, uint256 operands, uint256 count)
        private
        pure
        returns (uint256 to, bool isNew)
    {
        uint256 key = op << 248 | operands;
        uint256 known = tape.known;
        uint256 left = KNOWN;
        uint256 place;
        uint256 found;
        assembly ("memory-safe") {
            mstore(0, key)
            place := and(keccak256(0, 0x20), sub(KNOWN, 1))
            for {} left { left := sub(left, 1) } {
                found := mload(add(known, shl(5, place)))
                if or(iszero(found), eq(and(found, not(WRITES)), key)) { break }
                place := and(add(place, 1), sub(KNOWN, 1))
            }
        }
        if (left == 0) revert TapeTooLong();
        if (found != 0) return ((found & WRITES) >> 224, false);
        to = allocate(tape, count);
        isNew = true;
        assembly ("memory-safe") {
            mstore(add(known, shl(5, place)), or(key, shl(224, to)))
        }
    }

    // --- Numbers and products

    /// @param value below r
    function number(Tape memory tape, uint256 value) internal pure returns (uint256 to) {
        if (value == 1) return ONE_AT;
        bool isNew;
        // What a record of this kind says below its register is its number's hash.
        (to, isNew) = _find(tape, OP_NUMBER, uint256(keccak256(abi.encode(value))) >> 32, 1);
        if (!isNew) return to;
        append(tape, OP_NUMBER << 248 | to << 224);
        append(tape, value);
    }

    function push(Factors memory own, uint256 register) internal pure {
        unchecked {
            if (register != ONE_AT) own.registers[own.count++] = register;
        }
    }

    /// @notice Factors that others multiply with more.
    function copyOf(Factors memory own) internal pure returns (Factors memory copy) {
        unchecked {
            copy.count = own.count;
            for (uint256 i = 0; i < own.count; ++i) {
                copy.registers[i] = own.registers[i];
            }
        }
    }

    /// @notice Register of the product.
    function product(Tape memory tape, Factors memory own) internal pure returns (uint256) {
        unchecked {
            _shorten(tape, own);
            if (own.count == 0) return ONE_AT;
            if (own.count == 1) return own.registers[0];
            return once(tape, OP_MULTIPLY, _operands(own, 0), 1);
        }
    }

    /// @notice Adds the product to a register.
    function accumulate(Tape memory tape, uint256 to, Factors memory own) internal pure {
        _shorten(tape, own);
        if (own.count < 2) return scale(tape, to, own.count == 0 ? ONE_AT : own.registers[0], 1);
        append(tape, OP_ACCUMULATE << 248 | to << 224 | _operands(own, 0));
    }

    /// @dev To at most MOST_FACTORS: the last ones, as many as a record takes, become one.
    function _shorten(Tape memory tape, Factors memory own) private pure {
        unchecked {
            while (own.count > MOST_FACTORS) {
                uint256 first = own.count - MOST_FACTORS;
                own.registers[first] = once(tape, OP_MULTIPLY, _operands(own, first), 1);
                own.count = first + 1;
            }
        }
    }

    /// @dev Padded with 1 to an even number, two at least.
    function _operands(Factors memory own, uint256 first) private pure returns (uint256 operands) {
        unchecked {
            uint256 count = own.count;
            for (uint256 i = first; i < count; ++i) {
                operands |= own.registers[i] << (24 * (i - first));
            }
            count -= first;
            if (count == 0) operands = ONE_AT | ONE_AT << 24;
            else if (count % 2 == 1) operands |= ONE_AT << (24 * count);
        }
    }

    /// @notice Adds a number times a register.
    /// @dev What is added to one register in a row shares records.
    /// @param factor above -r and below r
    function scale(Tape memory tape, uint256 to, uint256 register, int256 factor) internal pure {
        unchecked {
            if (factor == 0) return;
            if (factor >= MOST_SCALE || factor < -MOST_SCALE) {
                Factors memory own;
                push(own, register);
                push(own, number(tape, factor < 0 ? FR_MODULUS - uint256(-factor) : uint256(factor)));
                return accumulate(tape, to, own);
            }
            uint256 pair_ = register | (uint256(factor) & ((1 << 48) - 1)) << 24;
            uint256 last = tape.next - 32;
            uint256 record;
            if (tape.scaled == tape.next) {
                assembly ("memory-safe") {
                    record := mload(last)
                }
                uint256 used = record & ((1 << 216) - 1);
                if (record >> 224 == (OP_SCALE << 24 | to) && used >> 144 == 0) {
                    record |= pair_ << (used >> 72 == 0 ? 72 : 144);
                    assembly ("memory-safe") {
                        mstore(last, record)
                    }
                    return;
                }
            }
            append(tape, OP_SCALE << 248 | to << 224 | pair_);
            tape.scaled = tape.next;
        }
    }

    // --- eq

    /// @notice Sum of eq(point, i) over i < side.
    function sum(Tape memory tape, uint256 point, uint256 bits, uint256 side) internal pure returns (uint256) {
        if (side == 1 << bits) return ONE_AT;
        return once(tape, OP_SUM, point | bits << 24 | side << 32, 1);
    }

    /// @notice Sum of eq(a, i) eq(b, i) over i < side: the extension at b of a masked eq weight.
    function pair(Tape memory tape, uint256 a, uint256 b, uint256 bits, uint256 side) internal pure returns (uint256) {
        if (bits == 0) return ONE_AT;
        uint256 operands = a | b << 24 | bits << 48;
        if (side == 1 << bits) return once(tape, OP_EQUAL, operands, 1);
        return once(tape, OP_PAIR, operands | side << 56, 1);
    }

    /// @notice The list of eq(point, i) over i < side.
    function expand(Tape memory tape, uint256 point, uint256 bits, uint256 side) internal pure returns (uint256) {
        unchecked {
            if (bits == 0) return ONE_AT;
            // Three registers more are written than the list has.
            return once(tape, OP_EXPAND, point | bits << 24 | side << 32, side + 3);
        }
    }

    // --- Lists

    function outer(Tape memory tape, uint256 a, uint256 aLength, uint256 b, uint256 bLength)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            return once(tape, OP_OUTER, a | aLength << 24 | b << 48 | bLength << 72, aLength * bLength);
        }
    }

    /// @notice Adds row times sum over i < count of t[i stepT] s[i stepS].
    /// @param stepT with
    /// @param stepS in two's complement
    function run(
        Tape memory tape,
        uint256 to,
        uint256 row,
        uint256 t,
        uint256 s,
        uint256 count,
        uint256 stepT,
        uint256 stepS
    ) internal pure {
        uint256 steps = ((stepT << 5) & 0xffffff) | ((stepS << 5) & 0xffffff) << 24;
        append(tape, OP_RUN << 248 | to << 224 | row | t << 24 | s << 48 | count << 72 | steps << 96);
    }

    /// @notice Inner product of two lists.
    function dot(Tape memory tape, uint256 a, uint256 b, uint256 length) internal pure returns (uint256 to) {
        to = allocate(tape, 1);
        run(tape, to, ONE_AT, a, b, length, 1, 1);
    }

    /// @notice Sum of a list.
    function total(Tape memory tape, uint256 list, uint256 length) internal pure returns (uint256 to) {
        to = allocate(tape, 1);
        run(tape, to, ONE_AT, list, ONE_AT, length, 1, 0);
    }
}
