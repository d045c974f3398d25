// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {TensorTree} from "../TensorTree.sol";
import {IStep} from "./IStep.sol";
import {MerklePath} from "./MerklePath.sol";
import {Run, TensorOpening} from "./StepEvidence.sol";

/// A tensor as far as it is opened. Its elements stay in the calldata.
struct Tensor {
    bytes32 root;
    /// Address of the header in the call.
    uint256 header;
    uint256 elements;
    /// Bytes of an element.
    uint256 width;
    /// Bits behind an element in the word that begins with it.
    uint256 shift;
    /// Sign byte as `signextend` counts: width - 1, or 31 where elements are unsigned.
    uint256 extend;
    /// Three words a run: first element, end, address of the first element in the call.
    uint256[] runs;
    /// The run that was read last; readers come back to it.
    uint256 first;
    uint256 end;
    uint256 from;
}

/// Terms that are summed at a position: their distances from it, the lowest and the highest of them.
struct Taps {
    int256[] ahead;
    int256 lowest;
    int256 highest;
}

/// A line of products: of sums over taps of elements of a from position p on, ps apart, and of elements of b from
/// position q on, qs apart.
struct Line {
    Tensor a;
    int256 p;
    int256 ps;
    Taps taps;
    Tensor b;
    int256 q;
    int256 qs;
    uint256 count;
}

