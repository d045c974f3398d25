// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OutputOpening, OutputRange} from "../../src/IEscrow.sol";
import {Tensor, TensorOpener} from "./TensorOpener.sol";
import {bound} from "./bound.sol";
import {create} from "./create.sol";
import {vm} from "./Vm.sol";

interface IOpeningCheck {
    function opens(bytes32 outputRoot, OutputRange calldata range, OutputOpening calldata opening)
        external
        pure
        returns (bool);
}

/// @title Openings of outputs: every range has exactly one answer
contract TensorTreeTest {
    /// TensorTree as Escrow has it deployed.
    IOpeningCheck private _checks;

    function setUp() external {
        _checks = IOpeningCheck(create("EscrowChecks", ""));
    }

    function testFuzz_everyRangeHasItsAnswer(uint256 seed, OutputRange memory range) external view {
        Tensor[] memory outputs = _outputs(seed);
        _aim(outputs, range);
        bytes32 root = TensorOpener.outputRoot(outputs);
        vm.assertTrue(_checks.opens(root, range, TensorOpener.open(outputs, range)), "honest answer refused");
    }

    /// However far outside a range is asked for: forge's own draws, unbounded.
    function testFuzz_anyNumberHasItsAnswer(uint256 seed, OutputRange memory range) external view {
        Tensor[] memory outputs = _outputs(seed);
        if (range.chunkCount == 0) range.chunkCount = 1;
        bytes32 root = TensorOpener.outputRoot(outputs);
        vm.assertTrue(_checks.opens(root, range, TensorOpener.open(outputs, range)), "honest answer refused");
    }

    function testFuzz_changedAnswerIsRefused(uint256 seed, OutputRange memory range, uint256 place) external view {
        Tensor[] memory outputs = _outputs(seed);
        _aim(outputs, range);
        bytes32 root = TensorOpener.outputRoot(outputs);
        OutputOpening memory answer = TensorOpener.open(outputs, range);
        _change(answer, place);
        vm.assertFalse(_checks.opens(root, range, answer), "changed answer accepted");
        vm.assertFalse(_checks.opens(bytes32(place), range, TensorOpener.open(outputs, range)), "another root");
    }

    /// An answer serves no other range, unless both lie outside in the same way, or reach beyond the end from one chunk.
    function testFuzz_answerServesItsRangeAlone(uint256 seed, OutputRange memory range, OutputRange memory other)
        external
        view
    {
        Tensor[] memory outputs = _outputs(seed);
        _aim(outputs, range);
        _aim(outputs, other);
        bool same = keccak256(abi.encode(TensorOpener.open(outputs, range)))
            == keccak256(abi.encode(TensorOpener.open(outputs, other)));
        bool equal = keccak256(abi.encode(range)) == keccak256(abi.encode(other));
        bool opened = _checks.opens(TensorOpener.outputRoot(outputs), other, TensorOpener.open(outputs, range));
        vm.assertTrue(opened == same, "answer for another range");
        bool fromOne = range.tensor == other.tensor && range.firstChunk == other.firstChunk;
        if (same && !equal && !fromOne) vm.assertFalse(_begins(outputs, range), "two ranges with one content");
        if (same && !equal && fromOne) vm.assertFalse(_inside(outputs, range) && _inside(outputs, other), "one start");
    }

    /// "Outside" is no way out for an executor that has the bytes, or a part of them.
    function testFuzz_outsideIsNotClaimedOfWhatIsInside(uint256 seed, OutputRange memory range) external view {
        Tensor[] memory outputs = _outputs(seed);
        _aim(outputs, range);
        if (!_begins(outputs, range)) return;
        bytes32 root = TensorOpener.outputRoot(outputs);
        OutputRange memory beyond = OutputRange(range.tensor, type(uint32).max, 1);
        vm.assertFalse(_checks.opens(root, range, TensorOpener.open(outputs, beyond)), "no such chunk");
        beyond.tensor = uint32(outputs.length);
        vm.assertFalse(_checks.opens(root, range, TensorOpener.open(outputs, beyond)), "no such tensor");
    }

    function testFuzz_noiseNeverReverts(bytes32 root, OutputRange calldata range, OutputOpening calldata opening)
        external
        view
    {
        vm.assertFalse(_checks.opens(root, range, opening), "noise accepted");
    }

    /// Noise that gets past the first checks: a right header and wrong everything else.
    function testFuzz_headerAndNoiseNeverReverts(uint256 seed, OutputRange memory range, OutputOpening memory opening)
        external
        view
    {
        Tensor[] memory outputs = _outputs(seed);
        _aim(outputs, range);
        opening.outputCount = uint32(outputs.length);
        opening.tensorHeader = TensorOpener.header(outputs[range.tensor % outputs.length]);
        vm.assertFalse(_checks.opens(TensorOpener.outputRoot(outputs), range, opening), "noise accepted");
    }

    /// One to five tensors of rank 0 to 3, of all widths, up to 640 elements.
    function _outputs(uint256 seed) private pure returns (Tensor[] memory outputs) {
        outputs = new Tensor[](1 + seed % 5);
        for (uint256 t = 0; t < outputs.length; ++t) {
            uint256 draw = uint256(keccak256(abi.encode(seed, t)));
            outputs[t] = _tensor(draw, bound(draw >> 16, 1, 5));
        }
    }

    function _tensor(uint256 draw, uint256 items) private pure returns (Tensor memory tensor) {
        uint256 kind = draw % 6;
        if (kind == 0) (tensor.lo, tensor.hi, tensor.width) = (-128, 127, 1);
        if (kind == 1) (tensor.lo, tensor.hi, tensor.width) = (0, 255, 1);
        if (kind == 2) (tensor.lo, tensor.hi, tensor.width) = (-1, 128, 2);
        if (kind == 3) (tensor.lo, tensor.hi, tensor.width) = (0, 65_535, 2);
        if (kind == 4) (tensor.lo, tensor.hi, tensor.width) = (-32_769, 0, 4);
        if (kind == 5) (tensor.lo, tensor.hi, tensor.width) = (type(int32).min, type(int32).max, 4);
        uint256 rank = (draw >> 8) % 4;
        tensor.items = uint32(items);
        tensor.sides = new uint32[](rank);
        tensor.axes = new uint8[](rank);
        uint256 elements = items;
        for (uint256 i = 0; i < rank; ++i) {
            uint256 side = i == 0 ? 1 + (draw >> 32) % 32 : 1 + (draw >> (32 + 8 * i)) % 2;
            tensor.sides[i] = uint32(side);
            // A rotation of the axes.
            tensor.axes[i] = uint8((i + (draw >> 64)) % rank);
            elements *= side;
        }
        tensor.elements = new bytes(elements * tensor.width);
        for (uint256 i = 0; i < tensor.elements.length; ++i) {
            tensor.elements[i] = bytes1(uint8(uint256(keccak256(abi.encode(draw, i)))));
        }
    }

    /// Moves a drawn range to where something is: in three of four cases inside.
    function _aim(Tensor[] memory outputs, OutputRange memory range) private pure {
        uint256 draw = uint256(keccak256(abi.encode(range)));
        range.tensor = uint32(bound(range.tensor, 0, outputs.length - (draw % 8 == 0 ? 0 : 1)));
        uint256 chunks = TensorOpener.chunkCount(outputs[range.tensor % outputs.length]);
        range.firstChunk = uint32(bound(range.firstChunk, 0, chunks - (draw % 8 == 1 ? 0 : 1)));
        uint256 most = draw % 8 == 2 || range.firstChunk == chunks ? 12 : chunks - range.firstChunk;
        range.chunkCount = uint32(bound(range.chunkCount, 1, most));
    }

    /// Something of the range exists.
    function _begins(Tensor[] memory outputs, OutputRange memory range) private pure returns (bool) {
        return range.tensor < outputs.length && range.firstChunk < TensorOpener.chunkCount(outputs[range.tensor]);
    }

    function _inside(Tensor[] memory outputs, OutputRange memory range) private pure returns (bool) {
        return range.tensor < outputs.length
            && range.firstChunk + range.chunkCount <= TensorOpener.chunkCount(outputs[range.tensor]);
    }

    /// Changes one thing of an answer.
    function _change(OutputOpening memory answer, uint256 place) private pure {
        uint256 kind = place % 6;
        uint256 bit = place >> 8;
        if (kind == 0 && answer.tensorHeader.length > 0) {
            uint256 i = bit % answer.tensorHeader.length;
            answer.tensorHeader[i] ^= bytes1(uint8(1 << ((bit >> 8) % 8)));
        } else if (kind == 1 && answer.elements.length > 0) {
            answer.elements[bit % answer.elements.length] ^= bytes1(uint8(1 << ((bit >> 16) % 8)));
        } else if (kind == 2 && answer.chunkPath.length > 0) {
            answer.chunkPath[bit % answer.chunkPath.length] ^= bytes32(1 << ((bit >> 8) % 256));
        } else if (kind == 3 && answer.portPath.length > 0) {
            answer.portPath[bit % answer.portPath.length] ^= bytes32(1 << ((bit >> 8) % 256));
        } else if (kind == 4) {
            answer.elements = bytes.concat(answer.elements, bytes1(uint8(bit)));
        } else {
            answer.outputCount ^= uint32(1 << (bit % 32));
        }
    }
}
