// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../IProofVerifier.sol";
import {DirectEvidence, Evidence} from "./DirectEvidence.sol";
import {DirectProof, ProofParts, Replay} from "./DirectProof.sol";
import {G1} from "./G1.sol";
import {Mercury} from "./Mercury.sol";
import {ModelDigest} from "./ModelDigest.sol";
import {ProgramMemory} from "./ProgramMemory.sol";
import {Srs} from "./Srs.sol";
import {PublicValues, Statement} from "./Statement.sol";
import {Shape} from "./Tape.sol";
import {TapeLoader} from "./TapeLoader.sol";
import {TapeRunner} from "./TapeRunner.sol";

/// @title Checks a proof of the zk lane on chain, as prover/verifier/verify-proof.ts does
/// @notice One model, a batch of items, opened by Mercury; the evidence is DirectEvidence's. What verify() returns is
/// proved: the model with that digest, applied to the inputs under `inputRoot`, gives the outputs under `outputRoot`.
/// Whoever reads a digest must know it from the model (`assay verify --bundle`, a registry) and from nowhere else.
///
///   evidence -> hash of the program -> its tape, the model's digest -> statement -> challenges of phases L, A, O ->
///   tape -> checks of the phases -> one combination of all commitments -> Mercury -> one pairing equation
///
/// The digest names the hash of the program, and the tape under that hash is derived from the bytes that have it
/// (ProgramStore.sol). Bytes that TypeScript would not accept as a program are not all refused there: see ProgramReader.
/// @dev Without state but for what the constructor fixes. No number in the proof but n says how many of anything there
/// are.
contract DirectVerifier is IProofVerifier, Srs {
    /// @notice The opening does not hold.
    error OpeningInvalid();
    /// @notice The address holds no contract.
    error StoreMissing();

    /// @notice The ProgramStore whose tapes are believed. It is as much a part of this verifier as its own code.
    address public immutable store;

    /// @param tauG1 x, y
    /// @param tauH x.c1, x.c0, y.c1, y.c0
    /// @param store_ a ProgramStore
    constructor(uint256[2] memory tauG1, uint256[4] memory tauH, address store_) Srs(tauG1, tauH) {
        if (store_.code.length == 0) revert StoreMissing();
        store = store_;
    }

    /// @notice Reverts with the name of the check that fails.
    function verify(bytes calldata encoded) external view override returns (ProvedClaim[] memory claims) {
        Evidence memory evidence = DirectEvidence.read(encoded);
        Shape memory shape = TapeLoader.load(store, evidence.programHash, evidence.items, evidence.n);
        ProgramMemory.keepModulus();
        DirectEvidence.locate(evidence, shape);
        ProofParts memory parts = DirectProof.partsOf(shape, evidence);

        bytes32 keyHash =
            ModelDigest.keyHash(srsId, evidence.programHash, evidence.commitments, shape.modelChunks);
        claims = new ProvedClaim[](1);
        claims[0].modelDigest =
            ModelDigest.digest(evidence.graphRoot, evidence.weightsRoot, evidence.opCount, keyHash);
        claims[0].items = uint32(evidence.items);
        claims[0].context = evidence.context;
        PublicValues memory values = Statement.absorb(evidence, shape, srsId, claims[0].modelDigest);
        claims[0].inputRoot = values.inputRoot;
        claims[0].outputRoot = values.outputRoot;

        Replay memory drawn = DirectProof.replay(shape, parts, values.state);
        TapeRunner.run(shape.records, shape.lookupsEnd);
        DirectProof.checkLookups(shape, parts, drawn);
        TapeRunner.run(shape.lookupsEnd, shape.recordsEnd);
        _open(
            evidence, shape, parts, drawn.state, DirectProof.checkProducts(shape, evidence, parts, drawn, values.words)
        );
    }

    function _open(
        Evidence memory evidence,
        Shape memory shape,
        ProofParts memory parts,
        bytes32 state,
        uint256 value
    ) private view {
        uint256 coefficients = shape.coefficients;
        G1.Point memory combined = G1.Point(0, 0);
        G1.addCombination(combined, parts.witness, shape.proofColumns, coefficients);
        G1.addCombination(combined, evidence.commitments, shape.modelChunks, coefficients + 32 * shape.proofColumns);
        (G1.Point memory left, G1.Point memory right) =
            Mercury.reduce(state, srsId, shape.n, combined, shape.u, value, parts.opening);
        if (!_pairingHolds(left, right)) revert OpeningInvalid();
    }
}
