// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {SettlementHandler} from "./SettlementHandler.sol";
import {vm} from "../Vm.sol";

struct FuzzSelector {
    address addr;
    bytes4[] selectors;
}

/// @notice The actions; forge draws each of them equally often.
function actionsOf(SettlementHandler handler) pure returns (bytes4[] memory actions) {
    actions = new bytes4[](30);
    actions[0] = handler.deposit.selector;
    actions[1] = handler.withdraw.selector;
    actions[2] = handler.donate.selector;
    actions[3] = handler.fundReserve.selector;
    actions[4] = handler.register.selector;
    actions[5] = handler.retire.selector;
    actions[6] = handler.changePolicies.selector;
    actions[7] = handler.open1.selector;
    actions[8] = handler.open2.selector;
    actions[9] = handler.cancel.selector;
    actions[10] = handler.expire.selector;
    actions[11] = handler.commit1.selector;
    actions[12] = handler.commit2.selector;
    actions[13] = handler.find1.selector;
    actions[14] = handler.find2.selector;
    actions[15] = handler.settle1.selector;
    actions[16] = handler.settle2.selector;
    actions[17] = handler.demand1.selector;
    actions[18] = handler.demand2.selector;
    actions[19] = handler.answer1.selector;
    actions[20] = handler.answer2.selector;
    actions[21] = handler.precommit.selector;
    actions[22] = handler.slashEquivocation.selector;
    actions[23] = handler.claim1.selector;
    actions[24] = handler.claim2.selector;
    actions[25] = handler.freeze.selector;
    actions[26] = handler.unfreeze.selector;
    actions[27] = handler.wait1.selector;
    actions[28] = handler.wait2.selector;
    actions[29] = handler.wait3.selector;
}

/// @title Invariants of Escrow and ReceiptRollup under any sequence of actions
contract SettlementInvariants {
    SettlementHandler private _handler;

    function setUp() external {
        _handler = new SettlementHandler();
    }

    /// Forge calls nothing but the handler, and of it nothing but the actions.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), actionsOf(_handler));
    }

    /// After every call: clock, balances, reserve and states are the model's; all money has an owner; what has ended
    /// does not change. That calls are accepted and refused as the model says, and that nobody pays without consent,
    /// is held by the handler at each call.
    function invariant_settlement() external view {
        _handler.check();
    }

    function afterInvariant() external {
        _handler.drain();
        _handler.check();
    }
}

/// @title The actions reach every end of an order, so that the invariants are about something
contract SettlementReachTest {
    uint256 private constant SEQUENCES = 32;
    uint256 private constant ACTIONS = 160;

    function test_everyTransitionIsReached() external {
        string[51] memory names = [
            "deposit accepted",
            "deposit refused",
            "withdraw accepted",
            "withdraw refused",
            "fundReserve accepted",
            "fundReserve refused",
            "registerNode accepted",
            "registerNode refused",
            "retireNode accepted",
            "retireNode refused",
            "addPolicy accepted",
            "addPolicy refused",
            "closePolicy accepted",
            "closePolicy refused",
            "open accepted",
            "open refused",
            "cancel accepted",
            "cancel refused",
            "expire accepted",
            "expire refused",
            "commit accepted",
            "commit refused",
            "settle accepted",
            "settle refused",
            "demandOutput accepted",
            "demandOutput refused",
            "answerOutput accepted",
            "answerOutput refused",
            "slashEquivocation accepted",
            "slashEquivocation refused",
            "freeze accepted",
            "unfreeze accepted",
            "zk paid",
            "zk undelivered",
            "optimistic paid",
            "optimistic slashed",
            "optimistic void",
            "sampled paid",
            "sampled slashed",
            "sampled void",
            "sampled undelivered",
            "equivocated open",
            "equivocated alive",
            "equivocated final",
            "bounty paid at once",
            "bounty claimed",
            "bounty burnt",
            "answer paid",
            "helper paid",
            "deposit returned",
            "precommit accepted"
        ];
        uint256[] memory counts = new uint256[](names.length);
        for (uint256 sequence = 0; sequence < SEQUENCES; ++sequence) {
            SettlementHandler handler = new SettlementHandler();
            bytes4[] memory actions = actionsOf(handler);
            for (uint256 i = 0; i < ACTIONS; ++i) {
                uint256 draw = uint256(keccak256(abi.encode(sequence, i)));
                bytes memory action = abi.encodePacked(
                    actions[draw % actions.length], keccak256(abi.encode(draw)), draw >> 32, draw >> 64, draw >> 96
                );
                (bool ok, bytes memory reason) = address(handler).call(action);
                if (!ok) {
                    assembly ("memory-safe") {
                        revert(add(reason, 0x20), mload(reason))
                    }
                }
                if (i % 8 == 0) handler.check();
            }
            handler.check();
            handler.drain();
            for (uint256 n = 0; n < names.length; ++n) {
                counts[n] += handler.reached(names[n]);
            }
        }
        for (uint256 n = 0; n < names.length; ++n) {
            vm.assertTrue(counts[n] >= 1, string.concat("never: ", names[n]));
        }
    }
}
