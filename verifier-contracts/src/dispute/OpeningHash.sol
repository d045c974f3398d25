// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title EIP-712 struct hash of what an executor says in a dispute; receipts/eip712.ts is the same in TypeScript
/// @dev Apart from TypedHash.sol, which all settlement contracts are compiled with.
library OpeningHash {
    bytes32 private constant OPENING_TYPE = keccak256(
        "Opening(bytes32 orderHash,bytes32 batchHash,uint32 index,bytes32 nodeId,bytes32 contentHash)"
    );

    /// @notice What the executor signs so that a statement which no hash binds counts as his.
    /// @param index of the leaf in its batch; below 2^32
    /// @param contentHash keccak of the content as `IDisputeGame.answer` takes it
    function opening(bytes32 orderHash, bytes32 batchHash, uint256 index, bytes32 nodeId, bytes32 contentHash)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(OPENING_TYPE, orderHash, batchHash, index, nodeId, contentHash));
    }
}
