// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {G1} from "./G1.sol";

/// @title The reference string that a verifier is made for, and its one pairing equation
/// @notice tau G1 and tau H say everything about tau; prover/srs/srs.ts is the same in TypeScript, and
///   srsId = keccak("assay/srs/1" | H | tau H | G1 | tau G1)
/// is the name under which model keys and proofs are made. Points of G2 are encoded as in EIP-197: x.c1 | x.c0 | y.c1 |
/// y.c0. Nothing here can be changed after the constructor.
abstract contract Srs {
    /// @notice A point is malformed, or the two do not hold the same tau, or tau is 0 or 1: nobody contributed.
    error SrsInvalid();
    /// @notice The secret of the development SRS is public: anybody can forge proofs under it.
    error SrsDevelopment();

    uint256 private constant PAIRING = 0x08;
    /// prover/srs/development-srs.ts
    bytes32 private constant DEVELOPMENT_ID = 0x06db80f7b265f39a9a66f359481662f1d5e77a6bcab76a7c95a7de5d4557c09f;
    uint256 private constant DEVELOPMENT_CHAIN = 31337;

    // H, the standard generator of G2.
    uint256 internal constant H_X1 = 0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2;
    uint256 internal constant H_X0 = 0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed;
    uint256 internal constant H_Y1 = 0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b;
    uint256 internal constant H_Y0 = 0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa;

    /// @notice Names the SRS.
    bytes32 public immutable srsId;

    uint256 internal immutable _tauHX1;
    uint256 internal immutable _tauHX0;
    uint256 internal immutable _tauHY1;
    uint256 internal immutable _tauHY0;

    /// @param tauG1 x, y
    /// @param tauH x.c1, x.c0, y.c1, y.c0
    constructor(uint256[2] memory tauG1, uint256[4] memory tauH) {
        bytes32 id = keccak256(
            abi.encodePacked("assay/srs/1", H_X1, H_X0, H_Y1, H_Y0, tauH, uint256(1), uint256(2), tauG1)
        );
        if (id == DEVELOPMENT_ID && block.chainid != DEVELOPMENT_CHAIN) revert SrsDevelopment();
        if (tauG1[0] == 0 && tauG1[1] == 0) revert SrsInvalid();
        if (tauG1[0] == 1 && tauG1[1] == 2) revert SrsInvalid();
        // The precompile refuses what is no point of its group, tau H outside the subgroup included; an equation that
        // holds with tau G1 not infinity leaves tau H none either.
        if (!_holds(G1.Point(tauG1[0], tauG1[1]), G1.Point(1, 2), tauH)) revert SrsInvalid();
        srsId = id;
        (_tauHX1, _tauHX0, _tauHY1, _tauHY0) = (tauH[0], tauH[1], tauH[2], tauH[3]);
    }

    /// @notice Does e(left, H) = e(right, tau H) hold?
    function _pairingHolds(G1.Point memory left, G1.Point memory right) internal view returns (bool) {
        return _holds(left, right, [_tauHX1, _tauHX0, _tauHY1, _tauHY0]);
    }

    /// @dev As e(left, H) e(-right, tau H) = 1. False too where a point is malformed.
    function _holds(G1.Point memory left, G1.Point memory right, uint256[4] memory tauH)
        private
        view
        returns (bool holds)
    {
        G1.Point memory minus = G1.negate(right);
        uint256[12] memory pairs = [
            left.x,
            left.y,
            H_X1,
            H_X0,
            H_Y1,
            H_Y0,
            minus.x,
            minus.y,
            tauH[0],
            tauH[1],
            tauH[2],
            tauH[3]
        ];
        // Assembly: the call of a precompile. Its answer is one word, 1 where the equation holds; the word is cleared
        // before, so that a failed call leaves 0.
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, 0)
            let success := staticcall(gas(), PAIRING, pairs, 0x180, free, 0x20)
            holds := and(and(success, eq(returndatasize(), 0x20)), eq(mload(free), 1))
        }
    }
}
