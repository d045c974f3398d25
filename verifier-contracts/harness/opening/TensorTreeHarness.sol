// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OutputOpening, OutputRange} from "../../src/IEscrow.sol";
import {TensorTree} from "../../src/TensorTree.sol";

/// @title Opens the internal library to the tests; never deployed elsewhere
contract TensorTreeHarness {
    function opens(bytes32 outputRoot, OutputRange calldata range, OutputOpening calldata opening)
        external
        pure
        returns (bool)
    {
        return TensorTree.opens(outputRoot, range, opening);
    }

    function readHeader(bytes calldata encoded) external pure returns (bool valid, TensorTree.Header memory header) {
        uint256 offset;
        assembly ("memory-safe") {
            offset := encoded.offset
        }
        return TensorTree.readHeader(offset, encoded.length);
    }
}
