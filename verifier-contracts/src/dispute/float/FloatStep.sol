// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "../../SettlementTypes.sol";
import {TensorTree} from "../../TensorTree.sol";
import {Fault, Finding, IStep, Reliance} from "../IStep.sol";
import {Node} from "../Nodes.sol";
import {ConstantOpening, ModelOpening, SlotOpening} from "../StepEvidence.sol";
import {FloatModel, FloatTensor, FloatWindow, Reading} from "./FloatModel.sol";
import {FloatOpening, OpenedRuns} from "./FloatOpening.sol";
import {FloatSum} from "./FloatSum.sol";

/// What a fault of a float32 graph is shown with; fraud-proofs/float/float-evidence.ts makes it.
struct FloatEvidence {
    ModelOpening model;
    /// Number of slots, as traceRoot binds it.
    uint32 slotCount;
    /// Value, which is its slot (Step, Header); position of the input or output (InputBinding, OutputBinding);
    /// PortCount: 0 inputs, 1 outputs.
    uint32 value;
    /// Step: the element in memory order, item outermost.
    uint64 element;
    /// The slot at fault, then those of its operands, each once. None for SlotCount, OpCount and PortCount.
    SlotOpening[] slots;
    /// Of the descriptor of the value; `ordinal` counts its roots from 0, an absent bias too.
    ConstantOpening[] constants;
    /// InputBinding, OutputBinding, PortCount: the tensor root at the port, its siblings and the number of ports; for
    /// PortCount the path is the tree's value alone. SlotCount: `portTensor` is the value of the trace's tree.
    uint32 portCount;
    bytes32 portTensor;
    bytes32[] portPath;
}

