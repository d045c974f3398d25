// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt, LeafState} from "../src/ICourt.sol";
import {BatchHeader} from "../src/SettlementTypes.sol";

/// @title A judge who says what a test tells him to; Challengeable until told
contract HarnessCourt is ICourt {
    struct Ruling {
        bool given;
        LeafState state;
    }

    struct Award {
        address checker;
        address reporter;
    }

    /// As a dispute game has them: where it stands for one, clients ask.
    uint32 public constant window = 30;
    address public immutable step = address(this);

    mapping(bytes32 batchHash => mapping(uint256 index => Ruling)) private _rulings;
    mapping(bytes32 batchHash => mapping(uint256 index => Award)) private _awards;

    function rule(bytes32 batchHash, uint256 index, LeafState state) external {
        _rulings[batchHash][index] = Ruling({given: true, state: state});
    }

    function award(bytes32 batchHash, uint256 index, address checker, address reporter) external {
        _awards[batchHash][index] = Award({checker: checker, reporter: reporter});
    }

    function leafState(bytes32 batchHash, BatchHeader calldata, uint256 index)
        external
        view
        override
        returns (LeafState)
    {
        Ruling memory ruling = _rulings[batchHash][index];
        return ruling.given ? ruling.state : LeafState.Challengeable;
    }

    function awardOf(bytes32 batchHash, uint256 index) external view override returns (address, address) {
        Award memory given = _awards[batchHash][index];
        return (given.checker, given.reporter);
    }
}
