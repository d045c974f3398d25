// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHeader} from "./SettlementTypes.sol";

/// @title The names of batches and of their leaves; receipts/batch.ts is the same in TypeScript
library BatchHash {
    /// A batch's bitmaps are one word.
    uint256 internal constant MAX_BATCH = 256;

    bytes32 private constant TAG = keccak256("assay/batch/2");

    /// @notice What a batch is and where. Chain, contract, poster and salt are part of the name: a reorganisation never
    /// swaps what a batch hash means. The block is not: a commit that moved to another block keeps its name.
    function name(BatchHeader memory header, address rollup) internal view returns (bytes32) {
        return keccak256(
            abi.encode(
                TAG,
                block.chainid,
                rollup,
                header.poster,
                header.salt,
                uint256(header.lane),
                uint256(header.count),
                header.policyHash,
                header.batchRoot
            )
        );
    }

    /// @notice The whole header: what the rollup keeps under the batch's name.
    function stored(bytes32 batchHash, BatchHeader memory header) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(batchHash, header.unbound, uint256(header.committedAt), uint256(header.committedBlock))
        );
    }

    /// @notice What an order is bound to: this receipt at this place of this batch.
    function boundLeaf(bytes32 batchHash, uint256 index, bytes32 receiptHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(batchHash, index, receiptHash));
    }

    /// @notice One bit for each of `count` leaves, 1 to 256.
    function allLeaves(uint256 count) internal pure returns (uint256) {
        return type(uint256).max >> (MAX_BATCH - count);
    }
}
