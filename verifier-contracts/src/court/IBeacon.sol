// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title Public randomness in rounds: threshold signatures that nobody knows before their time
/// @notice Round r, from 1 on, is signed at genesis + (r - 1) * period, in seconds of wall time. A signature is the only
/// one that there is for its round: whoever submits it has no choice in what it says.
interface IBeacon {
    event RoundPosted(uint64 indexed round, bytes32 randomness);

    /// The key's secret is known to everybody, and this is not the development chain.
    error DevelopmentKey(uint256 chainId);
    /// Not a point of G2 other than infinity.
    error KeyInvalid();
    error ScheduleInvalid();
    /// Stored already; a repeated call may read this as done.
    error RoundKnown(uint64 round);
    /// Not the signature of this round.
    error SignatureInvalid(uint64 round);

    /// @notice Stores a round, for ever. Anybody may call, at any time.
    /// @param signature x | y of the point of G1
    function post(uint64 round, uint256[2] calldata signature) external returns (bytes32 randomness);

    /// @notice SHA-256 of the round's signature; zero until it is posted.
    function randomnessOf(uint64 round) external view returns (bytes32);

    /// @notice The first round that is signed later than `time`.
    function roundAfter(uint256 time) external view returns (uint64);

    function genesis() external view returns (uint64);

    function period() external view returns (uint32);

    /// @notice x.c1 | x.c0 | y.c1 | y.c0, as EIP-197 has points of G2.
    function publicKey() external view returns (uint256[4] memory);
}
