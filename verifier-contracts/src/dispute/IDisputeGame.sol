// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {ICourt} from "../ICourt.sol";
import {Settlement} from "../IEscrow.sol";
import {BatchHeader, Receipt} from "../SettlementTypes.sol";
import {Fault} from "./IStep.sol";
import {Node, NodePath} from "./Nodes.sol";

/// A leaf of a batch of the optimistic lane. Named by keccak(batchHash | uint256 index).
struct Claim {
    Receipt receipt;
    BatchHeader header;
    uint256 index;
}

struct DemandView {
    /// Zero where nothing was demanded.
    address demander;
    /// Last time to answer; half an answer time earlier the sender begins to earn instead of the executor.
    uint48 answerBy;
    uint8 level;
    bool answered;
    /// Gets the table cost if the claim stands; zero: the executor's account.
    address payee;
    uint128 deposit;
    /// Of the deposit: burnt if the claim stands.
    uint128 surcharge;
    /// Table cost of the answer; zero until answered.
    uint128 cost;
    /// Segment and Sums: hash of what the executor said; zero until then. Else: what an answer is compared with.
    bytes32 contentHash;
    /// Its deposit has been paid out.
    bool closed;
}

/// What a game is made with.
struct GameTerms {
    /// From the commit in which a claim may be challenged, by `clock()`.
    uint32 window;
}

struct ClaimView {
    /// Demands ever made, those of Trace, Inputs and Outputs apart: they set the surcharge.
    uint32 demands;
    /// Last time to demand anything below an answered node, and to prove: the end of the slot of the deepest level used.
    uint48 until;
    /// `answerBy` of the demand that is due first; zero where none waits.
    uint48 nextAnswerBy;
    /// A fault was proved.
    bool killed;
    /// The bounty of its overdue demand was paid.
    bool timedOut;
}

/// @title Judges the optimistic lane: claims, demands, faults
/// @notice Symbols: t0 the commit, W the window, A = policy.answerTime, R = policy.responseTime, D = A + R, all by
/// `clock()`; level l of a node: its depth in what may have to be revealed (Nodes.sol; `levelOf`). There are no seats and
/// no turns: everyone may demand, answer and prove; a failed attempt reverts and changes nothing.
///   - Without demands the claim is final after t0 + W. A node of level l may be demanded until t0 + W with its path; until
///     t0 + W + l D where its parent was answered in this claim. With demands, faults may be proved, and the claim is open,
///     until t0 + W + (l + 1) D for the deepest level l demanded.
///   - A node is demanded once per claim, for ever. Unanswered after A: the claim is dead, by the clock alone.
///   - What a hash binds anybody may answer; Segment and Sums only with the signature of the order's executor over
///     Opening(orderHash, batchHash, index, nodeId, contentHash), whoever relays it. The first one stands.
///   - Killing and settling are one transaction: proveFault and timeout have Escrow slash the order.
/// Money (all of it lies in Escrow, where the game is an account): a demand deposits 6/5 of its table cost and, from the
/// eighth on that is no root, a surcharge of floor((n - 7) / 8) times that, n = demands made before. Deposits stay held until the
/// claim ends. It stands: table cost -> the executor's account where the answer came in the first half of A, else its
/// sender; surcharge burnt; rest -> demander. It is dead: everything -> demander. Of a dead claim's lock the game gets gas
/// refund and bounty: to who proved with a precommit that counts, at once; without one they stay open for R for a precommit
/// older than the kill's block, then they are burnt; of a timeout the bounty is the demander's, the refund the caller's.
interface IDisputeGame is ICourt {
    event Demanded(
        bytes32 indexed claim, bytes32 indexed nodeId, address demander, Node node, uint48 answerBy, uint128 deposit
    );
    /// @notice The content is the calldata of the transaction.
    event Answered(bytes32 indexed claim, bytes32 indexed nodeId, address sender, bytes32 contentHash);
    event Precommitted(bytes32 indexed commitment, uint48 time);
    event FaultProved(bytes32 indexed claim, bytes32 indexed faultId, Fault fault, address beneficiary);
    event TimedOut(bytes32 indexed claim, bytes32 indexed nodeId, address demander);
    event BountyPaid(bytes32 indexed claim, address beneficiary, uint256 amount);
    event BountyLeft(bytes32 indexed claim, uint256 amount, uint48 claimableUntil);
    event BountyBurnt(bytes32 indexed claim, uint256 amount);
    event DepositClosed(bytes32 indexed claim, bytes32 indexed nodeId, uint256 toDemander, uint256 toPayee, uint256 burnt);

