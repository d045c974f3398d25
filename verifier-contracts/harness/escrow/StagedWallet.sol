// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @notice An account with code: signs by its owner's key (ERC-1271), acts by its owner's calls, and can be hostile.
contract StagedWallet is IERC1271 {
    enum Mood {
        Sane,
        /// Spends all gas that it gets.
        Burns,
        /// Answers with a megabyte.
        Floods,
        /// Answers with too few bytes.
        Mumbles
    }

    address public immutable owner;
    Mood private _mood;

    constructor(address owner_) {
        owner = owner_;
    }

    function setMood(Mood mood) external {
        _mood = mood;
    }

    function execute(address target, bytes calldata data) external {
        require(msg.sender == owner, "not the owner");
        (bool ok, bytes memory answer) = target.call(data);
        if (ok) return;
        assembly ("memory-safe") {
            revert(add(answer, 0x20), mload(answer))
        }
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view override returns (bytes4) {
        if (_mood == Mood.Burns) while (true) {}
        if (_mood == Mood.Floods) {
            assembly ("memory-safe") {
                return(0, 0x100000)
            }
        }
        if (_mood == Mood.Mumbles) {
            bytes32 word = IERC1271.isValidSignature.selector;
            assembly ("memory-safe") {
                mstore(0x00, word)
                return(0x00, 0x04)
            }
        }
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer == owner && owner != address(0) ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
