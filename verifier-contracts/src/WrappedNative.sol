// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title The chain's own coin as a token, one for one
/// @notice What a deployment settles in where no other token is given.
contract WrappedNative is ERC20 {
    error SendFailed();

    constructor() ERC20("Wrapped native coin", "WNATIVE") {}

    receive() external payable {
        deposit();
    }

    /// @notice Gives the caller as many tokens as coins came along.
    function deposit() public payable {
        _mint(msg.sender, msg.value);
    }

    /// @notice Takes `amount` of the caller's tokens and sends him the coins.
    function withdraw(uint256 amount) external {
        // Tokens first: a recipient who calls back finds them gone.
        _burn(msg.sender, amount);
        (bool sent,) = msg.sender.call{value: amount}("");
        if (!sent) revert SendFailed();
    }
}
