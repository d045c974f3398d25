// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan, Plans} from "../../src/direct/Plan.sol";
import {ProgramMemory} from "../../src/direct/ProgramMemory.sol";
import {ProgramReader} from "../../src/direct/ProgramReader.sol";
import {Program} from "../../src/direct/Program.sol";
import {Shape} from "../../src/direct/Tape.sol";
import {TapeLoader} from "../../src/direct/TapeLoader.sol";
import {TapeRunner} from "../../src/direct/TapeRunner.sol";

/// @title Opens what the direct verifier computes on its way to the tests; never deployed elsewhere
contract DirectHarness {
    /// Challenges: coordinates of all points, and powers.
    struct Challenges {
        uint256[] wordPoint;
        uint256[] outputPoint;
        uint256[] tau;
        uint256[] witnessPoint;
        uint256[] tablePoint;
        uint256[] rho;
        uint256[] u;
        uint256[] lambdas;
        uint256[] gammas;
    }

    /// What a tape makes of them.
    struct Registers {
        uint256[] masks;
        uint256[] rows;
        uint256 eqTau;
        uint256 known;
        uint256[] productWeights;
        uint256[] operandKnown;
        uint256[] coefficients;
        uint256[] ones;
        uint256 gasUsed;
    }

    function plan(bytes calldata code, uint256 items, uint256 n) external pure returns (Plan memory made) {
        Program memory program = ProgramReader.read(code);
        made = Plans.begin(program, items);
        Plans.finish(made, program, n);
    }

    /// @notice Runs a published tape on challenges.
    function run(address store, bytes32 programHash, uint256 items, uint256 n, Challenges calldata drawn)
        external
        view
        returns (Registers memory found)
    {
        Shape memory shape = TapeLoader.load(store, programHash, items, n);
        ProgramMemory.keepModulus();
        _put(shape.wordPoint, drawn.wordPoint);
        _put(shape.outputPoint, drawn.outputPoint);
        _put(shape.tau, drawn.tau);
        _put(shape.witnessPoint, drawn.witnessPoint);
        _put(shape.tablePoint, drawn.tablePoint);
        _put(shape.rho, drawn.rho);
        _put(shape.u, drawn.u);
        _put(shape.lambdas, drawn.lambdas);
        _put(shape.gammas, drawn.gammas);
        found.gasUsed = gasleft();
        TapeRunner.run(shape.records, shape.lookupsEnd);
        TapeRunner.run(shape.lookupsEnd, shape.recordsEnd);
        found.gasUsed -= gasleft();
        found.masks = _list(shape.masks, 4 * shape.witnessChunks);
        found.rows = _list(shape.rows, 4 * shape.tableChunks);
        found.eqTau = ProgramMemory.load(shape.eqTau);
        found.known = ProgramMemory.load(shape.known);
        found.productWeights = _list(shape.productWeights, shape.products);
        found.operandKnown = _list(shape.operandKnown, 2 * shape.products);
        found.coefficients = _list(shape.coefficients, shape.columns);
        found.ones = new uint256[](shape.inputs.length);
        for (uint256 i = 0; i < found.ones.length; ++i) {
            found.ones[i] = ProgramMemory.load(shape.inputs[i].ones);
        }
    }

    function _put(uint256 registers, uint256[] calldata list) private pure {
        for (uint256 i = 0; i < list.length; ++i) {
            ProgramMemory.store(registers + 32 * i, list[i]);
        }
    }

    function _list(uint256 registers, uint256 count) private pure returns (uint256[] memory list) {
        list = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = ProgramMemory.load(registers + 32 * i);
        }
    }
}
