// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt, LeafState} from "../../src/ICourt.sol";
import {BatchHeader} from "../../src/SettlementTypes.sol";

/// @notice Says what the test tells it. Stands for a dispute game as well as for an audit court.
contract StagedCourt is ICourt {
    struct Award {
        address checker;
        address reporter;
    }

    mapping(bytes32 batchHash => mapping(uint256 index => LeafState)) private _states;
    mapping(bytes32 batchHash => mapping(uint256 index => Award)) private _awards;

    function set(bytes32 batchHash, uint256 index, LeafState state, address checker, address reporter) external {
        _states[batchHash][index] = state;
        _awards[batchHash][index] = Award({checker: checker, reporter: reporter});
    }

    function leafState(bytes32 batchHash, BatchHeader calldata, uint256 index)
        external
        view
        override
        returns (LeafState)
    {
        return _states[batchHash][index];
    }

    function awardOf(bytes32 batchHash, uint256 index) external view override returns (address, address) {
        Award memory award = _awards[batchHash][index];
        return (award.checker, award.reporter);
    }
}
