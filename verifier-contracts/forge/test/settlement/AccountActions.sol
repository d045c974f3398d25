// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Policy} from "../../../src/SettlementTypes.sol";
import {bound} from "../bound.sol";
import {vm} from "../Vm.sol";
import {Parties} from "./Parties.sol";
import {Signing} from "./Signing.sol";

/// @title Deposits and withdrawals, nodes, policies, freeze and time
abstract contract AccountActions is Parties {
    uint256 private constant MAX_SIGNERS = 40;
    uint256 private constant MAX_POLICIES = 5;

    constructor() {
        _learnPolicy(_policy(), block.timestamp);
        _learnPolicy(_tightPolicy(), block.timestamp);
        for (uint256 i = 0; i < 6; ++i) {
            free[actors[i]] += 100_000_000;
            _call(actors[i], abi.encodeCall(escrow.deposit, (actors[i], 100_000_000)), true, "deposit");
        }
        fundReserve(5, 1_000_000);
        for (uint256 i = 0; i < 4; ++i) {
            register(i, i);
        }
    }

    // --- Accounts

    function deposit(uint256 from, uint256 to, uint256 amount) external {
        from %= ACTORS;
        to %= ACTORS;
        amount = bound(amount, 0, amount % 16 == 0 ? 2 * START_FUNDS : 5_000_000);
        bool accepted = !_isFrozen() && amount <= token.balanceOf(actors[from]);
        if (accepted) free[actors[to]] += amount;
        _call(actors[from], abi.encodeCall(escrow.deposit, (actors[to], amount)), accepted, "deposit");
    }

    function withdraw(uint256 from, uint256 to, uint256 amount) external {
        address account = actors[from % ACTORS];
        // To itself Escrow pays nothing: the balance would not move.
        address target = to % 16 == 0 ? address(escrow) : actors[to % ACTORS];
        amount = bound(amount, 0, amount % 4 == 0 ? 2 * free[account] : free[account]);
        bool accepted = amount <= free[account] && (target != address(escrow) || amount == 0);
        if (accepted) free[account] -= amount;
        mayPay[account] = true;
        _call(account, abi.encodeCall(escrow.withdraw, (amount, target)), accepted, "withdraw");
        mayPay[account] = false;
    }

    /// Tokens sent to Escrow without a call: nobody's, for ever.
    function donate(uint256 from, uint256 amount) external {
        address account = actors[from % ACTORS];
        // Nobody gives what he has not: he may have deposited everything.
        uint256 left = token.balanceOf(account);
        amount = bound(amount, 0, left < 1_000 ? left : 1_000);
        vm.prank(account);
        token.transfer(address(escrow), amount);
        donated += amount;
    }

    function fundReserve(uint256 from, uint256 amount) public {
        address account = actors[from % ACTORS];
        amount = bound(amount, 0, amount % 8 == 0 ? 2 * free[account] : 1_000_000);
        bool accepted = !_isFrozen() && amount <= free[account];
        if (accepted) {
            free[account] -= amount;
            reserveFree += amount;
        }
        mayPay[account] = true;
        _call(account, abi.encodeCall(escrow.fundReserve, (amount)), accepted, "fundReserve");
        mayPay[account] = false;
    }

    // --- Nodes and policies

    function register(uint256 who, uint256 seed) public {
        if (signers.length == MAX_SIGNERS) return;
        address account = actors[[1, 3, 4][who % 3]];
        bool known = seed % 8 == 7;
        uint256 key = 0xb000 + signers.length;
        address signer = known ? signers[seed % signers.length] : vm.addr(key);
        if (known) key = keyOf[signer];
        bool signed = seed % 16 != 6;
        bytes32 digest = Signing.registration(address(rollup), signed ? account : actors[5], signer);
        bool accepted = !_isFrozen() && !known && signed;
        if (accepted) {
            signers.push(signer);
            keyOf[signer] = key;
            nodeAccount[signer] = account;
            nodeActive[signer] = true;
        }
        bytes memory signature = Signing.sign(key, digest);
        _call(account, abi.encodeCall(escrow.registerNode, (signer, signature)), accepted, "registerNode");
    }

    function retire(uint256 seed) external {
        // One in four, or nobody would be left to work.
        if (seed % 4 != 0) return;
        address signer = signers[_draw(seed, 0) % signers.length];
        address sender = _draw(seed, 1) % 4 == 0 ? actors[5] : nodeAccount[signer];
        bool accepted = !_isFrozen() && sender == nodeAccount[signer];
        if (accepted) nodeActive[signer] = false;
        _call(sender, abi.encodeCall(escrow.retireNode, (signer)), accepted, "retireNode");
    }

    function changePolicies(uint256 seed) external {
        address sender = seed % 8 == 7 ? actors[5] : governor;
        if (_draw(seed, 0) % 2 == 0) {
            if (policyHashes.length == MAX_POLICIES) return;
            Policy memory policy = _policy();
            policy.minDeliver = uint32(20 + _draw(seed, 1) % 4);
            // The court of the first release: nobody to judge the optimistic lane.
            policy.game = address(0);
            bool known = policies[keccak256(abi.encode(policy))].minLock != 0;
            bool accepted = !_isFrozen() && sender == governor && !known;
            if (accepted) _learnPolicy(policy, _now() + POLICY_DELAY);
            _call(sender, abi.encodeCall(escrow.addPolicy, (policy)), accepted, "addPolicy");
        } else {
            // The two of the beginning stay open, so that there is something to do.
            uint256 i = 2 + _draw(seed, 1) % 3;
            bytes32 policyHash = i < policyHashes.length ? policyHashes[i] : keccak256("no policy");
            bool accepted = sender == governor && i < policyHashes.length;
            if (accepted) openFrom[policyHash] = 0;
            _call(sender, abi.encodeCall(escrow.closePolicy, (policyHash)), accepted, "closePolicy");
        }
    }

    function _learnPolicy(Policy memory policy, uint256 from) private {
        bytes32 policyHash = keccak256(abi.encode(policy));
        policies[policyHash] = policy;
        openFrom[policyHash] = from;
        policyHashes.push(policyHash);
    }

    // --- Freeze and time

    function freeze(uint256 seed) external {
        // Nothing else happens while frozen.
        if (seed % 4 > 1) return;
        address sender = _draw(seed, 0) % 4 == 0 ? actors[6] : guardian;
        uint256 time = block.timestamp;
        bool rested = freezeStart == 0 || time > freezeStart + MAX_FREEZE + COOL_DOWN;
        bool accepted = sender == guardian && rested;
        if (accepted) {
            frozenBefore += freezeEnd - freezeStart;
            freezeStart = time;
            freezeEnd = time + MAX_FREEZE;
        }
        _call(sender, abi.encodeCall(escrow.freeze, ()), accepted, "freeze");
    }

    function unfreeze(uint256 seed) external {
        address sender = seed % 4 == 0 ? actors[6] : guardian;
        bool accepted = sender == guardian && _isFrozen();
        if (accepted) freezeEnd = block.timestamp;
        _call(sender, abi.encodeCall(escrow.unfreeze, ()), accepted, "unfreeze");
    }

    /// @dev Under several names, so that it is drawn more often.
    function wait1(uint256 seed) external {
        _wait(seed);
    }

    function wait2(uint256 seed) external {
        _wait(seed);
    }

    function wait3(uint256 seed) external {
        _wait(seed);
    }

    function _wait(uint256 seed) private {
        uint256 kind = seed % 16;
        uint256 most = kind == 0 ? 400 : kind == 1 || _isFrozen() ? 70 : 6;
        uint256 before = escrow.clock();
        uint256 step = 1 + _draw(seed, 0) % most;
        vm.warp(block.timestamp + step);
        vm.roll(block.number + 1 + step / 12);
        uint256 moved = escrow.clock() - before;
        vm.assertTrue(moved <= step, "the clock ran ahead");
        vm.assertTrue(!_isFrozen() || freezeStart != block.timestamp - step || moved == 0, "the clock ran in a freeze");
    }
}
