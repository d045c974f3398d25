// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IMAGE} from "../../src/direct/DirectImage.sol";
import {Lookup} from "../../src/direct/Lookup.sol";
import {Plan, Plans} from "../../src/direct/Plan.sol";
import {ColumnPoint, PlanViews, SlotView} from "../../src/direct/PlanViews.sol";
import {Program, Term} from "../../src/direct/Program.sol";
import {ProgramMemory} from "../../src/direct/ProgramMemory.sol";
import {ProgramReader} from "../../src/direct/ProgramReader.sol";
import {ProgramWeights} from "../../src/direct/ProgramWeights.sol";

/// @title Opens what the direct verifier computes on its way to the tests; never deployed elsewhere
contract DirectHarness {
    /// @dev As DirectPhases begins: nothing allocated below IMAGE, the modulus in its place.
    modifier prepared() {
        assembly ("memory-safe") {
            mstore(0x40, IMAGE)
        }
        ProgramMemory.keepModulus();
        _;
    }

    function plan(bytes calldata code, uint256 items, uint256 n) external pure returns (Plan memory made) {
        Program memory program = ProgramReader.read(code);
        made = Plans.begin(program, items);
        Plans.finish(made, program, n);
    }

    /// @return all mask, a, b and tag of the table space at the point of each chunk
    function rows(bytes calldata code, uint256 n, uint256[] calldata coordinates)
        external
        pure
        prepared
        returns (Lookup.Row[] memory all)
    {
        Program memory program = ProgramReader.read(code);
        Plan memory made = Plans.begin(program, 1);
        Plans.finish(made, program, n);
        uint256 point = _words(coordinates);
        all = new Lookup.Row[](made.tableChunks);
        for (uint256 j = 0; j < all.length; ++j) {
            all[j] = Lookup.rowAt(made, point, j);
        }
    }

    /// @notice Masks by witness chunk.
    function masks(bytes calldata code, uint256 items, uint256 n, uint256[] calldata coordinates)
        external
        pure
        prepared
        returns (Lookup.Masks[] memory)
    {
        Program memory program = ProgramReader.read(code);
        Plan memory made = Plans.begin(program, items);
        Plans.finish(made, program, n);
        ColumnPoint memory here = PlanViews.columnPoint(_words(coordinates), n, 1);
        SlotView[][] memory views = PlanViews.allViews(
            here, program.witness, made.witnessOffsets, made.witnessBits, made.batchBits, items
        );
        return Lookup.masks(made, program, views);
    }

    /// @return value of the view of a linear term: eq(target, .) on its axes, eq(source, .) on the axes of its source
    function viewAt(
        bytes calldata code,
        uint256 requant,
        uint256 index,
        uint256[] calldata target,
        uint256[] calldata source
    ) external pure prepared returns (uint256 value) {
        Program memory program = ProgramReader.read(code);
        uint256[] memory axes = program.requants[requant].expression.axes;
        Term memory term = program.requants[requant].expression.linear[index];
        uint256 sources = 0;
        if (term.source != 2) {
            uint256[] memory own = term.source == 0 ? program.witness[term.slot] : program.model[term.slot];
            sources = ProgramWeights.eqFactors(own, _words(source));
        }
        return ProgramWeights.evaluateView(ProgramWeights.eqFactors(axes, _words(target)), term.blocks, sources);
    }

    function _words(uint256[] calldata list) private pure returns (uint256 ptr) {
        ptr = ProgramMemory.allocate(list.length);
        for (uint256 i = 0; i < list.length; ++i) {
            ProgramMemory.store(ptr + 32 * i, list[i]);
        }
    }
}
