// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Claims, ClaimSet} from "./Claims.sol";
import {Lookup, LookupPoint} from "./Lookup.sol";
import {Mercury} from "./Mercury.sol";
import {Plan} from "./Plan.sol";
import {ColumnPoint, PlanViews, SlotView} from "./PlanViews.sol";
import {Program} from "./Program.sol";
import {ProgramMemory} from "./ProgramMemory.sol";
import {ProgramWeights} from "./ProgramWeights.sol";
import {Sumcheck} from "./Sumcheck.sol";
import {Transcript} from "./Transcript.sol";

/// Where the parts of a proof begin in the call; prover/verifier/proof.ts. Nothing of it is read from the proof but n.
struct ProofParts {
    /// Commitments y, r0, r1, m: before the lookup challenges.
    uint256 witness;
    /// gw, [gx,] gt: after them.
    uint256 helpers;
    uint256 lookupRounds;
    uint256 values;
    uint256 direct;
    uint256 arithmeticRounds;
    uint256 operands;
    uint256 openingRounds;
    uint256 opening;
    uint256 end;
}

/// A verification between its phases.
struct Progress {
    bytes32 state;
    LookupPoint lookup;
    /// End point of phase O and what is left to check there: one opening.
    uint256 openingPoint;
    uint256 openingValue;
    /// Factor of each column's commitment, in the order of the commitments.
    uint256 coefficients;
}

