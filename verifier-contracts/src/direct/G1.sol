// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// Modulus of the coordinates of BN254.
uint256 constant FQ_MODULUS = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;

/// @title Linear combinations of points of BN254; prover/curve/g1.ts is the same in TypeScript
/// @notice Encoding of EIP-196: x | y, below q, on the curve; infinity is 64 zero bytes and is a point like others. G1 has
/// prime order, so a point on the curve is in the group. The precompiles check all that of every point they are given:
/// a point that enters no precompile is not checked, so points are multiplied by zero too.
/// @dev Assembly throughout: precompiles read and write the words at the free pointer, which stays where it is. Success
/// and the size of the answer are read after the call: arguments are evaluated from the right, so that
/// `and(staticcall(..), eq(returndatasize(), ..))` would look at the call before.
library G1 {
    struct Point {
        uint256 x;
        uint256 y;
    }

    /// @notice A point is off the curve or has a coordinate that is not below q.
    error PointInvalid();

    uint256 private constant EC_ADD = 0x06;
    uint256 private constant EC_MUL = 0x07;
    uint256 private constant GENERATOR_X = 1;
    uint256 private constant GENERATOR_Y = 2;

    /// @notice Adds to `sum` the points of the call at `offset`, `count` of them, each times its scalar.
    /// @param scalars `count` words of memory
    function addCombination(Point memory sum, uint256 offset, uint256 count, uint256 scalars) internal view {
        bool valid = true;
        assembly ("memory-safe") {
            // sum | point | scalar
            let free := mload(0x40)
            let point := add(free, 0x40)
            mcopy(free, sum, 0x40)
            let end := add(offset, shl(6, count))
            for {} lt(offset, end) { offset := add(offset, 0x40) } {
                calldatacopy(point, offset, 0x40)
                mstore(add(free, 0x80), mload(scalars))
                scalars := add(scalars, 0x20)
                // A call that fails takes all but a 64th of the gas with it: none may follow.
                valid := staticcall(gas(), EC_MUL, point, 0x60, point, 0x40)
                valid := and(valid, eq(returndatasize(), 0x40))
                if iszero(valid) { break }
                valid := staticcall(gas(), EC_ADD, free, 0x80, free, 0x40)
                valid := and(valid, eq(returndatasize(), 0x40))
                if iszero(valid) { break }
            }
            mcopy(sum, free, 0x40)
        }
        if (!valid) revert PointInvalid();
    }

    /// @notice Adds to `sum` the generator times `scalar`.
    function addGenerator(Point memory sum, uint256 scalar) internal view {
        bool valid;
        assembly ("memory-safe") {
            let free := mload(0x40)
            let point := add(free, 0x40)
            mcopy(free, sum, 0x40)
            mstore(point, GENERATOR_X)
            mstore(add(point, 0x20), GENERATOR_Y)
            mstore(add(point, 0x40), scalar)
            valid := staticcall(gas(), EC_MUL, point, 0x60, point, 0x40)
            valid := and(valid, eq(returndatasize(), 0x40))
            if valid {
                valid := staticcall(gas(), EC_ADD, free, 0x80, sum, 0x40)
                valid := and(valid, eq(returndatasize(), 0x40))
            }
        }
        if (!valid) revert PointInvalid();
    }

    /// @notice Of a point that has passed a precompile.
    function negate(Point memory point) internal pure returns (Point memory) {
        return Point(point.x, point.y == 0 ? 0 : FQ_MODULUS - point.y);
    }
}
