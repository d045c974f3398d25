// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {HashToG1, Q} from "./HashToG1.sol";
import {IBeacon} from "./IBeacon.sol";

/// @title Rounds of a drand network of scheme bls-bn254-unchained-on-g1 (evmnet), verified here
/// @notice Symbols: P the public key in G2, H the generator of G2, M(r) = hash of keccak(uint64 r) to G1 (HashToG1.sol).
/// A point S is the signature of round r iff e(S, H) = e(M(r), P); tested as e(S, -H) e(M(r), P) = 1. No other source stands
/// in where this one is silent: a substitute that somebody can bring about is the source.
contract Beacon is IBeacon {
    uint256 private constant DEVELOPMENT_CHAIN = 31337;
    /// Hash of the public key whose secret is keccak("assay/beacon/development") mod r; beacon-client.ts signs with it.
    bytes32 private constant DEVELOPMENT_KEY = 0x801a25e6368c1c5efee03a00f7a71b2b8e25a04676af4f23cd6bc773da60420c;

    // -H: x.c1 | x.c0 | y.c1 | y.c0.
    uint256 private constant H_X1 = 0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2;
    uint256 private constant H_X0 = 0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed;
    uint256 private constant H_Y1 = 0x275dc4a288d1afb3cbb1ac09187524c7db36395df7be3b99e673b13a075a65ec;
    uint256 private constant H_Y0 = 0x1d9befcd05a5323e6da4d435f3b617cdb3af83285c2df711ef39c01571827f9d;

    uint256 private immutable P_X1;
    uint256 private immutable P_X0;
    uint256 private immutable P_Y1;
    uint256 private immutable P_Y0;
    uint64 public immutable override genesis;
    uint32 public immutable override period;

    mapping(uint64 round => bytes32) public override randomnessOf;

    /// @param key x.c1 | x.c0 | y.c1 | y.c0, as drand publishes it
    /// @param genesis_ time of round 1, seconds
    /// @param period_ seconds between rounds
    constructor(uint256[4] memory key, uint64 genesis_, uint32 period_) {
        if (keccak256(abi.encode(key)) == DEVELOPMENT_KEY && block.chainid != DEVELOPMENT_CHAIN) {
            revert DevelopmentKey(block.chainid);
        }
        if (genesis_ == 0 || period_ == 0) revert ScheduleInvalid();
        if (key[0] | key[1] | key[2] | key[3] == 0) revert KeyInvalid();
        // The precompile checks field, curve and subgroup of the key; with infinity of G1 beside it the product is 1.
        (bool valid,) = _pairing([0, 0, key[0], key[1], key[2], key[3], 0, 0, H_X1, H_X0, H_Y1, H_Y0]);
        if (!valid) revert KeyInvalid();
        (P_X1, P_X0, P_Y1, P_Y0) = (key[0], key[1], key[2], key[3]);
        genesis = genesis_;
        period = period_;
    }

    function post(uint64 round, uint256[2] calldata signature) external override returns (bytes32 randomness) {
        if (randomnessOf[round] != 0) revert RoundKnown(round);
        // Infinity is no signature, and coordinates have one encoding only: else one round would have two values.
        if (round == 0 || signature[0] >= Q || signature[1] >= Q || signature[0] | signature[1] == 0) {
            revert SignatureInvalid(round);
        }
        (uint256 x, uint256 y) = HashToG1.hash(keccak256(abi.encodePacked(round)));
        (bool valid, bool one) =
            _pairing([signature[0], signature[1], H_X1, H_X0, H_Y1, H_Y0, x, y, P_X1, P_X0, P_Y1, P_Y0]);
        if (!valid || !one) revert SignatureInvalid(round);
        randomness = sha256(abi.encode(signature));
        randomnessOf[round] = randomness;
        emit RoundPosted(round, randomness);
    }

    function roundAfter(uint256 time) external view override returns (uint64) {
        return time < genesis ? 1 : uint64((time - genesis) / period) + 2;
    }

    function publicKey() external view override returns (uint256[4] memory) {
        return [P_X1, P_X0, P_Y1, P_Y0];
    }

    /// @return valid all points are what they should be
    /// @return one the product of the pairings is one
    function _pairing(uint256[12] memory points) private view returns (bool valid, bool one) {
        assembly ("memory-safe") {
            // A call with an invalid point takes all of its gas: twice of what two pairings cost is left to it.
            valid := staticcall(250000, 0x08, points, 0x180, 0x00, 0x20)
            one := and(valid, mload(0x00))
        }
    }
}
