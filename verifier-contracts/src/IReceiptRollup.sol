// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {LeafState} from "./ICourt.sol";
import {BatchHeader, Receipt} from "./SettlementTypes.sol";

/// What `statusOf` answers.
enum Status {
    /// No such receipt in such a batch, or its leaf did not bind.
    Unknown,
    /// Committed; its court has not spoken and may still do so.
    Pending,
    Challengeable,
    FinalZk,
    FinalOptimistic,
    FinalSampled,
    /// The court can no longer decide this leaf: the chain vouches neither for nor against the receipt.
    Void,
    /// Found to be wrong, or its executor signed a second receipt for the order before this one was final.
    Invalid
}

/// Why a receipt cannot bind.
enum BindFault {
    None,
    /// Its lane is not the batch's.
    Lane,
    /// It names another policy than the batch's.
    Policy,
    /// Not the executor's ECDSA signature over this receipt for this chain and contract.
    Signature,
    /// Its order is not open, or not for this model, input, items, lane, policy and executor.
    Order,
    /// It charges more than the order's price.
    Amount,
    /// The order's `deliverBy` has passed.
    Late
}

/// @title Anchors batches of inference receipts and says how far each is verified
/// @notice All times are `IEscrow.clock()`'s. An action with deadline T is allowed iff `clock() <= T`. An expiry needs no
/// transaction: `statusOf` is computed from the clock.
interface IReceiptRollup {
    /// @notice Everything a stranger needs to rebuild the header; receipts and signatures are the calldata of the
    /// transaction that called `commit` or `commitProved`.
    /// @param chain accumulator over all batch hashes in order, this one included
    event BatchCommitted(bytes32 indexed batchHash, BatchHeader header, bytes32 chain);
    /// @notice The leaf is dead: its executor signed a second receipt for the same order.
    event LeafKilled(bytes32 indexed batchHash, uint256 index);

    /// The batch holds no receipt, or more than 256.
    error BatchSize(uint256 count);
    error SignatureCount(uint256 receipts, uint256 signatures);
    /// Receipt `index` is none that a receipt file can hold: no such lane, a time beyond 8,640,000,000,000, a word with
    /// more bits than its field, or a signature of more than 65 bytes.
    error ReceiptMalformed(uint256 index);
    /// The caller has code, or was called by a contract: nobody would find the receipts in the transaction's calldata.
    error PosterNotPlain(address caller);
    /// There is no such lane, or not in that way; or the policy has nobody to judge it. (No such policy: Escrow's
    /// PolicyUnknown.)
    error LaneClosed(uint8 lane);
    /// This batch is committed already; a repeated call may read this as done.
    error BatchKnown(bytes32 batchHash);
    /// Not one receipt of the batch could bind; `bindFaultOf` says why.
    error NothingBound();
    /// No batch with exactly this header is committed here.
    error BatchUnknown(bytes32 batchHash);
    /// The proof shows `claims` statements for `receipts` receipts.
    error ClaimCount(uint256 receipts, uint256 claims);
    /// What the proof shows of receipt `index` is not what the receipt says.
    error ClaimMismatch(uint256 index);
    /// The leaf did not bind, or lies outside the batch: there is nothing to kill.
    error LeafUnbound(bytes32 batchHash, uint256 index);
    /// The leaf is dead or final already.
    error LeafStateIs(bytes32 batchHash, uint256 index, LeafState state);
    /// The escrow was deployed for a rollup at another address.
    error EscrowMismatch(address expected);
    /// Only the named contract may call this.
    error Unauthorized(address caller);

    /// @notice Anchors 1 to 256 receipts of the optimistic or the sampled lane under one policy. Any plain account may
    /// call, in a transaction to this contract, whose calldata publishes receipts and signatures; a contract, or an
    /// account that has delegated itself to one (EIP-7702), may not: what it passed on nobody could read. A
    /// receipt that cannot bind is skipped: its leaf stays in the tree, marked `unbound`, so that nobody can block a
    /// batch by spoiling one receipt. Only what is no receipt at all refuses the batch (ReceiptMalformed).
    /// @param signatures 65 bytes r | s | v each, over the receipt, by `receipt.executor`; a longer one is malformed
    /// @param salt tells batches of equal content apart
    function commit(
        uint8 lane,
        bytes32 policyHash,
        Receipt[] calldata receipts,
        bytes[] calldata signatures,
        bytes32 salt
    ) external returns (bytes32 batchHash);

    /// @notice Anchors receipts of the zk lane together with the proof that they are right; final at once. Callers and
    /// receipts as in `commit`.
    /// @param evidence for the policy's verifier (IProofVerifier); claim i is about receipt i
    function commitProved(
        bytes32 policyHash,
        Receipt[] calldata receipts,
        bytes[] calldata signatures,
        bytes32 salt,
        bytes calldata evidence
    ) external returns (bytes32 batchHash);

    /// @notice Marks a bound leaf that is not final as dead. Only Escrow calls it, for an executor who signed two
    /// receipts. Reverts where the leaf is not alive or is final.
    function kill(BatchHeader calldata header, uint256 index) external;

    /// @notice How far a receipt is verified. Never reverts for a wrong receipt, index, path or header: Unknown.
    /// @param path siblings from the leaf upwards
    function statusOf(Receipt calldata receipt, uint256 index, bytes32[] calldata path, BatchHeader calldata header)
        external
        view
        returns (Status);

    /// @notice Where a leaf stands, and the name of its batch. Reverts BatchUnknown for a header that is not committed.
    /// Says nothing about whether the leaf is bound.
    function leafStateOf(BatchHeader calldata header, uint256 index)
        external
        view
        returns (bytes32 batchHash, LeafState state);

    /// @notice Would this receipt bind if it were committed now? Reverts ReceiptMalformed for what cannot be posted.
    function bindFaultOf(uint8 lane, bytes32 policyHash, Receipt calldata receipt, bytes calldata signature)
        external
        view
        returns (BindFault);

    /// @notice The contract that holds the orders, the policies and the clock.
    function escrow() external view returns (address);

    /// @notice Hash of the header of a batch; zero where there is none.
    function headerHashOf(bytes32 batchHash) external view returns (bytes32);

    /// @notice Bitmap of leaves killed for a second receipt; a court's own findings are in the court.
    function killsOf(bytes32 batchHash) external view returns (uint256);

    /// @notice Accumulator: keccak(chain | batchHash) over all batches in order.
    function chain() external view returns (bytes32);

    /// @notice ERC-6372; Escrow's.
    function clock() external view returns (uint48);

    function CLOCK_MODE() external view returns (string memory);
}
