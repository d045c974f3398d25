// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IStep} from "./IStep.sol";
import {
    ABSENT,
    Kind,
    MISSING,
    NO_SLOT,
    Plane,
    setWordAt,
    signedWordAt,
    StepModel,
    Value,
    wordAt
} from "./StepModel.sol";
import {Line, StepTensor, Taps, Tensor} from "./StepTensor.sol";

/// What a step is computed from.
struct Step {
    Value[] values;
    Tensor[] tensors;
    uint256 item;
    /// Position of the value that is computed although it has a slot.
    uint256 disputed;
    /// Longest contraction that is computed in one piece.
    uint256 limit;
    /// Only finds the contraction that is longer; reads no element.
    bool walking;
    /// Calls in progress.
    uint256 depth;
    /// The contraction beyond the limit that was reached: 1 + position, 0 none; its element within the item and its
    /// length.
    uint256 reached;
    uint256 reachedElement;
    uint256 reachedLength;
    /// Sums are stated for it: of the value at this position (1 + position, 0 none) and element; `total` without bias.
    uint256 stated;
    uint256 statedElement;
    int256 total;
}

/// @title Computes elements of a graph's values, as graph/integer/evaluate.ts means them
/// @notice Symbols: e an element of a value within its item, in memory order; position: in Step.values. Reading ends at
/// slots other than the disputed one, and at constants.
///   - Wiring is followed by index arithmetic. A value that is a slot, seen through reshape, transpose, slice, expand
///     and sums over unpadded windows and axes, may be a window of strides on it: element (i_0, i_1, ..) is the sum
///     over taps of what lies at base + sum of i_a * step_a + tap of the committed order; without sums there is one
///     tap, 0. Contractions over such windows run along the bytes; all others go element by element.
///   - A contraction (matmul, matmulActivations, conv) has its index flattened in committed order, [kernel row][kernel
///     column][channel] for conv, where padded taps count and contribute 0. Of valid graphs only requant, combine and
///     wiring read one, so that only these are gone through to find one that is longer than the limit.
///   - Every computed value of a valid graph with operands in range is below 2^31 in magnitude; where one is not, an
///     operand is another step's fault, and this one is undetermined. So is a quotient outside its table.
/// Unchecked throughout: computed values are below 2^31 and elements in int32, fewer than 2^64 of either are summed,
/// and indices are products of sides that StepModel holds below 2^64. A graph that breaks its own rules may compute
/// nonsense, but what it reads is opened.
library StepEvaluate {
    int256 private constant ACCUMULATOR_LIMIT = 2 ** 31;
    int256 private constant HALF = 2 ** 23;
    uint256 private constant SHIFT = 24;
    /// Calls within calls: each takes some 20 words of a stack of 1,024.
    uint256 private constant DEPTH_LIMIT = 24;

    /// Terms of a sum that is read as a window: 131,072 bytes of memory, 45,000 gas.
    uint256 private constant TAP_LIMIT = 4_096;

    uint256 private constant WINDOW = 1;
    uint256 private constant NO_WINDOW = 2;

    /// @notice Element e of a value.
    function evaluate(Step memory s, uint256 position, uint256 e) internal pure returns (int256 y) {
        Value memory v = s.values[_known(s, position)];
        while (v.kind >= Kind.RESHAPE && !_isSlot(s, v, position)) {
            if (!s.walking && _findWindow(s, position)) return _throughWindow(s, v, e);
            (position, e, y) = _wire(s, v, e);
            if (position == MISSING) return y;
            v = s.values[_known(s, position)];
        }
        if (_isSlot(s, v, position)) {
            return !s.walking && _findWindow(s, position) ? _throughWindow(s, v, e) : int256(0);
        }
        if (++s.depth > DEPTH_LIMIT) revert IStep.Undetermined("depth");
        y = _compute(s, v, position, e);
        --s.depth;
        if (y >= ACCUMULATOR_LIMIT || y <= -ACCUMULATOR_LIMIT) revert IStep.Undetermined("range");
    }

    /// @notice Products from .. to - 1 of a contraction's element, without bias.
    function part(Step memory s, uint256 position, uint256 e, uint256 from, uint256 to)
        internal
        pure
        returns (int256)
    {
        unchecked {
            Value memory v = s.values[position];
            uint256 kind = v.kind;
            if (kind == Kind.CONV) return _convolve(s, v, e, from, to);
            if (kind == Kind.MATMUL) {
                uint256 n = v.shape[v.shape.length - 1];
                uint256 k = _contracted(s, v);
                return _row(s, v.operands[0], (e / n) * k + from, v, (e % n) * k + from, to - from);
            }
            return _rows(s, v, e, from, to);
        }
    }

    /// @notice Number of products of a contraction; 0 for other operators.
    function contraction(Step memory s, uint256 position) internal pure returns (uint256) {
        unchecked {
            Value memory v = s.values[position];
            uint256 kind = v.kind;
            if (kind == Kind.MATMUL || kind == Kind.MATMUL_ACTIVATIONS) return _contracted(s, v);
            if (kind == Kind.CONV) {
                return uint256(StepModel.attribute(v, 0) * StepModel.attribute(v, 1)) * _perGroup(s, v);
            }
            return 0;
        }
    }

    function _compute(Step memory s, Value memory v, uint256 position, uint256 e) private pure returns (int256) {
        unchecked {
            uint256 kind = v.kind;
            if (kind == Kind.REQUANT) return _requantise(s, v, e);
            if (kind == Kind.COMBINE) return _combine(s, v, e);
            uint256 length = contraction(s, position);
            if (length > s.limit) return _stated(s, position, e, length) + _bias(s, v, e);
            // Nothing else reads a contraction.
            if (s.walking) return 0;
            if (length > 0) return part(s, position, e, 0, length) + _bias(s, v, e);
            if (kind == Kind.SCALE) {
                int256 x = evaluate(s, v.operands[0], e);
                return x * _broadcast(s, v, v.openedConstants[0], e) + _broadcast(s, v, v.openedConstants[1], e);
            }
            if (kind == Kind.MUL) return evaluate(s, v.operands[0], e) * evaluate(s, v.operands[1], e);
            if ((kind == Kind.SUM_POOL || kind == Kind.REDUCE_SUM) && _findWindow(s, position)) {
                return _throughWindow(s, v, e);
            }
            if (kind == Kind.SUM_POOL || kind == Kind.MAX_POOL) return _pool(s, v, e);
            if (kind == Kind.REDUCE_SUM || kind == Kind.REDUCE_MAX) return _reduce(s, v, e);
            // An input has no operator, and argMax is judged by a witness.
            revert IStep.Undetermined("operator");
        }
    }

    /// @dev Of a contraction's element.
    function _bias(Step memory s, Value memory v, uint256 e) private pure returns (int256) {
        if (s.walking || v.kind == Kind.MATMUL_ACTIVATIONS) return 0;
        if (v.kind == Kind.MATMUL) return _constant(s, v.openedConstants[1], e % v.shape[v.shape.length - 1]);
        return _constant(s, v.openedConstants[1], e / (v.shape[1] * v.shape[2]));
    }

    /// @dev The sum of a contraction beyond the limit: as stated, once per step.
    function _stated(Step memory s, uint256 position, uint256 e, uint256 length) private pure returns (int256) {
        if (s.reached == 0) {
            s.reached = position + 1;
            s.reachedElement = e;
            s.reachedLength = length;
        } else if (s.reached != position + 1 || s.reachedElement != e) {
            revert IStep.Undetermined("two long contractions");
        }
        if (s.walking) return 0;
        if (s.stated == 0) revert IStep.NeedsSums(length, s.limit);
        if (s.stated != position + 1 || s.statedElement != e) revert IStep.EvidenceInvalid("sums");
        return s.total;
    }

    // Elementwise

    function _requantise(Step memory s, Value memory v, uint256 e) private pure returns (int256) {
        unchecked {
            int256 x = evaluate(s, v.operands[0], e);
            if (s.walking) return 0;
            uint256 channel = 0;
            if (v.count > 0) {
                uint256 axis = v.count - 1;
                channel = (e / v.strides[axis]) % v.shape[axis];
            }
            int256 q = (x * _constant(s, v.openedConstants[0], channel) + HALF) >> SHIFT;
            int256 qLo = StepModel.attribute(v, 0);
            if (q < qLo || q > StepModel.attribute(v, 1)) revert IStep.Undetermined("quotient");
            if (v.constants[1] != 0) return _constant(s, v.openedConstants[1], uint256(q - qLo));
            int256 lo = StepModel.attribute(v, 2);
            int256 hi = StepModel.attribute(v, 3);
            return q < lo ? lo : q > hi ? hi : q;
        }
    }

    function _combine(Step memory s, Value memory v, uint256 e) private pure returns (int256 sum) {
        unchecked {
            if (!s.walking) sum = _broadcast(s, v, v.openedConstants[0], e);
            for (uint256 i = 0; i < v.operands.length; ++i) {
                sum += StepModel.attribute(v, i) * evaluate(s, v.operands[i], e);
            }
        }
    }

    // Contractions

    /// @dev Last side of the first operand.
    function _contracted(Step memory s, Value memory v) private pure returns (uint256) {
        uint256[] memory shape = s.values[_known(s, v.operands[0])].shape;
        return shape[shape.length - 1];
    }

    /// @dev Sum over i < count of operand[x + i] * weight[w + i], along the operand's last axis.
    function _row(Step memory s, uint256 x, uint256 e, Value memory v, uint256 w, uint256 count)
        private
        pure
        returns (int256 sum)
    {
        unchecked {
            if (_findWindow(s, x)) {
                Value memory operand = s.values[x];
                int256 step = operand.windowSteps[operand.windowSteps.length - 1];
                return StepTensor.products(_lineOf(s, v, operand, _place(operand, e), step, w, count));
            }
            uint256 flat = x;
            while (s.values[flat].kind == Kind.RESHAPE && !_isSlot(s, s.values[flat], flat)) {
                flat = _known(s, s.values[flat].operands[0]);
            }
            if (count == s.values[flat].size && _findWindow(s, flat)) return _flattened(s, v, s.values[flat], w);
            for (uint256 i = 0; i < count; ++i) {
                sum += evaluate(s, x, e + i) * _constant(s, v.openedConstants[0], w + i);
            }
        }
    }

    function _rows(Step memory s, Value memory v, uint256 e, uint256 from, uint256 to)
        private
        pure
        returns (int256 sum)
    {
        unchecked {
            uint256 k = _contracted(s, v);
            uint256 rank = v.shape.length;
            uint256 n = v.shape[rank - 1];
            uint256 a = (e / n) * k + from;
            uint256 b = (e / (n * v.shape[rank - 2]) * n + e % n) * k + from;
            if (_findWindow(s, v.operands[0]) && _findWindow(s, v.operands[1])) {
                return _alongRows(s, s.values[v.operands[0]], a, s.values[v.operands[1]], b, to - from);
            }
            for (uint256 i = from; i < to; ++i) {
                sum += evaluate(s, v.operands[0], a++) * evaluate(s, v.operands[1], b++);
            }
        }
    }

    /// @dev Sum over i < count of x[a + i] * y[b + i], along their last axes.
    function _alongRows(Step memory s, Value memory x, uint256 a, Value memory y, uint256 b, uint256 count)
        private
        pure
        returns (int256 sum)
    {
        unchecked {
            uint256 last = x.windowSteps.length - 1;
            int256 q = _place(y, b);
            Line memory line = Line({
                a: s.tensors[x.windowTensor],
                p: _place(x, a),
                ps: x.windowSteps[last],
                taps: x.windowTaps,
                b: s.tensors[y.windowTensor],
                q: q,
                qs: y.windowSteps[last],
                count: count
            });
            for (uint256 i = 0; i < y.windowTaps.ahead.length; ++i) {
                line.q = q + y.windowTaps.ahead[i];
                sum += StepTensor.products(line);
            }
        }
    }

    /// @dev Products of all elements of an item of a window, in memory order, and the weights from w on: along its
    /// longest axis, one line after another.
    function _flattened(Step memory s, Value memory v, Value memory x, uint256 w) private pure returns (int256 sum) {
        unchecked {
            uint256 rank = x.shape.length;
            uint256 longest = 0;
            // From the first element to the last, where no step leads back.
            int256 reach = 0;
            for (uint256 axis = 0; axis < rank; ++axis) {
                if (x.shape[axis] > x.shape[longest]) longest = axis;
                int256 far = int256(x.shape[axis] - 1) * x.windowSteps[axis];
                reach = far < 0 || reach < 0 ? -1 : reach + far;
            }
            Line memory line = _lineOf(s, v, x, x.windowBase, x.windowSteps[longest], w, x.shape[longest]);
            line.qs = int256(x.strides[longest]);
            bool isNear = reach >= 0 && StepTensor.isNear(line, uint256(reach) + 1, x.size);
            uint256[] memory index = new uint256[](rank);
            for (uint256 lines = x.size / line.count; lines > 0; --lines) {
                sum += isNear ? StepTensor.sumBytes(line) : StepTensor.products(line);
                // On to the next line, as counting goes.
                for (uint256 axis = rank; axis > 0;) {
                    if (--axis == longest) continue;
                    uint256 i = wordAt(index, axis) + 1;
                    int256 step = signedWordAt(x.windowSteps, axis);
                    int256 stride = int256(wordAt(x.strides, axis));
                    if (i < wordAt(x.shape, axis)) {
                        setWordAt(index, axis, i);
                        line.p += step;
                        line.q += stride;
                        break;
                    }
                    setWordAt(index, axis, 0);
                    line.p -= int256(i - 1) * step;
                    line.q -= int256(i - 1) * stride;
                }
            }
        }
    }

    function _perGroup(Step memory s, Value memory v) private pure returns (uint256) {
        unchecked {
            return s.values[_known(s, v.operands[0])].shape[0] / uint256(StepModel.attribute(v, 10));
        }
    }

    function _convolve(Step memory s, Value memory v, uint256 e, uint256 from, uint256 to)
        private
        pure
        returns (int256 sum)
    {
        unchecked {
            Plane memory p = v.plane;
            _plane(s, v, e);
            p.perGroup = _perGroup(s, v);
            uint256 rowLength = p.kernelColumns * p.perGroup;
            // Weights of an output channel are its whole contraction.
            p.weights = p.channel * p.kernelRows * rowLength;
            p.channel = p.channel / (v.shape[0] / uint256(StepModel.attribute(v, 10))) * p.perGroup;
            (uint256 first, uint256 end) = _inside(p);
            first *= p.perGroup;
            end *= p.perGroup;
            for (uint256 i = from / rowLength; i * rowLength < to; ++i) {
                uint256 lo = i * rowLength + first;
                uint256 hi = i * rowLength + end;
                if (lo < from) lo = from;
                if (hi > to) hi = to;
                int256 row = p.row + int256(i * p.rowDilation);
                if (lo >= hi || row < 0 || row >= int256(p.height)) continue;
                // Where all taps lie in the padding the slot need not be opened.
                sum += _findWindow(s, v.operands[0])
                    ? _rowInWindow(s, v, p, row, lo - i * rowLength, hi - lo, p.weights + lo)
                    : _rowOfElements(s, v, p, uint256(row), lo - i * rowLength, hi - lo, p.weights + lo);
            }
        }
    }

    /// @dev Products skip .. skip + count - 1 of one kernel row over a row of the plane, all of them inside it; w is
    /// the first one's weight.
    function _rowOfElements(
        Step memory s,
        Value memory v,
        Plane memory p,
        uint256 row,
        uint256 skip,
        uint256 count,
        uint256 w
    ) private pure returns (int256 sum) {
        unchecked {
            for (uint256 end = skip + count; skip < end; ++skip) {
                uint256 column = uint256(p.column + int256(skip / p.perGroup * p.columnDilation));
                uint256 e = ((p.channel + skip % p.perGroup) * p.height + row) * p.width + column;
                sum += evaluate(s, v.operands[0], e) * _constant(s, v.openedConstants[0], w++);
            }
        }
    }

    /// @dev The same in a window: along the channels of a tap, or along the whole row where there is one channel, or
    /// where those of a tap follow those of the one before.
    function _rowInWindow(
        Step memory s,
        Value memory v,
        Plane memory p,
        int256 row,
        uint256 skip,
        uint256 count,
        uint256 w
    ) private pure returns (int256 sum) {
        unchecked {
            Value memory x = s.values[v.operands[0]];
            int256 channelStep = x.windowSteps[0];
            int256 tapStep = int256(p.columnDilation) * x.windowSteps[2];
            int256 step = p.perGroup == 1 ? tapStep : channelStep;
            bool isLine = tapStep == int256(p.perGroup) * step;
            int256 base = x.windowBase + int256(p.channel) * channelStep + row * x.windowSteps[1]
                + p.column * x.windowSteps[2];
            Line memory line = _lineOf(s, v, x, base, step, w, count);
            for (uint256 end = skip + count; skip < end;) {
                (uint256 tap, uint256 first) = (skip / p.perGroup, skip % p.perGroup);
                uint256 n = p.perGroup - first;
                if (isLine || n > end - skip) n = end - skip;
                line.p = base + int256(tap) * tapStep + int256(first) * channelStep;
                line.count = n;
                sum += StepTensor.products(line);
                line.q += int256(n);
                skip += n;
            }
        }
    }

    /// @dev Products of a window from a place on and the weights from w on.
    function _lineOf(
        Step memory s,
        Value memory v,
        Value memory x,
        int256 place,
        int256 step,
        uint256 w,
        uint256 count
    ) private pure returns (Line memory) {
        if (v.openedConstants[0] == 0) revert IStep.Undetermined("constant");
        return Line({
            a: s.tensors[x.windowTensor],
            p: place,
            ps: step,
            taps: x.windowTaps,
            b: s.tensors[v.openedConstants[0] - 1],
            q: int256(w),
            qs: 1,
            count: count
        });
    }

    /// @dev Enters the window of conv and pooling at output element e; channel is that of the output.
    function _plane(Step memory s, Value memory v, uint256 e) private pure {
        unchecked {
            Plane memory p = v.plane;
            uint256[] memory shape = s.values[_known(s, v.operands[0])].shape;
            p.channel = e / (v.shape[1] * v.shape[2]);
            p.height = shape[1];
            p.width = shape[2];
            p.kernelRows = uint256(StepModel.attribute(v, 0));
            p.kernelColumns = uint256(StepModel.attribute(v, 1));
            p.row = int256(e / v.shape[2] % v.shape[1]) * StepModel.attribute(v, 2) - StepModel.attribute(v, 6);
            p.column = int256(e % v.shape[2]) * StepModel.attribute(v, 3) - StepModel.attribute(v, 7);
            p.rowDilation = uint256(StepModel.attribute(v, 4));
            p.columnDilation = uint256(StepModel.attribute(v, 5));
        }
    }

    /// @dev Kernel columns first .. end - 1 lie inside the plane.
    function _inside(Plane memory p) private pure returns (uint256 first, uint256 end) {
        unchecked {
            if (p.column < 0) first = (uint256(-p.column) + p.columnDilation - 1) / p.columnDilation;
            if (p.column < int256(p.width)) {
                end = uint256(int256(p.width) - 1 - p.column) / p.columnDilation + 1;
                if (end > p.kernelColumns) end = p.kernelColumns;
            }
        }
    }

    /// @dev Sum or maximum over the taps that lie inside the plane.
    function _pool(Step memory s, Value memory v, uint256 e) private pure returns (int256 y) {
        unchecked {
            Plane memory p = v.plane;
            _plane(s, v, e);
            bool isMax = v.kind == Kind.MAX_POOL;
            if (isMax) y = type(int256).min;
            for (uint256 tap = 0; tap < p.kernelRows * p.kernelColumns; ++tap) {
                int256 row = p.row + int256(tap / p.kernelColumns * p.rowDilation);
                int256 column = p.column + int256(tap % p.kernelColumns * p.columnDilation);
                if (row < 0 || column < 0 || row >= int256(p.height) || column >= int256(p.width)) continue;
                uint256 from = (p.channel * p.height + uint256(row)) * p.width + uint256(column);
                int256 x = evaluate(s, v.operands[0], from);
                y = isMax ? (x > y ? x : y) : y + x;
            }
        }
    }

    function _reducedLength(Step memory s, Value memory v) private pure returns (uint256 length) {
        unchecked {
            uint256[] memory shape = s.values[_known(s, v.operands[0])].shape;
            length = 1;
            for (uint256 i = 0; i < v.count; ++i) {
                length *= shape[uint256(StepModel.attribute(v, i))];
            }
        }
    }

    /// @dev Sum or maximum over the reduced axes' elements.
    function _reduce(Step memory s, Value memory v, uint256 e) private pure returns (int256 y) {
        unchecked {
            bool isMax = v.kind == Kind.REDUCE_MAX;
            if (isMax) y = type(int256).min;
            uint256 base = _reducedBase(s, v, e);
            uint256 count = _reducedLength(s, v);
            for (uint256 t = 0; t < count; ++t) {
                int256 x = evaluate(s, v.operands[0], base + _reducedOffset(s, v, t));
                y = isMax ? (x > y ? x : y) : y + x;
            }
        }
    }

    /// @dev The operand's element of which all reduced indices are 0.
    function _reducedBase(Step memory s, Value memory v, uint256 e) private pure returns (uint256 base) {
        unchecked {
            uint256[] memory strides = s.values[_known(s, v.operands[0])].strides;
            for (uint256 axis = 0; axis < strides.length; ++axis) {
                base += (e / v.strides[axis]) % v.shape[axis] * strides[axis];
            }
        }
    }

    /// @dev From there to number t of the reduced axes' elements.
    function _reducedOffset(Step memory s, Value memory v, uint256 t) private pure returns (uint256 offset) {
        unchecked {
            Value memory x = s.values[v.operands[0]];
            for (uint256 i = v.count; i > 0; --i) {
                uint256 axis = uint256(StepModel.attribute(v, i - 1));
                offset += t % x.shape[axis] * x.strides[axis];
                t /= x.shape[axis];
            }
        }
    }

    /// @notice Side of argMax's operand along the axis.
    function axisSide(Step memory s, uint256 position) internal pure returns (uint256) {
        Value memory v = s.values[position];
        return s.values[_known(s, v.operands[0])].shape[uint256(StepModel.attribute(v, 0))];
    }

    /// @notice Element of argMax's operand at index i along the axis, for output element e.
    function alongAxis(Step memory s, uint256 position, uint256 e, uint256 i) internal pure returns (int256) {
        unchecked {
            Value memory v = s.values[position];
            uint256 axis = uint256(StepModel.attribute(v, 0));
            uint256 stride = s.values[_known(s, v.operands[0])].strides[axis];
            return evaluate(s, v.operands[0], _reducedBase(s, v, e) + i * stride);
        }
    }

    // Wiring

    /// @dev Where element e of a wiring node comes from; MISSING: it is the padding value y.
    function _wire(Step memory s, Value memory v, uint256 e)
        private
        pure
        returns (uint256 position, uint256 from, int256 y)
    {
        unchecked {
            uint256 kind = v.kind;
            position = v.operands[0];
            if (kind == Kind.RESHAPE) return (position, e, 0);
            if (kind == Kind.CONCAT) {
                (position, from) = _concatenated(s, v, e);
                return (position, from, 0);
            }
            Value memory x = s.values[_known(s, position)];
            uint256 rank = v.shape.length;
            for (uint256 axis = 0; axis < rank; ++axis) {
                uint256 i = e / v.strides[axis] % v.shape[axis];
                uint256 source = axis;
                if (kind == Kind.TRANSPOSE) {
                    source = uint256(StepModel.attribute(v, axis));
                } else if (kind == Kind.SLICE) {
                    i = uint256(StepModel.attribute(v, axis) + int256(i) * StepModel.attribute(v, rank + axis));
                } else if (kind == Kind.PAD) {
                    // Before the operand it is a number near 2^256.
                    i -= uint256(StepModel.attribute(v, axis));
                    if (i >= x.shape[axis]) return (MISSING, 0, StepModel.attribute(v, 2 * rank + 1));
                } else if (kind == Kind.EXPAND) {
                    if (x.shape[axis] == 1) i = 0;
                } else {
                    revert IStep.Undetermined("operator");
                }
                from += i * x.strides[source];
            }
        }
    }

    function _concatenated(Step memory s, Value memory v, uint256 e)
        private
        pure
        returns (uint256 position, uint256 from)
    {
        unchecked {
            uint256 axis = uint256(StepModel.attribute(v, 0));
            uint256 inner = v.strides[axis];
            uint256 i = e / inner % v.shape[axis];
            for (uint256 k = 0; k < v.operands.length; ++k) {
                position = v.operands[k];
                uint256 side = s.values[_known(s, position)].shape[axis];
                if (i < side) return (position, (e / (inner * v.shape[axis]) * side + i) * inner + e % inner);
                i -= side;
            }
            revert IStep.Undetermined("operator");
        }
    }

    // Windows

    /// @dev True where the value is a window on an opened slot; it is found once.
    function _findWindow(Step memory s, uint256 position) private pure returns (bool) {
        Value memory v = s.values[_known(s, position)];
        if (v.window == 0) v.window = _setWindow(s, v, position) ? WINDOW : NO_WINDOW;
        return v.window == WINDOW;
    }

    function _setWindow(Step memory s, Value memory v, uint256 position) private pure returns (bool) {
        unchecked {
            uint256 rank = v.shape.length;
            uint256 kind = v.kind;
            int256[] memory steps = new int256[](rank);
            v.windowSteps = steps;
            if (_isSlot(s, v, position)) {
                if (v.opened == 0) revert IStep.Undetermined("slot");
                v.windowTensor = v.opened - 1;
                v.windowBase = int256(s.item * v.size);
                v.windowTaps.ahead = new int256[](1);
                for (uint256 axis = 0; axis < rank; ++axis) {
                    steps[axis] = int256(v.committedStrides[axis]);
                }
                return true;
            }
            bool isSum = kind == Kind.REDUCE_SUM || (kind == Kind.SUM_POOL && !_isPadded(v));
            if (!isSum && kind != Kind.RESHAPE && kind != Kind.TRANSPOSE && kind != Kind.SLICE && kind != Kind.EXPAND) {
                return false;
            }
            if (!_findWindow(s, v.operands[0])) return false;
            Value memory x = s.values[v.operands[0]];
            v.windowTensor = x.windowTensor;
            v.windowBase = x.windowBase;
            v.windowTaps = x.windowTaps;
            if (kind == Kind.RESHAPE && !_isPacked(x)) return false;
            for (uint256 axis = 0; axis < rank; ++axis) {
                if (kind == Kind.RESHAPE) {
                    steps[axis] = int256(v.strides[axis]);
                } else if (kind == Kind.TRANSPOSE) {
                    steps[axis] = x.windowSteps[uint256(StepModel.attribute(v, axis))];
                } else if (kind == Kind.SLICE) {
                    v.windowBase += StepModel.attribute(v, axis) * x.windowSteps[axis];
                    steps[axis] = StepModel.attribute(v, rank + axis) * x.windowSteps[axis];
                } else if (x.shape[axis] != 1) {
                    steps[axis] = x.windowSteps[axis];
                }
            }
            return !isSum || _setTaps(v, x);
        }
    }

    function _isPadded(Value memory v) private pure returns (bool) {
        for (uint256 i = 6; i < 10; ++i) {
            if (StepModel.attribute(v, i) != 0) return true;
        }
        return false;
    }

    /// @dev A sum over a window, of which no term lies in the padding, or over axes: the taps are those of the operand,
    /// once for each term.
    function _setTaps(Value memory v, Value memory x) private pure returns (bool) {
        unchecked {
            if (v.kind == Kind.REDUCE_SUM) {
                for (uint256 i = 0; i < v.count; ++i) {
                    uint256 axis = uint256(StepModel.attribute(v, i));
                    if (!_repeatTaps(v, x.shape[axis], x.windowSteps[axis])) return false;
                    v.windowSteps[axis] = 0;
                }
                return true;
            }
            for (uint256 i = 0; i < 2; ++i) {
                int256 step = x.windowSteps[1 + i];
                uint256 taps = uint256(StepModel.attribute(v, i));
                if (!_repeatTaps(v, taps, step * StepModel.attribute(v, 4 + i))) return false;
                v.windowSteps[1 + i] = step * StepModel.attribute(v, 2 + i);
            }
            return true;
        }
    }

    /// @dev Each tap `count` times, a step apart.
    function _repeatTaps(Value memory v, uint256 count, int256 step) private pure returns (bool) {
        unchecked {
            int256[] memory taps = v.windowTaps.ahead;
            uint256 length = taps.length;
            if (length * count > TAP_LIMIT) return false;
            int256 farthest = int256(count - 1) * step;
            int256[] memory repeated = new int256[](length * count);
            for (uint256 i = 0; i < length * count; ++i) {
                repeated[i] = taps[i % length] + int256(i / length) * step;
            }
            // Another's taps are left as they are.
            v.windowTaps = Taps({
                ahead: repeated,
                lowest: v.windowTaps.lowest + (farthest < 0 ? farthest : int256(0)),
                highest: v.windowTaps.highest + (farthest > 0 ? farthest : int256(0))
            });
            return true;
        }
    }

    /// @dev True where memory order is committed order.
    function _isPacked(Value memory v) private pure returns (bool) {
        unchecked {
            for (uint256 axis = 0; axis < v.shape.length; ++axis) {
                if (v.shape[axis] != 1 && v.windowSteps[axis] != int256(v.strides[axis])) return false;
            }
            return true;
        }
    }

    /// @dev Committed position of element e of a value that is a window.
    function _place(Value memory v, uint256 e) private pure returns (int256 position) {
        unchecked {
            position = v.windowBase;
            uint256[] memory shape = v.shape;
            for (uint256 axis = shape.length; axis > 0; --axis) {
                uint256 side = shape[axis - 1];
                position += int256(e % side) * v.windowSteps[axis - 1];
                e /= side;
            }
        }
    }

    function _throughWindow(Step memory s, Value memory v, uint256 e) private pure returns (int256 y) {
        unchecked {
            int256 place = _place(v, e);
            Tensor memory tensor = s.tensors[v.windowTensor];
            int256[] memory taps = v.windowTaps.ahead;
            for (uint256 i = 0; i < taps.length; ++i) {
                y += StepTensor.read(tensor, uint256(place + taps[i]));
            }
        }
    }

    // Reading

    /// @dev The position, where its descriptor is opened. It is no function from position to value: that would allocate
    /// one in every call.
    function _known(Step memory s, uint256 position) private pure returns (uint256) {
        if (position >= s.values.length) revert IStep.Undetermined("descriptor");
        return position;
    }

    function _isSlot(Step memory s, Value memory v, uint256 position) private pure returns (bool) {
        return v.slot != NO_SLOT && position != s.disputed;
    }

    /// @dev Element of a constant; 0 where the model has none.
    function _constant(Step memory s, uint256 opened, uint256 place) private pure returns (int256) {
        if (opened == ABSENT) return 0;
        if (opened == 0) revert IStep.Undetermined("constant");
        return StepTensor.read(s.tensors[opened - 1], place);
    }

    /// @dev Element of a constant that is broadcast against the value: right-aligned, sides of 1 repeat.
    function _broadcast(Step memory s, Value memory v, uint256 opened, uint256 e) private pure returns (int256) {
        unchecked {
            if (opened == ABSENT) return 0;
            if (opened == 0) revert IStep.Undetermined("constant");
            Tensor memory tensor = s.tensors[opened - 1];
            uint256 own = StepTensor.rank(tensor);
            uint256 rank = v.shape.length;
            uint256 place = 0;
            uint256 stride = 1;
            for (uint256 i = 1; i <= own && i <= rank; ++i) {
                uint256 side = StepTensor.side(tensor, own - i);
                uint256 mine = v.shape[rank - i];
                if (side != 1) place += e % mine * stride;
                stride *= side;
                e /= mine;
            }
            return StepTensor.read(tensor, place);
        }
    }
}
