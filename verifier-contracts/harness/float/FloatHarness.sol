// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Fault, IStep} from "../../src/dispute/IStep.sol";
import {FloatSum} from "../../src/dispute/float/FloatSum.sol";
import {Receipt} from "../../src/SettlementTypes.sol";

/// @title Many sums and many judgements in one call; never deployed elsewhere
contract FloatHarness {
    /// @param cases one after another: uint32 terms | uint32 roundings | uint32 divisor | uint32 single | uint32 y | x
    /// | w
    /// @return verdicts a byte each: 1 where an honest machine can have got y
    function allows(bytes memory cases) external pure returns (bytes memory verdicts) {
        uint256 place;
        uint256 end;
        assembly ("memory-safe") {
            place := add(cases, 0x20)
            end := add(place, mload(cases))
        }
        verdicts = new bytes(cases.length / 28);
        uint256 count = 0;
        while (place < end) {
            uint256 terms = _u32(place);
            uint256 x = place + 20;
            FloatSum.Sum memory sum = FloatSum.add(x, x + 4 * terms, terms);
            bool single = _u32(place + 12) == 1;
            bool right = FloatSum.allows(sum, _u32(place + 16), _u32(place + 4), _u32(place + 8), single);
            verdicts[count++] = right ? bytes1(0x01) : bytes1(0x00);
            place = x + 8 * terms;
        }
        assembly ("memory-safe") {
            mstore(verdicts, count)
        }
    }

    function _u32(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(224, mload(place))
        }
    }

    /// @return faultIds zero where the step contract reverts
    /// @return errors selector of its error then
    /// @return gas that each judgement took
    function judgeAll(IStep step, Receipt calldata receipt, Fault[] calldata faults, bytes[] calldata evidences)
        external
        view
        returns (bytes32[] memory faultIds, bytes4[] memory errors, uint256[] memory gas)
    {
        faultIds = new bytes32[](faults.length);
        errors = new bytes4[](faults.length);
        gas = new uint256[](faults.length);
        for (uint256 i = 0; i < faults.length; ++i) {
            uint256 before = gasleft();
            (bool known, bytes memory result) =
                address(step).staticcall(abi.encodeCall(IStep.judge, (receipt, faults[i], evidences[i])));
            gas[i] = before - gasleft();
            if (!known) errors[i] = bytes4(result);
            // A finding: offset | faultId | ...
            else assembly ("memory-safe") {
                mstore(add(faultIds, mul(add(i, 1), 0x20)), mload(add(result, 0x40)))
            }
        }
    }
}
