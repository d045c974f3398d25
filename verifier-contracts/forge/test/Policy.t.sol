// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IEscrow} from "../../src/IEscrow.sol";
import {Policy} from "../../src/SettlementTypes.sol";
import {Deployment} from "./settlement/Deployment.sol";
import {bound} from "./bound.sol";
import {create} from "./create.sol";
import {vm} from "./Vm.sol";

/// @title Which terms Escrow takes: those of the errata (E4, E9, section 4), and what follows from them
contract PolicyTest is Deployment {
    function setUp() external {
        _deploy();
    }

    /// A good policy with one field changed, most often to where the bound lies.
    function testFuzz_bounds(uint256 field, uint256 value, uint256 edge) external {
        Policy memory policy = _changed(_policy(), field % 19, value, edge % 3);
        _checkAddition(policy);
    }

    function testFuzz_boundsOfTightTerms(uint256 field, uint256 value, uint256 edge) external {
        Policy memory policy = _changed(_tightPolicy(), field % 19, value, edge % 3);
        _checkAddition(policy);
    }

    /// Forge's own draws for all fields at once.
    function testFuzz_anyPolicy(Policy memory policy) external {
        _checkAddition(policy);
    }

    /// With terms that were taken, no end of an order asks a lock for more than it holds.
    function testFuzz_lockCoversEveryEnd(
        uint128 minLock,
        uint16 openBps,
        uint16 auditBps,
        uint128 auditFee,
        uint64 unitPrice,
        uint128 lock
    ) external {
        Policy memory policy = _policy();
        policy.minLock = uint128(bound(minLock, 100_000, type(uint128).max));
        policy.bountyOpenBps = uint16(bound(openBps, 0, 2_100));
        policy.bountyAuditBps = uint16(bound(auditBps, 0, 10_100));
        policy.auditFee = uint128(bound(auditFee, 0, policy.minLock / 3));
        uint256 most = policy.minLock / 5 / policy.gasKill + 1;
        policy.unitPrice = uint64(bound(unitPrice, 1, most > type(uint64).max ? type(uint64).max : most));
        policy.noShowFee = 0;
        if (!_isGood(policy)) return;
        _add(governor, policy);
        // Any lock that an order may have under these terms.
        uint256 held = bound(lock, policy.minLock, type(uint128).max);
        uint256 refund = uint256(policy.gasKill) * policy.unitPrice;
        vm.assertTrue(refund + held * policy.bountyOpenBps / 10_000 <= held, "equivocation, dispute");
        vm.assertTrue(refund + held * policy.bountyAuditBps / 10_000 + policy.auditFee <= held, "audit");
    }

    function testFuzz_onlyTheGovernor(address sender) external {
        vm.assume(sender != governor);
        vm.prank(sender);
        (bool ok,) = address(escrow).call(abi.encodeCall(escrow.addPolicy, (_fresh())));
        vm.assertFalse(ok, "stranger added terms");
    }

    /// Terms count from the delay on, and their name is the hash of all of them.
    function testFuzz_inForceAfterTheDelay(uint32 later) external {
        vm.warp(block.timestamp + later);
        Policy memory policy = _fresh();
        bytes32 policyHash = _add(governor, policy);
        vm.assertEq(policyHash, keccak256(abi.encode(policy)), "name");
        vm.assertEq(escrow.policyOpenFrom(policyHash), block.timestamp + POLICY_DELAY, "in force from");
        vm.assertEq(keccak256(abi.encode(escrow.policyOf(policyHash))), policyHash, "kept as given");
    }

    /// Off the development chain: a week of notice, a freeze of a week at most, a month between two.
    function testFuzz_delaysOfADeployment(uint48 delay, uint48 freeze, uint48 rest, bool seconds_) external {
        uint256 unit = seconds_ ? 1 : 12;
        delay = uint48(bound(delay, 0, 10 days / unit));
        freeze = uint48(bound(freeze, 0, 10 days / unit));
        rest = uint48(bound(rest, 0, 40 days / unit));
        vm.chainId(1);
        address made = create("Escrow", _arguments(address(rollup), seconds_, delay, freeze, rest));
        bool good = delay * unit >= 7 days && freeze * unit <= 7 days && rest * unit >= 30 days;
        vm.assertTrue((made != address(0)) == good, "delays");
    }

    function _fresh() private view returns (Policy memory policy) {
        policy = _policy();
        policy.minDeliver = 77;
    }

    function _checkAddition(Policy memory policy) private {
        bytes32 policyHash = keccak256(abi.encode(policy));
        bool known =
            policyHash == keccak256(abi.encode(_policy())) || policyHash == keccak256(abi.encode(_tightPolicy()));
        vm.prank(governor);
        (bool ok, bytes memory reason) = address(escrow).call(abi.encodeCall(escrow.addPolicy, (policy)));
        vm.assertTrue(ok == (_isGood(policy) && !known), "wrong answer about terms");
        if (ok) return;
        bytes4 expected = _isGood(policy) ? IEscrow.PolicyKnown.selector : IEscrow.PolicyInvalid.selector;
        vm.assertEq(bytes32(bytes4(reason)), bytes32(expected), "reason");
        vm.assertEq(escrow.policyOpenFrom(keccak256("no policy")), 0, "in force");
    }

    function _add(address sender, Policy memory policy) private returns (bytes32) {
        vm.prank(sender);
        return escrow.addPolicy(policy);
    }

    function _isGood(Policy memory policy) private view returns (bool) {
        uint256 lock = policy.minLock;
        uint256 kill = uint256(policy.gasKill) * policy.unitPrice;
        uint256 answer = policy.gasAnswer + uint256(policy.gasAnswerByte) * 16_384;
        if (policy.deliveryWindow == 0 || policy.minDeliver == 0 || policy.unitPrice == 0 || lock == 0) return false;
        if (policy.answerTime == 0 || policy.answerTime % 2 == 1) return false;
        if (policy.precommitDelay == 0 || policy.responseTime < uint256(policy.precommitDelay) + 2) return false;
        if (policy.gasKill < 21_000 || policy.gasAnswer < 21_000 || policy.gasAnswerByte < 40) return false;
        if (answer > 2_097_152 || policy.protocolFeeBps > 10_000 || policy.noShowFee > lock) return false;
        if (lock * policy.bountyOpenBps / 10_000 + kill > lock / 5) return false;
        if (lock * policy.bountyAuditBps / 10_000 + kill + 3 * uint256(policy.auditFee) > lock) return false;
        return _isJudge(policy.verifier) && _isJudge(policy.game) && _isJudge(policy.court);
    }

    function _isJudge(address judge) private view returns (bool) {
        return judge == address(0) || judge.code.length > 0;
    }

    /// @param edge 0: the value as drawn; 1, 2: the last that is good, and the first that is not
    function _changed(Policy memory policy, uint256 field, uint256 value, uint256 edge)
        private
        view
        returns (Policy memory)
    {
        uint256 beyond = edge == 2 ? 1 : 0;
        uint256 lock = policy.minLock;
        uint256 kill = uint256(policy.gasKill) * policy.unitPrice;
        bool drawn = edge == 0;
        if (field == 0) policy.deliveryWindow = uint32(drawn ? value : 1 - beyond);
        if (field == 1) policy.answerTime = uint32(drawn ? value : 2 - beyond);
        if (field == 2) policy.responseTime = uint32(drawn ? value : 2 + policy.precommitDelay - beyond);
        if (field == 3) policy.precommitDelay = uint32(drawn ? value : policy.responseTime - 2 + beyond);
        if (field == 4) policy.minDeliver = uint32(drawn ? value : 1 - beyond);
        if (field == 5) policy.bountyOpenBps = uint16(drawn ? value : (lock / 5 - kill) * 10_000 / lock + beyond);
        if (field == 6) {
            uint256 left = lock - kill - 3 * uint256(policy.auditFee);
            policy.bountyAuditBps = uint16(drawn ? value : left * 10_000 / lock + beyond);
        }
        if (field == 7) policy.protocolFeeBps = uint16(drawn ? value : 10_000 + beyond);
        if (field == 8) policy.lockFactorBps = uint32(value);
        if (field == 9) policy.minLock = uint128(drawn ? value : 10 * kill - beyond);
        if (field == 10) policy.noShowFee = uint128(drawn ? value : lock + beyond);
        if (field == 11) {
            uint256 left = lock - kill - lock * policy.bountyAuditBps / 10_000;
            policy.auditFee = uint128(drawn ? value : left / 3 + beyond);
        }
        if (field == 12) policy.unitPrice = uint64(drawn ? value : 1 - beyond);
        if (field == 13) policy.gasKill = uint32(drawn ? value : 21_000 - beyond);
        if (field == 14) policy.gasAnswer = uint32(drawn ? value : 2_097_152 - 40 * 16_384 + beyond);
        if (field == 15) policy.gasAnswerByte = uint16(drawn ? value : 40 - beyond);
        if (field == 16) policy.verifier = drawn ? address(uint160(value)) : beyond == 0 ? address(0) : governor;
        if (field == 17) policy.game = drawn ? address(uint160(value)) : beyond == 0 ? address(0) : governor;
        if (field == 18) policy.court = drawn ? address(uint160(value)) : beyond == 0 ? address(0) : governor;
        return policy;
    }
}
