// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../IProofVerifier.sol";

/// @title One verifier of the zk lane for both ways to prove: a proof by itself, or a recursive batch
/// @notice The first byte of the evidence says which: 1 for DirectVerifier, 2 for BatchVerifier; the rest is theirs. An
/// order serves with either: which proofs fit it, its inputRoot decides (a root of tensors, or a Poseidon commitment).
/// @dev Without state and owner. Both are fixed by the constructor.
contract ZkVerifier is IProofVerifier {
    /// @notice The evidence is empty, or of neither way.
    error KindUnknown();
    /// @notice The address holds no contract.
    error VerifierMissing(address verifier);

    address public immutable direct;
    address public immutable batch;

    constructor(address direct_, address batch_) {
        if (direct_.code.length == 0) revert VerifierMissing(direct_);
        if (batch_.code.length == 0) revert VerifierMissing(batch_);
        (direct, batch) = (direct_, batch_);
    }

    /// @notice The ProgramStore of the direct verifier.
    function store() external view returns (address) {
        return IStored(direct).store();
    }

    /// @dev Assembly: hands on the evidence less its first byte, and whatever comes back, as it is.
    function verify(bytes calldata evidence) external view override returns (ProvedClaim[] memory) {
        uint256 kind = evidence.length == 0 ? 0 : uint8(evidence[0]);
        address target = kind == 1 ? direct : kind == 2 ? batch : address(0);
        if (target == address(0)) revert KindUnknown();
        bytes4 selector = IProofVerifier.verify.selector;
        assembly ("memory-safe") {
            let free := mload(0x40)
            let size := sub(evidence.length, 1)
            mstore(free, selector)
            mstore(add(free, 0x04), 0x20)
            mstore(add(free, 0x24), size)
            calldatacopy(add(free, 0x44), add(evidence.offset, 1), size)
            let success := staticcall(gas(), target, free, add(size, 0x44), 0, 0)
            returndatacopy(free, 0, returndatasize())
            if iszero(success) { revert(free, returndatasize()) }
            return(free, returndatasize())
        }
    }
}

interface IStored {
    function store() external view returns (address);
}
