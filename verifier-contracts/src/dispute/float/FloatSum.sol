// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Sums of products of float32 numbers, and what an honest machine can make of them
/// @notice The float32 with bits s | e | f stands for (-1)^s m 2^(max(e,1) - 150), m = f + 2^23 [e > 0]; e = 255: it is
/// infinite or NaN. A product of two has a mantissa below 2^48 and the exponent E - 300, E = max(e,1) + max(e',1).
///   1. Of n terms x_i w_i: top = max(255, max of e_i + e'_i), unit U = 2^(top - 490). No E is above top: with both
///      factors normal E = e + e'; else one of e, e' is 0 and E <= 255. So zeros do not raise it either.
///      S = sum of +- floor(|x_i w_i| / U), A = sum of floor(|x_i w_i| / U). A term has at most 48 + 190 bits and n is
///      at most 8,193, so that both stay below 2^252. What is dropped is below n U.
///   2. r roundings, each within a factor 1 + d, |d| <= 2^-24, in whatever order, with fused multiply-add or without,
///      give |y - sum| <= r / (2^24 - r) sum |x_i w_i| (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
///   3. Products and partial sums below 2^-126 may be flushed to zero, and operands below it read as zero. With p = max
///      |x|, q = max |w|: each of at most 2n values loses below 2^-126, each product's operands below 2^-126 (p + q);
///      each loss is passed on with a factor below 2. All below F = 4n 2^-126 (1 + p + q).
///   4. A finite y is right where |y - S| <= B in units, B = r (floor(M / (2^24 - r)) + 1) + G + 4 (n + 1), G = F / U
///      rounded up, M = A; for a single addition, which is exact but for its rounding, M = |S|. The last summand is
///      above all that steps 1 and 4 drop: at most n of S, n r / (2^24 - r) < n of M, one each of y and of a division.
///   5. A partial sum may overflow where (1 + bound) sum |x_i w_i| >= 2^128 - 2^103: M + B >= (2^25 - 1) 2^(593 - top).
///      Then, and only then, y may be infinite or NaN while no operand is. From top = 365 on both sides fit; below, M U
///      is below 2^(252 - 125) and there is no overflow.
///   6. An operand that is infinite or NaN: y may be infinite or NaN. It may be finite only where all such operands
///      meet a weight that is zero or may be read as zero, since a kernel may skip those.
/// The floor of 255 for `top` makes F / U fit 254 bits, and U is 2^-235 then, below 2^-110 of the least F.
/// fraud-proofs/float/sum.ts says the same in TypeScript, and the exact inequality beside it.
library FloatSum {
    /// Terms of a sum at most, the bias included.
    uint256 internal constant MAX_TERMS = 8193;
    uint256 internal constant ONE = 0x3f800000;
    uint256 internal constant SIGN = 0x80000000;
    /// Bits of the largest finite number, and of the largest that may be read as zero.
    uint256 internal constant MAX_FINITE = 0x7f7fffff;
    uint256 internal constant MAX_SUBNORMAL = 0x007fffff;

    uint256 private constant MIN_TOP = 255;
    /// Bits below the exponent `top` that are kept.
    uint256 private constant KEPT = 190;

    struct Sum {
        uint256 terms;
        /// Step 1.
        uint256 top;
        int256 signed;
        uint256 absolute;
        /// Bits of the largest magnitudes.
        uint256 maxX;
        uint256 maxW;
        /// An operand is infinite or NaN; and one of these meets a weight that is surely not read as zero.
        bool special;
        bool firm;
    }

    /// @param x address of the terms' first factors in memory, 4 bytes each, big-endian
    /// @param w address of their second factors
    /// @param terms at most MAX_TERMS
    /// @dev Assembly, here and in `_totals`: two passes over up to 8,193 terms, some 500 gas a term; with array reads
    /// and checks 8,192 would not fit half a transaction. The first finds `top` and the maxima, the second adds. Reads
    /// lie within what the caller allocated. Exponents, mantissas and shifts are small, sums below 2^252 (step 1). A
    /// shift by s is shl(s, m) | shr(-s, m): a negative one of either is a shift by 2^255 and more, which gives 0.
    function add(uint256 x, uint256 w, uint256 terms) internal pure returns (Sum memory sum) {
        sum.terms = terms;
        uint256 top = MIN_TOP;
        uint256 maxX;
        uint256 maxW;
        assembly ("memory-safe") {
            let toW := sub(w, x)
            for { let end := add(x, shl(2, terms)) } lt(x, end) { x := add(x, 4) } {
                let a := and(shr(224, mload(x)), 0x7fffffff)
                let b := and(shr(224, mload(add(x, toW))), 0x7fffffff)
                if gt(a, maxX) { maxX := a }
                if gt(b, maxW) { maxW := b }
                let exponent := add(shr(23, a), shr(23, b))
                if gt(exponent, top) { top := exponent }
            }
            x := sub(w, toW)
        }
        (sum.top, sum.maxX, sum.maxW) = (top, maxX, maxW);
        sum.special = maxX > MAX_FINITE || maxW > MAX_FINITE;
        if (sum.special) sum.firm = _firm(x, w, terms);
        else (sum.signed, sum.absolute) = _totals(x, w, terms, top);
    }

    /// @dev Step 1 with `top` known.
    function _totals(uint256 x, uint256 w, uint256 terms, uint256 top)
        private
        pure
        returns (int256 signed, uint256 absolute)
    {
        assembly ("memory-safe") {
            let toW := sub(w, x)
            let aligned := sub(KEPT, top)
            for { let end := add(x, shl(2, terms)) } lt(x, end) { x := add(x, 4) } {
                let a := shr(224, mload(x))
                let b := shr(224, mload(add(x, toW)))
                let negative := shr(31, xor(a, b))
                let ea := and(shr(23, a), 0xff)
                let eb := and(shr(23, b), 0xff)
                // Subnormal: no hidden bit, and the exponent of the smallest normal ones.
                switch mul(ea, eb)
                case 0 {
                    a := or(and(a, 0x7fffff), shl(23, gt(ea, 0)))
                    b := or(and(b, 0x7fffff), shl(23, gt(eb, 0)))
                    ea := add(ea, iszero(ea))
                    eb := add(eb, iszero(eb))
                }
                default {
                    a := or(and(a, 0x7fffff), 0x800000)
                    b := or(and(b, 0x7fffff), 0x800000)
                }
                let shift := add(aligned, add(ea, eb))
                let product := mul(a, b)
                product := or(shl(shift, product), shr(sub(0, shift), product))
                absolute := add(absolute, product)
                switch negative
                case 0 { signed := add(signed, product) }
                default { signed := sub(signed, product) }
            }
        }
    }

    /// @dev Does an operand that is infinite or NaN meet one that is surely not read as zero?
    function _firm(uint256 x, uint256 w, uint256 terms) private pure returns (bool firm) {
        assembly ("memory-safe") {
            let toW := sub(w, x)
            for { let end := add(x, shl(2, terms)) } lt(x, end) { x := add(x, 4) } {
                let a := and(shr(224, mload(x)), 0x7fffffff)
                let b := and(shr(224, mload(add(x, toW))), 0x7fffffff)
                let special := or(gt(a, MAX_FINITE), gt(b, MAX_FINITE))
                firm := or(firm, and(special, and(gt(a, MAX_SUBNORMAL), gt(b, MAX_SUBNORMAL))))
            }
        }
    }

    /// @notice Can an honest machine have got y?
    /// @param roundings r of step 2
    /// @param divisor the sum is divided by it: two of the roundings
    /// @param single one addition of two numbers
    function allows(Sum memory sum, uint256 y, uint256 roundings, uint256 divisor, bool single)
        internal
        pure
        returns (bool)
    {
        bool finite = y & 0x7fffffff <= MAX_FINITE;
        if (sum.special) return !(finite && sum.firm);
        // Unchecked: the bounds of steps 1 to 5; B < 2^255 as F / U is.
        unchecked {
            bool negative = sum.signed < 0;
            uint256 magnitude = uint256(negative ? -sum.signed : sum.signed);
            uint256 reach = single ? magnitude : sum.absolute;
            uint256 losses = _losses(sum, single) + 4 * (sum.terms + 1);
            if (!finite) {
                uint256 most = reach + _relative(reach, roundings) + losses;
                return sum.top >= 365 && most >= ((1 << 25) - 1) << (593 - sum.top);
            }
            magnitude /= divisor;
            reach = (reach + divisor - 1) / divisor;
            uint256 claimed = _units(y & 0x7fffffff, 340, sum.top);
            uint256 bound = _relative(reach, roundings) + losses;
            uint256 distance;
            if ((y >> 31 == 1) != negative) distance = claimed + magnitude;
            else distance = claimed > magnitude ? claimed - magnitude : magnitude - claimed;
            return distance <= bound;
        }
    }

    /// @dev Step 4: what the roundings of a value of `reach` amount to.
    function _relative(uint256 reach, uint256 roundings) private pure returns (uint256) {
        unchecked {
            return roundings * (reach / ((1 << 24) - roundings) + 1);
        }
    }

    /// @dev F / U = 4n 2^(364 - top) (1 + p + q), rounded up; of an addition without p and q, since nothing is
    /// multiplied.
    function _losses(Sum memory sum, bool single) private pure returns (uint256) {
        unchecked {
            uint256 scaled = _units(ONE, 214, sum.top) + 1;
            if (!single) scaled += _units(sum.maxX, 214, sum.top) + _units(sum.maxW, 214, sum.top) + 2;
            return 4 * sum.terms * scaled;
        }
    }

    /// @dev floor(m 2^(max(e,1) + offset - top)). Above 2^255 it is 2^255: y is then out of every bound (B < 2^255 -
    /// 2^252).
    function _units(uint256 bits, uint256 offset, uint256 top) private pure returns (uint256) {
        unchecked {
            uint256 exponent = bits >> 23;
            uint256 mantissa = exponent == 0 ? bits : (bits & 0x7fffff) | 0x800000;
            if (exponent == 0) exponent = 1;
            if (exponent + offset < top) return mantissa >> (top - exponent - offset);
            uint256 shift = exponent + offset - top;
            return mantissa == 0 ? 0 : shift > 231 ? 1 << 255 : mantissa << shift;
        }
    }
}
