// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt, LeafState} from "../../src/ICourt.sol";
import {Binding, IEscrow} from "../../src/IEscrow.sol";
import {BatchHeader, Lane} from "../../src/SettlementTypes.sol";

/// @notice The calls between Escrow and its rollup, without batches: any header is one of a batch.
contract StagedRollup {
    IEscrow public immutable escrow;
    ICourt public immutable court;
    mapping(bytes32 batchHash => uint256) public killsOf;
    /// What the last `bind` answered.
    uint256 public unbound;

    error Unauthorized(address caller);
    error LeafStateIs(LeafState state);

    constructor(IEscrow escrow_, ICourt court_) {
        escrow = escrow_;
        court = court_;
    }

    function bind(Binding[] calldata bindings) external {
        unbound = escrow.bind(bindings);
    }

    function kill(BatchHeader calldata header, uint256 index) external {
        if (msg.sender != address(escrow)) revert Unauthorized(msg.sender);
        (bytes32 batchHash, LeafState state) = leafStateOf(header, index);
        if (state != LeafState.Pending && state != LeafState.Challengeable) revert LeafStateIs(state);
        killsOf[batchHash] |= 1 << index;
    }

    function leafStateOf(BatchHeader calldata header, uint256 index)
        public
        view
        returns (bytes32 batchHash, LeafState state)
    {
        batchHash = keccak256(abi.encode(header));
        if (header.lane == Lane.ZK) return (batchHash, LeafState.Final);
        if ((killsOf[batchHash] >> index) & 1 == 1) return (batchHash, LeafState.Dead);
        return (batchHash, court.leafState(batchHash, header, index));
    }
}