/// @title The phases of a proof of one group; prover/verifier/verify-proof.ts, check by check
library DirectProof {
    /// @notice The bytes are no proof of this version and scheme.
    error ProofHeader();
    /// @notice The proof is longer or shorter than its statement asks for.
    error ProofLength(uint256 found, uint256 expected);
    /// @notice The lookup relation does not hold at its end point.
    error PhaseL();
    /// @notice The products do not hold at their end point.
    error PhaseA();

    /// "ASSAYPRF", version 1, scheme 1 (Mercury).
    uint256 private constant HEADER = 0x41535341595052460101;
    uint256 private constant HEADER_BYTES = 11;
    uint256 private constant OPENING_DEGREE = 2;

    /// @notice n, log2 of the cells of a column, as the header has it.
    /// @param start where the proof begins in the call, and its size
    function columnBits(uint256 start, uint256 size) internal pure returns (uint256) {
        unchecked {
            uint256 head = ProgramMemory.callWord(start) >> (256 - 8 * HEADER_BYTES);
            if (size < HEADER_BYTES || head >> 8 != HEADER) revert ProofHeader();
            return head & 0xff;
        }
    }

    /// @param start where the proof begins in the call, and its size
    function partsOf(Plan memory plan, uint256 start, uint256 size) internal pure returns (ProofParts memory parts) {
        unchecked {
            uint256 n = plan.n;
            parts.witness = start + HEADER_BYTES;
            parts.helpers = parts.witness + 64 * (3 * plan.witnessChunks + plan.tableChunks);
            parts.lookupRounds = parts.witness + 64 * plan.proofColumns;
            parts.values = parts.lookupRounds + 32 * n * _lookupDegree(plan);
            parts.direct = parts.values + 32 * _valueCount(plan);
            parts.arithmeticRounds = parts.direct + 32;
            parts.operands = parts.arithmeticRounds + 32 * plan.variables * plan.degree;
            parts.openingRounds = parts.operands + 64 * plan.products;
            parts.opening = parts.openingRounds + 32 * n * OPENING_DEGREE;
            parts.end = parts.opening + Mercury.PROOF_BYTES;
            if (parts.end - start != size) revert ProofLength(size, parts.end - start);
        }
    }

    function _lookupDegree(Plan memory plan) private pure returns (uint256) {
        unchecked {
            return plan.hasMaxima ? 6 : 5;
        }
    }

    function _valueCount(Plan memory plan) private pure returns (uint256) {
        unchecked {
            return plan.witnessChunks * Lookup.wordsPerWitness(plan) + plan.tableChunks * Lookup.wordsPerTable(plan);
        }
    }

    /// @notice Absorbs the first commitments and draws alpha, beta, r_e and tau_out.
    /// @param state after the statement
    function drawPublic(ClaimSet memory set, ProofParts memory parts, bytes32 state)
        internal
        pure
        returns (Progress memory progress)
    {
        unchecked {
            Plan memory plan = set.plan;
            Program memory program = set.program;
            state = Transcript.absorbCalldata(state, parts.witness, parts.helpers - parts.witness);
            progress.state = state;
            progress.lookup.alpha = Transcript.challenge(state, 0);
            progress.lookup.beta = Transcript.challenge(state, 1);
            uint256 counter = 2;
            uint256 bits = 0;
            for (uint256 i = 0; i < program.inputs.length; ++i) {
                uint256 own = Claims.wordIndexBits(plan, program, i);
                if (own > bits) bits = own;
            }
            set.wordPoint = _drawPoint(state, counter, bits);
            set.wordPointBits = bits;
            counter += bits;
            bits = 0;
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                uint256 own = plan.batchBits + PlanViews.bitsOf(program.outputs[i].expression.axes);
                if (own > bits) bits = own;
            }
            uint256 point = _drawPoint(state, counter, bits);
            {
                uint256 list = ProgramMemory.allocateList(program.outputs.length);
                SlotView[] memory outputs;
                assembly ("memory-safe") {
                    outputs := list
                }
                set.outputs = outputs;
            }
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                uint256[] memory axes = program.outputs[i].expression.axes;
                uint256 own = plan.batchBits + PlanViews.bitsOf(axes);
                uint256 view_ = PlanViews.viewAt(axes, point + 32 * (bits - own), plan.batchBits, plan.items, 0, 1);
                SlotView[] memory outputs = set.outputs;
                assembly ("memory-safe") {
                    mstore(add(add(outputs, 0x20), shl(5, i)), view_)
                }
            }
        }
    }

    /// @notice Phase L, the values at r*, the chunk points, and all claims but the values of inputs and outputs.
    function checkLookups(ClaimSet memory set, ProofParts memory parts, Progress memory progress) internal pure {
        unchecked {
            Plan memory plan = set.plan;
            uint256 n = plan.n;
            LookupPoint memory lookup = progress.lookup;
            bytes32 state = Transcript.absorbCalldata(progress.state, parts.helpers, parts.lookupRounds - parts.helpers);
            lookup.tau = _drawPoint(state, 0, n);
            lookup.lambda = Transcript.challenge(state, n);

            // R and R_t are a chunk point and r*, one after the other in memory.
            uint256 witnessChunkBits = _chunkBits(plan.witnessChunks);
            uint256 tableChunkBits = _chunkBits(plan.tableChunks);
            uint256 witnessPoint = ProgramMemory.allocate(witnessChunkBits + n);
            lookup.point = witnessPoint + 32 * witnessChunkBits;
            uint256 claim;
            (state, claim) = Sumcheck.verify(state, 0, parts.lookupRounds, n, _lookupDegree(plan), lookup.point);
            lookup.values = parts.values;
            state = Transcript.absorbScalars(state, parts.values, _valueCount(plan));

            ColumnPoint memory column = PlanViews.columnPoint(lookup.point, n, 1);
            SlotView[][] memory views = PlanViews.allViews(
                column, set.program.witness, plan.witnessOffsets, plan.witnessBits, plan.batchBits, plan.items
            );
            if (Lookup.summand(plan, set.program, views, lookup) != claim) revert PhaseL();

            uint256 tablePoint = ProgramMemory.allocate(tableChunkBits + n);
            uint256 point = lookup.point;
            assembly ("memory-safe") {
                mcopy(add(tablePoint, mul(32, tableChunkBits)), point, mul(32, n))
            }
            _drawInto(state, 0, witnessChunkBits, witnessPoint);
            _drawInto(state, witnessChunkBits, tableChunkBits, tablePoint);
            uint256 lambda = Transcript.challenge(state, witnessChunkBits + tableChunkBits);
            set.witnessChunks = _chunkWeights(witnessPoint, witnessChunkBits, plan.witnessChunks);
            set.tableChunks = _chunkWeights(tablePoint, tableChunkBits, plan.tableChunks);
            set.tablePoint = tablePoint;
            set.tablePointBits = tableChunkBits + n;

            Claims.number(set, lambda);
            Claims.collect(set, views, parts.values, witnessPoint, witnessChunkBits + n);
            progress.state = state;
        }
    }

    /// @notice Phases A and O. The total of the claims must be complete.
    function checkProducts(ClaimSet memory set, ProofParts memory parts, Progress memory progress) internal pure {
        unchecked {
            Plan memory plan = set.plan;
            bytes32 state = Transcript.absorbScalars(progress.state, parts.direct, 1);
            uint256 direct = ProgramMemory.callWord(parts.direct);
            uint256 point = ProgramMemory.allocate(plan.variables);
            uint256 claim = addmod(set.total, ProgramMemory.modulus() - direct, ProgramMemory.modulus());
            (state, claim) =
                Sumcheck.verify(state, claim, parts.arithmeticRounds, plan.variables, plan.degree, point);
            state = Transcript.absorbScalars(state, parts.operands, 2 * plan.products);
            uint256 gamma = Transcript.challenge(state, 0);
            (uint256 total, uint256 linear) = Claims.finishProducts(set, point, parts.operands, gamma);
            if (total != claim) revert PhaseA();

            progress.openingPoint = ProgramMemory.allocate(plan.n);
            (progress.state, progress.openingValue) = Sumcheck.verify(
                state, addmod(direct, linear, ProgramMemory.modulus()), parts.openingRounds, plan.n, OPENING_DEGREE, progress.openingPoint
            );
            progress.coefficients = Claims.coefficients(set, progress.openingPoint, progress.lookup.point, gamma);
        }
    }

    /// @dev ceil(log2 chunks).
    function _chunkBits(uint256 chunks) private pure returns (uint256 bits) {
        unchecked {
            while (1 << bits < chunks) ++bits;
        }
    }

    function _chunkWeights(uint256 point, uint256 bits, uint256 chunks) private pure returns (uint256) {
        unchecked {
            return ProgramWeights.valuesOf(ProgramWeights.eqWeight(point, bits, chunks));
        }
    }

    function _drawPoint(bytes32 state, uint256 counter, uint256 count) private pure returns (uint256 point) {
        unchecked {
            point = ProgramMemory.allocate(count);
            _drawInto(state, counter, count, point);
        }
    }

    function _drawInto(bytes32 state, uint256 counter, uint256 count, uint256 point) private pure {
        unchecked {
            for (uint256 i = 0; i < count; ++i) {
                uint256 element = Transcript.challenge(state, counter + i);
                ProgramMemory.store(point + 32 * i, element);
            }
        }
    }

}