/// @title Opened tensors: their roots, single elements, sums of products
/// @notice Commitments are those of TensorTree. Positions count elements in committed order. What is read is what was
/// hashed: elements are read from the very bytes of the call that went into the root.
library StepTensor {
    uint256 private constant CHUNK_ELEMENTS = 64;
    uint256 private constant FAR_BEHIND = 1 << 255;
    /// Bytes that are added at once, and as many lanes of 16 bits; 256 bytes do not overflow one.
    uint256 private constant LANES = 32;
    uint256 private constant LANE_TERMS = 256;
    uint256 private constant LOW_BYTES = 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff;
    uint256 private constant SIGN_BITS = 0x8080808080808080808080808080808080808080808080808080808080808080;
    uint256 private constant SIGN_BIT = 0x80;

    /// @notice Root and readable runs of an opening.
    /// @dev Reverts unless every run leads to the same root with exact lengths.
    function open(TensorOpening calldata opening) internal pure returns (Tensor memory tensor) {
        unchecked {
            bytes calldata header = opening.header;
            (bool valid, TensorTree.Header memory form) = TensorTree.readHeader(_offset(header), header.length);
            if (!valid) revert IStep.EvidenceInvalid("header");
            tensor.header = _offset(header);
            tensor.elements = form.elements;
            tensor.width = form.width;
            tensor.shift = 256 - 8 * form.width;
            // 4 bytes are read as signed whatever lo is: lo..hi lies in int32, so that it is the same for every element
            // of it.
            tensor.extend = form.lo < 0 || form.width == 4 ? form.width - 1 : 31;
            Run[] calldata runs = opening.runs;
            tensor.runs = new uint256[](3 * runs.length);
            bytes32 value = opening.treeValue;
            if (runs.length > 0 && value != 0) revert IStep.EvidenceInvalid("tree value");
            uint256 free = 0;
            for (uint256 i = 0; i < runs.length; ++i) {
                Run calldata run = runs[i];
                if (run.firstChunk < free) revert IStep.EvidenceInvalid("runs");
                bytes32 found = _runValue(tensor, i, run, form.chunks);
                if (i > 0 && found != value) revert IStep.EvidenceInvalid("chunk path");
                value = found;
                // Runs that touch are one run: their readers would go from one to the next.
                free = (tensor.runs[3 * i + 1] + CHUNK_ELEMENTS - 1) / CHUNK_ELEMENTS + 1;
            }
            tensor.root = TensorTree.tensorRoot(_offset(header), header.length, value);
        }
    }

    /// @notice Root of a tensor of which header and tree value are opened, whatever the header says.
    function closedRoot(TensorOpening calldata opening) internal pure returns (bytes32) {
        if (opening.runs.length > 0) revert IStep.EvidenceInvalid("runs");
        bytes calldata header = opening.header;
        return TensorTree.tensorRoot(_offset(header), header.length, opening.treeValue);
    }

    /// @dev Value of the tree from run number `i`, which is entered into the tensor.
    function _runValue(Tensor memory tensor, uint256 i, Run calldata run, uint256 chunks)
        private
        pure
        returns (bytes32 value)
    {
        unchecked {
            bytes calldata elements = run.elements;
            uint256 width = tensor.width;
            uint256 first = run.firstChunk * CHUNK_ELEMENTS;
            uint256 end = first + elements.length / width;
            bool whole = end == tensor.elements || (end < tensor.elements && end % CHUNK_ELEMENTS == 0);
            if (end == first || elements.length % width != 0 || !whole) revert IStep.EvidenceInvalid("elements");
            tensor.runs[3 * i] = first;
            tensor.runs[3 * i + 1] = end;
            tensor.runs[3 * i + 2] = _offset(elements);
            (uint256 leaves, uint256 count) = _leaves(_offset(elements), elements.length, width, run.firstChunk);
            bool exact;
            (exact, value) = MerklePath.fold(TensorTree.TENSOR_NODE, leaves, count, run.firstChunk, chunks, run.path);
            if (!exact) revert IStep.EvidenceInvalid("chunk path");
        }
    }

    /// @dev Hashes of consecutive chunks that lie in the call. Assembly: as TensorTree.chunkLeaves, from calldata; at
    /// most 6 + 256 bytes are written at the free pointer, which stays behind the leaves.
    /// @return leaves their address in memory; the words before and behind them are free
    function _leaves(uint256 elements, uint256 size, uint256 width, uint256 first)
        private
        pure
        returns (uint256 leaves, uint256 count)
    {
        unchecked {
            uint256 full = CHUNK_ELEMENTS * width;
            count = (size + full - 1) / full;
            bytes32[] memory words = new bytes32[](count + 1);
            assembly ("memory-safe") {
                leaves := add(words, 0x20)
                let free := mload(0x40)
                let to := leaves
                for { let end := add(elements, size) } lt(elements, end) { elements := add(elements, full) } {
                    let own := sub(end, elements)
                    if gt(own, full) { own := full }
                    mstore(free, or(or(shl(248, 0x10), shl(216, and(first, 0xffffffff))), shl(208, div(own, width))))
                    calldatacopy(add(free, 6), elements, own)
                    mstore(to, keccak256(free, add(own, 6)))
                    to := add(to, 0x20)
                    first := add(first, 1)
                }
            }
        }
    }

    function _offset(bytes calldata data) private pure returns (uint256 offset) {
        assembly ("memory-safe") {
            offset := data.offset
        }
    }

    function rank(Tensor memory tensor) internal pure returns (uint256 sides) {
        uint256 header = tensor.header;
        assembly ("memory-safe") {
            sides := byte(8, calldataload(header))
        }
    }

    /// @param axis below the rank
    function side(Tensor memory tensor, uint256 axis) internal pure returns (uint256 length) {
        uint256 header = tensor.header;
        assembly ("memory-safe") {
            length := shr(224, calldataload(add(add(header, 9), shl(2, axis))))
        }
    }

    /// @notice Element at a position. Reverts where it is not opened.
    function read(Tensor memory tensor, uint256 position) internal pure returns (int256 value) {
        unchecked {
            if (position < tensor.first || position >= tensor.end) _seek(tensor, position);
            uint256 shift = tensor.shift;
            uint256 extend = tensor.extend;
            uint256 from = tensor.from + (position - tensor.first) * tensor.width;
            assembly ("memory-safe") {
                value := signextend(extend, shr(shift, calldataload(from)))
            }
        }
    }

    /// @notice Sum over i < count of (sum over taps t of a[p + t + i ps]) * b[q + i qs].
    /// @dev Elements lie in int32, so that no sum of fewer than 2^193 products overflows; a count is below 2^64.
    function products(Line memory line) internal pure returns (int256 sum) {
        unchecked {
            (Tensor memory a, Tensor memory b, Taps memory taps) = (line.a, line.b, line.taps);
            (int256 p, int256 q, uint256 count) = (line.p, line.q, line.count);
            (int256 ps, int256 qs) = (line.ps, line.qs);
            uint256 terms = taps.ahead.length;
            bool isBytes = _areSideBySide(line);
            while (count > 0) {
                (uint256 to, uint256 n) = _line(b, q, qs, count);
                if (terms == 1) {
                    uint256 from;
                    (from, n) = _line(a, p + taps.lowest, ps, n);
                    sum += _products(a, from, ps, b, to, qs, n);
                } else if (isBytes && _holds(a, p, taps, n)) {
                    sum += _sumBytes(a, p, taps.ahead, b, to, qs, n);
                } else {
                    int256 more;
                    (more, n) = _sumApart(a, p, ps, taps.ahead, b, to, qs, n);
                    sum += more;
                }
                p += int256(n) * ps;
                q += int256(n) * qs;
                count -= n;
            }
        }
    }

    /// @notice May `sumBytes` be used for this line and for those that follow it, `reach` positions of a and `size` of
    /// b in all?
    function isNear(Line memory line, uint256 reach, uint256 size) internal pure returns (bool) {
        if (!_areSideBySide(line) || line.taps.ahead.length == 1 || !_holds(line.a, line.p, line.taps, reach)) {
            return false;
        }
        (, uint256 n) = _line(line.b, line.q, 1, size);
        return n == size;
    }

    /// @notice As `products`, in the runs that `isNear` found.
    function sumBytes(Line memory line) internal pure returns (int256) {
        unchecked {
            Tensor memory b = line.b;
            uint256 to = b.from + (uint256(line.q) - b.first) * b.width;
            return _sumBytes(line.a, line.p, line.taps.ahead, b, to, line.qs, line.count);
        }
    }

    /// @dev Are the elements of a neighbouring bytes of which few enough are added?
    function _areSideBySide(Line memory line) private pure returns (bool) {
        return line.ps == 1 && line.a.width == 1 && line.taps.ahead.length <= LANE_TERMS;
    }

    /// @dev Do all taps of `count` > 0 positions from p on lie in one run? It becomes the current one. Reverts where
    /// the lowest is not opened.
    function _holds(Tensor memory tensor, int256 p, Taps memory taps, uint256 count) private pure returns (bool) {
        unchecked {
            uint256 place = uint256(p + taps.lowest);
            if (place < tensor.first || place >= tensor.end) _seek(tensor, place);
            return p + taps.highest + int256(count) <= int256(tensor.end);
        }
    }

    /// @dev Products of `count` elements of b from address q on and of as many sums of neighbouring bytes of a, whose
    /// taps all lie in its current run. What is added besides, behind the last of them, is multiplied with nothing.
    /// Signed bytes are added as their distance from -128.
    function _sumBytes(
        Tensor memory a,
        int256 p,
        int256[] memory ahead,
        Tensor memory b,
        uint256 q,
        int256 stepB,
        uint256 count
    ) private pure returns (int256 sum) {
        unchecked {
            bool isSigned = a.extend == 0;
            uint256 bias = isSigned ? SIGN_BIT * ahead.length : 0;
            uint256 from = a.from + uint256(p) - a.first;
            stepB *= int256(b.width);
            while (count > 0) {
                uint256 n = count < LANES ? count : LANES;
                (uint256 even, uint256 odd) = _lanes(from, ahead, isSigned ? SIGN_BITS : 0);
                sum += _laneProducts(even, odd, bias, b, q, uint256(stepB), n);
                from += n;
                q += n * uint256(stepB);
                count -= n;
            }
        }
    }

    /// @dev Sums over the taps of the 32 bytes from an address on, those of even and of odd places. Assembly: bytes
    /// side by side are added as lanes of one word.
    function _lanes(uint256 from, int256[] memory ahead, uint256 flip)
        private
        pure
        returns (uint256 even, uint256 odd)
    {
        assembly ("memory-safe") {
            let tap := add(ahead, 0x20)
            for { let end := add(tap, shl(5, mload(ahead))) } lt(tap, end) { tap := add(tap, 0x20) } {
                let word := xor(flip, calldataload(add(from, mload(tap))))
                even := add(even, and(shr(8, word), LOW_BYTES))
                odd := add(odd, and(word, LOW_BYTES))
            }
        }
    }

    /// @dev Products of the first `count` lanes less the bias and the elements of b from address q on. Assembly: as
    /// `_products`.
    function _laneProducts(
        uint256 even,
        uint256 odd,
        uint256 bias,
        Tensor memory b,
        uint256 q,
        uint256 stepB,
        uint256 count
    ) private pure returns (int256 sum) {
        uint256 shift = b.shift;
        uint256 extend = b.extend;
        assembly ("memory-safe") {
            for {} gt(count, 1) { count := sub(count, 2) } {
                sum := add(sum, mul(sub(shr(240, even), bias), signextend(extend, shr(shift, calldataload(q)))))
                even := shl(16, even)
                q := add(q, stepB)
                sum := add(sum, mul(sub(shr(240, odd), bias), signextend(extend, shr(shift, calldataload(q)))))
                odd := shl(16, odd)
                q := add(q, stepB)
            }
            if count {
                sum := add(sum, mul(sub(shr(240, even), bias), signextend(extend, shr(shift, calldataload(q)))))
            }
        }
    }

    /// @dev Products as far as every tap stays in its run, and how many they are.
    function _sumApart(
        Tensor memory a,
        int256 p,
        int256 ps,
        int256[] memory ahead,
        Tensor memory b,
        uint256 q,
        int256 qs,
        uint256 count
    ) private pure returns (int256 sum, uint256 n) {
        unchecked {
            // Four at a time; what is not there is read far behind the call, where all is 0, however far steps lead.
            uint256[] memory from = new uint256[]((ahead.length + 3) & ~uint256(3));
            n = count;
            for (uint256 i = 0; i < from.length; ++i) {
                if (i < ahead.length) (from[i], n) = _line(a, p + ahead[i], ps, n);
                else from[i] = FAR_BEHIND;
            }
            sum = _gather(a, from, ps, b, q, qs, n);
        }
    }

    /// @dev Sum of products of `count` elements of b from address q on, and of as many sums of elements of a, one from
    /// each address of `from`. Assembly: as `_products`.
    function _gather(
        Tensor memory a,
        uint256[] memory from,
        int256 stepA,
        Tensor memory b,
        uint256 q,
        int256 stepB,
        uint256 count
    ) private pure returns (int256 sum) {
        unchecked {
            stepA *= int256(a.width);
            stepB *= int256(b.width);
        }
        uint256 shift = a.shift;
        uint256 extend = a.extend;
        uint256 shiftB = b.shift;
        uint256 extendB = b.extend;
        assembly ("memory-safe") {
            let end := add(add(from, 0x20), shl(5, mload(from)))
            for { let ahead := 0 } count { count := sub(count, 1) } {
                let x := 0
                for { let tap := add(from, 0x20) } lt(tap, end) { tap := add(tap, 0x80) } {
                    x := add(x, signextend(extend, shr(shift, calldataload(add(mload(tap), ahead)))))
                    x := add(x, signextend(extend, shr(shift, calldataload(add(mload(add(tap, 0x20)), ahead)))))
                    x := add(x, signextend(extend, shr(shift, calldataload(add(mload(add(tap, 0x40)), ahead)))))
                    x := add(x, signextend(extend, shr(shift, calldataload(add(mload(add(tap, 0x60)), ahead)))))
                }
                sum := add(sum, mul(x, signextend(extendB, shr(shiftB, calldataload(q)))))
                ahead := add(ahead, stepA)
                q := add(q, stepB)
            }
        }
    }

    /// @dev Sum of products of `count` elements from addresses p and q on. Assembly: the loop that decides what a step
    /// costs; bytes that lie side by side are taken eight at a time. Addresses stay inside the runs that `_line` found.
    function _products(
        Tensor memory a,
        uint256 p,
        int256 stepA,
        Tensor memory b,
        uint256 q,
        int256 stepB,
        uint256 count
    ) private pure returns (int256 sum) {
        unchecked {
            stepA *= int256(a.width);
            stepB *= int256(b.width);
        }
        uint256 shiftA = a.shift;
        uint256 shiftB = b.shift;
        uint256 extendA = a.extend;
        uint256 extendB = b.extend;
        assembly ("memory-safe") {
            if and(eq(and(shiftA, shiftB), 248), and(eq(stepA, 1), eq(stepB, 1))) {
                for {} gt(count, 7) { count := sub(count, 8) } {
                    let x := calldataload(p)
                    let y := calldataload(q)
                    sum := add(sum, mul(signextend(extendA, byte(0, x)), signextend(extendB, byte(0, y))))
                    sum := add(sum, mul(signextend(extendA, byte(1, x)), signextend(extendB, byte(1, y))))
                    sum := add(sum, mul(signextend(extendA, byte(2, x)), signextend(extendB, byte(2, y))))
                    sum := add(sum, mul(signextend(extendA, byte(3, x)), signextend(extendB, byte(3, y))))
                    sum := add(sum, mul(signextend(extendA, byte(4, x)), signextend(extendB, byte(4, y))))
                    sum := add(sum, mul(signextend(extendA, byte(5, x)), signextend(extendB, byte(5, y))))
                    sum := add(sum, mul(signextend(extendA, byte(6, x)), signextend(extendB, byte(6, y))))
                    sum := add(sum, mul(signextend(extendA, byte(7, x)), signextend(extendB, byte(7, y))))
                    p := add(p, 8)
                    q := add(q, 8)
                }
            }
            for {} gt(count, 1) { count := sub(count, 2) } {
                sum := add(
                    sum,
                    mul(
                        signextend(extendA, shr(shiftA, calldataload(p))),
                        signextend(extendB, shr(shiftB, calldataload(q)))
                    )
                )
                p := add(p, stepA)
                q := add(q, stepB)
                sum := add(
                    sum,
                    mul(
                        signextend(extendA, shr(shiftA, calldataload(p))),
                        signextend(extendB, shr(shiftB, calldataload(q)))
                    )
                )
                p := add(p, stepA)
                q := add(q, stepB)
            }
            if count {
                sum := add(
                    sum,
                    mul(
                        signextend(extendA, shr(shiftA, calldataload(p))),
                        signextend(extendB, shr(shiftB, calldataload(q)))
                    )
                )
            }
        }
    }

    /// @dev Address of the element at `position`, and how many of `count` elements a step apart lie in its run.
    function _line(Tensor memory tensor, int256 position, int256 step, uint256 count)
        private
        pure
        returns (uint256 from, uint256 n)
    {
        unchecked {
            uint256 place = uint256(position);
            if (place < tensor.first || place >= tensor.end) _seek(tensor, place);
            uint256 ahead = place - tensor.first;
            from = tensor.from + ahead * tensor.width;
            n = count;
            if (step > 0) n = (tensor.end - 1 - place) / uint256(step) + 1;
            else if (step < 0) n = ahead / uint256(-step) + 1;
            if (n > count) n = count;
        }
    }

    /// @dev Makes the run that holds the position the current one.
    function _seek(Tensor memory tensor, uint256 position) private pure {
        unchecked {
            uint256[] memory runs = tensor.runs;
            for (uint256 run = 0; run < runs.length; run += 3) {
                if (runs[run] <= position && position < runs[run + 1]) {
                    (tensor.first, tensor.end, tensor.from) = (runs[run], runs[run + 1], runs[run + 2]);
                    return;
                }
            }
            revert IStep.Undetermined("element");
        }
    }
}
