// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../../src/IProofVerifier.sol";

/// @title A caller that goes on after a proof was refused; never deployed elsewhere
contract ManyProofsHarness {
    /// @return verdicts whether each evidence is accepted
    function verifyAll(IProofVerifier verifier, bytes[] calldata evidences)
        external
        view
        returns (bool[] memory verdicts)
    {
        verdicts = new bool[](evidences.length);
        for (uint256 i = 0; i < evidences.length; ++i) {
            try verifier.verify(evidences[i]) returns (ProvedClaim[] memory claims) {
                verdicts[i] = claims.length == 1;
            } catch {}
        }
    }
}
