// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Claims} from "./Claims.sol";
import {Evidence} from "./DirectEvidence.sol";
import {Lookup} from "./Lookup.sol";
import {Mercury} from "./Mercury.sol";
import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";
import {Statement} from "./Statement.sol";
import {Sumcheck} from "./Sumcheck.sol";
import {Shape} from "./Tape.sol";
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

/// What a proof's messages give before anything is checked: challenges are registers, and here is the rest.
struct Replay {
    bytes32 state;
    uint256 alpha;
    uint256 beta;
    /// Weight of the first bracket of phase L; the others are its powers.
    uint256 bracketWeight;
    /// What the summands must be at the end points of phases L, A and O, the claim that a phase begins with being 0.
    uint256 lookupClaim;
    uint256 arithmeticClaim;
    uint256 openingClaim;
    /// Product of the challenges of phases A and O: what a claim that a phase begins with counts at its end.
    uint256 arithmeticShare;
    uint256 openingShare;
}

/// @title The phases of a proof of one group; prover/verifier/verify-proof.ts, check by check
/// @notice There every phase is checked before the next begins. Here all challenges are drawn first, which depend on
/// messages and on nothing that is computed from them; then the tape computes everything that does not depend on the
/// proof's other words (Tape.sol); then come the checks. A claim c of a sumcheck goes through the rounds linearly: the
/// next is r c plus what the round's coefficients give, so that a phase can be replayed from 0 before c is known.
library DirectProof {
    /// @notice The bytes are no proof of this version and scheme.
    error ProofHeader();
    /// @notice The proof is longer or shorter than its statement asks for.
    error ProofLength(uint256 found, uint256 expected);
    /// @notice The lookup relation does not hold at its end point.
    error PhaseL();
    /// @notice The products do not hold at their end point.
    error PhaseA();

    /// "ASSAYPRF", version 1, scheme 1 (Mercury); n follows.
    uint256 private constant HEADER = 0x41535341595052460101;
    uint256 private constant OPENING_DEGREE = 2;

    uint256 internal constant HEADER_BYTES = 11;

    /// @notice Finds the parts of a proof; reverts unless header and length are those that the shape asks for.
    function partsOf(Shape memory shape, Evidence memory evidence) internal pure returns (ProofParts memory parts) {
        unchecked {
            uint256 n = shape.n;
            uint256 start = evidence.proof;
            uint256 size = evidence.proofSize;
            uint256 head = ProgramMemory.callWord(start) >> (256 - 8 * HEADER_BYTES);
            if (size < HEADER_BYTES || head != (HEADER << 8 | n)) revert ProofHeader();
            parts.witness = start + HEADER_BYTES;
            parts.helpers = parts.witness + 64 * shape.firstColumns;
            parts.lookupRounds = parts.witness + 64 * shape.proofColumns;
            parts.values = parts.lookupRounds + 32 * shape.lookupBits * _lookupDegree(shape);
            parts.direct = parts.values + 32 * _valueCount(shape);
            parts.arithmeticRounds = parts.direct + 32;
            parts.operands = parts.arithmeticRounds + 32 * shape.variables * shape.degree;
            parts.openingRounds = parts.operands + 64 * shape.products;
            parts.opening = parts.openingRounds + 32 * n * OPENING_DEGREE;
            parts.end = parts.opening + Mercury.PROOF_BYTES;
            if (parts.end - start != size) revert ProofLength(size, parts.end - start);
        }
    }

    function _lookupDegree(Shape memory shape) private pure returns (uint256) {
        unchecked {
            return 5 + shape.hasMaxima;
        }
    }

    function _valueCount(Shape memory shape) private pure returns (uint256) {
        unchecked {
            return shape.witnessChunks * Lookup.wordsPerWitness(shape) + shape.tableChunks * Lookup.wordsPerTable(shape);
        }
    }

    /// @notice Absorbs every message before the opening and draws every challenge.
    /// @param state after the statement
    function replay(Shape memory shape, ProofParts memory parts, bytes32 state)
        internal
        pure
        returns (Replay memory drawn)
    {
        unchecked {
            uint256 n = shape.n;
            uint256 rounds = shape.lookupBits;
            state = Transcript.absorbCalldata(state, parts.witness, parts.helpers - parts.witness);
            drawn.alpha = Transcript.challenge(state, 0);
            drawn.beta = Transcript.challenge(state, 1);
            Transcript.challenges(state, 2, shape.wordPointBits, shape.wordPoint);
            Transcript.challenges(state, 2 + shape.wordPointBits, shape.outputPointBits, shape.outputPoint);

            state = Transcript.absorbCalldata(state, parts.helpers, parts.lookupRounds - parts.helpers);
            Transcript.challenges(state, 0, rounds, shape.tau);
            drawn.bracketWeight = Transcript.challenge(state, rounds);
            // R and R_t are a chunk point and r*, one after the other in memory.
            uint256 point = shape.witnessPoint + 32 * shape.witnessChunkBits;
            (state, drawn.lookupClaim) =
                Sumcheck.verify(state, 0, parts.lookupRounds, rounds, _lookupDegree(shape), point);
            uint256 tablePoint = shape.tablePoint + 32 * shape.tableChunkBits;
            assembly ("memory-safe") {
                mcopy(tablePoint, point, shl(5, rounds))
            }

            state = Transcript.absorbScalars(state, parts.values, _valueCount(shape));
            Transcript.challenges(state, 0, shape.witnessChunkBits, shape.witnessPoint);
            Transcript.challenges(state, shape.witnessChunkBits, shape.tableChunkBits, shape.tablePoint);
            _powers(
                shape.lambdas,
                shape.claims,
                1,
                Transcript.challenge(state, shape.witnessChunkBits + shape.tableChunkBits)
            );

            state = Transcript.absorbScalars(state, parts.direct, 1);
            (state, drawn.arithmeticClaim) =
                Sumcheck.verify(state, 0, parts.arithmeticRounds, shape.variables, shape.degree, shape.rho);
            drawn.arithmeticShare = _product(shape.rho, shape.variables);
            state = Transcript.absorbScalars(state, parts.operands, 2 * shape.products);
            uint256 gamma = Transcript.challenge(state, 0);
            _powers(shape.gammas, 2 * shape.products, gamma, gamma);

            (state, drawn.openingClaim) = Sumcheck.verify(state, 0, parts.openingRounds, n, OPENING_DEGREE, shape.u);
            drawn.openingShare = _product(shape.u, n);
            drawn.state = state;
        }
    }

    /// @dev first, first ratio, first ratio^2, ...
    function _powers(uint256 registers, uint256 count, uint256 first, uint256 ratio) private pure {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            for { let end := add(registers, shl(5, count)) } lt(registers, end) { registers := add(registers, 0x20) } {
                mstore(registers, first)
                first := mulmod(first, ratio, r)
            }
        }
    }

    function _product(uint256 registers, uint256 count) private pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let end := add(registers, shl(5, count))
            product := 1
            if and(count, 1) {
                product := mload(registers)
                registers := add(registers, 0x20)
            }
            for {} lt(registers, end) { registers := add(registers, 0x40) } {
                product := mulmod(product, mulmod(mload(registers), mload(add(registers, 0x20)), r), r)
            }
        }
    }

    /// @notice The end of phase L. What it needs of the tape has run.
    function checkLookups(Shape memory shape, ProofParts memory parts, Replay memory drawn) internal pure {
        if (Lookup.summand(shape, parts.values, drawn.alpha, drawn.beta, drawn.bracketWeight) != drawn.lookupClaim) {
            revert PhaseL();
        }
    }

    /// @notice The end of phase A, and what is left of phase O. The tape has run.
    /// @param words by input, the packed words by index; they are overwritten
    /// @return value that the combination of all columns must take at u
    function checkProducts(
        Shape memory shape,
        Evidence memory evidence,
        ProofParts memory parts,
        Replay memory drawn,
        uint256[][] memory words
    ) internal pure returns (uint256 value) {
        unchecked {
            uint256 total = Claims.columnValues(shape, parts.values);
            uint256 lambda = shape.lambdas + 32 * Claims.firstOutput(shape);
            for (uint256 i = 0; i < shape.outputs.length; ++i) {
                total = _add(total, lambda, Claims.outputSum(shape.outputs[i], evidence.outputs[i].elements));
                lambda += 32;
            }
            uint256 end = shape.wordPoint + 32 * shape.wordPointBits;
            for (uint256 i = 0; i < words.length; ++i) {
                total = _add(total, lambda, Claims.inputSum(shape.inputs[i], Statement.evaluate(words[i], end)));
                lambda += 32;
            }
            uint256 direct = ProgramMemory.callWord(parts.direct);
            uint256 left;
            uint256 right;
            uint256 opened;
            uint256 known = shape.known;
            uint256 weights = shape.productWeights;
            uint256 operandKnown = shape.operandKnown;
            uint256 gammas = shape.gammas;
            uint256 operands = parts.operands;
            uint256 weightsEnd = weights + 32 * shape.products;
            // Assembly: sums over the products. The total less what everybody knows, less D, is where phase A begins; D
            // and the operands, less what is known of them, under powers of gamma where phase O does.
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                left := addmod(total, sub(shl(1, r), add(mload(known), direct)), r)
                left := addmod(mulmod(left, mload(add(drawn, 0xe0)), r), mload(add(drawn, 0xa0)), r)
                opened := direct
                for {} lt(weights, weightsEnd) { weights := add(weights, 0x20) } {
                    let p := calldataload(operands)
                    let q := calldataload(add(operands, 0x20))
                    right := addmod(right, mulmod(mload(weights), mulmod(p, q, r), r), r)
                    p := add(p, sub(r, mload(operandKnown)))
                    q := add(q, sub(r, mload(add(operandKnown, 0x20))))
                    opened := add(opened, mulmod(mload(gammas), p, r))
                    opened := addmod(opened, mulmod(mload(add(gammas, 0x20)), q, r), r)
                    operands := add(operands, 0x40)
                    operandKnown := add(operandKnown, 0x40)
                    gammas := add(gammas, 0x40)
                }
                value := addmod(mulmod(opened, mload(add(drawn, 0x100)), r), mload(add(drawn, 0xc0)), r)
            }
            if (left != right) revert PhaseA();
        }
    }

    /// @dev total + lambda value
    function _add(uint256 total, uint256 lambda, uint256 value) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            sum := addmod(total, mulmod(mload(lambda), value, r), r)
        }
    }
}
