// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Receipt} from "./IReceiptRollup.sol";

/// @title EIP-712 hashes of receipts and verdicts, and ECDSA; receipts/eip712.ts is the same in TypeScript
library TypedHash {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant RECEIPT_TYPE = keccak256(
        "Receipt(bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,uint32 opCount,uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt)"
    );
    bytes32 private constant VERDICT_TYPE =
        keccak256("AuditVerdict(bytes32 batchHash,bytes32 seed,uint256 kills,uint256 voided,bytes32 resultsRoot)");

    /// Half the order of secp256k1, rounded down.
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @dev Computed at each call, not cached: a fork of the chain changes the chain id.
    function domainSeparator() internal view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPE, keccak256("Assay"), keccak256("1"), block.chainid, address(this)));
    }

    function receipt(Receipt calldata value) internal pure returns (bytes32) {
        return keccak256(abi.encode(RECEIPT_TYPE, value));
    }

    function verdict(bytes32 batchHash, bytes32 seed, uint256 kills, uint256 voided, bytes32 resultsRoot)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(VERDICT_TYPE, batchHash, seed, kills, voided, resultsRoot));
    }

    function digest(bytes32 separator, bytes32 structHash) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", separator, structHash));
    }

    /// @notice The signer, or zero for a signature that is not 65 bytes, has s in the upper half (EIP-2), or
    /// recovers to nothing.
    function recover(bytes32 hash, bytes calldata signature) internal pure returns (address) {
        if (signature.length != 65) return address(0);
        if (uint256(bytes32(signature[32:64])) > HALF_ORDER) return address(0);
        return ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    }
}
