// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHeader, Order, Policy, Receipt} from "./SettlementTypes.sol";

enum OrderState {
    None,
    Open,
    Bound,
    Paid,
    Slashed,
    Refunded
}

/// Why an order cannot be opened.
enum OpenFault {
    None,
    /// Opened before.
    Known,
    /// `validUntil` has passed.
    Expired,
    /// `deliverBy` is nearer than the policy's `minDeliver`.
    DeliverTooSoon,
    /// No such policy, not yet in force, or closed to new orders.
    Policy,
    /// The policy has nobody to judge that lane.
    Lane,
    /// No items, or more than 65,536 bytes of output, or a `deliverBy` or `validUntil` beyond 48 bits.
    Size,
    /// Price and surcharge, or the lock that follows from them, do not fit 128 bits.
    Amount,
    /// The executor is not registered, or retired, or suspended.
    Node,
    RequesterSignature,
    ExecutorSignature,
    /// The requester has less than price + surcharge free.
    RequesterFunds,
    /// The executor's account has less than the lock free.
    ExecutorFunds,
    /// The audit reserve cannot earmark the audit's fee.
    Reserve
}

struct SignedOrder {
    Order order;
    /// The requester's over the order: ECDSA, or ERC-1271 where the requester is a contract.
    bytes requesterSignature;
    /// The executor's ECDSA over Acceptance(orderHash): it holds input and model and will deliver.
    bytes executorSignature;
}

/// One receipt that the rollup wants to bind to its order.
struct Binding {
    bytes32 orderHash;
    /// `termsHash` of the receipt's model, input, items, lane, policy and executor.
    bytes32 termsHash;
    uint256 amount;
    /// keccak(batchHash | uint256 index | receipt's struct hash): what the order is bound to.
    bytes32 leaf;
}

/// A bound order and the leaf that it is bound to.
struct Settlement {
    Order order;
    Receipt receipt;
    BatchHeader header;
    uint256 index;
}

/// A run of chunks of one output tensor.
struct OutputRange {
    uint32 tensor;
    uint32 firstChunk;
    uint32 chunkCount;
}

/// Bytes of an output, opened under a receipt's outputRoot (graph/commitment/trace-root.ts, tensor-root.ts).
struct OutputOpening {
    /// Number of outputs under the root.
    uint32 outputCount;
    /// Siblings of the tensor under the outputs; exact length. Where there is no such output: the tree's value, alone.
    bytes32[] portPath;
    /// The tensor's header, as its root binds it: int32 lo | int32 hi | uint8 rank | sides | layout | items | chunks.
    bytes tensorHeader;
    /// Encoded elements of the range, as far as the tensor reaches; nothing where the range begins behind its end.
    bytes elements;
    /// Siblings of the chunks; where the range begins behind the end, a single element: the tree's value.
    bytes32[] chunkPath;
}

struct OutputDemand {
    OutputRange range;
    /// Last time to answer; half an answer time earlier the sender begins to earn instead of the executor.
    uint48 answerBy;
    /// Gets the table cost if the leaf stands; zero until answered.
    address payee;
}

struct OrderView {
    OrderState state;
    /// The account behind the executor, as registered when the order was opened.
    address account;
    uint48 deliverBy;
    uint128 price;
    uint128 lock;
    /// Zero until bound.
    bytes32 leaf;
    /// An answer was late: the order will be refunded.
    bool undelivered;
    /// Demands that wait for an answer in time.
    uint8 openDemands;
}

