// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IEscrow} from "../../../src/IEscrow.sol";
import {IReceiptRollup} from "../../../src/IReceiptRollup.sol";
import {Policy} from "../../../src/SettlementTypes.sol";
import {ScriptedCourt, ScriptedVerifier} from "./ScriptedJudges.sol";
import {create} from "../create.sol";
import {vm} from "../Vm.sol";

interface IWrappedNative {
    function deposit() external payable;
    function transfer(address to, uint256 amount) external returns (bool);
    function approve(address spender, uint256 amount) external returns (bool);
    function balanceOf(address account) external view returns (uint256);
    function totalSupply() external view returns (uint256);
}

/// @title Token, Escrow and ReceiptRollup as they are deployed, with scripted courts and verifier
abstract contract Deployment {
    uint48 internal constant POLICY_DELAY = 40;
    uint48 internal constant MAX_FREEZE = 50;
    uint48 internal constant COOL_DOWN = 150;
    address internal constant BURNED = 0x000000000000000000000000000000000000dEaD;

    IWrappedNative internal token;
    IEscrow internal escrow;
    IReceiptRollup internal rollup;
    ScriptedCourt internal court;
    ScriptedVerifier internal verifier;
    address internal governor = vm.addr(0x907e);
    address internal guardian = vm.addr(0x90a4);

    function _deploy() internal {
        _deployJudges();
        address escrowAt = vm.computeCreateAddress(address(this), vm.getNonce(address(this)));
        address rollupAt = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        vm.assertEq(escrowAt, address(court.escrow()), "escrow's address");
        escrow = IEscrow(create("Escrow", _arguments(rollupAt, true, POLICY_DELAY, MAX_FREEZE, COOL_DOWN)));
        rollup = IReceiptRollup(create("ReceiptRollup", abi.encode(escrowAt)));
        vm.assertTrue(address(escrow) == escrowAt && address(rollup) == rollupAt, "not deployed");
    }

    /// Everything that Escrow asks for. The court knows the address of what is created next.
    function _deployJudges() internal {
        vm.warp(1_000_000);
        vm.roll(1_000);
        token = IWrappedNative(create("WrappedNative", ""));
        verifier = new ScriptedVerifier();
        court = new ScriptedCourt(vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1));
    }

    function _arguments(address rollup_, bool clockIsTimestamp, uint48 policyDelay, uint48 maxFreeze, uint48 coolDown)
        internal
        view
        returns (bytes memory)
    {
        Policy[] memory genesis = new Policy[](2);
        genesis[0] = _policy();
        genesis[1] = _tightPolicy();
        return abi.encode(
            address(token), rollup_, clockIsTimestamp, governor, guardian, policyDelay, maxFreeze, coolDown, genesis
        );
    }

    function _policy() internal view returns (Policy memory) {
        return Policy({
            deliveryWindow: 60,
            answerTime: 20,
            responseTime: 30,
            precommitDelay: 3,
            minDeliver: 10,
            bountyOpenBps: 1_000,
            bountyAuditBps: 5_000,
            protocolFeeBps: 250,
            lockFactorBps: 20_000,
            // Odd, so that every share is rounded.
            minLock: 2_000_003,
            noShowFee: 300_007,
            auditFee: 12_347,
            unitPrice: 1,
            gasKill: 100_000,
            gasAnswer: 60_001,
            gasAnswerByte: 40,
            verifier: address(verifier),
            game: address(court),
            court: address(court)
        });
    }

    /// Every share at the edge of what the constructor takes: ends of orders leave nothing of the lock.
    function _tightPolicy() internal view returns (Policy memory policy) {
        policy = _policy();
        policy.answerTime = 2;
        policy.responseTime = 6;
        policy.precommitDelay = 4;
        policy.minDeliver = 1;
        policy.unitPrice = 3;
        policy.minLock = 3_000_000;
        // 300,000 + 300,000 of 3,000,000: a fifth.
        policy.bountyOpenBps = 1_000;
        // 2,400,000 + 300,000 + 3 x 100,000: all.
        policy.bountyAuditBps = 8_000;
        policy.auditFee = 100_000;
        policy.noShowFee = 3_000_000;
        policy.protocolFeeBps = 10_000;
        policy.lockFactorBps = 0;
    }
}
