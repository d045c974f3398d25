// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Node} from "./Nodes.sol";

// What a fault of an integer graph is shown with. Hashes: graph/commitment/ (model-digest.ts, trace-root.ts,
// tensor-root.ts); fraud-proofs/step/ builds and checks the same in TypeScript.

/// A descriptor of the model's graph.
struct Descriptor {
    uint32 index;
    bytes encoded;
    /// Siblings from below.
    bytes32[] path;
}

/// The preimage of modelDigest and the descriptors that the step reads, in ascending order; the first is number 0.
struct ModelOpening {
    bytes32 graphRoot;
    bytes32 weightsRoot;
    uint32 opCount;
    bytes32 modelKeyHash;
    uint32 descriptorCount;
    Descriptor[] descriptors;
}

/// Consecutive chunks of a tensor.
struct Run {
    uint32 firstChunk;
    /// Encoded elements; whole chunks.
    bytes elements;
    /// Siblings from below.
    bytes32[] path;
}

/// What is opened of one tensor: its header and runs in ascending order that do not touch. No runs: `treeValue` is the
/// value of the tree over its chunks; without a header, too, where only the root is read (InputBinding, OutputBinding,
/// CommitIndex): `treeValue` is the root itself.
struct TensorOpening {
    bytes header;
    Run[] runs;
    bytes32 treeValue;
}

/// A slot of the trace; or, where `segment` is not zero, of the list segments[segment - 1].
struct SlotOpening {
    uint32 slot;
    /// Position of its leaf in the trace; in a list: in the list.
    uint32 position;
    uint32 segment;
    /// Siblings of the leaf in the trace, from below.
    bytes32[] path;
    TensorOpening tensor;
}

/// Constant number `ordinal`, counted from 0 in the order of its fields, of descriptor `descriptor`.
struct ConstantOpening {
    uint32 descriptor;
    uint8 ordinal;
    TensorOpening tensor;
}

/// A segment as the executor stated it.
struct SegmentOpening {
    Node node;
    bytes32[] roots;
}

/// Partial sums as the executor stated them: parts of at most the step contract's limit of the contraction that
/// computes element `element` of the accumulator with value index `value`.
struct SumsOpening {
    Node node;
    uint32 value;
    uint64 element;
    int64[] parts;
}

struct StepEvidence {
    ModelOpening model;
    /// Number of committed slots, as traceRoot binds it.
    uint32 slotCount;
    /// Where the fault is: value index of the slot's tensor (Step, Header, InputRange), of the sums (Part); position of
    /// the input or output (InputBinding, OutputBinding), of the committed slot (CommitIndex); PortCount: 0 inputs, 1
    /// outputs.
    uint32 value;
    /// Element in memory order, item outermost: of that tensor (Step, InputRange), of the sums' slot (Part, and to ask
    /// for sums).
    uint64 element;
    /// Step of argMax: index along the axis of an element that beats the claimed one. Part: number of the part.
    uint64 witness;
    SlotOpening[] slots;
    ConstantOpening[] constants;
    /// InputBinding, OutputBinding, PortCount: the tensor root at the port, its siblings and the number of ports; for
    /// PortCount the path is the tree's value alone. SlotCount: the path is the value of the trace's tree alone.
    uint32 portCount;
    bytes32 portTensor;
    bytes32[] portPath;
    /// The model's table of committed slots (a tensor of int32), where it leaves slots out and the fault reads it.
    TensorOpening commitTable;
    SegmentOpening[] segments;
    SumsOpening[] sums;
}
