// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";
import {Evidence, PublicTensor} from "./DirectEvidence.sol";
import {ProgramMemory} from "./ProgramMemory.sol";
import {ProgramReader} from "./ProgramReader.sol";
import {InputPort, OutputPort, Shape} from "./Tape.sol";
import {Transcript} from "./Transcript.sol";

/// The public values of a proof, absorbed.
struct PublicValues {
    bytes32 state;
    bytes32 inputRoot;
    bytes32 outputRoot;
    /// By input: the words of all items by index, 2^k of them; those that hold no element are 0.
    uint256[][] words;
}

/// @title What a proof is about: public inputs and outputs, as the transcript has them and as receipts have them
/// @notice prover/verifier/{statement,check-outputs}.ts, prover/plan/inputs.ts and graph/commitment/trace-root.ts are the
/// same in TypeScript. Inputs come once, as the elements that their roots bind, and are hashed into the input root and
/// packed into the words of the transcript. Outputs come as the proof publishes them, and are turned into those that
/// were asked for (an arg-max), and these into the output root.
///
/// Of the headers, range and shape follow from the program and must be those; items are the proof's. What is left is
/// the word of whoever brings the evidence: the order of the axes (layout), and for an output that is an arg-max its
/// shape and range, as far as its elements have a place in them. It harms nobody. Roots bind the header, so a tensor is
/// read as its header says and is the true one. The header of an input is fixed by the input root, which stands in the
/// order that the requester signed. The header of an output is fixed by the output root, which the executor signs: with
/// one that differs from the model's he has delivered the right numbers under a root that the requester does not find
/// again from them, so that he must open it on chain at his own cost.
library Statement {
    /// @notice The header of that input or output is not one that the program and the number of items leave room for.
    error HeaderMismatch(uint8 role, uint256 index);
    /// @notice An element of that input or output lies outside its range.
    error ValueOutOfRange(uint8 role, uint256 index);

    uint256 private constant LOW_WORD = (1 << 128) - 1;
    /// Marks a word with at least one element while words are put together.
    uint256 private constant USED = 1 << 255;
    uint256 private constant ALL_SIGNS = 0x8080808080808080808080808080808080808080808080808080808080808080;

    /// @notice Absorbs everything that is public: a proof holds for this and nothing else.
    /// @param evidence with its tensors located
    /// @param shape whose ports it is for
    function absorb(
        Evidence memory evidence,
        Shape memory shape,
        bytes32 srsId,
        bytes32 modelDigest
    ) internal pure returns (PublicValues memory values) {
        bytes32 state = Transcript.absorbShort(Transcript.start(), "assay/proof/1/mercury", 21);
        state = Transcript.absorbWord(state, uint256(srsId));
        state = Transcript.absorbWord(state, uint256(evidence.context));
        // n, and one group.
        state = Transcript.absorbShort(state, bytes32(evidence.n << 248 | 1 << 240), 2);
        state = Transcript.absorbWord(state, uint256(modelDigest));
        state = Transcript.absorbShort(state, bytes32(evidence.items << 224), 4);

        uint256 count = shape.inputs.length;
        values.words = new uint256[][](count);
        bytes32[] memory ports = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            (state, ports[i]) = _input(state, evidence, shape.inputs[i], i, values);
        }
        values.inputRoot = _portsRoot(TensorTree.INPUTS, ports);

        count = shape.outputs.length;
        ports = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            PublicTensor memory tensor = evidence.outputs[i];
            state = Transcript.absorbCalldata(state, tensor.elements, tensor.elementsSize);
            ports[i] = _output(tensor, shape.outputs[i], evidence.items, i);
        }
        values.outputRoot = _portsRoot(TensorTree.OUTPUTS, ports);
        values.state = state;
    }

    /// @notice sum_e eq(point, e) words[e], the point being the last log2(words.length) elements of memory before
    /// `pointEnd`. Overwrites `words`.
    /// @dev Assembly: a few steps for each word. The last coordinate goes with the lowest bit of e and is bound first; two
    /// at a time, w_i := sum_k eq(r, k) w_(4 i + k), which saves writing and reading half of the sums. Four products
    /// below r are added without reduction (Fr.sol). The modulus must be kept (ProgramMemory.sol).
    function evaluate(uint256[] memory words, uint256 pointEnd) internal pure returns (uint256 value) {
        uint256 m = ProgramMemory.modulus();
        assembly ("memory-safe") {
            let base := add(words, 0x20)
            let size := shl(5, mload(words))
            for {} gt(size, 0x40) { size := shr(2, size) } {
                let high := mload(sub(pointEnd, 0x40))
                let low := mload(sub(pointEnd, 0x20))
                pointEnd := sub(pointEnd, 0x40)
                let both := mulmod(high, low, m)
                high := addmod(high, sub(m, both), m)
                low := addmod(low, sub(m, both), m)
                let none := addmod(1, sub(mul(3, m), add(add(high, low), both)), m)
                let to := base
                let end := add(base, size)
                for { let from := base } lt(from, end) { from := add(from, 0x80) } {
                    let sum := mulmod(mload(from), none, m)
                    sum := add(sum, mulmod(mload(add(from, 0x20)), low, m))
                    sum := add(sum, mulmod(mload(add(from, 0x40)), high, m))
                    mstore(to, add(sum, mulmod(mload(add(from, 0x60)), both, m)))
                    to := add(to, 0x20)
                }
            }
            value := mod(mload(base), m)
            if eq(size, 0x40) {
                let step := addmod(mload(add(base, 0x20)), sub(m, value), m)
                value := addmod(value, mulmod(mload(sub(pointEnd, 0x20)), step, m), m)
            }
        }
    }

    function _portsRoot(uint8 role, bytes32[] memory ports) private pure returns (bytes32) {
        uint256 count = ports.length;
        return TensorTree.portsRoot(role, count, TensorTree.treeValue(TensorTree.PORT_NODE, ports));
    }

    // --- Inputs

    /// @return next state with the words absorbed
    /// @return port leaf of the input under the input root
    function _input(
        bytes32 state,
        Evidence memory evidence,
        InputPort memory input,
        uint256 i,
        PublicValues memory values
    ) private pure returns (bytes32 next, bytes32 port) {
        uint256[] memory axes = input.axes;
        PublicTensor memory tensor = evidence.inputs[i];
        TensorTree.Header memory header = _header(tensor, evidence.items, TensorTree.INPUTS, i);
        if (header.lo != input.lo || header.hi != input.hi || !_hasShape(tensor, axes)) {
            revert HeaderMismatch(TensorTree.INPUTS, i);
        }
        // Room behind them: words are read 32 bytes at a time.
        uint256 elements = _allocate(tensor.elementsSize + 0x20);
        uint256 from = tensor.elements;
        uint256 size = tensor.elementsSize;
        assembly ("memory-safe") {
            calldatacopy(elements, from, size)
        }
        port = _port(TensorTree.INPUTS, i, tensor, elements, size, header.width);

        uint256 bits;
        for (uint256 axis = 0; axis < axes.length; ++axis) {
            bits += ProgramReader.bitsOf(axes[axis]);
        }
        uint256 wordBits = input.cellBits == 8 ? 4 : 3;
        if (wordBits > bits) wordBits = bits;
        uint256[] memory words = new uint256[](1 << (ProgramReader.bitsOf(evidence.items) + bits - wordBits));
        values.words[i] = words;
        uint256 inner = _innerAxis(axes);
        uint256 message;
        // Row by row, where words do not span rows, an element is a byte and every byte is in the range.
        if (
            header.width == 1 && header.hi - header.lo == 0xff && inner != type(uint256).max && axes[inner] > 8
                && _isOrdered(tensor, axes)
        ) {
            (message, size) = _packRows(elements, axes, inner, evidence.items, header.lo < 0 ? ALL_SIGNS : 0, words);
        } else {
            if (!_packCells(tensor, axes, header, elements, input.cellBits, wordBits, words)) {
                revert ValueOutOfRange(TensorTree.INPUTS, i);
            }
            (message, size) = _collect(words);
        }
        next = Transcript.absorbMemory(state, message, size);
    }

    /// @return inner the last axis longer than 1; all ones where there is none
    function _innerAxis(uint256[] memory axes) private pure returns (uint256 inner) {
        unchecked {
            inner = axes.length - 1;
            while (inner != type(uint256).max && axes[inner] == 1) --inner;
        }
    }

    /// @notice Does the layout leave the axes longer than 1 in their order? Then elements are committed to as in memory.
    /// @param axes the header's sides
    function _isOrdered(PublicTensor memory tensor, uint256[] memory axes) private pure returns (bool ordered) {
        uint256 order = tensor.header + 9;
        assembly ("memory-safe") {
            let rank := mload(axes)
            order := add(order, shl(2, rank))
            ordered := 1
            let least := 0
            for { let end := add(order, rank) } lt(order, end) { order := add(order, 1) } {
                let axis := byte(0, calldataload(order))
                if gt(mload(add(add(axes, 0x20), shl(5, axis))), 1) {
                    ordered := and(ordered, iszero(lt(axis, least)))
                    least := axis
                }
            }
        }
    }

    /// @notice Packs bytes into words, a row being the elements along the inner axis. `words` has been cleared.
    /// @param flip signed bytes less -128 are those with the sign flipped
    /// @return message address of the words with elements, 16 bytes each, ascending
    /// @return size of the message, bytes
    function _packRows(
        uint256 elements,
        uint256[] memory axes,
        uint256 inner,
        uint256 items,
        uint256 flip,
        uint256[] memory words
    ) private pure returns (uint256 message, uint256 size) {
        unchecked {
            // Rows come in blocks along the next axis outside, at equal distances; blocks lie anywhere.
            uint256 outer = inner;
            while (outer > 0 && axes[outer - 1] == 1) --outer;
            uint256 side = axes[inner];
            uint256 stride = 1 << (ProgramReader.bitsOf(side) - 4);
            uint256 rows = outer == 0 ? 1 : axes[--outer];
            uint256 blockStride = stride << ProgramReader.bitsOf(rows);
            uint256 blocks = items;
            for (uint256 axis = 0; axis < outer; ++axis) {
                blocks *= axes[axis];
            }
            message = _allocate(blocks * rows * ((side + 31) & ~uint256(15)) + 0x40);
            uint256 to = message;
            for (uint256 b = 0; b < blocks; ++b) {
                uint256 word = 0;
                uint256 rest = b;
                uint256 axisStride = blockStride;
                for (uint256 axis = outer; axis > 0 && rest > 0;) {
                    uint256 own = axes[--axis];
                    word += (rest % own) * axisStride;
                    rest /= own;
                    axisStride <<= ProgramReader.bitsOf(own);
                }
                uint256 pointer;
                assembly ("memory-safe") {
                    pointer := add(add(words, 0x20), shl(5, add(word, mul(rest, axisStride))))
                }
                to = _packBlock(elements, side, flip, pointer, stride << 5, rows, to);
                elements += side * rows;
            }
            size = to - message;
        }
    }

    /// @dev Assembly: row after row, two words at a time.
    /// @param word address of the first row's first
    /// @param stride from row to row
    /// @param to where the message goes on
    function _packBlock(
        uint256 from,
        uint256 side,
        uint256 flip,
        uint256 word,
        uint256 stride,
        uint256 rows,
        uint256 to
    ) private pure returns (uint256 next) {
        assembly ("memory-safe") {
            for {} rows { rows := sub(rows, 1) } {
                let own := word
                let left := side
                for {} gt(left, 0x20) { left := sub(left, 0x20) } {
                    let v := xor(mload(from), flip)
                    mstore(to, v)
                    mstore(own, shr(128, v))
                    mstore(add(own, 0x20), and(v, LOW_WORD))
                    from := add(from, 0x20)
                    own := add(own, 0x40)
                    to := add(to, 0x20)
                }
                let v := and(xor(mload(from), flip), not(shr(shl(3, left), not(0))))
                mstore(to, v)
                mstore(own, shr(128, v))
                if gt(left, 0x10) {
                    mstore(add(own, 0x20), and(v, LOW_WORD))
                    to := add(to, 0x10)
                }
                to := add(to, 0x10)
                from := add(from, left)
                word := add(word, stride)
            }
            next := to
        }
    }

    /// @dev Any layout, width and range, element by element. Words with an element are marked.
    /// @return inRange false where an element is not in lo..hi
    function _packCells(
        PublicTensor memory tensor,
        uint256[] memory axes,
        TensorTree.Header memory header,
        uint256 elements,
        uint256 cellBits,
        uint256 wordBits,
        uint256[] memory words
    ) private pure returns (bool inRange) {
        uint256 rank = axes.length;
        uint256[] memory strides = new uint256[](rank + 1);
        uint256 stride = 1;
        for (uint256 axis = rank; axis > 0;) {
            --axis;
            strides[axis] = stride;
            stride <<= ProgramReader.bitsOf(axes[axis]);
        }
        uint256 levels = _levels(tensor, axes, strides, header.items, stride);
        (uint256 width, int256 lo, uint256 most) = (header.width, header.lo, uint256(header.hi - header.lo));
        uint256 end = elements + tensor.elementsSize;
        uint256 cell = 0;
        inRange = true;
        while (elements < end) {
            assembly ("memory-safe") {
                let value := shr(sub(256, shl(3, width)), mload(elements))
                if slt(lo, 0) { value := signextend(sub(width, 1), value) }
                // Below lo it wraps to more than any range holds.
                value := sub(value, lo)
                inRange := and(inRange, iszero(gt(value, most)))
                let own := add(add(words, 0x20), shl(5, shr(wordBits, cell)))
                // Cells behind it in its word.
                let behind := and(not(cell), sub(shl(wordBits, 1), 1))
                mstore(own, or(or(mload(own), USED), shl(mul(behind, cellBits), value)))
                elements := add(elements, width)
            }
            cell = _advance(levels, cell);
        }
    }

    /// @dev Takes the marks off.
    /// @return message address of the marked words, 16 bytes each, ascending
    /// @return size of the message, bytes
    function _collect(uint256[] memory words) private pure returns (uint256 message, uint256 size) {
        message = _allocate((words.length + 1) << 4);
        assembly ("memory-safe") {
            let to := message
            let end := add(words, shl(5, add(mload(words), 1)))
            for { let own := add(words, 0x20) } lt(own, end) { own := add(own, 0x20) } {
                let word := mload(own)
                if word {
                    word := and(word, LOW_WORD)
                    mstore(own, word)
                    mstore(to, shl(128, word))
                    to := add(to, 0x10)
                }
            }
            size := sub(to, message)
        }
    }

    // --- Outputs

    /// @return port leaf of the requested output under the output root
    function _output(PublicTensor memory tensor, OutputPort memory output, uint256 items, uint256 i)
        private
        pure
        returns (bytes32 port)
    {
        TensorTree.Header memory header = _header(tensor, items, TensorTree.OUTPUTS, i);
        (uint256[] memory values, bool inRange) = _published(tensor, output.lo, output.hi);
        if (!inRange) revert ValueOutOfRange(TensorTree.OUTPUTS, i);
        uint256[] memory axes = output.axes;
        if (output.argMaxAxisPlusOne == 0) {
            if (header.lo != output.lo || header.hi != output.hi || !_hasShape(tensor, axes)) {
                revert HeaderMismatch(TensorTree.OUTPUTS, i);
            }
        } else {
            uint256 axis = output.argMaxAxisPlusOne - 1;
            uint256 side = axes[axis];
            values = _argMax(values, axes, axis);
            if (header.elements != values.length || header.lo > 0 || header.hi < int256(side) - 1) {
                revert HeaderMismatch(TensorTree.OUTPUTS, i);
            }
        }
        uint256 elements = _committed(tensor, values, header);
        port = _port(TensorTree.OUTPUTS, i, tensor, elements, values.length * header.width, header.width);
    }

    /// @return values the published integers, sign-extended
    /// @return inRange whether all are in lo..hi
    function _published(PublicTensor memory tensor, int256 lo, int256 hi)
        private
        pure
        returns (uint256[] memory values, bool inRange)
    {
        uint256 count = tensor.elementsSize / 4;
        values = new uint256[](count);
        uint256 from = tensor.elements;
        inRange = true;
        assembly ("memory-safe") {
            let to := add(values, 0x20)
            for { let end := add(from, shl(2, count)) } lt(from, end) { from := add(from, 4) } {
                let value := sar(224, calldataload(from))
                inRange := and(inRange, iszero(or(slt(value, lo), sgt(value, hi))))
                mstore(to, value)
                to := add(to, 0x20)
            }
        }
    }

    /// @return labels by item and place: the smallest index of a largest element along the axis
    /// @dev Unchecked, and assembly for the reads: all indices are those of elements.
    function _argMax(uint256[] memory values, uint256[] memory axes, uint256 axis)
        private
        pure
        returns (uint256[] memory labels)
    {
        unchecked {
            uint256 side = axes[axis];
            uint256 inner = 1;
            for (uint256 i = axis + 1; i < axes.length; ++i) {
                inner *= axes[i];
            }
            uint256 count = values.length / side;
            labels = new uint256[](count);
            uint256 step = inner << 5;
            for (uint256 o = 0; o < count; ++o) {
                uint256 first = (o / inner) * side * inner + o % inner;
                uint256 best = 0;
                assembly ("memory-safe") {
                    let own := add(add(values, 0x20), shl(5, first))
                    let most := mload(own)
                    for { let index := 1 } lt(index, side) { index := add(index, 1) } {
                        own := add(own, step)
                        let value := mload(own)
                        if sgt(value, most) {
                            most := value
                            best := index
                        }
                    }
                }
                labels[o] = best;
            }
        }
    }

    /// @notice Encodes row-major values in the order and width of the header.
    /// @return elements their address
    function _committed(PublicTensor memory tensor, uint256[] memory values, TensorTree.Header memory header)
        private
        pure
        returns (uint256 elements)
    {
        uint256[] memory axes = _sides(tensor);
        uint256 width = header.width;
        // Room behind them: an element is written as the first bytes of a word.
        elements = _allocate(values.length * width + 0x20);
        uint256 to = elements;
        if (_isOrdered(tensor, axes)) {
            assembly ("memory-safe") {
                let shift := sub(256, shl(3, width))
                let from := add(values, 0x20)
                for { let end := add(from, shl(5, mload(values))) } lt(from, end) { from := add(from, 0x20) } {
                    mstore(to, shl(shift, mload(from)))
                    to := add(to, width)
                }
            }
            return elements;
        }
        uint256[] memory strides = new uint256[](axes.length);
        uint256 stride = 1;
        for (uint256 axis = axes.length; axis > 0;) {
            --axis;
            strides[axis] = stride;
            stride *= axes[axis];
        }
        uint256 levels = _levels(tensor, axes, strides, header.items, stride);
        uint256 from = 0;
        for (uint256 left = values.length; left > 0; --left) {
            uint256 value = values[from];
            assembly ("memory-safe") {
                mstore(to, shl(sub(256, shl(3, width)), value))
                to := add(to, width)
            }
            from = _advance(levels, from);
        }
    }

    // --- Headers

    /// @dev Reverts unless it is one that a tensor of that many items can have.
    function _header(PublicTensor memory tensor, uint256 items, uint8 role, uint256 index)
        private
        pure
        returns (TensorTree.Header memory header)
    {
        bool valid;
        (valid, header) = TensorTree.readHeader(tensor.header, tensor.headerSize);
        if (!valid || header.items != items) revert HeaderMismatch(role, index);
    }

    function _hasShape(PublicTensor memory tensor, uint256[] memory axes) private pure returns (bool same) {
        uint256 offset = tensor.header + 8;
        assembly ("memory-safe") {
            let rank := mload(axes)
            same := eq(byte(0, calldataload(offset)), rank)
            offset := add(offset, 1)
            for { let i := 0 } lt(i, rank) { i := add(i, 1) } {
                axes := add(axes, 0x20)
                same := and(same, eq(shr(224, calldataload(add(offset, shl(2, i)))), mload(axes)))
            }
        }
    }

    /// @return axes the sides in a header
    function _sides(PublicTensor memory tensor) private pure returns (uint256[] memory axes) {
        uint256 offset = tensor.header;
        uint256 rank;
        assembly ("memory-safe") {
            rank := byte(8, calldataload(offset))
        }
        axes = new uint256[](rank);
        assembly ("memory-safe") {
            offset := add(offset, 9)
            for { let i := 0 } lt(i, rank) { i := add(i, 1) } {
                mstore(add(add(axes, 0x20), shl(5, i)), shr(224, calldataload(add(offset, shl(2, i)))))
            }
        }
    }

    function _port(
        uint8 role,
        uint256 index,
        PublicTensor memory tensor,
        uint256 elements,
        uint256 size,
        uint256 width
    ) private pure returns (bytes32) {
        bytes32 value = TensorTree.treeValue(TensorTree.TENSOR_NODE, TensorTree.chunkLeaves(elements, size, width, 0));
        return TensorTree.port(role, index, TensorTree.tensorRoot(tensor.header, tensor.headerSize, value));
    }

    // --- Walking through tensors in the order of their layout

    /// @notice A walk through nested loops over the axes of a tensor in the order of its header's layout, items outermost.
    /// @return levels address of: the innermost stride | per level, from the innermost: left, side, what to add when it
    /// is done | 0
    function _levels(
        PublicTensor memory tensor,
        uint256[] memory axes,
        uint256[] memory strides,
        uint256 items,
        uint256 itemStride
    ) private pure returns (uint256 levels) {
        uint256 rank = axes.length;
        levels = _allocate(0x60 * rank + 0xa0);
        uint256 order = tensor.header + 9 + 4 * rank;
        assembly ("memory-safe") {
            let level := add(levels, 0x20)
            // From an index beyond the last of one level to the next of the level outside; as words it may be negative.
            let before := 0
            let stride := 0
            for { let i := rank } 1 {} {
                let side := items
                stride := itemStride
                if i {
                    i := sub(i, 1)
                    let axis := shl(5, add(byte(0, calldataload(add(order, i))), 1))
                    side := mload(add(axes, axis))
                    stride := mload(add(strides, axis))
                    mstore(level, side)
                    mstore(add(level, 0x20), side)
                    mstore(sub(level, 0x20), sub(stride, before))
                    before := mul(side, stride)
                    level := add(level, 0x60)
                    continue
                }
                mstore(level, side)
                mstore(add(level, 0x20), side)
                mstore(sub(level, 0x20), sub(stride, before))
                // Less one it is not 0: the walk through the levels ends there, after the last step.
                mstore(add(level, 0x60), 0)
                break
            }
        }
    }

    /// @return next where the walk goes from `place`
    function _advance(uint256 levels, uint256 place) private pure returns (uint256 next) {
        assembly ("memory-safe") {
            next := add(place, mload(levels))
            for { let level := add(levels, 0x20) } 1 { level := add(level, 0x60) } {
                let left := sub(mload(level), 1)
                mstore(level, left)
                if left { break }
                mstore(level, mload(add(level, 0x20)))
                next := add(next, mload(add(level, 0x40)))
            }
        }
    }

    function _allocate(uint256 size) private pure returns (uint256 pointer) {
        assembly ("memory-safe") {
            pointer := mload(0x40)
            mstore(0x40, and(add(add(pointer, size), 0x1f), not(0x1f)))
        }
    }
}