    error Frozen();
    /// The order of the receipt is not bound to this leaf.
    error ClaimUnbound(bytes32 orderHash);
    /// The leaf is not of this game's lane, or its policy names another game.
    error NotOurs();
    /// The claim is dead already: a repeated call may read this as done.
    error ClaimDead(bytes32 claim);
    /// The claim is final.
    error ClaimFinal(bytes32 claim);
    /// Too late to demand a node of this level.
    error TooLate(uint256 deadline);
    /// Below a node that was not answered, and the window is over.
    error ParentUnanswered(bytes32 parentId);
    /// The node is none that there can be, or its path does not show it; `what` names the part.
    error NodeInvalid(string what);
    /// Demanded before; a repeated call may read this as done and wait for the same answer.
    error DemandKnown(bytes32 nodeId);
    error DemandUnknown(bytes32 nodeId);
    /// Answered before; a repeated call may read this as done.
    error DemandAnswered(bytes32 nodeId);
    /// The content is not what the node's hash binds, or does not parse.
    error AnswerInvalid(string what);
    /// Not the executor's signature over this opening.
    error OpeningUnsigned();
    /// The caller has code, or was called by a contract: nobody would find the answer in the transaction's calldata.
    error SenderNotPlain(address caller);
    /// The finding rests on something that the executor did not say in this claim.
    error RelianceUnknown(bytes32 nodeId);
    /// No demand of the claim is overdue.
    error NotOverdue();
    error BountyUnavailable();
    /// The claim has not ended: deposits are held.
    error ClaimOpen(bytes32 claim);
    error TermsInvalid(string field);

    /// @notice Demands that a node be revealed. The caller's free balance in Escrow pays the deposit; he has allowed it to
    /// this contract (Escrow.approve).
    /// @param path Trace root, Inputs, Outputs: not read. All others as Nodes.sol says
    /// @param evidence Segment, Sums: for the step contract; else empty
    function demand(Claim calldata claim, Node calldata node, NodePath calldata path, bytes calldata evidence) external;

    /// @notice Reveals a demanded node that a hash binds: all but Segment and Sums. The content is published as the calldata
    /// of a transaction to this contract, so the caller is a plain account (SenderNotPlain): whoever has to act on an answer
    /// must be able to read it.
    /// @param claim keccak(batchHash | uint256 index)
    /// @param content exactly these bytes, and none behind them:
    ///   Trace            uint32 committed slots | children. Children that are slots: the tensor root, 32 bytes; where fewer
    ///                    than receipt.opCount slots are committed, uint32 number of the slot | tensor root, 36 bytes.
    ///                    Children that are subtrees: their values, 32 bytes each
    ///   Inputs, Outputs  uint32 count | tensor roots
    ///   Tensor           header (root only) | children: hashes of chunks or values of subtrees, 32 bytes each
    ///   Chunks           encoded elements
    /// `contentHash` of events, signatures and Reliance: keccak of these bytes.
    function answer(bytes32 claim, Node calldata node, bytes calldata content) external;

    /// @notice Reveals a demanded node that only the executor can: in his words, whoever relays them. Plain accounts as in
    /// `answer`.
    /// @param content Segment: tensor roots of its slots, 32 bytes each. Sums: int64 each, big-endian
    /// @param signature the executor's over Opening(orderHash, batchHash, index, nodeId, contentHash)
    function state(Claim calldata claim, Node calldata node, bytes calldata content, bytes calldata signature) external;

    /// @notice Announces a fault without naming it: keccak(claim | faultId | beneficiary | salt). The first announcement
    /// stands; repeating it changes nothing. Counts after policy.precommitDelay.
    function precommit(bytes32 commitment) external;

    /// @notice Proves a fault: kills the leaf and has Escrow slash the order.
    function proveFault(
        Settlement calldata settlement,
        Fault fault,
        bytes calldata evidence,
        address beneficiary,
        bytes32 salt
    ) external;

    /// @notice Ends a claim that has an overdue demand: Escrow slashes, and the demander of the first overdue demand gets the
    /// bounty. Also after somebody else had Escrow settle the claim, to pay that bounty out.
    function timeout(Settlement calldata settlement) external;

    /// @notice Pays a bounty left open to whoever had precommitted before the kill, to any fault of the claim; burns it when
    /// its time is over.
    function claimBounty(
        Settlement calldata settlement,
        Fault fault,
        bytes calldata evidence,
        address beneficiary,
        bytes32 salt
    ) external;

    /// @notice Pays the deposits of these nodes out, once the claim has ended. Anybody may call; paid ones are skipped.
    function closeDemands(Claim calldata claim, bytes32[] calldata nodeIds) external;

    function claimOf(bytes32 batchHash, BatchHeader calldata header, uint256 index)
        external
        view
        returns (ClaimView memory);

    /// @param policyHash of the claim: the amounts follow from it
    function demandOf(bytes32 policyHash, bytes32 claim, bytes32 nodeId) external view returns (DemandView memory);

    /// @notice Deposit that a demand of this node would take now, at most: surcharge included, elements of four bytes.
    function depositOf(Claim calldata claim, Node calldata node) external view returns (uint256);

    function bountyOf(bytes32 claim) external view returns (uint128 amount, uint48 claimableUntil);

    function precommittedAt(bytes32 commitment) external view returns (uint48);

    /// @notice GameTerms.window
    function window() external view returns (uint32);

    function step() external view returns (address);

    function rollup() external view returns (address);

    function escrow() external view returns (address);
}
