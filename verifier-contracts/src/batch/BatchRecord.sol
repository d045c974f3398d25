// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// What a circuit is made for, as read from its record. Sizes in bytes, addresses of memory.
struct Record {
    /// Names the record: keccak of its bytes.
    bytes32 keyHash;
    /// The Groth16 key: alpha, beta, gamma, delta, then the points of the constant, c, E and rho.
    uint256 key;
    /// log2 of the cells of a committed column.
    uint256 n;
    /// Columns that a proof commits to itself.
    uint256 proofColumns;
    uint256 groups;
    /// Of the first group.
    uint256 groupsAt;
}

/// A model of the batch and the room for its receipts.
struct Group {
    bytes32 programHash;
    uint256 receipts;
    uint256 itemsPerReceipt;
    /// Columns of the model's key.
    uint256 columns;
    uint256 outputs;
    /// Of the first output.
    uint256 outputsAt;
    /// Published integers of one receipt, over all outputs.
    uint256 integers;
    /// Of the next group.
    uint256 next;
}

/// An output of the model, and how what was asked for comes from what is published.
struct Output {
    /// Header of the tensor that the output root binds.
    uint256 header;
    uint256 headerSize;
    /// Published integers.
    uint256 published;
    /// Side of the axis whose largest element was asked for; 0 where the published integers are the output.
    uint256 side;
    /// Elements of the axes inside that one.
    uint256 inner;
    /// Of the next output.
    uint256 next;
}

/// @title The record of a circuit's key: what BatchVerifier knows of it; circuits/batch/record.ts writes it
/// @notice Packed without gaps, big endian; points of G2 as in EIP-197:
///   alpha 64 | beta 128 | gamma 128 | delta 128 | points of the constant, c, E and rho 64 each
///   | uint8 n | uint8 columns of a proof | uint8 groups
///   | per group: program hash 32 | uint16 receipts | uint32 items of a receipt | uint8 columns of the model | uint8 outputs
///     | per output: uint8 size | header of its tensor | uint32 published | uint32 side | uint32 inner
library BatchRecord {
    uint256 internal constant KEY_BYTES = 704;
    uint256 private constant HEAD_BYTES = KEY_BYTES + 3;
    /// Runs nothing: returns what follows it as the code.
    uint256 private constant CREATION = 0x600b380380600b5f395ff3;
    uint256 private constant CREATION_BYTES = 11;

    /// @notice A record could not be stored.
    error RecordNotStored();

    /// @notice Keeps a record as the code of a contract, behind a STOP: nobody can run or change it.
    function keep(bytes memory record) internal returns (address home) {
        bytes memory creation = abi.encodePacked(uint88(CREATION), bytes1(0), record);
        assembly ("memory-safe") {
            home := create(0, add(creation, 0x20), mload(creation))
        }
        if (home == address(0) || home.code.length != record.length + 1) revert RecordNotStored();
    }

    /// @dev Assembly: the code less its STOP, to the free pointer, which moves behind it.
    function load(address home) internal view returns (Record memory record) {
        uint256 cursor;
        uint256 size = home.code.length - 1;
        assembly ("memory-safe") {
            cursor := mload(0x40)
            extcodecopy(home, cursor, 1, size)
            mstore(0x40, and(add(add(cursor, size), 0x1f), not(0x1f)))
            mstore(record, keccak256(cursor, size))
        }
        record.key = cursor;
        record.n = _read(cursor + KEY_BYTES, 1);
        record.proofColumns = _read(cursor + KEY_BYTES + 1, 1);
        record.groups = _read(cursor + KEY_BYTES + 2, 1);
        record.groupsAt = cursor + HEAD_BYTES;
    }

    function group(uint256 cursor) internal pure returns (Group memory own) {
        own.programHash = bytes32(_read(cursor, 32));
        own.receipts = _read(cursor + 32, 2);
        own.itemsPerReceipt = _read(cursor + 34, 4);
        own.columns = _read(cursor + 38, 1);
        own.outputs = _read(cursor + 39, 1);
        own.outputsAt = cursor + 40;
        cursor = own.outputsAt;
        for (uint256 i = 0; i < own.outputs; ++i) {
            uint256 size = _read(cursor, 1);
            own.integers += _read(cursor + 1 + size, 4);
            cursor += size + 13;
        }
        own.next = cursor;
    }

    function output(uint256 cursor) internal pure returns (Output memory own) {
        own.headerSize = _read(cursor, 1);
        own.header = cursor + 1;
        cursor = own.header + own.headerSize;
        own.published = _read(cursor, 4);
        own.side = _read(cursor + 4, 4);
        own.inner = _read(cursor + 8, 4);
        own.next = cursor + 12;
    }

    function _read(uint256 cursor, uint256 size) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, size)), mload(cursor))
        }
    }
}
