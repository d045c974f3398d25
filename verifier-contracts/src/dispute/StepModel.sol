// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IStep} from "./IStep.sol";
import {MerklePath} from "./MerklePath.sol";
import {Descriptor, ModelOpening} from "./StepEvidence.sol";
import {Taps} from "./StepTensor.sol";

/// Codes of operators, as graph/commitment/model-digest.ts numbers them for ever; 0 stands for a graph input.
library Kind {
    uint256 internal constant MATMUL = 1;
    uint256 internal constant MATMUL_ACTIVATIONS = 2;
    uint256 internal constant CONV = 3;
    uint256 internal constant COMBINE = 4;
    uint256 internal constant SCALE = 5;
    uint256 internal constant MUL = 6;
    uint256 internal constant SUM_POOL = 7;
    uint256 internal constant REDUCE_SUM = 8;
    uint256 internal constant REQUANT = 9;
    uint256 internal constant MAX_POOL = 10;
    uint256 internal constant REDUCE_MAX = 11;
    uint256 internal constant ARG_MAX = 12;
    uint256 internal constant RESHAPE = 13;
    uint256 internal constant TRANSPOSE = 14;
    uint256 internal constant CONCAT = 15;
    uint256 internal constant SLICE = 16;
    uint256 internal constant PAD = 17;
    uint256 internal constant EXPAND = 18;
}

/// A value of the graph, from its descriptor.
struct Value {
    /// Value index.
    uint256 index;
    uint256 kind;
    /// NO_SLOT where it has none.
    uint256 slot;
    /// Elements of an item.
    uint256 size;
    uint256[] shape;
    /// Of the memory order, in elements.
    uint256[] strides;
    /// Of the committed order, in elements.
    uint256[] committedStrides;
    /// Address of the tensor's description in the call.
    uint256 described;
    /// Positions in Model.values; MISSING where the descriptor is not opened.
    uint256[] operands;
    /// Address in the call of words of four bytes, by kind: window (10) and groups; coefficients; qLo, qHi and, of a
    /// clamp, lo, hi; axes; axis; permutation; starts, then steps; before, the count again, after, value.
    uint256 attributes;
    /// reduceSum, reduceMax: number of axes. requant: 1 + channel axis, or 0.
    uint256 count;
    /// Roots in the order of the fields; zero where there is none.
    bytes32[2] constants;
    /// 1 + position of each constant among the opened tensors; 0 where it is not opened; ABSENT where there is none.
    uint256[2] openedConstants;
    /// 1 + position of its slot's tensor among the opened ones; 0 where it is not opened.
    uint256 opened;
    /// What StepEvaluate finds out: the window of strides that this value is on a slot, and conv's or pooling's own
    /// window.
    uint256 window;
    uint256 windowTensor;
    int256 windowBase;
    int256[] windowSteps;
    Taps windowTaps;
    Plane plane;
}

/// Where the window of conv and pooling stands for the element that is being computed.
struct Plane {
    uint256 channel;
    uint256 height;
    uint256 width;
    /// Of the first tap; negative in the padding.
    int256 row;
    int256 column;
    uint256 kernelRows;
    uint256 kernelColumns;
    uint256 rowDilation;
    uint256 columnDilation;
    /// conv: channels of the operand that meet one output channel; first weight of the output channel.
    uint256 perGroup;
    uint256 weights;
}

struct Model {
    uint256 inputs;
    uint256 nodes;
    uint256 outputs;
    uint256 slots;
    uint256 committed;
    /// Zero where every slot is committed.
    bytes32 tableRoot;
    /// Of the opened descriptors of inputs and nodes, ascending by index.
    Value[] values;
}

uint256 constant NO_SLOT = 0xffffffff;
uint256 constant MISSING = type(uint256).max;
uint256 constant ABSENT = type(uint256).max;

/// @dev Word i of an array that has it. Assembly: without the check of the index, which is most of its gas.
function wordAt(uint256[] memory words, uint256 i) pure returns (uint256 value) {
    assembly ("memory-safe") {
        value := mload(add(add(words, 0x20), shl(5, i)))
    }
}

/// @dev As `wordAt`.
function signedWordAt(int256[] memory words, uint256 i) pure returns (int256 value) {
    assembly ("memory-safe") {
        value := mload(add(add(words, 0x20), shl(5, i)))
    }
}

