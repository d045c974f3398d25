// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Fr} from "./Fr.sol";
import {G1} from "./G1.sol";
import {MODULUS_AT} from "./ProgramMemory.sol";
import {Transcript} from "./Transcript.sol";

/// @title Mercury: the verifier of one opening, but for the pairing
/// @notice prover/opening/mercury.ts states the protocol and why it is sound; steps and names are those. The equation is
/// the one there divided by rho, which leaves [f] and [t] without a factor and saves a multiplication of 6,000 gas:
///   L = sigma (sum_i beta^i Z_{T-S_i}(z) ([p_i] - r_i(z) G1) - Z_T(z) [W] + z [W'])
///       + [f] - (zeta^b - alpha) [q] - g(zeta) G1 + zeta [t],                          sigma = 1 / rho
///   R = sigma [W'] + [t],                                               and the opening holds iff e(L, H) = e(R, tau H)
/// All inverses come from one. A zero among what is inverted (zeta, rho, or two equal points of zeta, 1/zeta and alpha)
/// has none, so the call reverts; with rho = 0, and with it alone, that refuses what TypeScript may accept: one challenge
/// of r.
/// @dev The modulus must be kept (ProgramMemory.sol). Assembly in the field: it is read from there.
library Mercury {
    /// @notice Challenges for which the equations say nothing.
    error DegenerateChallenge();

    uint256 internal constant PROOF_BYTES = 704;

    /// (r + 1) / 2
    uint256 private constant HALF = 0x183227397098d014dc2822db40c0ac2e9419f4243cdcb848a1f0fac9f8000001;

    // Offsets in the proof: h | q g | s d | six values | t | W | W'.
    uint256 private constant AT_H = 0;
    uint256 private constant AT_Q = 64;
    uint256 private constant AT_S = 192;
    uint256 private constant AT_VALUES = 320;
    uint256 private constant AT_T = 512;
    uint256 private constant AT_W = 576;
    uint256 private constant AT_W_PRIME = 640;

    /// What the transcript gives.
    struct Challenges {
        uint256 alpha;
        uint256 gamma;
        uint256 zeta;
        uint256 beta;
        uint256 z;
        uint256 rho;
    }

    struct Inverses {
        /// 1 / zeta
        uint256 zeta;
        /// 1 / (zeta - 1/zeta)
        uint256 pair;
        /// 1 / (zeta - alpha)
        uint256 alpha;
        /// 1 / (1/zeta - alpha)
        uint256 inverseAlpha;
    }

    /// What the points are multiplied by in L, in their order in the proof but for W' of R.
    struct Factors {
        uint256 h;
        uint256 q;
        uint256 g;
        uint256 s;
        uint256 d;
        uint256 t;
        uint256 w;
        uint256 wPrime;
        uint256 generator;
        /// Of [W'] in R.
        uint256 sigma;
    }

    /// @notice Reduces the claim that the polynomial committed to as `f` takes `value` at `point` to one pairing equation.
    /// @param n number of variables, 1 to 24
    /// @param f a point that a precompile gave; it is changed
    /// @param point n elements of memory
    /// @param offset of the proof in the call
    /// @return left with
    /// @return right e(left, H) = e(right, tau H) iff the opening holds
    function reduce(
        bytes32 state,
        bytes32 srsId,
        uint256 n,
        G1.Point memory f,
        uint256 point,
        uint256 value,
        uint256 offset
    ) internal view returns (G1.Point memory left, G1.Point memory right) {
        Factors memory factors;
        {
            Challenges memory drawn = _replay(_absorbClaim(state, srsId, n, f, point, value), offset);
            _factors(factors, drawn, n, point, value, offset);
        }
        left = f;
        uint256 pointer;
        // Assembly: addresses of factors, and a point as it stands in the call: [t] has passed the precompile when R is
        // made.
        assembly ("memory-safe") {
            pointer := factors
        }
        unchecked {
            G1.addCombination(left, offset + AT_H, 5, pointer);
            G1.addCombination(left, offset + AT_T, 3, pointer + 0xa0);
            G1.addGenerator(left, factors.generator);
            assembly ("memory-safe") {
                calldatacopy(right, add(offset, AT_T), 0x40)
            }
            G1.addCombination(right, offset + AT_W_PRIME, 1, pointer + 0x120);
        }
    }

    /// @dev prover/opening/claim.ts
    function _absorbClaim(
        bytes32 state,
        bytes32 srsId,
        uint256 n,
        G1.Point memory f,
        uint256 point,
        uint256 value
    ) private pure returns (bytes32) {
        state = Transcript.absorbShort(state, "assay/opening/mercury/1", 23);
        state = Transcript.absorbWord(state, uint256(srsId));
        state = Transcript.absorbWord(state, n);
        uint256 pointer;
        // Assembly: the address of the point.
        assembly ("memory-safe") {
            pointer := f
        }
        state = Transcript.absorbMemory(state, pointer, 64);
        state = Transcript.absorbMemory(state, point, n << 5);
        return Transcript.absorbWord(state, value);
    }

    /// @dev Steps 1 to 7: every message absorbed before the challenge below it. The points are checked where they are
    /// multiplied.
    function _replay(bytes32 state, uint256 offset) private pure returns (Challenges memory drawn) {
        unchecked {
            state = Transcript.absorbCalldata(state, offset + AT_H, 64);
            drawn.alpha = Transcript.challenge(state, 0);
            state = Transcript.absorbCalldata(state, offset + AT_Q, 128);
            drawn.gamma = Transcript.challenge(state, 0);
            state = Transcript.absorbCalldata(state, offset + AT_S, 128);
            drawn.zeta = Transcript.challenge(state, 0);
            state = Transcript.absorbScalars(state, offset + AT_VALUES, 6);
            state = Transcript.absorbCalldata(state, offset + AT_T, 64);
            drawn.beta = Transcript.challenge(state, 0);
            state = Transcript.absorbCalldata(state, offset + AT_W, 64);
            drawn.z = Transcript.challenge(state, 0);
            state = Transcript.absorbCalldata(state, offset + AT_W_PRIME, 64);
            drawn.rho = Transcript.challenge(state, 0);
        }
    }

    /// @dev One inverse of zeta (zeta^2 - 1) (zeta - alpha) (1 - alpha zeta) rho gives all: with the first two factors
    /// 1 / (zeta - 1/zeta) = zeta / (zeta^2 - 1), and 1 / (1/zeta - alpha) = zeta / (1 - alpha zeta).
    function _factors(
        Factors memory factors,
        Challenges memory drawn,
        uint256 n,
        uint256 point,
        uint256 value,
        uint256 offset
    ) private view {
        uint256 zeta = drawn.zeta;
        uint256 zetaInverse;
        uint256 pair;
        uint256 toAlpha;
        uint256 inverseToAlpha;
        {
            uint256 alpha = drawn.alpha;
            uint256 square = _sub(_mul(zeta, zeta), 1);
            uint256 distance = _sub(zeta, alpha);
            uint256 reciprocal = _sub(1, _mul(alpha, zeta));
            uint256 outer = _mul(zeta, square);
            uint256 inner = _mul(distance, reciprocal);
            uint256 both = _mul(outer, inner);
            uint256 product = _mul(both, drawn.rho);
            if (product == 0) revert DegenerateChallenge();
            product = Fr.inverse(product);
            factors.sigma = _mul(product, both);
            product = _mul(product, drawn.rho);
            inner = _mul(product, inner);
            zetaInverse = _mul(inner, square);
            pair = _mul(_mul(inner, zeta), zeta);
            outer = _mul(product, outer);
            toAlpha = _mul(outer, reciprocal);
            inverseToAlpha = _mul(_mul(outer, distance), zeta);
        }
        (uint256 hAtAlpha, uint256 power) = _step4(drawn, zetaInverse, n, point, value, offset);
        factors.q = _sub(drawn.alpha, power);
        factors.t = zeta;
        // d(zeta) = zeta^(b-1) g(1/zeta).
        power = _mul(_mul(power, zetaInverse), _value(offset, 1));
        uint256 opened = _batch(
            factors, drawn, Inverses(zetaInverse, pair, toAlpha, inverseToAlpha), hAtAlpha, power, offset
        );
        factors.generator = _sub(0, _sum(opened, _value(offset, 0)));
    }

    /// @dev Step 6 times sigma: the factors of g, h, s, d, W and W'.
    /// @return opened sigma sum_i beta^i Z_{T-S_i}(z) r_i(z)
    function _batch(
        Factors memory factors,
        Challenges memory drawn,
        Inverses memory inverses,
        uint256 hAtAlpha,
        uint256 dAtZeta,
        uint256 offset
    ) private pure returns (uint256 opened) {
        uint256 sigma = factors.sigma;
        // z less each of the three points.
        uint256 z = drawn.z;
        factors.wPrime = _mul(z, sigma);
        uint256 toZeta = _sub(z, drawn.zeta);
        uint256 toInverse = _sub(z, inverses.zeta);
        uint256 toAlpha = _sub(z, drawn.alpha);
        uint256 both = _mul(toInverse, toAlpha);
        uint256 vanishing = _mul(toZeta, both);
        if (vanishing == 0) revert DegenerateChallenge();
        factors.w = _sub(0, _mul(vanishing, sigma));
        uint256 beta = drawn.beta;
        uint256 betaSquare = _mul(beta, beta);
        uint256 factor = _mul(_mul(_mul(betaSquare, beta), both), sigma);
        factors.d = factor;
        opened = _mul(factor, dAtZeta);
        factor = _mul(toAlpha, sigma);
        factors.g = factor;
        factors.s = _mul(betaSquare, factor);

        // g and s on {zeta, 1/zeta}: both lines at once, over zeta - 1/zeta.
        uint256 line = _mul(_sum(_value(offset, 0), _mul(betaSquare, _value(offset, 4))), toInverse);
        line = _sub(
            line, _mul(_sum(_value(offset, 1), _mul(betaSquare, _value(offset, 5))), toZeta)
        );
        opened = _sum(opened, _mul(_mul(line, factor), inverses.pair));
        // h on all three: sum_j h_j prod_{k != j} (z - t_k) / (t_j - t_k).
        line = _sub(
            _mul(_mul(_value(offset, 2), toInverse), inverses.alpha),
            _mul(_mul(_value(offset, 3), toZeta), inverses.inverseAlpha)
        );
        line = _mul(_mul(line, toAlpha), inverses.pair);
        factor = _mul(_mul(toZeta, toInverse), _mul(inverses.alpha, inverses.inverseAlpha));
        line = _sum(line, _mul(hAtAlpha, factor));
        factor = _mul(beta, sigma);
        factors.h = factor;
        opened = _sum(opened, _mul(factor, line));
    }

    /// @return hAtAlpha as the identity of step 3 gives it
    /// @return power zeta^b, b = 2^floor(n/2)
    function _step4(
        Challenges memory drawn,
        uint256 zetaInverse,
        uint256 n,
        uint256 point,
        uint256 value,
        uint256 offset
    ) private pure returns (uint256 hAtAlpha, uint256 power) {
        unchecked {
            uint256 zeta = drawn.zeta;
            uint256 rowBits = (n + 1) >> 1;
            uint256 atZeta;
            uint256 atInverse;
            (atZeta, atInverse,) = _equalityAt(point, rowBits, zeta, zetaInverse);
            uint256 left = _mul(_value(offset, 2), atInverse);
            left = _sum(left, _mul(_value(offset, 3), atZeta));
            left = _mul(drawn.gamma, left);
            (atZeta, atInverse, power) = _equalityAt(point + (rowBits << 5), n - rowBits, zeta, zetaInverse);
            left = _sum(left, _mul(_value(offset, 0), atInverse));
            left = _sum(left, _mul(_value(offset, 1), atZeta));
            left = _sub(left, _mul(zeta, _value(offset, 4)));
            left = _sub(left, _mul(zetaInverse, _value(offset, 5)));
            hAtAlpha = _sub(_mul(left, HALF), _mul(drawn.gamma, value));
        }
    }

    /// @notice P_w = prod_k (w_k x^(2^k) + 1 - w_k), the last coordinate being that of k = 0, at x and at y.
    /// @return atX P_w(x)
    /// @return atY P_w(y)
    /// @return x x^(2^count)
    function _equalityAt(uint256 w, uint256 count, uint256 powerX, uint256 powerY)
        private
        pure
        returns (uint256 atX, uint256 atY, uint256 x)
    {
        // Assembly: 2 n factors in an opening; 1 + w (x - 1) in words that need no reduction before they are multiplied.
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let minusOne := sub(r, 1)
            atX := 1
            atY := 1
            for { let from := add(w, shl(5, count)) } gt(from, w) {} {
                from := sub(from, 0x20)
                let own := mload(from)
                atX := mulmod(atX, add(mulmod(own, add(powerX, minusOne), r), 1), r)
                atY := mulmod(atY, add(mulmod(own, add(powerY, minusOne), r), 1), r)
                powerX := mulmod(powerX, powerX, r)
                powerY := mulmod(powerY, powerY, r)
            }
            x := powerX
        }
    }

    /// @notice Value number i of step 4: g(zeta), g(1/zeta), h(zeta), h(1/zeta), s(zeta), s(1/zeta).
    function _value(uint256 offset, uint256 i) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := calldataload(add(offset, add(AT_VALUES, shl(5, i))))
        }
    }

    function _mul(uint256 a, uint256 b) private pure returns (uint256 product) {
        assembly ("memory-safe") {
            product := mulmod(a, b, mload(MODULUS_AT))
        }
    }

    function _sum(uint256 a, uint256 b) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            sum := addmod(a, b, mload(MODULUS_AT))
        }
    }

    /// @dev b is at most r.
    function _sub(uint256 a, uint256 b) private pure returns (uint256 difference) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            difference := addmod(a, sub(r, b), r)
        }
    }
}
