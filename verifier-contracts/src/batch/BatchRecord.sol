// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";

/// What a circuit is made for, as read from its record. Sizes in bytes, addresses of memory.
struct Record {
    /// Names the record: keccak of its bytes.
    bytes32 keyHash;
    /// The Groth16 key: alpha, beta, delta, then the points of the constant, c, E and rho.
    uint256 key;
    /// log2 of the cells of a committed column.
    uint256 n;
    /// Columns that a proof commits to itself.
    uint256 proofColumns;
    Group[] groups;
}

/// A model of the batch and the room for its receipts.
struct Group {
    bytes32 programHash;
    uint256 receipts;
    uint256 itemsPerReceipt;
    /// Columns of the model's key.
    uint256 columns;
    Output[] outputs;
    /// Published integers of one receipt, over all outputs.
    uint256 integers;
    /// Words of x that they take.
    uint256 words;
}

/// An output of the model, and how what was asked for comes from what is published.
struct Output {
    /// Header of the tensor that the output root binds.
    uint256 header;
    uint256 headerSize;
    /// Bytes of an element under the root, and number of elements.
    uint256 width;
    uint256 elements;
    /// Published integers.
    uint256 published;
    /// Side of the axis whose largest element was asked for; 0 where the published integers are the output.
    uint256 side;
    /// Elements of the axes inside that one.
    uint256 inner;
}

/// @title The record of a circuit's key: what BatchVerifier knows of it; circuits/batch/record.ts writes it
/// @notice Packed without gaps, big endian; points of G2 as in EIP-197:
///   alpha 64 | beta 128 | delta 128 | points of the constant, c, E and rho 64 each
///   | uint8 n | uint8 columns of a proof | uint8 groups
///   | per group: program hash 32 | uint16 receipts | uint32 items of a receipt | uint8 columns of the model | uint8 outputs
///     | per output: uint8 size | header of its tensor | uint32 published | uint32 side | uint32 inner
library BatchRecord {
    uint256 internal constant KEY_BYTES = 576;
    uint256 private constant INTEGERS_PER_WORD = 7;
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

    /// @dev Assembly: the code less its STOP, to the free pointer, which moves behind it. Unchecked: fields are below 2^32.
    function load(address home) internal view returns (Record memory record) {
        unchecked {
            uint256 cursor;
            uint256 size = home.code.length - 1;
            assembly ("memory-safe") {
                cursor := mload(0x40)
                extcodecopy(home, cursor, 1, size)
                mstore(0x40, and(add(add(cursor, size), 0x1f), not(0x1f)))
                mstore(record, keccak256(cursor, size))
            }
            _parse(record, cursor);
        }
    }

    /// @notice Has the record at least one group, and exactly the bytes that its numbers ask for?
    /// @dev What lies beyond the end of one that is cut is read as whatever memory holds there.
    function isWhole(bytes memory encoded) internal pure returns (bool) {
        uint256 cursor;
        assembly ("memory-safe") {
            cursor := add(encoded, 0x20)
        }
        Record memory record;
        uint256 end = _parse(record, cursor);
        return record.groups.length > 0 && end == cursor + encoded.length;
    }

    /// @return end where the record ends
    function _parse(Record memory record, uint256 cursor) private pure returns (uint256 end) {
        unchecked {
            record.key = cursor;
            end = cursor + HEAD_BYTES;
            uint256 head = _read(end - 3, 3);
            record.n = head >> 16;
            record.proofColumns = (head >> 8) & 0xff;
            record.groups = new Group[](head & 0xff);
            for (uint256 g = 0; g < record.groups.length; ++g) {
                end = _group(record.groups[g], end);
            }
        }
    }

    function _group(Group memory own, uint256 cursor) private pure returns (uint256 next) {
        unchecked {
            own.programHash = bytes32(_read(cursor, 32));
            uint256 numbers = _read(cursor + 32, 8);
            own.receipts = numbers >> 48;
            own.itemsPerReceipt = uint32(numbers >> 16);
            own.columns = (numbers >> 8) & 0xff;
            own.outputs = new Output[](numbers & 0xff);
            next = cursor + 40;
            for (uint256 i = 0; i < own.outputs.length; ++i) {
                next = _output(own.outputs[i], next);
                own.integers += own.outputs[i].published;
            }
            own.words = (own.integers + INTEGERS_PER_WORD - 1) / INTEGERS_PER_WORD;
        }
    }

    function _output(Output memory own, uint256 cursor) private pure returns (uint256 next) {
        unchecked {
            own.headerSize = _read(cursor, 1);
            own.header = cursor + 1;
            next = own.header + own.headerSize + 12;
            uint256 numbers = _read(next - 12, 12);
            own.published = numbers >> 64;
            own.side = uint32(numbers >> 32);
            own.inner = uint32(numbers);
            own.elements = own.side == 0 ? own.published : own.published / own.side;
            uint256 range = _read(own.header, 8);
            own.width = TensorTree.elementWidth(int32(uint32(range >> 32)), int32(uint32(range)));
        }
    }

    function _read(uint256 cursor, uint256 size) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, size)), mload(cursor))
        }
    }
}
