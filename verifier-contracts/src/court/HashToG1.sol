// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// Modulus of the coordinates of BN254.
uint256 constant Q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;

/// @title Messages of 32 bytes to points of G1 of BN254, y^2 = x^3 + 3, as drand's evmnet hashes them
/// @notice RFC 9380, suite BN254G1_XMD:KECCAK-256_SVDW_RO_: two field elements from `expand_message_xmd`, each mapped by
/// Shallue and van de Woestijne (appendix F.1), and added. G1 has prime order, so that there is no cofactor to clear.
/// Constants of the map for Z = 1: c1 = g(Z) = 4, c2 = -Z / 2, c3 = sqrt(-12) with sgn0 = 0, c4 = -16 / 3.
library HashToG1 {
    uint256 private constant C2 = 0x183227397098d014dc2822db40c0ac2ecbc0b548b438e5469e10460b6c3e7ea3;
    uint256 private constant C3 = 0x16789af3a83522eb353c98fc6b36d713d5d8d1cc5dffffffa;
    uint256 private constant C4 = 0x10216f7ba065e00de81ac1e7808072c9dd2b2385cd7b438469602eb24829a9bd;
    /// Exponents: inverse, and square root, since q = 3 mod 4.
    uint256 private constant INVERSE = Q - 2;
    uint256 private constant ROOT = (Q + 1) / 4;

    uint256 private constant SHIFT_256 = 2 ** 128;
    bytes private constant DST = "BLS_SIG_BN254G1_XMD:KECCAK-256_SVDW_RO_NUL_";

    function hash(bytes32 message) internal view returns (uint256 x, uint256 y) {
        (uint256 u, uint256 v) = fields(message);
        (uint256 x0, uint256 y0) = map(u);
        (uint256 x1, uint256 y1) = map(v);
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, x0)
            mstore(add(free, 0x20), y0)
            mstore(add(free, 0x40), x1)
            mstore(add(free, 0x60), y1)
            // Both points are on the curve: the precompile cannot fail.
            pop(staticcall(gas(), 0x06, free, 0x80, free, 0x40))
            x := mload(free)
            y := mload(add(free, 0x20))
        }
    }

    /// @notice `hash_to_field` for two elements of 48 bytes: three blocks of the expansion, which share the second.
    function fields(bytes32 message) internal pure returns (uint256 u, uint256 v) {
        // The block of Keccak-256 is 136 bytes: as many zeros come first.
        bytes memory tag = abi.encodePacked(DST, uint8(DST.length));
        bytes32 b0 = keccak256(abi.encodePacked(new bytes(136), message, uint16(96), uint8(0), tag));
        bytes32 b1 = keccak256(abi.encodePacked(b0, uint8(1), tag));
        bytes32 b2 = keccak256(abi.encodePacked(b0 ^ b1, uint8(2), tag));
        bytes32 b3 = keccak256(abi.encodePacked(b0 ^ b2, uint8(3), tag));
        u = addmod(mulmod(uint256(b1), SHIFT_256, Q), uint256(b2) >> 128, Q);
        uint256 high = (uint256(b2) << 128) | (uint256(b3) >> 128);
        v = addmod(mulmod(high, SHIFT_256, Q), uint256(b3) & (SHIFT_256 - 1), Q);
    }

    /// @param u below q
    function map(uint256 u) internal view returns (uint256 x, uint256 y) {
        uint256 t = mulmod(mulmod(u, u, Q), 4, Q);
        uint256 plus = addmod(1, t, Q);
        uint256 minus = addmod(1, Q - t, Q);
        // The power takes zero to zero, as the map wants it.
        uint256 inverse = _power(mulmod(plus, minus, Q), INVERSE);
        t = mulmod(mulmod(mulmod(u, minus, Q), inverse, Q), C3, Q);
        bool square;
        x = addmod(C2, Q - t, Q);
        (square, y) = _root(x);
        if (!square) {
            x = addmod(C2, t, Q);
            (square, y) = _root(x);
        }
        if (!square) {
            x = mulmod(mulmod(plus, plus, Q), inverse, Q);
            x = addmod(mulmod(mulmod(x, x, Q), C4, Q), 1, Q);
            // One of the three is always on the curve.
            (square, y) = _root(x);
        }
        if (u & 1 != y & 1) y = Q - y;
    }

    /// @return square is there a point with this x?
    /// @return y of one of the two
    function _root(uint256 x) private view returns (bool square, uint256 y) {
        uint256 right = addmod(mulmod(mulmod(x, x, Q), x, Q), 3, Q);
        y = _power(right, ROOT);
        square = mulmod(y, y, Q) == right;
    }

    function _power(uint256 base, uint256 exponent) private view returns (uint256 result) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, 0x20)
            mstore(add(free, 0x20), 0x20)
            mstore(add(free, 0x40), 0x20)
            mstore(add(free, 0x60), base)
            mstore(add(free, 0x80), exponent)
            mstore(add(free, 0xa0), Q)
            // MODEXP (EIP-198): fails for want of gas only, and then so does what comes next.
            if iszero(staticcall(gas(), 0x05, free, 0xc0, free, 0x20)) { revert(0, 0) }
            result := mload(free)
        }
    }
}