/// @title The only contract that holds money: accounts, orders, locks
/// @notice One settlement token. What an account holds free carries no liability and is withdrawable at once; every
/// liability has its own lock. Invariant: token balance = free + orders + locks + deposits + reserve + reserveHeld +
/// open bounties, after every call. All payments are credits that their owner withdraws.
///
///   None --open--> Open --bind (rollup)--> Bound --settle--> Paid | Slashed | Refunded
///                   |--cancel, expire--> Refunded
///                   |--slashEquivocation (Open, Bound)--> Slashed
///
/// `settle` looks, in this order: leaf dead: Slashed; leaf not final, or a demand for output open and in time: revert;
/// a demand unanswered: Refunded; leaf void: Refunded; delivery window not over: revert; else Paid.
///
/// Where the money goes (lock: what it does not pay is free again, or burnt where the order is slashed):
///   Paid      price: amount less the share -> account, share -> governor, remainder -> requester; surcharge -> reserve;
///             sampled: the earmark -> the drawn checker, or back to the reserve
///   Refunded  price, surcharge -> requester; late or undelivered: noShowFee, lock -> requester; sampled: the earmark
///             back to the reserve, or -> the drawn checker where the leaf is final: his audit is done
///   Slashed   price, surcharge -> requester; earmark back; the lock pays, in this order, the gas of the call that told,
///             the drawn checker's fee, the bounty
///   deposits  of answered demands, where the leaf is not dead: table cost -> who answered; all else -> requester
/// In the optimistic lane the court of a dead leaf is itself who is paid gas and bounty (ICourt.awardOf): it has an account
/// here, and passes them on.
interface IEscrow {
    event Deposited(address indexed account, uint256 amount);
    event Withdrawn(address indexed account, address to, uint256 amount);
    event NodeRegistered(address indexed signer, address indexed account);
    event NodeRetired(address indexed signer);
    event NodeSuspended(address indexed signer, bytes32 indexed orderHash);
    event PolicyAdded(bytes32 indexed policyHash, Policy policy, uint48 openFrom);
    event PolicyClosed(bytes32 indexed policyHash);
    /// @notice The whole order is said here: whoever kills or settles its claim has to say it again, and the call that opened
    /// it may have come from a contract, where nobody could read it.
    event OrderOpened(
        bytes32 indexed orderHash,
        address indexed requester,
        address indexed executor,
        uint256 held,
        uint256 lock,
        Order order
    );
    /// @notice This order of the call was left out.
    event OrderSkipped(bytes32 indexed orderHash, OpenFault fault);
    event OrderBound(bytes32 indexed orderHash, bytes32 leaf);
    /// @param toRequester, toAccount credits from price, surcharge and lock together; `burnt` left the contract
    event OrderEnded(
        bytes32 indexed orderHash, OrderState state, uint256 toRequester, uint256 toAccount, uint256 burnt
    );
    event OutputDemanded(bytes32 indexed orderHash, uint256 demand, OutputRange range, uint48 answerBy);
    event OutputAnswered(bytes32 indexed orderHash, uint256 demand, address sender);
    event Precommitted(bytes32 indexed commitment, uint48 time);
    /// @notice Paid for work on this order: a checker's fee, the gas of a call, an answer, the deployment's share.
    event FeePaid(bytes32 indexed orderHash, address indexed account, uint256 amount);
    event BountyPaid(bytes32 indexed orderHash, address beneficiary, uint256 amount);
    /// @notice The kill had no precommit: the bounty and the kill's gas are for whoever claims them until then.
    event BountyLeft(bytes32 indexed orderHash, uint256 amount, uint48 claimableUntil);
    event BountyBurnt(bytes32 indexed orderHash, uint256 amount);
    event ReserveWithdrawn(uint256 amount);
    event ReserveFunded(address indexed from, uint256 amount);
    /// @param end latest end, in time that does not stand still
    event FreezeStarted(uint48 end);
    event FreezeEnded();

    error Frozen();
    /// The token called back.
    error Reentrant();
    error Unauthorized(address caller);
    error InsufficientFree(address account, uint256 free, uint256 wanted);
    error InsufficientAllowance(address owner, address spender, uint256 allowance, uint256 wanted);
    error InsufficientReserve(uint256 available, uint256 wanted);
    /// The token moved another amount than asked: fee on transfer, or rebasing.
    error TokenAmount(uint256 expected, uint256 moved);
    /// The named field of the policy is out of its range.
    error PolicyInvalid(string field);
    error PolicyKnown(bytes32 policyHash);
    error PolicyUnknown(bytes32 policyHash);
    error NodeKnown(address signer);
    error NodeUnknown(address signer);
    error SignatureInvalid();
    /// Not one order of the call could be opened; the first one's reason.
    error NothingOpened(OpenFault first);
    /// The order is not in a state for this call.
    error OrderStateIs(bytes32 orderHash, OrderState state);
    /// Every order of the call has ended; a repeated call may read this as done.
    error NothingSettled();
    /// `deliverBy` has not passed.
    error NotExpired(uint256 deliverBy);
    /// The order is bound to another leaf than the call brings.
    error LeafMismatch(bytes32 orderHash);
    /// The leaf is not final.
    error NotFinal(bytes32 orderHash);
    /// The output may still be demanded, or an answer may still come, until `until`.
    error DeliveryOpen(bytes32 orderHash, uint256 until);
    /// Too late to demand or to answer; or a demand was not answered in time, so that the order will be refunded.
    error DemandClosed(uint256 deadline);
    /// The range is empty, larger than 16 KiB, beyond what 65,536 bytes can hold, or overlaps one demanded before; or
    /// there are 32 demands already.
    error DemandInvalid();
    error DemandUnknown();
    /// Answered before; a repeated call may read this as done.
    error DemandAnswered();
    /// The opening does not open the demanded range under the receipt's output root.
    error OpeningInvalid();
    /// Not two different receipts for this order, signed by its executor.
    error NoEquivocation();
    /// The leaf is dead already: `settle` pays.
    error LeafDead(bytes32 orderHash);
    error BountyUnavailable();
    error FreezeUnavailable();

