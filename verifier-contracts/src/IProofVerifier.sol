// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// What one receipt's share of a proof shows: the model with that digest, applied to the inputs under `inputRoot`,
/// gives the outputs under `outputRoot`.
struct ProvedClaim {
    bytes32 modelDigest;
    uint32 items;
    bytes32 inputRoot;
    bytes32 outputRoot;
    /// What the proof was made for and serves alone: the hash of the order.
    bytes32 context;
}

/// @title Checks proofs of the zk lane; stateless, without owner
interface IProofVerifier {
    /// @notice Reverts unless the evidence proves what is returned.
    /// @param evidence proof and public values, in the verifier's own layout
    function verify(bytes calldata evidence) external view returns (ProvedClaim[] memory claims);
}
