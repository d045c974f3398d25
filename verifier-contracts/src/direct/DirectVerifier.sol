// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../IProofVerifier.sol";
import {DirectEvidence, Evidence, PublicTensor} from "./DirectEvidence.sol";
import {IMAGE, PhaseInput} from "./DirectImage.sol";
import {DirectProof} from "./DirectProof.sol";
import {G1} from "./G1.sol";
import {Mercury} from "./Mercury.sol";
import {ModelDigest} from "./ModelDigest.sol";
import {Plan, Plans} from "./Plan.sol";

import {ProgramReader} from "./ProgramReader.sol";
import {Srs} from "./Srs.sol";
import {PublicValues, Statement} from "./Statement.sol";

/// @title Checks a proof of the zk lane on chain, as prover/verifier/verify-proof.ts does
/// @notice One model, a batch of items, opened by Mercury; the evidence is DirectEvidence's. What verify() returns is
/// proved: the model with that digest, applied to the inputs under `inputRoot`, gives the outputs under `outputRoot`.
/// Whoever reads a digest must know it from the model (`assay verify --bundle`, a registry) and from nowhere else.
///
///   evidence -> program, its hash, the model's digest -> statement -> [DirectPhases: L, A, O] -> one combination of all
///   commitments -> Mercury -> one pairing equation
///
/// The program that is interpreted is the one that is hashed, and the digest names it. Bytes that TypeScript would not
/// accept as a program are not all refused here: see ProgramReader.
/// @dev Without state but for what the constructor fixes. No number in the proof but n says how many of anything there
/// are.
contract DirectVerifier is IProofVerifier, Srs {
    /// @notice The opening does not hold.
    error OpeningInvalid();
    /// @notice The address holds no contract.
    error PhasesMissing();

    uint256 private constant PROOF_HEAD_BYTES = 11;

    /// @notice The contract of phases L, A and O. It is as much a part of this verifier as its own code.
    address public immutable phases;

    /// @param tauG1 x, y
    /// @param tauH x.c1, x.c0, y.c1, y.c0
    /// @param phases_ a DirectPhases
    constructor(uint256[2] memory tauG1, uint256[4] memory tauH, address phases_) Srs(tauG1, tauH) {
        if (phases_.code.length == 0) revert PhasesMissing();
        phases = phases_;
    }

    /// @notice Reverts with the name of the check that fails.
    function verify(bytes calldata evidence) external view override returns (ProvedClaim[] memory) {
        // Assembly: everything that the phases read is allocated from IMAGE on. Nothing lies above the free pointer.
        assembly ("memory-safe") {
            if lt(mload(0x40), IMAGE) { mstore(0x40, IMAGE) }
        }
        return _verify(DirectEvidence.read(evidence));
    }

    function _verify(Evidence memory evidence) private view returns (ProvedClaim[] memory claims) {
        bytes memory code = _copy(evidence.program, evidence.programSize);
        PhaseInput memory input;
        input.program = ProgramReader.read(code);
        input.plan = Plans.begin(input.program, evidence.items);
        DirectEvidence.locate(evidence, input.program, input.plan.modelChunks);
        uint256 n = DirectProof.columnBits(evidence.proof, evidence.proofSize);
        Plans.finish(input.plan, input.program, n);

        bytes32 keyHash =
            ModelDigest.keyHash(srsId, keccak256(code), evidence.commitments, input.plan.modelChunks);
        claims = new ProvedClaim[](1);
        claims[0].modelDigest =
            ModelDigest.digest(evidence.graphRoot, evidence.weightsRoot, evidence.opCount, keyHash);
        claims[0].items = uint32(evidence.items);
        claims[0].context = evidence.context;
        PublicValues memory values =
            Statement.absorb(evidence, input.program, srsId, claims[0].modelDigest, n);
        claims[0].inputRoot = values.inputRoot;
        claims[0].outputRoot = values.outputRoot;
        input.state = values.state;
        input.words = values.words;
        input.published = new bytes[](evidence.outputs.length);
        for (uint256 i = 0; i < input.published.length; ++i) {
            PublicTensor memory tensor = evidence.outputs[i];
            input.published[i] = _copy(tensor.elements, tensor.elementsSize);
        }
        _open(evidence, input.plan, _runPhases(input, evidence.proof, evidence.proofSize));
    }

    /// @dev Bytes of the call.
    function _copy(uint256 offset, uint256 size) private pure returns (bytes memory copy) {
        assembly ("memory-safe") {
            copy := mload(0x40)
            mstore(copy, size)
            calldatacopy(add(copy, 0x20), offset, size)
            mstore(0x40, and(add(add(copy, size), 0x3f), not(0x1f)))
        }
    }

    /// @return answer of DirectPhases
    function _runPhases(PhaseInput memory input, uint256 proof, uint256 proofSize)
        private
        view
        returns (uint256 answer)
    {
        address target = phases;
        // Assembly: the call's data is memory from IMAGE on, the proof behind it; a failure goes on as it is.
        assembly ("memory-safe") {
            answer := mload(0x40)
            calldatacopy(answer, proof, proofSize)
            let end := add(answer, proofSize)
            mstore(end, input)
            mstore(add(end, 0x20), proofSize)
            let success := staticcall(gas(), target, IMAGE, sub(add(end, 0x40), IMAGE), 0, 0)
            returndatacopy(answer, 0, returndatasize())
            if iszero(success) { revert(answer, returndatasize()) }
            mstore(0x40, add(answer, returndatasize()))
        }
    }

    function _open(Evidence memory evidence, Plan memory plan, uint256 answer) private view {
        bytes32 state;
        uint256 value;
        assembly ("memory-safe") {
            state := mload(answer)
            value := mload(add(answer, 0x20))
        }
        uint256 point = answer + 0x40;
        uint256 coefficients = point + 32 * plan.n;
        G1.Point memory combined = G1.Point(0, 0);
        G1.addCombination(combined, evidence.proof + PROOF_HEAD_BYTES, plan.proofColumns, coefficients);
        G1.addCombination(combined, evidence.commitments, plan.modelChunks, coefficients + 32 * plan.proofColumns);
        (G1.Point memory left, G1.Point memory right) = Mercury.reduce(
            state, srsId, plan.n, combined, point, value, evidence.proof + evidence.proofSize - Mercury.PROOF_BYTES
        );
        if (!_pairingHolds(left, right)) revert OpeningInvalid();
    }
}
