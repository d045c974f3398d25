// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IEscrow} from "../../src/IEscrow.sol";
import {Deployment} from "./settlement/Deployment.sol";
import {create} from "./create.sol";
import {vm} from "./Vm.sol";

/// @title The clock under freezes: it never runs back, stands still while frozen, and loses nothing else
/// @dev The reference counts: every unit of raw time that passes while not frozen moves the clock by one.
abstract contract ClockTest is Deployment {
    uint256 private _expected;
    uint256 private _started;
    uint256 private _endsAt;
    bool private _ever;

    function _isTimestamp() internal pure virtual returns (bool);

    function setUp() external {
        _deployJudges();
        address rollupAt = address(0x7011);
        escrow = IEscrow(create("Escrow", _arguments(rollupAt, _isTimestamp(), POLICY_DELAY, MAX_FREEZE, COOL_DOWN)));
        _expected = _raw();
        vm.assertEq(escrow.clock(), _expected, "the first reading");
    }

    function testFuzz_clock(uint256[24] calldata draws) external {
        for (uint256 i = 0; i < draws.length; ++i) {
            uint256 kind = draws[i] % 4;
            uint256 value = draws[i] >> 8;
            if (kind == 0) _freeze(value);
            else if (kind == 1) _unfreeze(value);
            else _pass(kind == 2 ? 1 + value % 5 : _toAnEdge(value));
            vm.assertEq(escrow.clock(), _expected, "clock");
            vm.assertTrue(escrow.frozen() == _frozen(), "frozen");
        }
    }

    function _freeze(uint256 value) private {
        bool guarded = value % 8 != 0;
        bool rested = !_ever || _raw() > _started + MAX_FREEZE + COOL_DOWN;
        vm.prank(guarded ? guardian : governor);
        (bool ok,) = address(escrow).call(abi.encodeCall(escrow.freeze, ()));
        vm.assertTrue(ok == (guarded && rested), "freeze");
        if (!ok) return;
        _ever = true;
        _started = _raw();
        _endsAt = _raw() + MAX_FREEZE;
    }

    function _unfreeze(uint256 value) private {
        bool guarded = value % 8 != 0;
        vm.prank(guarded ? guardian : governor);
        (bool ok,) = address(escrow).call(abi.encodeCall(escrow.unfreeze, ()));
        vm.assertTrue(ok == (guarded && _frozen()), "unfreeze");
        if (ok) _endsAt = _raw();
    }

    function _pass(uint256 units) private {
        uint256 from = _raw();
        for (uint256 i = from; i < from + units; ++i) {
            if (!_ever || i >= _endsAt) ++_expected;
        }
        // The other clock moves too, and must not matter.
        vm.warp(_isTimestamp() ? from + units : block.timestamp + 7 * units);
        vm.roll(_isTimestamp() ? block.number + 1 : from + units);
    }

    /// Just before, at, or just after the next time at which something changes.
    function _toAnEdge(uint256 value) private view returns (uint256) {
        uint256 edge = _frozen() && value % 2 == 0 ? _endsAt : _started + MAX_FREEZE + COOL_DOWN;
        uint256 aim = edge + (value >> 8) % 3;
        return aim > _raw() + 1 ? aim - 1 - _raw() : 1;
    }

    function _frozen() private view returns (bool) {
        return _ever && _raw() < _endsAt;
    }

    function _raw() private view returns (uint256) {
        return _isTimestamp() ? block.timestamp : block.number;
    }
}

contract TimestampClockTest is ClockTest {
    function _isTimestamp() internal pure override returns (bool) {
        return true;
    }

    function test_mode() external view {
        vm.assertEq(keccak256(bytes(escrow.CLOCK_MODE())), keccak256("mode=timestamp"), "ERC-6372");
    }
}

contract BlockNumberClockTest is ClockTest {
    function _isTimestamp() internal pure override returns (bool) {
        return false;
    }

    function test_mode() external view {
        vm.assertEq(keccak256(bytes(escrow.CLOCK_MODE())), keccak256("mode=blocknumber&from=default"), "ERC-6372");
    }
}
