// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {WrappedNative} from "../../src/WrappedNative.sol";

/// @notice Holds wrapped coins; when it gets coins it refuses them, or asks for more.
contract StagedHolder {
    enum Mood {
        Takes,
        Refuses,
        AsksForMore
    }

    WrappedNative private immutable _token;
    Mood private _mood;

    constructor(WrappedNative token) {
        _token = token;
    }

    function setMood(Mood mood) external {
        _mood = mood;
    }

    function wrap() external payable {
        _token.deposit{value: msg.value}();
    }

    function unwrap(uint256 amount) external {
        _token.withdraw(amount);
    }

    receive() external payable {
        require(_mood != Mood.Refuses, "refused");
        if (_mood == Mood.AsksForMore) _token.withdraw(msg.value);
    }
}
