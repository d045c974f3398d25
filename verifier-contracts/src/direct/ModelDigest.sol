// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The identity of a model from its preimage; prover/verifier/model-key.ts and graph/commitment/model-digest.ts
/// @notice keyHash = keccak("assay/model-key/1" | srsId | programHash | commitments)
///   digest  = keccak("assay/model/1" | uint8 1 | graphRoot | weightsRoot | uint32 opCount | 0 | keyHash)
/// So whoever brings another program, other commitments or those of another SRS brings another model.
library ModelDigest {
    /// @param commitments offset in the call, 64 bytes each
    function keyHash(bytes32 srsId, bytes32 programHash, uint256 commitments, uint256 count)
        internal
        pure
        returns (bytes32 hash)
    {
        bytes memory head = abi.encodePacked("assay/model-key/1", srsId, programHash);
        // Assembly: head and points are put together at the free pointer, which stays where it is.
        assembly ("memory-safe") {
            let from := add(head, 0x20)
            let size := mload(head)
            let more := shl(6, count)
            mcopy(mload(0x40), from, size)
            from := mload(0x40)
            calldatacopy(add(from, size), commitments, more)
            hash := keccak256(from, add(size, more))
        }
    }

    function digest(bytes32 graphRoot, bytes32 weightsRoot, uint256 opCount, bytes32 modelKeyHash)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(
            abi.encodePacked(
                "assay/model/1", uint8(1), graphRoot, weightsRoot, uint32(opCount), bytes32(0), modelKeyHash
            )
        );
    }
}