    // --- Accounts

    /// @notice Moves `amount` of the token from the caller to the free balance of `account`.
    function deposit(address account, uint256 amount) external;

    /// @notice Pays out of the caller's free balance. Works always, frozen or not.
    function withdraw(uint256 amount, address to) external;

    function freeOf(address account) external view returns (uint256);

    /// @notice Moves `amount` of the caller's free balance to that of `to`. Without an event of its own, as the two below:
    /// a contract that is an account here tells what it moves.
    function transfer(address to, uint256 amount) external;

    /// @notice Lets `spender` move `amount` of the caller's free balance; 2^256 - 1: without limit, and never less by it.
    function approve(address spender, uint256 amount) external;

    /// @notice Moves `amount` of what `from` has allowed to the caller.
    function transferFrom(address from, address to, uint256 amount) external;

    function allowanceOf(address owner, address spender) external view returns (uint256);

    /// @notice Moves `amount` of the caller's free balance to the reserve that audits are paid from.
    function fundReserve(uint256 amount) external;

    /// @notice Moves `amount` of what no open order has earmarked from the reserve to the governor's free balance. Only
    /// the governor. Nobody who has an order open loses by it: new ones of the sampled lane wait for funds.
    function withdrawReserve(uint256 amount) external;

    // --- Nodes

    /// @notice Makes `signer` an executor whose locks and earnings are the caller's. For ever: a signer belongs to one
    /// account, and one that was suspended or retired is not registered again.
    /// @param signature the signer's ECDSA over NodeRegistration(account, signer)
    function registerNode(address signer, bytes calldata signature) external;

    /// @notice No new orders for this signer. Only its account.
    function retireNode(address signer) external;

    /// @return account zero where the signer is not registered
    /// @return active neither retired nor suspended
    function nodeOf(address signer) external view returns (address account, bool active);

    // --- Policies

    /// @notice Adds terms for new orders, in force after the policy delay. Only the governor.
    function addPolicy(Policy calldata policy) external returns (bytes32 policyHash);

    /// @notice No new orders under this policy. Only the governor. Nothing else of a policy ever changes.
    function closePolicy(bytes32 policyHash) external;

    /// @notice Reverts PolicyUnknown.
    function policyOf(bytes32 policyHash) external view returns (Policy memory);

    /// @notice Who judges a lane under a policy; zero where the lane is closed. Reverts PolicyUnknown.
    function judgeOf(bytes32 policyHash, uint8 lane) external view returns (address);

    /// @notice From when on orders may be opened under it; zero: never (unknown or closed).
    function policyOpenFrom(bytes32 policyHash) external view returns (uint48);

    // --- Orders

    /// @notice Locks price, surcharge and the executor's stake. Anybody may call. An order that cannot be opened is
    /// skipped (OrderSkipped), so that one bad order holds up no others.
    function open(SignedOrder[] calldata orders) external returns (uint256 opened);

    /// @notice Would this order open now, if not frozen?
    function openFaultOf(SignedOrder calldata order) external view returns (OpenFault);

    /// @notice Ends an open order with everything back. Anybody may call.
    /// @param requesterSignature, executorSignature over Cancellation(orderHash)
    function cancel(Order calldata order, bytes calldata requesterSignature, bytes calldata executorSignature)
        external;

    /// @notice Ends an open order whose `deliverBy` has passed; the executor pays the no-show fee. Anybody may call.
    function expire(Order calldata order) external;

    /// @notice Binds what can bind. Only the rollup.
    /// @param bindings those with orderHash 0 are skipped
    /// @return unbound bit i set where binding i cannot bind
    function bind(Binding[] calldata bindings) external returns (uint256 unbound);

