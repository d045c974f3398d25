// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// What may be demanded of a claim: a node of the trees under a receipt's roots, or something that only the executor can
/// say. Trees are those of graph/commitment/merkle.ts; below, height 0 is the leaves, and node (h, i) covers the leaves
/// i 2^h to (i + 1) 2^h - 1, as far as they exist. An answer reveals at most 512 children: 2^9, nine heights at once.
enum NodeKind {
    /// The trace: number of committed slots and their tensor roots, or of the subtrees' values.
    Trace,
    /// Number and tensor roots of the inputs under inputRoot.
    Inputs,
    /// Number and tensor roots of the outputs under outputRoot.
    Outputs,
    /// One tensor of the trace: header and hashes of chunks, or values of subtrees.
    Tensor,
    /// Encoded elements of consecutive chunks of one tensor of the trace.
    Chunks,
    /// Tensor roots of the slots between two committed ones. Only the executor can say; no hash binds it.
    Segment,
    /// Partial sums of one long contraction. Only the executor can say.
    Sums
}

/// Fields that a kind does not name are zero.
struct Node {
    NodeKind kind;
    /// Tensor, Chunks, Sums: number of the slot. Segment: number k of the segment, between committed slots k and k + 1.
    uint32 slot;
    /// Trace, Tensor: ROOT, or the height of the subtree: a positive multiple of 9.
    uint8 height;
    /// Trace, Tensor below the root: index of the subtree at its height. Chunks: first chunk. Segment: first slot of it.
    /// Sums: element of the slot, in committed order.
    uint64 first;
    /// Chunks: 1; or up to 64, where `first` is a multiple of 64. Segment: slots in it. Sums: parts.
    uint32 count;
}

uint8 constant ROOT = 255;

/// Shows that a node exists under the roots of a receipt. Parts that a kind does not need are empty or zero.
///   Trace below the root  slotCount, values = [its value], tracePath
///   Segment k             committed slot k, which lies before it: slotCount, position = k, tensorRoot, tracePath
///   Tensor, Chunks, Sums  the slot: committed: slotCount, position, tensorRoot, tracePath; in a list: segment,
///                         segmentRoots, tensorRoot. Then, below the tensor's root, tensorHeader, values and chunkPath
///   Sums                  as the Chunks that hold the element: one chunk, or chunks from a multiple of 64 on
struct NodePath {
    /// Number of committed slots, as traceRoot binds it. Fewer than the receipt's opCount: the trace leaves slots out.
    uint32 slotCount;
    /// Position of the slot's leaf in the trace; equal to the slot's number where every slot is committed.
    uint32 position;
    /// Siblings of the leaf, or of the inner node of the trace, from below.
    bytes32[] tracePath;
    /// The stored segment that holds the slot, and its node; empty where the slot is committed.
    Node segment;
    bytes32[] segmentRoots;
    bytes32 tensorRoot;
    /// As the tensor root binds it.
    bytes tensorHeader;
    /// Trace and Tensor below the root: the value of the node. Chunks: hash of each chunk.
    bytes32[] values;
    /// Siblings of `values` under the tensor, from below (TensorTree.valueFromOpening).
    bytes32[] chunkPath;
}
