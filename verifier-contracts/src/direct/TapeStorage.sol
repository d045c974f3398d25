// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Where a ProgramStore keeps its tapes, known without asking it
/// @notice A tape is the code of one contract, or of several, behind a STOP: bytes that nobody can run or change. Their
/// addresses follow from the store and what the tape is for, whatever it holds: a piece is made by a maker at an address
/// that CREATE2 fixes, whose own code is always the same and which makes it as its first contract (CREATE3). A piece that
/// the store has put there is there for good, since neither of the two addresses can be used twice; and nobody else can
/// make a maker at an address of the store's.
library TapeStorage {
    /// @notice No tape: call publish(program, items, n) of the ProgramStore with the program of that hash, once.
    error ProgramNotPublished(bytes32 programHash, uint256 items, uint256 n);

    /// Bytes of a tape in one contract: EIP-170's limit less the STOP.
    uint256 internal constant PIECE_BYTES = 24_575;

    /// Deploys what it is called with: returndatasize | calldatasize, returndatasize x 2, calldatacopy, create.
    uint256 internal constant MAKER = 0x67363d3d37363d34f03d5260086018f3;
    bytes32 private constant MAKER_HASH = 0x21c35dbe1b344a2488cf3321d6ce542f8e9f305544ff09e4993a62319a497c1f;

    /// @notice Of the tape for a program, a number of items and an n.
    function keyOf(bytes32 programHash, uint256 items, uint256 n) internal pure returns (bytes32 key) {
        // Assembly: two scratch words and the free one behind a hash that needs no allocation.
        assembly ("memory-safe") {
            mstore(0x00, programHash)
            mstore(0x20, or(shl(8, items), n))
            key := keccak256(0x00, 0x40)
        }
    }

    /// @notice Of CREATE2 for the maker of a piece.
    function saltOf(bytes32 key, uint256 piece) internal pure returns (bytes32 salt) {
        assembly ("memory-safe") {
            mstore(0x00, key)
            mstore(0x20, piece)
            salt := keccak256(0x00, 0x40)
        }
    }

    /// @notice Address of a piece: the first contract of its maker.
    function pieceAt(address store, bytes32 key, uint256 piece) internal pure returns (address home) {
        bytes32 salt = saltOf(key, piece);
        // Assembly: preimages at the free pointer, which stays where it is. 0xff | store | salt | hash of the maker's
        // creation code; then the RLP of (maker, nonce 1).
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(shl(248, 0xff), shl(88, store)))
            mstore(add(free, 0x15), salt)
            mstore(add(free, 0x35), MAKER_HASH)
            let maker := and(keccak256(free, 0x55), 0xffffffffffffffffffffffffffffffffffffffff)
            mstore(free, or(or(shl(240, 0xd694), shl(80, maker)), shl(72, 0x01)))
            home := and(keccak256(free, 0x17), 0xffffffffffffffffffffffffffffffffffffffff)
        }
    }
}
