// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice A token that anybody mints; on request it takes a fee on transfers, or calls somebody in the middle of one.
contract StagedToken is ERC20 {
    uint256 private _feeBps;
    address private _target;
    bytes private _data;
    /// What the call in the last transfer gave back; empty where it went well.
    bytes public failure;

    constructor() ERC20("Staged", "STAGED") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function takeFee(uint256 bps) external {
        _feeBps = bps;
    }

    /// @notice From now on every transfer calls `target` with `data`; zero: none does.
    function callInTransfer(address target, bytes calldata data) external {
        _target = target;
        _data = data;
    }

    function _update(address from, address to, uint256 amount) internal override {
        super._update(from, to, amount);
        if (from == address(0) || to == address(0)) return;
        if (_feeBps != 0) super._update(to, address(0), amount * _feeBps / 10_000);
        if (_target == address(0)) return;
        (bool ok, bytes memory answer) = _target.call(_data);
        failure = ok ? bytes("") : answer;
    }
}
