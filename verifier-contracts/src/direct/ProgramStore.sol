// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan, Plans} from "./Plan.sol";
import {Program} from "./Program.sol";
import {ProgramReader} from "./ProgramReader.sol";
import {IMAGE} from "./TapeImage.sol";
import {TapeStorage} from "./TapeStorage.sol";

/// @title What verifications of a program have in common, worked out once and kept as code
/// @notice A proof is checked against a shape program. Everything that follows from the program, the number of items and
/// the size n of a column alone (slots, tables, masks, claims, and the whole computation in Fr that a proof is checked
/// with) is the same for every proof; publish() derives it on chain and keeps it, and DirectVerifier reads it by the
/// program's hash, which the model's digest names. Anybody publishes, for all; whoever publishes chooses nothing but for
/// which items and n. A tape is what the bytes of that hash say, or it is not there: nothing is given that is not derived
/// here, and what is there is never written again (TapeStorage.sol).
/// @dev Without an owner, and without state but for what the constructor fixes.
contract ProgramStore {
    /// @notice A tape is there for proofs of this program, for so many items, in columns of 2^n cells.
    event ProgramPublished(bytes32 indexed programHash, uint256 items, uint256 n, uint256 sizeBytes);

    /// @notice A contract of a tape could not be made: too little gas.
    error PieceNotMade(uint256 piece);
    /// @notice The address holds no contract.
    error MakerMissing();

    /// @notice The TapeMaker. It is as much a part of this store as its own code.
    address public immutable maker;

    /// @param maker_ a TapeMaker
    constructor(address maker_) {
        if (maker_.code.length == 0) revert MakerMissing();
        maker = maker_;
    }

    /// @notice Publishes; does nothing where it has been done.
    /// @param program canonical bytes of a shape program (prover/program/encode-program.ts)
    /// @param items of a batch, 1 to 4096
    /// @param n log2 of the cells of a column
    function publish(bytes calldata program, uint256 items, uint256 n) external returns (bytes32 programHash) {
        programHash = keccak256(program);
        if (isPublished(programHash, items, n)) return programHash;
        bytes memory tape = _compile(program, items, n);
        bytes32 key = TapeStorage.keyOf(programHash, items, n);
        uint256 pieces = (tape.length + TapeStorage.PIECE_BYTES - 1) / TapeStorage.PIECE_BYTES;
        for (uint256 piece = 0; piece < pieces; ++piece) {
            _make(key, piece, tape);
        }
        emit ProgramPublished(programHash, items, n, tape.length);
    }

    function _compile(bytes calldata program, uint256 items, uint256 n) private view returns (bytes memory tape) {
        // Assembly: everything that the maker reads is allocated from IMAGE on. Nothing lies above the free pointer.
        assembly ("memory-safe") {
            if lt(mload(0x40), IMAGE) { mstore(0x40, IMAGE) }
        }
        Program memory decoded = ProgramReader.read(program);
        Plan memory plan = Plans.begin(decoded, items);
        Plans.finish(plan, decoded, n);
        address target = maker;
        // Assembly: the call's data is memory from IMAGE on; a failure goes on as it is.
        assembly ("memory-safe") {
            tape := mload(0x40)
            mstore(tape, decoded)
            mstore(add(tape, 0x20), plan)
            let success := staticcall(gas(), target, IMAGE, sub(add(tape, 0x40), IMAGE), 0, 0)
            mstore(tape, returndatasize())
            returndatacopy(add(tape, 0x20), 0, returndatasize())
            if iszero(success) { revert(add(tape, 0x20), returndatasize()) }
            mstore(0x40, and(add(add(tape, returndatasize()), 0x3f), not(0x1f)))
        }
    }

    /// @notice Is there a tape?
    function isPublished(bytes32 programHash, uint256 items, uint256 n) public view returns (bool) {
        if (items > type(uint32).max || n > type(uint8).max) return false;
        return TapeStorage.pieceAt(address(this), TapeStorage.keyOf(programHash, items, n), 0).code.length > 0;
    }

    /// @dev Assembly: creation code is put together at the free pointer, which stays where it is: the maker's, and then a
    /// piece's, which returns what follows it: push2 size, dup1, push1 10, 0, codecopy, 0, return | STOP | bytes.
    function _make(bytes32 key, uint256 piece, bytes memory tape) private {
        bytes32 salt = TapeStorage.saltOf(key, piece);
        uint256 offset = piece * TapeStorage.PIECE_BYTES;
        uint256 size = tape.length - offset;
        if (size > TapeStorage.PIECE_BYTES) size = TapeStorage.PIECE_BYTES;
        uint256 creator = TapeStorage.MAKER;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, shl(128, creator))
            creator := create2(0, free, 0x10, salt)
            mstore(free, shl(176, or(0x61000080600a3d393df3, shl(56, add(size, 1)))))
            mcopy(add(free, 0x0b), add(add(tape, 0x20), offset), size)
            // What came of it is seen from the code.
            pop(call(gas(), creator, 0, free, add(size, 0x0b), 0, 0))
        }
        if (TapeStorage.pieceAt(address(this), key, piece).code.length != size + 1) revert PieceNotMade(piece);
    }
}
