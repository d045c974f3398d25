// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Claim} from "./IDisputeGame.sol";
import {Node, NodeKind, NodePath} from "./Nodes.sol";
import {NodeTree, Place} from "./NodeTree.sol";

/// @title What the dispute game asks that takes no state: is there such a node, and what does a content reveal
/// @notice The game makes its own at construction. Apart from it because of the limit on the size of a contract.
contract NodeChecks {
    /// @notice Reverts IDisputeGame.NodeInvalid where the claim has no such node. Arguments are those of
    /// `IDisputeGame.demand`, so that the game passes its calldata on as it is.
    function placeOf(Claim calldata claim, Node calldata node, NodePath calldata path, bytes calldata)
        external
        pure
        returns (Place memory)
    {
        NodeTree.requireNode(node);
        if (NodeTree.isRoot(node)) return NodeTree.placeOfRoot(claim.receipt, node);
        if (node.kind == NodeKind.Trace) return NodeTree.placeInTrace(claim.receipt, node, path);
        if (node.kind == NodeKind.Segment) return NodeTree.placeOfSegment(claim.receipt, node, path);
        return NodeTree.placeOfSlot(claim.receipt, node, path);
    }

    /// @notice NodeTree.contentBound
    function boundOf(Node calldata node, uint256 size, uint256 width, bytes calldata content)
        external
        pure
        returns (bytes32)
    {
        return NodeTree.contentBound(node, size, width, content);
    }
}
