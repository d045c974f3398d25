// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Product, Program, Table, TABLE_CLAMP, TABLE_VALUES} from "./Program.sol";
import {ProgramMemory} from "./ProgramMemory.sol";
import {ProgramReader} from "./ProgramReader.sol";

/// A table at its place in the table space of the proof.
struct PlacedTable {
    /// TABLE_RANGE, or as in the program.
    uint256 kind;
    int256 lo;
    int256 hi;
    /// `a` of the first row; for an input `b` of the first row.
    int256 first;
    /// Model slot of a table of values.
    uint256 slot;
    uint256 offset;
    uint256 rows;
    uint256 tag;
}

/// Where everything lies in a proof of one group; a function of program, items and n alone.
struct Plan {
    /// log2 of the cells of a column.
    uint256 n;
    /// log2 of the cells of a chunk, the variables of phase L: less than n where witness and tables fit into less.
    uint256 lookupBits;
    uint256 items;
    uint256 batchBits;
    /// First cell of each slot in the witness space and in the model space, and its bits.
    uint256[] witnessOffsets;
    uint256[] witnessBits;
    uint256[] modelOffsets;
    uint256[] modelBits;
    /// Cells of the witness space, and rows of the table space, gaps included.
    uint256 witnessCells;
    uint256 rows;
    uint256 witnessChunks;
    uint256 tableChunks;
    uint256 modelChunks;
    bool hasMaxima;
    bool hasValues;
    PlacedTable[] tables;
    /// By table of the program.
    uint256[] tags;
    /// Phase A: number of products, variables, degree.
    uint256 products;
    uint256 variables;
    uint256 degree;
    /// Columns of the proof: those before the lookup challenges, and all; and with those of the model.
    uint256 firstColumns;
    uint256 proofColumns;
    uint256 columns;
}

uint256 constant TABLE_RANGE = 3;
uint256 constant RANGE_TAG = 1;
uint256 constant LIMB_BITS = 12;

