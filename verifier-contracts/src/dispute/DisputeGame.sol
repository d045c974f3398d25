// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHash} from "../BatchHash.sol";
import {BPS} from "../EscrowChecks.sol";
import {LeafState} from "../ICourt.sol";
import {IEscrow, OrderState, OrderView, Settlement} from "../IEscrow.sol";
import {IReceiptRollup} from "../IReceiptRollup.sol";
import {BatchHeader, Lane, Policy, Receipt} from "../SettlementTypes.sol";
import {TypedHash} from "../TypedHash.sol";
import {Claim, ClaimView, DemandView, GameTerms, IDisputeGame} from "./IDisputeGame.sol";
import {Fault, Finding, IStep} from "./IStep.sol";
import {NodeChecks} from "./NodeChecks.sol";
import {Node, NodeKind, NodePath} from "./Nodes.sol";
import {NodeTree, Place} from "./NodeTree.sol";
import {OpeningHash} from "./OpeningHash.sol";

/// @title Claims, demands and faults of the optimistic lane; IDisputeGame.sol states the rules
/// @dev A claim's terms come back in calldata with each call and are recognised by the leaf that its order is bound to. The
/// parts of the text: demands, answers, faults, timeouts, deposits, views. Answers to what a hash binds need none of it: the
/// demand has seen to it that the claim is bound.
contract DisputeGame is IDisputeGame {
    /// One slot, and a second one where several demands wait at once. A claim without demands has none of them.
    struct StoredClaim {
        /// Demands wait in a list in the order of time, under their keys (NodeTree.keyOf). The first one: stale where none
        /// waits, which `nextAnswerBy` tells.
        uint88 head;
        /// Half of the answer time.
        uint32 half;
        uint48 until;
        /// Of `head`; zero where none waits.
        uint48 nextAnswerBy;
        /// Those that raise the surcharge.
        uint24 demands;
        /// KILLED, TIMED_OUT
        uint8 marks;
        /// The last one; stale where fewer than two wait.
        uint88 tail;
    }

    /// Two slots, and a third one where several demands wait at once, or the answer came in the second half of its time.
    /// What the deposit was follows from the policy.
    struct StoredDemand {
        Terse terse;
        /// Of a statement: hash of what was said. Else: what an answer is compared with, from the demand on.
        bytes32 hash;
        /// Waiting: keys of its neighbours in the list, the earlier one in the upper half. Then: who is paid for the answer;
        /// zero: the executor's account.
        uint256 word;
    }

    struct Terse {
        address demander;
        uint48 answerBy;
        /// Most bytes of the answer: the deposit is for them.
        uint16 size;
        /// Bytes of the answer, or `size` where it is longer.
        uint16 answerSize;
        /// The surcharge is so many base deposits.
        uint8 multiple;
        /// Level; ANSWERED, CLOSED; then half the width of an element, rounded down.
        uint8 marks;
    }

    /// What of a policy the game reads: one slot, and policies never change.
    struct Terms {
        uint32 answerTime;
        uint32 responseTime;
        uint32 precommitDelay;
        uint64 unitPrice;
        uint32 gasAnswer;
        uint16 gasAnswerByte;
        uint16 bountyOpenBps;
    }

    /// One slot. What a kill without precommit left.
    struct OpenBounty {
        uint128 amount;
        uint48 killedAt;
        uint48 claimableUntil;
    }

    /// What a call is about.
    struct Subject {
        bytes32 batchHash;
        bytes32 claim;
        /// Behind the executor.
        address account;
        OrderState state;
        uint256 time;
        Terms terms;
    }

    /// Nobody has its key.
    address private constant BURNED = 0x000000000000000000000000000000000000dEaD;
    /// From so many demands on the next one may cost more; and so many have one price.
    uint256 private constant FREE_DEMANDS = 7;
    uint256 private constant DEMANDS_A_STEP = 8;

    /// Marks of a claim.
    uint8 private constant KILLED = 0x01;
    /// The bounty of its overdue demand was paid.
    uint8 private constant TIMED_OUT = 0x02;
    /// Marks of a demand: a level is at most 10, a width 1, 2 or 4.
    uint8 private constant LEVEL = 0x0f;
    uint8 private constant ANSWERED = 0x10;
    uint8 private constant CLOSED = 0x20;
    uint8 private constant WIDTH_SHIFT = 6;

    address public immutable override rollup;
    address public immutable override escrow;
    address public immutable override step;
    uint32 public immutable override window;
    NodeChecks private immutable _checks;

    mapping(bytes32 claim => StoredClaim) private _claims;
    mapping(bytes32 claim => mapping(bytes32 nodeId => StoredDemand)) private _demands;
    mapping(bytes32 claim => OpenBounty) private _bounties;
    mapping(bytes32 policyHash => Terms) private _terms;
    mapping(bytes32 commitment => uint48) public override precommittedAt;

    /// @param rollup_, escrow_ may be deployed later
    constructor(address rollup_, address escrow_, address step_, GameTerms memory given) {
        if (rollup_ == address(0)) revert TermsInvalid("rollup");
        if (escrow_ == address(0)) revert TermsInvalid("escrow");
        if (step_.code.length == 0) revert TermsInvalid("step");
        if (given.window == 0) revert TermsInvalid("window");
        rollup = rollup_;
        escrow = escrow_;
        step = step_;
        window = given.window;
        _checks = new NodeChecks();
    }

    // --- Demands

    function demand(Claim calldata claim, Node calldata node, NodePath calldata, bytes calldata evidence)
        external
        override
    {
        Subject memory about = _subject(claim.receipt, claim.header, claim.index);
        StoredClaim storage stored = _requireAlive(about, claim.header, claim.index);
        Place memory place = _place(about.claim);
        if (NodeTree.isStatement(node.kind)) IStep(step).requireStatement(claim.receipt, node, evidence);
        bytes32 nodeId = NodeTree.idOf(node);
        StoredDemand storage made = _demands[about.claim][nodeId];
        if (made.terse.demander != address(0)) revert DemandKnown(nodeId);
        uint256 windowEnd = uint256(claim.header.committedAt) + window;
        _requireInTime(about, windowEnd, place);

        uint256 multiple = _multiple(stored, node);
        uint256 amount = _deposit(about.terms, place.size, multiple);
        uint48 answerBy = uint48(about.time) + about.terms.answerTime;
        made.terse = Terse({
            demander: msg.sender,
            answerBy: answerBy,
            // The casts cut nothing: an answer has at most 18,472 bytes, and `_multiple` is bounded.
            size: uint16(place.size),
            answerSize: 0,
            multiple: uint8(multiple),
            marks: uint8(place.level | (place.width >> 1) << WIDTH_SHIFT)
        });
        if (place.bound != 0) made.hash = place.bound;
        _append(stored, about.claim, NodeTree.keyOf(node), made, answerBy);
        if (node.kind >= NodeKind.Tensor) ++stored.demands;
        stored.half = about.terms.answerTime / 2;
        uint256 until = windowEnd + (place.level + 1) * _slot(about.terms);
        if (until > stored.until) stored.until = uint48(until);
        emit Demanded(about.claim, nodeId, msg.sender, node, answerBy, uint128(amount));
        IEscrow(escrow).transferFrom(msg.sender, address(this), amount);
    }

    /// @dev Asks NodeChecks where the node of this call to `demand` stands.
    function _place(bytes32 claim) private view returns (Place memory place) {
        bytes4 question = NodeChecks.placeOf.selector;
        address checks = address(_checks);
        // The question has this call's arguments, so they are passed on as they came: an encoder for them would be 5 kB of
        // code. What is no revert is exactly the seven words of a Place.
        assembly ("memory-safe") {
            let free := mload(0x40)
            calldatacopy(free, 0, calldatasize())
            mstore(free, or(question, shr(32, shl(32, mload(free)))))
            if iszero(staticcall(gas(), checks, free, calldatasize(), place, 0xe0)) {
                returndatacopy(free, 0, returndatasize())
                revert(free, returndatasize())
            }
        }
        if (place.segmentId != 0) {
            StoredDemand storage stated = _demands[claim][place.segmentId];
            if (stated.hash != place.rootsHash) revert NodeInvalid("segmentRoots");
            place.level += stated.terse.marks & LEVEL;
        }
    }

    function _requireInTime(Subject memory about, uint256 windowEnd, Place memory place) private view {
        if (about.time <= windowEnd) return;
        uint256 deadline = windowEnd + place.level * _slot(about.terms);
        if (about.time > deadline) revert TooLate(deadline);
        if (!_isAnswered(_demands[about.claim][place.parentId].terse)) revert ParentUnanswered(place.parentId);
    }

    /// @dev Appends to the list: all demands of a claim have the same time to answer, so the newest is due last.
    function _append(StoredClaim storage stored, bytes32 claim, uint88 key, StoredDemand storage made, uint48 answerBy)
        private
    {
        if (stored.nextAnswerBy == 0) {
            stored.head = key;
            stored.nextAnswerBy = answerBy;
            return;
        }
        uint88 last = stored.head;
        StoredDemand storage previous = _demands[claim][NodeTree.idOfKey(last)];
        // The head has a later neighbour where several wait, and then the tail is the last.
        if (uint128(previous.word) != 0) {
            last = stored.tail;
            previous = _demands[claim][NodeTree.idOfKey(last)];
        }
        previous.word |= key;
        made.word = uint256(last) << 128;
        stored.tail = key;
    }

    /// @return multiple surcharge in base deposits
    function _multiple(StoredClaim storage stored, Node calldata node) private view returns (uint256 multiple) {
        uint256 demands = stored.demands;
        // Roots and the trace's own nodes stay at the base price, whatever else is demanded.
        if (node.kind < NodeKind.Tensor || demands <= FREE_DEMANDS) return 0;
        multiple = (demands - FREE_DEMANDS) / DEMANDS_A_STEP;
        // To get there 260,000 base deposits have been burnt.
        if (multiple > type(uint8).max) multiple = type(uint8).max;
    }

    // --- Answers

    function answer(bytes32 claim, Node calldata node, bytes calldata content) external override {
        if (NodeTree.isStatement(node.kind)) revert NodeInvalid("kind");
        (StoredDemand storage made, bytes32 nodeId, uint256 time) = _waiting(claim, node);
        Terse memory terse = made.terse;
        uint256 half = terse.marks >> WIDTH_SHIFT;
        uint256 width = half == 0 ? 1 : 2 * half;
        if (_checks.boundOf(node, terse.size, width, content) != made.hash) revert AnswerInvalid("hash");
        // In the first half the executor earns, whoever sends: copying his answer gains nothing.
        bool early = time <= terse.answerBy - _claims[claim].half;
        _accept(claim, node, nodeId, made, terse, content, early ? address(0) : msg.sender);
    }

    function state(Claim calldata claim, Node calldata node, bytes calldata content, bytes calldata signature)
        external
        override
    {
        Subject memory about = _subject(claim.receipt, claim.header, claim.index);
        if (!NodeTree.isStatement(node.kind)) revert NodeInvalid("kind");
        (StoredDemand storage made, bytes32 nodeId,) = _waiting(about.claim, node);
        Terse memory terse = made.terse;
        // A tensor root, or an int64, for each.
        if (content.length != terse.size) revert AnswerInvalid("length");
        bytes32 contentHash = keccak256(content);
        bytes32 opening =
            OpeningHash.opening(claim.receipt.orderHash, about.batchHash, claim.index, nodeId, contentHash);
        bytes32 digest = TypedHash.digest(TypedHash.domainSeparator(rollup), opening);
        // The receipt is bound, so its executor is no zero, which is what a failed recovery gives.
        if (TypedHash.recover(digest, signature) != claim.receipt.executor) revert OpeningUnsigned();
        made.hash = contentHash;
        _accept(about.claim, node, nodeId, made, terse, content, address(0));
    }

    /// @dev Requires that the caller is a plain account and the node's demand waits for an answer.
    function _waiting(bytes32 claim, Node calldata node)
        private
        view
        returns (StoredDemand storage made, bytes32 nodeId, uint256 time)
    {
        // An account that has delegated itself to code (EIP-7702) calls with code of its own.
        if (msg.sender != tx.origin || msg.sender.code.length != 0) revert SenderNotPlain(msg.sender);
        if (IEscrow(escrow).frozen()) revert Frozen();
        time = IEscrow(escrow).clock();
        nodeId = NodeTree.idOf(node);
        made = _demands[claim][nodeId];
        if (made.terse.demander == address(0)) revert DemandUnknown(nodeId);
        if (_isAnswered(made.terse)) revert DemandAnswered(nodeId);
        // A demand whose time is over makes its claim dead. Of one that died by a second receipt nobody asks: its answers
        // earn nothing.
        if (_isDead(_claims[claim], time)) revert ClaimDead(claim);
    }

    function _accept(
        bytes32 claim,
        Node calldata node,
        bytes32 nodeId,
        StoredDemand storage made,
        Terse memory terse,
        bytes calldata content,
        address payee
    ) private {
        uint256 word = made.word;
        _remove(_claims[claim], claim, NodeTree.keyOf(node), word);
        uint256 size = content.length;
        terse.answerSize = size < terse.size ? uint16(size) : terse.size;
        terse.marks |= ANSWERED;
        made.terse = terse;
        if (word != uint160(payee)) made.word = uint160(payee);
        emit Answered(claim, nodeId, msg.sender, keccak256(content));
    }

    /// @dev Takes a demand out of the list.
    /// @param word its neighbours
    function _remove(StoredClaim storage stored, bytes32 claim, uint88 key, uint256 word) private {
        uint128 earlier = uint128(word >> 128);
        uint128 later = uint128(word);
        if (later == 0) {
            if (earlier == 0) stored.nextAnswerBy = 0;
            else stored.tail = uint88(earlier);
        } else {
            StoredDemand storage next = _demands[claim][NodeTree.idOfKey(uint88(later))];
            next.word = (uint256(earlier) << 128) | uint128(next.word);
            if (stored.head == key) {
                stored.head = uint88(later);
                stored.nextAnswerBy = next.terse.answerBy;
            }
        }
        if (earlier != 0) {
            StoredDemand storage previous = _demands[claim][NodeTree.idOfKey(uint88(earlier))];
            previous.word = (previous.word >> 128 << 128) | later;
        }
    }

    // --- Faults

    function precommit(bytes32 commitment) external override {
        if (IEscrow(escrow).frozen()) revert Frozen();
        if (precommittedAt[commitment] != 0) return;
        uint48 time = IEscrow(escrow).clock();
        precommittedAt[commitment] = time;
        emit Precommitted(commitment, time);
    }

    function proveFault(
        Settlement calldata settlement,
        Fault fault,
        bytes calldata evidence,
        address beneficiary,
        bytes32 salt
    ) external override {
        Subject memory about = _subject(settlement.receipt, settlement.header, settlement.index);
        StoredClaim storage stored = _requireAlive(about, settlement.header, settlement.index);
        bytes32 faultId = _judge(about.claim, settlement.receipt, fault, evidence);
        stored.marks |= KILLED;
        emit FaultProved(about.claim, faultId, fault, beneficiary);
        // Bounty and the gas of the kill.
        uint256 reward = _settle(settlement);
        uint256 announced = precommittedAt[_commitment(about.claim, faultId, beneficiary, salt)];
        if (announced != 0 && about.time >= announced + about.terms.precommitDelay) {
            _payBounty(about.claim, beneficiary, reward);
        } else {
            uint48 claimableUntil = uint48(about.time) + about.terms.responseTime;
            // At most the lock, which has 128 bits.
            _bounties[about.claim] =
                OpenBounty({amount: uint128(reward), killedAt: uint48(about.time), claimableUntil: claimableUntil});
            emit BountyLeft(about.claim, reward, claimableUntil);
        }
    }

    function claimBounty(
        Settlement calldata settlement,
        Fault fault,
        bytes calldata evidence,
        address beneficiary,
        bytes32 salt
    ) external override {
        Subject memory about = _subject(settlement.receipt, settlement.header, settlement.index);
        OpenBounty memory bounty = _bounties[about.claim];
        if (bounty.amount == 0) revert BountyUnavailable();
        delete _bounties[about.claim];
        if (about.time > bounty.claimableUntil) {
            emit BountyBurnt(about.claim, bounty.amount);
            _burn(bounty.amount);
            return;
        }
        bytes32 faultId = _judge(about.claim, settlement.receipt, fault, evidence);
        uint256 announced = precommittedAt[_commitment(about.claim, faultId, beneficiary, salt)];
        if (announced == 0 || announced >= bounty.killedAt || about.time < announced + about.terms.precommitDelay) {
            revert BountyUnavailable();
        }
        _payBounty(about.claim, beneficiary, bounty.amount);
    }

    /// @dev Reverts where the step contract finds no fault, or what it finds rests on something not said in this claim.
    function _judge(bytes32 claim, Receipt calldata receipt, Fault fault, bytes calldata evidence)
        private
        view
        returns (bytes32)
    {
        Finding memory finding = IStep(step).judge(receipt, fault, evidence);
        for (uint256 i = 0; i < finding.relies.length; ++i) {
            bytes32 nodeId = finding.relies[i].nodeId;
            bytes32 said = _demands[claim][nodeId].hash;
            if (said == 0 || said != finding.relies[i].contentHash) revert RelianceUnknown(nodeId);
        }
        return finding.faultId;
    }

    function _commitment(bytes32 claim, bytes32 faultId, address beneficiary, bytes32 salt)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(claim, faultId, beneficiary, salt));
    }

    // --- Timeouts

    function timeout(Settlement calldata settlement) external override {
        Subject memory about = _subject(settlement.receipt, settlement.header, settlement.index);
        StoredClaim storage stored = _claims[about.claim];
        if (stored.marks != 0 || _isKilled(about.batchHash, settlement.index)) revert ClaimDead(about.claim);
        if (!_isOverdue(stored, about.time)) revert NotOverdue();
        stored.marks |= TIMED_OUT;
        bytes32 nodeId = NodeTree.idOfKey(stored.head);
        address demander = _demands[about.claim][nodeId].terse.demander;
        emit TimedOut(about.claim, nodeId, demander);
        OrderView memory order = IEscrow(escrow).orderOf(settlement.receipt.orderHash);
        // As Escrow computes it.
        uint256 bounty = uint256(order.lock) * about.terms.bountyOpenBps / BPS;
        uint256 refund = order.state == OrderState.Bound ? _settle(settlement) - bounty : 0;
        _payBounty(about.claim, demander, bounty);
        if (refund != 0) IEscrow(escrow).transfer(msg.sender, refund);
    }

    /// @return paid what Escrow credited to the game out of the lock
    function _settle(Settlement calldata settlement) private returns (uint256 paid) {
        Settlement[] memory settlements = new Settlement[](1);
        settlements[0] = settlement;
        uint256 before = IEscrow(escrow).freeOf(address(this));
        IEscrow(escrow).settle(settlements);
        // Nothing else reaches the account meanwhile: Escrow lets nobody in while it settles.
        return IEscrow(escrow).freeOf(address(this)) - before;
    }

    function _payBounty(bytes32 claim, address beneficiary, uint256 amount) private {
        emit BountyPaid(claim, beneficiary, amount);
        IEscrow(escrow).transfer(beneficiary, amount);
    }

    function _burn(uint256 amount) private {
        if (amount != 0) IEscrow(escrow).withdraw(amount, BURNED);
    }

    // --- Deposits

    function closeDemands(Claim calldata claim, bytes32[] calldata nodeIds) external override {
        Subject memory about = _subject(claim.receipt, claim.header, claim.index);
        StoredClaim storage stored = _claims[about.claim];
        bool dead = _isDead(stored, about.time) || _isKilled(about.batchHash, claim.index);
        if (!dead && about.time <= _until(stored, claim.header)) revert ClaimOpen(about.claim);
        uint256 burnt = 0;
        for (uint256 i = 0; i < nodeIds.length; ++i) {
            burnt += _close(about, nodeIds[i], dead);
        }
        _burn(burnt);
    }

    /// @return burnt of the deposit; the caller burns it after the last change of state
    function _close(Subject memory about, bytes32 nodeId, bool dead) private returns (uint256 burnt) {
        StoredDemand storage made = _demands[about.claim][nodeId];
        Terse memory terse = made.terse;
        if (terse.demander == address(0)) revert DemandUnknown(nodeId);
        if (terse.marks & CLOSED != 0) return 0;
        made.terse.marks = terse.marks | CLOSED;
        uint256 toDemander = _deposit(about.terms, terse.size, terse.multiple);
        uint256 toPayee = 0;
        // A claim that stands has no demand that was not answered.
        if (!dead) {
            burnt = toDemander - _deposit(about.terms, terse.size, 0);
            toPayee = _tableCost(about.terms, terse.answerSize);
            toDemander -= burnt + toPayee;
            uint256 word = made.word;
            IEscrow(escrow).transfer(word == 0 ? about.account : address(uint160(word)), toPayee);
        }
        emit DepositClosed(about.claim, nodeId, toDemander, toPayee, burnt);
        IEscrow(escrow).transfer(terse.demander, toDemander);
    }

    function _tableCost(Terms memory terms, uint256 size) private pure returns (uint256) {
        return (terms.gasAnswer + uint256(terms.gasAnswerByte) * size) * terms.unitPrice;
    }

    function _deposit(Terms memory terms, uint256 size, uint256 multiple) private pure returns (uint256) {
        return _tableCost(terms, size) * 6 / 5 * (1 + multiple);
    }

    // --- What calls begin with

    /// @dev Requires that nothing is frozen and that the leaf is one of this game's, bound to the receipt's order.
    function _subject(Receipt calldata receipt, BatchHeader calldata header, uint256 index)
        private
        returns (Subject memory about)
    {
        if (IEscrow(escrow).frozen()) revert Frozen();
        about.time = IEscrow(escrow).clock();
        about.batchHash = BatchHash.name(header, rollup);
        bytes32 leaf;
        (leaf, about.account, about.state) = IEscrow(escrow).leafOf(receipt.orderHash);
        if (
            leaf != BatchHash.boundLeaf(about.batchHash, index, TypedHash.receipt(receipt))
                || IReceiptRollup(rollup).headerHashOf(about.batchHash) != BatchHash.stored(about.batchHash, header)
        ) revert ClaimUnbound(receipt.orderHash);
        if (header.lane != Lane.OPTIMISTIC) revert NotOurs();
        about.claim = _claimId(about.batchHash, index);
        about.terms = _terms[header.policyHash];
        if (about.terms.unitPrice == 0) {
            about.terms = _readTerms(header.policyHash);
            _terms[header.policyHash] = about.terms;
        }
    }

    function _readTerms(bytes32 policyHash) private view returns (Terms memory) {
        Policy memory policy = IEscrow(escrow).policyOf(policyHash);
        if (policy.game != address(this)) revert NotOurs();
        return Terms({
            answerTime: policy.answerTime,
            responseTime: policy.responseTime,
            precommitDelay: policy.precommitDelay,
            unitPrice: policy.unitPrice,
            gasAnswer: policy.gasAnswer,
            gasAnswerByte: policy.gasAnswerByte,
            bountyOpenBps: policy.bountyOpenBps
        });
    }

    /// @dev Requires that the claim has not ended.
    function _requireAlive(Subject memory about, BatchHeader calldata header, uint256 index)
        private
        view
        returns (StoredClaim storage stored)
    {
        stored = _claims[about.claim];
        // A leaf that a second receipt killed is dead behind its end, too; its order has ended with it.
        bool killed = about.state != OrderState.Bound && _isKilled(about.batchHash, index);
        if (killed || _isDead(stored, about.time)) revert ClaimDead(about.claim);
        if (about.time > _until(stored, header)) revert ClaimFinal(about.claim);
    }

    /// @dev By a second receipt of the executor's; what kills a leaf here is not in there.
    function _isKilled(bytes32 batchHash, uint256 index) private view returns (bool) {
        return (IReceiptRollup(rollup).killsOf(batchHash) >> index) & 1 == 1;
    }

    /// @dev By what happened here.
    function _isDead(StoredClaim storage stored, uint256 time) private view returns (bool) {
        return stored.marks & KILLED != 0 || _isOverdue(stored, time);
    }

    function _isOverdue(StoredClaim storage stored, uint256 time) private view returns (bool) {
        uint256 answerBy = stored.nextAnswerBy;
        return answerBy != 0 && time > answerBy;
    }

    function _until(StoredClaim storage stored, BatchHeader calldata header) private view returns (uint256) {
        uint256 until = stored.until;
        return until == 0 ? uint256(header.committedAt) + window : until;
    }

    function _isAnswered(Terse storage terse) private view returns (bool) {
        return terse.marks & ANSWERED != 0;
    }

    /// @return D: to answer, and to go on from the answer
    function _slot(Terms memory terms) private pure returns (uint256) {
        return uint256(terms.answerTime) + terms.responseTime;
    }

    function _claimId(bytes32 batchHash, uint256 index) private pure returns (bytes32) {
        return keccak256(abi.encode(batchHash, index));
    }

    // --- Views

    function leafState(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        override
        returns (LeafState)
    {
        StoredClaim storage stored = _claims[_claimId(batchHash, index)];
        uint256 time = IEscrow(escrow).clock();
        if (_isDead(stored, time)) return LeafState.Dead;
        return time > _until(stored, header) ? LeafState.Final : LeafState.Challengeable;
    }

    function awardOf(bytes32 batchHash, uint256 index)
        external
        view
        override
        returns (address checker, address reporter)
    {
        StoredClaim storage stored = _claims[_claimId(batchHash, index)];
        if (stored.marks & KILLED != 0) return (address(this), address(this));
        if (_isOverdue(stored, IEscrow(escrow).clock())) checker = address(this);
    }

    function claimOf(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        override
        returns (ClaimView memory)
    {
        StoredClaim storage stored = _claims[_claimId(batchHash, index)];
        return ClaimView({
            demands: stored.demands,
            until: uint48(_until(stored, header)),
            nextAnswerBy: stored.nextAnswerBy,
            killed: stored.marks & KILLED != 0,
            timedOut: stored.marks & TIMED_OUT != 0
        });
    }

    function demandOf(bytes32 policyHash, bytes32 claim, bytes32 nodeId)
        external
        view
        override
        returns (DemandView memory seen)
    {
        StoredDemand storage made = _demands[claim][nodeId];
        Terse memory terse = made.terse;
        if (terse.demander == address(0)) return seen;
        Terms memory terms = _readTerms(policyHash);
        seen.demander = terse.demander;
        seen.answerBy = terse.answerBy;
        seen.level = terse.marks & LEVEL;
        // At most 2^107.
        seen.deposit = uint128(_deposit(terms, terse.size, terse.multiple));
        seen.surcharge = seen.deposit - uint128(_deposit(terms, terse.size, 0));
        seen.contentHash = made.hash;
        seen.closed = terse.marks & CLOSED != 0;
        if (terse.marks & ANSWERED == 0) return seen;
        seen.answered = true;
        seen.payee = address(uint160(made.word));
        seen.cost = uint128(_tableCost(terms, terse.answerSize));
    }

    function depositOf(Claim calldata claim, Node calldata node) external view override returns (uint256) {
        bytes32 batchHash = BatchHash.name(claim.header, rollup);
        uint256 multiple = _multiple(_claims[_claimId(batchHash, claim.index)], node);
        return _deposit(_readTerms(claim.header.policyHash), NodeTree.answerBytes(claim.receipt, node), multiple);
    }

    function bountyOf(bytes32 claim) external view override returns (uint128 amount, uint48 claimableUntil) {
        OpenBounty storage bounty = _bounties[claim];
        return (bounty.amount, bounty.claimableUntil);
    }
}
