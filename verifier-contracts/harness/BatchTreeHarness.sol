// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHash} from "../src/BatchHash.sol";
import {BatchTree} from "../src/BatchTree.sol";
import {BatchHeader, Order, Receipt} from "../src/SettlementTypes.sol";
import {TypedHash} from "../src/TypedHash.sol";

/// @title Opens the internal libraries to the tests; never deployed elsewhere
contract BatchTreeHarness {
    function leaf(uint256 index, uint8 lane, bytes32 receiptHash) external pure returns (bytes32) {
        return BatchTree.leaf(index, lane, receiptHash);
    }

    /// @return root and, from the same call, data of dynamic size, which comes out wrong if a node was hashed over
    /// the free memory pointer
    function root(uint8 lane, bytes32[] calldata receiptHashes) external pure returns (bytes32, bytes32[] memory) {
        bytes32[] memory nodes = new bytes32[](receiptHashes.length);
        for (uint256 i = 0; i < nodes.length; ++i) {
            nodes[i] = BatchTree.leaf(i, lane, receiptHashes[i]);
        }
        bytes32 top = BatchTree.root(nodes);
        return (top, receiptHashes);
    }

    function verify(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path, bytes32 expected)
        external
        pure
        returns (bool)
    {
        return BatchTree.verify(hash, index, count, path, expected);
    }

    function hashReceipt(Receipt calldata receipt) external pure returns (bytes32) {
        return TypedHash.receipt(receipt);
    }

    function digest(bytes32 separator, bytes32 structHash) external pure returns (bytes32) {
        return TypedHash.digest(separator, structHash);
    }

    function domainSeparator(address verifyingContract) external view returns (bytes32) {
        return TypedHash.domainSeparator(verifyingContract);
    }

    function hashOrder(Order calldata order) external pure returns (bytes32) {
        return TypedHash.order(order);
    }

    function acceptance(bytes32 orderHash) external pure returns (bytes32) {
        return TypedHash.acceptance(orderHash);
    }

    function cancellation(bytes32 orderHash) external pure returns (bytes32) {
        return TypedHash.cancellation(orderHash);
    }

    function registration(address account, address signer) external pure returns (bytes32) {
        return TypedHash.registration(account, signer);
    }

    function batchName(BatchHeader calldata header, address rollup) external view returns (bytes32) {
        return BatchHash.name(header, rollup);
    }

    function batchStored(bytes32 batchHash, BatchHeader calldata header) external pure returns (bytes32) {
        return BatchHash.stored(batchHash, header);
    }

    function boundLeaf(bytes32 batchHash, uint256 index, bytes32 receiptHash) external pure returns (bytes32) {
        return BatchHash.boundLeaf(batchHash, index, receiptHash);
    }

    function recover(bytes32 hash, bytes calldata signature) external pure returns (address) {
        return TypedHash.recover(hash, signature);
    }
}