/// @dev Writes word i of an array that has it.
function setWordAt(uint256[] memory words, uint256 i, uint256 value) pure {
    assembly ("memory-safe") {
        mstore(add(add(words, 0x20), shl(5, i)), value)
    }
}

/// @title Opens a model's identity and reads its descriptors; graph/commitment/model-digest.ts states both byte by byte
/// @dev Whoever agreed on a digest agreed on descriptors that are well formed; others revert, or describe a graph
/// without meaning, in which nothing is read that was not opened.
library StepModel {
    uint8 private constant DESCRIPTOR = 0x40;
    uint8 private constant GRAPH_NODE = 0x41;
    uint8 private constant GRAPH_ROOT = 0x42;
    /// Sizes stay far from overflow; no tensor of a valid graph has as many elements.
    uint256 private constant SIZE_LIMIT = 1 << 64;

    /// A range of the call that is being read.
    struct Cursor {
        uint256 next;
        uint256 end;
    }

    function open(ModelOpening calldata opening, bytes32 digest) internal pure returns (Model memory model) {
        bytes32 computed = keccak256(
            abi.encodePacked(
                "assay/model/1",
                uint8(1),
                opening.graphRoot,
                opening.weightsRoot,
                opening.opCount,
                bytes32(0),
                opening.modelKeyHash
            )
        );
        if (computed != digest) revert IStep.EvidenceInvalid("model digest");
        Descriptor[] calldata descriptors = opening.descriptors;
        if (descriptors.length == 0 || descriptors[0].index != 0) revert IStep.EvidenceInvalid("descriptor 0");
        _checkDescriptor(opening, descriptors[0]);
        _readHeader(model, descriptors[0].encoded);
        uint256 last = model.inputs + model.nodes;
        uint256 count = 0;
        for (uint256 i = 1; i < descriptors.length; ++i) {
            if (descriptors[i].index <= descriptors[i - 1].index) revert IStep.EvidenceInvalid("descriptor order");
            _checkDescriptor(opening, descriptors[i]);
            if (descriptors[i].index <= last) ++count;
        }
        uint256[] memory pointers = new uint256[](count);
        Value[] memory values;
        // Assembly: an array of structs that are not allocated yet; each is set before it is read.
        assembly ("memory-safe") {
            values := pointers
        }
        for (uint256 i = 0; i < count; ++i) {
            Value memory value;
            _readValue(model, values, i, value, descriptors[i + 1]);
            values[i] = value;
        }
        model.values = values;
    }

    /// @notice Value index of output number `output`; reverts where its descriptor is not opened.
    function outputValue(Model memory model, ModelOpening calldata opening, uint256 output)
        internal
        pure
        returns (uint256)
    {
        if (output >= model.outputs) revert IStep.EvidenceInvalid("output");
        uint256 index = 1 + model.inputs + model.nodes + output;
        for (uint256 i = opening.descriptors.length; i > 0; --i) {
            if (opening.descriptors[i - 1].index == index) return u32(_cursor(opening.descriptors[i - 1].encoded));
        }
        revert IStep.EvidenceInvalid("output descriptor");
    }

    /// @notice Position of the value with this index; MISSING where it is not opened.
    function find(Model memory model, uint256 index) internal pure returns (uint256) {
        return _find(model.values, model.values.length, index);
    }

    /// @notice Position of the value that this descriptor describes; MISSING where it is not opened.
    function findDescriptor(Model memory model, uint256 descriptor) internal pure returns (uint256) {
        return descriptor == 0 ? MISSING : find(model, descriptor - 1);
    }

    /// @notice Declared range of a value.
    function range(Value memory value) internal pure returns (int256 lo, int256 hi) {
        uint256 from = value.described;
        assembly ("memory-safe") {
            let word := calldataload(from)
            lo := sar(224, word)
            hi := signextend(3, shr(192, word))
        }
    }

    /// @notice Position in committed order of element `within` of an item.
    function place(Value memory value, uint256 item, uint256 within) internal pure returns (uint256 position) {
        unchecked {
            position = item * value.size;
            for (uint256 axis = 0; axis < value.shape.length; ++axis) {
                uint256 i = within / wordAt(value.strides, axis) % wordAt(value.shape, axis);
                position += i * wordAt(value.committedStrides, axis);
            }
        }
    }

    /// @notice Position of the value in this slot; MISSING where it is not opened.
    function findSlot(Model memory model, uint256 slot) internal pure returns (uint256) {
        unchecked {
            if (slot == NO_SLOT) return MISSING;
            for (uint256 i = 0; i < model.values.length; ++i) {
                if (model.values[i].slot == slot) return i;
            }
            return MISSING;
        }
    }

    /// @notice keccak of the header that a tensor of `items` items of this value has.
    function headerHash(Value memory value, uint256 items) internal pure returns (bytes32 hash) {
        unchecked {
            uint256 chunks = (items * value.size + 63) / 64;
            if (chunks > type(uint32).max) revert IStep.Undetermined("items");
            uint256 rank = value.shape.length;
            uint256 from = value.described;
            // Assembly: lo, hi and the sides are bytes of the descriptor; 17 + 5 * rank bytes at the free pointer,
            // which stays. The description was read before: it holds count and sides of the shape, then count and axes
            // of the layout.
            assembly ("memory-safe") {
                let free := mload(0x40)
                calldatacopy(free, from, 8)
                mstore8(add(free, 8), rank)
                calldatacopy(add(free, 9), add(from, 12), shl(2, rank))
                let to := add(add(free, 9), shl(2, rank))
                let axes := add(from, add(16, shl(2, rank)))
                for { let i := 0 } lt(i, rank) { i := add(i, 1) } {
                    mstore8(to, shr(224, calldataload(add(axes, shl(2, i)))))
                    to := add(to, 1)
                }
                mstore(to, or(shl(224, items), shl(192, chunks)))
                hash := keccak256(free, add(17, mul(5, rank)))
            }
        }
    }

    function _checkDescriptor(ModelOpening calldata opening, Descriptor calldata descriptor) private pure {
        bytes calldata encoded = descriptor.encoded;
        uint256 count = opening.descriptorCount;
        uint256 index = descriptor.index;
        bytes32 leaf;
        // Assembly: hashed at the free pointer, which stays where it is.
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(or(shl(248, DESCRIPTOR), shl(216, index)), shl(184, encoded.length)))
            calldatacopy(add(free, 9), encoded.offset, encoded.length)
            leaf := keccak256(free, add(9, encoded.length))
        }
        (bool exact, bytes32 value) = MerklePath.value(GRAPH_NODE, leaf, index, count, descriptor.path);
        if (!exact || MerklePath.tagged(GRAPH_ROOT, count, value) != opening.graphRoot) {
            revert IStep.EvidenceInvalid("descriptor path");
        }
    }

    function _readHeader(Model memory model, bytes calldata encoded) private pure {
        Cursor memory c = _cursor(encoded);
        model.inputs = u32(c);
        model.nodes = u32(c);
        model.outputs = u32(c);
        model.slots = u32(c);
        model.committed = u32(c);
        model.tableRoot = _word(c);
    }

    /// @param values of which the first `position` are read
    function _readValue(
        Model memory model,
        Value[] memory values,
        uint256 position,
        Value memory value,
        Descriptor calldata descriptor
    ) private pure {
        unchecked {
            Cursor memory c = _cursor(descriptor.encoded);
            value.index = descriptor.index - 1;
            bool isInput = value.index < model.inputs;
            if (!isInput) value.kind = _u8(c);
            value.described = c.next;
            // lo and hi: the header's hash is made from their bytes.
            _skip(c, 8);
            value.shape = _u32s(c);
            _setStrides(value, _u32s(c));
            value.slot = u32(c);
            if (isInput) return;
            uint256[] memory operands = _u32s(c);
            for (uint256 i = 0; i < operands.length; ++i) {
                operands[i] = _find(values, position, operands[i]);
            }
            value.operands = operands;
            _readAttributes(c, value);
        }
    }

    /// @param order axes of the committed order, outermost first
    function _setStrides(Value memory value, uint256[] memory order) private pure {
        unchecked {
            uint256 rank = value.shape.length;
            if (order.length != rank || rank > 255) revert IStep.EvidenceInvalid("descriptor");
            value.strides = new uint256[](rank);
            value.committedStrides = new uint256[](rank);
            uint256 size = 1;
            for (uint256 axis = rank; axis > 0; --axis) {
                setWordAt(value.strides, axis - 1, size);
                size *= wordAt(value.shape, axis - 1);
                if (size == 0 || size > SIZE_LIMIT) revert IStep.EvidenceInvalid("descriptor");
            }
            value.size = size;
            size = 1;
            for (uint256 i = rank; i > 0; --i) {
                uint256 axis = wordAt(order, i - 1);
                value.committedStrides[axis] = size;
                size *= wordAt(value.shape, axis);
                if (size > SIZE_LIMIT) revert IStep.EvidenceInvalid("descriptor");
            }
        }
    }

    function _readAttributes(Cursor memory c, Value memory value) private pure {
        unchecked {
            uint256 kind = value.kind;
            uint256 words = 0;
            uint256 roots = 0;
            if (kind == Kind.REQUANT) {
                _readRequant(c, value);
                return;
            } else if (kind == Kind.REDUCE_SUM || kind == Kind.REDUCE_MAX || kind == Kind.TRANSPOSE) {
                words = value.count = u32(c);
            } else if (kind == Kind.SLICE) {
                words = 2 * u32(c);
            } else if (kind == Kind.PAD) {
                words = 2 * u32(c) + 2;
            } else if (kind == Kind.MATMUL || kind == Kind.SCALE) {
                roots = 2;
            } else if (kind == Kind.CONV) {
                (words, roots) = (11, 2);
            } else if (kind == Kind.SUM_POOL || kind == Kind.MAX_POOL) {
                words = 10;
            } else if (kind == Kind.COMBINE) {
                (words, roots) = (value.operands.length, 1);
            } else if (kind == Kind.ARG_MAX || kind == Kind.CONCAT) {
                words = 1;
            } else if (kind == 0 || kind > Kind.EXPAND) {
                revert IStep.EvidenceInvalid("descriptor");
            }
            value.attributes = _skip(c, 4 * words);
            for (uint256 i = 0; i < roots; ++i) {
                value.constants[i] = _word(c);
                if (value.constants[i] == 0) value.openedConstants[i] = ABSENT;
            }
        }
    }

    function _readRequant(Cursor memory c, Value memory value) private pure {
        unchecked {
            if (_u8(c) == 1) value.count = 1 + u32(c);
            value.constants[0] = _word(c);
            bool isTable = _u8(c) == 1;
            value.attributes = _skip(c, isTable ? 8 : 16);
            if (isTable) value.constants[1] = _word(c);
        }
    }

    /// @notice Attribute number i, as int32: where a field is unsigned, no valid one reaches 2^31.
    function attribute(Value memory value, uint256 i) internal pure returns (int256 word) {
        uint256 from = value.attributes;
        assembly ("memory-safe") {
            word := sar(224, calldataload(add(from, shl(2, i))))
        }
    }

    function _find(Value[] memory values, uint256 length, uint256 index) private pure returns (uint256) {
        unchecked {
            for (uint256 i = 0; i < length; ++i) {
                if (values[i].index == index) return i;
            }
            return MISSING;
        }
    }

    function _cursor(bytes calldata encoded) private pure returns (Cursor memory c) {
        unchecked {
            uint256 offset;
            assembly ("memory-safe") {
                offset := encoded.offset
            }
            c.next = offset;
            c.end = offset + encoded.length;
        }
    }

    /// @dev Steps over `size` bytes and returns where they begin.
    function _skip(Cursor memory c, uint256 size) private pure returns (uint256 from) {
        unchecked {
            from = c.next;
            if (size > c.end - from) revert IStep.EvidenceInvalid("descriptor");
            c.next = from + size;
        }
    }

    function _word(Cursor memory c) private pure returns (bytes32 value) {
        uint256 from = _skip(c, 32);
        assembly ("memory-safe") {
            value := calldataload(from)
        }
    }

    function _u8(Cursor memory c) private pure returns (uint256 value) {
        uint256 from = _skip(c, 1);
        assembly ("memory-safe") {
            value := byte(0, calldataload(from))
        }
    }

    function u32(Cursor memory c) internal pure returns (uint256 value) {
        uint256 from = _skip(c, 4);
        assembly ("memory-safe") {
            value := shr(224, calldataload(from))
        }
    }

    function _u32s(Cursor memory c) private pure returns (uint256[] memory values) {
        unchecked {
            uint256 count = u32(c);
            uint256 from = _skip(c, 4 * count);
            values = new uint256[](count);
            assembly ("memory-safe") {
                let to := add(values, 0x20)
                for { let end := add(from, shl(2, count)) } lt(from, end) { from := add(from, 4) } {
                    mstore(to, shr(224, calldataload(from)))
                    to := add(to, 0x20)
                }
            }
        }
    }
}
