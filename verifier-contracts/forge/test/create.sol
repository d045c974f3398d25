// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {vm} from "./Vm.sol";

/// @notice Deploys an artifact of build.ts, which run-forge.ts has laid down as a file.
/// @return created zero where the constructor reverts
function create(string memory name, bytes memory arguments) returns (address created) {
    string memory file = string.concat(vm.envString("ASSAY_CONTRACTS"), "/", name, ".hex");
    bytes memory code = bytes.concat(vm.parseBytes(vm.readFile(file)), arguments);
    assembly ("memory-safe") {
        created := create(0, add(code, 0x20), mload(code))
    }
}
