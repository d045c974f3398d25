// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../SettlementTypes.sol";
import {TensorTree} from "../TensorTree.sol";
import {IDisputeGame} from "./IDisputeGame.sol";
import {Node, NodeKind, NodePath, ROOT} from "./Nodes.sol";

/// Where a node stands. A slot that the trace leaves out stands in a segment, which the game knows and this one does not.
struct Place {
    /// Of the node; where `segmentId` is not zero, above the level of that segment.
    uint256 level;
    /// Zero where it has none.
    bytes32 parentId;
    bytes32 segmentId;
    /// What the segment's content must hash to.
    bytes32 rootsHash;
    /// What an answer is compared with; zero of a statement.
    bytes32 bound;
    /// Most bytes of the answer; of Chunks: exactly.
    uint256 size;
    /// Chunks: bytes of an element.
    uint256 width;
}

/// @title Where a node stands, and what reveals it
/// @notice Symbols: n leaves of a tree, d(n) = max(1, ceil(log512 n)) answers from its root to its leaves. Below the root
/// the answers reveal heights 9 (d - 1), 9 (d - 2), .. 0; a node of height 9 m is m answers above the leaves, so d - m
/// below the root. Level l of a node = answers that lie above it:
///   Trace, Inputs, Outputs (roots)  0
///   Trace of height 9 m             d(slots) - m
///   Segment                         d(slots)
///   Tensor (root)                   T = d(slots) where every slot is committed; one more where the trace leaves slots out
///   Tensor of height 9 m            T + d(chunks) - m
///   Chunks                          T + d(chunks)
///   Sums                            one more
/// The parent of a node is the node whose answer reveals it. Functions revert IDisputeGame.NodeInvalid where a node is
/// none that there can be or its path does not show it. Contents have one encoding, so that a node has one answer.
library NodeTree {
    uint256 private constant HEIGHTS = 9;
    uint256 private constant FANOUT = 512;
    uint8 private constant TRACE_NODE = 0x21;
    uint256 private constant HASH_BYTES = 32;
    /// uint32 number of the slot, in front of its tensor root where the trace leaves slots out.
    uint256 private constant NUMBER_BYTES = 4;
    uint256 private constant GROUP = 64;
    /// A header of eight axes.
    uint256 private constant HEADER_BYTES = 57;
    uint256 private constant ROOT_STEP = 31;
    /// Elements are counted in 38 bits: 2^32 chunks of 64.
    uint64 private constant MAX_FIRST = 2 ** 38 - 1;

    /// @return below d(n)
    function depthOf(uint256 n) internal pure returns (uint256 below) {
        below = 1;
        while (n > FANOUT) {
            n = (n + FANOUT - 1) / FANOUT;
            ++below;
        }
    }

    function idOf(Node memory node) internal pure returns (bytes32) {
        return keccak256(abi.encode(node));
    }

    /// @notice All of a node in one number below 2^88 that is not zero: requireNode has seen to it that each field fits.
    function keyOf(Node calldata node) internal pure returns (uint88) {
        return (uint88(node.kind) << 85) | (uint88(node.slot) << 53) | (uint88(_step(node.height)) << 48)
            | (uint88(node.first) << 10) | node.count;
    }

    function idOfKey(uint88 key) internal pure returns (bytes32) {
        uint256 rung = (key >> 48) & 0x1f;
        return idOf(
            Node({
                kind: NodeKind(uint8(key >> 85)),
                slot: uint32(key >> 53),
                height: rung == ROOT_STEP ? ROOT : uint8(rung * HEIGHTS),
                first: uint64(key >> 10) & MAX_FIRST,
                count: uint32(key & 0x3ff)
            })
        );
    }

    /// @return height in answers; 31 for a root
    function _step(uint256 height) private pure returns (uint256) {
        return height == ROOT ? ROOT_STEP : height / HEIGHTS;
    }

    /// @notice Has no parent: it can be demanded without a path.
    function isRoot(Node calldata node) internal pure returns (bool) {
        NodeKind kind = node.kind;
        return kind == NodeKind.Inputs || kind == NodeKind.Outputs || (kind == NodeKind.Trace && node.height == ROOT);
    }

    /// @notice Only the executor can say it.
    function isStatement(NodeKind kind) internal pure returns (bool) {
        return kind == NodeKind.Segment || kind == NodeKind.Sums;
    }

    /// @notice Most bytes that the answer of a claim's node can have, tensors of more than eight axes and more than 512
    /// inputs or outputs apart.
    function answerBytes(Receipt calldata receipt, Node calldata node) internal pure returns (uint256) {
        NodeKind kind = node.kind;
        if (kind == NodeKind.Chunks) return node.count * GROUP * 4;
        if (kind == NodeKind.Segment) return node.count * HASH_BYTES;
        if (kind == NodeKind.Sums) return node.count * 8;
        if (kind == NodeKind.Tensor) return HEADER_BYTES + FANOUT * HASH_BYTES;
        if (kind != NodeKind.Trace) return NUMBER_BYTES + FANOUT * HASH_BYTES;
        // Of a root this tells, too, from how many slots on nothing is left out (`contentBound`).
        uint256 slots = node.height == ROOT ? receipt.opCount : FANOUT;
        return NUMBER_BYTES + (slots > FANOUT ? FANOUT + 1 : slots) * (NUMBER_BYTES + HASH_BYTES);
    }

    /// @notice Requires that fields which the kind does not name are zero, and that the others are in their ranges.
    function requireNode(Node calldata node) internal pure {
        NodeKind kind = node.kind;
        bool tree = kind == NodeKind.Trace || kind == NodeKind.Tensor;
        bool counted = kind == NodeKind.Chunks || isStatement(kind);
        if (kind <= NodeKind.Outputs && node.slot != 0) revert IDisputeGame.NodeInvalid("slot");
        uint256 height = node.height;
        if (tree ? height == 0 || (height != ROOT && (height % HEIGHTS != 0 || height > 4 * HEIGHTS)) : height != 0) {
            revert IDisputeGame.NodeInvalid("height");
        }
        if ((tree ? height == ROOT : !counted) ? node.first != 0 : node.first > MAX_FIRST) {
            revert IDisputeGame.NodeInvalid("first");
        }
        uint256 count = node.count;
        if (counted ? count == 0 || count > FANOUT : count != 0) revert IDisputeGame.NodeInvalid("count");
        if (kind == NodeKind.Chunks && count != 1 && (count > GROUP || node.first % GROUP != 0)) {
            revert IDisputeGame.NodeInvalid("count");
        }
    }

    // --- Places

    /// @notice What answers to a node are compared with: `contentBound` of the content gives it. No statement of an executor
    /// hashes to it: those have other lengths than these 65 bytes.
    /// @param number what of the tree's shape the content must not choose
    function boundOf(bytes32 value, uint256 number) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(uint8(0xff), value, number));
    }

    /// @notice Of a root: nothing is shown.
    function placeOfRoot(Receipt calldata receipt, Node calldata node) internal pure returns (Place memory place) {
        bytes32 root = node.kind == NodeKind.Trace
            ? receipt.traceRoot
            : node.kind == NodeKind.Inputs ? receipt.inputRoot : receipt.outputRoot;
        place.bound = boundOf(root, 0);
        place.size = answerBytes(receipt, node);
    }

    /// @notice Requires that the path shows an inner node of the trace.
    function placeInTrace(Receipt calldata receipt, Node calldata node, NodePath calldata path)
        internal
        pure
        returns (Place memory place)
    {
        uint256 slots = path.slotCount;
        bytes32 value = _inner(TRACE_NODE, node, slots, path.values, path.tracePath);
        _requireTrace(receipt, slots, value);
        uint256 below = depthOf(slots);
        place.level = below - node.height / HEIGHTS;
        place.parentId = _above(NodeKind.Trace, 0, node.height, node.first, below);
        place.bound = boundOf(path.values[0], slots);
        uint256 entry = node.height == HEIGHTS && slots < receipt.opCount ? NUMBER_BYTES + HASH_BYTES : HASH_BYTES;
        place.size = NUMBER_BYTES + FANOUT * entry;
    }

    /// @notice Requires that the path shows the committed slot before a segment, that one comes after it, and that the
    /// trace leaves slots out.
    function placeOfSegment(Receipt calldata receipt, Node calldata node, NodePath calldata path)
        internal
        pure
        returns (Place memory place)
    {
        if (path.slotCount >= receipt.opCount) revert IDisputeGame.NodeInvalid("slotCount");
        if (path.position != node.slot || uint256(node.slot) + 1 >= path.slotCount) {
            revert IDisputeGame.NodeInvalid("slot");
        }
        if (node.first == 0 || node.first > type(uint32).max) revert IDisputeGame.NodeInvalid("first");
        (place.level, place.parentId) = _committed(receipt, node.first - 1, path);
        place.size = answerBytes(receipt, node);
    }

    /// @notice Of Tensor, Chunks and Sums. Requires that the path shows the slot, be it a committed one or one of a segment
    /// as the path says it was stated, and in its tensor the node.
    function placeOfSlot(Receipt calldata receipt, Node calldata node, NodePath calldata path)
        internal
        pure
        returns (Place memory place)
    {
        if (path.segmentRoots.length != 0) {
            _placeInSegment(place, node, path);
        } else {
            bool leavesOut = path.slotCount < receipt.opCount;
            if (!leavesOut && path.position != node.slot) revert IDisputeGame.NodeInvalid("position");
            (place.level, place.parentId) = _committed(receipt, node.slot, path);
            if (leavesOut) ++place.level;
        }
        if (node.kind == NodeKind.Tensor && node.height == ROOT) {
            place.bound = boundOf(path.tensorRoot, 0);
            place.size = answerBytes(receipt, node);
        } else {
            _placeInTensor(place, node, path);
        }
    }

    function _placeInSegment(Place memory place, Node calldata node, NodePath calldata path) private pure {
        Node calldata segment = path.segment;
        if (segment.kind != NodeKind.Segment) revert IDisputeGame.NodeInvalid("segment");
        bytes32[] calldata roots = path.segmentRoots;
        uint256 slot = node.slot;
        uint256 first = segment.first;
        if (slot < first || slot >= first + roots.length || roots[slot - first] != path.tensorRoot) {
            revert IDisputeGame.NodeInvalid("slot");
        }
        place.level = 1;
        place.segmentId = idOf(segment);
        place.parentId = place.segmentId;
        place.rootsHash = keccak256(abi.encodePacked(roots));
    }

    /// @return level d(slots)
    /// @return parentId the node that reveals the leaf
    function _committed(Receipt calldata receipt, uint256 number, NodePath calldata path)
        private
        pure
        returns (uint256 level, bytes32 parentId)
    {
        uint256 position = path.position;
        if (position >= path.slotCount) revert IDisputeGame.NodeInvalid("position");
        bytes32 leaf = _slotLeaf(number, path.tensorRoot);
        (bool exact, bytes32 value) = _climb(TRACE_NODE, leaf, position, path.slotCount, path.tracePath);
        if (!exact) revert IDisputeGame.NodeInvalid("tracePath");
        _requireTrace(receipt, path.slotCount, value);
        level = depthOf(path.slotCount);
        parentId = _above(NodeKind.Trace, 0, 0, position, level);
    }

    /// @param place of the tensor's root; becomes that of the node below it
    function _placeInTensor(Place memory place, Node calldata node, NodePath calldata path) private pure {
        TensorTree.Header memory header = _header(path.tensorHeader);
        uint256 below = depthOf(header.chunks);
        bytes32 value;
        place.level += below;
        if (node.kind == NodeKind.Tensor) {
            value = _inner(TensorTree.TENSOR_NODE, node, header.chunks, path.values, path.chunkPath);
            place.level -= node.height / HEIGHTS;
            place.parentId = _above(NodeKind.Tensor, node.slot, node.height, node.first, below);
            uint256 children = _atHeight(header.chunks, node.height - HEIGHTS) - node.first * FANOUT;
            if (children > FANOUT) children = FANOUT;
            place.bound = boundOf(path.values[0], children);
            place.size = children * HASH_BYTES;
        } else {
            (uint256 first, uint256 count) = _runOf(place, node, path, header, below);
            if (first + count > header.chunks) revert IDisputeGame.NodeInvalid("first");
            if (path.values.length != count) revert IDisputeGame.NodeInvalid("values");
            bool exact;
            (exact, value) = count == 1
                ? _climb(TensorTree.TENSOR_NODE, path.values[0], first, header.chunks, path.chunkPath)
                : TensorTree.valueFromOpening(
                    TensorTree.TENSOR_NODE, path.values, first, header.chunks, path.chunkPath
                );
            if (!exact) revert IDisputeGame.NodeInvalid("chunkPath");
        }
        if (_tensorRoot(path.tensorHeader, value) != path.tensorRoot) revert IDisputeGame.NodeInvalid("tensorRoot");
    }

    /// @return first chunk of the run that the path shows
    /// @return count of its chunks
    function _runOf(
        Place memory place,
        Node calldata node,
        NodePath calldata path,
        TensorTree.Header memory header,
        uint256 below
    ) private pure returns (uint256 first, uint256 count) {
        first = node.first;
        count = node.count;
        if (node.kind == NodeKind.Chunks) {
            place.parentId = _above(NodeKind.Tensor, node.slot, 0, first, below);
            uint256 start = first * TensorTree.CHUNK_ELEMENTS;
            uint256 elements = count * TensorTree.CHUNK_ELEMENTS;
            // Beyond the end: refused by the caller.
            if (start < header.elements && start + elements > header.elements) elements = header.elements - start;
            place.size = elements * header.width;
            place.width = header.width;
            place.bound = boundOf(keccak256(abi.encodePacked(path.values)), count);
            return (first, count);
        }
        if (first >= header.elements) revert IDisputeGame.NodeInvalid("first");
        place.size = count * 8;
        ++place.level;
        uint256 chunk = first / TensorTree.CHUNK_ELEMENTS;
        count = path.values.length;
        first = count == 1 ? chunk : chunk - chunk % GROUP;
        if (count > GROUP || chunk >= first + count) revert IDisputeGame.NodeInvalid("values");
        // The casts cut nothing: chunks are counted in 32 bits.
        place.parentId = idOf(Node(NodeKind.Chunks, node.slot, 0, uint64(first), uint32(count)));
    }

    /// @return value of the tree, from one node of it
    function _inner(
        uint8 tag,
        Node calldata node,
        uint256 leaves,
        bytes32[] calldata values,
        bytes32[] calldata siblings
    ) private pure returns (bytes32 value) {
        uint256 height = node.height;
        if (height >= HEIGHTS * depthOf(leaves)) revert IDisputeGame.NodeInvalid("height");
        uint256 size = _atHeight(leaves, height);
        if (node.first >= size) revert IDisputeGame.NodeInvalid("first");
        if (values.length != 1) revert IDisputeGame.NodeInvalid("values");
        bool exact;
        (exact, value) = _climb(tag, values[0], node.first, size, siblings);
        if (!exact) revert IDisputeGame.NodeInvalid("siblings");
    }

    /// @dev TensorTree.valueFromOpening of a single node, which is most of what is shown: 17 levels of the general function
    /// cost 20,000 gas, of this one 3,000. Assembly: a preimage of 65 bytes at the free pointer, which stays where it is.
    /// @param index below `size`
    function _climb(uint256 tag, bytes32 below, uint256 index, uint256 size, bytes32[] calldata siblings)
        private
        pure
        returns (bool exact, bytes32 value)
    {
        assembly ("memory-safe") {
            value := below
            let next := siblings.offset
            let end := add(next, shl(5, siblings.length))
            let free := mload(0x40)
            mstore8(free, tag)
            let left := add(free, 0x01)
            let right := add(free, 0x21)
            exact := 1
            for {} gt(size, 1) {} {
                let odd := and(index, 1)
                // The last node of a level with an odd number of them has no sibling, and rises.
                if or(odd, lt(add(index, 1), size)) {
                    if eq(next, end) {
                        exact := 0
                        break
                    }
                    let sibling := calldataload(next)
                    next := add(next, 0x20)
                    switch odd
                    case 0 {
                        mstore(left, value)
                        mstore(right, sibling)
                    }
                    default {
                        mstore(left, sibling)
                        mstore(right, value)
                    }
                    value := keccak256(free, 0x41)
                }
                index := shr(1, index)
                size := shr(1, add(size, 1))
            }
            exact := and(exact, eq(next, end))
        }
    }

    /// @param below d of the tree
    /// @return id of the node that reveals node (height, index)
    function _above(NodeKind kind, uint32 slot, uint256 height, uint256 index, uint256 below)
        private
        pure
        returns (bytes32)
    {
        height += HEIGHTS;
        bool root = height >= HEIGHTS * below;
        // The casts cut nothing: a tree has at most 2^32 leaves.
        return idOf(
            Node(kind, slot, root ? ROOT : uint8(height), root ? 0 : uint64(index / FANOUT), 0)
        );
    }

    /// @return nodes of a tree at this height
    function _atHeight(uint256 leaves, uint256 height) private pure returns (uint256) {
        return (leaves + (1 << height) - 1) >> height;
    }

    function _requireTrace(Receipt calldata receipt, uint256 slots, bytes32 value) private pure {
        if (_traceRoot(slots, value) != receipt.traceRoot) revert IDisputeGame.NodeInvalid("traceRoot");
    }

    function _header(bytes calldata encoded) private pure returns (TensorTree.Header memory header) {
        bool valid;
        uint256 offset;
        assembly ("memory-safe") {
            offset := encoded.offset
        }
        (valid, header) = TensorTree.readHeader(offset, encoded.length);
        if (!valid) revert IDisputeGame.NodeInvalid("tensorHeader");
    }

    // --- Contents

    /// @notice `boundOf` the node that this content reveals. Reverts IDisputeGame.AnswerInvalid where it does not parse.
    /// @param size, width of the node's place
    function contentBound(Node calldata node, uint256 size, uint256 width, bytes calldata content)
        internal
        pure
        returns (bytes32)
    {
        NodeKind kind = node.kind;
        if (kind == NodeKind.Trace) return _traceBound(node, size, content);
        if (kind == NodeKind.Inputs) return boundOf(_portsRoot(TensorTree.INPUTS, content), 0);
        if (kind == NodeKind.Outputs) return boundOf(_portsRoot(TensorTree.OUTPUTS, content), 0);
        if (kind == NodeKind.Chunks) return _chunksBound(node, size, width, content);
        if (node.height == ROOT) return boundOf(_tensorOf(content), 0);
        uint256 count = content.length / HASH_BYTES;
        return boundOf(TensorTree.treeValue(TensorTree.TENSOR_NODE, _hashes(content, count)), count);
    }

    function _traceBound(Node calldata node, uint256 size, bytes calldata content) private pure returns (bytes32) {
        uint256 slots = _leading(content);
        bool root = node.height == ROOT;
        uint256 height = (root ? HEIGHTS * depthOf(slots) : node.height) - HEIGHTS;
        uint256 first = root ? 0 : node.first * FANOUT;
        uint256 count = _atHeight(slots, height);
        count = first < count ? count - first : 0;
        if (!root && count > FANOUT) count = FANOUT;
        // The size tells whether slots are left out: of a root's how many there are at least, 513 for more than 512.
        uint256 entry = NUMBER_BYTES + HASH_BYTES;
        bool numbered = root ? slots < (size - NUMBER_BYTES) / entry : size == NUMBER_BYTES + FANOUT * entry;
        bytes calldata rest = content[NUMBER_BYTES:];
        bytes32[] memory children;
        if (height != 0) {
            children = _hashes(rest, count);
        } else if (numbered) {
            children = _numbered(rest, count);
        } else {
            children = _hashes(rest, count);
            for (uint256 i = 0; i < count; ++i) {
                children[i] = _slotLeaf(first + i, children[i]);
            }
        }
        bytes32 value = TensorTree.treeValue(TRACE_NODE, children);
        return root ? boundOf(_traceRoot(slots, value), 0) : boundOf(value, slots);
    }

    function _portsRoot(uint8 role, bytes calldata content) private pure returns (bytes32) {
        uint256 count = _leading(content);
        bytes32[] memory leaves = _hashes(content[NUMBER_BYTES:], count);
        for (uint256 i = 0; i < count; ++i) {
            leaves[i] = TensorTree.port(role, i, leaves[i]);
        }
        return TensorTree.portsRoot(role, count, TensorTree.treeValue(TensorTree.PORT_NODE, leaves));
    }

    function _tensorOf(bytes calldata content) private pure returns (bytes32) {
        // The rank, behind the range, tells how long the header is.
        if (content.length < 9) revert IDisputeGame.AnswerInvalid("length");
        uint256 size = 17 + 5 * uint256(uint8(content[8]));
        if (content.length < size) revert IDisputeGame.AnswerInvalid("length");
        bytes calldata encoded = content[:size];
        uint256 chunks = _header(encoded).chunks;
        uint256 count = _atHeight(chunks, HEIGHTS * (depthOf(chunks) - 1));
        return _tensorRoot(encoded, TensorTree.treeValue(TensorTree.TENSOR_NODE, _hashes(content[size:], count)));
    }

    function _chunksBound(Node calldata node, uint256 size, uint256 width, bytes calldata content)
        private
        pure
        returns (bytes32)
    {
        if (content.length != size) revert IDisputeGame.AnswerInvalid("length");
        bytes memory elements = content;
        uint256 pointer;
        assembly ("memory-safe") {
            pointer := add(elements, 0x20)
        }
        bytes32[] memory leaves = TensorTree.chunkLeaves(pointer, size, width, node.first);
        return boundOf(keccak256(abi.encodePacked(leaves)), leaves.length);
    }

    /// @return number that the first four bytes are
    function _leading(bytes calldata content) private pure returns (uint256) {
        if (content.length < NUMBER_BYTES) revert IDisputeGame.AnswerInvalid("length");
        return uint32(bytes4(content));
    }

    /// @dev Assembly: one copy; the language would read word by word.
    function _hashes(bytes calldata content, uint256 count) private pure returns (bytes32[] memory hashes) {
        if (content.length != count * HASH_BYTES) revert IDisputeGame.AnswerInvalid("length");
        hashes = new bytes32[](count);
        assembly ("memory-safe") {
            calldatacopy(add(hashes, 0x20), content.offset, content.length)
        }
    }

    /// @return leaves of the trace from numbers and tensor roots
    function _numbered(bytes calldata content, uint256 count) private pure returns (bytes32[] memory leaves) {
        uint256 size = NUMBER_BYTES + HASH_BYTES;
        if (content.length != count * size) revert IDisputeGame.AnswerInvalid("length");
        leaves = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            bytes calldata entry = content[i * size:(i + 1) * size];
            leaves[i] = _slotLeaf(uint32(bytes4(entry)), bytes32(entry[NUMBER_BYTES:]));
        }
    }

    // --- Hashes, as graph/commitment/ states them

    function _slotLeaf(uint256 number, bytes32 tensor) private pure returns (bytes32) {
        return _numberedHash(0x20, number, tensor);
    }

    function _traceRoot(uint256 slots, bytes32 value) private pure returns (bytes32) {
        return _numberedHash(0x22, slots, value);
    }

    /// @return hash keccak(tag | uint32 count | value)
    /// @dev Assembly: 37 bytes at the free pointer, which stays where it is; the encoder would allocate each preimage.
    function _numberedHash(uint256 tag, uint256 count, bytes32 value) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(shl(248, tag), shl(216, and(count, 0xffffffff))))
            mstore(add(free, 0x05), value)
            hash := keccak256(free, 0x25)
        }
    }

    function _tensorRoot(bytes calldata header, bytes32 value) private pure returns (bytes32) {
        uint256 offset;
        assembly ("memory-safe") {
            offset := header.offset
        }
        return TensorTree.tensorRoot(offset, header.length, value);
    }
}
