// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {BPS, CHUNK_BYTES, EscrowChecks, MAX_DEMAND_CHUNKS} from "./EscrowChecks.sol";
import {ICourt, LeafState} from "./ICourt.sol";
import {
    Binding,
    IEscrow,
    OpenFault,
    OrderState,
    OrderView,
    OutputDemand,
    OutputOpening,
    OutputRange,
    Settlement,
    SignedOrder
} from "./IEscrow.sol";
import {BindFault, IReceiptRollup} from "./IReceiptRollup.sol";
import {BatchHeader, Lane, Order, Policy, Receipt} from "./SettlementTypes.sol";
import {TypedHash} from "./TypedHash.sol";

/// @title Accounts, orders and locks; IEscrow.sol states the rules
/// @dev An order's terms come back in calldata with each call and are recognised by their hash; storage keeps what the
/// hash does not tell. The parts of the text: accounts, nodes, policies, orders, ends of orders, delivery, faults,
/// freeze and clock.
contract Escrow is IEscrow {
    using SafeERC20 for IERC20;

    struct Node {
        address account;
        bool active;
    }

    struct StoredOrder {
        address account;
        uint48 deliverBy;
        OrderState state;
        uint128 price;
        uint128 lock;
        bytes32 leaf;
        bytes32 termsHash;
    }

    /// One slot. Outputs and chunks of at most 65,536 bytes have numbers below 2^16.
    struct Demand {
        uint16 tensor;
        uint16 firstChunk;
        uint8 chunkCount;
        uint48 answerBy;
        /// Gets the table cost; zero until answered.
        address payee;
    }

    /// One slot. What a kill without precommit left.
    struct OpenBounty {
        uint128 amount;
        uint48 killedAt;
        uint48 claimableUntil;
        uint32 precommitDelay;
    }

    /// In raw time: of the last freeze, where it began and where it ends. `earlier`: length of all before it.
    struct Freeze {
        uint48 start;
        uint48 end;
        uint48 earlier;
    }

    bytes32 private constant EQUIVOCATION = keccak256("assay/fault/equivocation");
    /// Nobody has its key.
    address private constant BURNED = 0x000000000000000000000000000000000000dEaD;
    uint256 private constant MAX_OUTPUT_BYTES = 65_536;
    /// An output of one-byte elements takes 16 demands; the rest is for several tensors and for pieces.
    uint256 private constant MAX_DEMANDS = 32;
    /// A wallet that checks a signature may use so much; without a cap it could spend the gas of a whole call.
    uint256 private constant WALLET_GAS = 500_000;
    uint256 private constant DEVELOPMENT_CHAIN = 31337;
    /// Block numbers are the clock of chains with slots of twelve seconds.
    uint256 private constant SLOT_SECONDS = 12;

    address public immutable override token;
    address public immutable override rollup;
    address public immutable override governor;
    address public immutable override guardian;
    uint48 public immutable override policyDelay;
    uint48 public immutable override maxFreeze;
    uint48 public immutable override coolDown;
    bool private immutable _clockIsTimestamp;
    EscrowChecks private immutable _checks;

    mapping(address account => uint256) public override freeOf;
    mapping(address owner => mapping(address spender => uint256)) public override allowanceOf;
    mapping(address signer => Node) public override nodeOf;
    mapping(bytes32 policyHash => Policy) private _policies;
    mapping(bytes32 policyHash => uint48) public override policyOpenFrom;
    mapping(bytes32 orderHash => StoredOrder) private _orders;
    mapping(bytes32 orderHash => Demand[]) private _demands;
    mapping(bytes32 orderHash => OpenBounty) private _bounties;
    mapping(bytes32 commitment => uint48) public override precommittedAt;
    uint256 private _reserve;
    uint256 private _reserveHeld;
    Freeze private _freeze;
    bool private transient _entered;

    /// @dev Calls into functions, here and below: the code of a modifier stands in every function that has it.
    modifier nonReentrant() {
        _enter();
        _;
        _entered = false;
    }

    modifier live() {
        _requireLive();
        _;
    }

    modifier only(address caller) {
        _requireCaller(caller);
        _;
    }

    /// @param rollup_ may be deployed later
    /// @param clockIsTimestamp seconds, else block numbers
    /// @param policyDelay_ from adding a policy until orders may name it
    /// @param maxFreeze_, coolDown_ in raw time; on any chain but the development chain 7 days and 30 days bound them
    /// @param genesis in force at once
    constructor(
        address token_,
        address rollup_,
        bool clockIsTimestamp,
        address governor_,
        address guardian_,
        uint48 policyDelay_,
        uint48 maxFreeze_,
        uint48 coolDown_,
        Policy[] memory genesis
    ) {
        if (token_.code.length == 0) revert PolicyInvalid("token");
        if (rollup_ == address(0)) revert PolicyInvalid("rollup");
        if (governor_ == address(0)) revert PolicyInvalid("governor");
        if (block.chainid != DEVELOPMENT_CHAIN) {
            uint256 unit = clockIsTimestamp ? 1 : SLOT_SECONDS;
            if (policyDelay_ * unit < 7 days) revert PolicyInvalid("policyDelay");
            if (maxFreeze_ * unit > 7 days) revert PolicyInvalid("maxFreeze");
            if (coolDown_ * unit < 30 days) revert PolicyInvalid("coolDown");
        }
        token = token_;
        rollup = rollup_;
        _clockIsTimestamp = clockIsTimestamp;
        governor = governor_;
        guardian = guardian_;
        policyDelay = policyDelay_;
        maxFreeze = maxFreeze_;
        coolDown = coolDown_;
        _checks = new EscrowChecks();
        for (uint256 i = 0; i < genesis.length; ++i) {
            _addPolicy(genesis[i], uint48(clockIsTimestamp ? block.timestamp : block.number));
        }
    }

    // --- Accounts

    function deposit(address account, uint256 amount) external override nonReentrant live {
        uint256 before = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        uint256 moved = IERC20(token).balanceOf(address(this)) - before;
        if (moved != amount) revert TokenAmount(amount, moved);
        _credit(account, amount);
        emit Deposited(account, amount);
    }

    function withdraw(uint256 amount, address to) external override nonReentrant {
        _take(msg.sender, amount);
        emit Withdrawn(msg.sender, to, amount);
        _send(to, amount);
    }

    function transfer(address to, uint256 amount) external override nonReentrant live {
        _move(msg.sender, to, amount);
    }

    function approve(address spender, uint256 amount) external override nonReentrant live {
        allowanceOf[msg.sender][spender] = amount;
    }

    function transferFrom(address from, address to, uint256 amount) external override nonReentrant live {
        uint256 allowance = allowanceOf[from][msg.sender];
        if (allowance < amount) revert InsufficientAllowance(from, msg.sender, allowance, amount);
        if (allowance != type(uint256).max) allowanceOf[from][msg.sender] = allowance - amount;
        _move(from, to, amount);
    }

    function fundReserve(uint256 amount) external override nonReentrant live {
        _take(msg.sender, amount);
        _reserve += amount;
        emit ReserveFunded(msg.sender, amount);
    }

    function withdrawReserve(uint256 amount) external override nonReentrant live only(governor) {
        uint256 available = _reserve;
        if (amount > available) revert InsufficientReserve(available, amount);
        _reserve = available - amount;
        _credit(governor, amount);
        emit ReserveWithdrawn(amount);
    }

    function reserve() external view override returns (uint256 available, uint256 held) {
        return (_reserve, _reserveHeld);
    }

    function _credit(address account, uint256 amount) private {
        freeOf[account] += amount;
    }

    function _take(address account, uint256 amount) private {
        uint256 free = freeOf[account];
        if (free < amount) revert InsufficientFree(account, free, amount);
        // Checked in the line above.
        unchecked {
            freeOf[account] = free - amount;
        }
    }

    function _move(address from, address to, uint256 amount) private {
        _take(from, amount);
        _credit(to, amount);
    }

    /// @dev The last step of every call that pays out.
    function _send(address to, uint256 amount) private {
        uint256 before = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransfer(to, amount);
        uint256 moved = before - IERC20(token).balanceOf(address(this));
        if (moved != amount) revert TokenAmount(amount, moved);
    }

    // --- Nodes

    function registerNode(address signer, bytes calldata signature) external override nonReentrant live {
        if (nodeOf[signer].account != address(0)) revert NodeKnown(signer);
        if (!_signed(signer, _digest(TypedHash.registration(msg.sender, signer)), signature)) revert SignatureInvalid();
        nodeOf[signer] = Node({account: msg.sender, active: true});
        emit NodeRegistered(signer, msg.sender);
    }

    function retireNode(address signer) external override nonReentrant live {
        address account = nodeOf[signer].account;
        if (account == address(0)) revert NodeUnknown(signer);
        _requireCaller(account);
        nodeOf[signer].active = false;
        emit NodeRetired(signer);
    }

    // --- Policies

    function addPolicy(Policy calldata policy)
        external
        override
        nonReentrant
        live
        only(governor)
        returns (bytes32 policyHash)
    {
        return _addPolicy(policy, clock() + policyDelay);
    }

    /// @dev Works while frozen: it takes nothing from anybody, and a freeze is when it is needed.
    function closePolicy(bytes32 policyHash) external override only(governor) {
        _knownPolicy(policyHash);
        policyOpenFrom[policyHash] = 0;
        emit PolicyClosed(policyHash);
    }

    function policyOf(bytes32 policyHash) external view override returns (Policy memory) {
        return _knownPolicy(policyHash);
    }

    function judgeOf(bytes32 policyHash, uint8 lane) external view override returns (address) {
        return _judge(_knownPolicy(policyHash), lane);
    }

    function _knownPolicy(bytes32 policyHash) private view returns (Policy storage policy) {
        policy = _policies[policyHash];
        if (policy.minLock == 0) revert PolicyUnknown(policyHash);
    }

    function _addPolicy(Policy memory policy, uint48 openFrom) private returns (bytes32 policyHash) {
        _checks.checkPolicy(policy);
        policyHash = keccak256(abi.encode(policy));
        if (_policies[policyHash].minLock != 0) revert PolicyKnown(policyHash);
        _policies[policyHash] = policy;
        policyOpenFrom[policyHash] = openFrom;
        emit PolicyAdded(policyHash, policy, openFrom);
    }

    /// @return who judges the lane; zero where it is closed
    function _judge(Policy storage policy, uint8 lane) private view returns (address) {
        if (lane == Lane.ZK) return policy.verifier;
        if (lane == Lane.OPTIMISTIC) return policy.game;
        return lane == Lane.SAMPLED ? policy.court : address(0);
    }

    // --- Orders

    function open(SignedOrder[] calldata orders) external override nonReentrant live returns (uint256 opened) {
        OpenFault first = OpenFault.None;
        for (uint256 i = 0; i < orders.length; ++i) {
            bytes32 orderHash = _orderHash(orders[i].order);
            (OpenFault fault, uint256 lock) = _openFault(orders[i], orderHash);
            if (fault == OpenFault.None) {
                _open(orders[i].order, orderHash, lock);
                ++opened;
            } else {
                if (first == OpenFault.None) first = fault;
                emit OrderSkipped(orderHash, fault);
            }
        }
        if (opened == 0) revert NothingOpened(first);
    }

    function openFaultOf(SignedOrder calldata order) external view override returns (OpenFault fault) {
        (fault,) = _openFault(order, _orderHash(order.order));
    }

    /// @return lock what the executor stakes; meaningful without a fault
    function _openFault(SignedOrder calldata signed, bytes32 orderHash)
        private
        view
        returns (OpenFault, uint256 lock)
    {
        Order calldata order = signed.order;
        Policy storage policy = _policies[order.policyHash];
        uint256 time = clock();
        if (_orders[orderHash].state != OrderState.None) return (OpenFault.Known, 0);
        if (time > order.validUntil) return (OpenFault.Expired, 0);
        uint256 openFrom = policyOpenFrom[order.policyHash];
        if (openFrom == 0 || time < openFrom) return (OpenFault.Policy, 0);
        if (order.deliverBy < time + policy.minDeliver) return (OpenFault.DeliverTooSoon, 0);
        if (_judge(policy, order.lane) == address(0)) return (OpenFault.Lane, 0);
        if (
            order.items == 0 || order.outputBytes > MAX_OUTPUT_BYTES || order.deliverBy > type(uint48).max
                || order.validUntil > type(uint48).max
        ) {
            return (OpenFault.Size, 0);
        }
        if (order.price > type(uint128).max || order.surcharge > type(uint128).max) return (OpenFault.Amount, 0);
        uint256 held = order.price + order.surcharge;
        lock = order.price * policy.lockFactorBps / BPS;
        if (lock < policy.minLock) lock = policy.minLock;
        if (held > type(uint128).max || lock > type(uint128).max) return (OpenFault.Amount, 0);

        Node storage node = nodeOf[order.executor];
        if (!node.active) return (OpenFault.Node, 0);
        uint256 free = freeOf[order.requester];
        if (free < held) return (OpenFault.RequesterFunds, 0);
        // One account on both sides pays both.
        free = node.account == order.requester ? free - held : freeOf[node.account];
        if (free < lock) return (OpenFault.ExecutorFunds, 0);
        if (order.lane == Lane.SAMPLED && _reserve < policy.auditFee) return (OpenFault.Reserve, 0);
        if (!_approved(order.requester, orderHash, signed.requesterSignature)) {
            return (OpenFault.RequesterSignature, 0);
        }
        if (!_signed(order.executor, _digest(TypedHash.acceptance(orderHash)), signed.executorSignature)) {
            return (OpenFault.ExecutorSignature, 0);
        }
        return (OpenFault.None, lock);
    }

    function _open(Order calldata order, bytes32 orderHash, uint256 lock) private {
        address account = nodeOf[order.executor].account;
        _take(order.requester, order.price + order.surcharge);
        _take(account, lock);
        if (order.lane == Lane.SAMPLED) {
            uint256 fee = _policies[order.policyHash].auditFee;
            _reserve -= fee;
            _reserveHeld += fee;
        }
        // `_openFault` has seen to it that all of these fit.
        _orders[orderHash] = StoredOrder({
            account: account,
            deliverBy: uint48(order.deliverBy),
            state: OrderState.Open,
            price: uint128(order.price),
            lock: uint128(lock),
            leaf: 0,
            termsHash: keccak256(
                abi.encode(
                    order.modelDigest,
                    order.inputRoot,
                    uint256(order.items),
                    uint256(order.lane),
                    order.policyHash,
                    order.executor
                )
            )
        });
        emit OrderOpened(orderHash, order.requester, order.executor, order.price + order.surcharge, lock, order);
    }

    function bind(Binding[] calldata bindings)
        external
        override
        nonReentrant
        live
        only(rollup)
        returns (uint256 unbound)
    {
        for (uint256 i = 0; i < bindings.length; ++i) {
            Binding calldata binding = bindings[i];
            if (_bindFault(binding) != BindFault.None) {
                unbound |= 1 << i;
                continue;
            }
            StoredOrder storage stored = _orders[binding.orderHash];
            stored.state = OrderState.Bound;
            stored.leaf = binding.leaf;
            emit OrderBound(binding.orderHash, binding.leaf);
        }
    }

    function bindFaultOf(Binding calldata binding) external view override returns (uint8 fault) {
        return uint8(_bindFault(binding));
    }

    function _bindFault(Binding calldata binding) private view returns (BindFault) {
        StoredOrder storage stored = _orders[binding.orderHash];
        if (stored.state != OrderState.Open || stored.termsHash != binding.termsHash) return BindFault.Order;
        if (binding.amount > stored.price) return BindFault.Amount;
        return clock() > stored.deliverBy ? BindFault.Late : BindFault.None;
    }

    function orderOf(bytes32 orderHash) external view override returns (OrderView memory) {
        StoredOrder storage stored = _orders[orderHash];
        uint256 waiting;
        bool undelivered;
        // Of an order that has ended nothing is waited for.
        if (stored.state == OrderState.Bound) (waiting,, undelivered) = _delivery(orderHash);
        return OrderView({
            state: stored.state,
            account: stored.account,
            deliverBy: stored.deliverBy,
            price: stored.price,
            lock: stored.lock,
            leaf: stored.leaf,
            undelivered: undelivered,
            openDemands: uint8(waiting)
        });
    }

    function leafOf(bytes32 orderHash)
        external
        view
        override
        returns (bytes32 leaf, address account, OrderState state)
    {
        StoredOrder storage stored = _orders[orderHash];
        return (stored.leaf, stored.account, stored.state);
    }

    function _orderHash(Order calldata order) private view returns (bytes32) {
        return _digest(TypedHash.order(order));
    }

    function _digest(bytes32 structHash) private view returns (bytes32) {
        return TypedHash.digest(TypedHash.domainSeparator(rollup), structHash);
    }

    function _signed(address signer, bytes32 digest, bytes calldata signature) private pure returns (bool) {
        // Zero is what a failed recovery gives, and would match a signer of zero.
        return signer != address(0) && TypedHash.recover(digest, signature) == signer;
    }

    /// @dev A requester with code is asked by ERC-1271, in a static call with bounded gas and bounded answer: one
    /// hostile wallet must not end a call that serves many orders.
    function _approved(address requester, bytes32 digest, bytes calldata signature) private view returns (bool) {
        if (requester.code.length == 0) return _signed(requester, digest, signature);
        bytes memory question = abi.encodeCall(IERC1271.isValidSignature, (digest, signature));
        bool ok;
        bytes32 answer;
        // At most one word of what comes back is copied, into scratch space.
        assembly ("memory-safe") {
            ok := staticcall(WALLET_GAS, requester, add(question, 0x20), mload(question), 0x00, 0x20)
            ok := and(ok, gt(returndatasize(), 0x1f))
            answer := mload(0x00)
        }
        return ok && answer == bytes32(IERC1271.isValidSignature.selector);
    }

    // --- Ends of orders

    function cancel(Order calldata order, bytes calldata requesterSignature, bytes calldata executorSignature)
        external
        override
        nonReentrant
        live
    {
        bytes32 orderHash = _orderHash(order);
        _requireState(orderHash, OrderState.Open);
        bytes32 digest = _digest(TypedHash.cancellation(orderHash));
        if (
            !_approved(order.requester, digest, requesterSignature)
                || !_signed(order.executor, digest, executorSignature)
        ) revert SignatureInvalid();
        _refund(order, orderHash, address(0), 0);
    }

    function expire(Order calldata order) external override nonReentrant live {
        bytes32 orderHash = _orderHash(order);
        StoredOrder storage stored = _requireState(orderHash, OrderState.Open);
        if (clock() <= stored.deliverBy) revert NotExpired(stored.deliverBy);
        _refund(order, orderHash, address(0), _policies[order.policyHash].noShowFee);
    }

    function settle(Settlement[] calldata settlements) external override nonReentrant live returns (uint256 settled) {
        uint256 burnt = 0;
        for (uint256 i = 0; i < settlements.length; ++i) {
            bytes32 orderHash = _orderHash(settlements[i].order);
            if (_orders[orderHash].state > OrderState.Bound) continue;
            burnt += _settle(settlements[i], orderHash);
            ++settled;
        }
        if (settled == 0) revert NothingSettled();
        _burn(burnt);
    }

    /// @return burnt of the lock; the caller burns it after the last change of state
    function _settle(Settlement calldata settlement, bytes32 orderHash) private returns (uint256 burnt) {
        (bytes32 batchHash, LeafState leaf) = _bound(settlement, orderHash);
        if (leaf == LeafState.Dead) return _slashByCourt(settlement, orderHash, batchHash);
        if (leaf != LeafState.Final && leaf != LeafState.Void) revert NotFinal(orderHash);
        Policy storage policy = _policies[settlement.order.policyHash];
        (uint256 waiting, uint256 until, bool undelivered) = _delivery(orderHash);
        if (waiting != 0) revert DeliveryOpen(orderHash, until);
        // The audit of a leaf that is final was done, however the order ends.
        address checker = address(0);
        if (leaf == LeafState.Final && settlement.order.lane == Lane.SAMPLED) {
            (checker,) = ICourt(policy.court).awardOf(batchHash, settlement.index);
        }
        if (undelivered || leaf == LeafState.Void) {
            _returnDeposits(settlement.order, orderHash, true);
            _refund(settlement.order, orderHash, checker, undelivered ? policy.noShowFee : 0);
        } else {
            until = _demandDeadline(policy, settlement.header);
            if (clock() <= until) revert DeliveryOpen(orderHash, until);
            _returnDeposits(settlement.order, orderHash, true);
            _pay(settlement, orderHash, checker);
        }
        return 0;
    }

    function _pay(Settlement calldata settlement, bytes32 orderHash, address checker) private {
        StoredOrder storage stored = _orders[orderHash];
        Policy storage policy = _policies[settlement.order.policyHash];
        uint256 amount = settlement.receipt.amount;
        uint256 fee = amount * policy.protocolFeeBps / BPS;
        _reserve += settlement.order.surcharge;
        _fee(orderHash, governor, fee);
        _releaseEarmark(settlement.order, orderHash, checker);
        _end(settlement.order, orderHash, OrderState.Paid, stored.price - amount, amount - fee + stored.lock, 0);
    }

    /// @dev Everything back but `noShowFee`, which the lock pays to the requester.
    function _refund(Order calldata order, bytes32 orderHash, address checker, uint256 noShowFee) private {
        _releaseEarmark(order, orderHash, checker);
        uint256 lock = _orders[orderHash].lock;
        _end(
            order, orderHash, OrderState.Refunded, order.price + order.surcharge + noShowFee, lock - noShowFee, 0
        );
    }

    function _slashByCourt(Settlement calldata settlement, bytes32 orderHash, bytes32 batchHash)
        private
        returns (uint256 burnt)
    {
        Policy storage policy = _policies[settlement.order.policyHash];
        uint8 lane = settlement.order.lane;
        (address checker, address reporter) = ICourt(_judge(policy, lane)).awardOf(batchHash, settlement.index);
        uint256 lock = _orders[orderHash].lock;
        uint256 refund = uint256(policy.gasKill) * policy.unitPrice;
        // A leaf that is dead by the clock alone was reported by nobody: this call tells.
        _fee(orderHash, reporter == address(0) ? msg.sender : reporter, refund);
        burnt = lock - refund;
        if (checker != address(0)) {
            bool sampled = lane == Lane.SAMPLED;
            if (sampled) {
                _fee(orderHash, checker, policy.auditFee);
                burnt -= policy.auditFee;
            }
            uint256 bounty = lock * (sampled ? policy.bountyAuditBps : policy.bountyOpenBps) / BPS;
            _payBounty(orderHash, checker, bounty);
            burnt -= bounty;
        }
        _slash(settlement.order, orderHash, burnt, false);
    }

    /// @param alive the leaf stands, so that answers are paid for
    function _slash(Order calldata order, bytes32 orderHash, uint256 burnt, bool alive) private {
        _returnDeposits(order, orderHash, alive);
        _releaseEarmark(order, orderHash, address(0));
        nodeOf[order.executor].active = false;
        emit NodeSuspended(order.executor, orderHash);
        _end(order, orderHash, OrderState.Slashed, order.price + order.surcharge, 0, burnt);
    }

    function _end(
        Order calldata order,
        bytes32 orderHash,
        OrderState state,
        uint256 toRequester,
        uint256 toAccount,
        uint256 burnt
    ) private {
        StoredOrder storage stored = _orders[orderHash];
        stored.state = state;
        _credit(order.requester, toRequester);
        _credit(stored.account, toAccount);
        emit OrderEnded(orderHash, state, toRequester, toAccount, burnt);
    }

    /// @param checker who has earned it; zero: it goes back to the reserve
    function _releaseEarmark(Order calldata order, bytes32 orderHash, address checker) private {
        if (order.lane != Lane.SAMPLED) return;
        uint256 earmark = _policies[order.policyHash].auditFee;
        _reserveHeld -= earmark;
        if (checker == address(0)) _reserve += earmark;
        else _fee(orderHash, checker, earmark);
    }

    function _fee(bytes32 orderHash, address account, uint256 amount) private {
        if (amount == 0) return;
        _credit(account, amount);
        emit FeePaid(orderHash, account, amount);
    }

    function _payBounty(bytes32 orderHash, address beneficiary, uint256 amount) private {
        _credit(beneficiary, amount);
        emit BountyPaid(orderHash, beneficiary, amount);
    }

    function _burn(uint256 amount) private {
        if (amount != 0) _send(BURNED, amount);
    }

    function _requireState(bytes32 orderHash, OrderState state) private view returns (StoredOrder storage stored) {
        stored = _orders[orderHash];
        if (stored.state != state) revert OrderStateIs(orderHash, stored.state);
    }

    /// @dev Requires that the order is bound, and to the leaf that the call brings.
    function _bound(Settlement calldata settlement, bytes32 orderHash)
        private
        view
        returns (bytes32 batchHash, LeafState leaf)
    {
        StoredOrder storage stored = _requireState(orderHash, OrderState.Bound);
        (batchHash, leaf) = IReceiptRollup(rollup).leafStateOf(settlement.header, settlement.index);
        bytes32 named = keccak256(abi.encode(batchHash, settlement.index, TypedHash.receipt(settlement.receipt)));
        if (stored.leaf != named) revert LeafMismatch(orderHash);
    }

    // --- Delivery

    function demandOutput(Settlement calldata settlement, OutputRange calldata range)
        external
        override
        nonReentrant
        live
        only(settlement.order.requester)
        returns (uint256 demand)
    {
        bytes32 orderHash = _orderHash(settlement.order);
        (, LeafState leaf) = _bound(settlement, orderHash);
        if (leaf == LeafState.Dead) revert LeafDead(orderHash);
        Policy storage policy = _policies[settlement.order.policyHash];
        // Of a void leaf nothing is to be had that the refund waits for.
        uint256 deadline = leaf == LeafState.Void ? 0 : _demandDeadline(policy, settlement.header);
        (,, bool undelivered) = _delivery(orderHash);
        // Who has not got a part in time gets his money back: a new demand would only hold up whoever settles.
        if (undelivered || clock() > deadline) revert DemandClosed(deadline);

        Demand[] storage demands = _demands[orderHash];
        demand = demands.length;
        uint256 end = uint256(range.firstChunk) + range.chunkCount;
        if (
            range.chunkCount == 0 || range.chunkCount > MAX_DEMAND_CHUNKS || end > type(uint16).max
                || range.tensor > type(uint16).max || demand == MAX_DEMANDS
        ) revert DemandInvalid();
        for (uint256 i = 0; i < demand; ++i) {
            Demand storage other = demands[i];
            if (
                other.tensor == range.tensor && other.firstChunk < end
                    && range.firstChunk < uint256(other.firstChunk) + other.chunkCount
            ) revert DemandInvalid();
        }
        _take(msg.sender, _deposit(_tableCost(policy, range.chunkCount)));
        uint48 answerBy = clock() + policy.answerTime;
        // The casts cut nothing: compared above.
        demands.push(
            Demand({
                tensor: uint16(range.tensor),
                firstChunk: uint16(range.firstChunk),
                chunkCount: uint8(range.chunkCount),
                answerBy: answerBy,
                payee: address(0)
            })
        );
        emit OutputDemanded(orderHash, demand, range, answerBy);
    }

    function answerOutput(Settlement calldata settlement, OutputRange calldata range, OutputOpening calldata opening)
        external
        override
        nonReentrant
        live
    {
        bytes32 orderHash = _orderHash(settlement.order);
        _bound(settlement, orderHash);
        (uint256 index, Demand storage demand) = _demandOf(orderHash, range);
        if (demand.payee != address(0)) revert DemandAnswered();
        uint256 time = clock();
        uint256 answerBy = demand.answerBy;
        if (time > answerBy) revert DemandClosed(answerBy);
        if (!_checks.opens(settlement.receipt.outputRoot, range, opening)) revert OpeningInvalid();
        // In the first half the executor earns, whoever sends: copying his answer gains nothing.
        bool early = time <= answerBy - _policies[settlement.order.policyHash].answerTime / 2;
        demand.payee = early ? _orders[orderHash].account : msg.sender;
        emit OutputAnswered(orderHash, index, msg.sender);
    }

    function demandsOf(bytes32 orderHash) external view override returns (OutputDemand[] memory demands) {
        Demand[] storage stored = _demands[orderHash];
        demands = new OutputDemand[](stored.length);
        for (uint256 i = 0; i < demands.length; ++i) {
            Demand storage demand = stored[i];
            demands[i] = OutputDemand({
                range: OutputRange(demand.tensor, demand.firstChunk, demand.chunkCount),
                answerBy: demand.answerBy,
                payee: demand.payee
            });
        }
    }

    function _demandOf(bytes32 orderHash, OutputRange calldata range)
        private
        view
        returns (uint256 index, Demand storage demand)
    {
        Demand[] storage demands = _demands[orderHash];
        for (; index < demands.length; ++index) {
            demand = demands[index];
            if (
                demand.tensor == range.tensor && demand.firstChunk == range.firstChunk
                    && demand.chunkCount == range.chunkCount
            ) return (index, demand);
        }
        revert DemandUnknown();
    }

    /// @return waiting number of demands that may still be answered
    /// @return until when the last of them
    /// @return undelivered an answer was late
    function _delivery(bytes32 orderHash) private view returns (uint256 waiting, uint256 until, bool undelivered) {
        Demand[] storage demands = _demands[orderHash];
        uint256 count = demands.length;
        if (count == 0) return (0, 0, false);
        uint256 time = clock();
        for (uint256 i = 0; i < count; ++i) {
            Demand storage demand = demands[i];
            if (demand.payee != address(0)) continue;
            if (time > demand.answerBy) {
                undelivered = true;
            } else {
                ++waiting;
                // Demands are in the order of time.
                until = demand.answerBy;
            }
        }
    }

    /// @dev In every lane: whoever ordered has the same time, however soon the leaf is final.
    function _demandDeadline(Policy storage policy, BatchHeader calldata header) private view returns (uint256) {
        return uint256(header.committedAt) + policy.deliveryWindow;
    }

    /// @param alive else everything goes back, answered or not
    function _returnDeposits(Order calldata order, bytes32 orderHash, bool alive) private {
        Demand[] storage demands = _demands[orderHash];
        uint256 count = demands.length;
        Policy storage policy = _policies[order.policyHash];
        uint256 back = 0;
        for (uint256 i = 0; i < count; ++i) {
            Demand storage demand = demands[i];
            uint256 cost = _tableCost(policy, demand.chunkCount);
            back += _deposit(cost);
            if (alive && demand.payee != address(0)) {
                back -= cost;
                _fee(orderHash, demand.payee, cost);
            }
        }
        if (back != 0) _credit(order.requester, back);
    }

    function _tableCost(Policy storage policy, uint256 chunks) private view returns (uint256) {
        return (policy.gasAnswer + policy.gasAnswerByte * CHUNK_BYTES * chunks) * policy.unitPrice;
    }

    function _deposit(uint256 tableCost) private pure returns (uint256) {
        return tableCost * 6 / 5;
    }

    // --- Faults that need no court

    function precommit(bytes32 commitment) external override nonReentrant live {
        if (precommittedAt[commitment] != 0) return;
        uint48 time = clock();
        precommittedAt[commitment] = time;
        emit Precommitted(commitment, time);
    }

    function slashEquivocation(
        Settlement calldata settlement,
        Receipt calldata other,
        bytes calldata signature,
        bytes calldata otherSignature,
        address beneficiary,
        bytes32 salt
    ) external override nonReentrant live {
        bytes32 orderHash = _orderHash(settlement.order);
        StoredOrder storage stored = _orders[orderHash];
        bool alive = false;
        if (stored.state != OrderState.Open) {
            (, LeafState leaf) = _bound(settlement, orderHash);
            if (leaf == LeafState.Dead) revert LeafDead(orderHash);
            alive = leaf == LeafState.Final || leaf == LeafState.Void;
            // Undone by the revert where there is no equivocation.
            if (!alive) IReceiptRollup(rollup).kill(settlement.header, settlement.index);
        }
        bytes32 evidence = _evidence(settlement, other, signature, otherSignature, orderHash);

        Policy storage policy = _policies[settlement.order.policyHash];
        uint256 reward = uint256(policy.gasKill) * policy.unitPrice + stored.lock * uint256(policy.bountyOpenBps) / BPS;
        uint48 time = clock();
        uint256 announced = precommittedAt[_commitment(orderHash, evidence, beneficiary, salt)];
        if (announced != 0 && time >= announced + policy.precommitDelay) {
            _payBounty(orderHash, beneficiary, reward);
        } else {
            _bounties[orderHash] = OpenBounty({
                // At most the lock.
                amount: uint128(reward),
                killedAt: time,
                claimableUntil: time + policy.responseTime,
                precommitDelay: policy.precommitDelay
            });
            emit BountyLeft(orderHash, reward, time + policy.responseTime);
        }
        uint256 burnt = stored.lock - reward;
        _slash(settlement.order, orderHash, burnt, alive);
        _burn(burnt);
    }

    function claimBounty(
        Settlement calldata settlement,
        Receipt calldata other,
        bytes calldata signature,
        bytes calldata otherSignature,
        address beneficiary,
        bytes32 salt
    ) external override nonReentrant live {
        bytes32 orderHash = _orderHash(settlement.order);
        OpenBounty memory bounty = _bounties[orderHash];
        if (bounty.amount == 0) revert BountyUnavailable();
        delete _bounties[orderHash];
        uint256 time = clock();
        if (time > bounty.claimableUntil) {
            emit BountyBurnt(orderHash, bounty.amount);
            _burn(bounty.amount);
            return;
        }
        bytes32 evidence = _evidence(settlement, other, signature, otherSignature, orderHash);
        uint256 announced = precommittedAt[_commitment(orderHash, evidence, beneficiary, salt)];
        if (announced == 0 || announced >= bounty.killedAt || time < announced + bounty.precommitDelay) {
            revert BountyUnavailable();
        }
        _payBounty(orderHash, beneficiary, bounty.amount);
    }

    function bountyOf(bytes32 orderHash) external view override returns (uint128 amount, uint48 claimableUntil) {
        OpenBounty storage bounty = _bounties[orderHash];
        return (bounty.amount, bounty.claimableUntil);
    }

    function _commitment(bytes32 orderHash, bytes32 evidence, address beneficiary, bytes32 salt)
        private
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(orderHash, EQUIVOCATION, evidence, beneficiary, salt));
    }

    /// @dev Reverts where the two receipts show no fault.
    /// @return names them, in whichever order they are brought
    function _evidence(
        Settlement calldata settlement,
        Receipt calldata other,
        bytes calldata signature,
        bytes calldata otherSignature,
        bytes32 orderHash
    ) private view returns (bytes32) {
        bytes32 first = TypedHash.receipt(settlement.receipt);
        bytes32 second = TypedHash.receipt(other);
        if (
            first == second || settlement.receipt.orderHash != orderHash || other.orderHash != orderHash
                || !_signed(settlement.order.executor, _digest(first), signature)
                || !_signed(settlement.order.executor, _digest(second), otherSignature)
        ) revert NoEquivocation();
        return first < second ? keccak256(abi.encode(first, second)) : keccak256(abi.encode(second, first));
    }

    // --- Freeze and clock

    function freeze() external override only(guardian) {
        Freeze memory last = _freeze;
        uint48 time = _rawTime();
        if (last.start != 0 && time <= last.start + maxFreeze + coolDown) revert FreezeUnavailable();
        _freeze = Freeze({start: time, end: time + maxFreeze, earlier: last.earlier + last.end - last.start});
        emit FreezeStarted(time + maxFreeze);
    }

    function unfreeze() external override only(guardian) {
        if (!frozen()) revert FreezeUnavailable();
        _freeze.end = _rawTime();
        emit FreezeEnded();
    }

    function frozen() public view override returns (bool) {
        return _rawTime() < _freeze.end;
    }

    function clock() public view override returns (uint48) {
        Freeze memory last = _freeze;
        uint48 time = _rawTime();
        // During a freeze, the time at which it began.
        return (time < last.end ? last.start : time - (last.end - last.start)) - last.earlier;
    }

    function CLOCK_MODE() external view override returns (string memory) {
        return _clockIsTimestamp ? "mode=timestamp" : "mode=blocknumber&from=default";
    }

    function _rawTime() private view returns (uint48) {
        return uint48(_clockIsTimestamp ? block.timestamp : block.number);
    }

    function _enter() private {
        if (_entered) revert Reentrant();
        _entered = true;
    }

    function _requireLive() private view {
        if (frozen()) revert Frozen();
    }

    function _requireCaller(address caller) private view {
        if (msg.sender != caller) revert Unauthorized(msg.sender);
    }
}
