// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Claims, ClaimSet} from "./Claims.sol";
import {IMAGE, PhaseInput} from "./DirectImage.sol";
import {DirectProof, Progress, ProofParts} from "./DirectProof.sol";
import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";
import {Statement} from "./Statement.sol";

/// @title The phases of a proof between its statement and its opening, as a contract of their own
/// @notice Stateless, and nothing but a part of DirectVerifier, which together with it would be larger than a contract
/// may be. It believes what it is told about program, plan and statement; what it answers means nothing to others.
/// @dev Programs are trees of pointers. They are not encoded for the call: the caller's memory from IMAGE on is the call's
/// data, and is laid down here at the same addresses.
///   call:    memory of the caller from IMAGE on | proof | address of a PhaseInput | size of the proof
///   answer:  state | value | point (n words) | coefficients, by column
contract DirectPhases {
    /// @notice The free pointer is above IMAGE: another compiler would be needed.
    error ImageOverlaps();

    fallback() external {
        PhaseInput memory input;
        uint256 proof;
        uint256 proofSize;
        bool overlaps;
        // Assembly: the image of memory.
        assembly ("memory-safe") {
            let size := calldatasize()
            proofSize := calldataload(sub(size, 0x20))
            proof := sub(sub(size, 0x40), proofSize)
            overlaps := gt(mload(0x40), MODULUS_AT)
            calldatacopy(IMAGE, 0, proof)
            mstore(0x40, add(IMAGE, proof))
            input := calldataload(sub(size, 0x40))
        }
        if (overlaps) revert ImageOverlaps();
        ProgramMemory.keepModulus();
        Progress memory progress = _run(input, proof, proofSize);
        uint256 n = input.plan.n;
        uint256 columns = input.plan.columns;
        // Assembly: the answer is words without heads.
        assembly ("memory-safe") {
            let answer := mload(0x40)
            mstore(answer, mload(progress))
            mstore(add(answer, 0x20), mload(add(progress, 0x60)))
            mcopy(add(answer, 0x40), mload(add(progress, 0x40)), shl(5, n))
            mcopy(add(add(answer, 0x40), shl(5, n)), mload(add(progress, 0x80)), shl(5, columns))
            return(answer, add(0x40, shl(5, add(n, columns))))
        }
    }

    function _run(PhaseInput memory input, uint256 proof, uint256 proofSize)
        private
        pure
        returns (Progress memory progress)
    {
        ClaimSet memory set;
        set.plan = input.plan;
        set.program = input.program;
        ProofParts memory parts = DirectProof.partsOf(input.plan, proof, proofSize);
        progress = DirectProof.drawPublic(set, parts, input.state);
        DirectProof.checkLookups(set, parts, progress);
        for (uint256 i = 0; i < input.words.length; ++i) {
            uint256 end = set.wordPoint + 32 * set.wordPointBits;
            Claims.addInput(set, i, Statement.evaluate(input.words[i], end));
        }
        for (uint256 i = 0; i < input.published.length; ++i) {
            Claims.addOutput(set, i, Claims.outputSum(set, i, input.published[i]));
        }
        DirectProof.checkProducts(set, parts, progress);
    }
}
