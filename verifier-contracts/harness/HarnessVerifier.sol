// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../src/IProofVerifier.sol";

/// @title Takes every claim for proved: the evidence is the ABI encoding of the claims; nothing, a refusal
contract HarnessVerifier is IProofVerifier {
    error NotProved();

    function verify(bytes calldata evidence) external pure override returns (ProvedClaim[] memory claims) {
        if (evidence.length == 0) revert NotProved();
        claims = abi.decode(evidence, (ProvedClaim[]));
    }
}
