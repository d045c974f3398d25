// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {LeafState} from "../../../src/ICourt.sol";
import {OrderState, OutputRange} from "../../../src/IEscrow.sol";
import {BatchHeader, Lane, Order, Policy, Receipt} from "../../../src/SettlementTypes.sol";
import {Deployment} from "./Deployment.sol";

/// @title What Escrow should hold, pay and refuse: the slow reference
/// @notice The state tables of the protocol review and its errata, in another form than Escrow's and with none of its
/// code: one balance for each account, one record for each order, every end of an order as a list of credits.
abstract contract SettlementModel is Deployment {
    struct Asked {
        OutputRange range;
        uint256 answerBy;
        /// What an answer earns; the deposit is a fifth more.
        uint256 cost;
        /// Zero until answered.
        address payee;
    }

    struct Job {
        Order order;
        bytes32 orderHash;
        address account;
        OrderState state;
        uint256 lock;
        // From here on: of a bound order.
        Receipt receipt;
        BatchHeader header;
        bytes32 batchHash;
        uint256 index;
        /// Tells the outputs under the receipt's root.
        uint256 outputSeed;
        bool killed;
        LeafState found;
        address checker;
        address reporter;
        // From here on: of an order that has ended.
        uint256 bounty;
        uint256 killedAt;
        /// Hash of what Escrow said of it then.
        bytes32 lastView;
    }

    Job[] internal jobs;
    mapping(uint256 job => Asked[]) internal asked;
    mapping(address account => uint256) internal free;
    mapping(address signer => address) internal nodeAccount;
    mapping(address signer => bool) internal nodeActive;
    mapping(bytes32 policyHash => Policy) internal policies;
    mapping(bytes32 policyHash => uint256) internal openFrom;
    bytes32[] internal policyHashes;
    mapping(bytes32 commitment => uint256) internal announced;
    uint256 internal reserveFree;
    uint256 internal reserveHeld;
    uint256 internal burnt;
    uint256 internal donated;

    /// How often something happened, by the hash of its name: for the test that all of it does.
    mapping(string what => uint256) public reached;

    uint256 internal freezeStart;
    uint256 internal freezeEnd;
    /// Length of all freezes before the last.
    uint256 internal frozenBefore;

    // --- Time

    function _isFrozen() internal view returns (bool) {
        return block.timestamp < freezeEnd;
    }

    function _now() internal view returns (uint256) {
        uint256 within = block.timestamp < freezeEnd ? block.timestamp : freezeEnd;
        return block.timestamp - frozenBefore - (within - freezeStart);
    }

    // --- Orders

    function _judgeOf(Policy storage policy, uint8 lane) internal view returns (address) {
        if (lane == Lane.ZK) return policy.verifier;
        if (lane == Lane.OPTIMISTIC) return policy.game;
        if (lane == Lane.SAMPLED) return policy.court;
        return address(0);
    }

    function _lockOf(Order memory order) internal view returns (uint256) {
        Policy storage policy = policies[order.policyHash];
        uint256 byPrice = order.price * policy.lockFactorBps / 10_000;
        return byPrice > policy.minLock ? byPrice : policy.minLock;
    }

    /// Everything that `open` asks for but the two signatures.
    function _mayOpen(Order memory order, bool known) internal view returns (bool) {
        uint256 time = _now();
        Policy storage policy = policies[order.policyHash];
        uint256 from = openFrom[order.policyHash];
        if (known || from == 0 || time < from || time > order.validUntil) return false;
        if (order.deliverBy < time + policy.minDeliver || order.deliverBy >= 1 << 48) return false;
        if (_judgeOf(policy, order.lane) == address(0)) return false;
        if (order.items == 0 || order.outputBytes > 65_536) return false;
        if (order.price >= 1 << 128 || order.surcharge >= 1 << 128) return false;
        uint256 held = order.price + order.surcharge;
        uint256 lock = _lockOf(order);
        if (held >= 1 << 128 || lock >= 1 << 128) return false;
        address account = nodeAccount[order.executor];
        if (!nodeActive[order.executor] || free[order.requester] < held) return false;
        if (account == order.requester ? free[account] < held + lock : free[account] < lock) return false;
        return order.lane != Lane.SAMPLED || reserveFree >= policy.auditFee;
    }

    function _opened(Order memory order, bytes32 orderHash) internal {
        Job storage job = jobs.push();
        job.order = order;
        job.orderHash = orderHash;
        job.account = nodeAccount[order.executor];
        job.state = OrderState.Open;
        job.lock = _lockOf(order);
        free[order.requester] -= order.price + order.surcharge;
        free[job.account] -= job.lock;
        if (order.lane == Lane.SAMPLED) {
            reserveFree -= policies[order.policyHash].auditFee;
            reserveHeld += policies[order.policyHash].auditFee;
        }
    }

    function _cancelled(Job storage job) internal {
        job.state = OrderState.Refunded;
        free[job.order.requester] += job.order.price + job.order.surcharge;
        free[job.account] += job.lock;
        _release(job, address(0));
    }

    function _expired(Job storage job) internal {
        uint256 fee = policies[job.order.policyHash].noShowFee;
        job.state = OrderState.Refunded;
        free[job.order.requester] += job.order.price + job.order.surcharge + fee;
        free[job.account] += job.lock - fee;
        _release(job, address(0));
    }

    /// The earmark of a sampled order, spent on its checker or back in the reserve.
    function _release(Job storage job, address checker) private {
        if (job.order.lane != Lane.SAMPLED) return;
        uint256 earmark = policies[job.order.policyHash].auditFee;
        reserveHeld -= earmark;
        if (checker == address(0)) reserveFree += earmark;
        else free[checker] += earmark;
    }

    // --- Bound orders

    function _leafOf(Job storage job) internal view returns (LeafState) {
        if (job.killed) return LeafState.Dead;
        if (job.order.lane == Lane.ZK) return LeafState.Final;
        bool spoken = job.found != LeafState.Pending && job.found != LeafState.Challengeable;
        if (!spoken && _now() > job.header.committedAt + court.HORIZON()) return LeafState.Void;
        return job.found;
    }

    function _demandDeadline(Job storage job) internal view returns (uint256) {
        return job.header.committedAt + policies[job.order.policyHash].deliveryWindow;
    }

    function _demandCost(bytes32 policyHash, uint256 chunks) internal view returns (uint256) {
        Policy storage policy = policies[policyHash];
        return (uint256(policy.gasAnswer) + uint256(policy.gasAnswerByte) * 256 * chunks) * policy.unitPrice;
    }

    function _depositOf(uint256 cost) internal pure returns (uint256) {
        return cost * 6 / 5;
    }

    /// Sum of the deposits of an order that has not ended.
    function _depositsOf(uint256 j) internal view returns (uint256 sum) {
        for (uint256 i = 0; i < asked[j].length; ++i) {
            sum += _depositOf(asked[j][i].cost);
        }
    }

    /// @return waiting a demand may still be answered
    /// @return late a demand was not answered in time
    function _deliveryOf(uint256 j) internal view returns (bool waiting, bool late) {
        for (uint256 i = 0; i < asked[j].length; ++i) {
            if (asked[j][i].payee != address(0)) continue;
            if (_now() > asked[j][i].answerBy) late = true;
            else waiting = true;
        }
    }

    /// @return the state in which `settle` would leave a bound order; Bound where it reverts
    function _outcomeOf(uint256 j) internal view returns (OrderState) {
        Job storage job = jobs[j];
        LeafState leaf = _leafOf(job);
        if (leaf == LeafState.Dead) return OrderState.Slashed;
        if (leaf != LeafState.Final && leaf != LeafState.Void) return OrderState.Bound;
        (bool waiting, bool late) = _deliveryOf(j);
        if (waiting) return OrderState.Bound;
        if (late || leaf == LeafState.Void) return OrderState.Refunded;
        return _now() > _demandDeadline(job) ? OrderState.Paid : OrderState.Bound;
    }

    function _settled(uint256 j, address sender) internal {
        Job storage job = jobs[j];
        OrderState outcome = _outcomeOf(j);
        _reach(job, outcome, _leafOf(job));
        Policy storage policy = policies[job.order.policyHash];
        if (outcome == OrderState.Slashed) {
            _slashedByCourt(j, sender);
        } else if (outcome == OrderState.Refunded) {
            (, bool late) = _deliveryOf(j);
            uint256 fee = late ? policy.noShowFee : 0;
            _payDeposits(j, true);
            free[job.order.requester] += job.order.price + job.order.surcharge + fee;
            free[job.account] += job.lock - fee;
            // Whoever audited a leaf that is final has done his work, however the order ends.
            _release(job, _leafOf(job) == LeafState.Final ? job.checker : address(0));
        } else {
            uint256 amount = job.receipt.amount;
            uint256 share = amount * policy.protocolFeeBps / 10_000;
            _payDeposits(j, true);
            free[governor] += share;
            free[job.account] += amount - share + job.lock;
            free[job.order.requester] += job.order.price - amount;
            reserveFree += job.order.surcharge;
            _release(job, job.checker);
        }
        job.state = outcome;
    }

    function _reach(Job storage job, OrderState outcome, LeafState leaf) private {
        string memory lane =
            job.order.lane == Lane.ZK ? "zk" : job.order.lane == Lane.SAMPLED ? "sampled" : "optimistic";
        string memory end = outcome == OrderState.Paid
            ? "paid"
            : outcome == OrderState.Slashed ? "slashed" : leaf == LeafState.Void ? "void" : "undelivered";
        ++reached[string.concat(lane, " ", end)];
    }

    function _slashedByCourt(uint256 j, address sender) private {
        Job storage job = jobs[j];
        Policy storage policy = policies[job.order.policyHash];
        bool sampled = job.order.lane == Lane.SAMPLED;
        uint256 refund = uint256(policy.gasKill) * policy.unitPrice;
        uint256 rest = job.lock - refund;
        free[job.reporter == address(0) ? sender : job.reporter] += refund;
        if (job.checker != address(0)) {
            uint256 share = job.lock * (sampled ? policy.bountyAuditBps : policy.bountyOpenBps) / 10_000;
            if (sampled) share += policy.auditFee;
            free[job.checker] += share;
            rest -= share;
        }
        burnt += rest;
        _slashed(j, false);
    }

    /// @param commitment what has to be announced for this pair of receipts and this beneficiary
    function _equivocated(uint256 j, bytes32 commitment, address beneficiary) internal {
        Job storage job = jobs[j];
        Policy storage policy = policies[job.order.policyHash];
        uint256 reward = uint256(policy.gasKill) * policy.unitPrice + job.lock * uint256(policy.bountyOpenBps) / 10_000;
        uint256 since = announced[commitment];
        if (since != 0 && _now() >= since + policy.precommitDelay) {
            free[beneficiary] += reward;
            ++reached["bounty paid at once"];
        } else {
            job.bounty = reward;
            job.killedAt = _now();
        }
        burnt += job.lock - reward;
        // A leaf that is final, or can no longer be judged, stands; answers given for it are paid.
        bool stands = job.state == OrderState.Bound && _stands(_leafOf(job));
        if (job.state == OrderState.Open) ++reached["equivocated open"];
        else ++reached[stands ? "equivocated final" : "equivocated alive"];
        _slashed(j, stands);
        if (!stands) job.killed = true;
    }

    function _stands(LeafState leaf) internal pure returns (bool) {
        return leaf == LeafState.Final || leaf == LeafState.Void;
    }

    function _slashed(uint256 j, bool stands) private {
        Job storage job = jobs[j];
        _payDeposits(j, stands);
        free[job.order.requester] += job.order.price + job.order.surcharge;
        _release(job, address(0));
        nodeActive[job.order.executor] = false;
        job.state = OrderState.Slashed;
    }

    /// @param stands else every deposit goes back, answered or not
    function _payDeposits(uint256 j, bool stands) private {
        for (uint256 i = 0; i < asked[j].length; ++i) {
            Asked storage demand = asked[j][i];
            uint256 earned = stands && demand.payee != address(0) ? demand.cost : 0;
            ++reached[earned != 0 ? "answer paid" : "deposit returned"];
            if (earned != 0 && demand.payee != jobs[j].account) ++reached["helper paid"];
            free[demand.payee] += earned;
            free[jobs[j].order.requester] += _depositOf(demand.cost) - earned;
        }
    }

    /// What is announced of two receipts, given by their hashes in any order.
    function _commitment(bytes32 orderHash, bytes32 one, bytes32 other, address beneficiary, bytes32 salt)
        internal
        pure
        returns (bytes32)
    {
        bytes memory ascending = uint256(one) <= uint256(other) ? bytes.concat(one, other) : bytes.concat(other, one);
        bytes32 fault = keccak256("assay/fault/equivocation");
        return keccak256(abi.encode(orderHash, fault, keccak256(ascending), beneficiary, salt));
    }

    /// @param good the claim shows the fault
    /// @return 0 refused, 1 paid, 2 burnt
    function _claimOutcome(uint256 j, bool good, bytes32 commitment) internal view returns (uint256) {
        Job storage job = jobs[j];
        Policy storage policy = policies[job.order.policyHash];
        if (job.bounty == 0) return 0;
        if (_now() > job.killedAt + policy.responseTime) return 2;
        uint256 since = announced[commitment];
        return good && since != 0 && since < job.killedAt && _now() >= since + policy.precommitDelay ? 1 : 0;
    }
}
