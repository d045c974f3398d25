// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {DirectEvidence, Evidence} from "../../src/direct/DirectEvidence.sol";
import {ModelDigest} from "../../src/direct/ModelDigest.sol";
import {Program, PublicOutput, Table} from "../../src/direct/Program.sol";
import {ProgramMemory} from "../../src/direct/ProgramMemory.sol";
import {ProgramReader} from "../../src/direct/ProgramReader.sol";
import {PublicValues, Statement} from "../../src/direct/Statement.sol";
import {InputPort, OutputPort, Shape} from "../../src/direct/Tape.sol";
import {Transcript} from "../../src/direct/Transcript.sol";

/// @title Opens the internal libraries of a proof's statement to the tests; never deployed elsewhere
contract StatementHarness {
    struct Result {
        bytes32 context;
        bytes32 modelDigest;
        uint256 items;
        bytes32 state;
        bytes32 inputRoot;
        bytes32 outputRoot;
        /// By input.
        uint256[] evaluations;
        uint256 proofSize;
        uint256 gasLocate;
        uint256 gasDigest;
        uint256 gasAbsorb;
        uint256 gasEvaluate;
    }

    /// By hash.
    mapping(bytes32 => bytes) public programs;

    /// @notice Makes a program known, as a ProgramStore would.
    function publish(bytes calldata code) external {
        programs[keccak256(code)] = code;
    }

    /// @param point of which each input takes the last coordinates
    function read(bytes calldata encoded, bytes32 srsId, uint256 modelChunks, uint256 n, uint256[] memory point)
        external
        view
        returns (Result memory result)
    {
        // As DirectVerifier does; what is allocated from here on lies above.
        assembly ("memory-safe") {
            if lt(mload(0x40), 0x1800) { mstore(0x40, 0x1800) }
        }
        ProgramMemory.keepModulus();
        Evidence memory evidence = DirectEvidence.read(encoded);
        evidence.n = n;
        Shape memory shape = _shapeOf(ProgramReader.read(programs[evidence.programHash]), modelChunks);
        uint256 before = gasleft();
        DirectEvidence.locate(evidence, shape);
        result.gasLocate = before - gasleft();
        before = gasleft();
        bytes32 keyHash = ModelDigest.keyHash(srsId, evidence.programHash, evidence.commitments, modelChunks);
        result.modelDigest = ModelDigest.digest(evidence.graphRoot, evidence.weightsRoot, evidence.opCount, keyHash);
        result.gasDigest = before - gasleft();
        before = gasleft();
        PublicValues memory values = Statement.absorb(evidence, shape, srsId, result.modelDigest);
        result.gasAbsorb = before - gasleft();
        result.context = evidence.context;
        result.items = evidence.items;
        result.state = values.state;
        result.inputRoot = values.inputRoot;
        result.outputRoot = values.outputRoot;
        result.proofSize = evidence.proofSize;
        uint256 end;
        assembly ("memory-safe") {
            end := add(point, shl(5, add(mload(point), 1)))
        }
        result.evaluations = new uint256[](values.words.length);
        before = gasleft();
        for (uint256 i = 0; i < values.words.length; ++i) {
            result.evaluations[i] = Statement.evaluate(values.words[i], end);
        }
        result.gasEvaluate = before - gasleft();
    }

    function _shapeOf(Program memory program, uint256 modelChunks) private pure returns (Shape memory shape) {
        shape.modelChunks = modelChunks;
        shape.inputs = new InputPort[](program.inputs.length);
        for (uint256 i = 0; i < program.inputs.length; ++i) {
            Table memory table = program.tables[program.inputs[i].table];
            uint256[] memory axes = program.witness[program.inputs[i].slot];
            shape.inputs[i] = InputPort(table.lo, table.hi, program.inputs[i].cellBits, axes, 0);
        }
        shape.outputs = new OutputPort[](program.outputs.length);
        for (uint256 i = 0; i < program.outputs.length; ++i) {
            PublicOutput memory output = program.outputs[i];
            shape.outputs[i] =
                OutputPort(output.lo, output.hi, output.argMaxAxisPlusOne, output.expression.axes, 0, 0);
        }
    }
}
