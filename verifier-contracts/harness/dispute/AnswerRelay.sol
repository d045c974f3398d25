// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Passes a call on, so that the game's caller is no plain account
contract AnswerRelay {
    function relay(address to, bytes calldata data) external {
        (bool ok, bytes memory answer) = to.call(data);
        if (ok) return;
        // The refusal as it came.
        assembly ("memory-safe") {
            revert(add(answer, 0x20), mload(answer))
        }
    }
}
