// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchOutputs} from "../../src/batch/BatchOutputs.sol";
import {BatchRecord, Group} from "../../src/batch/BatchRecord.sol";

/// @title Shows what BatchVerifier reads out of a record and of published integers
contract BatchOutputsHarness {
    /// @param integers of one receipt of group `g`, int32 each
    function read(bytes memory record, uint256 g, bytes calldata integers)
        external
        returns (uint256 published, bytes32 root, uint256[] memory words)
    {
        Group memory group = BatchRecord.load(BatchRecord.keep(record)).groups[g];
        uint256 offset;
        uint256 to;
        words = new uint256[](group.words);
        assembly ("memory-safe") {
            offset := integers.offset
            to := add(words, 0x20)
        }
        BatchOutputs.pack(offset, group.integers, to);
        return (group.integers, BatchOutputs.rootOf(group.outputs, offset), words);
    }

    function isWhole(bytes memory record) external pure returns (bool) {
        return BatchRecord.isWhole(record);
    }
}
