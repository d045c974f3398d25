// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {DirectEvidence, Evidence} from "../../src/direct/DirectEvidence.sol";
import {ModelDigest} from "../../src/direct/ModelDigest.sol";
import {Program} from "../../src/direct/Program.sol";
import {ProgramMemory} from "../../src/direct/ProgramMemory.sol";
import {ProgramReader} from "../../src/direct/ProgramReader.sol";
import {PublicValues, Statement} from "../../src/direct/Statement.sol";
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

    /// @param point of which each input takes the last coordinates
    function read(bytes calldata encoded, bytes32 srsId, uint256 modelChunks, uint256 n, uint256[] memory point)
        external
        view
        returns (Result memory result)
    {
        // As DirectPhases does; what is allocated from here on lies above.
        assembly ("memory-safe") {
            if lt(mload(0x40), 0x2000) { mstore(0x40, 0x2000) }
        }
        ProgramMemory.keepModulus();
        Evidence memory evidence = DirectEvidence.read(encoded);
        bytes memory code = msg.data[evidence.program:evidence.program + evidence.programSize];
        Program memory program = ProgramReader.read(code);
        uint256 before = gasleft();
        DirectEvidence.locate(evidence, program, modelChunks);
        result.gasLocate = before - gasleft();
        before = gasleft();
        bytes32 keyHash = ModelDigest.keyHash(srsId, keccak256(code), evidence.commitments, modelChunks);
        result.modelDigest = ModelDigest.digest(evidence.graphRoot, evidence.weightsRoot, evidence.opCount, keyHash);
        result.gasDigest = before - gasleft();
        before = gasleft();
        PublicValues memory values = Statement.absorb(evidence, program, srsId, result.modelDigest, n);
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
}