/// @title The plan of a proof; prover/plan/plan.ts, prover/program/{layout,tables}.ts and product-shape.ts
library Plans {
    /// @notice Items, columns or n are beyond what the protocol admits.
    error PlanLimits();
    /// @notice A table or a slot is larger than any column space.
    error PlanMalformed();

    uint256 private constant FIRST_TAG = 2;
    uint256 private constant MIN_COLUMN_BITS = 8;
    uint256 private constant MAX_COLUMN_BITS = 24;
    uint256 private constant MAX_CHUNKS = 64;
    uint256 private constant MAX_ITEMS = 4096;
    /// Bits of a slot with its items; more than 64 columns of 2^24 cells have.
    uint256 private constant MAX_SLOT_BITS = 63;
    uint256 private constant MAX_TABLE_BITS = 24;
    uint256 private constant MAX_ROWS = 1 << 40;

    /// @notice The part that does not depend on n.
    function begin(Program memory program, uint256 items) internal pure returns (Plan memory plan) {
        if (items == 0 || items > MAX_ITEMS) revert PlanLimits();
        if (program.modelBits < MIN_COLUMN_BITS || program.modelBits > MAX_COLUMN_BITS) revert PlanLimits();
        plan.items = items;
        plan.batchBits = ProgramReader.bitsOf(items);
        uint256 cells;
        (plan.modelOffsets, plan.modelBits, cells) = _place(program.model, 0);
        plan.modelChunks = _chunks(cells, program.modelBits);
    }

    /// @param n log2 of the cells of a column, as the proof's header has it
    function finish(Plan memory plan, Program memory program, uint256 n) internal pure {
        if (n > MAX_COLUMN_BITS || n < program.modelBits) revert PlanLimits();
        plan.n = n;
        plan.hasMaxima = program.maxima.length > 0;
        (plan.witnessOffsets, plan.witnessBits, plan.witnessCells) = _place(program.witness, plan.batchBits);
        plan.rows = _placeTables(plan, program.tables);
        _cut(plan);
        plan.degree = 2;
        for (uint256 i = 0; i < program.requants.length; ++i) {
            _countProducts(plan, program.requants[i].expression.products);
        }
        for (uint256 i = 0; i < program.outputs.length; ++i) {
            _countProducts(plan, program.outputs[i].expression.products);
        }
    }

    /// @dev Chunks and columns.
    function _cut(Plan memory plan) private pure {
        uint256 n = plan.n;
        uint256 cells = plan.witnessCells;
        uint256 rows = plan.rows;
        uint256 most = cells < rows ? rows : cells;
        plan.lookupBits = most < 1 << n ? ProgramReader.bitsOf(most) : n;
        plan.witnessChunks = _chunks(cells, plan.lookupBits);
        plan.tableChunks = _chunks(rows, plan.lookupBits);
        if (plan.witnessChunks > MAX_CHUNKS || plan.tableChunks > MAX_CHUNKS) revert PlanLimits();
        // y, r0, r1, m; then gw, [gx,] gt: of either as many chunks share a column as fit.
        uint256 spare = n - plan.lookupBits;
        plan.firstColumns = _chunks(3 * plan.witnessChunks + plan.tableChunks, spare);
        plan.proofColumns =
            plan.firstColumns + _chunks((plan.hasMaxima ? 2 : 1) * plan.witnessChunks + plan.tableChunks, spare);
        plan.columns = plan.proofColumns + plan.modelChunks;
    }

    function _chunks(uint256 cells, uint256 bits) private pure returns (uint256) {
        return (cells + (1 << bits) - 1) >> bits;
    }

    /// @dev Slots at multiples of their size, largest first, ties in the order given.
    function _place(uint256[][] memory spaces, uint256 batchBits)
        private
        pure
        returns (uint256[] memory offsets, uint256[] memory bits, uint256 cells)
    {
        uint256 tooLarge = 0;
        // By bits: the number of slots, then the first free cell for the next of them.
        uint256 next = ProgramMemory.allocateZeros(MAX_SLOT_BITS + 1);
        assembly ("memory-safe") {
            let size := shl(5, mload(spaces))
            offsets := mload(0x40)
            bits := add(offsets, add(size, 0x20))
            mstore(0x40, add(bits, add(size, 0x20)))
            mstore(offsets, mload(spaces))
            mstore(bits, mload(spaces))
            let most := 0
            for { let i := 0x20 } iszero(gt(i, size)) { i := add(i, 0x20) } {
                let axes := mload(add(spaces, i))
                let own := add(batchBits, mload(add(axes, add(shl(6, mload(axes)), 0x20))))
                tooLarge := or(tooLarge, gt(own, MAX_SLOT_BITS))
                mstore(add(bits, i), own)
                own := and(own, 0x3f)
                if gt(own, most) { most := own }
                own := add(next, shl(5, own))
                mstore(own, add(mload(own), 1))
            }
            for { let own := add(most, 1) } own {} {
                own := sub(own, 1)
                let place := add(next, shl(5, own))
                let count := mload(place)
                mstore(place, cells)
                cells := add(cells, shl(own, count))
            }
            for { let i := 0x20 } iszero(gt(i, size)) { i := add(i, 0x20) } {
                let own := mload(add(bits, i))
                let place := add(next, shl(5, and(own, 0x3f)))
                let offset := mload(place)
                mstore(add(offsets, i), offset)
                mstore(place, add(offset, shl(own, 1)))
            }
        }
        if (tooLarge != 0) revert PlanMalformed();
    }

    /// @dev Equal contents share one table: clamps to equal bounds their longest stretch, inputs of one range, values of
    /// one slot read from one quotient on. Values first, at multiples of their padded size, largest first; then the
    /// range of the limbs; then the formulas in their order, without gaps.
    function _placeTables(Plan memory plan, Table[] memory tables) private pure returns (uint256 cells) {
        uint256 count = tables.length;
        // By content: a table with it (a copy: stretches grow).
        Table[] memory contents;
        {
            uint256 list = ProgramMemory.allocateList(count);
            assembly ("memory-safe") {
                contents := list
            }
        }
        uint256 contentCount = 0;
        plan.tags = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            Table memory own = tables[i];
            uint256 index = 0;
            while (index < contentCount && !_same(contents[index], own)) ++index;
            if (index == contentCount) {
                contents[contentCount++] =
                    Table(own.kind, own.lo, own.hi, own.qLo, own.qHi, own.rows, own.slot);
            } else if (own.kind == TABLE_CLAMP) {
                Table memory content = contents[index];
                if (own.qLo < content.qLo) content.qLo = own.qLo;
                if (own.qHi > content.qHi) content.qHi = own.qHi;
            }
            plan.tags[i] = FIRST_TAG + index;
        }

        PlacedTable[] memory placed;
        {
            uint256 list = ProgramMemory.allocateList(contentCount + 1);
            assembly ("memory-safe") {
                placed := list
            }
        }
        uint256 placedCount = 0;
        if (_hasValues(contents, contentCount)) {
            plan.hasValues = true;
            // By falling bits of their rows, ties in their order.
            for (uint256 bits = MAX_TABLE_BITS + 1; bits > 0;) {
                --bits;
                for (uint256 i = 0; i < contentCount; ++i) {
                    Table memory own = contents[i];
                    if (own.kind != TABLE_VALUES || ProgramReader.bitsOf(own.rows) != bits) continue;
                    placed[placedCount++] =
                        PlacedTable(TABLE_VALUES, 0, 0, own.qLo, own.slot, cells, own.rows, FIRST_TAG + i);
                    cells += 1 << bits;
                }
            }
        }
        placed[placedCount++] = PlacedTable(TABLE_RANGE, 0, 0, 0, 0, cells, 1 << LIMB_BITS, RANGE_TAG);
        cells += 1 << LIMB_BITS;
        for (uint256 i = 0; i < contentCount; ++i) {
            Table memory own = contents[i];
            if (own.kind == TABLE_VALUES) continue;
            bool isClamp = own.kind == TABLE_CLAMP;
            int256 rows = isClamp ? own.qHi - own.qLo + 1 : own.hi - own.lo + 1;
            if (rows < 1 || rows > int256(MAX_ROWS)) revert PlanMalformed();
            placed[placedCount++] = PlacedTable(
                own.kind, own.lo, own.hi, isClamp ? own.qLo : own.lo, 0, cells, uint256(rows), FIRST_TAG + i
            );
            cells += uint256(rows);
        }
        plan.tables = placed;
    }

    function _hasValues(Table[] memory contents, uint256 count) private pure returns (bool) {
        for (uint256 i = 0; i < count; ++i) {
            if (contents[i].kind == TABLE_VALUES) return true;
        }
        return false;
    }

    function _same(Table memory a, Table memory b) private pure returns (bool) {
        if (a.kind != b.kind) return false;
        if (a.kind == TABLE_VALUES) return a.slot == b.slot && a.qLo == b.qLo && a.rows == b.rows;
        return a.lo == b.lo && a.hi == b.hi;
    }

    function _countProducts(Plan memory plan, Product[] memory products) private pure {
        unchecked {
            for (uint256 i = 0; i < products.length; ++i) {
                Product memory product = products[i];
                uint256 bound = product.p.labels & product.q.labels;
                bool cubic = product.p.batched && product.q.batched;
                uint256 variables = cubic ? plan.batchBits : 0;
                uint256 shared = bound & product.outputLabels;
                uint256 bits = product.labels.length;
                assembly ("memory-safe") {
                    // Behind the sides: the bits of each label.
                    bits := add(mload(add(product, 0x20)), add(shl(5, bits), 0x20))
                }
                for (; bound != 0; bound >>= 1) {
                    uint256 own = ProgramMemory.load(bits);
                    if (bound & 1 == 1) {
                        variables += own;
                        if (own > 0 && shared & 1 == 1) cubic = true;
                    }
                    shared >>= 1;
                    bits += 32;
                }
                if (variables > plan.variables) plan.variables = variables;
                if (cubic) plan.degree = 3;
                ++plan.products;
            }
        }
    }
}
