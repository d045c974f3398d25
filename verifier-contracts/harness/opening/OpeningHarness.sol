// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Fr} from "../../src/direct/Fr.sol";
import {G1} from "../../src/direct/G1.sol";
import {Mercury} from "../../src/direct/Mercury.sol";
import {ProgramMemory} from "../../src/direct/ProgramMemory.sol";
import {Srs} from "../../src/direct/Srs.sol";
import {Sumcheck} from "../../src/direct/Sumcheck.sol";
import {Transcript} from "../../src/direct/Transcript.sol";

/// @title Opens the internal libraries of a proof's lower half to the tests; never deployed elsewhere
contract OpeningHarness is Srs {
    constructor(uint256[2] memory tauG1, uint256[4] memory tauH) Srs(tauG1, tauH) {}

    function inverse(uint256 value) external view returns (uint256) {
        return Fr.inverse(value);
    }

    /// @notice Absorbs the messages one after another and draws `draws[i]` challenges after message i, from calldata or
    /// memory in turn.
    function transcript(bytes[] calldata messages, uint256[] calldata draws)
        external
        pure
        returns (bytes32 state, uint256[] memory drawn)
    {
        _keepModulus();
        uint256 total = 0;
        for (uint256 i = 0; i < draws.length; ++i) {
            total += draws[i];
        }
        drawn = new uint256[](total);
        total = 0;
        state = Transcript.start();
        for (uint256 i = 0; i < messages.length; ++i) {
            bytes calldata message = messages[i];
            uint256 place;
            if (i % 2 == 0) {
                assembly ("memory-safe") {
                    place := message.offset
                }
                state = Transcript.absorbCalldata(state, place, message.length);
            } else {
                bytes memory copied = message;
                assembly ("memory-safe") {
                    place := add(copied, 0x20)
                }
                state = message.length == 32 && i % 4 == 3
                    ? Transcript.absorbWord(state, uint256(bytes32(message)))
                    : Transcript.absorbMemory(state, place, message.length);
            }
            assembly ("memory-safe") {
                place := add(add(drawn, 0x20), shl(5, total))
            }
            Transcript.challenges(state, 0, draws[i], place);
            total += draws[i];
        }
    }

    function absorbScalars(bytes32 state, uint256[] calldata scalars) external pure returns (bytes32) {
        _keepModulus();
        uint256 place;
        assembly ("memory-safe") {
            place := scalars.offset
        }
        return Transcript.absorbScalars(state, place, scalars.length);
    }

    function sumcheck(bytes32 state, uint256 claim, uint256[] calldata scalars, uint256 rounds, uint256 degree)
        external
        view
        returns (bytes32 nextState, uint256 nextClaim, uint256[] memory point, uint256 gasUsed)
    {
        _keepModulus();
        point = new uint256[](rounds);
        uint256 place;
        uint256 to;
        assembly ("memory-safe") {
            place := scalars.offset
            to := add(point, 0x20)
        }
        gasUsed = gasleft();
        (nextState, nextClaim) = Sumcheck.verify(state, claim, place, rounds, degree, to);
        gasUsed -= gasleft();
    }

    /// @notice As a proof has it: several sumchecks one after another, so that the compiler keeps the loop in one place.
    function sumchecks(bytes32 state, uint256 claim, uint256[] calldata scalars, uint256 rounds)
        external
        pure
        returns (bytes32 nextState, uint256 nextClaim)
    {
        _keepModulus();
        uint256 place;
        uint256 to;
        uint256[] memory point = new uint256[](rounds);
        assembly ("memory-safe") {
            place := scalars.offset
            to := add(point, 0x20)
        }
        (state, claim) = Sumcheck.verify(state, claim, place, rounds, 2, to);
        return Sumcheck.verify(state, claim, place + 64 * rounds, rounds, 3, to);
    }

    function combine(bytes calldata points, uint256[] memory scalars)
        external
        view
        returns (G1.Point memory sum, uint256 gasUsed)
    {
        uint256 place;
        uint256 from;
        assembly ("memory-safe") {
            place := points.offset
            from := add(scalars, 0x20)
        }
        gasUsed = gasleft();
        G1.addCombination(sum, place, scalars.length, from);
        gasUsed -= gasleft();
    }

    function addGenerator(G1.Point memory sum, uint256 scalar) external view returns (G1.Point memory) {
        G1.addGenerator(sum, scalar);
        return sum;
    }

    function negate(G1.Point memory point) external pure returns (G1.Point memory) {
        return G1.negate(point);
    }

    function pairingHolds(G1.Point memory left, G1.Point memory right) external view returns (bool) {
        return _pairingHolds(left, right);
    }

    /// @return holds the whole opening, the pairing included
    function mercury(
        bytes32 state,
        G1.Point memory f,
        uint256[] memory point,
        uint256 value,
        bytes calldata proof
    ) external view returns (bool holds, G1.Point memory left, G1.Point memory right, uint256 gasUsed) {
        _keepModulus();
        uint256 place;
        uint256 from;
        assembly ("memory-safe") {
            place := proof.offset
            from := add(point, 0x20)
        }
        gasUsed = gasleft();
        (left, right) = Mercury.reduce(state, srsId, point.length, f, from, value, place);
        holds = _pairingHolds(left, right);
        gasUsed -= gasleft();
    }

    /// @dev As DirectVerifier does. Nothing but arguments of few words has been allocated before.
    function _keepModulus() private pure {
        assembly ("memory-safe") {
            mstore(0x40, 0x2000)
        }
        ProgramMemory.keepModulus();
    }
}
