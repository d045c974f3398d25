// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @notice A value of low..high from a drawn number. Numbers in the range stay as they are, so that the edges which
/// forge likes to draw reach the test.
function bound(uint256 drawn, uint256 low, uint256 high) pure returns (uint256) {
    if (drawn >= low && drawn <= high) return drawn;
    return low + drawn % (high - low + 1);
}
