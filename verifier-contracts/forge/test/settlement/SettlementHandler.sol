// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {LeafState} from "../../../src/ICourt.sol";
import {OrderState, OutputDemand} from "../../../src/IEscrow.sol";
import {vm} from "../Vm.sol";
import {AccountActions} from "./AccountActions.sol";
import {EndActions} from "./EndActions.sol";
import {OrderActions} from "./OrderActions.sol";

/// @title Everything that anybody may do to Escrow and ReceiptRollup, in any order, right or wrong
/// @notice Each action draws its parties and values from `seed`, foretells by the model whether the call is accepted,
/// makes it, and moves the model on. Many actions are made wrong on purpose. An action never reverts by
/// itself: a revert is a broken promise of the contracts. Actions that differ by a number are the same; they shall come
/// more often.
contract SettlementHandler is AccountActions, OrderActions, EndActions {
    /// What must hold after every call.
    /// @dev A view, as forge forgets what an invariant writes.
    function check() external view {
        vm.assertEq(escrow.clock(), _now(), "clock");
        vm.assertTrue(escrow.frozen() == _isFrozen(), "frozen");
        (uint256 available, uint256 held) = escrow.reserve();
        vm.assertEq(available, reserveFree, "reserve");
        vm.assertEq(held, reserveHeld, "reserve held");
        uint256 sum = available + held;
        uint256 outside = 0;
        for (uint256 i = 0; i < ACTORS; ++i) {
            uint256 freeNow = escrow.freeOf(actors[i]);
            vm.assertEq(freeNow, free[actors[i]], string.concat("free of actor ", vm.toString(i)));
            sum += freeNow;
            outside += token.balanceOf(actors[i]);
        }
        for (uint256 j = 0; j < jobs.length; ++j) {
            sum += _checkJob(j);
        }
        uint256 inside = token.balanceOf(address(escrow));
        vm.assertEq(inside, sum + donated, "money in Escrow");
        vm.assertEq(token.balanceOf(BURNED), burnt, "burnt");
        vm.assertEq(inside + outside + burnt, token.totalSupply(), "money everywhere");
    }

    /// @return what Escrow holds for the order
    function _checkJob(uint256 j) private view returns (uint256) {
        Job storage job = jobs[j];
        vm.assertEq(uint256(escrow.orderOf(job.orderHash).state), uint256(job.state), "state of an order");
        OutputDemand[] memory demands = escrow.demandsOf(job.orderHash);
        vm.assertEq(demands.length, asked[j].length, "number of demands");
        for (uint256 i = 0; i < demands.length; ++i) {
            Asked storage demand = asked[j][i];
            OutputDemand memory expected = OutputDemand(demand.range, uint48(demand.answerBy), demand.payee);
            vm.assertEq(keccak256(abi.encode(demands[i])), keccak256(abi.encode(expected)), "a demand");
        }
        (uint256 bounty,) = escrow.bountyOf(job.orderHash);
        vm.assertEq(bounty, job.bounty, "open bounty");
        if (job.batchHash != 0) {
            (, LeafState leaf) = rollup.leafStateOf(job.header, job.index);
            vm.assertEq(uint256(leaf), uint256(_leafOf(job)), "state of a leaf");
        }
        if (job.state == OrderState.Open || job.state == OrderState.Bound) {
            return job.order.price + job.order.surcharge + job.lock + _depositsOf(j);
        }
        vm.assertEq(_storedView(job.orderHash), job.lastView, "an ended order changed");
        return job.bounty;
    }

    /// Every order has a way out, whatever happened: time passes, anybody calls, everybody withdraws.
    function drain() external {
        vm.warp(block.timestamp + 10_000);
        for (uint256 j = 0; j < jobs.length; ++j) {
            if (jobs[j].state == OrderState.Open) _expire(j);
            if (jobs[j].state == OrderState.Bound) {
                uint256[] memory one = new uint256[](1);
                one[0] = j;
                _settle(one, type(uint256).max, actors[6]);
            }
            if (jobs[j].bounty != 0) _claim(j, 0);
            vm.assertTrue(jobs[j].state > OrderState.Bound && jobs[j].bounty == 0, "an order without exit");
        }
        for (uint256 i = 0; i < ACTORS; ++i) {
            uint256 amount = free[actors[i]];
            free[actors[i]] = 0;
            mayPay[actors[i]] = true;
            _call(actors[i], abi.encodeCall(escrow.withdraw, (amount, actors[i])), true, "last withdraw");
            mayPay[actors[i]] = false;
        }
        (uint256 available, uint256 held) = escrow.reserve();
        vm.assertEq(held, 0, "earmarks without an order");
        vm.assertEq(token.balanceOf(address(escrow)), available + donated, "money without an owner");
    }
}
