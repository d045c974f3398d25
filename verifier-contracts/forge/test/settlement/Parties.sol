// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OrderState, OrderView, Settlement} from "../../../src/IEscrow.sol";
import {Receipt} from "../../../src/SettlementTypes.sol";
import {vm} from "../Vm.sol";
import {ContractWallet} from "./ScriptedJudges.sol";
import {SettlementModel} from "./SettlementModel.sol";
import {Signing} from "./Signing.sol";

/// @title Who acts, and how a call is made and judged
abstract contract Parties is SettlementModel {
    uint256 internal constant ACTORS = 9;
    uint256 private constant WALLET = 2;
    uint256 private constant GUARDIAN = 7;
    uint256 private constant GOVERNOR = 8;
    uint256 internal constant START_FUNDS = 1e15;
    // Sets of states, for _pick.
    uint256 internal constant EVERY_STATE = 0x3f;
    uint256 internal constant OPEN = 1 << uint256(OrderState.Open);
    uint256 internal constant BOUND = 1 << uint256(OrderState.Bound);

    /// Requesters are the first three, the third of them a contract; executors' accounts are 1, 3 and 4. All may serve
    /// as helpers, checkers and reporters.
    address[] internal actors;
    /// Executors' keys, in the order of registration.
    address[] internal signers;
    mapping(address signer => uint256) internal keyOf;
    /// Whose balance may fall in the call at hand.
    mapping(address account => bool) internal mayPay;
    uint256 internal nonce;

    constructor() {
        _deploy();
        for (uint256 i = 0; i < ACTORS; ++i) {
            uint256 key = i == GUARDIAN ? 0x90a4 : i == GOVERNOR ? 0x907e : 0xa000 + i;
            address account = i == WALLET ? address(new ContractWallet()) : vm.addr(key);
            actors.push(account);
            if (i != WALLET) keyOf[account] = key;
            vm.deal(address(this), START_FUNDS);
            token.deposit{value: START_FUNDS}();
            token.transfer(account, START_FUNDS);
            vm.prank(account);
            token.approve(address(escrow), type(uint256).max);
        }
    }

    function _call(address sender, bytes memory data, bool accepted, string memory what) internal {
        _callAt(address(escrow), sender, data, accepted, what);
    }

    /// Makes the call, and requires that it is accepted or refused as foretold, and that nobody's free balance falls
    /// whose consent it does not carry.
    function _callAt(address target, address sender, bytes memory data, bool accepted, string memory what) internal {
        uint256[] memory before = new uint256[](ACTORS);
        for (uint256 i = 0; i < actors.length; ++i) {
            before[i] = escrow.freeOf(actors[i]);
        }
        // A transaction of its own: the rollup takes batches from plain accounts alone.
        vm.prank(sender, sender);
        (bool ok, bytes memory result) = target.call(data);
        ++reached[string.concat(what, accepted ? " accepted" : " refused")];
        if (ok != accepted) {
            string memory found = ok ? " was accepted" : " was refused: ";
            vm.assertTrue(false, string.concat(what, found, ok ? "" : vm.toString(result)));
        }
        for (uint256 i = 0; i < actors.length; ++i) {
            if (mayPay[actors[i]]) continue;
            vm.assertTrue(escrow.freeOf(actors[i]) >= before[i], "free balance fell without consent");
        }
        _remember();
    }

    /// Keeps what Escrow says of orders that have just ended.
    function _remember() private {
        for (uint256 j = 0; j < jobs.length; ++j) {
            Job storage job = jobs[j];
            if (job.state > OrderState.Bound && job.lastView == 0) job.lastView = _storedView(job.orderHash);
        }
    }

    /// Hash of what Escrow stores of an order.
    function _storedView(bytes32 orderHash) internal view returns (bytes32) {
        OrderView memory seen = escrow.orderOf(orderHash);
        return keccak256(abi.encode(seen.state, seen.account, seen.deliverBy, seen.price, seen.lock, seen.leaf));
    }

    // --- Draws

    function _draw(uint256 seed, uint256 i) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, i)));
    }

    /// The first order from a drawn place on whose state is in the mask; that at the place where there is none.
    function _pick(uint256 seed, uint256 states) internal view returns (uint256) {
        uint256 count = jobs.length;
        for (uint256 i = 0; i < count; ++i) {
            uint256 j = (seed % count + i) % count;
            if (states >> uint256(jobs[j].state) & 1 == 1) return j;
        }
        return seed % count;
    }

    // --- Signatures

    /// The requester's consent: a signature, or an entry in his wallet; and whether it is right.
    function _approve(address requester, bytes32 digest, bool right) internal returns (bytes memory, bool) {
        if (requester != actors[WALLET]) return (Signing.sign(keyOf[right ? requester : actors[5]], digest), right);
        ContractWallet wallet = ContractWallet(requester);
        if (right) wallet.approve(digest);
        // What a wallet has approved once, it approves for ever.
        return ("", wallet.approved(digest));
    }

    function _signReceipt(Receipt memory receipt, address signer) internal view returns (bytes memory) {
        return Signing.sign(keyOf[signer], Signing.digest(address(rollup), Signing.receiptHash(receipt)));
    }

    function _settlementOf(Job storage job) internal view returns (Settlement memory) {
        return Settlement({order: job.order, receipt: job.receipt, header: job.header, index: job.index});
    }
}
