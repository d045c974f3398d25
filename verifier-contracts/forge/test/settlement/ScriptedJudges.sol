// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt, LeafState} from "../../../src/ICourt.sol";
import {IEscrow} from "../../../src/IEscrow.sol";
import {IProofVerifier, ProvedClaim} from "../../../src/IProofVerifier.sol";
import {BatchHeader} from "../../../src/SettlementTypes.sol";

/// @title A court that finds what the test tells it, and void what it was told nothing about for long enough
contract ScriptedCourt is ICourt {
    uint256 public constant HORIZON = 600;

    struct Finding {
        LeafState state;
        address checker;
        address reporter;
    }

    IEscrow public immutable escrow;
    mapping(bytes32 batchHash => mapping(uint256 index => Finding)) private _findings;

    /// @param escrow_ may be deployed later
    constructor(address escrow_) {
        escrow = IEscrow(escrow_);
    }

    function find(bytes32 batchHash, uint256 index, Finding calldata finding) external {
        _findings[batchHash][index] = finding;
    }

    function leafState(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        override
        returns (LeafState)
    {
        LeafState state = _findings[batchHash][index].state;
        bool spoken = state != LeafState.Pending && state != LeafState.Challengeable;
        return !spoken && escrow.clock() > header.committedAt + HORIZON ? LeafState.Void : state;
    }

    function awardOf(bytes32 batchHash, uint256 index) external view override returns (address, address) {
        Finding storage finding = _findings[batchHash][index];
        return (finding.checker, finding.reporter);
    }
}

/// @title A verifier whose evidence is the claims themselves
contract ScriptedVerifier is IProofVerifier {
    function verify(bytes calldata evidence) external pure override returns (ProvedClaim[] memory) {
        return abi.decode(evidence, (ProvedClaim[]));
    }
}

/// @title A requester with code: ERC-1271, approves what was approved before
contract ContractWallet {
    mapping(bytes32 digest => bool) public approved;

    function approve(bytes32 digest) external {
        approved[digest] = true;
    }

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        return approved[digest] ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}
