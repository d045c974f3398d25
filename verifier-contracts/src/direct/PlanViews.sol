// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";
import {ProgramWeights} from "./ProgramWeights.sol";

/// A slot, or the part of it in one column, seen from a point of the column.
struct SlotView {
    /// Number of the column within its family.
    uint256 column;
    /// eq of the point's coordinates above the slot with the slot's place.
    uint256 selector;
    /// eq(point, .) over the items, a weight; 0 where there are no item bits.
    uint256 batch;
    /// eq(point, .) by axis, a list of factors.
    uint256 factors;
    /// Where the coordinates inside the slot begin.
    uint256 inside;
}

/// A point of columns, with the products of eq over its leading coordinates at the place that was asked for last.
struct ColumnPoint {
    /// Where the coordinates lie, most significant first, and how many.
    uint256 coordinates;
    uint256 bits;
    /// `bits` + 1 words: products over the first j coordinates for the place `offset`, known up to `depth`.
    uint256 products;
    uint256 offset;
    uint256 depth;
}

/// @title Slots seen from a point of their columns; splitPoint and withChunk of prover/plan
library PlanViews {

    /// @param factor what every selector is multiplied by
    function columnPoint(uint256 coordinates, uint256 bits, uint256 factor)
        internal
        pure
        returns (ColumnPoint memory here)
    {
        unchecked {
            uint256 products = ProgramMemory.allocate(bits + 1);
            ProgramMemory.store(products, factor);
            here = ColumnPoint(coordinates, bits, products, 0, 0);
        }
    }

    /// @notice eq of the first `depth` coordinates with the leading bits of `offset`, the column's own number apart.
    /// @dev Slots lie in a tree of prefixes; from one to the next only what differs is multiplied again.
    function selector(ColumnPoint memory here, uint256 offset, uint256 depth) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let coordinates := mload(here)
            let bits := mload(add(here, 0x20))
            let products := mload(add(here, 0x40))
            let known := mload(add(here, 0x80))
            if gt(known, depth) { known := depth }
            offset := and(offset, sub(shl(bits, 1), 1))
            let differs := xor(offset, mload(add(here, 0x60)))
            for {} shr(sub(bits, known), differs) {} { known := sub(known, 1) }
            product := mload(add(products, shl(5, known)))
            for {} lt(known, depth) {} {
                let part := mulmod(product, mload(add(coordinates, shl(5, known))), r)
                known := add(known, 1)
                switch and(shr(sub(bits, known), offset), 1)
                case 1 { product := part }
                default { product := addmod(product, sub(r, part), r) }
                mstore(add(products, shl(5, known)), product)
            }
            mstore(add(here, 0x60), offset)
            mstore(add(here, 0x80), known)
        }
    }

    /// @notice All slots of a space: by slot one view for each of its columns.
    /// @param spaces axes by slot, as ProgramReader leaves them
    /// @param bits by slot, those of the items included
    function allViews(
        ColumnPoint memory here,
        uint256[][] memory spaces,
        uint256[] memory offsets,
        uint256[] memory bits,
        uint256 batchBits,
        uint256 items
    ) internal pure returns (SlotView[][] memory all) {
        unchecked {
            uint256 count = spaces.length;
            uint256 list = ProgramMemory.allocateList(count);
            assembly ("memory-safe") {
                all := list
            }
            for (uint256 slot = 0; slot < count; ++slot) {
                uint256[] memory axes = axesAt(spaces, slot);
                SlotView[] memory views = _viewsOf(
                    here, axes, ProgramMemory.entry(offsets, slot), ProgramMemory.entry(bits, slot), batchBits, items
                );
                assembly ("memory-safe") {
                    list := add(list, 0x20)
                    mstore(list, views)
                }
            }
        }
    }

    /// @notice Axes of a slot whose number was checked.
    function axesAt(uint256[][] memory spaces, uint256 slot) internal pure returns (uint256[] memory axes) {
        assembly ("memory-safe") {
            axes := mload(add(add(spaces, 0x20), shl(5, slot)))
        }
    }

    /// @notice Views of a slot whose number was checked.
    function viewsOf(SlotView[][] memory all, uint256 slot) internal pure returns (SlotView[] memory views) {
        assembly ("memory-safe") {
            views := mload(add(add(all, 0x20), shl(5, slot)))
        }
    }

    /// @dev The columns of a slot: one view for each.
    function _viewsOf(
        ColumnPoint memory here,
        uint256[] memory axes,
        uint256 offset,
        uint256 bits,
        uint256 batchBits,
        uint256 items
    ) private pure returns (SlotView[] memory views) {
        unchecked {
            uint256 columnBits = here.bits;
            uint256 first = offset >> columnBits;
            if (bits <= columnBits) {
                uint256 depth = columnBits - bits;
                uint256 own =
                    viewAt(axes, here.coordinates + 32 * depth, batchBits, items, first, selector(here, offset, depth));
                assembly ("memory-safe") {
                    views := mload(0x40)
                    mstore(0x40, add(views, 0x40))
                    mstore(views, 1)
                    mstore(add(views, 0x20), own)
                }
                return views;
            }
            uint256 above = bits - columnBits;
            uint256 factor = selector(here, 0, 0);
            uint256 count = 1 << above;
            uint256 list = ProgramMemory.allocateList(count);
            assembly ("memory-safe") {
                views := list
            }
            for (uint256 k = 0; k < count; ++k) {
                // Inside a slot of several columns the leading coordinates are the column's number.
                uint256 coordinates = ProgramMemory.allocate(bits);
                uint256 from = here.coordinates;
                assembly ("memory-safe") {
                    for { let j := 0 } lt(j, above) { j := add(j, 1) } {
                        mstore(add(coordinates, shl(5, j)), and(shr(sub(sub(above, 1), j), k), 1))
                    }
                    mcopy(add(coordinates, shl(5, above)), from, shl(5, columnBits))
                }
                uint256 own = viewAt(axes, coordinates, batchBits, items, first + k, factor);
                assembly ("memory-safe") {
                    mstore(add(add(views, 0x20), shl(5, k)), own)
                }
            }
        }
    }

    /// @notice Index bits of a tensor: those of its axes.
    function bitsOf(uint256[] memory axes) internal pure returns (uint256 bits) {
        assembly ("memory-safe") {
            bits := mload(add(axes, add(shl(6, mload(axes)), 0x20)))
        }
    }

    /// @notice The weights of a view as one list, item-major, row-major inside an item.
    function writtenOut(SlotView memory own, uint256[] memory axes, uint256 items)
        internal
        pure
        returns (uint256 values, uint256 length)
    {
        unchecked {
            length = 1;
            if (own.batch != 0) {
                values = ProgramWeights.valuesOf(own.batch);
                length = items;
            } else {
                values = ProgramMemory.allocate(1);
                ProgramMemory.store(values, 1);
            }
            for (uint256 axis = 0; axis < axes.length; ++axis) {
                uint256 weight = ProgramMemory.word(own.factors, axis);
                if (weight == 0) continue;
                values = length == 1
                    ? ProgramWeights.valuesOf(weight)
                    : ProgramWeights.outer(values, length, ProgramWeights.valuesOf(weight), axes[axis]);
                length *= axes[axis];
            }
        }
    }

    /// @notice A view whose coordinates inside the slot begin at `inside`.
    /// @return view_ address of a SlotView: a struct that a function returns is allocated twice
    function viewAt(
        uint256[] memory axes,
        uint256 inside,
        uint256 batchBits,
        uint256 items,
        uint256 column,
        uint256 selector_
    ) internal pure returns (uint256 view_) {
        unchecked {
            uint256 batch = batchBits == 0 ? 0 : ProgramWeights.eqWeight(inside, batchBits, items);
            uint256 factors = ProgramWeights.eqFactors(axes, inside + 32 * batchBits);
            return slotView(column, selector_, batch, factors, inside);
        }
    }

    /// @return view_ address of a SlotView
    function slotView(uint256 column, uint256 selector_, uint256 batch, uint256 factors, uint256 inside)
        internal
        pure
        returns (uint256 view_)
    {
        assembly ("memory-safe") {
            view_ := mload(0x40)
            mstore(0x40, add(view_, 0xa0))
            mstore(view_, column)
            mstore(add(view_, 0x20), selector_)
            mstore(add(view_, 0x40), batch)
            mstore(add(view_, 0x60), factors)
            mstore(add(view_, 0x80), inside)
        }
    }

    /// @notice The mask of the valid cells at the point: selector times eq summed over items and indices.
    function validOf(SlotView memory own, uint256[] memory axes) internal pure returns (uint256 valid) {
        unchecked {
            valid = own.selector;
            if (own.batch != 0) valid = mulmod(valid, ProgramWeights.sumOf(own.batch), ProgramMemory.modulus());
            uint256 factor = own.factors;
            for (uint256 left = axes.length; left > 0; --left) {
                uint256 weight = ProgramMemory.load(factor);
                factor += 32;
                if (weight != 0) valid = mulmod(valid, ProgramWeights.sumOf(weight), ProgramMemory.modulus());
            }
        }
    }
}
