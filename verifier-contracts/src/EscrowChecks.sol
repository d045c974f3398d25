// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IEscrow, OutputOpening, OutputRange} from "./IEscrow.sol";
import {Policy} from "./SettlementTypes.sol";
import {TensorTree} from "./TensorTree.sol";

uint256 constant BPS = 10_000;
// Elements have at most four bytes, a chunk 64 elements: 16 KiB a demand.
uint256 constant CHUNK_BYTES = 256;
uint256 constant MAX_DEMAND_CHUNKS = 64;

/// @title What Escrow asks that takes no state: may such a policy be, and does an opening open
/// @notice Escrow makes its own at construction. Apart from it because of the limit on the size of a contract.
contract EscrowChecks {
    /// EIP-7825 caps a transaction at 2^24 gas; an answer fits eight times.
    uint256 private constant MAX_ANSWER_GAS = 2 ** 24 / 8;
    /// EIP-7623: what a transaction, and a byte of it that is not zero, costs at least.
    uint256 private constant BASE_GAS = 21_000;
    uint256 private constant BYTE_GAS = 40;

    /// @notice Reverts IEscrow.PolicyInvalid with the name of the first field that is out of its range.
    /// @dev With these bounds no end of an order asks a lock for more than it holds: what is paid out of a lock of
    /// `minLock` fits, and each unit of lock above it adds at most one unit to what is paid.
    function checkPolicy(Policy calldata policy) external view {
        uint256 minLock = policy.minLock;
        uint256 gasRefund = uint256(policy.gasKill) * policy.unitPrice;
        _check(minLock != 0, "minLock");
        _check(policy.deliveryWindow != 0, "deliveryWindow");
        _check(policy.answerTime != 0 && policy.answerTime % 2 == 0, "answerTime");
        _check(policy.precommitDelay != 0, "precommitDelay");
        _check(policy.responseTime >= 2 + uint256(policy.precommitDelay), "responseTime");
        _check(policy.minDeliver != 0, "minDeliver");
        _check(policy.protocolFeeBps <= BPS, "protocolFeeBps");
        _check(policy.noShowFee <= minLock, "noShowFee");
        _check(policy.unitPrice != 0, "unitPrice");
        _check(policy.gasKill >= BASE_GAS, "gasKill");
        _check(policy.gasAnswer >= BASE_GAS, "gasAnswer");
        _check(
            policy.gasAnswerByte >= BYTE_GAS
                && policy.gasAnswer + policy.gasAnswerByte * CHUNK_BYTES * MAX_DEMAND_CHUNKS <= MAX_ANSWER_GAS,
            "gasAnswerByte"
        );
        _check(minLock * policy.bountyOpenBps / BPS + gasRefund <= minLock / 5, "bountyOpenBps");
        _check(
            minLock * policy.bountyAuditBps / BPS + gasRefund + 3 * uint256(policy.auditFee) <= minLock,
            "bountyAuditBps"
        );
        _check(policy.verifier == address(0) || policy.verifier.code.length != 0, "verifier");
        _check(policy.game == address(0) || policy.game.code.length != 0, "game");
        _check(policy.court == address(0) || policy.court.code.length != 0, "court");
        // Without any lane no order could be opened under it.
        _check(
            policy.verifier != address(0) || policy.game != address(0) || policy.court != address(0), "court"
        );
    }

    /// @notice TensorTree.opens
    function opens(bytes32 outputRoot, OutputRange calldata range, OutputOpening calldata opening)
        external
        pure
        returns (bool)
    {
        return TensorTree.opens(outputRoot, range, opening);
    }

    function _check(bool holds, string memory field) private pure {
        if (!holds) revert IEscrow.PolicyInvalid(field);
    }
}