    /// @return fault number of `BindFault` (Order, Amount, Late, or None)
    function bindFaultOf(Binding calldata binding) external view returns (uint8 fault);

    /// @notice Pays out what the chain's verdict says. Anybody may call. Orders that have ended are skipped.
    function settle(Settlement[] calldata settlements) external returns (uint256 settled);

    function orderOf(bytes32 orderHash) external view returns (OrderView memory);

    /// @notice Of `orderOf` what a court asks for at every call.
    /// @return leaf that the order is bound to, for ever; zero until bound
    /// @return account behind the executor
    function leafOf(bytes32 orderHash) external view returns (bytes32 leaf, address account, OrderState state);

    // --- Delivery

    /// @notice The requester has not got his output and wants a part of it on chain. Deposits the table cost of the
    /// answer and a fifth; it goes back unless the claim ends well. Where one answer is late, nothing more is demanded:
    /// an order that can be settled stays so.
    function demandOutput(Settlement calldata settlement, OutputRange calldata range) external returns (uint256 demand);

    /// @notice Answers a demand. Anybody may call. In the first half of the answer time the table cost is the
    /// executor's account's whoever sends; later the sender's.
    /// @param range as it was demanded
    function answerOutput(Settlement calldata settlement, OutputRange calldata range, OutputOpening calldata opening)
        external;

    /// @notice All that was demanded for an order, in the order of time.
    function demandsOf(bytes32 orderHash) external view returns (OutputDemand[] memory);

    // --- Faults that need no court

    /// @notice Announces a fault without naming it: keccak(orderHash | faultId | evidence | beneficiary | salt), where
    /// evidence = keccak of the two receipts' struct hashes, the smaller one first: who announces has seen both. The
    /// first announcement stands; repeating it changes nothing.
    function precommit(bytes32 commitment) external;

    /// @notice Two different receipts of one executor for one order. Ends the order; kills its leaf where there is one
    /// that is not final. Bounty and the gas of the call go to the beneficiary at once where he has a precommit that
    /// counts, else they stay open for `responseTime`.
    /// @param settlement names the leaf of a bound order; ignored where the order is open
    function slashEquivocation(
        Settlement calldata settlement,
        Receipt calldata other,
        bytes calldata signature,
        bytes calldata otherSignature,
        address beneficiary,
        bytes32 salt
    ) external;

    /// @notice Pays a bounty left open to whoever had precommitted before the kill, to any two receipts that show the
    /// fault; burns it when its time is over.
    /// @param settlement the order and the first receipt; the rest of it is ignored, and all but the order is where the
    /// time is over
    function claimBounty(
        Settlement calldata settlement,
        Receipt calldata other,
        bytes calldata signature,
        bytes calldata otherSignature,
        address beneficiary,
        bytes32 salt
    ) external;

    /// @notice A bounty that is open, and the last time to claim it; zeros where there is none.
    function bountyOf(bytes32 orderHash) external view returns (uint128 amount, uint48 claimableUntil);

    /// @return time of the first precommit; zero where there is none
    function precommittedAt(bytes32 commitment) external view returns (uint48 time);

    // --- Freeze

    /// @notice Stops everything but withdrawals and the closing of policies, for at most the maximum; the clock stands
    /// still. Only the guardian, and not again before the cool-down is over.
    function freeze() external;

    /// @notice Ends a freeze early. Only the guardian.
    function unfreeze() external;

    function frozen() external view returns (bool);

    // --- Clock and parts

    /// @notice ERC-6372: block numbers or seconds, by deployment, less all frozen time.
    function clock() external view returns (uint48);

    function CLOCK_MODE() external view returns (string memory);

    function token() external view returns (address);

    function rollup() external view returns (address);

    function reserve() external view returns (uint256 available, uint256 held);

    /// @notice Adds and closes policies; the protocol's fees are credited to it.
    function governor() external view returns (address);

    /// @notice May freeze; zero: nobody may.
    function guardian() external view returns (address);

    /// @notice From adding a policy until orders may name it, by `clock()`.
    function policyDelay() external view returns (uint48);

    /// @notice Longest freeze, in time that does not stand still.
    function maxFreeze() external view returns (uint48);

    /// @notice From the latest end that the last freeze could have had until the next may begin.
    function coolDown() external view returns (uint48);
}
