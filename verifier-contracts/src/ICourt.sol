// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHeader} from "./SettlementTypes.sol";

/// Where a bound leaf stands in the eyes of its court.
enum LeafState {
    /// It may still turn out either way, and nobody can do anything about it now.
    Pending,
    /// It may be challenged.
    Challengeable,
    /// It stands, for ever.
    Final,
    /// Nothing can be said about it any more.
    Void,
    /// It has been found wrong.
    Dead
}

/// @title Who judges the leaves of a lane: the dispute game, or the audit court
/// @notice A policy names its courts, so what judges a job never changes. The courts hold no money: Escrow pays by
/// what they answer. Both views are total: for a header that no rollup committed any answer is good, since the rollup
/// asks only about those it knows.
interface ICourt {
    /// @notice A view of the clock and of what was reported: becoming final takes no transaction.
    function leafState(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        returns (LeafState);

    /// @notice Who is paid out of the lock of a dead leaf, and for the audit of one that stands.
    /// @return checker had the leaf to check, by lot; zero where nobody had
    /// @return reporter sent the transaction that told; zero where there is none
    function awardOf(bytes32 batchHash, uint256 index) external view returns (address checker, address reporter);
}