/// @title Recomputes one element of a float32 graph, and says whether an honest machine can have got it
/// @notice Every value of the graph is a slot, so a step reads the executor's own committed operands and no error is
/// ever carried on. Floats have no one right answer: what is refused is what no order of float32 operations gives.
///   conv, dense     n = K + 1 terms, the bias one of them: at most n roundings. FloatSum.
///   averagePool     the taps inside the input: n + 1 roundings, the division two of them, before or after. FloatSum.
///   add, sub, mul   the exact result and one rounding. FloatSum.
///   relu            x > 0: the bits of x; else +0 or -0; x subnormal: either.
///   maxPool         the bits of the largest tap, +0 and -0 being equal; a largest below 2^-126 in magnitude: +0, -0,
///   or the
///                   bits of any such tap, since machines that read subnormals as zero cannot tell them apart.
///   reshape         the same bits.
/// NaN: payloads are not compared. Where relu or a tap of maxPool reads NaN, nothing is asked of y: machines differ.
/// The executor's contract is that convolutions and products are sums of products, in any order: no Winograd, FFT or
/// Strassen, no TF32 or bfloat16; and that every slot is what its reader read.
contract FloatStep is IStep {
    struct Step {
        /// Of the value, as the model says it; `item` of the element, and its indices along the axes.
        FloatTensor tensor;
        uint256 item;
        uint256[] axes;
        /// What was claimed.
        uint256 y;
        uint256[] operands;
        Reading reading;
    }

    /// @inheritdoc IStep
    function judge(Receipt calldata receipt, Fault fault, bytes calldata evidence)
        external
        pure
        returns (Finding memory)
    {
        FloatEvidence calldata shown;
        // Assembly: reads the evidence in place. Its accessors check every offset against the call's end, and only what
        // is shown by hashes counts.
        assembly ("memory-safe") {
            shown := add(evidence.offset, calldataload(evidence.offset))
        }
        FloatModel.Header memory header = FloatModel.open(receipt.modelDigest, shown.model);
        uint256 slot = 0;
        if (fault == Fault.Step) {
            slot = shown.value;
            _step(receipt, shown, header);
        } else if (fault == Fault.Header) {
            slot = shown.value;
            _header(receipt, shown, header);
        } else if (fault == Fault.InputBinding) {
            slot = shown.value;
            if (slot >= header.inputs) revert EvidenceInvalid("value");
            _binding(receipt, shown, slot, TensorTree.INPUTS, header);
        } else if (fault == Fault.OutputBinding) {
            if (shown.value >= header.outputs) revert EvidenceInvalid("value");
            slot = FloatModel.u32(
                FloatModel.descriptor(shown.model, 1 + header.inputs + header.nodes + shown.value)
            );
            _binding(receipt, shown, slot, TensorTree.OUTPUTS, header);
        } else if (fault == Fault.SlotCount) {
            if (FloatOpening.traceRootOf(shown.slotCount, shown.portTensor) != receipt.traceRoot) {
                revert EvidenceInvalid("trace");
            }
            if (shown.slotCount == header.slots) revert NoFault();
        } else if (fault == Fault.OpCount) {
            if (receipt.opCount == header.slots) revert NoFault();
        } else if (fault == Fault.PortCount) {
            _portCount(receipt, shown, header);
        } else {
            // A float has no declared range; every slot is committed, and no contraction needs sums.
            revert EvidenceInvalid("fault");
        }
        // What a fault does not have is not in its name: one fault has one name.
        uint256 element = fault == Fault.Step ? shown.element : 0;
        uint32 value = fault == Fault.SlotCount || fault == Fault.OpCount ? 0 : shown.value;
        bytes32 faultId = keccak256(abi.encodePacked(uint8(fault), value, uint32(slot), uint64(element)));
        return Finding(faultId, new Reliance[](0));
    }

    /// @inheritdoc IStep
    function requireStatement(Receipt calldata, Node calldata, bytes calldata) external pure {
        revert NoStatement();
    }

    function _header(Receipt calldata receipt, FloatEvidence calldata shown, FloatModel.Header memory header)
        private
        pure
    {
        FloatTensor memory tensor = _valueTensor(shown.model, shown.value, header);
        SlotOpening calldata slot = _slot(shown, shown.value);
        _requireInTrace(receipt, shown, slot, FloatOpening.rootOf(slot.tensor.header, slot.tensor.treeValue));
        if (_isHeader(slot.tensor.header, tensor, receipt.items)) revert NoFault();
    }

    function _binding(
        Receipt calldata receipt,
        FloatEvidence calldata shown,
        uint256 value,
        uint8 role,
        FloatModel.Header memory header
    ) private pure {
        if (shown.portCount != (role == TensorTree.INPUTS ? header.inputs : header.outputs)) {
            revert EvidenceInvalid("ports");
        }
        bytes32[] memory leaf = new bytes32[](1);
        leaf[0] = TensorTree.port(role, shown.value, shown.portTensor);
        (bool exact, bytes32 tree) = TensorTree.valueFromOpening(
            TensorTree.PORT_NODE, leaf, shown.value, shown.portCount, shown.portPath
        );
        if (!exact) revert EvidenceInvalid("ports");
        _requirePorts(receipt, role, shown.portCount, tree);
        SlotOpening calldata slot = _slot(shown, value);
        bytes32 root = FloatOpening.rootOf(slot.tensor.header, slot.tensor.treeValue);
        _requireInTrace(receipt, shown, slot, root);
        if (root == shown.portTensor) revert NoFault();
    }

    function _portCount(Receipt calldata receipt, FloatEvidence calldata shown, FloatModel.Header memory header)
        private
        pure
    {
        if (shown.value > 1) revert EvidenceInvalid("value");
        if (shown.portPath.length != 1) revert EvidenceInvalid("ports");
        _requirePorts(receipt, uint8(shown.value), shown.portCount, shown.portPath[0]);
        if (shown.portCount == (shown.value == TensorTree.INPUTS ? header.inputs : header.outputs)) revert NoFault();
    }

    function _requirePorts(Receipt calldata receipt, uint8 role, uint256 count, bytes32 tree) private pure {
        bytes32 root = role == TensorTree.INPUTS ? receipt.inputRoot : receipt.outputRoot;
        if (TensorTree.portsRoot(role, count, tree) != root) revert EvidenceInvalid("ports");
    }

    function _requireInTrace(
        Receipt calldata receipt,
        FloatEvidence calldata shown,
        SlotOpening calldata slot,
        bytes32 root
    ) private pure {
        if (!FloatOpening.inTrace(receipt.traceRoot, shown.slotCount, slot, root)) revert EvidenceInvalid("trace");
    }

    function _slot(FloatEvidence calldata shown, uint256 slot) private pure returns (SlotOpening calldata) {
        for (uint256 i = 0; i < shown.slots.length; ++i) {
            if (shown.slots[i].slot == slot) return shown.slots[i];
        }
        revert EvidenceInvalid("slots");
    }

    /// @dev What the model says of a value; values are numbered as slots are.
    function _valueTensor(ModelOpening calldata model, uint256 value, FloatModel.Header memory header)
        private
        pure
        returns (FloatTensor memory tensor)
    {
        if (value >= header.slots) revert EvidenceInvalid("value");
        Reading memory reading = FloatModel.descriptor(model, 1 + value);
        if (value >= header.inputs) FloatModel.u8(reading);
        tensor = FloatModel.tensor(reading);
        if (tensor.slot != value) revert EvidenceInvalid("descriptor");
    }

    /// @dev A slot's elements, its header being the right one.
    function _elements(Receipt calldata receipt, FloatEvidence calldata shown, FloatTensor memory tensor)
        private
        pure
        returns (OpenedRuns memory opened)
    {
        SlotOpening calldata slot = _slot(shown, tensor.slot);
        if (!_isHeader(slot.tensor.header, tensor, receipt.items)) revert EvidenceInvalid("header");
        bytes32 root;
        (root, opened) = FloatOpening.open(slot.tensor, receipt.items * tensor.size);
        _requireInTrace(receipt, shown, slot, root);
    }

    /// @dev A constant's elements, of one item.
    function _constant(FloatEvidence calldata shown, uint256 ordinal, FloatTensor memory tensor, uint256 root)
        private
        pure
        returns (OpenedRuns memory opened)
    {
        for (uint256 i = 0; i < shown.constants.length; ++i) {
            ConstantOpening calldata constant_ = shown.constants[i];
            if (constant_.ordinal != ordinal) continue;
            bytes32 found;
            // The root binds the header.
            (found, opened) = FloatOpening.open(constant_.tensor, tensor.size);
            if (uint256(found) == root) return opened;
        }
        revert EvidenceInvalid("constants");
    }

    function _step(Receipt calldata receipt, FloatEvidence calldata shown, FloatModel.Header memory header)
        private
        pure
    {
        Step memory step;
        if (shown.value < header.inputs || shown.value >= header.slots) revert EvidenceInvalid("value");
        step.reading = FloatModel.descriptor(shown.model, 1 + shown.value);
        uint256 kind = FloatModel.u8(step.reading);
        step.tensor = FloatModel.tensor(step.reading);
        step.operands = FloatModel.u32s(step.reading);
        uint256 size = step.tensor.size;
        step.item = shown.element / size;
        if (step.item >= receipt.items || step.tensor.slot != shown.value) revert EvidenceInvalid("element");
        step.axes = FloatModel.indices(step.tensor, shown.element % size);
        step.y = FloatOpening.elementAt(
            _elements(receipt, shown, step.tensor), step.item * size + FloatModel.position(step.tensor, step.axes)
        );

        FloatTensor memory x;
        OpenedRuns memory opened;
        if (step.operands.length > 0) {
            x = _valueTensor(shown.model, step.operands[0], header);
            opened = _elements(receipt, shown, x);
        }
        bool right;
        if (kind == FloatModel.CONV) right = _conv(shown, step, x, opened);
        else if (kind == FloatModel.DENSE) right = _dense(shown, step, x, opened);
        else if (kind == FloatModel.AVERAGE_POOL) right = _averagePool(step, x, opened);
        else if (kind == FloatModel.MAX_POOL) right = _maxPool(step, x, opened);
        else if (kind == FloatModel.RELU) right = _relu(step, _same(step, x, opened, shown.element % size));
        else if (kind == FloatModel.RESHAPE) right = _copied(step, _same(step, x, opened, shown.element % size));
        else if (kind == FloatModel.ADD || kind == FloatModel.SUB || kind == FloatModel.MUL) {
            right = _binary(receipt, shown, header, step, kind);
        } else revert Undetermined("kind");
        FloatModel.finish(step.reading);
        if (right) revert NoFault();
    }

    /// @dev The element of x with the same place in memory order.
    function _same(Step memory step, FloatTensor memory x, OpenedRuns memory opened, uint256 element)
        private
        pure
        returns (uint256)
    {
        uint256 place = FloatModel.position(x, FloatModel.indices(x, element));
        return FloatOpening.elementAt(opened, step.item * x.size + place);
    }

    /// @dev Room for the factors of `terms` terms; a single one may be written as a whole word.
    function _factors(uint256 terms) private pure returns (uint256 place) {
        bytes memory room = new bytes(4 * terms + 32);
        assembly ("memory-safe") {
            place := add(room, 0x20)
        }
    }

    function _store(uint256 factors, uint256 i, uint256 bits) private pure {
        // Assembly: within what `_factors` allocated; what stands behind is written later or not read.
        assembly ("memory-safe") {
            mstore(add(factors, shl(2, i)), shl(224, bits))
        }
    }

    function _requireTerms(uint256 terms) private pure {
        if (terms > FloatSum.MAX_TERMS - 1) revert NeedsSums(terms, FloatSum.MAX_TERMS - 1);
    }

    /// @dev window | uint32 groups | weight root, shape [out][kernel row][kernel column][in / groups] | bias root
    function _conv(FloatEvidence calldata shown, Step memory step, FloatTensor memory x, OpenedRuns memory opened)
        private
        pure
        returns (bool)
    {
        FloatWindow memory window = FloatModel.window(step.reading);
        uint256 groups = FloatModel.u32(step.reading);
        uint256 depth = x.sides[0] / groups;
        uint256 count = window.kernelRows * window.kernelColumns * depth;
        _requireTerms(count);
        uint256 first = _factors(count + 1);
        uint256 group = step.axes[0] / (step.tensor.sides[0] / groups);
        uint256 base = step.item * x.size + group * depth * x.strides[0];
        for (uint256 tap = 0; tap < window.kernelRows * window.kernelColumns; ++tap) {
            (bool inside, uint256 place) = _tap(step, x, window, tap);
            // Outside the input x is 0, which is what the room holds.
            if (inside) FloatOpening.gather(opened, base + place, x.strides[0], depth, first + 4 * tap * depth);
        }
        uint256[] memory sides = new uint256[](4);
        (sides[0], sides[1], sides[2], sides[3]) =
            (step.tensor.sides[0], window.kernelRows, window.kernelColumns, depth);
        return _contract(shown, step, first, count, sides, step.axes[0]);
    }

    /// @dev weight root, shape [N][K] | bias root. x [..., K] gives [..., N].
    function _dense(FloatEvidence calldata shown, Step memory step, FloatTensor memory x, OpenedRuns memory opened)
        private
        pure
        returns (bool)
    {
        uint256 last = x.sides.length - 1;
        uint256 count = x.sides[last];
        _requireTerms(count);
        uint256 first = _factors(count + 1);
        uint256 channel = step.axes[last];
        step.axes[last] = 0;
        uint256 base = step.item * x.size + FloatModel.position(x, step.axes);
        FloatOpening.gather(opened, base, x.strides[last], count, first);
        uint256[] memory sides = new uint256[](2);
        (sides[0], sides[1]) = (step.tensor.sides[last], count);
        return _contract(shown, step, first, count, sides, channel);
    }

    /// @dev The sum over `count` products of what lies at `first` with row `channel` of the weight, and the bias.
    function _contract(
        FloatEvidence calldata shown,
        Step memory step,
        uint256 first,
        uint256 count,
        uint256[] memory sides,
        uint256 channel
    ) private pure returns (bool) {
        uint256 weights = _factors(count + 1);
        FloatOpening.gather(
            _constant(shown, 0, FloatModel.constantTensor(sides), FloatModel.word(step.reading)),
            channel * count,
            1,
            count,
            weights
        );
        uint256 biasRoot = FloatModel.word(step.reading);
        uint256 terms = count;
        if (biasRoot != 0) {
            uint256[] memory channels = new uint256[](1);
            channels[0] = sides[0];
            OpenedRuns memory bias = _constant(shown, 1, FloatModel.constantTensor(channels), biasRoot);
            _store(first, count, FloatOpening.elementAt(bias, channel));
            _store(weights, count, FloatSum.ONE);
            terms = count + 1;
        }
        return FloatSum.allows(FloatSum.add(first, weights, terms), step.y, count + 1, 1, false);
    }

    /// @dev window | uint8 1 where the divisor counts padding
    function _averagePool(Step memory step, FloatTensor memory x, OpenedRuns memory opened)
        private
        pure
        returns (bool)
    {
        FloatWindow memory window = FloatModel.window(step.reading);
        bool countsPadding = FloatModel.u8(step.reading) == 1;
        (uint256 first, uint256 inside) = _taps(step, x, opened, window);
        if (inside == 0) revert Undetermined("window");
        uint256 weights = _factors(inside);
        for (uint256 i = 0; i < inside; ++i) {
            _store(weights, i, FloatSum.ONE);
        }
        uint256 divisor = countsPadding ? window.kernelRows * window.kernelColumns : inside;
        return FloatSum.allows(FloatSum.add(first, weights, inside), step.y, inside + 1, divisor, false);
    }

    /// @dev window
    function _maxPool(Step memory step, FloatTensor memory x, OpenedRuns memory opened) private pure returns (bool) {
        FloatWindow memory window = FloatModel.window(step.reading);
        (uint256 first, uint256 inside) = _taps(step, x, opened, window);
        if (inside == 0) revert Undetermined("window");
        bool small = step.y & 0x7fffffff == 0;
        uint256 largest = 0;
        uint256 largestBits = 0;
        for (uint256 i = 0; i < inside; ++i) {
            uint256 bits;
            assembly ("memory-safe") {
                bits := shr(224, mload(add(first, shl(2, i))))
            }
            if (_isNan(bits)) return true;
            // In the order of numbers: the bits of positive ones rise, those of negative ones fall.
            uint256 rank = bits < FloatSum.SIGN ? bits + FloatSum.SIGN : 2 * FloatSum.SIGN - bits;
            if (rank >= largest) (largest, largestBits) = (rank, bits);
            if (_isSmall(bits) && bits == step.y) small = true;
        }
        return _isSmall(largestBits) ? small : largestBits == step.y;
    }

    function _taps(Step memory step, FloatTensor memory x, OpenedRuns memory opened, FloatWindow memory window)
        private
        pure
        returns (uint256 first, uint256 inside)
    {
        uint256 taps = window.kernelRows * window.kernelColumns;
        _requireTerms(taps);
        first = _factors(taps);
        uint256 base = step.item * x.size + step.axes[0] * x.strides[0];
        for (uint256 tap = 0; tap < taps; ++tap) {
            (bool isInside, uint256 place) = _tap(step, x, window, tap);
            if (isInside) _store(first, inside++, FloatOpening.elementAt(opened, base + place));
        }
    }

    /// @dev Where in x [C, H, W] a tap of the window at the output's row and column lies, but for the channel.
    function _tap(Step memory step, FloatTensor memory x, FloatWindow memory window, uint256 tap)
        private
        pure
        returns (bool inside, uint256 place)
    {
        uint256 row = step.axes[1] * window.strideRow + tap / window.kernelColumns * window.dilationRow;
        uint256 column = step.axes[2] * window.strideColumn + tap % window.kernelColumns * window.dilationColumn;
        if (row < window.padTop || column < window.padLeft) return (false, 0);
        row -= window.padTop;
        column -= window.padLeft;
        if (row >= x.sides[1] || column >= x.sides[2]) return (false, 0);
        return (true, row * x.strides[1] + column * x.strides[2]);
    }

    function _relu(Step memory step, uint256 x) private pure returns (bool) {
        if (_isNan(x)) return true;
        bool zero = step.y & 0x7fffffff == 0;
        if (x >= FloatSum.SIGN || x == 0) return zero;
        return step.y == x || (zero && _isSmall(x));
    }

    function _copied(Step memory step, uint256 x) private pure returns (bool) {
        return step.y == x || (_isNan(step.y) && _isNan(x));
    }

    /// @dev uint8 0: two values; 1: the first operand is a constant, 2: the second is | u32s its shape | its root.
    /// Operands are broadcast: along an axis where one has side 1 its index is 0.
    function _binary(
        Receipt calldata receipt,
        FloatEvidence calldata shown,
        FloatModel.Header memory header,
        Step memory step,
        uint256 kind
    ) private pure returns (bool) {
        uint256 constantAt = FloatModel.u8(step.reading);
        uint256[2] memory factors;
        uint256 next = 0;
        for (uint256 i = 0; i < 2; ++i) {
            FloatTensor memory tensor;
            if (constantAt == i + 1) {
                tensor = FloatModel.constantTensor(FloatModel.u32s(step.reading));
                factors[i] = FloatOpening.elementAt(
                    _constant(shown, 0, tensor, FloatModel.word(step.reading)), FloatModel.position(tensor, step.axes)
                );
            } else {
                tensor = _valueTensor(shown.model, step.operands[next++], header);
                factors[i] = FloatOpening.elementAt(
                    _elements(receipt, shown, tensor), step.item * tensor.size + FloatModel.position(tensor, step.axes)
                );
            }
        }
        uint256 x = _factors(2);
        uint256 w = _factors(2);
        _store(x, 0, factors[0]);
        if (kind == FloatModel.MUL) {
            _store(w, 0, factors[1]);
            return FloatSum.allows(FloatSum.add(x, w, 1), step.y, 1, 1, false);
        }
        _store(x, 1, factors[1]);
        _store(w, 0, FloatSum.ONE);
        _store(w, 1, kind == FloatModel.SUB ? FloatSum.ONE | FloatSum.SIGN : FloatSum.ONE);
        return FloatSum.allows(FloatSum.add(x, w, 2), step.y, 1, 1, true);
    }

    function _isHeader(bytes calldata header, FloatTensor memory tensor, uint256 items) private pure returns (bool) {
        return keccak256(header) == keccak256(FloatModel.tensorHeader(tensor, items));
    }

    function _isNan(uint256 bits) private pure returns (bool) {
        return bits & 0x7fffffff > 0x7f800000;
    }

    /// @dev Zero or subnormal: below 2^-126 in magnitude.
    function _isSmall(uint256 bits) private pure returns (bool) {
        return bits & 0x7fffffff <= FloatSum.MAX_SUBNORMAL;
    }
}
