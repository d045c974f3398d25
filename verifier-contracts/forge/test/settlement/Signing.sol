// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {BatchHeader, Order, Receipt} from "../../../src/SettlementTypes.sol";
import {vm} from "../Vm.sol";

/// @title What the parties sign and what the contracts name by hash, for values in memory
library Signing {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant ORDER_TYPE = keccak256(
        "JobOrder(address requester,address executor,bytes32 modelDigest,bytes32 inputRoot,uint32 items,uint8 lane,bytes32 policyHash,uint256 price,uint256 surcharge,uint32 outputBytes,uint64 deliverBy,uint64 validUntil,uint256 nonce)"
    );
    bytes32 private constant RECEIPT_TYPE = keccak256(
        "Receipt(bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,uint32 opCount,uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt)"
    );
    bytes32 private constant BATCH_TAG = keccak256("assay/batch/2");

    function digest(address rollup, bytes32 structHash) internal view returns (bytes32) {
        bytes32 separator =
            keccak256(abi.encode(DOMAIN_TYPE, keccak256("Assay"), keccak256("1"), block.chainid, rollup));
        return keccak256(bytes.concat(hex"1901", separator, structHash));
    }

    function orderHash(address rollup, Order memory order) internal view returns (bytes32) {
        return digest(rollup, keccak256(abi.encode(ORDER_TYPE, order)));
    }

    function acceptance(address rollup, bytes32 order) internal view returns (bytes32) {
        return digest(rollup, keccak256(abi.encode(keccak256("Acceptance(bytes32 orderHash)"), order)));
    }

    function cancellation(address rollup, bytes32 order) internal view returns (bytes32) {
        return digest(rollup, keccak256(abi.encode(keccak256("Cancellation(bytes32 orderHash)"), order)));
    }

    function registration(address rollup, address account, address signer) internal view returns (bytes32) {
        bytes32 kind = keccak256("NodeRegistration(address account,address signer)");
        return digest(rollup, keccak256(abi.encode(kind, account, signer)));
    }

    function receiptHash(Receipt memory receipt) internal pure returns (bytes32) {
        return keccak256(abi.encode(RECEIPT_TYPE, receipt));
    }

    function batchHash(address rollup, BatchHeader memory header) internal view returns (bytes32) {
        return keccak256(
            abi.encode(
                BATCH_TAG,
                block.chainid,
                rollup,
                header.poster,
                header.salt,
                uint256(header.lane),
                uint256(header.count),
                header.policyHash,
                header.batchRoot
            )
        );
    }

    function headerHash(address rollup, BatchHeader memory header) internal view returns (bytes32) {
        return keccak256(
            abi.encode(
                batchHash(rollup, header), header.unbound, uint256(header.committedAt), uint256(header.committedBlock)
            )
        );
    }

    /// @return 65 bytes r | s | v
    function sign(uint256 key, bytes32 hash) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, hash);
        return bytes.concat(r, s, bytes1(v));
    }
}
