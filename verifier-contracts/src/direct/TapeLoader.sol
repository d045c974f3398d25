// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {MODULUS_AT} from "./ProgramMemory.sol";
import {HALF_AT, ONE_AT, Shape} from "./Tape.sol";
import {TapeStorage} from "./TapeStorage.sol";

/// @title Lays a tape of a ProgramStore into memory
library TapeLoader {
    /// @notice More was allocated than there is room for below the registers: another compiler would be needed.
    error RegistersOverlap();

    /// (r + 1) / 2
    uint256 private constant HALF = 0x183227397098d014dc2822db40c0ac2e9419f4243cdcb848a1f0fac9f8000001;

    /// @notice Reverts unless the tape is published. Registers are 0 but for those of numbers; the free pointer is behind
    /// the tape.
    /// @dev Assembly: a tape says where it lies in its first word, and its bytes in the second (Tape.sol). Memory above
    /// the free pointer is written here for the first time, so registers are 0.
    function load(address store, bytes32 programHash, uint256 items, uint256 n)
        internal
        view
        returns (Shape memory shape)
    {
        bytes32 key = TapeStorage.keyOf(programHash, items, n);
        address home = TapeStorage.pieceAt(store, key, 0);
        if (home.code.length == 0) revert TapeStorage.ProgramNotPublished(programHash, items, n);
        uint256 left;
        uint256 to;
        bool overlaps;
        assembly ("memory-safe") {
            overlaps := gt(mload(0x40), MODULUS_AT)
            extcodecopy(home, 0x00, 1, 0x40)
            to := mload(0x00)
            left := mload(0x20)
            shape := to
            mstore(0x40, and(add(add(to, left), 0x1f), not(0x1f)))
            mstore(ONE_AT, 1)
            mstore(HALF_AT, HALF)
        }
        if (overlaps) revert RegistersOverlap();
        for (uint256 piece = 0;;) {
            uint256 size = left < TapeStorage.PIECE_BYTES ? left : TapeStorage.PIECE_BYTES;
            assembly ("memory-safe") {
                extcodecopy(home, to, 1, size)
            }
            left -= size;
            if (left == 0) break;
            to += size;
            home = TapeStorage.pieceAt(store, key, ++piece);
        }
    }
}
